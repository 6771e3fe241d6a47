/* SPDX-License-Identifier: MIT */
/*
 * For tests of lib/walk/map: bytes of nodes in, every member of every item out, in order.
 *
 * Items are written as text: "3+2@70" is a run (logical block, length, physical block; "u":
 * unwritten), "[70 0+9 h1]" a block of the map with its range and height, "RULE(3+2@70 5/6)" a
 * finding with num/num2; ":N.I.L" is the node, the index in it and its level, unless all are 0.
 */
#ifndef XW_TESTS_MAP_ITEMS_H
#define XW_TESTS_MAP_ITEMS_H

#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "base/err.h"
#include "unit.h"
#include "walk/map.h"

enum { BS = 1024, INO = 12, NODES = 6, ENTRIES = 4, CAP = (BS - 16) / 12 };

/* One node of an extent tree. An index entry has lblk and pblk, a length of 0. */
struct node {
	xw_blk blk; /* 0: the root */
	uint16_t depth, entries;
	struct entry {
		uint32_t lblk, len;
		xw_blk pblk;
	} e[ENTRIES];
	uint16_t max; /* 0: as it should be */
	enum { SOUND, NO_MAGIC, NO_CSUM, NO_MAX, UNREADABLE, FIELD } flaw;
	struct {
		unsigned off;
		uint16_t value;
	} field; /* with FIELD: changed behind the back of the checksum */
};

#define U 0x8000u /* with a length: an unwritten extent */

static const char *const rule_names[] = {
	[XW_MAP_OK] = "OK",       [XW_MAP_MAGIC] = "MAGIC",   [XW_MAP_ENTRIES] = "ENTRIES",
	[XW_MAP_DEPTH] = "DEPTH", [XW_MAP_CSUM] = "CSUM",     [XW_MAP_EMPTY] = "EMPTY",
	[XW_MAP_READ] = "READ",   [XW_MAP_START] = "START",   [XW_MAP_END] = "END",
	[XW_MAP_LONG] = "LONG",   [XW_MAP_PLACE] = "PLACE",   [XW_MAP_NODE_RANGE] = "NODE",
	[XW_MAP_RANGE] = "RANGE", [XW_MAP_LENGTH] = "LENGTH", [XW_MAP_ORDER] = "ORDER",
	[XW_MAP_WRAP] = "WRAP",   [XW_MAP_BUDGET] = "BUDGET", [XW_MAP_INDEX] = "INDEX",
};

static inline struct xw_super super_of(uint64_t blocks)
{
	return (struct xw_super){.blocks_count = blocks,
				 .first_data_block = 1,
				 .feature_ro_compat = XW_RO_METADATA_CSUM,
				 .uuid = {1, 2, 3}};
}

static inline void encode(const struct node *n, const struct xw_super *sb, uint8_t *out)
{
	const unsigned cap = n->blk ? CAP : XW_EXT_INODE_ENTRIES;
	const uint16_t max = n->flaw == NO_MAX ? 0 : n->max ? n->max : (uint16_t)cap;

	memset(out, 0, n->blk ? BS : 60);
	xw_extent_hdr_encode(
		out, &(struct xw_extent_hdr){.entries = n->entries, .max = max, .depth = n->depth});
	for (unsigned i = 0; i < ENTRIES; i++) {
		const struct entry *e = &n->e[i];

		if (n->depth && !e->len)
			xw_extent_idx_encode(
				out, i, &(struct xw_extent_idx){.lblk = e->lblk, .pblk = e->pblk});
		else
			xw_extent_leaf_encode(out, i,
					      &(struct xw_extent){.lblk = e->lblk,
								  .len = e->len & ~U,
								  .pblk = e->pblk,
								  .unwritten = e->len & U});
	}
	if (n->flaw == NO_MAGIC)
		out[0] = 0;
	if (n->blk)
		xw_extent_block_set_csum(out, BS, xw_inode_seed(xw_super_csum_seed(sb), INO, 7));
	if (n->flaw == NO_CSUM)
		out[BS - 4] ^= 1;
	if (n->flaw == FIELD)
		poke16(out + n->field.off, n->field.value);
}

