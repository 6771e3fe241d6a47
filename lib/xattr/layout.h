/* SPDX-License-Identifier: MIT */
/*
 * Where the attributes of a set go: in the inode first, then into one (shareable) block, then, with ea_inode, values into
 * inodes of their own. Pure functions on a sorted set.
 */
#ifndef XW_XATTR_LAYOUT_H
#define XW_XATTR_LAYOUT_H

#include "xattr/set.h"

enum xw_xattr_place { XW_XP_INODE, XW_XP_BLOCK, XW_XP_EA_INODE };

/*
 * ibody: bytes between the inode's extra fields and its end, in-inode header included (0: none). place[i] for s->a.v[i]. A value in an EA inode
 * still has its entry in inode or block. XW_ERR_LIMIT: the set does not fit (diag says which attribute and by how much).
 */
int xw_xattr_layout(const struct xw_xattr_set *s, uint32_t ibody, uint32_t block_size, bool ea_inode,
		    enum xw_xattr_place *place, bool *entry_in_block, struct xw_diag *diag);
/*
 * Encode the in-inode area (header, entries, values; zero filled to ibody). value_inum[i]/value_hash[i]: for EA values. Returns bytes used up to the last
 * non-zero, 0 when no attribute is in the inode.
 */
uint32_t xw_xattr_encode_ibody(const struct xw_xattr_set *s, const enum xw_xattr_place *place, const bool *entry_in_block,
			       const xw_ino *value_inum, uint32_t ibody, uint8_t *out);
/* Encode the block: refcount 1, hash set, checksum 0 (it depends on the block number). Returns false when no attribute is in the block. */
bool xw_xattr_encode_block(const struct xw_xattr_set *s, const enum xw_xattr_place *place, const bool *entry_in_block,
			   const xw_ino *value_inum, uint32_t block_size, uint8_t *out);

/* Decode an area (in-inode or block) back into a set: ACLs in kernel xattr encoding are not restored, values stay as stored. */
int xw_xattr_decode(const void *area, size_t size, size_t entries_off, size_t value_base, struct xw_xattr_set *out);

#endif
