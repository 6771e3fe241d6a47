/* SPDX-License-Identifier: MIT */
/*
 * The cursor of the extent verbs in the extent tree of one inode, which is used as it is on disk.
 * Each verb loads the nodes on the path of the cursor, moves or edits, and saves the position.
 * Nothing else is kept between requests, so other verbs may change the tree in between.
 */
#ifndef XW_DEBUGFS_EXTTREE_H
#define XW_DEBUGFS_EXTTREE_H

#include "debugfs.h"
#include "disk/extent.h"
#include "disk/inode.h"

/* Position of the cursor: the index of an entry at each level from the root on. */
struct ext_pos {
	unsigned depth, level; /* depth of the tree when it was saved; level of the cursor */
	bool placed; /* false: no current node */
	unsigned at[XW_EXT_MAX_DEPTH + 1];
	bool visited[XW_EXT_MAX_DEPTH + 1]; /* second visit of an index entry */
};

struct dbg_extents {
	xw_ino ino;
	struct ext_pos pos;
};

struct ext_node {
	uint8_t *buf; /* of the root: i_block in ext_tree.in; otherwise malloc'd */
	xw_blk blk; /* 0: the root, in the inode */
	struct xw_extent_hdr h;
	uint64_t end; /* logical block at which the parent's next entry starts */
	bool loaded, dirty;
};

/* The tree under a cursor, loaded for one request. */
struct ext_tree {
	struct dbg *d;
	struct xw_image *img;
	struct xw_update *u; /* NULL: read-only */
	xw_ino ino;
	struct xw_inode in;
	uint8_t *raw;
	struct ext_pos pos;
	struct ext_node node[XW_EXT_MAX_DEPTH + 1];
	int64_t gain; /* clusters allocated for nodes minus those freed; not yet in i_blocks */
};

enum ext_move {
	EXT_ROOT,
	EXT_FIRST_SIB,
	EXT_LAST_SIB,
	EXT_NEXT_SIB,
	EXT_PREV_SIB,
	EXT_NEXT_LEAF,
	EXT_PREV_LEAF,
	EXT_LAST_LEAF,
	EXT_NEXT,
	EXT_PREV,
	EXT_UP,
	EXT_DOWN,
};

/* An entry, of an index or a leaf. */
struct ext_entry {
	uint64_t lblk, len, pblk;
	bool leaf, unwritten, visited;
};

/* Load the root and the nodes on the path; u may be NULL. An invalid position is dropped. */
int ext_load(struct dbg *d, struct xw_update *u, const struct dbg_extents *x, struct ext_tree *t);
/* Load the nodes on a saved path. If the tree no longer has them, there is no current entry. */
int ext_seek(struct ext_tree *t, const struct ext_pos *pos);
void ext_unload(struct ext_tree *t);
int ext_write_node(struct ext_tree *t, struct ext_node *n);
/* Write all changed nodes and the inode; only in a step. */
int ext_save(struct ext_tree *t);

/* XW_ERR_NOTFOUND: there is no such entry, or no current one. */
int ext_move(struct ext_tree *t, enum ext_move move);
int ext_current(struct ext_tree *t, struct ext_entry *e);
/* level: distance from the leaves. XW_ERR_NOTFOUND, XW_ERR_UNSUPPORTED (level too large). */
int ext_goto(struct ext_tree *t, uint64_t lblk, unsigned level);

/* ---- extedit.c: in a step; call ext_save() at the end ---- */

/* Insert before the current entry, or after it. Splits full nodes. */
int ext_insert(struct ext_tree *t, const struct ext_entry *e, bool after);
int ext_replace(struct ext_tree *t, const struct ext_entry *e);
/* Delete the current entry, and nodes that become empty. */
int ext_delete(struct ext_tree *t);
/* Split the current node. XW_ERR_STATE: one half would be empty. */
int ext_split(struct ext_tree *t);
/*
 * If the current entry is the first of its node, set the logical block in the parents to its own.
 */
int ext_fix_parents(struct ext_tree *t);
/* Map lblk to pblk, or unmap it with pblk 0. Neither block is allocated or freed. */
int ext_set_bmap(struct ext_tree *t, xw_lblk lblk, xw_blk pblk, bool unwritten);

#endif
