/* SPDX-License-Identifier: MIT */
/*
 * Quota files.
 *
 * Block 0 is the header, block 1 the root of the tree. A tree block has 256 references, one for
 * each value of a byte of the id; a reference of the fourth level points to the data block with the
 * entry of the id, which is then searched for the id. A data block has a header of 16 bytes and 14
 * entries of 72; an entry of zeros is free. Free entries and free blocks are in lists
 * that start in the header of the file.
 *
 * Invariants of files that are written:
 * 1. Blocks appear in the order: header, tree level by level, data. For a single id the result is
 *    identical, block by block, to the file of mke2fs.
 * 2. All data blocks but the last are full; the last is the only one on the list of blocks with
 *    free entries.
 *
 * Source: the quota tools' documentation of the vfsv1 format; every field compared with files that
 * mke2fs and e2fsck 1.47.0 wrote, and read back by list_quota of debugfs.
 */
#include "config.h"

#include "disk/quota.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/err.h"

#define VERSION_R1 1u
#define ROOT_BLOCK 1u
#define REFS (XW_QUOTA_BLOCK / 4)

struct XW_ON_DISK disk_header {
	le32 magic;
	le32 version;
	le32 block_grace;
	le32 inode_grace;
	le32 flags;
	le32 blocks;
	le32 free_block;
	le32 free_entry;
};
static_assert(sizeof(struct disk_header) == 32, "quota header size");

struct XW_ON_DISK disk_data_header {
	le32 next_free;
	le32 prev_free;
	le16 entries;
	le16 pad1;
	le32 pad2;
};
static_assert(sizeof(struct disk_data_header) == 16, "quota data block header size");

struct XW_ON_DISK disk_entry {
	le32 id;
	le32 pad;
	le64 inode_hard;
	le64 inode_soft;
	le64 inodes;
	le64 block_hard;
	le64 block_soft;
	le64 space;
	le64 block_time;
	le64 inode_time;
};
static_assert(sizeof(struct disk_entry) == 72, "quota entry size");
static_assert(sizeof(struct disk_data_header) + XW_QUOTA_PER_BLOCK * sizeof(struct disk_entry) ==
		      XW_QUOTA_BLOCK,
	      "quota data block size");

static const uint32_t magics[XW_QUOTA_TYPES] = {0xd9c01f11, 0xd9c01927, 0xd9c03f14};

/* ---- writing ---- */

/* The prefix of an id that selects its block at a level: level 0 is the root, shared by all ids. */
static uint32_t prefix(uint32_t id, unsigned level)
{
	return level ? id >> (8 * (XW_QUOTA_DEPTH - level)) : 0;
}

static int by_id(const void *x, const void *y)
{
	const struct xw_quota_entry *a = x, *b = y;

	return a->id < b->id ? -1 : a->id > b->id;
}

void xw_quota_sort(struct xw_quota_entry *e, size_t n)
{
	if (n)
		qsort(e, n, sizeof(*e), by_id);
}

int xw_quota_shape(const struct xw_quota_entry *e, size_t n, struct xw_quota_shape *out)
{
	uint64_t blocks = 1;

	memset(out, 0, sizeof(*out));
	out->level[0] = 1; /* the root exists even when empty */
	for (unsigned level = 1; level < XW_QUOTA_DEPTH; level++) {
		for (size_t i = 0; i < n; i++)
			out->level[level] +=
				!i || prefix(e[i].id, level) != prefix(e[i - 1].id, level);
	}
	for (unsigned level = 0; level < XW_QUOTA_DEPTH; level++)
		blocks += out->level[level];
	blocks += xw_div_up(n, XW_QUOTA_PER_BLOCK);
	if (blocks > UINT32_MAX)
		return XW_ERR_LIMIT;
	out->data = (uint32_t)xw_div_up(n, XW_QUOTA_PER_BLOCK);
	out->blocks = (uint32_t)blocks;
	return 0;
}

static void encode_header(enum xw_quota_type type, const struct xw_quota_info *info, uint8_t *block)
{
	struct disk_header *d = (struct disk_header *)block;

	d->magic = put32(magics[type]);
	d->version = put32(VERSION_R1);
	d->block_grace = put32(info->block_grace);
	d->inode_grace = put32(info->inode_grace);
	d->flags = put32(info->flags);
	d->blocks = put32(info->blocks);
	d->free_block = put32(info->free_block);
	d->free_entry = put32(info->free_entry);
}

