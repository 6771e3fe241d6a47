/* SPDX-License-Identifier: MIT */
/*
 * The default format of e2image(8): superblock, descriptors, inode tables and bitmaps of a
 * filesystem, one kind after the other. Read as a device, it is that filesystem without all other
 * blocks.
 *
 *   header   magic, source of the image, and offsets of the parts (32 bits)
 *   super    the superblock, padded to a block; the descriptors
 *   inodes   the tables of all groups
 *   bitmaps  block bitmaps and inode bitmaps, each in group order
 *
 * Layout observed with e2image 1.47.0. Raw and QCOW2 images are other formats: a raw one is an
 * ordinary image.
 */
#include "config.h"

#include "base/auto.h"
#include "base/search.h"
#include "base/vec.h"
#include "disk/e2image.h"
#include "show/show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * A range of the filesystem and its location in the file, which stores `have` bytes of it. The rest
 * is ones, which pad the block of a bitmap.
 */
struct piece {
	uint64_t at, len, from, have;
};

struct e2image {
	struct xw_dev dev;
	struct xw_dev *under; /* owned */
	struct xw_dev *data; /* owned: has the blocks that the file does not hold; may be NULL */
	struct {
		struct piece *v;
		size_t n, cap;
	} pieces; /* ascending, disjoint */
};

static int read_piece(const struct e2image *e, const struct piece *p, uint64_t off, uint8_t *to,
		      size_t n)
{
	const size_t there = off < p->have ? (size_t)XW_MIN(n, p->have - off) : 0;

	memset(to + there, 0xff, n - there);
	return there ? xw_dev_pread(e->under, to, there, p->from + off) : 0;
}

static int e2image_pread(struct xw_dev *dev, void *buf, size_t len, uint64_t off)
{
	const struct e2image *e = (const struct e2image *)dev;
	uint8_t *to = buf;

	while (len) {
		const size_t next = XW_LOWER_BOUND(i, e->pieces.n, e->pieces.v[i].at > off);
		const struct piece *p = next ? &e->pieces.v[next - 1] : NULL;
		size_t n;
		int rc;

		if (p && off - p->at < p->len) {
			n = (size_t)XW_MIN(len, p->len - (off - p->at));
			rc = read_piece(e, p, off - p->at, to, n);
		} else if (e->data) {
			n = next < e->pieces.n ? (size_t)XW_MIN(len, e->pieces.v[next].at - off)
					       : len;
			rc = xw_dev_pread(e->data, to, n, off);
		} else {
			return xw_fail(dev->diag, XW_ERR_TRUNCATED,
				       "%s: byte %" PRIu64 " of the filesystem is not in this file",
				       dev->name, off);
		}
		if (rc)
			return rc;
		to += n;
		off += n;
		len -= n;
	}
	return 0;
}

static int e2image_pwritev(struct xw_dev *dev, const struct iovec *iov, int n, uint64_t off)
{
	(void)iov, (void)n, (void)off;
	return xw_fail(dev->diag, XW_ERR_STATE, "%s: an e2image file is read-only", dev->name);
}

static int e2image_zero(struct xw_dev *dev, uint64_t off, uint64_t len)
{
	(void)off, (void)len;
	return e2image_pwritev(dev, NULL, 0, 0);
}

static int e2image_flush(struct xw_dev *dev)
{
	(void)dev;
	return 0;
}

static int e2image_set_size(struct xw_dev *dev, uint64_t size)
{
	(void)size;
	return e2image_pwritev(dev, NULL, 0, 0);
}

static void e2image_close(struct xw_dev *dev)
{
	struct e2image *e = (struct e2image *)dev;

	xw_dev_close(e->under);
	xw_dev_close(e->data);
	xw_vec_free(&e->pieces);
	free(e);
}

static const struct xw_dev_ops e2image_ops = {
	.pread = e2image_pread,
	.pwritev = e2image_pwritev,
	.zero = e2image_zero,
	.flush = e2image_flush,
	.set_size = e2image_set_size,
	.close = e2image_close,
};

/* ---- opening ---- */

struct opening {
	struct e2image *e;
	struct xw_diag *diag;
	uint64_t super, inodes, inode_bitmaps, block_bitmaps;
	struct xw_image img; /* as far as necessary to locate descriptors */
};

static int add(struct opening *o, uint64_t at, uint64_t len, uint64_t from, uint64_t have)
{
	const struct piece p = {at, len, from, have};

	return xw_vec_push(&o->e->pieces, p) ? xw_fail_nomem(o->diag, "e2image file") : 0;
}

static int damaged(const struct opening *o, const char *what)
{
	return xw_fail(o->diag, XW_ERR_CORRUPT, "%s: e2image file: %s", o->e->under->name, what);
}

