/* SPDX-License-Identifier: MIT */
/*
 * What an inode holds, piece by piece, whatever state it is in. The iterators of lib/read end where
 * something is wrong, since their callers need all or nothing; these complain and go on behind it.
 */
#ifndef XW_DEBUGFS_WALK_H
#define XW_DEBUGFS_WALK_H

#include "debugfs.h"
#include "disk/dirent.h"

#define DBG_LBLK_END ((uint64_t)1 << 32) /* behind the last block that a map can name */

enum dbg_piece_kind {
	DBG_DATA, /* blocks of the contents */
	DBG_NODE, /* a block of the extent tree or block map, before what it leads to */
};

struct dbg_piece {
	enum dbg_piece_kind kind;
	bool extents; /* what follows is about an extent tree */
	unsigned level; /* NODE: extents: distance from the root; map: 1 IND, 2 DIND, 3 TIND */
	unsigned depth; /* of the tree; NODE and DATA */
	unsigned index, count; /* of the entry in its node, from 0 */
	xw_lblk lblk;
	uint64_t len; /* NODE of a tree: blocks up to the next entry */
	xw_blk pblk;
	bool unwritten;
};

/* Non-zero ends the walk and is returned by it. */
typedef int dbg_piece_fn(void *arg, const struct dbg_piece *p);

/*
 * All pieces of an inode's map, in the order of the tree. Nothing for inodes without one. At most
 * as many blocks are seen as the filesystem has; complaints name what was left out.
 */
int dbg_walk(struct dbg *d, xw_ino ino, const struct xw_inode *in, dbg_piece_fn *fn, void *arg);

struct dbg_entry {
	struct xw_dirent e;
	xw_lblk lblk;
	xw_blk pblk; /* 0: the directory is inline */
	uint32_t off;
	bool removed; /* in the slack behind another */
	bool is_csum; /* the tail of its block */
	uint32_t csum;
};

typedef int dbg_entry_fn(void *arg, const struct dbg_entry *e);

/*
 * All entries of a directory, unused ones (ino 0) among them; with `all` removed ones and tails
 * too. An inline directory's "." and ".." are made up, with file type 0.
 */
int dbg_walk_dir(struct dbg *d, xw_ino ino, const struct xw_inode *in, const uint8_t *raw, bool all,
		 dbg_entry_fn *fn, void *arg);

/*
 * The same of entries in use, in the order of their inodes where the directory has an itree: for
 * verbs that read the inode of each. Then lblk, pblk and off of an entry are 0 and rec_len is the
 * least it needs.
 */
int dbg_walk_dir_in_order(struct dbg *d, xw_ino ino, const struct xw_inode *in, const uint8_t *raw,
			  dbg_entry_fn *fn, void *arg);

/* filefrag.c; in the table of blocks.c */
int dbg_verb_filefrag(struct dbg *d, int argc, char **argv);

#endif
