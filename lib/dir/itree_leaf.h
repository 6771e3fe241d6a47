/* SPDX-License-Identifier: MIT */
/*
 * Leaves of an itree in the block cache.
 *
 * A deleted entry keeps its place until the leaf is written or its space is needed: its rec_len
 * becomes 0, and the number of such bytes is kept in a header field that is 0 on the device. So a
 * deletion touches a few cache lines instead of moving half a block, and a new file that reuses the
 * inode number, as usual with ext4, reuses the place of the entry. Deleted entries keep their key
 * and name, and thus the order of the leaf.
 *
 * `used` and `count` of the header include only live entries.
 */
#ifndef XW_DIR_ITREE_LEAF_H
#define XW_DIR_ITREE_LEAF_H

#include "base/endian.h"
#include "disk/itree.h"

#define XW_ITREE_HDR_DEAD 10u /* le16 of a cached leaf: size of its deleted entries in bytes */
#define XW_ITREE_REC_LEN 8u /* offset of rec_len in a leaf entry */
#define XW_ITREE_NONE UINT32_MAX

static inline uint16_t xw_itree_dead(const uint8_t *block)
{
	return peek16(block + XW_ITREE_HDR_DEAD);
}

/* Remove deleted entries from a leaf, which then has its on-disk format. */
void xw_itree_squeeze(uint8_t *block);

struct xw_itree;
struct xw_itree_step;

/* The same as part of a change. */
int xw_itree_squeeze_step(struct xw_itree *t, struct xw_itree_step *s);
/*
 * Byte offset of the first entry, deleted or not, that is not below e; without one, of the end.
 * *equal: e exists there. s->reuse: a deleted entry that e can replace.
 */
uint32_t xw_itree_find_in_leaf(struct xw_itree *t, struct xw_itree_step *s,
			       const struct xw_itree_entry *e, bool *equal);
/* Insert e at off, where it belongs and fits, or replace s->reuse; delete the entry at off. */
int xw_itree_put_entry(struct xw_itree *t, struct xw_itree_step *s, uint32_t off,
		       const struct xw_itree_entry *e);
int xw_itree_delete_entry(struct xw_itree *t, struct xw_itree_step *s, uint32_t off);

#endif
