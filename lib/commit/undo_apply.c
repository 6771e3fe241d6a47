// SPDX-License-Identifier: MIT
/* Reads an undo file: header, then blocks of keys, each followed by the contents of its keys. */
#include "config.h"

#include "commit/undo_apply.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/types.h"
#include "base/vec.h"
#include "commit/undo_file.h"
#include "dev/partition.h"

#define CHUNK ((size_t)1 << 20)

struct piece {
	uint64_t to, from; /* offsets in bytes: in the filesystem, in the undo file */
	uint32_t size, csum;
};

struct xw_undo {
	struct xw_undo_file f; /* header and keys as read */
	struct xw_dev *dev;
	struct xw_diag *diag;
	struct xw_undo_info info;
	bool force; /* a wrong checksum is no error */
	uint8_t super[XW_SUPER_SIZE]; /* of the image that the file is for */
	uint8_t *buf; /* CHUNK bytes */
	XW_VEC(struct piece) pieces;
};

static int refuse(const struct xw_undo *u, const char *why)
{
	return xw_fail(u->diag, XW_ERR_INPUT, "%s: %s", u->dev->name, why);
}

static int decode_header(struct xw_undo *u, const void *buf, struct xw_undo_header *h)
{
	switch (xw_undo_header_decode(buf, u->dev->size, h)) {
	case 0:
		return 0;
	case XW_ERR_INPUT:
		return refuse(u, "not an undo file");
	case XW_ERR_CHECKSUM:
		u->info.bad_header = true;
		return u->force ? 0 : refuse(u, "the checksum of its header is wrong");
	case XW_ERR_UNSUPPORTED:
		return refuse(u, "an undo file of an unknown version");
	default:
		return refuse(u, "its header is not valid");
	}
}

static int read_header(struct xw_undo *u)
{
	uint8_t buf[XW_UNDO_HEADER_SIZE];
	struct xw_undo_header h;
	int rc;

	if (u->dev->size < sizeof(buf))
		return refuse(u, "not an undo file");
	rc = xw_dev_pread(u->dev, buf, sizeof(buf), 0);
	if (!rc)
		rc = decode_header(u, buf, &h);
	if (rc)
		return rc;
	xw_undo_file_continue(&u->f, &h);
	u->info.finished = h.finished;
	u->info.offset = h.offset;
	u->info.block_size = h.fs_unit;
	u->info.size_before = h.size_before;
	rc = xw_dev_pread(u->dev, u->super, sizeof(u->super), h.super_at * h.unit);
	if (rc)
		return rc;
	xw_undo_super_invert(u->super);
	u->info.bad_super = h.super_csum != xw_crc32c(~0u, u->super, sizeof(u->super));
	if (u->info.bad_super && !u->force)
		return refuse(u, "the checksum of its superblock is wrong");
	if (!xw_undo_header_agrees(&h, u->super))
		return refuse(u, "another program has changed its header: the block sizes do not "
				 "agree with its superblock, so the positions of its contents "
				 "are unknown");
	return 0;
}

/* Passes the contents of a piece to fn in chunks. */
typedef int chunk_fn(void *arg, const uint8_t *buf, size_t len, uint64_t at);

static int each_chunk(struct xw_undo *u, const struct piece *p, chunk_fn *fn, void *arg)
{
	int rc = 0;

	for (uint32_t at = 0, n; at < p->size && !rc; at += n) {
		n = (uint32_t)XW_MIN(p->size - at, CHUNK);
		rc = xw_dev_pread(u->dev, u->buf, n, p->from + at);
		if (!rc)
			rc = fn(arg, u->buf, n, p->to + at);
	}
	return rc;
}

static int sum_chunk(void *arg, const uint8_t *buf, size_t len, uint64_t at)
{
	uint32_t *crc = arg;

	(void)at;
	*crc = xw_crc32c(*crc, buf, len);
	return 0;
}

