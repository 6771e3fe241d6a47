/* SPDX-License-Identifier: MIT */
#include "disk/redo.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/err.h"
#include "disk/csum.h"
#include "disk/jblock.h"

#define VERSION 1u

struct XW_ON_DISK disk_redo {
	uint8_t magic[XW_REDO_MAGIC_LEN];
	le32 version;
	le32 block_size;
	uint8_t uuid[16];
	le64 nonce;
	le64 old_size;
	le64 new_size;
	le64 blocks;
	le64 log_offset;
	le64 log_blocks;
	le32 hashes_csum;
	uint8_t unused[4];
	uint8_t boot[16]; /* struct xw_redo_location */
	le64 device;
	le64 number;
	le64 born;
	le64 offset;
	uint8_t reserved[0x3FC - 0x88];
	le32 csum; /* of all 4096 bytes with this field set to zero */
	uint8_t old_super[XW_SUPER_SIZE];
	uint8_t pending_super[XW_SUPER_SIZE];
	uint8_t new_super[XW_SUPER_SIZE];
};

static_assert(offsetof(struct disk_redo, hashes_csum) == 0x50, "redo header");
static_assert(offsetof(struct disk_redo, offset) == 0x80, "redo header");
static_assert(offsetof(struct disk_redo, old_super) == 0x400, "redo header");
static_assert(sizeof(struct disk_redo) == XW_REDO_HEADER_SIZE, "redo header");

static uint32_t header_csum(const void *buf)
{
	return xw_csum_hole(~0u, buf, XW_REDO_HEADER_SIZE, offsetof(struct disk_redo, csum),
			    sizeof(le32));
}

uint64_t xw_redo_hash_bytes(uint64_t blocks, uint32_t block_size)
{
	return blocks * (block_size / XW_REDO_SECTOR) * sizeof(le64);
}

uint64_t xw_redo_log_offset(uint64_t blocks, uint32_t block_size)
{
	return xw_round_up(XW_REDO_HEADER_SIZE + xw_redo_hash_bytes(blocks, block_size),
			   block_size);
}

uint64_t xw_redo_log_blocks(uint64_t blocks, uint32_t block_size)
{
	const struct xw_jsb like = {.blocksize = block_size,
				    .feature_incompat =
					    XW_JBD2_INCOMPAT_64BIT | XW_JBD2_INCOMPAT_CSUM_V3};
	struct xw_jfmt fmt;

	xw_jfmt_init(&like, &fmt);
	return 1 + xw_jtxn_blocks(&fmt, blocks);
}

bool xw_redo_block_size_ok(uint32_t block_size)
{
	return block_size >= 1024 && block_size <= 65536 && !(block_size & (block_size - 1));
}

static bool is_possible(const struct xw_redo_header *h)
{
	const uint32_t bs = h->block_size;

	return xw_redo_block_size_ok(bs) && h->blocks && h->blocks <= UINT32_MAX &&
	       h->log_blocks <= UINT32_MAX && h->log_blocks == xw_redo_log_blocks(h->blocks, bs) &&
	       h->log_offset == xw_redo_log_offset(h->blocks, bs) && h->old_size <= INT64_MAX &&
	       h->new_size <= INT64_MAX;
}

int xw_redo_header_decode(const void *buf, struct xw_redo_header *out)
{
	const struct disk_redo *d = buf;

	out->version = get32(d->version);
	out->block_size = get32(d->block_size);
	memcpy(out->uuid, d->uuid, sizeof(out->uuid));
	out->nonce = get64(d->nonce);
	out->old_size = get64(d->old_size);
	out->new_size = get64(d->new_size);
	out->blocks = get64(d->blocks);
	out->log_offset = get64(d->log_offset);
	out->log_blocks = get64(d->log_blocks);
	out->hashes_csum = get32(d->hashes_csum);
	memcpy(out->place.boot, d->boot, sizeof(d->boot));
	out->place.device = get64(d->device);
	out->place.number = get64(d->number);
	out->place.born = get64(d->born);
	out->place.offset = get64(d->offset);
	memcpy(out->old_super, d->old_super, XW_SUPER_SIZE);
	memcpy(out->pending_super, d->pending_super, XW_SUPER_SIZE);
	memcpy(out->new_super, d->new_super, XW_SUPER_SIZE);
	if (memcmp(d->magic, XW_REDO_MAGIC, XW_REDO_MAGIC_LEN) != 0)
		return XW_ERR_INPUT;
	if (get32(d->csum) != header_csum(buf))
		return XW_ERR_CHECKSUM;
	if (out->version != VERSION)
		return XW_ERR_UNSUPPORTED;
	return is_possible(out) ? 0 : XW_ERR_CORRUPT;
}

void xw_redo_header_encode(const struct xw_redo_header *h, void *buf)
{
	struct disk_redo *d = buf;

	memset(d, 0, sizeof(*d));
	memcpy(d->magic, XW_REDO_MAGIC, XW_REDO_MAGIC_LEN);
	d->version = put32(VERSION);
	d->block_size = put32(h->block_size);
	memcpy(d->uuid, h->uuid, sizeof(d->uuid));
	d->nonce = put64(h->nonce);
	d->old_size = put64(h->old_size);
	d->new_size = put64(h->new_size);
	d->blocks = put64(h->blocks);
	d->log_offset = put64(h->log_offset);
	d->log_blocks = put64(h->log_blocks);
	d->hashes_csum = put32(h->hashes_csum);
	memcpy(d->boot, h->place.boot, sizeof(d->boot));
	d->device = put64(h->place.device);
	d->number = put64(h->place.number);
	d->born = put64(h->place.born);
	d->offset = put64(h->place.offset);
	memcpy(d->old_super, h->old_super, XW_SUPER_SIZE);
	memcpy(d->pending_super, h->pending_super, XW_SUPER_SIZE);
	memcpy(d->new_super, h->new_super, XW_SUPER_SIZE);
	d->csum = put32(header_csum(buf));
}

void xw_redo_hashes_decode(uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hashes[i] = peek64(&hashes[i]);
}

void xw_redo_hashes_encode(uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		poke64(&hashes[i], hashes[i]);
}
