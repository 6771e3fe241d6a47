// SPDX-License-Identifier: MIT
/* The table of options, the setters of options for the run, and checks of option combinations. */
#include "config.h"

#include "base/json.h"
#include "plan/parse.h"
#include "tune/options_internal.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

static int set_commit(struct xw_tune_options *o, const char *value)
{
	return xw_commit_how_set(value, &o->opts.how, o->diag);
}

/* Set *to to a copy of the name of a file or directory. */
static int set_name(struct xw_tune_options *o, const char *value, const char **to)
{
	*to = xw_arena_dup(&o->texts, value, strlen(value) + 1);
	return *to ? 0 : xw_fail_nomem(o->diag, "option");
}

static int set_undo_file(struct xw_tune_options *o, const char *value)
{
	return set_name(o, value, &o->opts.undo_file);
}

static int set_redo_file(struct xw_tune_options *o, const char *value)
{
	return set_name(o, value, &o->opts.redo_file);
}

static int set_redo_dir(struct xw_tune_options *o, const char *value)
{
	return set_name(o, value, &o->opts.redo_dir);
}

static int set_jobs(struct xw_tune_options *o, const char *value)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || !n || n > 1024)
		return xw_fail(o->diag, XW_ERR_USAGE, "--jobs %s: must be 1 to 1024", value);
	o->opts.jobs = (unsigned)n;
	return 0;
}

static int set_now(struct xw_tune_options *o, const char *value)
{
	uint64_t n;
	const int rc = xw_parse_ranged("now", value, 0, INT64_MAX, &n, o->diag);

	if (!rc)
		o->opts.now = (int64_t)n;
	return rc;
}

static int set_force(struct xw_tune_options *o, const char *value)
{
	(void)value;
	o->opts.force = true;
	return 0;
}

static const struct {
	const char *name;
	xw_tune_setter *set; /* NULL: only a bit */
	uint32_t bit; /* XW_TUNE_* of want.set; 0: none */
	enum { VALUE, NAME, NO_VALUE } kind; /* NAME: the value must not be empty */
} options[] = {
	{"-c", xw_tune_set_max_mounts, XW_TUNE_MAX_MNT_COUNT, VALUE},
	{"-C", xw_tune_set_mounts, XW_TUNE_MNT_COUNT, VALUE},
	{"-e", xw_tune_set_errors, XW_TUNE_ERRORS, VALUE},
	{"-E", xw_tune_set_extended, 0, VALUE},
	{"-f", set_force, 0, NO_VALUE},
	{"-g", xw_tune_set_group, XW_TUNE_RESGID, VALUE},
	{"-i", xw_tune_set_interval, XW_TUNE_INTERVAL, VALUE},
	{"-I", xw_tune_set_inode_size, XW_TUNE_INODE_SIZE, VALUE},
	{"-j", NULL, XW_TUNE_JOURNAL, NO_VALUE},
	{"-J", xw_tune_set_journal, 0, VALUE},
	{"-L", xw_tune_set_label, XW_TUNE_LABEL, VALUE},
	{"-m", xw_tune_set_percent, XW_TUNE_RESERVED_PERCENT, VALUE},
	{"-M", xw_tune_set_last_mounted, XW_TUNE_LAST_MOUNTED, VALUE},
	{"-o", xw_tune_set_mount_opts, 0, VALUE},
	{"-O", xw_tune_set_features, 0, VALUE},
	{"-Q", xw_tune_set_quota, 0, VALUE},
	{"-r", xw_tune_set_blocks, XW_TUNE_RESERVED_BLOCKS, VALUE},
	{"-T", xw_tune_set_lastcheck, XW_TUNE_LASTCHECK, VALUE},
	{"-u", xw_tune_set_user, XW_TUNE_RESUID, VALUE},
	{"-U", xw_tune_set_uuid, XW_TUNE_UUID, VALUE},
	{"-z", set_undo_file, 0, NAME},
	{"--commit", set_commit, 0, VALUE},
	{"--jobs", set_jobs, 0, VALUE},
	{"--redo-dir", set_redo_dir, 0, NAME},
	{"--redo-file", set_redo_file, 0, VALUE},
	{"now", set_now, 0, VALUE},
};

