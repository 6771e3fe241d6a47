/* SPDX-License-Identifier: MIT */
/*
 * Blocks of the orphan file. The checksum covers the inode seed, the number of the block (64 bits)
 * and the slots, but not the magic. Source: kernel documentation "ext4, Orphan file"; checked
 * against mke2fs 1.47.0.
 */
#include "config.h"

#include "disk/orphan.h"

#include "base/err.h"
#include "disk/csum.h"

static uint32_t block_csum(const void *block, uint32_t block_size, uint32_t inode_seed, xw_blk pblk)
{
	return xw_crc32c(xw_csum_le64(inode_seed, pblk), block, block_size - 8);
}

void xw_orphan_seal(void *block, uint32_t block_size, bool csum, uint32_t inode_seed, xw_blk pblk)
{
	uint8_t *tail = (uint8_t *)block + block_size - 8;

	poke32(tail, XW_ORPHAN_MAGIC);
	poke32(tail + 4, csum ? block_csum(block, block_size, inode_seed, pblk) : 0);
}

int xw_orphan_verify(const void *block, uint32_t block_size, bool csum, uint32_t inode_seed,
		     xw_blk pblk)
{
	const uint8_t *tail = (const uint8_t *)block + block_size - 8;

	if (peek32(tail) != XW_ORPHAN_MAGIC)
		return XW_ERR_CORRUPT;
	if (csum && peek32(tail + 4) != block_csum(block, block_size, inode_seed, pblk))
		return XW_ERR_CHECKSUM;
	return 0;
}

xw_ino xw_orphan_slot(const void *block, uint32_t i)
{
	return peek32((const uint8_t *)block + 4 * (size_t)i);
}

void xw_orphan_set_slot(void *block, uint32_t i, xw_ino ino)
{
	poke32((uint8_t *)block + 4 * (size_t)i, ino);
}
