/* SPDX-License-Identifier: MIT */
/*
 * The handle of an image opened for reading: what a caller does wrong, what callbacks return, and
 * calls within callbacks. What it reads is compared in tests/cli/fs.sh and tests/oracle/fs.sh.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/xw.h"
#include "base/types.h"
#include "tarmake.h"
#include "tmp.h"
#include "unit.h"

static struct xw_fs *fs;
static char image[64];
static struct xw_fs_stat dir, file;

struct stream {
	const unsigned char *p;
	size_t left;
};

static int64_t give(void *arg, void *buf, size_t len)
{
	struct stream *s = arg;

	len = XW_MIN(len, s->left);
	memcpy(buf, s->p, len);
	s->p += len;
	s->left -= len;
	return (int64_t)len;
}

static void make_image(void)
{
	static const char text[] = "contents of a file";
	struct tm_tar t = {0};
	struct xw_mkfs *m;
	struct stream s;

	tm_hdr(&t, '5', "d", "", 0);
	tm_sum(tm_last(&t));
	tm_hdr(&t, '0', "d/file", "", sizeof(text));
	tm_sum(tm_last(&t));
	tm_add(&t, text, sizeof(text));
	tm_hdr(&t, '0', "d/other", "", 0);
	tm_sum(tm_last(&t));
	tm_hdr(&t, '2', "d/link", "file", 0);
	tm_sum(tm_last(&t));
	tm_add(&t, NULL, (size_t)2 * XW_TAR_BLOCK);
	s = (struct stream){t.p, t.n};
	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", "8M"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-L", "sixteen_byte_lbl"), 0);
	ck_assert_int_eq(xw_mkfs_add_source_cb(m, give, &s, "stream"), 0);
	ck_assert_msg(!xw_mkfs_run(m, image), "%s", xw_mkfs_error(m));
	xw_mkfs_free(m);
	free(t.p);
}

static void setup(void)
{
	const int fd = mkstemp(tmp_template(image, sizeof(image), "xw-t-fs"));

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(unlink(image), 0);
	make_image();
	ck_assert_int_eq(xw_fs_new(&fs), 0);
	ck_assert_msg(!xw_fs_open(fs, image), "%s", xw_fs_error(fs));
	ck_assert_int_eq(xw_fs_stat(fs, "d", 0, &dir), 0);
	ck_assert_int_eq(xw_fs_stat(fs, "/d/file", 0, &file), 0);
}

static void teardown(void)
{
	xw_fs_free(fs);
	unlink(image);
}

static void said(int rc, int wanted, const char *text)
{
	ck_assert_msg(rc == wanted && strstr(xw_fs_error(fs), text), "%d, \"%s\"; not %d, \"%s\"",
		      rc, xw_fs_error(fs), wanted, text);
}

START_TEST(options)
{
	said(xw_fs_set(fs, "--no-such", "x"), XW_E_USAGE, "--no-such");
	said(xw_fs_set(fs, "-E", NULL), XW_E_USAGE, "offset=BYTES");
	said(xw_fs_set(fs, "-E", "offset=-1"), XW_E_USAGE, "offset=-1");
	said(xw_fs_set(fs, "-E", "offset=16E"), XW_E_USAGE, "offset=16E");
	said(xw_fs_set(fs, "--redo-file", NULL), XW_E_USAGE, "--redo-file");
	ck_assert_int_eq(xw_fs_set(fs, "--redo-dir", "/nowhere"), 0);
	ck_assert_str_eq(xw_fs_error(fs), "");
	ck_assert_msg(!xw_fs_open(fs, image), "%s", xw_fs_error(fs));
	ck_assert_str_eq(xw_fs_info(fs)->label, "sixteen_byte_lbl");
	ck_assert_ptr_nonnull(strstr(xw_fs_json(fs), "\"label\":\"sixteen_byte_lbl\","));
}
END_TEST

static int each_name(void *arg, const struct xw_fs_name *n)
{
	(void)n;
	++*(int *)arg;
	return 0;
}

static int each_extent(void *arg, const struct xw_fs_extent *e)
{
	(void)e;
	++*(int *)arg;
	return 0;
}

static int each_xattr(void *arg, const struct xw_fs_xattr *x)
{
	(void)x;
	++*(int *)arg;
	return 0;
}

/* A failed opening closes the image that was open. */
START_TEST(none_open)
{
	struct xw_fs_stat st;
	const char *target;
	char buf[8];
	int n = 0;

	said(xw_fs_open(fs, "/nowhere/at/all"), XW_E_NOTFOUND, "/nowhere/at/all");
	ck_assert_ptr_null(xw_fs_info(fs));
	ck_assert_ptr_null(xw_fs_json(fs));
	said(xw_fs_stat(fs, "/", 1, &st), XW_E_USAGE, "no image is open");
	said(xw_fs_stat_ino(fs, 2, &st), XW_E_USAGE, "no image is open");
	said(xw_fs_list(fs, 2, each_name, &n), XW_E_USAGE, "no image is open");
	said((int)xw_fs_pread(fs, 12, 0, buf, sizeof(buf)), XW_E_USAGE, "no image is open");
	said(xw_fs_readlink(fs, 12, &target), XW_E_USAGE, "no image is open");
	said(xw_fs_xattrs(fs, 2, each_xattr, &n), XW_E_USAGE, "no image is open");
	said(xw_fs_extents(fs, 2, each_extent, &n), XW_E_USAGE, "no image is open");
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(xw_fs_open(fs, image), 0);
	ck_assert_int_eq(xw_fs_list(fs, dir.ino, each_name, &n), 0);
	ck_assert_int_eq(n, 3);
	ck_assert_str_eq(xw_fs_error(fs), "");
}
END_TEST

