/* SPDX-License-Identifier: MIT */
/* Extent tree nodes: header, index entries, leaf entries, and the tail checksum of a block node. */
#ifndef XW_DISK_EXTENT_H
#define XW_DISK_EXTENT_H

#include "base/types.h"

#define XW_EXT_MAGIC 0xF30A
#define XW_EXT_HDR 12 /* size of the header in bytes; entries are 12 bytes each */
#define XW_EXT_MAX_LEN 32768u /* blocks of an initialized extent */
#define XW_EXT_MAX_UNINIT 32767u
#define XW_EXT_INODE_ENTRIES 4 /* entries that fit i_block */
#define XW_EXT_MAX_DEPTH 5

struct xw_extent_hdr {
	uint16_t entries, max, depth;
	uint32_t generation;
};

struct xw_extent {
	uint32_t lblk;
	uint32_t len; /* in blocks, 1 .. XW_EXT_MAX_LEN */
	xw_blk pblk;
	bool unwritten;
};

struct xw_extent_idx {
	uint32_t lblk;
	xw_blk pblk; /* child node */
};

/*
 * Entries that fit a block node: (bs - 12 - 4 [tail]) / 12; the tail is reserved with or without
 * csum.
 */
unsigned xw_extent_node_max(uint32_t block_size);

/*
 * XW_ERR_CORRUPT: bad magic, entries > max, max 0 or too large for `size`, depth > 5. size: bytes
 * of the node (60 in an inode). Entries 0 .. entries - 1 may then be decoded; callers check their
 * contents (len may be 0).
 */
int xw_extent_hdr_decode(const void *node, size_t size, struct xw_extent_hdr *out);
/* Does the node begin with the magic? Nothing else is verified. */
bool xw_extent_has_magic(const void *node);
/* Decode a header of at least XW_EXT_HDR bytes without checks; false: no magic. */
bool xw_extent_hdr_peek(const void *node, struct xw_extent_hdr *out);
/*
 * Do these inline contents, stored in i_block and padded with zeros, look to e2fsck like an extent
 * root whose flag was lost? e2fsck 1.47 tests for the magic, eh_max <= 4 and eh_entries <= eh_max,
 * but not the depth.
 */
bool xw_extent_root_like(const void *contents, size_t len);
void xw_extent_hdr_encode(void *node, const struct xw_extent_hdr *h);
void xw_extent_leaf_decode(const void *node, unsigned i, struct xw_extent *out);
void xw_extent_leaf_encode(void *node, unsigned i, const struct xw_extent *e);
void xw_extent_idx_decode(const void *node, unsigned i, struct xw_extent_idx *out);
void xw_extent_idx_encode(void *node, unsigned i, const struct xw_extent_idx *e);
/*
 * Tail checksum at 12 + 12 * eh_max. inode_seed from xw_inode_seed(). verify: XW_ERR_CORRUPT if
 * eh_max leaves no room for the tail (set_csum then does nothing), else XW_ERR_CHECKSUM. Both are
 * for metadata_csum only.
 */
void xw_extent_block_set_csum(void *node, uint32_t block_size, uint32_t inode_seed);
/*
 * The value of the four bytes at `off` for which the stored checksum of a node with eh_max = max
 * matches; exactly one exists, even for a damaged node.
 */
uint32_t xw_extent_block_needed(const void *node, unsigned max, uint32_t inode_seed, size_t off);
/* The only seed with which the stored checksum matches. False if eh_max leaves no room for it. */
bool xw_extent_block_seed(const void *node, uint32_t block_size, uint32_t *seed);
int xw_extent_block_verify(const void *node, uint32_t block_size, uint32_t inode_seed);

#endif
