/* SPDX-License-Identifier: MIT */
/*
 * xattr storage, in inodes and in blocks.
 *
 * Invariants:
 * 1. Entries grow from the front and end with four zero bytes; values grow from the back. An entry
 *    is decoded only if the entry, a terminator after it and its value (unless that is in an EA
 *    inode) lie inside the area.
 * 2. New hashes take name bytes as unsigned, old ones (Linux before 6.2 on x86) as signed. Linux
 *    6.18 and stock e2fsck 1.47.0 accept both (observed: f_ea_unsigned_hash, f_ea_signed_hash; the
 *    kernel logs "filesystem with signed xattr name hash"). Linux 6.18 writes unsigned ones, as
 *    does extwright.
 * 3. The kernel writes e_hash 0 for values stored in the inode itself, and the computed hash for
 *    values in a block or in an EA inode.
 *
 * Source: kernel documentation "Extended Attributes"; the kernel and ea_get of debugfs as oracles.
 */
#include "config.h"

#include "disk/xattrblk.h"

#include <assert.h>

#include "base/err.h"
#include "disk/csum.h"

struct XW_ON_DISK disk_bhdr {
	le32 magic;
	le32 refcount;
	le32 blocks;
	le32 hash;
	le32 checksum;
	le32 reserved[3];
};

struct XW_ON_DISK disk_entry {
	uint8_t name_len;
	uint8_t name_index;
	le16 value_offs;
	le32 value_inum;
	le32 value_size;
	le32 hash;
};

static_assert(sizeof(struct disk_bhdr) == XW_XATTR_BHDR, "xattr block header size");
static_assert(offsetof(struct disk_bhdr, checksum) == 0x10, "h_checksum");
static_assert(sizeof(struct disk_entry) == XW_XATTR_ENTRY, "xattr entry size");

#define CSUM_OFF offsetof(struct disk_bhdr, checksum)
#define CRC32C 0x82F63B78u /* the polynomial, reflected */
#define TERMINATOR 4
#define NAME_SHIFT 5
#define VALUE_SHIFT 16

int xw_xattr_bhdr_decode(const void *block, struct xw_xattr_bhdr *out)
{
	const struct disk_bhdr *d = block;

	out->refcount = get32(d->refcount);
	out->blocks = get32(d->blocks);
	out->hash = get32(d->hash);
	out->checksum = get32(d->checksum);
	return get32(d->magic) == XW_XATTR_MAGIC && out->blocks == 1 ? 0 : XW_ERR_CORRUPT;
}

void xw_xattr_bhdr_reserved(const void *block, uint32_t out[3])
{
	const struct disk_bhdr *d = block;

	for (unsigned i = 0; i < 3; i++)
		out[i] = get32(d->reserved[i]);
}

void xw_xattr_bhdr_encode(void *block, const struct xw_xattr_bhdr *h)
{
	struct disk_bhdr *d = block;

	*d = (struct disk_bhdr){
		.magic = put32(XW_XATTR_MAGIC),
		.refcount = put32(h->refcount),
		.blocks = put32(h->blocks),
		.hash = put32(h->hash),
		.checksum = put32(h->checksum),
	};
}

int xw_xattr_entry_peek(const void *area, size_t size, size_t off, struct xw_xattr_entry *out,
			size_t *next)
{
	const struct disk_entry *d;
	const uint8_t *p;
	size_t len;

	*next = 0;
	if (off > size || size - off < TERMINATOR)
		return XW_ERR_CORRUPT;
	p = (const uint8_t *)area + off;
	if (!peek32(p))
		return 0;
	d = (const struct disk_entry *)p;
	if (size - off < sizeof(*d))
		return XW_ERR_CORRUPT;
	len = xw_xattr_entry_len(d->name_len);
	if (size - off < len + TERMINATOR)
		return XW_ERR_CORRUPT;
	out->name_len = d->name_len;
	out->name_index = d->name_index;
	out->value_offs = get16(d->value_offs);
	out->value_inum = get32(d->value_inum);
	out->value_size = get32(d->value_size);
	out->hash = get32(d->hash);
	out->name = (const char *)(p + sizeof(*d));
	*next = off + len;
	return 0;
}

int xw_xattr_entry_decode(const void *area, size_t size, size_t off, size_t value_base,
			  struct xw_xattr_entry *out, size_t *next)
{
	size_t after, value;
	const int rc = xw_xattr_entry_peek(area, size, off, out, &after);

	*next = 0;
	if (rc || !after)
		return rc;
	if (out->value_size > XW_XATTR_SIZE_MAX)
		return XW_ERR_CORRUPT;
	value = value_base + out->value_offs;
	if (!out->value_inum && out->value_size && (value > size || out->value_size > size - value))
		return XW_ERR_CORRUPT;
	*next = after;
	return 0;
}

void xw_xattr_entry_encode(void *area, size_t off, const struct xw_xattr_entry *e)
{
	uint8_t *p = (uint8_t *)area + off;
	struct disk_entry *d = (struct disk_entry *)p;
	size_t len = xw_xattr_entry_len(e->name_len);

	d->name_len = e->name_len;
	d->name_index = e->name_index;
	d->value_offs = put16(e->value_offs);
	d->value_inum = put32(e->value_inum);
	d->value_size = put32(e->value_size);
	d->hash = put32(e->hash);
	for (size_t i = sizeof(*d); i < len; i++)
		p[i] = i - sizeof(*d) < e->name_len ? (uint8_t)e->name[i - sizeof(*d)] : 0;
}

