/* SPDX-License-Identifier: MIT */
/*
 * Bulk directory builder.
 *
 * A directory is a sequence of levels: level 0 is the root block, the levels after it are dx_nodes,
 * the last one is the leaves; they lie in the file in this order. A linear directory has leaves
 * only.
 *
 * 1. Leaves hold entries in the order of the array, next-fit: each leaf takes as many as fit, and
 *    the rec_len of its last entry reaches to the end of the block (or to the checksum tail).
 * 2. The array of an indexed directory is sorted by (major, minor, name), so a leaf covers a range
 *    of hashes. If a leaf starts with the major hash that the previous leaf ends with, bit 0 is set
 *    in its index entry: a lookup starts in the first leaf of such a group and continues while that
 *    bit is set.
 * 3. Children are spread evenly over the nodes of a level instead of filling all but the last: the
 *    number of nodes is the same, and every node keeps room for entries that later splits will add.
 * 4. shape and emit divide entries into leaves with the same function, so emit produces what shape
 *    planned.
 */
#include "config.h"

#include "dir/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "dir/sort.h"
#include "disk/dirent.h"
#include "disk/itree.h"

#define DOTS_SIZE 24 /* "." and ".." */
#define LBLK_MAX_INDEXED (1u << 28) /* an index entry stores 28 bits of the block number */
/* without large_dir the size of a directory has 31 bits */
#define SMALL_DIR_BYTES (UINT64_C(1) << 31)

static inline uint32_t leaf_room(const struct xw_dir_format *f)
{
	return f->block_size - (f->csum ? XW_DIR_TAIL : 0);
}

/* Number of entries from `i` on that fit a leaf of which the first `used` bytes are in use. */
static size_t leaf_fit(const struct xw_dir_format *f, const struct xw_dir_entry *entries, size_t n,
		       size_t i, uint32_t used)
{
	const uint32_t room = leaf_room(f);
	size_t begin = i;

	for (; i < n; i++) {
		used += xw_dirent_size(entries[i].name_len);
		if (used > room)
			break;
	}
	return i - begin;
}

/* Number of leaf blocks for all entries if `used` bytes of the first block are in use already. */
static uint64_t leaf_count(const struct xw_dir_format *f, const struct xw_dir_entry *entries,
			   size_t n, uint32_t used)
{
	uint64_t blocks = 1;

	for (size_t i = leaf_fit(f, entries, n, 0, used); i < n; blocks++)
		i += leaf_fit(f, entries, n, i, 0);
	return blocks;
}

static int check_size(const struct xw_dir_format *f, uint64_t blocks, bool indexed)
{
	if (!f->large_dir && blocks * f->block_size >= SMALL_DIR_BYTES)
		return XW_ERR_LIMIT;
	if (blocks >= (indexed ? LBLK_MAX_INDEXED : UINT32_MAX))
		return XW_ERR_LIMIT;
	return 0;
}

static int shape_linear(const struct xw_dir_format *f, uint64_t blocks, struct xw_dir_shape *out)
{
	int rc = check_size(f, blocks, false);

	if (rc)
		return rc;
	*out = (struct xw_dir_shape){.blocks = (uint32_t)blocks, .leaves = (uint32_t)blocks};
	return 0;
}

/* Set the minimum number of index levels over `leaves` leaves. XW_ERR_LIMIT: too many leaves. */
static int shape_levels(const struct xw_dir_format *f, uint64_t leaves, bool itree,
			struct xw_dir_shape *out)
{
	const unsigned root_limit = xw_dx_root_limit(f->block_size, f->csum) - itree;
	const unsigned node_limit = xw_dx_node_limit(f->block_size, f->csum);
	const unsigned max_levels = f->large_dir ? 2 : 1;
	uint64_t counts[3], width = leaves, total = 1 + leaves;
	unsigned levels = 0;
	int rc;

	while (width > root_limit) {
		if (levels == max_levels)
			return XW_ERR_LIMIT;
		width = xw_div_up(width, node_limit);
		counts[levels++] = width;
		total += width;
	}
	rc = check_size(f, total, true);
	if (rc)
		return rc;
	*out = (struct xw_dir_shape){
		.blocks = (uint32_t)total,
		.indexed = true,
		.itree = itree,
		.levels = (uint8_t)levels,
		.leaves = (uint32_t)leaves,
	};
	for (unsigned i = 0; i < levels; i++)
		out->nodes[i] = (uint32_t)counts[levels - 1 - i];
	return 0;
}

static int hash_entries(const struct xw_dir_format *f, struct xw_dir_entry *entries, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int rc = xw_dx_hash(f->hash_version, f->hash_seed, entries[i].name,
				    entries[i].name_len, &entries[i].hash);

		if (rc)
			return rc;
	}
	return 0;
}