/* The map of the test: nodes of an extent tree, or blocks of pointers. */
struct world {
	struct xw_super sb;
	const struct node *nodes;
	const uint32_t (*pointers)[4]; /* block, index, value, how many in a row */
	struct xw_inode inode;
};

static inline int read_node(void *arg, xw_blk blk, void *buf)
{
	const struct world *w = arg;

	memset(buf, 0, BS);
	for (unsigned i = 0; w->nodes && i < NODES; i++) {
		if (w->nodes[i].blk != blk)
			continue;
		encode(&w->nodes[i], &w->sb, buf);
		return w->nodes[i].flaw == UNREADABLE ? XW_ERR_IO : 0;
	}
	for (unsigned i = 0; w->pointers && w->pointers[i][3]; i++)
		for (uint32_t k = 0; w->pointers[i][0] == blk && k < w->pointers[i][3]; k++)
			poke32((uint8_t *)buf + 4 * (w->pointers[i][1] + k), w->pointers[i][2] + k);
	return 0;
}

static inline struct world extents_of(const struct node *nodes, uint64_t blocks)
{
	struct world w = {.sb = super_of(blocks), .nodes = nodes};

	w.inode = (struct xw_inode){.flags = XW_FL_EXTENTS, .generation = 7};
	encode(&nodes[0], &w.sb, w.inode.block);
	return w;
}

static inline void write_item(char *out, size_t size, int more, const struct xw_walk_map_item *i)
{
	const unsigned long long lblk = i->lblk, len = i->len, pblk = i->pblk;
	size_t n;

	if (more == 2)
		n = (size_t)snprintf(out, size, "%s(%llu+%llu@%llu %llu/%llu)", rule_names[i->rule],
				     lblk, len, pblk, (unsigned long long)i->num,
				     (unsigned long long)i->num2);
	else if (i->kind == XW_WALK_NODE)
		n = (size_t)snprintf(out, size, "[%llu %llu+%llu h%u]", pblk, lblk, len, i->height);
	else
		n = (size_t)snprintf(out, size, "%llu+%llu@%llu%s", lblk, len, pblk,
				     i->unwritten ? "u" : "");
	if (i->node || i->index || i->level)
		n += (size_t)snprintf(out + n, size - n, ":%llu.%u.%u", (unsigned long long)i->node,
				      i->index, i->level);
	snprintf(out + n, size - n, " ");
}

struct how {
	int depth; /* 0: as the root says, else this + 1 */
	xw_lblk from;
	bool outvote, full_room, deep;
	unsigned stale_level; /* the level, + 1 */
	xw_blk skip; /* this node is not entered */
};

static inline void walk(struct world *world, const struct how *how, char *out, size_t size)
{
	struct xw_walk_map w;
	struct xw_walk_map_item item = {0};
	size_t n = 0;
	int more;

	xw_walk_map_init(&w, NULL, &world->sb);
	w.read = read_node;
	w.arg = world;
	w.outvote = how->outvote;
	w.full_room = how->full_room;
	w.deep = how->deep;
	w.stale_level = how->stale_level;
	ck_assert_int_eq(xw_walk_map_begin(&w, INO, &world->inode, how->depth - 1), 0);
	if (how->from)
		xw_walk_map_seek(&w, how->from);
	out[0] = 0;
	while ((more = xw_walk_map_next(&w, &item)) != 0) {
		ck_assert_int_gt(more, 0);
		ck_assert_uint_lt(n, size - 120);
		write_item(out + n, size - n, more, &item);
		n += strlen(out + n);
		if (more == 1 && item.kind == XW_WALK_NODE && item.pblk == how->skip)
			xw_walk_map_skip(&w);
	}
	ck_assert_int_eq(xw_walk_map_next(&w, &item), 0);
	xw_walk_map_free(&w);
	if (n)
		out[n - 1] = 0;
}

#endif
