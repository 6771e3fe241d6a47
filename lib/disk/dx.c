/* SPDX-License-Identifier: MIT */
/*
 * htree blocks. They share the header of directory entries, since tools without dir_index see an
 * htree block as a directory block.
 *
 * Invariants:
 * 1. dx_root: "." in 12 bytes, ".." to the end of the block, 8 bytes of root info at 24, slots from
 *    32. dx_node: one unused entry over the whole block, slots from 8. A slot is 8 bytes.
 * 2. Slot 0 holds limit and count where other slots hold their hash; its block number is that of
 *    the first child. count includes it.
 * 3. With metadata_csum the limit is one lower and the dx_tail (a reserved word, a checksum)
 *    directly follows the limit. The checksum covers the block up to slot `count`, the reserved
 *    word and a zero word: unused slots are not covered.
 *
 * Source: kernel documentation "Hash Tree Directories"; checked against the kernel and htree_dump
 * of debugfs.
 */
#include "config.h"

#include "base/search.h"
#include "disk/dirent.h"

#include <assert.h>

#include "base/err.h"
#include "disk/csum.h"

struct XW_ON_DISK disk_info {
	le32 reserved_zero;
	uint8_t hash_version;
	uint8_t info_length;
	uint8_t indirect_levels;
	uint8_t unused_flags;
};

struct XW_ON_DISK disk_slot {
	le32 hash;
	le32 lblk;
};

struct XW_ON_DISK disk_count {
	le16 limit;
	le16 count;
};

struct XW_ON_DISK disk_dx_tail {
	le32 reserved;
	le32 checksum;
};

#define INFO_OFF 24
#define INFO_LEN 8
#define LEVELS_MAX 3
static_assert(sizeof(struct disk_info) == INFO_LEN, "dx_root_info size");
static_assert(INFO_OFF + INFO_LEN == XW_DX_ROOT_ENTRIES, "dx_root slots");
static_assert(sizeof(struct disk_slot) == 8, "dx_entry size");
static_assert(sizeof(struct disk_count) == sizeof(le32), "dx_countlimit takes the hash's place");
static_assert(sizeof(struct disk_dx_tail) == sizeof(struct disk_slot), "dx_tail takes one slot");

static unsigned slots(uint32_t block_size, unsigned entries_off, bool csum)
{
	size_t room = block_size - entries_off - (csum ? sizeof(struct disk_dx_tail) : 0);

	return (unsigned)(room / sizeof(struct disk_slot));
}

unsigned xw_dx_root_limit(uint32_t block_size, bool csum)
{
	return slots(block_size, XW_DX_ROOT_ENTRIES, csum);
}

unsigned xw_dx_node_limit(uint32_t block_size, bool csum)
{
	return slots(block_size, XW_DX_NODE_ENTRIES, csum);
}

void xw_dx_limit_peek(const void *block, unsigned entries_off, unsigned *limit, unsigned *count)
{
	const struct disk_count *d =
		(const struct disk_count *)((const uint8_t *)block + entries_off);

	*limit = get16(d->limit);
	*count = get16(d->count);
}

bool xw_dx_csum_peek(const void *block, uint32_t block_size, unsigned entries_off, uint32_t *csum)
{
	unsigned limit, count;
	size_t off;

	xw_dx_limit_peek(block, entries_off, &limit, &count);
	off = entries_off + limit * sizeof(struct disk_slot);
	if (off + sizeof(struct disk_dx_tail) > block_size)
		return false;
	*csum = get32(((const struct disk_dx_tail *)((const uint8_t *)block + off))->checksum);
	return true;
}

static int limit_decode(const void *block, uint32_t block_size, unsigned entries_off, bool csum,
			unsigned *limit, unsigned *count)
{
	xw_dx_limit_peek(block, entries_off, limit, count);
	if (*limit > slots(block_size, entries_off, csum) || !*count || *count > *limit)
		return XW_ERR_CORRUPT;
	return 0;
}

int xw_dx_root_decode(const void *block, uint32_t block_size, bool csum, struct xw_dx_info *info,
		      unsigned *limit, unsigned *count)
{
	const struct disk_info *d = (const struct disk_info *)((const uint8_t *)block + INFO_OFF);
	int rc = limit_decode(block, block_size, XW_DX_ROOT_ENTRIES, csum, limit, count);

	info->reserved_zero = get32(d->reserved_zero);
	info->hash_version = d->hash_version;
	info->info_length = d->info_length;
	info->indirect_levels = d->indirect_levels;
	info->unused_flags = d->unused_flags;
	if (info->info_length != INFO_LEN || info->indirect_levels > LEVELS_MAX)
		return XW_ERR_CORRUPT;
	return rc;
}

