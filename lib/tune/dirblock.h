/* SPDX-License-Identifier: MIT */
/*
 * Blocks of directories as features change: which of them are of the index, and each block from one
 * format to another.
 */
#ifndef XW_TUNE_DIRBLOCK_H
#define XW_TUNE_DIRBLOCK_H

#include "read/dirs.h"

enum xw_tune_kind { XW_TUNE_LEAF, XW_TUNE_ROOT, XW_TUNE_NODE };

/* Where a directory's blocks are and what they are. */
struct xw_tune_dirmap {
	struct xw_dir_runs runs;
	uint64_t blocks; /* of its size */
	uint8_t *kinds; /* enum xw_tune_kind by logical block; NULL: all leaves */
};

/*
 * From the index itself, since without checksums an empty leaf looks like an index block.
 * XW_ERR_CORRUPT: holes, or an index that leads nowhere. Free it in any case.
 */
int xw_tune_dirmap_read(struct xw_image *img, xw_ino ino, const struct xw_inode *in,
			struct xw_tune_dirmap *m);
void xw_tune_dirmap_free(struct xw_tune_dirmap *m);
typedef int xw_tune_block_fn(void *arg, xw_blk blk, enum xw_tune_kind kind);
/* In logical order; a code that is not 0 ends it. */
int xw_tune_dirmap_each(const struct xw_tune_dirmap *m, xw_tune_block_fn *fn, void *arg);

/* A block of the index becomes a leaf without names, a root one with "." and "..". */
void xw_tune_block_unindex(uint8_t *block, uint32_t bs, bool csum, enum xw_tune_kind kind);
/* Room for a checksum, where there is none yet. XW_ERR_NOSPC (no line): it is too full. */
int xw_tune_block_add_tail(uint8_t *block, uint32_t bs, enum xw_tune_kind kind);
/* The room for a checksum goes to what it stands behind. */
void xw_tune_block_drop_tail(uint8_t *block, uint32_t bs, enum xw_tune_kind kind);
/* types: by inode number, up to max; NULL: no types any more. */
void xw_tune_block_set_types(uint8_t *block, uint32_t bs, const uint8_t *types, xw_ino max);
void xw_tune_block_seal(uint8_t *block, uint32_t bs, enum xw_tune_kind kind, uint32_t seed);
/* 0, or XW_ERR_CHECKSUM. */
int xw_tune_block_verify(const uint8_t *block, uint32_t bs, enum xw_tune_kind kind, uint32_t seed);

#endif
