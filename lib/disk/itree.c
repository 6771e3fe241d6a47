/* SPDX-License-Identifier: MIT */
/*
 * itree nodes: decode, encode, check, checksum. itree(5) is the document of record.
 *
 * Invariants of a node that passes xw_itree_node_check():
 * 1. The entry area is `used` bytes of entries followed by zeros: a node has one encoding, so
 *    rebuilding an undamaged tree gives the same bytes.
 * 2. Index entries are 16 bytes each; leaf entries are as long as their names need, and padding is
 *    zero.
 * 3. Keys ascend: strictly in leaves, where names break ties; separators may be equal, since equal
 *    keys (hard links whose names collide) may span nodes.
 */
#include "config.h"

#include "base/bytes.h"
#include "disk/itree.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "disk/csum.h"
#include "disk/dirent.h"

struct XW_ON_DISK disk_hdr {
	le32 magic;
	uint8_t version;
	uint8_t level;
	le16 count;
	le16 used;
	le16 zero1;
	le32 dir;
	le32 generation;
	le32 zero2;
	le64 self;
};

struct XW_ON_DISK disk_idx {
	le32 ino;
	le32 hash;
	le64 ptr;
};

struct XW_ON_DISK disk_rec {
	le32 ino;
	le32 hash;
	le16 rec_len;
	uint8_t name_len;
	uint8_t ftype;
};

struct XW_ON_DISK disk_tail {
	le32 zero;
	le32 checksum;
};

static_assert(sizeof(struct disk_hdr) == XW_ITREE_HDR, "itree node header size");
static_assert(offsetof(struct disk_hdr, count) == XW_ITREE_HDR_COUNT, "itree node count");
static_assert(offsetof(struct disk_hdr, zero1) == XW_ITREE_HDR_COUNT + XW_ITREE_HDR_VARIES,
	      "itree node used");
static_assert(offsetof(struct disk_hdr, dir) == 12, "itree node owner");
static_assert(offsetof(struct disk_hdr, generation) == 16, "itree node generation");
static_assert(offsetof(struct disk_hdr, self) == 24, "itree node's own number");
static_assert(sizeof(struct disk_idx) == XW_ITREE_IDX, "itree index entry size");
static_assert(sizeof(struct disk_rec) == XW_ITREE_REC_HDR, "itree leaf entry header size");
static_assert(offsetof(struct disk_rec, name_len) == 10, "itree leaf entry name length");
static_assert(sizeof(struct disk_tail) == XW_ITREE_TAIL, "itree node tail size");

#define PTR_QUARTILE 48
#define PTR_HIGH 50

int xw_itree_entry_cmp(const struct xw_itree_entry *a, const struct xw_itree_entry *b)
{
	int c = xw_itree_key_cmp(&a->key, &b->key);

	if (!c)
		c = memcmp(a->name, b->name, XW_MIN(a->name_len, b->name_len));
	return c ? c : (int)a->name_len - (int)b->name_len;
}

static int flawed(struct xw_itree_flaw *flaw, unsigned rule, unsigned entry, const char *what)
{
	if (flaw)
		*flaw = (struct xw_itree_flaw){rule, entry, what};
	return XW_ERR_CORRUPT;
}

static const uint8_t *area(const void *block)
{
	return (const uint8_t *)block + XW_ITREE_HDR;
}

int xw_itree_hdr_decode(const void *block, uint32_t block_size, struct xw_itree_hdr *out,
			struct xw_itree_flaw *flaw)
{
	const struct disk_hdr *d = block;
	const struct disk_tail *t =
		(const struct disk_tail *)((const uint8_t *)block + block_size - XW_ITREE_TAIL);

	*out = (struct xw_itree_hdr){
		.level = d->level,
		.count = get16(d->count),
		.used = get16(d->used),
		.dir = get32(d->dir),
		.generation = get32(d->generation),
		.self = get64(d->self),
	};
	if (get32(d->magic) != XW_ITREE_MAGIC)
		return flawed(flaw, 6, 0, "not an itree node");
	if (d->version != XW_ITREE_VERSION)
		return flawed(flaw, 6, 0, "unknown version");
	if (get16(d->zero1) || get32(d->zero2) || get32(t->zero))
		return flawed(flaw, 6, 0, "a field that must be zero is not");
	if (out->level >= XW_ITREE_LEVELS)
		return flawed(flaw, 7, 0, "level too high");
	if (out->used > xw_itree_cap(block_size))
		return flawed(flaw, 6, 0, "more bytes in use than its capacity");
	if (out->level ? out->used != out->count * XW_ITREE_IDX
		       : out->used < out->count * xw_itree_rec_len(1) || (!out->count && out->used))
		return flawed(flaw, 10, 0, "entry count and bytes in use are inconsistent");
	return 0;
}

