/* SPDX-License-Identifier: MIT */
/*
 * What tests/oracle/commit.sh and bitmaps.sh drive:
 *
 *   commit_tool change IMAGE NEW [how=redo|journal] [fail=K] [mode=cut|torn|eio|enospc|dead]
 *	make IMAGE what NEW is, but for its journal, as one change. At step K (writes to image
 *	and redo file, flushes, size changes, renames, removals, from 1) the process ends (cut),
 *	ends with half of that write done (torn), or the step fails: that one (eio, enospc) or
 *	all from then on (dead). Exit 0 done, 1 failed, 9 ended. The last line of output: how,
 *	the steps there were, and the live blocks.
 *   commit_tool open IMAGE [ro]
 *	recovery on open, as every tool does it; ro: in memory
 *   commit_tool state IMAGE OLD NEW [ro]
 *	"old" or "new" or "other": what IMAGE is, but for its journal, free blocks and the fields
 *	of a superblock that any writer of one updates; ro: as a read-only tool sees it
 *   commit_tool bitmaps IMAGE
 *	free blocks and inodes of each group as dumpe2fs prints them
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/types.h"
#include "session/edit.h"
#include "session/freemap.h"
#include "journal/log.h"
#include "read/bitmaps.h"

static struct xw_diag diag;

static int fail(int code)
{
	printf("%d: %s\n", code, diag.text);
	return 1;
}

/* ---- faults ---- */

enum mode { CUT, TORN, EIO_ONCE, ENOSPC_ONCE, DEAD };

static struct {
	uint64_t steps, at;
	enum mode mode;
} plan;

/* 0: go on; a code: fail with it; 1: end the process after half of the step. */
static int step(void)
{
	plan.steps++;
	if (!plan.at || plan.steps < plan.at || (plan.steps > plan.at && plan.mode != DEAD))
		return 0;
	switch (plan.mode) {
	case CUT:
		_exit(9);
	case TORN:
		return 1;
	case ENOSPC_ONCE:
		return xw_fail(&diag, XW_ERR_HOSTFULL, "no space, as planned");
	default:
		return xw_fail(&diag, XW_ERR_IO, "failed, as planned");
	}
}

struct faulty {
	struct xw_dev dev;
	struct xw_dev *under;
};

static struct xw_dev *under(struct xw_dev *d)
{
	return ((struct faulty *)d)->under;
}

static int grown(struct xw_dev *d, int rc)
{
	d->size = under(d)->size;
	return rc;
}

static int f_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	return xw_dev_pread(under(d), buf, len, off);
}

static int f_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	const int rc = step();
	size_t half = 0;

	if (rc < 0)
		return rc;
	if (!rc)
		return grown(d, xw_dev_pwritev(under(d), iov, n, off));
	for (int i = 0; i < n; i++)
		half += iov[i].iov_len;
	half = half / 2 / 512 * 512;
	for (int i = 0; i < n && half; i++) {
		const size_t some = XW_MIN(half, iov[i].iov_len);

		(void)xw_dev_pwrite(under(d), iov[i].iov_base, some, off);
		off += some;
		half -= some;
	}
	_exit(9);
}

static int f_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	const int rc = step();

	if (rc > 0) {
		(void)xw_dev_zero(under(d), off, len / 2);
		_exit(9);
	}
	return rc ? rc : grown(d, xw_dev_zero(under(d), off, len));
}

static int simple(void)
{
	const int rc = step();

	if (rc > 0)
		_exit(9);
	return rc;
}

static int f_flush(struct xw_dev *d)
{
	const int rc = simple();

	return rc ? rc : xw_dev_flush(under(d));
}

static int f_set_size(struct xw_dev *d, uint64_t size)
{
	const int rc = simple();

	return rc ? rc : grown(d, xw_dev_set_size(under(d), size));
}

static void f_close(struct xw_dev *d)
{
	xw_dev_close(under(d));
	free(d);
}