static uint32_t rotl(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

static uint32_t name_hash(const char *name, size_t len)
{
	uint32_t h = 0;

	for (size_t i = 0; i < len; i++)
		h = rotl(h, NAME_SHIFT) ^ (uint8_t)name[i];
	return h;
}

static uint32_t name_hash_signed(const char *name, size_t len)
{
	uint32_t h = 0;

	for (size_t i = 0; i < len; i++) {
		int c = (int8_t)name[i];

		h = rotl(h, NAME_SHIFT) ^ (uint32_t)c;
	}
	return h;
}

static uint32_t add_value(uint32_t h, const uint8_t *v, size_t len)
{
	size_t i;

	for (i = 0; len - i >= 4; i += 4)
		h = rotl(h, VALUE_SHIFT) ^ peek32(v + i);
	if (i < len) {
		uint8_t last[4] = {0};

		for (size_t k = 0; i + k < len; k++)
			last[k] = v[i + k];
		h = rotl(h, VALUE_SHIFT) ^ peek32(last);
	}
	return h;
}

uint32_t xw_xattr_entry_hash(const char *name, size_t name_len, const void *value,
			     size_t value_size)
{
	return add_value(name_hash(name, name_len), value, value_size);
}

bool xw_xattr_entry_hash_ok(uint32_t stored, const char *name, size_t name_len, const void *value,
			    size_t value_size)
{
	return stored == add_value(name_hash(name, name_len), value, value_size) ||
	       stored == add_value(name_hash_signed(name, name_len), value, value_size);
}

uint32_t xw_xattr_entry_hash_inum(const char *name, size_t name_len, uint32_t value_hash)
{
	return rotl(name_hash(name, name_len), VALUE_SHIFT) ^ value_hash;
}

bool xw_xattr_entry_hash_inum_ok(uint32_t stored, const char *name, size_t name_len,
				 uint32_t value_hash)
{
	return stored == (rotl(name_hash(name, name_len), VALUE_SHIFT) ^ value_hash) ||
	       stored == (rotl(name_hash_signed(name, name_len), VALUE_SHIFT) ^ value_hash);
}

uint32_t xw_xattr_value_hash(uint32_t csum_seed, const void *value, size_t value_size)
{
	return xw_crc32c(csum_seed, value, value_size);
}

uint32_t xw_xattr_block_hash_add(uint32_t h, uint32_t entry_hash)
{
	return rotl(h, VALUE_SHIFT) ^ entry_hash;
}

uint32_t xw_xattr_block_hash(const uint32_t *entry_hashes, size_t n)
{
	uint32_t h = 0;

	for (size_t i = 0; i < n; i++) {
		if (!entry_hashes[i])
			return 0;
		h = xw_xattr_block_hash_add(h, entry_hashes[i]);
	}
	return h;
}

static uint32_t block_csum(const void *block, uint32_t block_size, uint32_t csum_seed, xw_blk blk)
{
	return xw_csum_hole(xw_csum_le64(csum_seed, blk), block, block_size, CSUM_OFF,
			    sizeof(le32));
}

void xw_xattr_block_set_csum(void *block, uint32_t block_size, uint32_t csum_seed, xw_blk blk)
{
	struct disk_bhdr *d = block;

	d->checksum = put32(block_csum(block, block_size, csum_seed, blk));
}

/*
 * CRCs are linear: each changed bit of the refcount changes the CRC by a constant, the CRC (started
 * with 0) of that bit followed by zeros up to the end of the block. The next higher bit comes later
 * in the message, so its constant is that of the bit below, divided by x.
 */
uint32_t xw_xattr_csum_recount(uint32_t csum, uint32_t block_size, uint32_t from, uint32_t to)
{
	/* the constant of bit 0 in blocks of 1, 2, 4 .. 64 KiB */
	static const uint32_t lowest[] = {0xcdc220ddu, 0x1acaec54u, 0x6bae74c4u, 0x508c2ac8u,
					  0x7b66d223u, 0xc0381349u, 0xf902f73du};
	uint32_t bit = lowest[__builtin_ctz(block_size) - 10];

	for (uint32_t changed = from ^ to; changed; changed >>= 1) {
		csum ^= changed & 1 ? bit : 0;
		bit = bit >> 31 ? (bit ^ CRC32C) << 1 | 1 : bit << 1;
	}
	return csum;
}

void xw_xattr_block_recount(void *block, uint32_t block_size, bool has_csum, uint32_t refcount)
{
	struct disk_bhdr *d = block;

	if (has_csum)
		d->checksum = put32(xw_xattr_csum_recount(get32(d->checksum), block_size,
							  get32(d->refcount), refcount));
	d->refcount = put32(refcount);
}

int xw_xattr_block_verify(const void *block, uint32_t block_size, uint32_t csum_seed, xw_blk blk)
{
	const struct disk_bhdr *d = block;

	return get32(d->checksum) == block_csum(block, block_size, csum_seed, blk)
		       ? 0
		       : XW_ERR_CHECKSUM;
}