static void encode_entry(const struct xw_quota_entry *e, struct disk_entry *d)
{
	d->id = put32(e->id);
	d->inode_hard = put64(e->inode_hard);
	d->inode_soft = put64(e->inode_soft);
	d->inodes = put64(e->inodes);
	d->block_hard = put64(e->block_hard);
	d->block_soft = put64(e->block_soft);
	d->space = put64(e->space);
	d->block_time = put64((uint64_t)e->block_time);
	d->inode_time = put64((uint64_t)e->inode_time);
}

struct emit {
	uint8_t block[XW_QUOTA_BLOCK];
	uint32_t next; /* index of the block being filled */
	xw_quota_put *put;
	void *arg;
};

static int emit_block(struct emit *m)
{
	int rc = m->put(m->arg, m->next++, m->block);

	memset(m->block, 0, sizeof(m->block));
	return rc;
}

/* Emit one level of the tree. below: index of the first block that this level refers to. */
static int emit_level(struct emit *m, const struct xw_quota_entry *e, size_t n, unsigned level,
		      uint32_t below)
{
	bool leaf = level == XW_QUOTA_DEPTH - 1;
	uint32_t child = below;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		if (i && prefix(e[i].id, level) != prefix(e[i - 1].id, level))
			rc = emit_block(m);
		if (leaf)
			child = below + (uint32_t)(i / XW_QUOTA_PER_BLOCK);
		else if (i && prefix(e[i].id, level + 1) != prefix(e[i - 1].id, level + 1))
			child++;
		poke32(m->block + 4 * (prefix(e[i].id, level + 1) & 0xff), child);
	}
	return rc ? rc : emit_block(m);
}

static int emit_data(struct emit *m, const struct xw_quota_entry *e, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i += XW_QUOTA_PER_BLOCK) {
		struct disk_data_header *h = (struct disk_data_header *)m->block;
		struct disk_entry *d = (struct disk_entry *)(m->block + sizeof(*h));
		size_t count = XW_MIN(n - i, XW_QUOTA_PER_BLOCK);

		h->entries = put16((uint16_t)count);
		for (size_t k = 0; k < count; k++)
			encode_entry(&e[i + k], &d[k]);
		rc = emit_block(m);
	}
	return rc;
}

int xw_quota_emit(enum xw_quota_type type, const struct xw_quota_entry *e, size_t n,
		  const struct xw_quota_shape *shape, xw_quota_put *put, void *arg)
{
	struct xw_quota_info info = {
		.block_grace = shape->block_grace ? shape->block_grace : XW_QUOTA_GRACE,
		.inode_grace = shape->inode_grace ? shape->inode_grace : XW_QUOTA_GRACE,
		.blocks = shape->blocks,
		.free_entry = n % XW_QUOTA_PER_BLOCK ? shape->blocks - 1 : 0,
	};
	struct emit m = {.put = put, .arg = arg};
	uint32_t below = ROOT_BLOCK;
	int rc;

	encode_header(type, &info, m.block);
	rc = emit_block(&m);
	for (unsigned level = 0; level < XW_QUOTA_DEPTH && !rc; level++) {
		if (!shape->level[level])
			break; /* no entries: only the root */
		below += shape->level[level];
		rc = emit_level(&m, e, n, level, below);
	}
	return rc ? rc : emit_data(&m, e, n);
}

/* ---- reading ---- */

struct walk {
	const uint8_t *buf;
	uint32_t blocks;
	uint32_t tree_blocks; /* tree blocks seen so far; more than `blocks` means a cycle */
	bool stray;
	xw_quota_entry_fn *fn;
	void *arg;
};

static void decode_entry(const struct disk_entry *d, struct xw_quota_entry *e)
{
	*e = (struct xw_quota_entry){
		.id = get32(d->id),
		.inodes = get64(d->inodes),
		.space = get64(d->space),
		.inode_hard = get64(d->inode_hard),
		.inode_soft = get64(d->inode_soft),
		.block_hard = get64(d->block_hard),
		.block_soft = get64(d->block_soft),
		.inode_time = (int64_t)get64(d->inode_time),
		.block_time = (int64_t)get64(d->block_time),
	};
}

/* An entry of zeros is free; the entry of id 0 has other fields set. */
static bool is_free(const struct disk_entry *d)
{
	static const struct disk_entry none;

	return !memcmp(d, &none, sizeof(none));
}

static const struct disk_entry *entries_of(const void *buf, size_t block)
{
	return (const void *)((const uint8_t *)buf + block * XW_QUOTA_BLOCK +
			      sizeof(struct disk_data_header));
}

static const struct disk_data_header *header_of(const void *buf, size_t block)
{
	return (const void *)((const uint8_t *)buf + block * XW_QUOTA_BLOCK);
}