START_TEST(other_types)
{
	const uint32_t inodes[] = {0, UINT32_MAX, (uint32_t)xw_fs_info(fs)->inodes + 1};
	struct xw_fs_stat st;
	const char *target;
	char buf[8];
	int n = 0;

	said(xw_fs_list(fs, file.ino, each_name, &n), XW_E_USAGE, "is not a directory");
	said((int)xw_fs_pread(fs, dir.ino, 0, buf, 8), XW_E_USAGE, "is not a regular file");
	said(xw_fs_readlink(fs, file.ino, &target), XW_E_USAGE, "is not a symbolic link");
	ck_assert_ptr_null(target);
	for (size_t i = 0; i < XW_ARRAY_SIZE(inodes); i++) {
		said(xw_fs_stat_ino(fs, inodes[i], &st), XW_E_NOTFOUND, "no inode");
		said(xw_fs_list(fs, inodes[i], each_name, &n), XW_E_NOTFOUND, "no inode");
	}
	said(xw_fs_stat(fs, "", 1, &st), XW_E_NOTFOUND, "no such file");
	said(xw_fs_stat(fs, "d/file/below", 1, &st), XW_E_NOTFOUND, "no such file");
	ck_assert_int_eq(n, 0);
}
END_TEST

/* Reads end at the end of the file, wherever they begin. */
START_TEST(places)
{
	char buf[64];
	const char *target;
	struct xw_fs_stat st;

	ck_assert_int_eq((int)xw_fs_pread(fs, file.ino, 0, buf, sizeof(buf)), (int)file.size);
	ck_assert_str_eq(buf, "contents of a file");
	ck_assert_int_eq((int)xw_fs_pread(fs, file.ino, 9, buf, 2), 2);
	ck_assert_int_eq(memcmp(buf, "of", 2), 0);
	ck_assert_int_eq((int)xw_fs_pread(fs, file.ino, file.size, buf, 2), 0);
	ck_assert_int_eq((int)xw_fs_pread(fs, file.ino, UINT64_MAX, buf, SIZE_MAX), 0);
	ck_assert_int_eq((int)xw_fs_pread(fs, file.ino, 0, buf, 0), 0);
	ck_assert_int_eq(xw_fs_stat(fs, "d/link", 0, &st), 0);
	ck_assert_int_eq(xw_fs_readlink(fs, st.ino, &target), 0);
	ck_assert_str_eq(target, "file");
	ck_assert_int_eq(xw_fs_stat(fs, "d/link", 1, &st), 0);
	ck_assert_uint_eq(st.ino, file.ino);
}
END_TEST