void xw_itree_hdr_encode(void *block, uint32_t block_size, const struct xw_itree_hdr *h)
{
	struct disk_tail *t = (struct disk_tail *)((uint8_t *)block + block_size - XW_ITREE_TAIL);

	*(struct disk_hdr *)block = (struct disk_hdr){
		.magic = put32(XW_ITREE_MAGIC),
		.version = XW_ITREE_VERSION,
		.level = h->level,
		.count = put16(h->count),
		.used = put16(h->used),
		.dir = put32(h->dir),
		.generation = put32(h->generation),
		.self = put64(h->self),
	};
	t->zero = put32(0);
}

void xw_itree_hdr_set(void *block, uint16_t count, uint16_t used)
{
	struct disk_hdr *d = block;

	d->count = put16(count);
	d->used = put16(used);
}

int xw_itree_hdr_belongs(const struct xw_itree_hdr *h, xw_ino dir, uint32_t generation, xw_blk blk,
			 struct xw_itree_flaw *flaw)
{
	if (h->dir != dir)
		return flawed(flaw, 6, 0, "the node belongs to another directory");
	if (h->generation != generation)
		return flawed(flaw, 6, 0, "the node has another generation");
	if (h->self != blk)
		return flawed(flaw, 6, 0, "the node has another block number");
	return 0;
}

int xw_itree_idx_decode(const void *block, unsigned i, struct xw_itree_idx *out)
{
	const struct disk_idx *d = (const struct disk_idx *)area(block) + i;
	uint64_t ptr = get64(d->ptr);

	out->key.ino = get32(d->ino);
	out->key.hash = get32(d->hash);
	out->blk = ptr & (XW_BLK_MAX - 1);
	out->quartile = ptr >> PTR_QUARTILE & 3;
	return ptr >> PTR_HIGH ? XW_ERR_CORRUPT : 0;
}

void xw_itree_idx_encode(void *block, unsigned i, const struct xw_itree_idx *e)
{
	struct disk_idx *d = (struct disk_idx *)((uint8_t *)block + XW_ITREE_HDR) + i;

	d->ino = put32(e->key.ino);
	d->hash = put32(e->key.hash);
	d->ptr = put64(e->blk | (uint64_t)e->quartile << PTR_QUARTILE);
}

int xw_itree_leaf_decode(const void *block, uint32_t used, uint32_t off, struct xw_itree_entry *out,
			 uint32_t *next)
{
	const uint8_t *p = area(block) + off;
	const struct disk_rec *d = (const struct disk_rec *)p;
	uint32_t rec_len;

	if (off > used || used - off < XW_ITREE_REC_HDR)
		return XW_ERR_CORRUPT;
	out->key.ino = get32(d->ino);
	out->key.hash = get32(d->hash);
	out->name_len = d->name_len;
	out->ftype = d->ftype;
	out->name = (const char *)(p + XW_ITREE_REC_HDR);
	rec_len = xw_itree_rec_len(d->name_len);
	if (!d->name_len || get16(d->rec_len) != rec_len || rec_len > used - off ||
	    !xw_all_zero(out->name + d->name_len, rec_len - XW_ITREE_REC_HDR - d->name_len))
		return XW_ERR_CORRUPT;
	*next = off + rec_len;
	return 0;
}

uint32_t xw_itree_leaf_encode(void *block, uint32_t off, const struct xw_itree_entry *e)
{
	uint8_t *p = (uint8_t *)block + XW_ITREE_HDR + off;
	uint32_t rec_len = xw_itree_rec_len(e->name_len);

	*(struct disk_rec *)p = (struct disk_rec){
		.ino = put32(e->key.ino),
		.hash = put32(e->key.hash),
		.rec_len = put16((uint16_t)rec_len),
		.name_len = e->name_len,
		.ftype = e->ftype,
	};
	/* zero the padding, which lies in these bytes, before the name is copied */
	memset(p + rec_len - 4, 0, 4);
	memcpy(p + XW_ITREE_REC_HDR, e->name, e->name_len);
	return rec_len;
}

