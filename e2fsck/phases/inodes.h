/* SPDX-License-Identifier: MIT */
/*
 * The inodes phase, private to inodes.c and inode_*.c: the check of one inode.
 *
 * Every record in use passes these steps. They repair the record in memory; it is written once, at
 * the end:
 *
 *	record	mode, deletion time, extra size, flags that contradict type or features
 *	map	walks the extent tree or block map and collects the valid part
 *	claim	claims the blocks of the map
 *	size	compares i_size and i_blocks with the map
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
	size_t wanted; /* blocks that the new tree needs in addition to `nodes` */
	unsigned depth;
	struct fsck_layout layout;
	bool damaged; /* the extent tree must be rewritten */
	bool lost; /* entries were dropped */
};

/* A block that looks like an extent node of an unknown inode. */
struct fsck_node {
	xw_blk blk;
	uint32_t lblk; /* of its first entry */
	unsigned depth;
	uint32_t seed; /* of its checksum: that of the inode to which it belongs */
	size_t at; /* how many were found before it */
};

/* A record whose checksum is valid for another inode number; see inode_moved.c. */
struct fsck_moved {
	xw_ino ino; /* where it is */
	xw_ino other; /* its number */
	bool seen, gone; /* on a path already; cleared or held, so that its place is vacant */
	size_t step; /* on its path */
};

/* Records that may be of a former filesystem; inode_former.c. */
struct fsck_former {
	bool known; /* all records were looked at */
	struct xw_table suspects, named; /* numbers; those of them with a name */
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
	bool condemned; /* -n: it would be cleared, so nothing else about it is told */
	bool has_map; /* i_block holds a map */
	/* inode_garbage.c: records cleared in the table block that begins with garbage_in */
	xw_ino garbage_in;
	unsigned garbage;
	xw_ino garbage_last; /* the record that was cleared last */
	xw_ino judged_last; /* the answer to a question holds for all records up to this one */
	bool judged; /* that answer */
	struct fsck_former former;
	/* inode_moved.c */
	bool moved_known; /* the moved records of this round were reported */
	uint64_t tried; /* numbers tried for records with checksums of 16 bits */
	uint64_t blocks; /* filesystem blocks that i_blocks should include */
	/* inode_node.c: unclaimed blocks in use that look like extent nodes, sorted */
	XW_VEC(struct fsck_node) found;
	bool searched; /* `found` is complete; the search begins when a node is missing */
};

/* Report a finding about the inode. */
#define LOOK_FOUND(l, ID, ...) FSCK_FOUND((l)->f, ID, .ino = (l)->ino, __VA_ARGS__)
/* The same, if its repair changes the record: true also marks the record as dirty. */
#define LOOK_REPAIR(l, ID, ...) fsck_look_dirty(l, LOOK_FOUND(l, ID, __VA_ARGS__))

static inline bool fsck_look_dirty(struct fsck_look *l, bool repair)
{
	l->dirty |= repair;
	return repair;
}

int fsck_look_begin(struct fsck *f, struct fsck_look *l);
void fsck_look_end(struct fsck_look *l);
/* Check one record and repair it; raw is copied. */
int fsck_look_at(struct fsck_look *l, xw_ino ino, const uint8_t *raw);

/* inode_range.c: number of records of a group that may be in use. */
uint32_t fsck_records_of(const struct fsck *f, uint64_t group, const struct xw_group_desc *gd);
/*
 * inode_former.c: is it the record of a former filesystem in a table that was never zeroed? It has
 * no name, is free according to the bitmap, and its checksum is wrong.
 */
bool fsck_is_former(struct fsck_look *l);
/* inode_former.c: find such records without checksums of inodes, before others are checked. */
int fsck_find_former(struct fsck_look *l);
/*
 * inode_moved.c: if the record is proven to be that of another inode, move all such records back or
 * clear them, and begin the next round.
 */
int fsck_look_moved(struct fsck_look *l);
/* inode_garbage.c: clear records that are not inodes. May set `clear`. */
void fsck_look_garbage(struct fsck_look *l);
/* Does the record have too many contradictions for an inode? `less` lowers the limit. */
bool fsck_is_garbage(const struct xw_image *img, xw_ino ino, const uint8_t *raw, unsigned less);
/* inode_inline.c: restore a lost INLINE_DATA flag, before the type is judged by the contents. */
void fsck_look_inline_flag(struct fsck_look *l);
/* inode_record.c: check mode, times and independent fields. May set `clear`. */
void fsck_look_record(struct fsck_look *l);
/*
 * inode_contents.c: does i_block or the map hold the contents of a symlink, or those of a file
 * although the type is neither regular file nor directory? *mode is a mode for these contents.
 */
bool fsck_look_contents(struct fsck_look *l, uint16_t *mode);
/* inode_flags.c: compare the flags with type and features. */
int fsck_look_flags(struct fsck_look *l);
/* inode_map.c: walk the map, and repair it if agreed to. */
int fsck_look_map(struct fsck_look *l);
void fsck_map_free(struct fsck_map *m);
/*
 * The last cluster of the file so far: with bigalloc several runs may share a cluster, which is
 * counted and claimed once.
 */
struct fsck_last_cluster {
	uint64_t lcluster, pcluster;
	bool any;
};
/*
 * inode_end.c: the number of the run's clusters, without one that it shares with the run before.
 * *from is the first block of these.
 */
uint64_t fsck_clusters_of(const struct fsck *f, const struct xw_map_run *run,
			  struct fsck_last_cluster *last, xw_blk *from);
/* inode_end.c: i_blocks according to map and xattr block, without values in EA inodes. */
uint64_t fsck_look_expected_blocks(const struct fsck_look *l);
/* inode_end.c: check for blocks past i_size. Sets map.damaged, or adds pointers to map.bad. */
int fsck_look_end_of_map(struct fsck_look *l);
/* inode_end.c: truncate the runs of the map at logical block `end`. */
void fsck_map_cut(struct fsck_map *m, uint64_t end);
/* inode_map.c: claim the blocks of the map. */
int fsck_look_claim(struct fsck_look *l);
/* inode_size.c: check i_size and i_blocks. */
void fsck_look_size(struct fsck_look *l);
/* inode_encrypt.c: check the encryption context, after the attributes were checked. */
int fsck_look_encrypted(struct fsck_look *l);
/* inode_symlink.c: is the target of the symlink in i_block? */
bool fsck_look_is_fast(const struct fsck_look *l);
/* inode_symlink.c: does i_block hold a target although EXTENTS_FL is set? */
bool fsck_look_is_flagged_text(const struct fsck_look *l);
/* inode_symlink.c: check the target and its length. */
int fsck_look_symlink(struct fsck_look *l);
/* inode_node.c: the callback `find` of the walk; arg is the struct fsck_look. */
bool fsck_look_find_node(void *arg, struct xw_walk_map *w, const struct xw_walk_node *want,
			 xw_blk *blk);
/* inode_tree.c: rewrite the extent tree from the runs, at once or in fsck_finish_claims(). */
int fsck_look_rebuild(struct fsck_look *l);

#endif
