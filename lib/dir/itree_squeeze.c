/* SPDX-License-Identifier: MIT */
/* Removes the deleted entries of an itree leaf, see itree_leaf.h. */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "dir/itree_leaf.h"

void xw_itree_squeeze(uint8_t *block)
{
	const uint32_t dead = xw_itree_dead(block);
	uint8_t *const area = block + XW_ITREE_HDR;
	const uint32_t end = peek16(block + 8) + dead;
	uint32_t to = 0, run = 0, off = 0;

	if (!dead)
		return;
	/* [run, off): entries that move together */
	while (off < end) {
		const uint32_t len = xw_itree_rec_len(area[off + 10]);
		const bool gone = !peek16(area + off + XW_ITREE_REC_LEN);

		if (gone) {
			memmove(area + to, area + run, off - run);
			to += off - run;
			run = off + len;
		}
		off += len;
	}
	memmove(area + to, area + run, end - run);
	memset(area + end - dead, 0, dead);
	poke16(block + XW_ITREE_HDR_DEAD, 0);
}