void xw_tune_options_init(struct xw_tune_options *o, struct xw_diag *diag)
{
	memset(o, 0, sizeof(*o)); /* with padding, for xw_tune_options_change() */
	o->opts.now = (int64_t)time(NULL);
	o->diag = diag;
}

void xw_tune_options_free(struct xw_tune_options *o)
{
	xw_arena_free(&o->texts);
}

int xw_tune_option(struct xw_tune_options *o, const char *option, const char *value)
{
	o->malformed = false;
	for (size_t i = 0; i < XW_ARRAY_SIZE(options); i++) {
		const bool valueless = options[i].kind == NO_VALUE;
		int rc;

		if (strcmp(options[i].name, option) != 0)
			continue;
		if (!valueless && (!value || (options[i].kind == NAME && !*value)))
			return xw_fail(o->diag, XW_ERR_USAGE, "%s: needs a value", option);
		if (valueless && value)
			return xw_fail(o->diag, XW_ERR_USAGE, "%s: takes no value", option);
		rc = options[i].set ? options[i].set(o, value) : 0;
		o->want.set |= rc ? 0 : options[i].bit;
		return rc;
	}
	return XW_ERR_NOTFOUND;
}

bool xw_tune_options_change(const struct xw_tune_options *o)
{
	static const struct xw_tune_want nothing; /* zeros, including padding */

	return memcmp(&o->want, &nothing, sizeof(nothing)) != 0;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int xw_tune_options_check(struct xw_tune_options *o, const char *image)
{
	if (o->want.lastcheck < 0)
		o->want.lastcheck = o->opts.now;
	if (o->opts.undo_file && is_same_file(image, o->opts.undo_file))
		return xw_fail(o->diag, XW_ERR_USAGE, "-z %s: is the image itself",
			       o->opts.undo_file);
	if (o->want.set & XW_TUNE_CLEAR_MMP && !o->opts.force)
		return xw_fail(o->diag, XW_ERR_USAGE,
			       "Error in using clear_mmp. It must be used with -f");
	if (o->clear_pending && (!o->opts.force || xw_tune_options_change(o)))
		return xw_fail(o->diag, XW_ERR_USAGE,
			       "clear_pending must be used with -f, and with no other change");
	if (o->want.encoding_flags && !o->want.encoding)
		return xw_fail(o->diag, XW_ERR_USAGE,
			       "error: An encoding must be explicitly specified when passing "
			       "encoding-flags");
	return 0;
}

/* ---- results ---- */

void xw_tune_outcome_json(const struct xw_tune_outcome *r, struct xw_json *j)
{
	const char *how = xw_commit_how_name(r->commit.how);

	xw_json_object(j, NULL);
	xw_json_u64(j, "itrees_built", r->itrees_built);
	xw_json_u64(j, "itrees_dropped", r->itrees_dropped);
	xw_json_u64(j, "directories_rebuilt", r->directories_rebuilt);
	xw_json_u64(j, "indexes_dropped", r->indexes_dropped);
	xw_json_u64(j, "commit_blocks", r->commit.blocks);
	xw_json_str(j, "commit", how, strlen(how));
	xw_json_bool(j, "replayed", r->replayed);
	xw_space_stats_json(&r->space, j, "mballoc");
	xw_json_end(j, '}');
}

const char *xw_tune_pending_name(enum xw_tune_pending was)
{
	static const char *const names[] = {
		[XW_TUNE_NOT_PENDING] = "none",
		[XW_TUNE_COMPLETED] = "completed",
		[XW_TUNE_GIVEN_UP] = "given up",
		[XW_TUNE_CLEARED] = "cleared",
	};

	return names[was];
}

void xw_tune_pending_json(enum xw_tune_pending was, struct xw_json *j)
{
	const char *name = xw_tune_pending_name(was);

	xw_json_object(j, NULL);
	xw_json_str(j, "pending", name, strlen(name));
	xw_json_end(j, '}');
}