static int add_piece(struct xw_undo *u, const struct xw_undo_key *key)
{
	const uint64_t blk = key->blk, from = u->f.end * u->f.unit;
	struct piece p = {.from = from, .size = key->size, .csum = key->csum};
	uint32_t crc = ~0u;
	int rc;

	if (blk > (uint64_t)INT64_MAX / 2 / u->f.fs_unit || from > u->dev->size ||
	    p.size > u->dev->size - from)
		return refuse(u, "a key is not valid");
	p.to = blk * u->f.fs_unit;
	rc = each_chunk(u, &p, sum_chunk, &crc);
	if (rc)
		return rc;
	if (crc != p.csum && !u->force)
		return xw_fail(u->diag, XW_ERR_INPUT,
			       "%s: the contents of block %" PRIu64 " have a wrong checksum",
			       u->dev->name, blk);
	u->f.end += xw_div_up(p.size, u->f.unit);
	if (crc != p.csum) {
		u->info.bad_pieces++;
		return 0;
	}
	if (xw_vec_push(&u->pieces, p))
		return xw_fail_nomem(u->diag, "an undo file");
	u->info.bytes += p.size;
	u->info.pieces++;
	return 0;
}

/* Read the block of keys at f->end, and verify the contents after it. */
static int read_keys(struct xw_undo *u, uint64_t left)
{
	struct xw_undo_file *f = &u->f;
	int rc;

	if (f->end >= u->dev->size / f->unit)
		return refuse(u, "it ends before its last key");
	rc = xw_dev_pread(u->dev, f->keys, f->unit, f->end * f->unit);
	if (rc)
		return rc;
	if (xw_undo_keys_verify(f->keys, f->unit)) {
		if (!u->force)
			return refuse(u, "a block of keys has a wrong checksum");
		u->info.bad_keys++;
	}
	f->end++;
	f->in_block = (uint32_t)XW_MIN(left, xw_undo_keys_max(f->unit));
	for (uint32_t i = 0; i < f->in_block && !rc; i++) {
		const struct xw_undo_key key = xw_undo_key_get(f->keys, i);

		rc = add_piece(u, &key);
	}
	return rc;
}

static int read_all(struct xw_undo *u)
{
	int rc = read_header(u);

	if (!rc)
		rc = xw_undo_file_new_keys(&u->f);
	u->buf = rc ? NULL : malloc(CHUNK);
	if (!rc && !u->buf)
		rc = xw_fail_nomem(u->diag, "an undo file");
	u->f.end = u->f.keys_at;
	for (uint64_t left = u->f.n_keys; left && !rc; left -= u->f.in_block)
		rc = read_keys(u, left);
	return rc;
}

int xw_undo_open_dev(struct xw_dev *file, bool force, struct xw_diag *diag, struct xw_undo **out)
{
	struct xw_undo *u = calloc(1, sizeof(*u));
	int rc;

	if (!u)
		return xw_fail_nomem(diag, "an undo file");
	u->diag = u->f.diag = diag;
	u->dev = file;
	u->force = force;
	rc = read_all(u);
	if (rc) {
		u->dev = NULL; /* not owned after a failure */
		xw_undo_close(u);
	} else {
		*out = u;
	}
	return rc;
}

int xw_undo_open(const char *path, bool force, struct xw_diag *diag, struct xw_undo **out)
{
	struct xw_dev *dev = NULL;
	int rc = xw_dev_open_file(path, XW_DEV_RDONLY, diag, &dev);

	if (!rc)
		rc = xw_undo_open_dev(dev, force, diag, out);
	if (rc)
		xw_dev_close(dev);
	return rc;
}

const struct xw_undo_info *xw_undo_info(const struct xw_undo *u)
{
	return &u->info;
}

/* ---- the state of the image ---- */

/* The bytes that were in place of the superblock before the change; false: not saved. */
static int bytes_before(struct xw_undo *u, uint8_t super[XW_SUPER_SIZE], bool *there)
{
	int rc = 0;

	*there = false;
	if (u->f.size_after && u->info.size_before < XW_SUPER_OFFSET + XW_SUPER_SIZE)
		return 0; /* the contents in its place are those of an earlier run */
	for (size_t i = 0; i < u->pieces.n && !rc; i++) {
		const struct piece *p = &u->pieces.v[i];

		if (p->to > XW_SUPER_OFFSET || p->to + p->size < XW_SUPER_OFFSET + XW_SUPER_SIZE)
			continue;
		rc = xw_dev_pread(u->dev, super, XW_SUPER_SIZE, p->from + XW_SUPER_OFFSET - p->to);
		*there = !rc;
	}
	return rc;
}

