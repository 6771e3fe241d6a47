/* SPDX-License-Identifier: MIT */
/*
 * The inodes phase, private to inodes.c and inode_*.c: one inode being checked.
 *
 * Every record in use passes these steps, each of which repairs the record in memory; it is written
 * once, at the end:
 *
 *	record	mode, deletion time, extra size, flags that contradict type or features
 *	map	the walk over extent tree or block map; collects the valid part
 *	size	i_size and i_blocks, compared with that
 *	claim	claims the blocks of the map; facts for later phases
 */
#ifndef XW_FSCK_INODES_H
#define XW_FSCK_INODES_H

#include "read/map.h"
#include "walk/map.h"

#include "facts/counts.h"
#include "phases/phases.h"

struct fsck_map {
	XW_VEC(struct xw_map_run) runs; /* runs of the contents, ascending */
	XW_VEC(struct xw_walk_map_item) nodes; /* map blocks that were entered */
	XW_VEC(struct xw_walk_map_item) bad; /* entries of a block map to be cleared */
	XW_VEC(xw_blk) strange; /* those of `nodes` without an extent header */
	size_t wanted; /* blocks that its new tree takes in addition to `nodes` */
	unsigned depth;
	struct fsck_layout layout;
	bool damaged; /* the extent tree must be rewritten */
	bool lost; /* entries were dropped */
};

/* A block that begins as an extent node; of which inode is not known. */
struct fsck_node {
	xw_blk blk;
	uint32_t lblk; /* of its first entry */
	unsigned depth;
};

/* Scratch memory of the phase and the current inode. */
struct fsck_look {
	struct fsck *f;
	struct xw_walk_map walk;
	struct xw_blockset *met; /* map blocks of this inode */
	struct fsck_map map;
	xw_ino ino;
	struct xw_inode in;
	uint8_t *raw; /* inode_size bytes */
	uint16_t type; /* XW_S_IF* */
	bool wrong_sum; /* the checksum of the record does not match */
	bool dirty; /* the record must be written */
	bool clear; /* the inode must be cleared */
	bool has_map; /* i_block holds a map */
	/* inode_garbage.c: records cleared in the block of the table that begins with that inode */
	xw_ino garbage_in;
	unsigned garbage;
	xw_ino garbage_last;
	uint64_t tried; /* checksums computed in search of misplaced records' numbers */
	uint64_t blocks; /* filesystem blocks that i_blocks should include */
	/* inode_node.c: blocks in use that look like extent nodes, read when one is missing */
	XW_VEC(struct fsck_node) found;
	bool searched;
};

int fsck_look_begin(struct fsck *f, struct fsck_look *l);
void fsck_look_end(struct fsck_look *l);
/* Check one record and repair it; raw is copied. */
int fsck_look_at(struct fsck_look *l, xw_ino ino, const uint8_t *raw);

/* inode_garbage.c. May set `clear`. */
void fsck_look_garbage(struct fsck_look *l);
/* Has the record too many contradictions for an inode? less: fewer are sufficient, by so many. */
bool fsck_is_garbage(const struct xw_image *img, xw_ino ino, const uint8_t *raw, unsigned less);
/* inode_record.c. Negative: failure. May set `clear`. */
int fsck_look_record(struct fsck_look *l);
/*
 * inode_contents.c: has the record, whose type is impossible or that of a special file, the
 * contents of a regular file or symlink, or a file those of a symlink? *mode is what fits them.
 */
bool fsck_look_contents(struct fsck_look *l, uint16_t *mode);
/* inode_flags.c: flags, compared with type and features. */
int fsck_look_flags(struct fsck_look *l);
/* inode_map.c: the walk; repairs damage if agreed to. */
int fsck_look_map(struct fsck_look *l);
void fsck_map_free(struct fsck_map *m);
/*
 * With bigalloc several runs may share a cluster of the file: it is counted, and claimed, once.
 * The last cluster of the file so far and its place.
 */
struct fsck_last_cluster {
	uint64_t lcluster, pcluster;
	bool any;
};
/*
 * inode_end.c: how many clusters the run has that are not shared with the one before, and where
 * these begin.
 */
uint64_t fsck_clusters_of(const struct fsck *f, const struct xw_map_run *run,
			  struct fsck_last_cluster *last, xw_blk *from);
/* i_blocks computed from the map and the xattr block, without values of attributes. inode_end.c */
uint64_t fsck_look_held(const struct fsck_look *l);
/* Check for blocks past i_size. Sets map.damaged, or adds pointers to map.bad. inode_end.c */
int fsck_look_end_of_map(struct fsck_look *l);
/* inode_map.c: Claim the blocks of the map. */
int fsck_look_claim(struct fsck_look *l);
/* inode_size.c */
int fsck_look_size(struct fsck_look *l);
/* inode_encrypt.c: the context of an encrypted inode, after its attributes were checked */
int fsck_look_encrypted(struct fsck_look *l);
/* inode_symlink.c: is the target in i_block? And: is there a target of that size? */
bool fsck_look_is_fast(const struct fsck_look *l);
/* ... although the flags say that i_block holds an extent tree? */
bool fsck_look_is_flagged_text(const struct fsck_look *l);
int fsck_look_symlink(struct fsck_look *l);
/* inode_node.c: `find` of the walk, for which arg is the look. */
bool fsck_look_find_node(void *arg, struct xw_walk_map *w, const struct xw_walk_node *want,
			 xw_blk *blk);
/* inode_tree.c: rewrite the extent tree from the runs, at once or in fsck_settle(). */
int fsck_look_rebuild(struct fsck_look *l);

#endif
