/* SPDX-License-Identifier: MIT */
/*
 * The bulk builder: from a finished model (tree/model.h) to a filesystem, in five steps that run in
 * this order.
 *
 *   xw_build_number   live inodes get numbers in stream order
 *   xw_build_place    symlink blocks, directories, xattr blocks, EA values and map blocks get
 *                     space behind the data
 *   xw_build_close    SIZE left out: the geometry of the tail is settled (else only inodes)
 *   xw_build_sweep    all of that metadata is encoded and written once, sorted by block
 *   xw_build_finish   descriptors, backups, flush, then the primary superblock
 *
 * Until xw_build_finish has written the superblock the target holds no filesystem.
 */
#ifndef XW_FILL_BUILDER_H
#define XW_FILL_BUILDER_H

#include "disk/group.h"
#include "fill/hidden.h"
#include "place/place.h"
#include "plan/geometry.h"
#include "space/inodes.h"

/* Kinds of items beside those of lib/place. */
enum xw_build_item_kind {
	XW_ITEM_BLOCK_BITMAP = XW_ITEM_OTHER,
	XW_ITEM_INODE_BITMAP,
	XW_ITEM_ITABLE,
	XW_ITEM_JOURNAL,
	XW_ITEM_QUOTA,
	XW_ITEM_ORPHAN,
	XW_ITEM_MMP,
};

struct xw_builder {
	/*
	 * Its out, pool, share, intern, diag, sources and space are the caller's; after
	 * xw_build_close() `space` may be another one: free both. `stream` is where data ended.
	 */
	struct xw_placer place;
	/* given by the caller, not owned unless said */
	struct xw_dev *dev;
	const struct xw_mkfs_params *params;
	struct xw_binode *root; /* place.enc.first: it is the first of all inodes */
	struct xw_binode *lost_found; /* inode 11; dead when a source replaced it */
	bool supers_only; /* see xw_build_supers */

	/* kept by the builder; free with xw_build_free */
	struct xw_geo geo; /* taken over from the caller */
	struct xw_ispace *inodes;
	struct xw_binode journal; /* inode 8; n_ext 0 = none */
	struct xw_hidden hidden;
	xw_blk resize_dind; /* inode 7's double-indirect block, 0 = none */
	uint32_t *block_csum, *inode_csum; /* [groups] bitmap checksums, set by the sweep */
};

/* Superblock, seeds, directory format from params and geometry. Call once space exists. */
int xw_build_init(struct xw_builder *b);
/* SIZE known: take the journal's and the resize inode's blocks before any data. */
int xw_build_reserve(struct xw_builder *b);
int xw_build_number(struct xw_builder *b);
int xw_build_place(struct xw_builder *b);
int xw_build_close(struct xw_builder *b);
int xw_build_sweep(struct xw_builder *b);
int xw_build_finish(struct xw_builder *b);
/*
 * Instead of all steps: descriptors and superblocks as of an empty filesystem, nothing else. They
 * promise nothing: no group is uninitialised, the state says errors.
 */
int xw_build_supers(struct xw_builder *b);
void xw_build_free(struct xw_builder *b);

/* ---- between the builder's own files ---- */

/* XW_ERR_NOSPC with what is missing, if anything is. */
int xw_build_check_room(struct xw_builder *b);

/* itable.c */
int xw_itable_write(struct xw_builder *b, uint32_t group);

/* special.c: journal and resize inode */
int xw_special_items(struct xw_builder *b);
void xw_resize_encode(const struct xw_builder *b, struct xw_inode *in);
/* Blocks for the journal from -J location= on, around to its start again. */
int xw_journal_alloc_at(struct xw_builder *b);
/* The primary's reserved descriptor blocks, then the double-indirect block: they follow the
 * descriptors on the device, so they are written with them. */
int xw_resize_write(struct xw_builder *b);

/* settle.c: SIZE left out */
/* The data has ended: reserves the inodes do not need become gaps that metadata may fill. */
int xw_settle_reserves(struct xw_builder *b);
/* Everything but the tail is placed: from a STREAM to a TAIL. */
int xw_settle_tail(struct xw_builder *b);

/* groups.c */
bool xw_group_block_uninit(const struct xw_builder *b, uint32_t group);
int xw_groups_items(struct xw_builder *b);
int xw_groups_block_bitmap(struct xw_builder *b, uint32_t group);
int xw_groups_inode_bitmap(struct xw_builder *b, uint32_t group);
void xw_groups_describe(struct xw_builder *b, uint32_t group, struct xw_group_desc *gd);

#endif