static int read_header(struct opening *o)
{
	struct xw_image *img = &o->img;
	uint8_t head[XW_E2IMAGE_HEADER] = {0}, buf[XW_SUPER_SIZE];
	struct xw_e2image h;
	int rc;

	if (o->e->under->size >= sizeof(head) + sizeof(buf)) {
		rc = xw_dev_pread(o->e->under, head, sizeof(head), 0);
		if (rc)
			return rc;
	}
	if (xw_e2image_decode(head, &h))
		return xw_fail(o->diag, XW_ERR_INPUT, "%s: not an e2image file", o->e->under->name);
	o->super = h.super;
	o->inodes = h.inodes;
	o->inode_bitmaps = h.inode_bitmaps;
	o->block_bitmaps = h.block_bitmaps;
	rc = xw_dev_pread(o->e->under, buf, sizeof(buf), o->super);
	if (rc)
		return rc;
	if (xw_super_decode(buf, &img->sb))
		return damaged(o, "its superblock cannot be read");
	img->block_size = xw_super_block_size(&img->sb);
	img->desc_size = xw_super_desc_size(&img->sb);
	img->inode_size = img->sb.inode_size;
	img->groups = xw_super_groups(&img->sb);
	img->itable_blocks = (uint32_t)xw_div_up(
		(uint64_t)img->sb.inodes_per_group * img->inode_size, img->block_size);
	if (h.block_size != img->block_size || img->desc_size > img->block_size ||
	    img->sb.blocks_count > XW_BLK_MAX)
		return damaged(o, "header and superblock contradict each other");
	if (!img->groups || img->groups > o->e->under->size / img->block_size ||
	    img->groups * img->itable_blocks > o->e->under->size / img->block_size)
		return damaged(o, "too short for the groups of its superblock");
	return 0;
}

static int add_group(struct opening *o, uint64_t g, const uint8_t *desc)
{
	const struct xw_image *img = &o->img;
	const uint64_t bs = img->block_size, table = img->itable_blocks * bs;
	const uint64_t blocks = xw_image_group_bits(img) / 8, inodes = img->sb.inodes_per_group / 8;
	struct xw_group_desc gd;
	int rc = 0;

	xw_group_decode(desc, img->desc_size, &gd);
	if (xw_image_has_blocks(img, gd.inode_table, img->itable_blocks))
		rc = add(o, gd.inode_table * bs, table, o->inodes + g * table, table);
	if (!rc && o->block_bitmaps && xw_image_has_blocks(img, gd.block_bitmap, 1))
		rc = add(o, gd.block_bitmap * bs, bs, o->block_bitmaps + g * blocks, blocks);
	if (!rc && o->inode_bitmaps && xw_image_has_blocks(img, gd.inode_bitmap, 1))
		rc = add(o, gd.inode_bitmap * bs, bs, o->inode_bitmaps + g * inodes, inodes);
	return rc;
}

static int add_groups(struct opening *o)
{
	const struct xw_image *img = &o->img;
	const uint64_t bs = img->block_size, per_block = bs / img->desc_size;
	auto_free uint8_t *buf = malloc(bs);
	int rc = buf ? 0 : xw_fail_nomem(o->diag, "group descriptors");

	for (uint64_t g = 0; g < img->groups && !rc; g++) {
		const uint64_t from = o->super + (1 + g / per_block) * bs;

		if (g % per_block == 0) {
			rc = add(o, xw_image_desc_block(img, g) * bs, bs, from, bs);
			if (!rc)
				rc = xw_dev_pread(o->e->under, buf, bs, from);
		}
		if (!rc)
			rc = add_group(o, g, buf + g % per_block * img->desc_size);
	}
	return rc;
}

/* In a damaged filesystem pieces may overlap: each is truncated at the start of the next. */
static void sort_pieces(struct e2image *e)
{
	qsort(e->pieces.v, e->pieces.n, sizeof(*e->pieces.v), xw_by_u64);
	for (size_t i = 0; i + 1 < e->pieces.n; i++)
		e->pieces.v[i].len =
			XW_MIN(e->pieces.v[i].len, e->pieces.v[i + 1].at - e->pieces.v[i].at);
}

int xw_show_e2image(struct xw_dev *under, const char *data, struct xw_diag *diag,
		    struct xw_dev **out)
{
	struct e2image *e = calloc(1, sizeof(*e));
	struct opening o = {.e = e, .diag = diag};
	int rc;

	if (!e)
		return xw_fail_nomem(diag, "e2image file");
	e->under = under;
	e->dev.ops = &e2image_ops;
	e->dev.name = under->name;
	e->dev.diag = diag;
	rc = read_header(&o);
	if (!rc)
		rc = add(&o, XW_SUPER_OFFSET, XW_SUPER_SIZE, o.super, XW_SUPER_SIZE);
	if (!rc)
		rc = add_groups(&o);
	if (!rc && data)
		rc = xw_dev_open_file(data, XW_DEV_RDONLY, diag, &e->data);
	if (rc) {
		xw_vec_free(&e->pieces);
		free(e);
		return rc;
	}
	sort_pieces(e);
	e->dev.size = o.img.sb.blocks_count * o.img.block_size;
	*out = &e->dev;
	return 0;
}
