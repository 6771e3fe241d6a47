/* SPDX-License-Identifier: MIT */
/*
 * Blocks of the orphan file: slots for inode numbers, 0 = free, and a tail of 8 bytes (magic,
 * checksum) at the end of the block.
 */
#ifndef XW_DISK_ORPHAN_H
#define XW_DISK_ORPHAN_H

#include "base/types.h"

#define XW_ORPHAN_MAGIC 0x0b10ca04u

/* Number of slots in a block. */
static inline uint32_t xw_orphan_slots(uint32_t block_size)
{
	return (block_size - 8) / 4;
}

/* Write the tail of a block after its slots. csum: metadata_csum is on. */
void xw_orphan_seal(void *block, uint32_t block_size, bool csum, uint32_t inode_seed, xw_blk pblk);
/* XW_ERR_CORRUPT: no magic; XW_ERR_CHECKSUM. inode_seed: xw_inode_seed() of the orphan file. */
int xw_orphan_verify(const void *block, uint32_t block_size, bool csum, uint32_t inode_seed,
		     xw_blk pblk);
/* Slot i < xw_orphan_slots(). */
xw_ino xw_orphan_slot(const void *block, uint32_t i);
void xw_orphan_set_slot(void *block, uint32_t i, xw_ino ino);

#endif