static unsigned count_used(const void *buf, size_t block)
{
	const struct disk_entry *d = entries_of(buf, block);
	unsigned used = 0;

	for (unsigned i = 0; i < XW_QUOTA_PER_BLOCK; i++)
		used += !is_free(&d[i]);
	return used;
}

static int read_entry(struct walk *w, uint32_t block, uint32_t id)
{
	const struct disk_entry *d = entries_of(w->buf, block), *found = NULL;
	struct xw_quota_entry e;

	if (count_used(w->buf, block) != get16(header_of(w->buf, block)->entries))
		w->stray = true;
	for (unsigned i = 0; i < XW_QUOTA_PER_BLOCK && !found; i++)
		if (get32(d[i].id) == id && !is_free(&d[i]))
			found = &d[i];
	if (!found)
		return XW_ERR_CORRUPT;
	decode_entry(found, &e);
	return w->fn ? w->fn(w->arg, &e) : 0;
}

static int walk_tree(struct walk *w, uint32_t block, unsigned level, uint32_t id)
{
	const uint8_t *refs = w->buf + (size_t)block * XW_QUOTA_BLOCK;
	int rc = 0;

	if (++w->tree_blocks >= w->blocks)
		return XW_ERR_CORRUPT;
	for (uint32_t i = 0; i < REFS && !rc; i++) {
		uint32_t ref = peek32(refs + 4 * i);

		if (!ref)
			continue;
		if (ref <= ROOT_BLOCK || ref >= w->blocks)
			return XW_ERR_CORRUPT;
		if (level == XW_QUOTA_DEPTH - 1)
			rc = read_entry(w, ref, id << 8 | i);
		else
			rc = walk_tree(w, ref, level + 1, id << 8 | i);
	}
	return rc;
}

bool xw_quota_is_header(const uint8_t block[XW_QUOTA_BLOCK], enum xw_quota_type type)
{
	const struct disk_header *d = (const void *)block;

	return get32(d->magic) == magics[type] && get32(d->version) == VERSION_R1;
}

int xw_quota_decode(const void *buf, size_t len, enum xw_quota_type type,
		    struct xw_quota_info *info, xw_quota_entry_fn *fn, void *arg)
{
	const struct disk_header *d = buf;
	struct walk w = {.buf = buf, .fn = fn, .arg = arg};
	int rc;

	memset(info, 0, sizeof(*info));
	if (len < 2 * XW_QUOTA_BLOCK ||
	    (get32(d->magic) != magics[type] && get32(d->version) != VERSION_R1))
		return XW_ERR_CORRUPT;
	*info = (struct xw_quota_info){
		.block_grace = get32(d->block_grace),
		.inode_grace = get32(d->inode_grace),
		.flags = get32(d->flags),
		.blocks = get32(d->blocks),
		.free_block = get32(d->free_block),
		.free_entry = get32(d->free_entry),
	};
	w.blocks = info->blocks;
	if (!xw_quota_is_header(buf, type) || w.blocks < 2 || w.blocks > len / XW_QUOTA_BLOCK ||
	    info->free_block >= w.blocks || info->free_entry >= w.blocks)
		return XW_ERR_CORRUPT;
	rc = walk_tree(&w, ROOT_BLOCK, 0, 0);
	info->stray = w.stray;
	return rc;
}

/* ---- salvage ---- */

/* Does this look like a data block? Tree blocks have references where data blocks have zeros. */
static bool is_data_block(const void *buf, size_t block)
{
	const struct disk_data_header *h = header_of(buf, block);
	const struct disk_entry *d = entries_of(buf, block);
	const unsigned used = count_used(buf, block);

	for (unsigned i = 0; i < XW_QUOTA_PER_BLOCK; i++)
		if (get32(d[i].pad))
			return false;
	return used && used == get16(h->entries) && !get16(h->pad1) && !get32(h->pad2);
}

int xw_quota_salvage(const void *buf, size_t len, xw_quota_entry_fn *fn, void *arg)
{
	int rc = 0;

	for (size_t block = 0; block < len / XW_QUOTA_BLOCK && !rc; block++) {
		const struct disk_entry *d = entries_of(buf, block);

		if (!is_data_block(buf, block))
			continue;
		for (unsigned i = 0; i < XW_QUOTA_PER_BLOCK && !rc; i++) {
			struct xw_quota_entry e;

			decode_entry(&d[i], &e);
			if (e.inode_hard || e.inode_soft || e.block_hard || e.block_soft)
				rc = fn(arg, &e);
		}
	}
	return rc;
}