int xw_dir_shape(const struct xw_dir_format *f, struct xw_dir_entry *entries, size_t n,
		 uint32_t min_blocks, struct xw_dir_shape *out)
{
	uint64_t linear, leaves;
	int rc;

	for (size_t i = 0; i < n; i++) {
		if (!entries[i].name_len)
			return XW_ERR_INPUT;
	}
	linear = leaf_count(f, entries, n, DOTS_SIZE);
	if (!f->dir_index || linear <= XW_MAX(min_blocks, 1u))
		return shape_linear(f, XW_MAX(linear, min_blocks), out);

	rc = hash_entries(f, entries, n);
	if (rc)
		return rc;
	xw_dir_sort(entries, n);
	leaves = leaf_count(f, entries, n, 0);
	rc = f->itree ? shape_levels(f, leaves, true, out) : XW_ERR_LIMIT;
	/* An itree needs a slot of dx_root: if index entries fill all slots, there is no itree. */
	if (rc == XW_ERR_LIMIT)
		rc = shape_levels(f, leaves, false, out);
	/* Every leaf of an index must be referenced, so leaves cannot be added up to min_blocks. */
	if (rc != XW_ERR_LIMIT && (rc || out->blocks >= min_blocks))
		return rc;
	linear = leaf_count(f, entries, n, DOTS_SIZE);
	return shape_linear(f, XW_MAX(linear, min_blocks), out);
}

uint32_t xw_dir_growth(const struct xw_dir_format *f, const struct xw_dir_shape *shape,
		       const struct xw_dir_entry *entries, size_t n)
{
	uint32_t used = DOTS_SIZE;

	/*
	 * A full leaf is split, and so may be each node above it; a full root gets another level.
	 */
	if (shape->indexed)
		return shape->levels || shape->leaves >=
						xw_dx_root_limit(f->block_size, f->csum) - 1u
			       ? 2u + shape->levels
			       : 1;
	for (size_t i = 0; i < n && used <= f->block_size; i++)
		used += xw_dirent_size(entries[i].name_len);
	if (used + xw_dirent_size(UINT8_MAX) <= leaf_room(f))
		return 0;
	/* a linear directory of one block becomes a root and two leaves */
	return f->dir_index && shape->blocks == 1 ? 2 : 1;
}

struct emitter {
	const struct xw_dir_format *f;
	const struct xw_dir_shape *shape;
	const struct xw_dir_entry *entries;
	size_t n;
	const struct xw_dir_self *self;
	uint8_t *block;
	uint32_t *leaf_first; /* index of each leaf's first entry; indexed directories only */
	uint32_t lblk; /* number of the block being built */
	int (*put)(void *arg, uint32_t lblk, const void *block);
	void *arg;
};

static void put_entry(struct emitter *em, uint32_t off, uint32_t rec_len, xw_ino ino, uint8_t ftype,
		      const char *name, uint8_t name_len)
{
	const struct xw_dirent d = {
		.ino = ino,
		.rec_len = rec_len,
		.name_len = name_len,
		.ftype = em->f->filetype ? ftype : 0,
		.name = name,
	};

	xw_dirent_encode(em->block, em->f->block_size, off, &d);
}

static int put_block(struct emitter *em)
{
	return em->put(em->arg, em->lblk++, em->block);
}

/* Emit a leaf with the entries [i, i + take) after the `used` bytes at its start. */
static int emit_leaf(struct emitter *em, size_t i, size_t take, uint32_t used)
{
	const uint32_t room = leaf_room(em->f);
	uint32_t off = used;

	for (size_t end = i + take; i < end; i++) {
		const struct xw_dir_entry *e = &em->entries[i];
		uint32_t size = i + 1 == end ? room - off : xw_dirent_size(e->name_len);

		put_entry(em, off, size, e->ino, e->ftype, e->name, e->name_len);
		off += size;
	}
	if (!off)
		put_entry(em, 0, room, 0, 0, NULL, 0);
	if (em->f->csum) {
		xw_dir_tail_init(em->block, em->f->block_size);
		xw_dir_block_set_csum(em->block, em->f->block_size, em->self->inode_seed);
	}
	return put_block(em);
}

/* Write "." and "..", the latter with a rec_len of dotdot_len. */
static void put_dots(struct emitter *em, uint32_t dotdot_len)
{
	put_entry(em, 0, 12, em->self->ino, XW_FT_DIR, ".", 1);
	put_entry(em, 12, dotdot_len, em->self->parent, XW_FT_DIR, "..", 2);
}

static int emit_linear(struct emitter *em)
{
	size_t i = 0;

	for (uint32_t b = 0; b < em->shape->blocks; b++) {
		uint32_t used = b ? 0 : DOTS_SIZE;
		size_t take = leaf_fit(em->f, em->entries, em->n, i, used);
		int rc;

		memset(em->block, 0, em->f->block_size);
		if (!b)
			put_dots(em, take ? 12 : leaf_room(em->f) - 12);
		rc = emit_leaf(em, i, take, used);
		if (rc)
			return rc;
		i += take;
	}
	return i == em->n ? 0 : XW_ERR_INTERNAL;
}

