/* SPDX-License-Identifier: MIT */
/*
 * The nodes of an itree, depth first and keys ascending: a pull iterator that yields nodes and
 * findings and never stops at damage.
 *
 * Why it ends on any input: a block is entered once, and levels fall by one with each step down. A
 * node that cannot be decoded is left out with what is below it.
 *
 * Findings that a single node shows, or where it stands, are made here, numbered as the rules of
 * itree(5). What needs entries of more than one node (order from leaf to leaf, separators against
 * what is below them, fullness) is the caller's: each node comes twice for that, before and behind
 * what is below it.
 */
#ifndef XW_WALK_ITREE_H
#define XW_WALK_ITREE_H

#include "base/table.h"
#include "disk/itree.h"

#pragma GCC visibility push(default)

enum xw_walk_itree_kind {
	XW_WALK_ITREE_CHILD, /* blk, level, entry: a block that is about to be read */
	XW_WALK_ITREE_NODE, /* the same block, read: h and block, too */
	XW_WALK_ITREE_DONE, /* all that is below it was walked; members as of NODE */
};

struct xw_walk_itree_env {
	uint32_t block_size;
	bool csum; /* metadata_csum */
	bool unverified; /* checksums are not looked at */
	bool any_names; /* encrypted: names are any bytes */
	xw_ino dir;
	uint32_t generation, seed; /* seed: xw_inode_seed() of the directory */
	xw_blk first_data_block, blocks_count;
	/* Block blk into buf. XW_ERR_NOMEM ends the walk; other failures are findings. */
	int (*read)(void *arg, xw_blk blk, void *buf);
	void *arg;
};

struct xw_walk_itree_item {
	enum xw_walk_itree_kind kind;
	bool root;
	xw_blk blk;
	unsigned level; /* as the parent demands; the root's is known with NODE */
	unsigned entry; /* index in the parent; of a finding: in the node */
	struct xw_itree_hdr h;
	uint8_t *block; /* may be changed, but for the header; valid until DONE. NULL: not read */
	/* of a finding */
	unsigned rule; /* of itree(5) */
	const char *what;
	bool left_out; /* with what is below it */
	int code; /* XW_ERR_CORRUPT, XW_ERR_CHECKSUM, or why it cannot be read */
};

struct xw_walk_itree {
	struct xw_walk_itree_env env;
	uint8_t *nodes; /* a block a level */
	struct xw_walk_itree_frame {
		xw_blk blk;
		unsigned entry; /* index in the parent */
		unsigned next; /* entry to be followed */
		struct xw_itree_hdr h;
		uint8_t *block;
	} at[XW_ITREE_LEVELS]; /* by level */
	unsigned top, low; /* levels of the root and of the node that is walked */
	bool inside; /* there is such a node */
	unsigned state;
	struct xw_walk_itree_item child; /* the block at hand */
	unsigned n_queue, queue_at;
	struct xw_walk_itree_item queue[4];
	struct xw_table seen;
};

/* XW_ERR_NOMEM. End it in any case. */
int xw_walk_itree_begin(struct xw_walk_itree *it, const struct xw_walk_itree_env *env, xw_blk root);
/*
 * 1: *out; 2: a finding; 0: end; XW_ERR_NOMEM. Findings about a block that is read come between its
 * CHILD and its NODE.
 */
int xw_walk_itree_next(struct xw_walk_itree *it, struct xw_walk_itree_item *out);
/* The block of the last CHILD is left out, with what is below it. */
void xw_walk_itree_skip(struct xw_walk_itree *it);
void xw_walk_itree_end(struct xw_walk_itree *it);

#pragma GCC visibility pop

#endif
