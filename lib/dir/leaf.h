/* SPDX-License-Identifier: MIT */
/* Modifying one block of directory entries, already verified: `room` bytes tiled by its entries. */
#ifndef XW_DIR_LEAF_H
#define XW_DIR_LEAF_H

#include "base/err.h"
#include "disk/dirent.h"

#define XW_LEAF_NONE UINT32_MAX

struct xw_leaf_spot {
	uint32_t at; /* offset of the entry with this name; XW_LEAF_NONE */
	uint32_t before; /* offset of the previous entry; XW_LEAF_NONE: it is the first */
	uint32_t space; /* offset of an entry with slack for one of `need` bytes; XW_LEAF_NONE */
};

/* Search for a name and for slack in one pass. need 0: slack does not matter. */
void xw_leaf_find(const void *block, uint32_t room, const char *name, uint8_t len, uint32_t need,
		  struct xw_leaf_spot *out);
/*
 * Insert an entry into the slack that xw_leaf_find() found: modifies the next xw_leaf_reach()
 * bytes.
 */
void xw_leaf_put(void *block, uint32_t room, uint32_t space, const struct xw_dirent *e);
uint32_t xw_leaf_reach(const void *block, uint32_t space, const struct xw_dirent *e);
/*
 * Remove the entry at s->at; its space is merged into the previous entry, and its bytes are zeroed.
 */
void xw_leaf_remove(void *block, uint32_t room, const struct xw_leaf_spot *s);
/*
 * Write n entries from offset `used` on (minimal sizes, the last one extends to the end); the rest
 * of the block is zeroed. n 0: one unused entry.
 */
void xw_leaf_fill(void *block, uint32_t room, uint32_t used, const struct xw_dirent *e, size_t n);

#endif
