/* SPDX-License-Identifier: MIT */
/*
 * An image with a few files in memory, and an import of 200 into it: what the tests of imports work
 * on. Files lie in a directory of their own under /tmp while they are needed.
 */
#ifndef XW_TESTS_IMPORT_WORLD_H
#define XW_TESTS_IMPORT_WORLD_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/import.h"
#include "commit_world.h"
#include "digest.h"
#include "groups.h"
#include "memdev.h"
#include "tarmake.h"
#include "tmp.h"

#define NOW "1700000000"
#define WHY sizeof(((struct xw_diag *)0)->text)

struct import_world {
	char dir[64], image_path[96], tar_path[96];
	unsigned char *image; /* the old state */
	size_t image_size;
};

static inline void import_world_open(struct import_world *iw)
{
	ck_assert_ptr_nonnull(mkdtemp(tmp_template(iw->dir, sizeof(iw->dir), "xw_import_world")));
	snprintf(iw->image_path, sizeof(iw->image_path), "%s/image", iw->dir);
	snprintf(iw->tar_path, sizeof(iw->tar_path), "%s/tar", iw->dir);
}

static inline void import_world_close(struct import_world *iw)
{
	unlink(iw->image_path);
	unlink(iw->tar_path);
	rmdir(iw->dir);
	free(iw->image);
	iw->image = NULL;
}

/* ---- the sources ---- */

static inline void put_file(struct tm_tar *t, const char *name, unsigned n)
{
	static char data[64 << 10];
	size_t len = n % 7 ? n * 337 % 9000 : n % 35 ? 0 : 50000;

	for (size_t i = 0; i < len; i++)
		data[i] = (char)(i % 251 + n);
	if (n % 3 == 0)
		TM_PAX(t, "SCHILY.xattr.user.small=of a file");
	if (n % 11 == 0) {
		static char big[700] = "SCHILY.xattr.user.big=";

		memset(big + 22, 'x', sizeof(big) - 23);
		TM_PAX(t, big);
	}
	tm_file(t, '0', name, "", data, len);
}

static inline void put_tree(struct tm_tar *t)
{
	char name[64];

	tm_file(t, '5', "a", "", NULL, 0);
	tm_file(t, '5', "a/b", "", NULL, 0);
	tm_file(t, '5', "gone", "", NULL, 0);
	for (unsigned i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "%s/old-%u", i % 3 ? "a" : i % 2 ? "a/b" : "gone", i);
		put_file(t, name, i);
	}
	tm_file(t, '5', "many", "", NULL, 0); /* some blocks, so it has an index */
	for (unsigned i = 0; i < 70; i++) {
		snprintf(name, sizeof(name), "many/a-name-of-some-length-%u", i);
		tm_file(t, '0', name, "", NULL, 0);
	}
	tm_file(t, '1', "a/hard", "a/old-1", NULL, 0);
	tm_file(t, '2', "link", "a/b", NULL, 0);
	tm_end(t);
}

/* 200 files, and one of everything that can happen to what is there. */
static inline void put_update(struct tm_tar *t)
{
	char name[64];

	TM_PAX(t, "SCHILY.xattr.user.dir=new");
	tm_file(t, '5', "a", "", NULL, 0);
	for (unsigned i = 0; i < 200; i++) {
		const char *where = i % 5 == 0 ? "a/old-" : i % 5 == 1 ? "link/" : "new/dir/n";

		snprintf(name, sizeof(name), "%s%u", where, i);
		put_file(t, name, i + 100);
	}
	tm_file(t, '0', "many/more", "", NULL, 0);
	tm_file(t, '1', "new/hard", "a/old-1", NULL, 0);
	tm_file(t, '1', "new/hard2", "new/dir/n2", NULL, 0);
	tm_file(t, '2', "new/symlink", "somewhere", NULL, 0);
	tm_file(t, '0', ".wh.gone", "", NULL, 0);
	tm_file(t, '0', "a/.wh.old-2", "", NULL, 0);
	tm_file(t, '5', "a/old-4", "", NULL, 0);
	tm_file(t, '0', "a/old-4/in it", "", "x", 1);
	tm_end(t);
}

