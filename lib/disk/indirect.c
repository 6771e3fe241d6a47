/* SPDX-License-Identifier: MIT */
/*
 * Block maps: 12 direct slots, then one, two and three levels of pointer blocks with p = block size
 * / 4 pointers each. Level k of the tree covers p^k blocks. These functions compute positions only
 * and never follow a pointer.
 */
#include "config.h"

#include "disk/indirect.h"

#include "base/endian.h"
#include "base/err.h"

#define LBLK_END ((uint64_t)1 << 32)

uint64_t xw_indirect_max_lblk(uint32_t block_size)
{
	uint64_t p = xw_indirect_per_block(block_size);
	uint64_t n = XW_NDIR_BLOCKS + p + p * p + p * p * p;

	return XW_MIN(n, LBLK_END);
}

uint32_t xw_indirect_pointer(const void *block, uint32_t i)
{
	return peek32((const uint8_t *)block + (size_t)4 * i);
}

int xw_indirect_path(uint32_t block_size, xw_lblk lblk, unsigned path[4], unsigned *depth)
{
	uint64_t p = xw_indirect_per_block(block_size);
	uint64_t span = 1; /* blocks covered by one pointer of the current level */
	unsigned level = 0;

	if (lblk >= xw_indirect_max_lblk(block_size))
		return XW_ERR_LIMIT;
	if (lblk < XW_NDIR_BLOCKS) {
		path[0] = (unsigned)lblk;
		*depth = 0;
		return 0;
	}
	lblk -= XW_NDIR_BLOCKS;
	for (level = 1; lblk >= span * p; level++) {
		span *= p;
		lblk -= span;
	}
	path[0] = XW_IND_SLOT + level - 1;
	*depth = level;
	for (unsigned i = 1; i <= level; i++) {
		path[i] = (unsigned)(lblk / span);
		lblk %= span;
		span /= p;
	}
	return 0;
}