static int wrap(struct xw_dev *dev, struct xw_dev **out)
{
	static const struct xw_dev_ops ops = {
		.pread = f_pread,
		.pwritev = f_pwritev,
		.zero = f_zero,
		.flush = f_flush,
		.set_size = f_set_size,
		.close = f_close,
	};
	struct faulty *f = calloc(1, sizeof(*f));

	if (!f)
		return XW_ERR_NOMEM;
	f->dev = *dev;
	f->dev.ops = &ops;
	f->under = dev;
	*out = &f->dev;
	return 0;
}

/* ---- a redo store that fails like the image ---- */

struct faulty_store {
	struct xw_redo_store store;
	struct xw_redo_store *under;
};

static struct xw_redo_store *store_under(struct xw_redo_store *s)
{
	return ((struct faulty_store *)s)->under;
}

static int s_create(struct xw_redo_store *s, uint64_t bytes, struct xw_dev **out)
{
	int rc = simple();

	if (!rc)
		rc = store_under(s)->ops->create(store_under(s), bytes, out);
	return rc ? rc : wrap(*out, out);
}

static int s_publish(struct xw_redo_store *s)
{
	const int rc = simple();

	return rc ? rc : store_under(s)->ops->publish(store_under(s));
}

static int s_open(struct xw_redo_store *s, struct xw_dev **out)
{
	return store_under(s)->ops->open(store_under(s), out);
}

static int s_remove(struct xw_redo_store *s)
{
	const int rc = simple();

	return rc ? rc : store_under(s)->ops->remove(store_under(s));
}

static const struct xw_redo_store_ops store_ops = {
	.create = s_create,
	.publish = s_publish,
	.open = s_open,
	.remove = s_remove,
};

/* ---- change ---- */

/* The journal's blocks: none without one. */
static int journal_of(struct xw_dev *dev, struct xw_image **img, struct xw_log **log)
{
	int rc = xw_image_open(dev, 0, &diag, img);

	*log = NULL;
	if (!rc && (*img)->sb.feature_compat & XW_COMPAT_HAS_JOURNAL)
		rc = xw_log_open_image(*img, log);
	return rc;
}

static int copy_changes(struct xw_dev *from, struct xw_edit *e, const struct xw_image *img,
			const struct xw_log *log)
{
	struct xw_dev *to = xw_edit_dev(e);
	const uint64_t bs = img->block_size;
	auto_free uint8_t *x = calloc(1, bs), *y = calloc(1, bs);
	int rc = 0;

	if (!x || !y)
		return XW_ERR_NOMEM;
	for (uint64_t off = 0; off < from->size && !rc; off += bs) {
		const size_t n = XW_MIN(bs, from->size - off);
		const size_t m = off < to->size ? XW_MIN(n, to->size - off) : 0;

		if (log && xw_log_owns(log, off / bs))
			continue;
		memset(y, 0, bs);
		rc = xw_dev_pread(from, x, n, off);
		if (!rc && m)
			rc = xw_dev_pread(to, y, m, off);
		if (!rc && memcmp(x, y, n) != 0)
			rc = xw_dev_pwrite(to, x, n, off);
	}
	return rc;
}

static int parse(int argc, char **argv, struct xw_edit_opts *opts)
{
	static const char *const modes[] = {"cut", "torn", "eio", "enospc", "dead"};

	for (int i = 0; i < argc; i++) {
		bool known = false;

		if (!strncmp(argv[i], "how=", 4)) {
			known = xw_commit_how_parse(argv[i] + 4, &opts->how);
		} else if (!strncmp(argv[i], "fail=", 5)) {
			plan.at = strtoull(argv[i] + 5, NULL, 10);
			known = true;
		}
		for (unsigned k = 0; k < XW_ARRAY_SIZE(modes) && !strncmp(argv[i], "mode=", 5); k++)
			if (!strcmp(argv[i] + 5, modes[k])) {
				plan.mode = (enum mode)k;
				known = true;
			}
		if (!known)
			return 2;
	}
	return 0;
}

