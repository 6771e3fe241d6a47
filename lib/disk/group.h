/* SPDX-License-Identifier: MIT */
/* Group descriptors (32 or 64 bytes) and the checksums of the bitmaps they point to. */
#ifndef XW_DISK_GROUP_H
#define XW_DISK_GROUP_H

#include "base/types.h"
#include "disk/super.h"

#define XW_BG_INODE_UNINIT 0x1u
#define XW_BG_BLOCK_UNINIT 0x2u
#define XW_BG_INODE_ZEROED 0x4u

struct xw_group_desc {
	xw_blk block_bitmap, inode_bitmap, inode_table;
	uint32_t free_blocks, free_inodes, used_dirs, itable_unused;
	uint16_t flags;
	uint32_t block_bitmap_csum, inode_bitmap_csum; /* 16 bits stored with 32-byte descriptors */
	uint32_t exclude_bitmap_lo, exclude_bitmap_hi;
	uint16_t checksum;
};

/* desc_size is 32 or >= 64. Never fails; callers check ranges. */
void xw_group_decode(const void *buf, unsigned desc_size, struct xw_group_desc *out);
/*
 * Encodes xw_super_desc_size() bytes with the checksum of group `group` (metadata_csum: crc32c;
 * uninit_bg: crc16; else gd->checksum unchanged). Bytes from 0x3C on hold no field: they are not
 * modified but checksummed, so a fresh buffer must be zeroed.
 */
void xw_group_encode(const struct xw_group_desc *gd, const struct xw_super *sb, uint32_t csum_seed,
		     uint32_t group, void *buf);
/* 0, or XW_ERR_CHECKSUM. */
int xw_group_verify(const void *buf, const struct xw_super *sb, uint32_t csum_seed, uint32_t group);

/*
 * Checksum of the first `bytes` bytes of a bitmap as a descriptor of this filesystem stores it (16
 * bits in 32-byte descriptors); 0 without metadata_csum. bytes: clusters_per_group / 8 for block
 * bitmaps, inodes_per_group / 8 for inode bitmaps. The checksum of an UNINIT bitmap is not
 * maintained.
 */
uint32_t xw_bitmap_csum(const struct xw_super *sb, uint32_t csum_seed, const void *bits,
			size_t bytes);

#endif
