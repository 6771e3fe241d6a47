/* SPDX-License-Identifier: MIT */
/* Shared by the files of the sweep. */
#ifndef XW_TUNE_SWEEP_H
#define XW_TUNE_SWEEP_H

#include "base/vec.h"
#include "read/image.h"
#include "tune/tune_internal.h"

struct xw_tune_value {
	xw_ino ino; /* an EA inode */
	uint32_t old_hash, hash; /* of its value */
};

struct xw_sweep {
	struct xw_tune_run *t;
	struct xw_image *img; /* the old state */
	const struct xw_super *to; /* the new one */
	uint32_t seed; /* of the new checksums */
	bool old_csum, new_csum;
	bool retype; /* filetype is set or cleared */
	uint8_t *types; /* by inode number, if filetype is set */
	bool rehash; /* hashes of values in EA inodes depend on the seed, too */
	XW_VEC(struct xw_tune_value) values; /* sorted by ino */
	XW_VEC(xw_blk) xattr_blocks; /* as encountered; shared ones several times */
	uint8_t *buf; /* one block */
};

/* Read a block into s->buf, and write it back. */
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

/* sweep_inode.c: everything that belongs to the inode; changes its record except the checksum. */
int xw_sweep_inode(struct xw_sweep *s, xw_ino ino, struct xw_inode *in, uint8_t *raw);

/* sweep_xattr.c */
/* Before anything changes: compute the new hashes of the values. */
int xw_sweep_values(struct xw_sweep *s);
int xw_sweep_ibody(struct xw_sweep *s, const struct xw_inode *in, uint8_t *raw);
/* An EA inode's own. */
void xw_sweep_value(struct xw_sweep *s, xw_ino ino, struct xw_inode *in, uint8_t *raw);
/* All recorded xattr blocks, each once. */
int xw_sweep_xattr_blocks(struct xw_sweep *s);

#endif
