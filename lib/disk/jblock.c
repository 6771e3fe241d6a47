/* SPDX-License-Identifier: MIT */
/*
 * Log blocks on buffers. There are three tag layouts (observed in logs of every kind; the
 * documentation lists the fields):
 *   v3:    blocknr be32, flags be32, blocknr_high be32, checksum be32: 16 bytes in any log
 *   v2:    blocknr be32, checksum be16, flags be16, [high be32 if 64-bit], and 2 unused bytes
 *   older: as v2 without the 2 bytes
 * A tag without SAME_UUID is followed by 16 bytes of UUID.
 */
#include "disk/jblock.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/err.h"

#define UUID_SIZE 16u
#define COMMIT_CSUM_CRC32 1u

struct XW_ON_DISK disk_header {
	be32 magic;
	be32 type;
	be32 sequence;
};

struct XW_ON_DISK disk_tag {
	be32 blocknr;
	be16 checksum;
	be16 flags;
	be32 blocknr_high; /* missing in a log without 64-bit numbers */
};

struct XW_ON_DISK disk_tag3 {
	be32 blocknr;
	be32 flags;
	be32 blocknr_high;
	be32 checksum;
};

struct XW_ON_DISK disk_revoke {
	struct disk_header h;
	be32 count; /* bytes in use, including this header */
};

struct XW_ON_DISK disk_commit {
	struct disk_header h;
	uint8_t csum_type;
	uint8_t csum_size;
	uint8_t padding[2];
	be32 csum[8];
	be64 sec;
	be32 nsec;
};

static_assert(sizeof(struct disk_header) == XW_JBD2_HDR, "log block header");
static_assert(sizeof(struct disk_tag) == 12, "tag");
static_assert(sizeof(struct disk_tag3) == 16, "tag v3");
static_assert(sizeof(struct disk_revoke) == 16, "revoke header");
static_assert(offsetof(struct disk_commit, csum) == 0x10, "commit checksum");
static_assert(offsetof(struct disk_commit, sec) == 0x30, "commit time");
static_assert(sizeof(struct disk_commit) == 0x3C, "commit block");

void xw_jfmt_init(const struct xw_jsb *jsb, struct xw_jfmt *out)
{
	const uint32_t inc = jsb->feature_incompat;

	memset(out, 0, sizeof(*out));
	out->block_size = jsb->blocksize;
	memcpy(out->uuid, jsb->uuid, sizeof(out->uuid));
	out->seed = xw_crc32c(~0u, jsb->uuid, sizeof(jsb->uuid));
	out->is64 = inc & XW_JBD2_INCOMPAT_64BIT;
	out->csum3 = inc & XW_JBD2_INCOMPAT_CSUM_V3;
	out->csum = out->csum3 || (inc & XW_JBD2_INCOMPAT_CSUM_V2);
	out->csum1 = !out->csum && (jsb->feature_compat & XW_JBD2_COMPAT_CHECKSUM);
	out->tail = out->csum ? 4 : 0;
	if (out->csum3)
		out->tag_bytes = sizeof(struct disk_tag3);
	else
		out->tag_bytes = (out->is64 ? 12u : 8u) + (out->csum ? 2u : 0u);
}

bool xw_jblock_header(const void *blk, uint32_t *type, uint32_t *sequence)
{
	const struct disk_header *h = blk;

	*type = getbe32(h->type);
	*sequence = getbe32(h->sequence);
	return getbe32(h->magic) == XW_JBD2_MAGIC;
}

static void put_header(void *blk, uint32_t type, uint32_t sequence)
{
	struct disk_header *h = blk;

	h->magic = putbe32(XW_JBD2_MAGIC);
	h->type = putbe32(type);
	h->sequence = putbe32(sequence);
}

static be32 *tail_of(const struct xw_jfmt *f, const void *blk)
{
	return (be32 *)((uint8_t *)(uintptr_t)blk + f->block_size - sizeof(be32));
}

static uint32_t tail_csum(const struct xw_jfmt *f, const void *blk)
{
	const be32 zero = {{0}};
	uint32_t crc = xw_crc32c(f->seed, blk, f->block_size - sizeof(zero));

	return xw_crc32c(crc, &zero, sizeof(zero));
}

void xw_jblock_set_tail(const struct xw_jfmt *f, void *blk)
{
	if (f->csum)
		*tail_of(f, blk) = putbe32(tail_csum(f, blk));
}

bool xw_jblock_verify_tail(const struct xw_jfmt *f, const void *blk)
{
	return !f->csum || getbe32(*tail_of(f, blk)) == tail_csum(f, blk);
}

