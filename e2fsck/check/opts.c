// SPDX-License-Identifier: MIT
/* Options by their names on the command line. Errors in options of e2fsck have its exit status. */
#include "config.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "plan/parse.h"

#include "check/check.h"

static int refuse_number(struct xw_diag *diag, const char *option, const char *value)
{
	return FSCK_REFUSE(FSCK_EXIT_USAGE, diag, "option %s: invalid number '%s'", option, value);
}

/* Get the mode that an option selects; false: it selects none. */
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

/* Set an option without a value; false: it is none of these. */
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

typedef int value_setter(struct fsck_opts *o, const char *option, const char *value,
			 struct xw_diag *diag);

/* As in e2fsck, the block size affects only the search for the superblock of -b. */
static int set_block_size(struct fsck_opts *o, const char *option, const char *value,
			  struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || n < 1024 || n > 65536 || (n & (n - 1)))
		xw_log(diag, XW_LOG_WARN,
		       "%s %s: is not a block size (1024 to 65536, a power of two); ignored",
		       option, value);
	else
		o->block_size = (uint32_t)n;
	return 0;
}

static int set_extended(struct fsck_opts *o, const char *option, const char *value,
			struct xw_diag *diag)
{
	(void)option;
	return fsck_opts_extended(o, value, diag);
}

static int set_jobs(struct fsck_opts *o, const char *option, const char *value,
		    struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || !n || n > 1024)
		return FSCK_REFUSE(FSCK_EXIT_USAGE, diag, "%s %s: must be 1 to 1024", option,
				   value);
	o->jobs = (unsigned)n;
	return 0;
}

static int set_commit(struct fsck_opts *o, const char *option, const char *value,
		      struct xw_diag *diag)
{
	(void)option;
	return xw_commit_how_set(value, &o->how, diag) ? FSCK_EXIT_USAGE : 0;
}

static int set_now(struct fsck_opts *o, const char *option, const char *value, struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || n > INT64_MAX)
		return refuse_number(diag, option, value);
	o->now = (int64_t)n;
	o->now_set = true;
	return 0;
}

/* -b, -I and -P. The last two set sizes of buffers in e2fsck, and have no effect here. */
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

/* The member for an option whose value is a name; NULL: it is none of these. */
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

/* The setter of an option whose value is not a name; NULL: it is none of these. */
static value_setter *setter_of(const char *option)
{
	static const struct {
		const char *option;
		value_setter *set;
	} rows[] = {
		{"-b", set_number},   {"-B", set_block_size}, {"-E", set_extended},
		{"-I", set_number},   {"-P", set_number},     {"--commit", set_commit},
		{"--jobs", set_jobs}, {"now", set_now},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++)
		if (!strcmp(option, rows[i].option))
			return rows[i].set;
	return NULL;
}

/* Set an option that takes no value. */
static int set_alone(struct fsck_opts *o, const char *option, const char *value,
		     struct xw_diag *diag)
{
	struct fsck_opts unused = {0};
	enum fsck_mode mode;
	const bool is_mode = mode_of(option, &mode);

	if (!is_mode && !set_flag(&unused, option))
		return XW_ERR_NOTFOUND;
	if (value)
		return FSCK_REFUSE(FSCK_EXIT_USAGE, diag, "option %s takes no value", option);
	if (!is_mode) {
		(void)set_flag(o, option);
		return 0;
	}
	if (o->mode != FSCK_ASK && o->mode != mode)
		return FSCK_REFUSE(FSCK_EXIT_ERROR, diag,
				   "only one of the options -p/-a, -n or -y may be specified");
	o->mode = mode;
	return 0;
}

int xw_fsck_set(struct fsck_opts *o, const char *option, const char *value, struct xw_diag *diag)
{
	const char **name = name_of(o, option);
	value_setter *const set = setter_of(option);

	if (!name && !set)
		return set_alone(o, option, value, diag);
	if (!value)
		return FSCK_REFUSE(FSCK_EXIT_USAGE, diag, "option %s needs a value", option);
	if (set)
		return set(o, option, value, diag);
	*name = value;
	o->bad_keep |= !strcmp(option, "-l");
	return 0;
}

int xw_fsck_check_options(struct fsck_opts *o, struct xw_diag *diag)
{
	const int64_t clock = (int64_t)time(NULL);
	const bool no = o->mode == FSCK_NO;
	const struct {
		bool both;
		int status;
		const char *options;
	} pairs[] = {
		{o->bad_test && o->bad_file, FSCK_EXIT_USAGE, "-c and -l/-L"},
		{no && o->bad_file, FSCK_EXIT_ERROR, "-n and -l/-L"},
		{no && o->bad_test, FSCK_EXIT_ERROR, "-n and -c"},
		{o->fixes_only && o->bmap2extent, FSCK_EXIT_ERROR,
		 "-E fixes_only and -E bmap2extent"},
		{no && o->optimize_dirs, FSCK_EXIT_ERROR, "-n and -D"},
		{o->fixes_only && o->optimize_dirs, FSCK_EXIT_ERROR, "-E fixes_only and -D"},
	};

	if (!o->now_set)
		o->now = clock;
	o->latest = XW_MAX(o->now, clock); /* only later times are in the future */
	if (o->share_xattrs || o->itree != FSCK_ITREE_KEEP || o->bad_test || o->bad_file ||
	    o->unshare_blocks || o->bmap2extent)
		o->force = true;
	for (size_t i = 0; i < XW_ARRAY_SIZE(pairs); i++)
		if (pairs[i].both)
			return FSCK_REFUSE(pairs[i].status, diag, "options %s are incompatible",
					   pairs[i].options);
	return 0;
}

int xw_fsck_check_undo(const struct fsck_opts *o, struct xw_diag *diag)
{
	struct stat image, undo;

	if (!o->undo_file)
		return 0;
	if (!*o->undo_file)
		return FSCK_REFUSE(FSCK_EXIT_ERROR, diag, "-z: needs the name of a file");
	if (stat(o->image, &image) || stat(o->undo_file, &undo) || image.st_dev != undo.st_dev ||
	    image.st_ino != undo.st_ino)
		return 0;
	return FSCK_REFUSE(FSCK_EXIT_ERROR, diag, "-z %s: is the image itself", o->undo_file);
}
