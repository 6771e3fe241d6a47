/* SPDX-License-Identifier: MIT */
/*
 * Extent trees and block maps of any state, as a pull-iterator that yields runs, blocks of the map
 * itself, and findings, and never stops at damage. The strict reader (read/map.h) is this walk up
 * to its first finding.
 *
 * Why a walk ends on any input: a node is one level below its parent and at most XW_EXT_MAX_DEPTH
 * deep, and every block seen, of data or of the map, is taken from a budget of the filesystem's
 * size. A caller that knows which blocks a walk has met already should skip such a node: a block
 * map that leads to itself is otherwise walked until the budget is spent.
 *
 * Walks on one image may run in several threads: only its superblock and device are used.
 */
#ifndef XW_WALK_MAP_H
#define XW_WALK_MAP_H

#include "dev/dev.h"
#include "disk/extent.h"
#include "disk/inode.h"
#include "disk/super.h"

#pragma GCC visibility push(default)

enum xw_walk_map_kind {
	XW_WALK_RUN, /* lblk, len, pblk, unwritten */
	XW_WALK_NODE, /* pblk: a block of the map, before what is in it */
};

/* What a finding says; the members of struct xw_walk_map_item that it sets. */
enum xw_walk_map_rule {
	XW_MAP_OK, /* no finding */
	XW_MAP_MAGIC, /* node: no extent header; its entries are guessed */
	XW_MAP_ENTRIES, /* node: num of num2 entries (eh_entries, eh_max), which is impossible */
	XW_MAP_DEPTH, /* node: has depth num where num2 is expected */
	XW_MAP_CSUM, /* node: checksum mismatch */
	XW_MAP_EMPTY, /* node: no entries, but below the root */
	XW_MAP_READ, /* node: cannot be read, num is the code */
	XW_MAP_START, /* node: begins at logical block num, its parent says num2 */
	XW_MAP_END, /* entry: reaches beyond where the next entry of the parent begins (num) */
	XW_MAP_LONG, /* entry: reaches beyond where the next one begins (num); cut off there */
	XW_MAP_NODE_RANGE, /* entry: a map block, pblk, outside the filesystem; left out */
	XW_MAP_RANGE, /* entry: blocks outside the filesystem; left out */
	XW_MAP_LENGTH, /* entry: length 0; left out */
	XW_MAP_ORDER, /* entry: begins before the one in front of it ends (num); left out */
	XW_MAP_WRAP, /* entry: reaches beyond the last logical block; left out */
	XW_MAP_BUDGET, /* more blocks than the filesystem has: the walk ends */
};

struct xw_walk_map_item {
	enum xw_walk_map_kind kind;
	enum xw_walk_map_rule rule;
	xw_blk node; /* where the entry is, or the node that is meant; 0: the inode */
	unsigned index; /* of the entry in it */
	unsigned level; /* of `node`: 0 is the inode */
	unsigned height; /* NODE: levels of nodes below it and itself */
	xw_lblk lblk;
	uint64_t len;
	xw_blk pblk;
	bool unwritten;
	uint64_t num, num2;
};

struct xw_walk_map {
	struct xw_dev *dev; /* borrowed, as sb */
	const struct xw_super *sb;
	uint32_t block_size;
	xw_ino ino;
	uint32_t generation, seed;
	bool csum; /* verify checksums */
	bool outvote; /* may be set after init: an extent that those behind it contradict yields */
	bool full_room; /* may be set after init: nodes have to have (nearly) the room of a block */
	bool seeded; /* seed is that of the inode: most maps are no blocks, and need none */
	bool extents, over, enter;
	uint64_t from; /* what ends at or below this logical block is passed over */
	unsigned depth; /* of the tree, as its root says */
	unsigned level; /* current node, 0 = root */
	uint64_t next; /* logical blocks below it have been passed */
	uint64_t budget;
	struct xw_walk_map_level {
		uint32_t index, count; /* next entry, entries */
		uint64_t end; /* logical block at which the parent's next entry begins */
		xw_blk blk;
		uint64_t lblk; /* block maps: of entry 0; extents: as the parent says */
	} at[XW_EXT_MAX_DEPTH + 2];
	uint8_t root[60];
	uint8_t *nodes; /* a block a level below the root */
	unsigned node_levels; /* allocated */
	/* May be set after init: reads block blk of the map; otherwise it is read from dev. */
	int (*read)(void *arg, xw_blk blk, void *buf);
	void *arg;
	unsigned n_queue, queue_at;
	struct xw_walk_map_item queue[4]; /* findings about a node that was just entered */
};

/* A walker is used for any number of inodes, one after the other. Release it with free. */
void xw_walk_map_init(struct xw_walk_map *w, struct xw_dev *dev, const struct xw_super *sb);
/*
 * The map of an inode that has one (xw_inode_has_map()). XW_ERR_NOMEM, without a line. depth: -1,
 * or what the root's header is taken to say.
 */
int xw_walk_map_begin(struct xw_walk_map *w, xw_ino ino, const struct xw_inode *inode, int depth);
/*
 * After begin: pass over runs and nodes that end at or below logical block `from`. Extents that are
 * passed over in a node that is entered are still checked.
 */
void xw_walk_map_seek(struct xw_walk_map *w, xw_lblk from);
/* 1: *item is a run or a node; 2: a finding; 0: end; XW_ERR_NOMEM, without a line. */
int xw_walk_map_next(struct xw_walk_map *w, struct xw_walk_map_item *item);
/* The node that was just yielded is not entered. */
void xw_walk_map_skip(struct xw_walk_map *w);
/*
 * Of a tree that is deeper than any can be, of nodes with one entry each: the entry of the first
 * node that a root of possible depth could have, and that depth. 1, 0: it is no such tree, or an
 * error of reading. w: as xw_walk_map_init() left it; root: the 60 bytes of an inode.
 */
int xw_walk_map_shorten(const struct xw_walk_map *w, const uint8_t *root,
			struct xw_extent_idx *entry, unsigned *depth);
/* Release memory. */
void xw_walk_map_free(struct xw_walk_map *w);

#pragma GCC visibility pop

#endif
