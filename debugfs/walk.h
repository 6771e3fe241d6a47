/* SPDX-License-Identifier: MIT */
/*
 * Walks over damaged structures. The iterators of lib/read end at the first error, since their
 * callers need all or nothing; these walks report errors and continue.
 */
#ifndef XW_DEBUGFS_WALK_H
#define XW_DEBUGFS_WALK_H

#include "debugfs.h"
#include "disk/dirent.h"

#define DBG_LBLK_END ((uint64_t)1 << 32) /* end of the range that a map can address */

enum dbg_piece_kind {
	DBG_DATA, /* blocks with contents */
	DBG_NODE, /* a block of the extent tree or block map, before its contents */
};

struct dbg_piece {
	enum dbg_piece_kind kind;
	bool extents; /* the following fields describe an extent tree */
	unsigned level; /* NODE: extents: distance from the root; map: 1 IND, 2 DIND, 3 TIND */
	unsigned depth; /* depth of the tree; NODE and DATA */
	unsigned index, count; /* index of the entry in its node, from 0 */
	xw_lblk lblk;
	uint64_t len; /* NODE of an extent tree: blocks up to the next entry */
	xw_blk pblk;
	bool unwritten;
};

/* A non-zero result ends the walk and is returned by it. */
typedef int dbg_piece_fn(void *arg, const struct dbg_piece *p);

/*
 * All pieces of the map of an inode, in tree order. Nothing for inodes without a map. Visits at
 * most as many blocks as the filesystem has; messages name what was skipped.
 */
int dbg_walk(struct dbg *d, xw_ino ino, const struct xw_inode *in, dbg_piece_fn *fn, void *arg);

struct dbg_entry {
	struct xw_dirent e;
	xw_lblk lblk;
	xw_blk pblk; /* 0: the directory is inline */
	uint32_t off;
	bool dots; /* "." or ".." at its position; elsewhere such names are invalid */
	bool removed; /* found in the slack of another entry */
	bool is_csum; /* the checksum tail of the block */
	uint32_t csum;
};

typedef int dbg_entry_fn(void *arg, const struct dbg_entry *e);

/*
 * All entries of a directory, including unused ones (ino 0); with `all` also removed ones and
 * tails. "." and ".." of an inline directory are synthesized, with file type 0.
 */
int dbg_walk_dir(struct dbg *d, xw_ino ino, const struct xw_inode *in, const uint8_t *raw, bool all,
		 dbg_entry_fn *fn, void *arg);

/*
 * The same for entries in use, in inode order if the directory has an itree: for verbs that read
 * the inode of each entry. In that case lblk, pblk and off of an entry are 0 and rec_len is the
 * minimum.
 */
int dbg_walk_dir_in_order(struct dbg *d, xw_ino ino, const struct xw_inode *in, const uint8_t *raw,
			  dbg_entry_fn *fn, void *arg);

/* scan.c */
typedef int dbg_inode_fn(void *arg, xw_ino ino, const struct xw_inode *in, const uint8_t *raw);
/*
 * All inode records in order, with the fields that could be decoded. A non-zero result of fn ends
 * the scan; records that cannot be read are reported and skipped. DBG_SAID: interrupted.
 */
int dbg_each_inode(struct dbg *d, dbg_inode_fn *fn, void *arg);

/* filefrag.c; in the table of blocks.c */
int dbg_verb_filefrag(struct dbg *d, int argc, char **argv);

#endif
