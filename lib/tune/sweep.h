/* SPDX-License-Identifier: MIT */
/* Private to the files of the sweep. */
#ifndef XW_TUNE_SWEEP_H
#define XW_TUNE_SWEEP_H

#include "base/vec.h"
#include "read/image.h"
#include "tune/tune_internal.h"

struct xw_tune_value {
	xw_ino ino; /* an EA inode */
	uint32_t old_hash, hash; /* of the value, by the old and the new seed */
};

struct xw_sweep {
	struct xw_tune_run *t;
	struct xw_image *img; /* opened with the old superblock */
	const struct xw_super *to; /* the new superblock */
	uint32_t seed; /* for the new checksums */
	bool old_csum, new_csum;
	bool retype; /* filetype is set or cleared */
	uint8_t *types; /* by inode number, if filetype is set */
	bool rehash; /* the seed changes, on which the hashes of EA values depend */
	XW_VEC(struct xw_tune_value) values; /* sorted by ino */
	XW_VEC(xw_blk) xattr_blocks; /* of all inodes; shared blocks occur several times */
	uint8_t *buf; /* one block */
};

/* Read a block into s->buf; write s->buf to a block. */
static inline int xw_sweep_get(struct xw_sweep *s, xw_blk blk)
{
	const uint32_t bs = s->img->block_size;

	return xw_dev_pread(s->img->dev, s->buf, bs, blk * bs);
}

static inline int xw_sweep_put(struct xw_sweep *s, xw_blk blk)
{
	const uint32_t bs = s->img->block_size;

	return xw_dev_pwrite(s->img->dev, s->buf, bs, blk * bs);
}

/* sweep_inode.c: convert the inode's blocks, and its record except the record's checksum. */
int xw_sweep_inode(struct xw_sweep *s, xw_ino ino, struct xw_inode *in, uint8_t *raw);

/* sweep_xattr.c */
/* Compute the new hashes of all EA values. To be called before any block is converted. */
int xw_sweep_values(struct xw_sweep *s);
int xw_sweep_ibody(struct xw_sweep *s, const struct xw_inode *in, uint8_t *raw);
/* Set the new hash of the value in an EA inode. */
void xw_sweep_value(struct xw_sweep *s, xw_ino ino, struct xw_inode *in, uint8_t *raw);
/* Convert all xattr blocks that were recorded for inodes, each of them once. */
int xw_sweep_xattr_blocks(struct xw_sweep *s);

#endif
