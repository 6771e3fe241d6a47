// SPDX-License-Identifier: MIT
/* Options by their names on the command line; what of it is e2fsck's has e2fsck's exit status. */
#include "config.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "plan/parse.h"

#include "check/check.h"

static int refuse_number(struct xw_diag *diag, const char *option, const char *value)
{
	(void)xw_fail(diag, XW_ERR_USAGE, "option %s: invalid number '%s'", option, value);
	return FSCK_EXIT_USAGE;
}

static int refuse(struct xw_diag *diag, const char *text)
{
	(void)xw_fail(diag, XW_ERR_USAGE, "%s", text);
	return FSCK_EXIT_ERROR;
}

/* -n, -p, -a, -y. */
static bool mode_of(const char *option, enum fsck_mode *mode)
{
	static const struct {
		const char *option;
		enum fsck_mode mode;
	} rows[] = {{"-a", FSCK_PREEN}, {"-p", FSCK_PREEN}, {"-n", FSCK_NO}, {"-y", FSCK_YES}};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++)
		if (!strcmp(option, rows[i].option)) {
			*mode = rows[i].mode;
			return true;
		}
	return false;
}

static int set_mode(struct fsck_opts *o, enum fsck_mode mode, struct xw_diag *diag)
{
	if (o->mode != FSCK_ASK && o->mode != mode)
		return refuse(diag, "only one of the options -p/-a, -n or -y may be specified");
	o->mode = mode;
	return 0;
}

/* Options without a value. false: not one of these. */
static bool set_flag(struct fsck_opts *o, const char *option)
{
	const struct {
		const char *option;
		bool *flag;
	} rows[] = {
		{"-D", &o->optimize_dirs}, {"-f", &o->force},    {"--force", &o->force},
		{"-F", &o->flush},         {"-k", &o->bad_keep},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++)
		if (!strcmp(option, rows[i].option))
			return *rows[i].flag = true;
	if (!strcmp(option, "-c"))
		return ++o->bad_test;
	return !strcmp(option, "-r");
}

/* As e2fsck has it: only a superblock that -b names is looked for with that size. */
static int set_block_size(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || n < 1024 || n > 65536 || (n & (n - 1)))
		xw_log(diag, XW_LOG_WARN,
		       "-B %s: is not a block size (1024 to 65536, a power of two); ignored",
		       value);
	else
		o->block_size = (uint32_t)n;
	return 0;
}

static int set_jobs(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || !n || n > 1024) {
		(void)xw_fail(diag, XW_ERR_USAGE, "--jobs %s: must be 1 to 1024", value);
		return FSCK_EXIT_USAGE;
	}
	o->jobs = (unsigned)n;
	return 0;
}

static int set_commit(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	return xw_commit_how_set(value, &o->how, diag) ? FSCK_EXIT_USAGE : 0;
}

static int set_now(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || n > INT64_MAX)
		return refuse_number(diag, "now", value);
	o->now = (int64_t)n;
	o->now_set = true;
	return 0;
}

/* -I and -P: sizes of buffers in e2fsck, which this checker does not have. */
static int set_number(struct fsck_opts *o, const char *option, const char *value,
		      struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_u64(value, &n))
		return refuse_number(diag, option, value);
	if (!strcmp(option, "-b"))
		o->backup = n;
	return 0;
}

/* The setting of an option whose value is a name; NULL: not one of these. */
static const char **name_of(struct fsck_opts *o, const char *option)
{
	const struct {
		const char *option, **name;
	} rows[] = {
		{"-j", &o->journal},
		{"-l", &o->bad_file},
		{"-L", &o->bad_file},
		{"-N", &o->name},
		{"-z", &o->undo_file},
		{"--redo-dir", &o->redo_dir},
		{"--redo-file", &o->redo_file},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++)
		if (!strcmp(option, rows[i].option))
			return rows[i].name;
	return NULL;
}

