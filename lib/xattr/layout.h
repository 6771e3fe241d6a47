/* SPDX-License-Identifier: MIT */
/*
 * Where the attributes of a set go: in the inode first, then into one (shareable) block, then,
 * with ea_inode, values into inodes of their own. Pure functions on a set; the same set and sizes
 * always give the same bytes.
 */
#ifndef XW_XATTR_LAYOUT_H
#define XW_XATTR_LAYOUT_H

#include "xattr/set.h"

#pragma GCC visibility push(default)

/* What becomes of s->a.v[i]. */
struct xw_xattr_slot {
	bool in_block; /* the entry (and its value, unless ea) is in the block, else in the inode */
	bool ea; /* the value is in an EA inode */
	xw_ino value_inum; /* ea: what the entry names; the caller's to fill before encoding */
	uint32_t value_hash; /* ea: xw_xattr_value_hash() of the value; likewise */
};

/* An encoded block without its zero middle. */
struct xw_xattr_span {
	uint32_t head; /* bytes at the front: header, entries, terminator */
	uint32_t tail; /* bytes at the end: values */
};

/*
 * Fill slots[0 .. s->a.n). ibody: bytes between the inode's extra fields and its end (0: none).
 * XW_ERR_LIMIT: the set does not fit (diag says by how much); XW_ERR_NOMEM; XW_ERR_STATE: a
 * decoded value is still in its EA inode (fetch it and put it first).
 */
int xw_xattr_layout(const struct xw_xattr_set *s, uint32_t ibody, uint32_t block_size,
		    bool ea_inode, struct xw_xattr_slot *slots, struct xw_diag *diag);
/*
 * Encode the in-inode area (header, entries, values) into ibody bytes at out, zero filled.
 * Returns its length up to the last non-zero byte, 0 when no attribute is in the inode. Never
 * cuts what is needed: the rest of the area is zero.
 */
uint32_t xw_xattr_encode_ibody(const struct xw_xattr_set *s, const struct xw_xattr_slot *slots,
			       uint32_t ibody, uint8_t *out);
/*
 * Encode the block: refcount 1, hash set, checksum 0 (it depends on the block number). False, and
 * nothing written, when no attribute is in the block.
 */
bool xw_xattr_encode_block(const struct xw_xattr_set *s, const struct xw_xattr_slot *slots,
			   uint32_t block_size, uint8_t *out, struct xw_xattr_span *span);

/*
 * Add the entries of an area (in-inode or block) to a set, ACLs in ext4's encoding. An attribute
 * that is there already stays: decode the inode's area first, as Linux looks there first. Values
 * in EA inodes are not fetched (value_inum). XW_ERR_CORRUPT when an entry or value leaves the
 * area; what came before stays in the set.
 */
int xw_xattr_decode(const void *area, size_t size, size_t entries_off, size_t value_base,
		    struct xw_xattr_set *out, struct xw_diag *diag);
/*
 * The same for an inode's area behind its extra fields (no magic: no attributes), and for a whole
 * block, header checked.
 */
int xw_xattr_decode_ibody(const void *area, size_t size, struct xw_xattr_set *out,
			  struct xw_diag *diag);
int xw_xattr_decode_block(const void *block, uint32_t block_size, struct xw_xattr_set *out,
			  struct xw_diag *diag);

/*
 * Call map(arg, inum) for every entry with a value_inum and store what it returns in its place:
 * to count references, and to turn the interner's ids into inode numbers (no hash covers the
 * number). entries_off, value_base as above. XW_ERR_CORRUPT.
 */
int xw_xattr_map_inums(void *area, size_t size, size_t entries_off, size_t value_base,
		       xw_ino (*map)(void *arg, xw_ino inum), void *arg);
/* Offsets for the two kinds of area. */
#define XW_XATTR_IBODY_OFFS 4, 4
#define XW_XATTR_BLOCK_OFFS 32, 0

#pragma GCC visibility pop

#endif