/* The image, whose superblock is `super`, is not in the state after the change: say in which. */
static int other_state(struct xw_undo *u, const struct xw_dev *dev,
		       const uint8_t super[XW_SUPER_SIZE])
{
	uint8_t before[XW_SUPER_SIZE];
	struct xw_super is, was;
	int rc = bytes_before(u, before, &u->info.undone);

	if (rc)
		return rc;
	if (u->info.undone)
		u->info.undone = !memcmp(super, before, sizeof(before));
	else /* the file ended before its superblock */
		u->info.undone = u->f.size_after && dev->size == u->info.size_before;
	if (u->info.undone)
		return xw_fail(u->diag, XW_ERR_STATE,
			       "%s: is in the state before the change already: it has been undone, "
			       "or was never made",
			       dev->name);
	if (xw_super_decode(super, &is) || xw_super_decode(u->super, &was))
		return xw_fail(u->diag, XW_ERR_STATE,
			       "%s: is not in the state that the undo file is for", dev->name);
	u->info.other = memcmp(is.uuid, was.uuid, sizeof(is.uuid)) != 0;
	return xw_fail(u->diag, XW_ERR_STATE, "%s: %s", dev->name,
		       u->info.other
			       ? "the undo file is for another filesystem: the UUID differs"
			       : "has been changed since the change that the undo file is for");
}

/*
 * The first bytes of a disk are no secret, and say nothing about what is behind them: where an undo
 * file is not of a filesystem, they do not show that it is of this disk.
 */
static int check_disk(struct xw_undo *u, struct xw_dev *dev)
{
	struct xw_partitions table = {.n = 0};
	struct xw_super sb;
	int rc;

	if (!dev->ops->partitions || !xw_super_decode(u->super, &sb))
		return 0;
	rc = dev->ops->partitions(dev, &table);
	if (!rc && *table.type)
		rc = xw_fail(u->diag, XW_ERR_STATE,
			     "%s: has a %s partition table, and the undo file is not of a "
			     "filesystem",
			     dev->name, table.type);
	else if (rc)
		rc = xw_fail(u->diag, rc, "%s: cannot read the partition table", dev->name);
	xw_partitions_free(&table);
	return rc;
}

int xw_undo_match(struct xw_undo *u, struct xw_dev *dev)
{
	uint8_t super[XW_SUPER_SIZE] = {0};
	int rc = 0;

	if (!u->info.finished)
		return xw_fail(u->diag, XW_ERR_STATE,
			       "%s: its change was not finished, so the state it is for is unknown",
			       u->dev->name);
	if (dev->size >= XW_SUPER_OFFSET + sizeof(super))
		rc = xw_dev_pread(dev, super, sizeof(super), XW_SUPER_OFFSET);
	if (rc)
		return rc;
	return memcmp(super, u->super, sizeof(super)) != 0 ? other_state(u, dev, super)
							   : check_disk(u, dev);
}

/* ---- writing ---- */

static int write_chunk(void *arg, const uint8_t *buf, size_t len, uint64_t at)
{
	return xw_dev_pwrite(arg, buf, len, at); /* arg: the device */
}

static bool has_super(const struct piece *p)
{
	return p->to < XW_SUPER_OFFSET + XW_SUPER_SIZE && p->to + p->size > XW_SUPER_OFFSET;
}

static int write_pieces(struct xw_undo *u, struct xw_dev *dev, bool super, xw_undo_piece_fn *told,
			void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < u->pieces.n && !rc; i++) {
		const struct piece *p = &u->pieces.v[i];

		if (has_super(p) != super)
			continue;
		rc = each_chunk(u, p, write_chunk, dev);
		if (!rc && told)
			told(arg, p->size, p->from / u->f.unit, p->to / u->f.fs_unit);
	}
	return rc ? rc : xw_dev_flush(dev);
}

/*
 * The superblock of the same filesystem before the change: *sb; false: there is none, as for a new
 * filesystem over other contents.
 */
static int old_super(struct xw_undo *u, struct xw_super *sb, bool *there)
{
	uint8_t super[XW_SUPER_SIZE];
	struct xw_super now;
	const int rc = bytes_before(u, super, there);

	*there = *there && !xw_super_decode(super, sb) && !xw_super_decode(u->super, &now) &&
		 !memcmp(sb->uuid, now.uuid, sizeof(now.uuid));
	return rc;
}

