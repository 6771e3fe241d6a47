/* SPDX-License-Identifier: MIT */
/*
 * Null pointers passed to the public functions: an error code and no crash, and the handle can be
 * used afterwards. There is a row for each function of libextwright.sym, which a test compares.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/xw.h"
#include "base/types.h"
#include "plan/params.h"
#include "tmp.h"
#include "unit.h"

static char image[64], absent[80];

/* Handles, of which a test uses some. */
static struct xw_mkfs *m;
static struct xw_import *x;
static struct xw_export *e;
static struct xw_check *c;
static struct xw_tune *t;
static struct xw_age *a;
static struct xw_fs *fs; /* has opened the image */

static void setup(void)
{
	struct xw_mkfs *made;
	int fd;

	fd = mkstemp(tmp_template(image, sizeof(image), "xw-t-null"));
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(unlink(image), 0);
	snprintf(absent, sizeof(absent), "%s.new", image);
	ck_assert_int_eq(xw_mkfs_new(&made), 0);
	ck_assert_int_eq(xw_mkfs_set(made, "SIZE", "1M"), 0);
	ck_assert_msg(!xw_mkfs_run(made, image), "%s", xw_mkfs_error(made));
	xw_mkfs_free(made);
	ck_assert_int_eq(xw_mkfs_new(&m) | xw_import_new(&x) | xw_export_new(&e) |
				 xw_check_new(&c) | xw_tune_new(&t) | xw_age_new(&a) |
				 xw_fs_new(&fs),
			 0);
	ck_assert_int_eq(xw_fs_open(fs, image), 0);
}

static void teardown(void)
{
	xw_mkfs_free(m);
	xw_import_free(x);
	xw_export_free(e);
	xw_check_free(c);
	xw_tune_free(t);
	xw_age_free(a);
	xw_fs_free(fs);
	ck_assert_int_ne(access(absent, F_OK), 0);
	unlink(image);
}

static int wrote(void *arg, const void *buf, size_t len)
{
	(void)arg, (void)buf, (void)len;
	return 0;
}

static int64_t nothing(void *arg, void *buf, size_t len)
{
	(void)arg, (void)buf, (void)len;
	return 0;
}

static int entry(void *arg, const struct xw_export_entry *n)
{
	(void)arg, (void)n;
	return 0;
}

static int name(void *arg, const struct xw_fs_name *n)
{
	(void)arg, (void)n;
	return 0;
}

static int attr(void *arg, const struct xw_fs_xattr *n)
{
	(void)arg, (void)n;
	return 0;
}

static int extent(void *arg, const struct xw_fs_extent *n)
{
	(void)arg, (void)n;
	return 0;
}

static struct xw_fs_stat st;
static const char *target;
static char bytes[8];

#define USAGE(call) ck_assert_msg((call) == XW_E_USAGE, "%s", #call)
#define NONE(call) ck_assert_msg(!(call), "%s", #call)
#define TEXT(call) ck_assert_msg((call) && *(call), "%s", #call)

