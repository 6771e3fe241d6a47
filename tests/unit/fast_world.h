/* SPDX-License-Identifier: MIT */
/* An image with some files in memory, and fast commits for it, put together field by field. */
#ifndef XW_TESTS_FAST_WORLD_H
#define XW_TESTS_FAST_WORLD_H

#include <fcntl.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/types.h"
#include "commit/super.h"
#include "disk/fast.h"
#include "disk/inode.h"
#include "journal/log.h"
#include "fast_put.h"
#include "memdev.h"
#include "steps_world.h"

#define FAST_FREE 2208u /* from this block on all of the image is free */
#define FAST_MAX_BLOCKS 8u

struct fast_image {
	unsigned char *bytes;
	size_t size;
	uint32_t bs;
	xw_ino old, keep, sub, next; /* files, a directory, the first free number */
	xw_blk log; /* the journal's first block; it is in one piece */
	uint64_t log_blocks;
};

struct fast_area {
	unsigned char blk[FAST_MAX_BLOCKS * 4096];
	uint32_t bs, n, off, crc;
};

/* ---- the image ---- */

static inline int fast_fill(void *arg, void *buf, size_t len, size_t *got)
{
	size_t *left = arg;

	*got = XW_MIN(len, *left);
	memset(buf, 'k', *got);
	*left -= *got;
	return 0;
}

static inline xw_ino fast_make(struct xw_steps *s, xw_ino dir_ino, const char *name, uint16_t mode,
			       size_t size)
{
	struct xw_update_new new = {
		.mode = mode, .read = fast_fill, .arg = &size, .whole = true, .parent = dir_ino};
	struct xw_update *u;
	xw_ino ino;

	ok(xw_step_begin(s, &u));
	ok(xw_update_create(u, &new, &ino));
	ok(xw_update_link(u, dir_ino, name, strlen(name), ino, (uint8_t)xw_ftype_of_mode(mode)));
	if ((mode & XW_S_IFMT) == XW_S_IFDIR)
		ok(xw_update_add_links(u, dir_ino, 1));
	ok(xw_step_keep(s));
	return ino;
}

static inline void fast_find_log(struct fast_image *f)
{
	struct xw_image *img;
	struct xw_dev *dev;
	struct xw_log *log;
	uint64_t off;

	ok(xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &dev));
	ok(xw_image_open(dev, 0, &diag, &img));
	ok(xw_log_open_image(img, &log));
	ck_assert_uint_eq(log->map.n, 1);
	ck_assert_uint_gt(log->jsb.num_fc_blks, FAST_MAX_BLOCKS);
	ok(xw_log_where(log, 0, &off));
	f->log = off / f->bs;
	f->log_blocks = log->map.v[0].len;
	xw_log_close(log);
	xw_image_close(img);
	xw_dev_close(dev);
}

/* /old of three blocks, /keep of nine, /sub with a name in it. After setup(). */
static inline void fast_image_make(struct fast_image *f, const char *block_size,
				   const char *features)
{
	struct xw_mkfs *m;
	struct xw_steps s;
	struct xw_edit *e;
	int fd;

	*f = (struct fast_image){.bs = (uint32_t)atoi(block_size)};
	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-b", block_size), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", f->bs == 1024 ? "3M" : "12M"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-J", f->bs == 1024 ? "size=1" : "size=4"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "now", "1700000000"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-N", "64"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-U", "01234567-89ab-cdef-0123-456789abcdef"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-O", features), 0);
	if (xw_mkfs_run(m, path))
		ck_abort_msg("%s", xw_mkfs_error(m));
	xw_mkfs_free(m);
	e = begin(&s);
	f->old = fast_make(&s, XW_INO_ROOT, "old", XW_S_IFREG | 0644, 3 * f->bs);
	f->keep = fast_make(&s, XW_INO_ROOT, "keep", XW_S_IFREG | 0644, 9 * f->bs);
	f->sub = fast_make(&s, XW_INO_ROOT, "sub", XW_S_IFDIR | 0755, 0);
	fast_make(&s, f->sub, "inside", XW_S_IFREG | 0600, f->bs);
	f->next = XW_MAX(f->keep, f->old) + 8;
	xw_step_drop(&s);
	ok(xw_edit_commit(e, NULL));
	xw_edit_end(e);
	fast_find_log(f);
	fd = open(path, O_RDONLY);
	ck_assert(fd >= 0);
	f->size = (size_t)lseek(fd, 0, SEEK_END);
	f->bytes = malloc(f->size);
	ck_assert_int_eq(pread(fd, f->bytes, f->size, 0), (ssize_t)f->size);
	close(fd);
}