static inline void write_tar(const struct import_world *iw, void (*put)(struct tm_tar *t))
{
	struct tm_tar t = {0};
	FILE *f = fopen(iw->tar_path, "wb");

	put(&t);
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(t.p, 1, t.n, f), t.n);
	ck_assert_int_eq(fclose(f), 0);
	free(t.p);
}

/* ---- the image ---- */

/* -t and -O as given, filled with a tree. */
static inline void import_world_image(struct import_world *iw, const char *type,
				      const char *features, void (*put)(struct tm_tar *t))
{
	const bool clusters = strstr(features, "bigalloc"); /* small ones: the image is small */
	const struct {
		const char *option, *value;
	} options[] = {
		{clusters ? "-C" : "-F", clusters ? "2048" : NULL},
		{"-t", type},
		{"-b", "1024"},
		{"-O", features},
		{"SIZE", "7M"},
		{"-N", "1024"},
		{"-F", NULL},
		{"now", NOW},
		{"-d", iw->tar_path},
		{"-E", "hash_seed=01234567-89ab-cdef-0123-456789abcdef"},
		{"-U", "01234567-89ab-cdef-0123-456789abcdef"},
	};
	struct xw_mkfs *m;
	FILE *f;

	write_tar(iw, put);
	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	for (size_t i = 0; i < XW_ARRAY_SIZE(options); i++)
		ck_assert_int_eq(xw_mkfs_set(m, options[i].option, options[i].value), 0);
	if (xw_mkfs_run(m, iw->image_path))
		ck_abort_msg("%s", xw_mkfs_error(m));
	iw->image_size = xw_mkfs_result(m)->size_bytes;
	xw_mkfs_free(m);
	free(iw->image);
	iw->image = malloc(iw->image_size);
	f = fopen(iw->image_path, "rb");
	ck_assert(iw->image && f);
	ck_assert_uint_eq(fread(iw->image, 1, iw->image_size, f), iw->image_size);
	fclose(f);
}

/* As if the medium had not been zeros, and its tables were left to the kernel. */
static inline void import_world_lazy(struct import_world *iw)
{
	struct xw_diag diag = {0};
	struct xw_dev *d;

	ck_assert_int_eq(xw_dev_open_mem(iw->image_size, &diag, &d), 0);
	ck_assert_int_eq(xw_dev_pwrite(d, iw->image, iw->image_size, 0), 0);
	leave_lazy(d, 0);
	ck_assert_int_eq(xw_dev_pread(d, iw->image, iw->image_size, 0), 0);
	xw_dev_close(d);
}

/* The tar is that of the import afterwards. */
static inline void import_world_make(struct import_world *iw, const char *type,
				     const char *features)
{
	import_world_image(iw, type, features, put_tree);
	write_tar(iw, put_update);
}

/* ---- runs ---- */

static inline int import_begin(struct world *w, enum xw_commit_how how, struct xw_edit **e)
{
	const struct xw_edit_opts o = {.how = how, .now = 1700000000};
	struct xw_dev *d = crash_dev_dup(w->img);
	int rc = xw_edit_begin_dev(d, &w->store, &o, &w->diag, e);

	if (rc)
		xw_dev_close(d);
	return rc;
}

static inline int import(const struct import_world *iw, struct world *w, enum xw_commit_how how,
			 char why[WHY])
{
	struct xw_import *x;
	struct xw_edit *e;
	int rc = import_begin(w, how, &e);

	strcpy(why, w->diag.text);
	if (rc)
		return rc;
	ck_assert_int_eq(xw_import_new(&x), 0);
	ck_assert_int_eq(xw_import_set(x, "now", NOW), 0);
	ck_assert_int_eq(xw_import_set(x, "--jobs", "1"), 0);
	ck_assert_int_eq(xw_import_add_source(x, iw->tar_path), 0);
	rc = xw_import_run_edit(x, "image", e);
	ck_assert(!rc == !*xw_import_error(x));
	strcpy(why, xw_import_error(x));
	xw_import_free(x);
	return rc;
}

/* What the next tool makes of it. */
static inline uint64_t world_reopen(struct world *w)
{
	struct xw_edit *e;
	uint64_t sum;

	world_revive(w);
	if (import_begin(w, XW_COMMIT_AUTO, &e))
		ck_abort_msg("opened again: %s", w->diag.text);
	sum = digest(xw_edit_dev(e));
	xw_edit_end(e);
	return sum;
}

#endif