int xw_dx_node_decode(const void *block, uint32_t block_size, bool csum, unsigned *limit,
		      unsigned *count)
{
	return limit_decode(block, block_size, XW_DX_NODE_ENTRIES, csum, limit, count);
}

void xw_dx_entry_decode(const void *block, unsigned entries_off, unsigned i,
			struct xw_dx_entry *out)
{
	const struct disk_slot *d =
		(const struct disk_slot *)((const uint8_t *)block + entries_off) + i;

	out->hash = i ? get32(d->hash) : 0;
	out->lblk = get32(d->lblk) & XW_DX_LBLK_MASK;
}

void xw_dx_entry_encode(void *block, unsigned entries_off, unsigned i, const struct xw_dx_entry *e)
{
	struct disk_slot *d = (struct disk_slot *)((uint8_t *)block + entries_off) + i;

	if (i)
		d->hash = put32(e->hash);
	d->lblk = put32(e->lblk);
}

unsigned xw_dx_entry_find(const void *block, unsigned entries_off, unsigned count, uint32_t hash)
{
	const struct disk_slot *d =
		(const struct disk_slot *)((const uint8_t *)block + entries_off);

	return count ? (unsigned)XW_LOWER_BOUND(i, count - 1, get32(d[i + 1].hash) > hash) : 0;
}

void xw_dx_info_encode(void *block, const struct xw_dx_info *info)
{
	struct disk_info *d = (struct disk_info *)((uint8_t *)block + INFO_OFF);

	d->reserved_zero = put32(info->reserved_zero);
	d->hash_version = info->hash_version;
	d->info_length = info->info_length;
	d->indirect_levels = info->indirect_levels;
	d->unused_flags = info->unused_flags;
}

void xw_dx_set_limit(void *block, unsigned entries_off, unsigned limit, unsigned count)
{
	struct disk_count *d = (struct disk_count *)((uint8_t *)block + entries_off);

	d->limit = put16((uint16_t)limit);
	d->count = put16((uint16_t)count);
}

/* Offset of the tail; 0 if limit and count are invalid or leave no room for a tail. */
static size_t tail_off(const void *block, uint32_t block_size, unsigned entries_off,
		       size_t *covered)
{
	const struct disk_count *c =
		(const struct disk_count *)((const uint8_t *)block + entries_off);
	unsigned limit = get16(c->limit), count = get16(c->count);

	if (limit > slots(block_size, entries_off, true) || count > limit)
		return 0;
	*covered = entries_off + count * sizeof(struct disk_slot);
	return entries_off + limit * sizeof(struct disk_slot);
}

static uint32_t dx_csum(const void *block, size_t covered, const struct disk_dx_tail *t,
			uint32_t inode_seed)
{
	uint32_t crc = xw_crc32c(inode_seed, block, covered);

	crc = xw_crc32c(crc, &t->reserved, sizeof(t->reserved));
	return xw_csum_le32(crc, 0);
}

void xw_dx_block_set_csum(void *block, uint32_t block_size, unsigned entries_off,
			  uint32_t inode_seed)
{
	size_t covered, off = tail_off(block, block_size, entries_off, &covered);
	struct disk_dx_tail *t = (struct disk_dx_tail *)((uint8_t *)block + off);

	if (off)
		t->checksum = put32(dx_csum(block, covered, t, inode_seed));
}

bool xw_dx_block_seed(const void *block, uint32_t block_size, unsigned entries_off, uint32_t *seed)
{
	static const uint8_t zero[4];
	size_t covered, off = tail_off(block, block_size, entries_off, &covered);
	const struct disk_dx_tail *t = (const struct disk_dx_tail *)((const uint8_t *)block + off);
	uint32_t crc;

	if (!off)
		return false;
	crc = xw_crc32c_back(get32(t->checksum), zero, sizeof(zero));
	crc = xw_crc32c_back(crc, &t->reserved, sizeof(t->reserved));
	*seed = xw_crc32c_back(crc, block, covered);
	return true;
}

int xw_dx_block_verify(const void *block, uint32_t block_size, unsigned entries_off,
		       uint32_t inode_seed)
{
	size_t covered, off = tail_off(block, block_size, entries_off, &covered);
	const struct disk_dx_tail *t = (const struct disk_dx_tail *)((const uint8_t *)block + off);

	if (!off)
		return XW_ERR_CORRUPT;
	return get32(t->checksum) == dx_csum(block, covered, t, inode_seed) ? 0 : XW_ERR_CHECKSUM;
}
