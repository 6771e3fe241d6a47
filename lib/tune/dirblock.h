/* SPDX-License-Identifier: MIT */
/*
 * Directory blocks when features change: which of them belong to the index, and conversion of each
 * block from one format to another.
 */
#ifndef XW_TUNE_DIRBLOCK_H
#define XW_TUNE_DIRBLOCK_H

#include "read/dirs.h"

enum xw_tune_kind { XW_TUNE_LEAF, XW_TUNE_ROOT, XW_TUNE_NODE };

/* The blocks of a directory and their kinds. */
struct xw_tune_dirmap {
	struct xw_dir_runs runs;
	uint64_t blocks; /* number of blocks by i_size */
	uint8_t *kinds; /* enum xw_tune_kind by logical block; NULL: all blocks are leaves */
};

/*
 * Determined from the index itself, since without checksums an empty leaf looks like an index
 * block. XW_ERR_CORRUPT: holes, or an invalid index. Free it in any case.
 */
int xw_tune_dirmap_read(struct xw_image *img, xw_ino ino, const struct xw_inode *in,
			struct xw_tune_dirmap *m);
void xw_tune_dirmap_free(struct xw_tune_dirmap *m);
typedef int xw_tune_block_fn(void *arg, xw_blk blk, enum xw_tune_kind kind);
/* Call fn for each block in logical order; a non-zero code ends the loop. */
int xw_tune_dirmap_each(const struct xw_tune_dirmap *m, xw_tune_block_fn *fn, void *arg);

/* Convert an index block to an empty leaf; a root keeps "." and "..". */
void xw_tune_block_unindex(uint8_t *block, uint32_t bs, bool csum, enum xw_tune_kind kind);
/* Make room for a checksum. XW_ERR_NOSPC, without a message: the block is too full. */
int xw_tune_block_add_tail(uint8_t *block, uint32_t bs, enum xw_tune_kind kind);
/* Remove the checksum tail; the last entry extends over it. */
void xw_tune_block_drop_tail(uint8_t *block, uint32_t bs, enum xw_tune_kind kind);
/* types: by inode number, up to max; NULL: clear the types. */
void xw_tune_block_set_types(uint8_t *block, uint32_t bs, const uint8_t *types, xw_ino max);
void xw_tune_block_seal(uint8_t *block, uint32_t bs, enum xw_tune_kind kind, uint32_t seed);
/* 0, or XW_ERR_CHECKSUM. */
int xw_tune_block_verify(const uint8_t *block, uint32_t bs, enum xw_tune_kind kind, uint32_t seed);

#endif
