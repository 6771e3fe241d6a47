/* SPDX-License-Identifier: MIT */
/*
 * Block-mapped files (ext2, ext3, the resize inode): how many pointer blocks a length needs, and
 * where the pointer of a logical block is stored.
 */
#ifndef XW_DISK_INDIRECT_H
#define XW_DISK_INDIRECT_H

#include "base/types.h"

#define XW_NDIR_BLOCKS 12
#define XW_IND_SLOT 12
#define XW_DIND_SLOT 13
#define XW_TIND_SLOT 14

/* Maximum number of logical blocks of a map: 12 + p + p^2 + p^3, at most 2^32. */
uint64_t xw_indirect_max_lblk(uint32_t block_size);
/*
 * Path of lblk: path[0] = slot in i_block, path[1..depth] = index in each pointer block. *depth
 * 0..3. XW_ERR_LIMIT beyond the map.
 */
int xw_indirect_path(uint32_t block_size, xw_lblk lblk, unsigned path[4], unsigned *depth);
/* Pointer i of a pointer block; the caller keeps i below xw_indirect_per_block(). */
uint32_t xw_indirect_pointer(const void *block, uint32_t i);
static inline unsigned xw_indirect_per_block(uint32_t block_size)
{
	return block_size / 4;
}

#endif
