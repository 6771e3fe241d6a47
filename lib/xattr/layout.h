/* SPDX-License-Identifier: MIT */
/*
 * Placement of the attributes of a set: in the inode first, then in one (shareable) block, then,
 * with ea_inode, values in EA inodes. Pure functions on a set; the same set and sizes always give
 * the same bytes.
 */
#ifndef XW_XATTR_LAYOUT_H
#define XW_XATTR_LAYOUT_H

#include "xattr/set.h"

/* Placement of s->a.v[i]. */
struct xw_xattr_slot {
	bool in_block; /* the entry (and its value, unless ea) is in the block, else in the inode */
	bool ea; /* the value is in an EA inode */
	xw_ino value_inum; /* ea: the number in the entry; set by the caller before encoding */
	uint32_t value_hash; /* ea: xw_xattr_value_hash() of the value; likewise */
};

/* An encoded block without the zeros in its middle. */
struct xw_xattr_span {
	uint32_t head; /* size of the front part: header, entries, terminator */
	uint32_t tail; /* size of the end part: values */
};

/*
 * Fill slots[0 .. s->a.n). ibody: bytes between the inode's extra fields and its end (0: none).
 * XW_ERR_LIMIT: the set does not fit (the message says by how much); XW_ERR_NOMEM; XW_ERR_STATE: a
 * decoded value was not yet read from its EA inode.
 */
int xw_xattr_layout(const struct xw_xattr_set *s, uint32_t ibody, uint32_t block_size,
		    bool ea_inode, struct xw_xattr_slot *slots, struct xw_diag *diag);
/*
 * Encode the in-inode area (header, entries, values) into ibody bytes at out, zero-filled. Returns
 * its length up to the last non-zero byte, 0 if no attribute is in the inode.
 */
uint32_t xw_xattr_encode_ibody(const struct xw_xattr_set *s, const struct xw_xattr_slot *slots,
			       uint32_t ibody, uint8_t *out);
/*
 * Encode the block: refcount 1, hash set, checksum 0 (it depends on the block number). If no
 * attribute is in the block: false, and nothing is written.
 */
bool xw_xattr_encode_block(const struct xw_xattr_set *s, const struct xw_xattr_slot *slots,
			   uint32_t block_size, uint8_t *out, struct xw_xattr_span *span);

/*
 * Add the entries of an area (in-inode or block) to a set, ACLs in ext4's encoding. Attributes that
 * are already in the set are kept, so decode the inode's area first, which Linux searches first.
 * Values in EA inodes are not read (value_inum is set). XW_ERR_CORRUPT if an entry or value leaves
 * the area; earlier entries stay in the set.
 */
int xw_xattr_decode(const void *area, size_t size, size_t entries_off, size_t value_base,
		    struct xw_xattr_set *out, struct xw_diag *diag);
/*
 * The same for the in-inode area after the extra fields (without magic: no attributes), and for a
 * whole block, whose header is checked.
 */
int xw_xattr_decode_ibody(const void *area, size_t size, struct xw_xattr_set *out,
			  struct xw_diag *diag);
int xw_xattr_decode_block(const void *block, uint32_t block_size, struct xw_xattr_set *out,
			  struct xw_diag *diag);

/*
 * Replace value_inum of every entry that has one by map(arg, value_inum): to count references, and
 * to convert the interner's ids to inode numbers (no hash covers the number). entries_off,
 * value_base as above. XW_ERR_CORRUPT.
 */
int xw_xattr_map_inums(void *area, size_t size, size_t entries_off, size_t value_base,
		       xw_ino (*map)(void *arg, xw_ino inum), void *arg);
/* Offsets for the two kinds of area. */
#define XW_XATTR_IBODY_OFFS 4, 4
#define XW_XATTR_BLOCK_OFFS 32, 0

#endif
