/* SPDX-License-Identifier: MIT */
/*
 * Extent trees and block maps in any state: a pull iterator that yields runs, blocks of the map
 * itself, and findings, and never stops at damage. The strict reader (read/map.h) is this walk up
 * to its first finding.
 *
 * The walk terminates on any input: a node is one level below its parent and at most
 * XW_EXT_MAX_DEPTH (`deep`: XW_WALK_MAP_DEEP) deep, and every data or map block is charged to a
 * budget of the filesystem's size. A caller that records visited map blocks should skip them: a
 * block map with a cycle is otherwise walked until the budget is spent.
 *
 * Walks on one image may run in several threads: only its superblock and device are used.
 */
#ifndef XW_WALK_MAP_H
#define XW_WALK_MAP_H

#include "dev/dev.h"
#include "disk/extent.h"
#include "disk/inode.h"
#include "disk/super.h"

/* Maximum depth with `deep`. No kernel accepts a tree deeper than XW_EXT_MAX_DEPTH. */
#define XW_WALK_MAP_DEEP 16

enum xw_walk_map_kind {
	XW_WALK_RUN, /* lblk, len, pblk, unwritten */
	XW_WALK_NODE, /* pblk: a block of the map, yielded before its contents */
};

/* Kinds of findings, and the members of struct xw_walk_map_item that they set. */
enum xw_walk_map_rule {
	XW_MAP_OK, /* no finding */
	XW_MAP_MAGIC, /* node: no extent header; its entries are guessed */
	XW_MAP_ENTRIES, /* node: invalid eh_entries (num) or eh_max (num2) */
	XW_MAP_DEPTH, /* node: depth num, expected num2 */
	XW_MAP_CSUM, /* node: checksum mismatch */
	XW_MAP_EMPTY, /* node: no entries, although not the root */
	XW_MAP_READ, /* node: unreadable, num is the error code */
	XW_MAP_START, /* node: starts at logical block num; num2 according to its parent */
	XW_MAP_END, /* entry: extends past the start of the parent's next entry (num) */
	XW_MAP_LONG, /* entry: extends past the start of the next entry (num); truncated there */
	XW_MAP_PLACE, /* entry: the extent just yielded has lblk on disk, but belongs to num */
	XW_MAP_INDEX, /* entry: that of the node just yielded has block num on disk */
	XW_MAP_NODE_RANGE, /* entry: a map block, pblk, outside the filesystem; skipped */
	XW_MAP_RANGE, /* entry: blocks outside the filesystem; skipped */
	XW_MAP_LENGTH, /* entry: length 0; skipped */
	XW_MAP_ORDER, /* entry: starts before the end of the previous entry (num); skipped */
	XW_MAP_WRAP, /* entry: extends past the last logical block; skipped */
	XW_MAP_BUDGET, /* more blocks than the filesystem has: the walk ends */
};

struct xw_walk_map_item {
	enum xw_walk_map_kind kind;
	enum xw_walk_map_rule rule;
	xw_blk node; /* the node concerned, or the node with the entry; 0: the inode */
	unsigned index; /* index of the entry in `node` */
	unsigned level; /* level of `node`: 0 is the inode */
	unsigned height; /* NODE: levels of its subtree, including its own */
	xw_lblk lblk;
	uint64_t len;
	xw_blk pblk;
	bool unwritten;
	uint64_t num, num2;
};

/* The node that an index entry should point to. */
struct xw_walk_node {
	unsigned depth; /* levels of nodes below it */
	uint32_t lblk; /* its first logical block */
	uint64_t end; /* logical block at which the next node starts */
};