static int check_pointers(const void *block, const struct xw_itree_hdr *h,
			  struct xw_itree_flaw *flaw)
{
	struct xw_itree_idx e;

	for (unsigned i = 0; i < h->count; i++) {
		if (xw_itree_idx_decode(block, i, &e))
			return flawed(flaw, 6, i, "unused bits of a child pointer are set");
	}
	return 0;
}

static int check_separators(const void *block, const struct xw_itree_hdr *h,
			    struct xw_itree_flaw *flaw)
{
	struct xw_itree_idx e, last = {0};

	for (unsigned i = 0; i < h->count; i++, last = e) {
		xw_itree_idx_decode(block, i, &e);
		if (i && xw_itree_key_cmp(&last.key, &e.key) > 0)
			return flawed(flaw, 11, i, "separators do not ascend");
	}
	return 0;
}

static int check_leaf(const void *block, const struct xw_itree_hdr *h, bool any_names,
		      struct xw_itree_flaw *flaw)
{
	struct xw_itree_entry e, last = {0};
	uint32_t off = 0;

	for (unsigned i = 0; i < h->count; i++, last = e) {
		if (xw_itree_leaf_decode(block, h->used, off, &e, &off))
			return flawed(flaw, 10, i, "damaged entry");
		if (xw_name_is_dots(e.name, e.name_len) ||
		    (!any_names &&
		     (memchr(e.name, 0, e.name_len) || memchr(e.name, '/', e.name_len))))
			return flawed(flaw, 10, i, "impossible name");
		if (!e.key.ino)
			return flawed(flaw, 10, i, "entry without an inode");
		if (i && xw_itree_entry_cmp(&last, &e) >= 0)
			return flawed(flaw, 11, i, "entries do not ascend");
	}
	if (off != h->used)
		return flawed(flaw, 10, h->count, "bytes in use after the last entry");
	return 0;
}

int xw_itree_node_check(const void *block, uint32_t block_size, bool any_names,
			struct xw_itree_hdr *out, struct xw_itree_flaw *flaw)
{
	int rc = xw_itree_hdr_decode(block, block_size, out, flaw);

	if (!rc)
		rc = out->level ? check_pointers(block, out, flaw)
				: check_leaf(block, out, any_names, flaw);
	if (rc)
		return rc;
	if (!xw_all_zero(area(block) + out->used, xw_itree_cap(block_size) - out->used))
		return flawed(flaw, 6, 0, "nonzero bytes after the entries");
	return out->level ? check_separators(block, out, flaw) : 0;
}

static size_t csum_off(uint32_t block_size)
{
	return block_size - XW_ITREE_TAIL + offsetof(struct disk_tail, checksum);
}

void xw_itree_set_csum(void *block, uint32_t block_size, bool csum, uint32_t inode_seed)
{
	size_t off = csum_off(block_size);

	poke32((uint8_t *)block + off, csum ? xw_crc32c(inode_seed, block, off) : 0);
}

int xw_itree_verify(const void *block, uint32_t block_size, bool csum, uint32_t inode_seed)
{
	size_t off = csum_off(block_size);
	uint32_t want = csum ? xw_crc32c(inode_seed, block, off) : 0;

	return peek32((const uint8_t *)block + off) == want ? 0 : XW_ERR_CHECKSUM;
}

static size_t slot_off(uint32_t block_size, bool csum)
{
	return XW_DX_ROOT_ENTRIES + 8u * (xw_dx_root_limit(block_size, csum) - 1u);
}

int xw_itree_slot_get(const void *dx_root, uint32_t block_size, bool csum, xw_blk *root)
{
	uint64_t v = peek64((const uint8_t *)dx_root + slot_off(block_size, csum));

	*root = v & (XW_BLK_MAX - 1);
	return !v || v >= XW_BLK_MAX ? XW_ERR_CORRUPT : 0;
}

void xw_itree_slot_set(void *dx_root, uint32_t block_size, bool csum, xw_blk root)
{
	poke64((uint8_t *)dx_root + slot_off(block_size, csum), root);
}