static int change(const char *path, const char *new_path, const struct xw_edit_opts *opts)
{
	struct faulty_store fs = {.store = {.ops = &store_ops}};
	struct xw_dev *image, *dev, *from;
	struct xw_image *img = NULL;
	struct xw_log *log = NULL;
	struct xw_commit_info info = {0};
	struct xw_edit *e = NULL;
	int rc = xw_dev_open_file(path, 0, &diag, &image);

	if (!rc)
		rc = xw_dev_open_file(new_path, XW_DEV_RDONLY, &diag, &from);
	if (!rc)
		rc = xw_redo_store_open(path, NULL, 0, &diag, &fs.under);
	if (!rc)
		rc = wrap(image, &dev);
	if (rc)
		return fail(rc);
	fs.store.name = fs.under->name;
	rc = xw_edit_begin_dev(dev, &fs.store, opts, &diag, &e);
	if (!rc)
		rc = journal_of(xw_edit_dev(e), &img, &log);
	if (!rc && from->size != xw_edit_dev(e)->size)
		rc = xw_dev_set_size(xw_edit_dev(e), from->size);
	if (!rc)
		rc = copy_changes(from, e, img, log);
	if (!rc)
		rc = xw_edit_commit(e, &info);
	xw_log_close(log);
	xw_image_close(img);
	if (e)
		xw_edit_end(e);
	else
		xw_dev_close(dev);
	xw_redo_store_close(fs.under);
	xw_dev_close(from);
	if (rc)
		printf("%d: %s\n", rc, diag.text);
	printf("%s %" PRIu64 " %" PRIu64 "\n", xw_commit_how_name(info.how), plan.steps,
	       info.blocks);
	return rc != 0;
}

/* ---- looking ---- */

static int open_it(const char *path, bool ro, struct xw_dev **out)
{
	struct xw_recover_info info;
	const unsigned flags = XW_RECOVER_JOURNAL | (ro ? XW_RECOVER_RDONLY : 0);
	int rc = xw_recover_open(path, NULL, 0, flags, &diag, out, &info);

	if (!rc && !ro)
		printf("applied %d dropped %d super %d journal %u\n", info.redo_applied,
		       info.redo_dropped, info.super_fixed, info.journal.transactions);
	return rc;
}

static bool may_differ(uint64_t off)
{
	/* wtime, mtime, counts of mounts, state, lastcheck, where mounted, kbytes, checksum */
	static const struct {
		unsigned off, len;
	} fields[] = {{0x2C, 8},  {0x34, 2},  {0x3A, 2},  {0x40, 4}, {0x88, 64},
		      {0x178, 8}, {0x1C0, 8}, {0x274, 4}, {0x3FC, 4}};

	for (size_t i = 0; i < XW_ARRAY_SIZE(fields); i++)
		if (off >= 1024 + fields[i].off && off < 1024 + fields[i].off + fields[i].len)
			return true;
	return false;
}

static bool same_block(const uint8_t *x, const uint8_t *y, uint64_t off, size_t n)
{
	if (!memcmp(x, y, n))
		return true;
	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i] && !may_differ(off + i))
			return false;
	return true;
}

static bool is_free(struct xw_freemap *m, uint64_t blk)
{
	bool yes;

	(void)xw_freemap_query(m, blk, 1, &yes);
	return yes;
}