/* The functions that all handles have; `set` is an option that needs a value. */
#define COMMON(kind, h, set)                                                                       \
	static void kind##_new(void)                                                               \
	{                                                                                          \
		USAGE(xw_##kind##_new(NULL));                                                      \
	}                                                                                          \
	static void kind##_free(void)                                                              \
	{                                                                                          \
		xw_##kind##_free(NULL);                                                            \
	}                                                                                          \
	static void kind##_set(void)                                                               \
	{                                                                                          \
		USAGE(xw_##kind##_set(NULL, set, "1"));                                            \
		USAGE(xw_##kind##_set(h, NULL, "1"));                                              \
		TEXT(xw_##kind##_error(h));                                                        \
		USAGE(xw_##kind##_set(h, set, NULL));                                              \
		USAGE(xw_##kind##_set(h, NULL, NULL));                                             \
	}                                                                                          \
	static void kind##_on_log(void)                                                            \
	{                                                                                          \
		xw_##kind##_on_log(NULL, NULL, NULL);                                              \
		xw_##kind##_on_log(h, NULL, NULL);                                                 \
	}                                                                                          \
	static void kind##_json(void)                                                              \
	{                                                                                          \
		NONE(xw_##kind##_json(NULL));                                                      \
		(void)xw_##kind##_json(h); /* before a run */                                      \
	}                                                                                          \
	static void kind##_error(void)                                                             \
	{                                                                                          \
		TEXT(xw_##kind##_error(NULL));                                                     \
		ck_assert_str_eq(xw_##kind##_error(h), "");                                        \
	}

/* What all have that are run. */
#define RUNS(kind, h)                                                                              \
	static void kind##_on_progress(void)                                                       \
	{                                                                                          \
		xw_##kind##_on_progress(NULL, NULL, NULL);                                         \
		xw_##kind##_on_progress(h, NULL, NULL);                                            \
	}                                                                                          \
	static void kind##_result(void)                                                            \
	{                                                                                          \
		NONE(xw_##kind##_result(NULL));                                                    \
		ck_assert_ptr_nonnull(xw_##kind##_result(h)); /* before a run */                   \
	}

#define RUN(kind, h)                                                                               \
	static void kind##_run(void)                                                               \
	{                                                                                          \
		USAGE(xw_##kind##_run(NULL, image));                                               \
		USAGE(xw_##kind##_run(NULL, NULL));                                                \
		USAGE(xw_##kind##_run(h, NULL));                                                   \
		TEXT(xw_##kind##_error(h));                                                        \
	}

#define SOURCES(kind, h)                                                                           \
	static void kind##_on_names(void)                                                          \
	{                                                                                          \
		xw_##kind##_on_names(NULL, NULL, NULL);                                            \
		xw_##kind##_on_names(h, NULL, NULL);                                               \
	}                                                                                          \
	static void kind##_add_source(void)                                                        \
	{                                                                                          \
		USAGE(xw_##kind##_add_source(NULL, "x"));                                          \
		USAGE(xw_##kind##_add_source(h, NULL));                                            \
		TEXT(xw_##kind##_error(h));                                                        \
	}                                                                                          \
	static void kind##_add_source_cb(void)                                                     \
	{                                                                                          \
		USAGE(xw_##kind##_add_source_cb(NULL, nothing, NULL, "x"));                        \
		USAGE(xw_##kind##_add_source_cb(h, NULL, NULL, "x"));                              \
		USAGE(xw_##kind##_add_source_cb(h, nothing, NULL, NULL));                          \
		TEXT(xw_##kind##_error(h));                                                        \
	}

COMMON(mkfs, m, "-b")
RUNS(mkfs, m)
RUN(mkfs, m)
SOURCES(mkfs, m)
COMMON(import, x, "--commit")
RUNS(import, x)
RUN(import, x)
SOURCES(import, x)
COMMON(export, e, "--format")
RUNS(export, e)
COMMON(check, c, "-b")
RUNS(check, c)
RUN(check, c)
COMMON(tune, t, "-L")
RUNS(tune, t)
RUN(tune, t)
COMMON(age, a, "--files")
RUNS(age, a)
RUN(age, a)
COMMON(fs, fs, "-E")

static void version(void)
{
	TEXT(xw_version());
}

static void tune_on_names(void)
{
	xw_tune_on_names(NULL, NULL, NULL);
	xw_tune_on_names(t, NULL, NULL);
	USAGE(xw_tune_set(t, "-u", "nobody"));
}

static void mkfs_set_config(void)
{
	USAGE(xw_mkfs_set_config(NULL, "name", "", 0));
	USAGE(xw_mkfs_set_config(m, NULL, "[defaults]\n x = = y {", 22));
	USAGE(xw_mkfs_set_config(m, "name", NULL, 5));
	TEXT(xw_mkfs_error(m));
	ck_assert_int_eq(xw_mkfs_set_config(m, "name", NULL, 0),
			 xw_mkfs_set_config(m, "name", "", 0));
}

static void check_on_finding(void)
{
	xw_check_on_finding(NULL, NULL, NULL);
	xw_check_on_finding(c, NULL, NULL);
	ck_assert_int_eq(xw_check_run(c, image), 0);
}

static void age_measure(void)
{
	USAGE(xw_age_measure(NULL, image));
	USAGE(xw_age_measure(a, NULL));
	TEXT(xw_age_error(a));
	NONE(xw_age_json(a));
}

static void export_add_path(void)
{
	USAGE(xw_export_add_path(NULL, "/"));
	USAGE(xw_export_add_path(e, NULL));
	TEXT(xw_export_error(e));
}

static void export_on_entry(void)
{
	xw_export_on_entry(NULL, NULL, NULL);
	xw_export_on_entry(e, NULL, NULL);
}

static void export_run(void)
{
	USAGE(xw_export_run(NULL, image, wrote, NULL));
	USAGE(xw_export_run(e, NULL, wrote, NULL));
	USAGE(xw_export_run(e, image, NULL, NULL));
	TEXT(xw_export_error(e));
}

static void export_list(void)
{
	USAGE(xw_export_list(NULL, image, entry, NULL));
	USAGE(xw_export_list(e, NULL, entry, NULL));
	USAGE(xw_export_list(e, image, NULL, NULL));
	TEXT(xw_export_error(e));
}

static void export_extract(void)
{
	USAGE(xw_export_extract(NULL, image, absent));
	USAGE(xw_export_extract(e, NULL, absent));
	USAGE(xw_export_extract(e, image, NULL));
	TEXT(xw_export_error(e));
}

/* An open image stays open. */
static void fs_open(void)
{
	USAGE(xw_fs_open(NULL, image));
	USAGE(xw_fs_open(fs, NULL));
	TEXT(xw_fs_error(fs));
	ck_assert_ptr_nonnull(xw_fs_info(fs));
}

static void fs_info(void)
{
	NONE(xw_fs_info(NULL));
}

static void fs_stat(void)
{
	USAGE(xw_fs_stat(NULL, "/", 0, &st));
	USAGE(xw_fs_stat(fs, NULL, 0, &st));
	USAGE(xw_fs_stat(fs, "/", 0, NULL));
	TEXT(xw_fs_error(fs));
}

static void fs_stat_ino(void)
{
	USAGE(xw_fs_stat_ino(NULL, 2, &st));
	USAGE(xw_fs_stat_ino(fs, 2, NULL));
	TEXT(xw_fs_error(fs));
}

static void fs_list(void)
{
	USAGE(xw_fs_list(NULL, 2, name, NULL));
	USAGE(xw_fs_list(fs, 2, NULL, NULL));
	TEXT(xw_fs_error(fs));
}

static void fs_pread(void)
{
	USAGE(xw_fs_pread(NULL, 2, 0, bytes, sizeof(bytes)));
	USAGE(xw_fs_pread(fs, 2, 0, NULL, sizeof(bytes)));
	TEXT(xw_fs_error(fs));
}

static void fs_readlink(void)
{
	USAGE(xw_fs_readlink(NULL, 2, &target));
	USAGE(xw_fs_readlink(fs, 2, NULL));
	TEXT(xw_fs_error(fs));
}

static void fs_xattrs(void)
{
	USAGE(xw_fs_xattrs(NULL, 2, attr, NULL));
	USAGE(xw_fs_xattrs(fs, 2, NULL, NULL));
	TEXT(xw_fs_error(fs));
}

static void fs_extents(void)
{
	USAGE(xw_fs_extents(NULL, 2, extent, NULL));
	USAGE(xw_fs_extents(fs, 2, NULL, NULL));
	TEXT(xw_fs_error(fs));
}

/* clang-format off */
#define FUNCTIONS(X) \
	X(version) \
	X(mkfs_new) X(mkfs_free) X(mkfs_set) X(mkfs_set_config) X(mkfs_add_source) \
	X(mkfs_add_source_cb) X(mkfs_on_log) X(mkfs_on_names) X(mkfs_on_progress) X(mkfs_run) \
	X(mkfs_result) X(mkfs_json) X(mkfs_error) \
	X(import_new) X(import_free) X(import_set) X(import_add_source) X(import_add_source_cb) \
	X(import_on_log) X(import_on_names) X(import_on_progress) X(import_run) \
	X(import_result) X(import_json) X(import_error) \
	X(export_new) X(export_free) X(export_set) X(export_add_path) X(export_on_log) \
	X(export_on_progress) X(export_on_entry) X(export_run) X(export_extract) X(export_list) \
	X(export_result) X(export_json) X(export_error) \
	X(check_new) X(check_free) X(check_set) X(check_on_log) X(check_on_progress) \
	X(check_on_finding) X(check_run) X(check_result) X(check_json) X(check_error) \
	X(tune_new) X(tune_free) X(tune_set) X(tune_on_log) X(tune_on_names) X(tune_on_progress) \
	X(tune_run) X(tune_result) X(tune_json) X(tune_error) \
	X(age_new) X(age_free) X(age_set) X(age_on_log) X(age_on_progress) X(age_run) \
	X(age_measure) X(age_result) X(age_json) X(age_error) \
	X(fs_new) X(fs_free) X(fs_set) X(fs_on_log) X(fs_open) X(fs_info) X(fs_json) X(fs_stat) \
	X(fs_stat_ino) X(fs_list) X(fs_pread) X(fs_readlink) X(fs_xattrs) X(fs_extents) \
	X(fs_error)
/* clang-format on */

static const struct {
	const char *name;
	void (*call)(void);
} functions[] = {
#define X(name) {"xw_" #name, name},
	FUNCTIONS(X)
#undef X
};

START_TEST(null)
{
	functions[_i].call();
}
END_TEST

START_TEST(every_function)
{
	FILE *f = fopen(XW_SYMBOLS, "r");
	size_t found = 0;
	char line[120];

	ck_assert_msg(f, "%s", XW_SYMBOLS);
	while (fgets(line, sizeof(line), f)) {
		char *at = line + strspn(line, " \t");
		size_t i = 0;

		if (strncmp(at, "xw_", 3) != 0)
			continue;
		at[strcspn(at, ";")] = '\0';
		while (i < XW_ARRAY_SIZE(functions) && strcmp(functions[i].name, at) != 0)
			i++;
		ck_assert_msg(i < XW_ARRAY_SIZE(functions), "%s has no row", at);
		found++;
	}
	fclose(f);
	ck_assert_uint_eq(found, XW_ARRAY_SIZE(functions));
}
END_TEST

/* ---- options without their value ---- */

static const char *const options[] = {
#define X(name, text) text,
	XW_MKFS_OPTIONS(X)
#undef X
		"-l",
	"-z",
	"sector-size",
	"physical-sector-size",
	"-d",
	"--platform",
	"--oci-config",
	"--tmpdir",
	"--spool-limit",
	"--jobs",
	"--whiteouts",
	"now",
	"--device-table",
	"--fs-config",
	"--file-contexts",
	"--mount-point",
	"--exclude",
	"--exclude-from",
	"--xattrs-exclude",
	"--transform",
	"--owner-map",
	"--group-map",
	"--mtime",
	"--newer",
	"--newer-mtime",
	"--strip-components",
	"--directory",
	"--owner",
	"--group",
	"--mode",
	"--redo-file",
	"--redo-dir",
	"--undo-file",
	"--commit",
	"--order",
	"--format",
	"--level",
	"umask",
	"--auto-compress",
	"-B",
	"-P",
	"-L",
	"-c",
	"-C",
	"-e",
	"-g",
	"-u",
	"-Q",
	"-U",
	"--age-dist",
	"--allocator",
	"--depth-dist",
	"--dir",
	"--dirs",
	"--files",
	"--ops",
	"--profile",
	"--seed",
	"--size",
	"--size-dist",
	"--step",
	"--until",
	"--util",
	"",
	"x",
};

/* An option that is unknown to a handle, or needs no value, may have any result. */
START_TEST(no_value)
{
	const char *o = options[_i];

	ck_assert_int_le(xw_mkfs_set(m, o, NULL), 0);
	ck_assert_int_le(xw_import_set(x, o, NULL), 0);
	ck_assert_int_le(xw_export_set(e, o, NULL), 0);
	ck_assert_int_le(xw_check_set(c, o, NULL), 0);
	ck_assert_int_le(xw_tune_set(t, o, NULL), 0);
	ck_assert_int_le(xw_age_set(a, o, NULL), 0);
	ck_assert_int_le(xw_fs_set(fs, o, NULL), 0);
}
END_TEST

/* ---- calls out of order ---- */

START_TEST(not_open)
{
	struct xw_fs *closed;

	ck_assert_int_eq(xw_fs_new(&closed), 0);
	USAGE(xw_fs_stat(closed, "/", 0, &st));
	USAGE(xw_fs_stat_ino(closed, 2, &st));
	USAGE(xw_fs_list(closed, 2, name, NULL));
	USAGE(xw_fs_pread(closed, 2, 0, bytes, sizeof(bytes)));
	USAGE(xw_fs_readlink(closed, 2, &target));
	USAGE(xw_fs_xattrs(closed, 2, attr, NULL));
	USAGE(xw_fs_extents(closed, 2, extent, NULL));
	NONE(xw_fs_info(closed));
	NONE(xw_fs_json(closed));
	xw_fs_free(closed);
}
END_TEST

/* After a refused call the handle works. */
START_TEST(used_afterwards)
{
	USAGE(xw_fs_list(fs, 2, NULL, NULL));
	ck_assert_msg(!xw_fs_list(fs, 2, name, NULL), "%s", xw_fs_error(fs));
	xw_fs_free(fs); /* which keeps others from changing the image */
	fs = NULL;
	USAGE(xw_mkfs_run(m, NULL));
	ck_assert_int_eq(xw_mkfs_set(m, "-n", NULL), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", "1M"), 0);
	ck_assert_msg(!xw_mkfs_run(m, absent), "%s", xw_mkfs_error(m));
	USAGE(xw_tune_run(t, NULL));
	ck_assert_int_eq(xw_tune_set(t, "-L", "label"), 0);
	ck_assert_msg(!xw_tune_run(t, image), "%s", xw_tune_error(t));
	USAGE(xw_export_list(e, image, NULL, NULL));
	ck_assert_msg(!xw_export_list(e, image, entry, NULL), "%s", xw_export_error(e));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("api_null");
	TCase *tc = tcase_create("api_null");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	unit_add_rows(tc, null, functions, name);
	tcase_add_test(tc, every_function);
	unit_add_strings(tc, no_value, options);
	tcase_add_test(tc, not_open);
	tcase_add_test(tc, used_afterwards);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
