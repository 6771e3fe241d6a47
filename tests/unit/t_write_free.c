/* SPDX-License-Identifier: MIT */
/* Writes to free blocks by a checker, whose other writes are all held in memory. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/xw.h"
#include "session/edit.h"
#include "session/freemap.h"
#include "tmp.h"
#include "unit.h"

#define BS 1024u
#define LIVE 8193u /* the superblock's first copy: in use, and nobody looks at it here */

static char dir[64], path[96];
static struct xw_diag diag;
static const struct xw_edit_opts defaults = {.now = 1700000000};

static void make(void)
{
	struct xw_mkfs *m;

	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-b", "1024"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", "40M"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-F", NULL), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "now", "1700000000"), 0);
	if (xw_mkfs_run(m, path))
		ck_abort_msg("%s", xw_mkfs_error(m));
	xw_mkfs_free(m);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(tmp_template(dir, sizeof(dir), "xw_t_edit")));
	snprintf(path, sizeof(path), "%s/image", dir);
	memset(&diag, 0, sizeof(diag));
	make();
}

static void teardown(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static struct xw_edit *begin(const struct xw_edit_opts *opts)
{
	struct xw_edit *e;

	if (xw_edit_begin(path, opts, &diag, &e))
		ck_abort_msg("%s", diag.text);
	return e;
}

static void on_disk(uint64_t blk, const void *want, size_t len, bool there)
{
	unsigned char buf[BS];
	int fd = open(path, O_RDONLY);

	ck_assert_int_eq(pread(fd, buf, len, (off_t)(blk * BS)), (ssize_t)len);
	close(fd);
	ck_assert_int_eq(!memcmp(buf, want, len), there);
}

/* The first of n free blocks, from `from` on. */
static xw_blk find(struct xw_edit *e, uint64_t n, xw_blk from)
{
	struct xw_freemap *m;
	bool is_free;
	uint64_t len;

	ck_assert_int_eq(xw_freemap_new(xw_overlay_base(xw_edit_dev(e)), &diag, &m), 0);
	for (xw_blk b = from;; b += len) {
		ck_assert_uint_lt(b, 40960);
		len = xw_freemap_query(m, b, 40960 - b, &is_free);
		if (is_free && len >= n) {
			xw_freemap_free(m);
			return b;
		}
	}
}

/* What a checker vouches for goes to the image, although all else is held. */
START_TEST(write_free)
{
	struct xw_edit *e = begin(&defaults);
	struct xw_dev *d = xw_edit_dev(e);
	const xw_blk spare = find(e, 20, 100), live = LIVE;
	unsigned char data[2 * BS], old[BS], zeros[BS] = {0};
	struct xw_overlay_stats stats;
	bool written;

	memset(data, 0x5A, sizeof(data));
	ck_assert_int_eq(xw_dev_pread(d, old, BS, live * BS), 0);
	xw_edit_hold_all(e);
	ck_assert_int_eq(xw_edit_write_free(e, false, data, 2 * BS, spare * BS, &written), 0);
	ck_assert(written);
	on_disk(spare + 1, data, BS, true);
	/* a block in use, unless the caller knows better; no part of a block; no block that is held
	 */
	ck_assert_int_eq(xw_edit_write_free(e, false, data, BS, live * BS, &written), 0);
	ck_assert(!written);
	on_disk(live, old, BS, true);
	ck_assert_int_eq(xw_edit_write_free(e, false, data, 512, (spare + 4) * BS, &written), 0);
	ck_assert(!written);
	ck_assert_int_eq(xw_dev_pwrite(d, "held", 4, (spare + 6) * BS), 0);
	ck_assert_int_eq(xw_edit_write_free(e, true, data, 2 * BS, (spare + 5) * BS, &written), 0);
	ck_assert(!written);
	on_disk(spare + 5, data, BS, false);
	ck_assert_int_eq(xw_edit_write_free(e, true, data, BS, live * BS, &written), 0);
	ck_assert(written);
	on_disk(live, data, BS, true);
	/* other writes are still held, also those to the same block */
	ck_assert_int_eq(xw_dev_pwrite(d, "later", 5, spare * BS), 0);
	on_disk(spare, data, BS, true);
	xw_overlay_stats(d, &stats);
	ck_assert_uint_eq(stats.dirty, 2);
	xw_edit_end(e);
	on_disk(spare, zeros, BS, true); /* released */
}
END_TEST

/* The old contents of such a block are in the undo file, once, and in no other file. */
START_TEST(write_free_undo)
{
	char undo[128], cmd[300];
	struct xw_edit_opts opts = defaults;
	unsigned char data[BS], old[BS];
	struct xw_edit *e = begin(&defaults);
	const xw_blk spare = find(e, 20, 100);
	struct stat st;
	bool written;
	int fd = open(path, O_RDWR);

	xw_edit_end(e);
	for (size_t i = 0; i < BS; i++)
		old[i] = (unsigned char)(i * 7 + 1);
	memset(data, 0x5A, sizeof(data));
	ck_assert_int_eq(pwrite(fd, old, BS, (off_t)(spare * BS)), BS);
	close(fd);
	snprintf(undo, sizeof(undo), "%s.undo", path);
	opts.undo_file = undo;
	for (int commit = 0; commit < 2; commit++) {
		e = begin(&opts);
		xw_edit_hold_all(e);
		for (int twice = 0; twice < 2; twice++) {
			ck_assert_int_eq(
				xw_edit_write_free(e, false, data, BS, spare * BS, &written), 0);
			ck_assert(written);
		}
		ck_assert_int_eq(stat(undo, &st), -1); /* it has no name before the commit */
		ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), "changed", 7, LIVE * BS), 0);
		/* and then it is overwritten in memory, too */
		ck_assert_int_eq(xw_dev_pwrite(xw_edit_dev(e), "changed", 7, spare * BS), 0);
		if (commit && xw_edit_commit(e, NULL))
			ck_abort_msg("%s", diag.text);
		xw_edit_end(e);
		if (!commit) { /* released: write it again */
			fd = open(path, O_RDWR);
			ck_assert_int_eq(pwrite(fd, old, BS, (off_t)(spare * BS)), BS);
			close(fd);
		}
	}
	on_disk(spare, "changed", 7, true);
	snprintf(cmd, sizeof(cmd), "e2undo '%s' '%s' >/dev/null 2>&1", undo, path);
	if (!system("command -v e2undo >/dev/null")) {
		ck_assert_int_eq(system(cmd), 0);
		on_disk(spare, old, BS, true);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("write_free");
	TCase *tc = tcase_create("write_free");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, write_free);
	tcase_add_test(tc, write_free_undo);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