static void get_tag(const struct xw_jfmt *f, const uint8_t *p, struct xw_jtag *out)
{
	const struct disk_tag3 *t3 = (const struct disk_tag3 *)p;
	const struct disk_tag *t = (const struct disk_tag *)p;
	uint32_t high = 0;

	if (f->csum3) {
		out->blk = getbe32(t3->blocknr);
		out->flags = getbe32(t3->flags);
		out->csum = getbe32(t3->checksum);
		high = f->is64 ? getbe32(t3->blocknr_high) : 0;
	} else {
		out->blk = getbe32(t->blocknr);
		out->flags = getbe16(t->flags);
		out->csum = getbe16(t->checksum);
		high = f->is64 ? getbe32(t->blocknr_high) : 0;
	}
	out->blk |= (xw_blk)high << 32;
}

int xw_jtag_next(struct xw_jtag_iter *it, struct xw_jtag *out)
{
	const struct xw_jfmt *f = it->f;

	if (!it->off)
		it->off = XW_JBD2_HDR;
	if (it->done || it->off + f->tag_bytes > f->block_size - f->tail)
		return 0;
	get_tag(f, (const uint8_t *)it->blk + it->off, out);
	it->off += f->tag_bytes;
	if (!(out->flags & XW_JTAG_SAME_UUID))
		it->off += UUID_SIZE;
	it->done = out->flags & XW_JTAG_LAST;
	return 1;
}

uint32_t xw_jtag_count(const struct xw_jfmt *f, const void *blk)
{
	struct xw_jtag_iter it = {.f = f, .blk = blk};
	struct xw_jtag tag;
	uint32_t n = 0;

	while (xw_jtag_next(&it, &tag))
		n++;
	return n;
}

uint32_t xw_jtag_csum(const struct xw_jfmt *f, uint32_t sequence, const void *data)
{
	const be32 seq = putbe32(sequence);
	uint32_t crc;

	if (!f->csum)
		return 0;
	crc = xw_crc32c(f->seed, &seq, sizeof(seq));
	crc = xw_crc32c(crc, data, f->block_size);
	return f->csum3 ? crc : crc & 0xFFFF;
}

uint32_t xw_jdesc_capacity(const struct xw_jfmt *f)
{
	return (f->block_size - XW_JBD2_HDR - f->tail - UUID_SIZE) / f->tag_bytes;
}

uint64_t xw_jtxn_blocks(const struct xw_jfmt *f, uint64_t n)
{
	return n + xw_div_up(n, xw_jdesc_capacity(f)) + 1;
}

bool xw_jdata_escape(void *blk)
{
	be32 *magic = blk;

	if (getbe32(*magic) != XW_JBD2_MAGIC)
		return false;
	*magic = putbe32(0);
	return true;
}

void xw_jdata_unescape(void *blk)
{
	*(be32 *)blk = putbe32(XW_JBD2_MAGIC);
}

static void put_tag(const struct xw_jfmt *f, const struct xw_jtag *tag, uint32_t flags, uint8_t *p)
{
	const be32 high = putbe32(f->is64 ? (uint32_t)(tag->blk >> 32) : 0);

	if (f->csum3) {
		struct disk_tag3 *t = (struct disk_tag3 *)p;

		t->blocknr = putbe32((uint32_t)tag->blk);
		t->flags = putbe32(flags);
		t->blocknr_high = high;
		t->checksum = putbe32(tag->csum);
	} else {
		struct disk_tag *t = (struct disk_tag *)p;

		t->blocknr = putbe32((uint32_t)tag->blk);
		t->checksum = putbe16((uint16_t)tag->csum);
		t->flags = putbe16((uint16_t)flags);
		if (f->is64)
			t->blocknr_high = high;
	}
}

void xw_jdesc_encode(const struct xw_jfmt *f, uint32_t sequence, const struct xw_jtag *tags,
		     uint32_t n, void *blk)
{
	uint8_t *p = (uint8_t *)blk + XW_JBD2_HDR;

	memset(blk, 0, f->block_size);
	put_header(blk, XW_JBD2_DESCRIPTOR, sequence);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t flags = tags[i].flags & XW_JTAG_ESCAPED;

		flags |= i ? XW_JTAG_SAME_UUID : 0;
		flags |= i == n - 1 ? XW_JTAG_LAST : 0;
		put_tag(f, &tags[i], flags, p);
		p += f->tag_bytes;
		if (!i) {
			memcpy(p, f->uuid, UUID_SIZE);
			p += UUID_SIZE;
		}
	}
	xw_jblock_set_tail(f, blk);
}

