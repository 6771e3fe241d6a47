/* SPDX-License-Identifier: MIT */
/*
 * Placement of a model's metadata: allocates space, lists the items, and writes them in one pass in
 * block order. A new filesystem (lib/fill) and a change to an existing image (lib/edit) place their
 * directories, attributes and maps in the same way.
 */
#ifndef XW_PLACE_PLACE_H
#define XW_PLACE_PLACE_H

#include "base/pool.h"
#include "base/vec.h"
#include "disk/quota.h"
#include "encode/encode.h"
#include "place/out.h"
#include "space/space.h"

enum xw_item_kind {
	XW_ITEM_SYMLINK,
	XW_ITEM_DIR,
	XW_ITEM_ITREE,
	XW_ITEM_XATTR,
	XW_ITEM_EA_VALUE,
	XW_ITEM_MAP,
	XW_ITEM_OTHER, /* lib/fill defines further kinds */
};

/* One item of the sweep: its place and the object that it encodes. */
struct xw_item {
	xw_blk blk;
	uint64_t ref; /* node pointer, index of the xattr block, or group */
	unsigned kind; /* enum xw_item_kind, or one of lib/fill */
};

struct xw_place_counts {
	uint64_t directories, directory_blocks, indexed_dirs, xattr_blocks, xattr_refs, ea_inodes;
	uint64_t xattr_in_inode;
	uint64_t growth; /* maximum blocks needed for one more name in every directory */
	uint64_t itrees, itree_blocks;
};

struct xw_placer {
	struct xw_encoder enc;
	/* set by the caller, not owned */
	struct xw_out *out;
	struct xw_pool *pool;
	struct xw_space *space;
	struct xw_share *share;
	struct xw_xintern *intern;
	/* An existing image: there is no stream, and the allocator searches from the goal. */
	bool existing;
	xw_blk goal;
	struct xw_stream stream; /* new filesystem: end of the data */
	/* No flex_bg, no SIZE: metadata fills the gaps in this range. */
	xw_blk gap, gaps_end;
	uint64_t missing; /* blocks that could not be allocated; > 0, nothing more is written */

	/* owned; free with xw_placer_free() */
	struct xw_binode **by_ino; /* [1 .. last_ino] */
	xw_ino last_ino;
	XW_VEC(struct xw_item) items;
	struct xw_place_counts counts;
};

/* A shorter gap in the data is not worth a backward seek for metadata. */
#define XW_PLACE_GAP 256u

/* place.c */

void xw_placer_free(struct xw_placer *p);
/*
 * Allocate `len` metadata blocks after those allocated before; *runs is malloc'd. If the image is
 * full: adds to p->missing, *n = 0, returns 0.
 */
int xw_place_alloc(struct xw_placer *p, uint64_t len, struct xw_run **runs, size_t *n);
/* Allocate `len` blocks as the extents of n, from logical block 0 on, and its map blocks. */
int xw_place_alloc_node(struct xw_placer *p, struct xw_binode *n, uint64_t len);
/* Set the extents of n to the runs, logical blocks from 0. */
int xw_binode_set_runs(struct xw_binode *n, const struct xw_run *runs, size_t n_runs);
/* Free extents and map of an inode that is not in the tree; its blocks stay allocated. */
void xw_binode_free_map(struct xw_binode *n);
/* Allocate blocks for the map of n, if the inode cannot hold all of it. */
int xw_place_map(struct xw_placer *p, struct xw_binode *n);
/* Allocate a block for a symlink's target, if it does not fit the inode. */
int xw_place_symlink(struct xw_placer *p, struct xw_binode *n);
int xw_place_item(struct xw_placer *p, unsigned kind, xw_blk blk, uint64_t ref);
int xw_place_write(struct xw_placer *p, xw_blk blk, const void *buf, size_t len);
int xw_map_write(struct xw_placer *p, const struct xw_binode *n);
/* Sort the items by block; write one item of a kind below XW_ITEM_OTHER; write all. */
void xw_place_sort(struct xw_placer *p);
int xw_place_write_item(struct xw_placer *p, const struct xw_item *it);
int xw_place_write_items(struct xw_placer *p);
/* XW_ERR_NOSPC, with the missing amount in an existing image, if p->missing is not 0. */
int xw_place_check_room(const struct xw_placer *p);
#define XW_PLACE_ROOM_MAX 32u
/* Format the missing amount in KiB or MiB. */
const char *xw_place_missing(const struct xw_placer *p, char *buf, size_t size);

/* dirs.c */

/* All directories: shaped on the pool, placed in inode order. */
int xw_dirs_place(struct xw_placer *p);
/* Free the data that shaping attached to directories, while their numbers are known. */
void xw_dirs_free(struct xw_placer *p);
int xw_dir_write(struct xw_placer *p, const struct xw_binode *dir);
int xw_itree_write(struct xw_placer *p, const struct xw_binode *dir);

/* attrs.c: xattr blocks and EA inodes */

/* Count the references to each value; the caller numbers the values that have some. */
int xw_attrs_count_ea(struct xw_placer *p);
int xw_attrs_place(struct xw_placer *p);
int xw_attrs_write_block(struct xw_placer *p, size_t index);
int xw_attrs_write_value(struct xw_placer *p, const struct xw_binode *ea);

/* quota.c */

struct xw_quota_file {
	struct xw_binode node; /* ino 0: not created */
	struct xw_quota_entry *entries; /* by id; malloc'd */
	size_t n;
	struct xw_quota_shape shape;
};
/* Create the files of these types (1 << type) with the usage of all inodes of the model. */
int xw_quota_place(struct xw_placer *p, struct xw_quota_file files[XW_QUOTA_TYPES], unsigned types);
int xw_quota_write(struct xw_placer *p, enum xw_quota_type type, const struct xw_quota_file *q);

/* special.c */

/* Write an empty log to n's blocks; `zero`: zero the rest of the log. */
int xw_journal_write(struct xw_placer *p, const struct xw_binode *n, uint32_t fast_blocks,
		     bool zero);
/* Write the MMP block. interval: in seconds, raised to at least XW_MMP_INTERVAL. */
int xw_mmp_write(struct xw_placer *p, xw_blk blk, uint16_t interval);
int xw_orphan_write(struct xw_placer *p, const struct xw_binode *n);

#endif