/* 1 the same, 0 not, or an error. What is free in b does not count. */
static int same(struct xw_dev *a, const char *path)
{
	struct xw_image *img = NULL;
	struct xw_log *log = NULL;
	struct xw_dev *b = NULL;
	struct xw_freemap *map = NULL;
	uint8_t *x = NULL, *y = NULL;
	int rc = xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &b);
	uint64_t bs;

	if (!rc)
		rc = journal_of(b, &img, &log);
	if (!rc)
		rc = xw_freemap_new(b, &diag, &map);
	bs = rc ? 1024 : img->block_size;
	x = malloc(bs);
	y = malloc(bs);
	if (!rc && (!x || !y))
		rc = XW_ERR_NOMEM;
	if (!rc)
		rc = a->size == b->size;
	for (uint64_t off = 0; rc == 1 && off < b->size; off += bs) {
		const size_t n = XW_MIN(bs, b->size - off);

		if ((log && xw_log_owns(log, off / bs)) || is_free(map, off / bs))
			continue;
		if (xw_dev_pread(a, x, n, off) || xw_dev_pread(b, y, n, off))
			rc = XW_ERR_IO;
		else
			rc = same_block(x, y, off, n);
	}
	free(x);
	free(y);
	xw_freemap_free(map);
	xw_log_close(log);
	xw_image_close(img);
	xw_dev_close(b);
	return rc;
}

static int state(const char *path, const char *old, const char *new, bool ro)
{
	struct xw_dev *d;
	int rc = ro ? open_it(path, true, &d) : xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &d);
	int is_old, is_new;

	if (rc)
		return fail(rc);
	is_old = same(d, old);
	is_new = same(d, new);
	xw_dev_close(d);
	if (is_old < 0 || is_new < 0)
		return fail(is_old);
	puts(is_old ? "old" : is_new ? "new" : "other");
	return 0;
}

/* Clear bits as runs of numbers: `each` of them a bit, named by the first, as dumpe2fs does. */
static void print_clear(const char *what, const uint8_t *bits, uint64_t n, uint64_t first,
			uint64_t each)
{
	const char *sep = " ";

	printf("  %s:", what);
	for (uint64_t i = 0, k; i < n; i = k + 1) {
		for (k = i; k < n && !(bits[k / 8] >> (k % 8) & 1); k++)
			;
		if (k == i)
			continue;
		printf("%s%" PRIu64, sep, first + i * each);
		if (k > i + 1)
			printf("-%" PRIu64, first + (k - 1) * each);
		sep = ", ";
	}
	printf("\n");
}

static int bitmaps(const char *path)
{
	uint8_t bits[65536];
	struct xw_image *img;
	struct xw_sysmap *sys;
	struct xw_dev *dev;
	int rc = xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &dev);

	if (!rc)
		rc = xw_image_open(dev, 0, &diag, &img);
	if (!rc)
		rc = xw_sysmap_new(img, &sys);
	if (rc)
		return fail(rc);
	for (uint64_t g = 0; g < img->groups && !rc; g++) {
		printf("group %" PRIu64 "\n", g);
		rc = xw_image_block_bitmap(img, sys, g, bits);
		if (!rc)
			print_clear("Free blocks", bits, xw_image_group_bits(img),
				    img->sb.first_data_block + g * img->sb.blocks_per_group,
				    img->sb.blocks_per_group / xw_image_group_bits(img));
		if (!rc)
			rc = xw_image_inode_bitmap(img, g, bits);
		if (!rc)
			print_clear("Free inodes", bits, img->sb.inodes_per_group,
				    1 + g * img->sb.inodes_per_group, 1);
	}
	xw_sysmap_free(sys);
	xw_image_close(img);
	xw_dev_close(dev);
	return rc ? fail(rc) : 0;
}

int main(int argc, char **argv)
{
	struct xw_edit_opts opts = {0};
	struct xw_dev *d;
	int rc;

	if (argc >= 4 && !strcmp(argv[1], "change")) {
		rc = parse(argc - 4, argv + 4, &opts);
		return rc ? rc : change(argv[2], argv[3], &opts);
	}
	if (argc >= 3 && !strcmp(argv[1], "open")) {
		rc = open_it(argv[2], argc > 3, &d);
		if (rc)
			return fail(rc);
		xw_dev_close(d);
		return 0;
	}
	if (argc >= 5 && !strcmp(argv[1], "state"))
		return state(argv[2], argv[3], argv[4], argc > 5);
	if (argc == 3 && !strcmp(argv[1], "bitmaps"))
		return bitmaps(argv[2]);
	return 2;
}
