/* SPDX-License-Identifier: MIT */
#include "disk/undo.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/err.h"
#include "disk/csum.h"

#define MAGIC "E2UNDO02"
#define KEYS_MAGIC 0xCADECADEu
#define FINISHED 1u
#define COMPAT_OFFSET 0x1u
#define UNIT_MIN 1024u
#define UNIT_MAX (1u << 20)
#define UNIT_MKE2FS 32768u /* mke2fs uses this unit for the file, or eight blocks */
#define SUPER_MAGIC_AT 0x38

struct XW_ON_DISK disk_undo {
	uint8_t magic[8];
	le64 keys;
	le64 super_at, keys_at;
	le32 block_size;
	le32 fs_block_size;
	le32 super_csum;
	le32 state;
	le32 compat, incompat, ro_compat;
	le32 pad;
	le64 fs_offset;
	uint8_t reserved[0x1EC - 0x48];
	le64 size_before, size_after;
	le32 csum;
};

static_assert(offsetof(struct disk_undo, state) == 0x2C, "undo header");
static_assert(offsetof(struct disk_undo, fs_offset) == 0x40, "undo header");
static_assert(offsetof(struct disk_undo, size_before) == 0x1EC, "undo header");
static_assert(sizeof(struct disk_undo) == XW_UNDO_HEADER_SIZE, "undo header");

struct XW_ON_DISK disk_key {
	le64 blk;
	le32 csum;
	le32 size;
};

struct XW_ON_DISK disk_keys {
	le32 magic;
	le32 csum;
	le64 reserved;
	struct disk_key key[];
};

static_assert(sizeof(struct disk_keys) == 16 && sizeof(struct disk_key) == 16, "undo keys");

static bool is_unit(uint32_t size)
{
	return size >= UNIT_MIN && size <= UNIT_MAX && !(size & (size - 1));
}

static uint32_t header_csum(const struct disk_undo *d)
{
	return xw_crc32c(~0u, d, offsetof(struct disk_undo, csum));
}

int xw_undo_header_decode(const void *buf, uint64_t size, struct xw_undo_header *out)
{
	const struct disk_undo *d = buf;
	int rc = 0;

	*out = (struct xw_undo_header){
		.keys = get64(d->keys),
		.super_at = get64(d->super_at),
		.keys_at = get64(d->keys_at),
		.unit = get32(d->block_size),
		.fs_unit = get32(d->fs_block_size),
		.super_csum = get32(d->super_csum),
		.finished = get32(d->state) == FINISHED,
		.offset = get32(d->compat) & COMPAT_OFFSET ? get64(d->fs_offset) : 0,
		.size_before = get64(d->size_before),
		.size_after = get64(d->size_after),
		.state = get32(d->state),
		.compat = get32(d->compat),
		.incompat = get32(d->incompat),
		.ro_compat = get32(d->ro_compat),
		.csum = get32(d->csum),
	};
	if (memcmp(d->magic, MAGIC, sizeof(d->magic)) != 0)
		return XW_ERR_INPUT;
	if (get32(d->csum) != header_csum(d))
		rc = XW_ERR_CHECKSUM;
	if (get32(d->compat) & ~COMPAT_OFFSET || get32(d->incompat) || get32(d->ro_compat))
		return rc ? XW_ERR_CORRUPT : XW_ERR_UNSUPPORTED;
	if (!is_unit(out->unit) || !is_unit(out->fs_unit) || out->super_at >= size / out->unit ||
	    out->keys_at > size / out->unit || out->keys > size / UNIT_MIN ||
	    out->offset > INT64_MAX / 2)
		return XW_ERR_CORRUPT;
	return rc;
}

void xw_undo_header_encode(const struct xw_undo_header *h, void *buf)
{
	struct disk_undo *d = buf;

	memset(d, 0, sizeof(*d));
	memcpy(d->magic, MAGIC, sizeof(d->magic));
	d->keys = put64(h->keys);
	d->super_at = put64(h->super_at);
	d->keys_at = put64(h->keys_at);
	d->block_size = put32(h->unit);
	d->fs_block_size = put32(h->fs_unit);
	d->super_csum = put32(h->super_csum);
	d->state = put32(h->finished ? FINISHED : 0);
	d->compat = put32(h->offset ? COMPAT_OFFSET : 0);
	d->fs_offset = put64(h->offset);
	d->size_before = put64(h->size_before);
	d->size_after = put64(h->size_after);
	d->csum = put32(header_csum(d));
}

/*
 * In files of stock tools, positions are in blocks of the filesystem; the file has the same blocks,
 * or those of mke2fs. Our tools use one unit for both: the block size of the filesystem, or 4 KiB
 * where there is no filesystem before the change, or a damaged one.
 */
bool xw_undo_header_agrees(const struct xw_undo_header *h, const uint8_t super[XW_SUPER_SIZE])
{
	struct xw_super sb;

	if (h->unit != h->fs_unit && h->unit < UNIT_MKE2FS)
		return false;
	return xw_super_decode(super, &sb) || h->fs_unit == xw_super_block_size(&sb) ||
	       (h->unit == XW_UNDO_UNIT && h->fs_unit == XW_UNDO_UNIT);
}

uint32_t xw_undo_keys_max(uint32_t unit)
{
	return (unit - (uint32_t)sizeof(struct disk_keys)) / (uint32_t)sizeof(struct disk_key);
}

static uint32_t keys_csum(const void *blk, uint32_t unit)
{
	return xw_csum_hole(~0u, blk, unit, offsetof(struct disk_keys, csum), sizeof(le32));
}

int xw_undo_keys_verify(const void *blk, uint32_t unit)
{
	const struct disk_keys *d = blk;

	return get32(d->magic) == KEYS_MAGIC && get32(d->csum) == keys_csum(blk, unit)
		       ? 0
		       : XW_ERR_CHECKSUM;
}

void xw_undo_keys_seal(void *blk, uint32_t unit)
{
	struct disk_keys *d = blk;

	d->magic = put32(KEYS_MAGIC);
	d->csum = put32(keys_csum(blk, unit));
}

struct xw_undo_key xw_undo_key_get(const void *blk, uint32_t i)
{
	const struct disk_key *k = &((const struct disk_keys *)blk)->key[i];

	return (struct xw_undo_key){get64(k->blk), get32(k->csum), get32(k->size)};
}

void xw_undo_key_put(void *blk, uint32_t i, const struct xw_undo_key *key)
{
	struct disk_key *k = &((struct disk_keys *)blk)->key[i];

	k->blk = put64(key->blk);
	k->csum = put32(key->csum);
	k->size = put32(key->size);
}

void xw_undo_super_invert(uint8_t super[XW_SUPER_SIZE])
{
	super[SUPER_MAGIC_AT] ^= 0xFF;
	super[SUPER_MAGIC_AT + 1] ^= 0xFF;
}
