/* SPDX-License-Identifier: MIT */
/*
 * Extent tree nodes: 12 bytes of header, then 12-byte entries, in i_block (4 entries, no checksum
 * of their own) or in a block.
 *
 * Invariants:
 * 1. A leaf length above 32768 means unwritten, of length - 32768; 32768 itself is written. Length
 *    0 is invalid and decodes to 0: callers reject it with their other range checks.
 * 2. The checksum of a block node directly follows the room for eh_max entries and covers
 *    everything before itself. Every block size leaves a remainder of 4 or 8 bytes after the last
 *    entry, so the tail costs no entry and is always reserved.
 *
 * Source: kernel documentation "Extent Tree"; checked against mke2fs, the kernel and debugfs.
 */
#include "config.h"

#include "disk/extent.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "disk/csum.h"

struct XW_ON_DISK disk_hdr {
	le16 magic;
	le16 entries;
	le16 max;
	le16 depth;
	le32 generation;
};

struct XW_ON_DISK disk_leaf {
	le32 lblk;
	le16 len;
	le16 start_hi;
	le32 start_lo;
};

struct XW_ON_DISK disk_idx {
	le32 lblk;
	le32 leaf_lo;
	le16 leaf_hi;
	le16 unused;
};

static_assert(sizeof(struct disk_hdr) == XW_EXT_HDR, "extent header size");
static_assert(sizeof(struct disk_leaf) == 12, "extent size");
static_assert(sizeof(struct disk_idx) == 12, "extent index size");
static_assert(offsetof(struct disk_leaf, start_hi) == 6, "ee_start_hi");
static_assert(offsetof(struct disk_idx, leaf_hi) == 8, "ei_leaf_hi");

#define TAIL_SIZE sizeof(le32)

static const void *entry_at(const void *node, unsigned i)
{
	return (const uint8_t *)node + XW_EXT_HDR + sizeof(struct disk_leaf) * i;
}

static void *entry_at_mut(void *node, unsigned i)
{
	return (uint8_t *)node + XW_EXT_HDR + sizeof(struct disk_leaf) * i;
}

unsigned xw_extent_node_max(uint32_t block_size)
{
	return (unsigned)((block_size - XW_EXT_HDR - TAIL_SIZE) / sizeof(struct disk_leaf));
}

bool xw_extent_hdr_peek(const void *node, struct xw_extent_hdr *out)
{
	const struct disk_hdr *d = node;

	out->entries = get16(d->entries);
	out->max = get16(d->max);
	out->depth = get16(d->depth);
	out->generation = get32(d->generation);
	return get16(d->magic) == XW_EXT_MAGIC;
}

bool xw_extent_has_magic(const void *node)
{
	return peek16(node) == XW_EXT_MAGIC;
}

int xw_extent_hdr_decode(const void *node, size_t size, struct xw_extent_hdr *out)
{
	const struct disk_hdr *d = node;

	if (size < sizeof(*d) || !xw_extent_hdr_peek(node, out))
		return XW_ERR_CORRUPT;
	if (!out->max || out->max > (size - sizeof(*d)) / sizeof(struct disk_leaf))
		return XW_ERR_CORRUPT;
	if (out->entries > out->max || out->depth > XW_EXT_MAX_DEPTH)
		return XW_ERR_CORRUPT;
	return 0;
}

bool xw_extent_root_like(const void *contents, size_t len)
{
	uint8_t start[sizeof(struct disk_hdr)] = {0};
	struct xw_extent_hdr h;

	memcpy(start, contents, XW_MIN(len, sizeof(start)));
	return xw_extent_hdr_peek(start, &h) && h.max && h.max <= XW_EXT_INODE_ENTRIES &&
	       h.entries <= h.max;
}

void xw_extent_hdr_encode(void *node, const struct xw_extent_hdr *h)
{
	struct disk_hdr *d = node;

	d->magic = put16(XW_EXT_MAGIC);
	d->entries = put16(h->entries);
	d->max = put16(h->max);
	d->depth = put16(h->depth);
	d->generation = put32(h->generation);
}

void xw_extent_leaf_decode(const void *node, unsigned i, struct xw_extent *out)
{
	const struct disk_leaf *d = entry_at(node, i);
	uint32_t len = get16(d->len);

	out->lblk = get32(d->lblk);
	out->unwritten = len > XW_EXT_MAX_LEN;
	out->len = out->unwritten ? len - XW_EXT_MAX_LEN : len;
	out->pblk = get32(d->start_lo) | (xw_blk)get16(d->start_hi) << 32;
}

void xw_extent_leaf_encode(void *node, unsigned i, const struct xw_extent *e)
{
	struct disk_leaf *d = entry_at_mut(node, i);

	d->lblk = put32(e->lblk);
	d->len = put16((uint16_t)(e->unwritten ? e->len + XW_EXT_MAX_LEN : e->len));
	d->start_hi = put16((uint16_t)(e->pblk >> 32));
	d->start_lo = put32((uint32_t)e->pblk);
}

void xw_extent_idx_decode(const void *node, unsigned i, struct xw_extent_idx *out)
{
	const struct disk_idx *d = entry_at(node, i);

	out->lblk = get32(d->lblk);
	out->pblk = get32(d->leaf_lo) | (xw_blk)get16(d->leaf_hi) << 32;
}

void xw_extent_idx_encode(void *node, unsigned i, const struct xw_extent_idx *e)
{
	struct disk_idx *d = entry_at_mut(node, i);

	d->lblk = put32(e->lblk);
	d->leaf_lo = put32((uint32_t)e->pblk);
	d->leaf_hi = put16((uint16_t)(e->pblk >> 32));
	d->unused = put16(0);
}

/* Offset of the tail by the stored eh_max; 0 when it does not fit the block. */
static size_t tail_off(const void *node, uint32_t block_size)
{
	const struct disk_hdr *d = node;
	size_t off = sizeof(*d) + sizeof(struct disk_leaf) * get16(d->max);

	return off + TAIL_SIZE <= block_size ? off : 0;
}

void xw_extent_block_set_csum(void *node, uint32_t block_size, uint32_t inode_seed)
{
	size_t off = tail_off(node, block_size);

	if (off)
		poke32((uint8_t *)node + off, xw_crc32c(inode_seed, node, off));
}

uint32_t xw_extent_block_needed(const void *node, unsigned max, uint32_t inode_seed, size_t off)
{
	static const uint8_t zero[4];
	const uint8_t *const p = node;
	const size_t end = sizeof(struct disk_hdr) + sizeof(struct disk_leaf) * max;
	const size_t rest = off + sizeof(zero);
	const uint32_t after = xw_crc32c_back(peek32(p + end), p + rest, end - rest);

	return xw_crc32c_back(after, zero, sizeof(zero)) ^ xw_crc32c(inode_seed, p, off);
}

bool xw_extent_block_seed(const void *node, uint32_t block_size, uint32_t *seed)
{
	const size_t off = tail_off(node, block_size);

	if (off)
		*seed = xw_crc32c_back(peek32((const uint8_t *)node + off), node, off);
	return off;
}

int xw_extent_block_verify(const void *node, uint32_t block_size, uint32_t inode_seed)
{
	size_t off = tail_off(node, block_size);

	if (!off)
		return XW_ERR_CORRUPT;
	return peek32((const uint8_t *)node + off) == xw_crc32c(inode_seed, node, off)
		       ? 0
		       : XW_ERR_CHECKSUM;
}