/* The record of an inode as it is in the image. */
static inline void fast_record(const struct fast_image *f, xw_ino ino, struct xw_inode *in)
{
	struct xw_image *img;
	struct xw_dev *dev;

	ok(xw_dev_open_mem(f->size, &diag, &dev));
	ok(xw_dev_pwrite(dev, f->bytes, f->size, 0));
	ok(xw_image_open(dev, 0, &diag, &img));
	ok(xw_image_inode(img, ino, in, NULL));
	xw_image_close(img);
	xw_dev_close(dev);
}

/* ---- the fields ---- */

static inline void fast_put(struct fast_area *a, const struct xw_fast_field *x)
{
	const struct xw_fast_field pad = {.tag = XW_FAST_PAD};

	if (!a->off)
		ck_assert(a->n < FAST_MAX_BLOCKS);
	/* the last 12 bytes are for a tail, or what pads */
	if (a->bs - a->off < x->len + 40) {
		ck_assert(xw_fast_put(a->blk + a->n * a->bs, a->bs, &a->off, &pad));
		a->crc = xw_crc32c(a->crc, a->blk + a->n * a->bs, a->bs);
		a->n++;
		a->off = 0;
	}
	ck_assert(xw_fast_put(a->blk + a->n * a->bs, a->bs, &a->off, x));
}

static inline void fast_begin(struct fast_area *a, uint32_t bs, uint32_t tid)
{
	memset(a, 0, sizeof(*a));
	a->bs = bs;
	fast_put(a, &(struct xw_fast_field){.tag = XW_FAST_HEAD, .tid = tid});
}

static inline void fast_name(struct fast_area *a, enum xw_fast_tag tag, xw_ino in_dir,
			     const char *name, xw_ino ino)
{
	fast_put(a, &(struct xw_fast_field){.tag = tag,
					    .dir = in_dir,
					    .ino = ino,
					    .bytes = (const uint8_t *)name,
					    .len = (uint32_t)strlen(name)});
}

static inline void fast_range(struct fast_area *a, enum xw_fast_tag tag, xw_ino ino, uint32_t lblk,
			      uint32_t len, xw_blk pblk)
{
	fast_put(a, &(struct xw_fast_field){
			    .tag = tag, .ino = ino, .range = {lblk, len, pblk, false}});
}

static inline void fast_inode(struct fast_area *a, const struct fast_image *f, xw_ino ino,
			      const struct xw_inode *in)
{
	uint8_t raw[256] = {0};
	const struct xw_super *sb = NULL;
	struct xw_super super;

	ck_assert_int_eq(xw_super_decode(f->bytes + XW_SUPER_OFFSET, &super), 0);
	sb = &super;
	xw_inode_encode(in, sb, raw);
	fast_put(a, &(struct xw_fast_field){.tag = XW_FAST_INODE,
					    .ino = ino,
					    .bytes = raw,
					    .len = XW_INODE_BODY + in->extra_isize});
}

static inline void fast_end(struct fast_area *a, uint32_t tid)
{
	unsigned char *blk = a->blk + a->n * a->bs;
	const uint32_t at = a->off;

	ck_assert(xw_fast_put(blk, a->bs, &a->off,
			      &(struct xw_fast_field){.tag = XW_FAST_TAIL, .tid = tid}));
	poke32(blk + at + 8, xw_crc32c(a->crc, blk, at + 8));
	a->crc = 0;
	a->off = 0;
	a->n++;
}

/* The transaction that fast commits are of. */
static inline uint32_t fast_tid(const struct fast_image *f)
{
	return getbe32(*(const be32 *)(const void *)(f->bytes + f->log * f->bs + 0x18));
}

/* Into the image: a log that begins and has no transaction, the fast commits, RECOVER. */
static inline void fast_pend(struct fast_image *f, const struct fast_area *a, uint32_t err)
{
	unsigned char *log = f->bytes + f->log * f->bs;
	struct xw_jsb jsb;

	ck_assert_int_eq(xw_jsb_decode(log, &jsb), 0);
	jsb.feature_incompat |= XW_JBD2_INCOMPAT_FAST_COMMIT;
	jsb.start = 5;
	jsb.err = err;
	xw_jsb_encode(&jsb, log);
	memcpy(log + (jsb.maxlen - jsb.num_fc_blks + 1) * f->bs, a->blk, a->n * f->bs);
	xw_super_bytes_incompat(f->bytes + XW_SUPER_OFFSET, XW_INCOMPAT_RECOVER, 0);
}

#endif