/* Number of blocks in `level` of an indexed directory: 0 is the root, levels + 1 the leaves. */
static uint32_t level_width(const struct xw_dir_shape *s, unsigned level)
{
	if (level == 0)
		return 1;
	return level > s->levels ? s->leaves : s->nodes[level - 1];
}

/* Index, in the level below, of the first child of block k of `level`. */
static uint32_t first_child(const struct xw_dir_shape *s, unsigned level, uint32_t k)
{
	return (uint32_t)((uint64_t)level_width(s, level + 1) * k / level_width(s, level));
}

/* The hash in the index entry for block k of `level`: that of the first leaf below it. */
static uint32_t index_hash(const struct emitter *em, unsigned level, uint32_t k)
{
	uint32_t first;

	for (; level <= em->shape->levels; level++)
		k = first_child(em->shape, level, k);
	first = em->leaf_first[k];
	if (!first)
		return 0;
	return em->entries[first].hash.major |
	       (em->entries[first].hash.major == em->entries[first - 1].hash.major);
}

/* Write index entries, limit, count and checksum of block k of `level` into the prepared block. */
static int emit_index(struct emitter *em, unsigned level, uint32_t k, uint32_t children_lblk)
{
	const uint32_t begin = first_child(em->shape, level, k);
	const uint32_t end = first_child(em->shape, level, k + 1);
	const unsigned off = level ? XW_DX_NODE_ENTRIES : XW_DX_ROOT_ENTRIES;
	const unsigned limit = level ? xw_dx_node_limit(em->f->block_size, em->f->csum)
				     : xw_dx_root_limit(em->f->block_size, em->f->csum);

	for (uint32_t c = begin; c < end; c++) {
		const struct xw_dx_entry e = {
			.hash = c == begin ? 0 : index_hash(em, level + 1, c),
			.lblk = children_lblk + c,
		};

		xw_dx_entry_encode(em->block, off, c - begin, &e);
	}
	xw_dx_set_limit(em->block, off, limit, end - begin);
	if (!level && em->shape->itree && em->self->itree)
		xw_itree_slot_set(em->block, em->f->block_size, em->f->csum, em->self->itree);
	if (em->f->csum)
		xw_dx_block_set_csum(em->block, em->f->block_size, off, em->self->inode_seed);
	return put_block(em);
}

static void put_root_info(struct emitter *em)
{
	const struct xw_dx_info info = {
		/* the unsigned variants are a flag of the superblock, not separate versions */
		.hash_version = (uint8_t)(em->f->hash_version % XW_DX_LEGACY_U),
		.info_length = 8,
		.indirect_levels = em->shape->levels,
	};

	xw_dx_info_encode(em->block, &info);
}

static int emit_indexed(struct emitter *em)
{
	const uint32_t bs = em->f->block_size;
	uint32_t children = 0;
	size_t i = 0;
	int rc;

	for (uint32_t leaf = 0; leaf < em->shape->leaves; leaf++) {
		em->leaf_first[leaf] = (uint32_t)i;
		i += leaf_fit(em->f, em->entries, em->n, i, 0);
	}
	em->leaf_first[em->shape->leaves] = (uint32_t)i;
	if (i != em->n || em->leaf_first[em->shape->leaves - 1] == em->n)
		return XW_ERR_INTERNAL;

	for (unsigned level = 0; level <= em->shape->levels; level++) {
		children += level_width(em->shape, level);
		for (uint32_t k = 0; k < level_width(em->shape, level); k++) {
			memset(em->block, 0, bs);
			if (level == 0) {
				put_dots(em, bs - 12);
				put_root_info(em);
			} else {
				put_entry(em, 0, bs, 0, 0, NULL, 0);
			}
			rc = emit_index(em, level, k, children);
			if (rc)
				return rc;
		}
	}
	for (uint32_t leaf = 0; leaf < em->shape->leaves; leaf++) {
		memset(em->block, 0, bs);
		rc = emit_leaf(em, em->leaf_first[leaf],
			       em->leaf_first[leaf + 1] - em->leaf_first[leaf], 0);
		if (rc)
			return rc;
	}
	return 0;
}

int xw_dir_emit(const struct xw_dir_format *f, const struct xw_dir_shape *shape,
		const struct xw_dir_entry *entries, size_t n, const struct xw_dir_self *self,
		int (*put)(void *arg, uint32_t lblk, const void *block), void *arg)
{
	auto_free uint8_t *block = malloc(f->block_size);
	auto_free uint32_t *leaf_first = NULL;
	struct emitter em = {
		.f = f,
		.shape = shape,
		.entries = entries,
		.n = n,
		.self = self,
		.block = block,
		.put = put,
		.arg = arg,
	};

	if (!block)
		return XW_ERR_NOMEM;
	if (!shape->indexed)
		return emit_linear(&em);
	if (n > UINT32_MAX || !shape->leaves)
		return XW_ERR_INTERNAL;
	leaf_first = malloc(((size_t)shape->leaves + 1) * sizeof(*leaf_first));
	if (!leaf_first)
		return XW_ERR_NOMEM;
	em.leaf_first = leaf_first;
	return emit_indexed(&em);
}
