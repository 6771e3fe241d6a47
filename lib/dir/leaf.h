/* SPDX-License-Identifier: MIT */
/* Changing one block of directory entries, already verified: `room` bytes that its entries tile. */
#ifndef XW_DIR_LEAF_H
#define XW_DIR_LEAF_H

#include "base/err.h"
#include "disk/dirent.h"

#pragma GCC visibility push(default)

#define XW_LEAF_NONE UINT32_MAX

struct xw_leaf_spot {
	uint32_t at; /* of the entry with this name; XW_LEAF_NONE */
	uint32_t before; /* of the entry before it; XW_LEAF_NONE: it is the first */
	uint32_t space; /* of an entry with room for one of `need` bytes; XW_LEAF_NONE */
};

/* Look for a name, and for room, in one pass. need 0: room does not matter. */
void xw_leaf_find(const void *block, uint32_t room, const char *name, uint8_t len, uint32_t need,
		  struct xw_leaf_spot *out);
/* Put an entry where xw_leaf_find() found room: what changes are the next xw_leaf_reach() bytes. */
void xw_leaf_put(void *block, uint32_t room, uint32_t space, const struct xw_dirent *e);
uint32_t xw_leaf_reach(const void *block, uint32_t space, const struct xw_dirent *e);
/* Take out the entry at s->at; its room goes to the entry before it, and its bytes are zeroed. */
void xw_leaf_take(void *block, uint32_t room, const struct xw_leaf_spot *s);
/*
 * Lay out n entries from offset `used` on (sizes as needed, the last one to the end); what is
 * behind them in the block's room is zeroed. n 0: one unused entry. */
void xw_leaf_fill(void *block, uint32_t room, uint32_t used, const struct xw_dirent *e, size_t n);

#pragma GCC visibility pop

#endif
