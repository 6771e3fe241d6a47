/* SPDX-License-Identifier: MIT */
/*
 * Group descriptors.
 *
 * Invariants:
 * 1. A 32-byte descriptor has no high halves; descriptors of 64 bytes and more have all of them.
 *    Bytes from 0x3C on hold no known field: they are preserved, and the checksum covers them.
 * 2. The feature bits select the checksum, metadata_csum before uninit_bg: low 16 bits of
 *    crc32c(seed, le32 group, descriptor with the field zeroed), or crc16(~0, uuid, le32 group,
 *    descriptor without the field).
 *
 * Source: kernel documentation "Block Group Descriptors"; both checksums are checked against mke2fs
 * (tests/oracle/disk.sh).
 */
#include "config.h"

#include "disk/group.h"

#include <assert.h>

#include "base/err.h"
#include "disk/csum.h"

struct XW_ON_DISK disk_group {
	le32 block_bitmap_lo;
	le32 inode_bitmap_lo;
	le32 inode_table_lo;
	le16 free_blocks_lo;
	le16 free_inodes_lo;
	le16 used_dirs_lo;
	le16 flags;
	le32 exclude_bitmap_lo;
	le16 block_bitmap_csum_lo;
	le16 inode_bitmap_csum_lo;
	le16 itable_unused_lo;
	le16 checksum;
	le32 block_bitmap_hi;
	le32 inode_bitmap_hi;
	le32 inode_table_hi;
	le16 free_blocks_hi;
	le16 free_inodes_hi;
	le16 used_dirs_hi;
	le16 itable_unused_hi;
	le32 exclude_bitmap_hi;
	le16 block_bitmap_csum_hi;
	le16 inode_bitmap_csum_hi;
	le32 reserved;
};

#define AT(off, name) static_assert(offsetof(struct disk_group, name) == (off), #name)
AT(0x0C, free_blocks_lo);
AT(0x12, flags);
AT(0x14, exclude_bitmap_lo);
AT(0x18, block_bitmap_csum_lo);
AT(0x1A, inode_bitmap_csum_lo);
AT(0x1C, itable_unused_lo);
AT(0x1E, checksum);
AT(0x20, block_bitmap_hi);
AT(0x2C, free_blocks_hi);
AT(0x32, itable_unused_hi);
AT(0x34, exclude_bitmap_hi);
AT(0x38, block_bitmap_csum_hi);
AT(0x3A, inode_bitmap_csum_hi);
AT(0x3C, reserved);
static_assert(sizeof(struct disk_group) == 64, "descriptor size");

#define CSUM_OFF offsetof(struct disk_group, checksum)
#define HIGH_OFF offsetof(struct disk_group, block_bitmap_hi)

/* Pairs of low and high half: P(bits of one half, type of the whole, name) */
#define GROUP_PAIRS(P)                                                                             \
	P(32, uint64_t, block_bitmap)                                                              \
	P(32, uint64_t, inode_bitmap)                                                              \
	P(32, uint64_t, inode_table)                                                               \
	P(16, uint32_t, free_blocks)                                                               \
	P(16, uint32_t, free_inodes)                                                               \
	P(16, uint32_t, used_dirs)                                                                 \
	P(16, uint32_t, itable_unused)                                                             \
	P(16, uint32_t, block_bitmap_csum)                                                         \
	P(16, uint32_t, inode_bitmap_csum)

void xw_group_decode(const void *buf, unsigned desc_size, struct xw_group_desc *out)
{
	const struct disk_group *d = buf;
	bool high = desc_size >= sizeof(*d);

#define P(bits, type, name)                                                                        \
	out->name = get##bits(d->name##_lo);                                                       \
	if (high)                                                                                  \
		out->name |= (type)get##bits(d->name##_hi) << bits;
	GROUP_PAIRS(P)
#undef P
	out->flags = get16(d->flags);
	out->exclude_bitmap_lo = get32(d->exclude_bitmap_lo);
	out->exclude_bitmap_hi = high ? get32(d->exclude_bitmap_hi) : 0;
	out->checksum = get16(d->checksum);
}

/* The expected checksum; without either feature the stored value. */
static uint16_t group_csum(const void *buf, const struct xw_super *sb, uint32_t csum_seed,
			   uint32_t group)
{
	const uint8_t *p = buf;
	size_t size = xw_super_desc_size(sb);
	le32 number = put32(group);
	uint16_t crc;

	if (!xw_super_has_group_csum(sb))
		return peek16(p + CSUM_OFF);
	if (xw_super_has_csum(sb))
		return (uint16_t)xw_csum_hole(xw_csum_le32(csum_seed, group), p, size, CSUM_OFF,
					      sizeof(le16));
	crc = xw_crc16(0xFFFF, sb->uuid, sizeof(sb->uuid));
	crc = xw_crc16(crc, &number, sizeof(number));
	crc = xw_crc16(crc, p, CSUM_OFF);
	return xw_crc16(crc, p + HIGH_OFF, size - HIGH_OFF);
}

void xw_group_encode(const struct xw_group_desc *gd, const struct xw_super *sb, uint32_t csum_seed,
		     uint32_t group, void *buf)
{
	struct disk_group *d = buf;
	bool high = xw_super_desc_size(sb) >= sizeof(*d);

#define P(bits, type, name)                                                                        \
	d->name##_lo = put##bits((uint##bits##_t)gd->name);                                        \
	if (high)                                                                                  \
		d->name##_hi = put##bits((uint##bits##_t)((type)gd->name >> bits));
	GROUP_PAIRS(P)
#undef P
	d->flags = put16(gd->flags);
	d->exclude_bitmap_lo = put32(gd->exclude_bitmap_lo);
	if (high)
		d->exclude_bitmap_hi = put32(gd->exclude_bitmap_hi);
	d->checksum = put16(gd->checksum);
	d->checksum = put16(group_csum(buf, sb, csum_seed, group));
}

int xw_group_verify(const void *buf, const struct xw_super *sb, uint32_t csum_seed, uint32_t group)
{
	const struct disk_group *d = buf;

	return get16(d->checksum) == group_csum(buf, sb, csum_seed, group) ? 0 : XW_ERR_CHECKSUM;
}

uint32_t xw_bitmap_csum(const struct xw_super *sb, uint32_t csum_seed, const void *bits,
			size_t bytes)
{
	uint32_t crc;

	if (!xw_super_has_csum(sb))
		return 0;
	crc = xw_crc32c(csum_seed, bits, bytes);
	return xw_super_desc_size(sb) >= sizeof(struct disk_group) ? crc : crc & 0xFFFF;
}