struct xw_walk_map {
	struct xw_dev *dev; /* borrowed, like sb */
	const struct xw_super *sb;
	uint32_t block_size;
	xw_ino ino;
	uint32_t generation, seed;
	bool csum; /* verify checksums */
	/*
	 * May be set after init: correct extents that contradict later entries, by truncating them
	 * or by moving them to a gap where they provably belong, and index entries whose node is
	 * found in another block.
	 */
	bool outvote;
	bool full_room; /* may be set after init: eh_max must (nearly) fill the block */
	/*
	 * May be set after init: in nodes of level `stale_level` - 1, plausible entries after the
	 * last entry are believed, and eh_entries is considered damaged.
	 */
	unsigned stale_level;
	bool deep; /* may be set after init: trees up to XW_WALK_MAP_DEEP deep are walked, too */
	bool seeded; /* seed is valid; it is computed on demand */
	bool extents, over, enter;
	bool dense; /* a directory: no holes */
	bool tail; /* blocks past the size are valid */
	uint64_t bytes, size; /* size of the contents in bytes, in blocks */
	uint64_t from; /* entries that end at or below this logical block are skipped */
	unsigned depth; /* depth of the tree according to its root */
	unsigned level; /* current node, 0 = root */
	uint64_t next; /* end of the last extent: the minimum logical block of the next */
	uint64_t budget;
	struct xw_walk_map_level {
		uint32_t index, count; /* next entry, number of entries */
		uint64_t end; /* logical block at which the parent's next entry starts */
		xw_blk blk;
		uint64_t lblk; /* of entry 0; for extents: according to the parent */
	} at[XW_WALK_MAP_DEEP + 2];
	uint8_t root[60];
	uint8_t *nodes; /* one block per level below the root */
	unsigned node_levels; /* levels allocated */
	/* May be set after init: reads map block blk; the default reads from dev. */
	int (*read)(void *arg, xw_blk blk, void *buf);
	void *arg;
	/*
	 * May be set after init, for `outvote`: searches the filesystem for a node of this tree
	 * with xw_walk_map_is_node(). Called only with checksums, which prove the match.
	 */
	bool (*find)(void *arg, struct xw_walk_map *w, const struct xw_walk_node *want,
		     xw_blk *blk);
	void *find_arg;
	unsigned n_queue, queue_at;
	struct xw_walk_map_item queue[4]; /* findings about the node that was just entered */
};

/* A walker can be used for any number of inodes, one after the other. Release it with free. */
void xw_walk_map_init(struct xw_walk_map *w, struct xw_dev *dev, const struct xw_super *sb);
/*
 * Start with the map of an inode that has one (xw_inode_has_map()). XW_ERR_NOMEM, without a
 * message. depth: -1, or the depth to assume in place of the root's header.
 */
int xw_walk_map_begin(struct xw_walk_map *w, xw_ino ino, const struct xw_inode *inode, int depth);
/*
 * After begin: skip runs and nodes that end at or below logical block `from`. Skipped extents are
 * still checked, except in skipped nodes.
 */
void xw_walk_map_seek(struct xw_walk_map *w, xw_lblk from);
/* 1: *item is a run or a node; 2: a finding; 0: end; XW_ERR_NOMEM, without a message. */
int xw_walk_map_next(struct xw_walk_map *w, struct xw_walk_map_item *item);
/* Do not enter the node that was just yielded. */
void xw_walk_map_skip(struct xw_walk_map *w);
/*
 * For a tree deeper than the format allows whose upper nodes have one entry each: get the index
 * entry that a root of valid depth would have, and that depth. 1: found; 0: no such tree, or a read
 * error. w: after xw_walk_map_init(); root: the 60 bytes of an inode.
 */
int xw_walk_map_shorten(const struct xw_walk_map *w, const uint8_t *root,
			struct xw_extent_idx *entry, unsigned *depth);
/* Does the block look like a node of some tree? If so, set its depth and first logical block. */
bool xw_walk_map_node_like(const struct xw_walk_map *w, const void *block, unsigned *depth,
			   uint32_t *lblk);
/* The seed of the checksums of the current map's nodes. */
uint32_t xw_walk_map_seed(struct xw_walk_map *w);
/* Read block blk: is it the wanted node? */
bool xw_walk_map_is_node(struct xw_walk_map *w, xw_blk blk, const struct xw_walk_node *want);
/* Release memory. */
void xw_walk_map_free(struct xw_walk_map *w);

#endif
