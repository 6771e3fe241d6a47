/* SPDX-License-Identifier: MIT */
/*
 * The bulk builder: from a finished model (tree/model.h) to a filesystem, in five steps that run in
 * this order.
 *
 *   xw_build_number   live inodes get numbers in stream order
 *   xw_build_place    symlink blocks, directories, xattr blocks, EA values and map blocks are
 *                     allocated after the data
 *   xw_build_close    SIZE left out: the final geometry is computed (otherwise only inodes)
 *   xw_build_sweep    all of that metadata is encoded and written once, sorted by block
 *   xw_build_finish   descriptors, backups, flush, then the primary superblock
 *
 * Until xw_build_finish has written the superblock, the target contains no filesystem.
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
	 * The caller owns out, pool, share, intern, diag, sources and space of the placer.
	 * xw_build_close() may replace `space`: free the new one as well. `stream` is the end of
	 * the data.
	 */
	struct xw_placer place;
	/* set by the caller, who owns them unless noted */
	struct xw_dev *dev;
	const struct xw_mkfs_params *params;
	struct xw_binode *root; /* equals place.enc.first */
	struct xw_binode *lost_found; /* inode 11; dead if a source replaced it */
	bool supers_only; /* see xw_build_supers */

	/* internal; freed by xw_build_free */
	struct xw_geo geo; /* ownership passes from the caller */
	struct xw_ispace *inodes;
	struct xw_binode journal; /* inode 8; n_ext 0 = none */
	struct xw_hidden hidden;
	xw_blk resize_dind; /* inode 7's double-indirect block, 0 = none */
	uint32_t *block_csum, *inode_csum; /* [groups] bitmap checksums, set by the sweep */
};

/* Set superblock, seeds and directory format from params and geometry. Called once space exists. */
int xw_build_init(struct xw_builder *b);
/* SIZE known: allocate the blocks of journal and resize inode before any data. */
int xw_build_reserve(struct xw_builder *b);
int xw_build_number(struct xw_builder *b);
int xw_build_place(struct xw_builder *b);
int xw_build_close(struct xw_builder *b);
int xw_build_sweep(struct xw_builder *b);
int xw_build_finish(struct xw_builder *b);
/*
 * Replaces all steps: write only the descriptors and superblocks of an empty filesystem. No group
 * is uninitialized, and the state is marked as having errors.
 */
int xw_build_supers(struct xw_builder *b);
void xw_build_free(struct xw_builder *b);

/* ---- internal to the builder ---- */

/* Do unwritten blocks read as zeros? */
static inline bool xw_build_on_zeros(const struct xw_builder *b)
{
	return b->dev->fresh || b->params->prezeroed;
}

static inline void xw_build_set_number(struct xw_builder *b, struct xw_binode *n, xw_ino ino)
{
	n->ino = ino;
	b->place.by_ino[ino] = n;
}

/* Allocate a block of metadata; *out is unchanged if it does not fit (place.missing). */
int xw_build_alloc_block(struct xw_builder *b, xw_blk *out);

/* XW_ERR_NOSPC with the missing amount, if place.missing is not 0. */
int xw_build_check_room(struct xw_builder *b);

/* itable.c */
int xw_itable_write(struct xw_builder *b, uint32_t group);

/* special.c: journal and resize inode */
int xw_special_items(struct xw_builder *b);
void xw_resize_encode(const struct xw_builder *b, struct xw_inode *in);
/* Allocate the journal from -J location= on, wrapping around at the end of the filesystem. */
int xw_journal_alloc_at(struct xw_builder *b);
/*
 * Write the primary's reserved descriptor blocks, then the double-indirect block: they follow the
 * descriptors on the device, and are written together with them.
 */
int xw_resize_write(struct xw_builder *b);

/* tail.c: SIZE not given */
/* At the end of the data: reserves not needed for inodes become gaps that metadata may fill. */
int xw_tail_release_reserves(struct xw_builder *b);
/* When everything but the tail is placed: convert the STREAM geometry to a TAIL geometry. */
int xw_tail_plan(struct xw_builder *b);

/* groups.c */
int xw_groups_items(struct xw_builder *b);
/* Write a block or inode bitmap, and record its checksum. */
int xw_groups_bitmap(struct xw_builder *b, uint32_t group, bool inodes);
void xw_groups_describe(struct xw_builder *b, uint32_t group, struct xw_group_desc *gd);

#endif