/* ---- callbacks ---- */

struct nest {
	int n, end, rc;
};

/* Uses the handle for other inodes, and fails in doing so. */
static int use_again(void *arg, const struct xw_fs_name *n)
{
	struct nest *nest = arg;
	struct xw_fs_stat st;
	int below = 0;

	ck_assert_int_eq(xw_fs_stat_ino(fs, n->ino, &st), 0);
	ck_assert_uint_eq(n->type, st.mode & S_IFMT);
	ck_assert_int_eq(xw_fs_list(fs, 2, each_name, &below), 0);
	ck_assert_int_eq(below, 2);
	ck_assert_int_eq(xw_fs_extents(fs, dir.ino, each_extent, &below), 0);
	ck_assert_int_eq(below, 3);
	said(xw_fs_stat(fs, "none", 0, &st), XW_E_NOTFOUND, "none");
	return ++nest->n == nest->end ? nest->rc : 0;
}

START_TEST(nested)
{
	struct nest nest = {.end = 2, .rc = 77};

	ck_assert_int_eq(xw_fs_list(fs, dir.ino, use_again, &nest), 77);
	ck_assert_int_eq(nest.n, 2);
	nest = (struct nest){.end = 1, .rc = -1234};
	ck_assert_int_eq(xw_fs_list(fs, dir.ino, use_again, &nest), -1234);
	nest = (struct nest){0};
	ck_assert_int_eq(xw_fs_list(fs, dir.ino, use_again, &nest), 0);
	ck_assert_int_eq(nest.n, 3);
	ck_assert_str_eq(xw_fs_error(fs), "");
}
END_TEST

static int place(void *arg, const struct xw_fs_extent *e)
{
	*(uint64_t *)arg = e->physical;
	return 0;
}

static void warn(void *arg, enum xw_severity severity, const char *line)
{
	ck_assert_int_eq(severity, XW_WARNING);
	ck_assert_ptr_nonnull(strstr(line, "damaged entry"));
	++*(int *)arg;
}

/* Names before the damage are seen, and the failure is that of the directory. */
START_TEST(nested_damage)
{
	struct nest nest = {0};
	uint64_t at = 0;
	int warnings = 0;
	FILE *f = fopen(image, "r+");

	ck_assert_int_eq(xw_fs_extents(fs, dir.ino, place, &at), 0);
	ck_assert_ptr_nonnull(f);
	/* the length of the fourth record, behind ".", ".." and "file", of 12 bytes each */
	ck_assert_int_eq(fseek(f, (long)at + 3 * 12 + 4, SEEK_SET), 0);
	ck_assert_int_eq(fputc(1, f), 1);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(xw_fs_set(fs, "--ignore-checksums", NULL), 0);
	xw_fs_on_log(fs, warn, &warnings);
	ck_assert_int_eq(xw_fs_open(fs, image), 0);
	said(xw_fs_list(fs, dir.ino, use_again, &nest), XW_E_CORRUPT, "damaged entry");
	ck_assert_int_eq(nest.n, 1);
	ck_assert_int_eq(warnings, 1);
	/* the handle is as usable as before */
	ck_assert_int_eq(xw_fs_stat_ino(fs, dir.ino, &dir), 0);
	ck_assert_str_eq(xw_fs_error(fs), "");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fs");
	TCase *t = tcase_create("fs");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, options);
	tcase_add_test(t, none_open);
	tcase_add_test(t, other_types);
	tcase_add_test(t, places);
	tcase_add_test(t, nested);
	tcase_add_test(t, nested_damage);
	suite_add_tcase(s, t);
	return unit_main(s);
}