int xw_jrevoke_count(const struct xw_jfmt *f, const void *blk, uint32_t *n)
{
	const struct disk_revoke *r = blk;
	uint32_t bytes = getbe32(r->count);

	*n = 0;
	if (bytes < sizeof(*r) || bytes > f->block_size - f->tail)
		return XW_ERR_CORRUPT;
	*n = (bytes - (uint32_t)sizeof(*r)) / (f->is64 ? 8u : 4u);
	return 0;
}

uint32_t xw_jrevoke_capacity(const struct xw_jfmt *f)
{
	return (f->block_size - f->tail - (uint32_t)sizeof(struct disk_revoke)) /
	       (f->is64 ? 8u : 4u);
}

void xw_jrevoke_encode(const struct xw_jfmt *f, uint32_t sequence, const xw_blk *blks, uint32_t n,
		       void *blk)
{
	const uint32_t width = f->is64 ? 8u : 4u;
	uint8_t *p = (uint8_t *)blk + sizeof(struct disk_revoke);
	struct disk_revoke *r = blk;

	memset(blk, 0, f->block_size);
	put_header(blk, XW_JBD2_REVOKE, sequence);
	r->count = putbe32((uint32_t)sizeof(*r) + n * width);
	for (uint32_t i = 0; i < n; i++, p += width) {
		if (f->is64)
			*(be64 *)p = putbe64(blks[i]);
		else
			*(be32 *)p = putbe32((uint32_t)blks[i]);
	}
	xw_jblock_set_tail(f, blk);
}

xw_blk xw_jrevoke_get(const struct xw_jfmt *f, const void *blk, uint32_t i)
{
	const uint8_t *p = (const uint8_t *)blk + sizeof(struct disk_revoke);

	if (f->is64)
		return getbe64(*(const be64 *)(p + (size_t)8 * i));
	return getbe32(*(const be32 *)(p + (size_t)4 * i));
}

void xw_jcommit_decode(const void *blk, struct xw_jcommit *out)
{
	const struct disk_commit *d = blk;

	*out = (struct xw_jcommit){
		.csum_type = d->csum_type,
		.csum_size = d->csum_size,
		.csum = getbe32(d->csum[0]),
		.sec = getbe64(d->sec),
		.nsec = getbe32(d->nsec),
	};
}

/* Checksum of the block with its first checksum word, and all bytes from `end` on, set to zero. */
static uint32_t commit_csum(const struct xw_jfmt *f, const void *blk, size_t end)
{
	static const uint8_t zeros[256];
	const size_t off = offsetof(struct disk_commit, csum), next = off + sizeof(be32);
	uint32_t crc = xw_crc32c(f->seed, blk, off);

	crc = xw_crc32c(crc, zeros, sizeof(be32));
	crc = xw_crc32c(crc, (const uint8_t *)blk + next, end - next);
	for (size_t n; end < f->block_size; end += n) {
		n = XW_MIN(f->block_size - end, sizeof(zeros));
		crc = xw_crc32c(crc, zeros, n);
	}
	return crc;
}

void xw_jcommit_encode(const struct xw_jfmt *f, uint32_t sequence, const struct xw_jcommit *c,
		       void *blk)
{
	struct disk_commit *d = blk;

	memset(blk, 0, f->block_size);
	put_header(blk, XW_JBD2_COMMIT, sequence);
	d->sec = putbe64(c->sec);
	d->nsec = putbe32(c->nsec);
	if (f->csum1) {
		d->csum_type = COMMIT_CSUM_CRC32;
		d->csum_size = 4;
		d->csum[0] = putbe32(c->csum);
	} else if (f->csum) {
		d->csum[0] = putbe32(commit_csum(f, blk, f->block_size));
	}
}

bool xw_jcommit_verify(const struct xw_jfmt *f, const void *blk, uint32_t crc)
{
	struct xw_jcommit c;

	xw_jcommit_decode(blk, &c);
	/*
	 * Bytes after the fields of a torn commit block are undefined; they are handled as in
	 * Linux.
	 */
	if (f->csum)
		return c.csum == commit_csum(f, blk, f->block_size) ||
		       c.csum == commit_csum(f, blk, sizeof(struct disk_commit));
	if (!f->csum1 || (!c.csum_type && !c.csum_size && !c.csum))
		return true;
	return c.csum_type == COMMIT_CSUM_CRC32 && c.csum_size == 4 && c.csum == crc;
}
