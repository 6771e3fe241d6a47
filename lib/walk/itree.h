/* SPDX-License-Identifier: MIT */
/*
 * The nodes of an itree, depth first with ascending keys: a pull iterator that yields nodes and
 * findings and never stops at damage.
 *
 * The walk terminates on any input: a block is entered once, and each child is one level below its
 * parent. A node that cannot be decoded is skipped with its subtree.
 *
 * The walk reports findings about a single node and its position, numbered as the rules of
 * itree(5). The caller makes the checks across nodes (order from leaf to leaf, separators against
 * their subtrees, fill): for these, each node is yielded twice, before and after its subtree.
 */
#ifndef XW_WALK_ITREE_H
#define XW_WALK_ITREE_H

#include "base/table.h"
#include "disk/itree.h"

enum xw_walk_itree_kind {
	XW_WALK_ITREE_CHILD, /* blk, level, entry: a block that will be read next */
	XW_WALK_ITREE_NODE, /* the same block, after reading: sets h and block, too */
	XW_WALK_ITREE_DONE, /* its subtree was walked; members as for NODE */
};

struct xw_walk_itree_env {
	uint32_t block_size;
	bool csum; /* metadata_csum */
	bool unverified; /* checksums are not verified */
	bool any_names; /* encrypted: names are arbitrary bytes */
	xw_ino dir;
	uint32_t generation, seed; /* seed: xw_inode_seed() of the directory */
	xw_blk first_data_block, blocks_count;
	/* Read block blk into buf. XW_ERR_NOMEM ends the walk; other failures are findings. */
	int (*read)(void *arg, xw_blk blk, void *buf);
	void *arg;
};

struct xw_walk_itree_item {
	enum xw_walk_itree_kind kind;
	bool root;
	xw_blk blk;
	unsigned level; /* one below the parent; for the root: set from NODE on */
	unsigned entry; /* index in the parent; for a finding: index in the node */
	struct xw_itree_hdr h;
	/* may be modified except for the header; valid until DONE. NULL: not read */
	uint8_t *block;
	/* only for findings */
	unsigned rule; /* number in itree(5) */
	const char *what;
	bool left_out; /* the node is skipped with its subtree */
	int code; /* XW_ERR_CORRUPT, XW_ERR_CHECKSUM, or the read error */
};

struct xw_walk_itree {
	struct xw_walk_itree_env env;
	uint8_t *nodes; /* one block per level */
	struct xw_walk_itree_frame {
		xw_blk blk;
		unsigned entry; /* index in the parent */
		unsigned next; /* next entry to follow */
		struct xw_itree_hdr h;
		uint8_t *block;
	} at[XW_ITREE_LEVELS]; /* indexed by level */
	unsigned top, low; /* levels of the root and of the current node */
	bool inside; /* a current node exists */
	unsigned state;
	struct xw_walk_itree_item child; /* the block being processed */
	unsigned n_queue, queue_at;
	struct xw_walk_itree_item queue[4];
	struct xw_table seen;
};

/* XW_ERR_NOMEM. Release with xw_walk_itree_end(). */
int xw_walk_itree_begin(struct xw_walk_itree *it, const struct xw_walk_itree_env *env, xw_blk root);
/*
 * 1: *out; 2: a finding; 0: end; XW_ERR_NOMEM. Findings about a block are yielded between its CHILD
 * and its NODE.
 */
int xw_walk_itree_next(struct xw_walk_itree *it, struct xw_walk_itree_item *out);
/* Skip the block of the last CHILD with its subtree. */
void xw_walk_itree_skip(struct xw_walk_itree *it);
void xw_walk_itree_end(struct xw_walk_itree *it);

#endif