static uint64_t end_of(const struct xw_super *sb)
{
	const uint64_t bs = xw_super_block_size(sb);

	return sb->blocks_count > (uint64_t)INT64_MAX / 2 / bs ? INT64_MAX / 2
							       : sb->blocks_count * bs;
}

/*
 * What an earlier run had written past the size before is contents of a later run in the same undo
 * file; the cut removes it.
 */
static void drop_past(struct xw_undo *u, uint64_t end)
{
	size_t n = 0;

	u->info.bytes = 0;
	for (size_t i = 0; i < u->pieces.n; i++) {
		struct piece p = u->pieces.v[i];

		if (p.to >= end)
			continue;
		p.size = (uint32_t)XW_MIN(p.size, end - p.to);
		u->info.bytes += p.size;
		u->pieces.v[n++] = p;
	}
	u->info.pieces = u->pieces.n = n;
}

/* Does dev, in whatever state, hold the filesystem whose superblock is `of`? */
static bool is_of(struct xw_dev *dev, const struct xw_super *of)
{
	uint8_t super[XW_SUPER_SIZE];
	struct xw_super is;

	return dev->size >= XW_SUPER_OFFSET + sizeof(super) &&
	       !xw_dev_pread(dev, super, sizeof(super), XW_SUPER_OFFSET) &&
	       !xw_super_decode(super, &is) && !memcmp(is.uuid, of->uuid, sizeof(is.uuid));
}

bool xw_undo_plan_cut(struct xw_undo *u, struct xw_dev *dev)
{
	struct xw_super made;

	if (dev->is_block || dev->fixed || !u->info.finished || u->info.size_before >= dev->size ||
	    u->f.size_after != dev->size)
		return false;
	/* a change extends a file up to the end of its filesystem; bytes behind that are not cut */
	if (xw_super_decode(u->super, &made) || !is_of(dev, &made) ||
	    dev->size > xw_round_up(end_of(&made), XW_MAX(u->f.fs_unit, u->f.unit)))
		return false;
	drop_past(u, u->info.size_before);
	return true;
}

/*
 * Where the last contents may end in dev. A file can have been longer than it is now: by at most
 * what the undo file holds, and if it held the same filesystem, by that. In a part of a larger
 * device, a change of a filesystem is within it.
 */
static int find_end(struct xw_undo *u, const struct xw_dev *dev, uint64_t *end)
{
	uint64_t fs = UINT64_MAX;
	struct xw_super was, is;
	bool there;
	const int rc = old_super(u, &was, &there);

	if (!rc && there && !xw_super_decode(u->super, &is))
		fs = xw_round_up(XW_MAX(end_of(&was), end_of(&is)), u->f.fs_unit);
	*end = XW_MIN(dev->is_block ? dev->size : dev->size + u->info.bytes, fs);
	if (!dev->is_window)
		*end = XW_MAX(*end, dev->size);
	return rc;
}

int xw_undo_apply(struct xw_undo *u, struct xw_dev *dev, xw_undo_piece_fn *told, void *arg)
{
	const bool cut = xw_undo_plan_cut(u, dev); /* writing may change the size */
	uint64_t end, last = dev->size;
	int rc = find_end(u, dev, &end);

	for (size_t i = 0; i < u->pieces.n && !rc; i++) {
		const struct piece *p = &u->pieces.v[i];

		if (p->to + p->size > end)
			return xw_fail(u->diag, XW_ERR_INPUT,
				       "%s: block %" PRIu64 " is beyond the end of %s; nothing was "
				       "written",
				       u->dev->name, p->to / u->f.fs_unit, dev->name);
		last = XW_MAX(last, p->to + p->size);
	}
	if (!rc && last > dev->size)
		rc = xw_dev_check_end(dev, last);
	if (!rc)
		rc = write_pieces(u, dev, false, told, arg);
	if (!rc && cut)
		rc = xw_dev_set_size(dev, u->info.size_before);
	return rc ? rc : write_pieces(u, dev, true, told, arg);
}

void xw_undo_close(struct xw_undo *u)
{
	if (!u)
		return;
	xw_dev_close(u->dev);
	free(u->f.keys);
	free(u->buf);
	xw_vec_free(&u->pieces);
	free(u);
}