static int set_value(struct fsck_opts *o, const char *option, const char *value,
		     struct xw_diag *diag)
{
	if (!strcmp(option, "-B"))
		return set_block_size(o, value, diag);
	if (!strcmp(option, "-E"))
		return fsck_opts_extended(o, value, diag);
	if (!strcmp(option, "--jobs"))
		return set_jobs(o, value, diag);
	if (!strcmp(option, "--commit"))
		return set_commit(o, value, diag);
	if (!strcmp(option, "now"))
		return set_now(o, value, diag);
	return set_number(o, option, value, diag);
}

/* Values that are more than names. */
static bool has_value(const char *option)
{
	static const char *const names[] = {"-b", "-B",     "-E",       "-I",
					    "-P", "--jobs", "--commit", "now"};

	for (size_t i = 0; i < XW_ARRAY_SIZE(names); i++)
		if (!strcmp(option, names[i]))
			return true;
	return false;
}

/* An option that takes no value. */
static int set_alone(struct fsck_opts *o, const char *option, const char *value,
		     struct xw_diag *diag)
{
	struct fsck_opts unused = {0};
	enum fsck_mode mode;
	const bool is_mode = mode_of(option, &mode);

	if (!is_mode && !set_flag(&unused, option))
		return XW_ERR_NOTFOUND;
	if (value) {
		(void)xw_fail(diag, XW_ERR_USAGE, "option %s takes no value", option);
		return FSCK_EXIT_USAGE;
	}
	if (is_mode)
		return set_mode(o, mode, diag);
	(void)set_flag(o, option);
	return 0;
}

int xw_fsck_set(struct fsck_opts *o, const char *option, const char *value, struct xw_diag *diag)
{
	const char **name;

	name = name_of(o, option);
	if (!name && !has_value(option))
		return set_alone(o, option, value, diag);
	if (!value) {
		(void)xw_fail(diag, XW_ERR_USAGE, "option %s needs a value", option);
		return FSCK_EXIT_USAGE;
	}
	if (!name)
		return set_value(o, option, value, diag);
	*name = value;
	o->bad_keep |= !strcmp(option, "-l");
	return 0;
}

/*
 * The current time: that of the option, else the clock. Whether a time is in the future is decided
 * by the clock.
 */
static void settle_now(struct fsck_opts *o)
{
	const int64_t clock = (int64_t)time(NULL);

	if (!o->now_set)
		o->now = clock;
	o->latest = XW_MAX(o->now, clock);
}

int xw_fsck_settle(struct fsck_opts *o, struct xw_diag *diag)
{
	const bool tests = o->bad_test || o->bad_file;

	settle_now(o);
	if (o->share_xattrs || o->itree != FSCK_ITREE_KEEP || tests || o->unshare_blocks ||
	    o->bmap2extent)
		o->force = true;
	if (o->bad_test && o->bad_file) {
		(void)refuse(diag, "options -c and -l/-L are incompatible");
		return FSCK_EXIT_USAGE;
	}
	if (o->mode == FSCK_NO && tests)
		return refuse(diag, o->bad_file ? "options -n and -l/-L are incompatible"
						: "options -n and -c are incompatible");
	if (o->fixes_only && o->bmap2extent)
		return refuse(diag, "options -E fixes_only and -E bmap2extent are incompatible");
	if (o->mode == FSCK_NO && o->optimize_dirs)
		return refuse(diag, "options -n and -D are incompatible");
	if (o->fixes_only && o->optimize_dirs)
		return refuse(diag, "options -E fixes_only and -D are incompatible");
	return 0;
}

int xw_fsck_check_undo(const struct fsck_opts *o, struct xw_diag *diag)
{
	struct stat image, undo;

	if (!o->undo_file)
		return 0;
	if (!*o->undo_file)
		return refuse(diag, "-z: needs the name of a file");
	if (stat(o->image, &image) || stat(o->undo_file, &undo) || image.st_dev != undo.st_dev ||
	    image.st_ino != undo.st_ino)
		return 0;
	(void)xw_fail(diag, XW_ERR_USAGE, "-z %s: is the image itself", o->undo_file);
	return FSCK_EXIT_ERROR;
}
