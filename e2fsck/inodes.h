/* SPDX-License-Identifier: MIT */
/*
 * The inodes phase, private to inodes.c and inode_*.c: one inode under examination.
 *
 * Every record that is in use goes through these steps, each of which repairs what it finds in
 * memory; the record is written once, at the end:
 *
 *	record	mode, times of deletion, extra size, flags that contradict type or features
 *	map	the walk over extent tree or block map; what survives is collected
 *	size	i_size and i_blocks against that
 *	claim	blocks of the map are in use; facts for the phases behind
 */
#ifndef XW_FSCK_INODES_H
#define XW_FSCK_INODES_H

#include "read/map.h"
#include "walk/map.h"

#include "counts.h"
#include "fsck.h"

struct fsck_map {
	XW_VEC(struct xw_map_run) runs; /* of contents, ascending */
	XW_VEC(struct xw_walk_map_item) nodes; /* blocks of the map that were entered */
	XW_VEC(struct xw_walk_map_item) bad; /* entries of a block map to be cleared */
	unsigned depth;
	struct fsck_layout layout;
	bool damaged; /* an extent tree that is to be written anew */
	bool lost; /* entries were left out */
};

/* Scratch memory of the phase and the inode it looks at. */
struct fsck_look {
	struct fsck *f;
	struct xw_walk_map walk;
	struct xw_blockset *met; /* map blocks of this inode */
	struct fsck_map map;
	xw_ino ino;
	struct xw_inode in;
	uint8_t *raw; /* inode_size bytes */
	uint16_t type; /* XW_S_IF* */
	bool dirty; /* the record is to be written */
	bool clear; /* the inode is to be cleared */
	bool has_map; /* i_block holds a map */
	uint64_t blocks; /* filesystem blocks that i_blocks should count */
};

int fsck_look_begin(struct fsck *f, struct fsck_look *l);
void fsck_look_end(struct fsck_look *l);
/* Check one record and repair it; raw is copied. */
int fsck_look_at(struct fsck_look *l, xw_ino ino, const uint8_t *raw);

/* inode_record.c. Negative: failure. `clear` may be set afterwards. */
int fsck_look_record(struct fsck_look *l);
/* inode_flags.c: flags against type and features. */
int fsck_look_flags(struct fsck_look *l);
/* inode_map.c: the walk; what is damaged is repaired when that was agreed to. */
int fsck_look_map(struct fsck_look *l);
/* Claim what the map has. */
int fsck_look_claim(struct fsck_look *l);
/* inode_size.c */
int fsck_look_size(struct fsck_look *l);
/* inode_encrypt.c: the context of an encrypted inode, after its attributes were checked */
int fsck_look_encrypted(struct fsck_look *l);
/* inode_symlink.c: is the target in i_block? Then: is there a target, of that size? */
bool fsck_look_is_fast(const struct fsck_look *l);
int fsck_look_symlink(struct fsck_look *l);
/* inode_tree.c: an extent tree of the runs, in the blocks that the old one had. */
int fsck_look_rebuild(struct fsck_look *l);
/* inode_root.c: a new root directory where there is none. */
int fsck_make_root(struct fsck *f);

#endif
