/* SPDX-License-Identifier: MIT */
/*
 * The bulk builder: from a finished model (model.h) to a filesystem, in five steps that run in this
 * order.
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
#ifndef XW_BUILD_BUILDER_H
#define XW_BUILD_BUILDER_H

#include "base/endian.h"
#include "base/pool.h"
#include "base/vec.h"
#include "build/hidden.h"
#include "tree/model.h"
#include "build/out.h"
#include "disk/group.h"
#include "disk/inode.h"
#include "plan/geometry.h"
#include "space/inodes.h"
#include "space/space.h"
#include "xattr/intern.h"
#include "xattr/share.h"

enum xw_item_kind {
	XW_ITEM_SYMLINK,
	XW_ITEM_DIR,
	XW_ITEM_ITREE,
	XW_ITEM_XATTR,
	XW_ITEM_EA_VALUE,
	XW_ITEM_MAP,
	XW_ITEM_BLOCK_BITMAP,
	XW_ITEM_INODE_BITMAP,
	XW_ITEM_ITABLE,
	XW_ITEM_JOURNAL,
	XW_ITEM_QUOTA,
	XW_ITEM_ORPHAN,
	XW_ITEM_MMP,
};

/* One thing of the sweep: where it starts and what produces its bytes. */
struct xw_item {
	xw_blk blk;
	uint64_t ref; /* node pointer, xattr block index or group */
	enum xw_item_kind kind;
};

/* A value in an inode of its own. */
struct xw_build_ea {
	struct xw_binode node; /* ino 0: nothing refers to the value any more */
	uint64_t refs;
};

struct xw_build_counts {
	uint64_t directories, directory_blocks, indexed_dirs, xattr_blocks, xattr_refs, ea_inodes;
	uint64_t xattr_in_inode;
	uint64_t growth; /* blocks that one more name in every directory can take */
	uint64_t itrees, itree_blocks;
};

struct xw_builder {
	/* given by the caller, not owned unless said */
	struct xw_dev *dev;
	struct xw_out *out;
	struct xw_diag *diag;
	struct xw_pool *pool;
	const struct xw_mkfs_params *params;
	struct xw_space *space; /* after xw_build_close it may be another one: free both */
	struct xw_share *share;
	struct xw_xintern *intern;
	struct xw_binode *first; /* model: all inodes in stream order; root is the first */
	struct xw_binode *root;
	struct xw_binode *lost_found; /* inode 11; dead when a source replaced it */
	struct xw_stream stream; /* where data ended */
	/* An existing image: no stream, the allocator finds space from the goal on. */
	bool image;
	bool supers_only; /* see xw_build_supers */
	xw_blk goal;
	/* no flex_bg, SIZE left out: metadata fills the gaps from here to there */
	xw_blk gap, gaps_end;
	char *const *sources; /* names of the tree's layers, for messages; NULL: not known */
	uint64_t missing; /* blocks that did not fit; > 0: nothing is written any more */

	/* kept by the builder; free with xw_build_free */
	struct xw_super sb;
	struct xw_geo geo; /* taken over from the caller */
	uint32_t csum_seed;
	struct xw_dir_format dirfmt;
	struct xw_build_ea *ea; /* [n_ea], by the interner's id - 1 */
	uint32_t n_ea;
	struct xw_binode **by_ino; /* [1 .. last_ino] */
	xw_ino last_ino;
	struct xw_ispace *inodes;
	struct xw_binode journal; /* inode 8; n_ext 0 = none */
	struct xw_hidden hidden;
	xw_blk resize_dind; /* inode 7's double-indirect block, 0 = none */
	uint32_t *block_csum, *inode_csum; /* [groups] bitmap checksums, set by the sweep */
	XW_VEC(struct xw_item) items;
	struct xw_build_counts counts;
};

/* Superblock, seeds, directory format from params and geometry. Call once space exists. */
int xw_build_init(struct xw_builder *b);
/*
 * The same for an existing image, from its superblock: params (`now` counts), geo's counts and
 * sizes. There are no steps then: update/ places and writes with the functions below.
 */
void xw_build_init_image(struct xw_builder *b, const struct xw_super *sb);
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

/*
 * Space for `len` metadata blocks behind what was placed before; *runs malloc'd. When the image is
 * full: counts b->missing, *n = 0, returns 0.
 */
int xw_build_alloc(struct xw_builder *b, uint64_t len, struct xw_run **runs, size_t *n);
/* The same as the extents of n, logical blocks from 0, and its map blocks. */
int xw_build_alloc_node(struct xw_builder *b, struct xw_binode *n, uint64_t len);
/* Give n the runs as extents, logical blocks from 0. */
int xw_binode_set_runs(struct xw_binode *n, const struct xw_run *runs, size_t n_runs);
/* Blocks for the map of n, where the inode does not hold all of it. */
int xw_build_place_map(struct xw_builder *b, struct xw_binode *n);
/* Blocks for a symlink's target, where it does not fit the inode. */
int xw_build_place_symlink(struct xw_builder *b, struct xw_binode *n);
/* All items, sorted by block. */
int xw_build_write_items(struct xw_builder *b);
int xw_build_item(struct xw_builder *b, enum xw_item_kind kind, xw_blk blk, uint64_t ref);
/* Forget extents and map of an inode that is not the tree's; the blocks stay taken. */
void xw_build_free_map(struct xw_binode *n);
/* XW_ERR_NOSPC with what is missing, if anything is. */
int xw_build_check_room(struct xw_builder *b);
int xw_build_write(struct xw_builder *b, xw_blk blk, const void *buf, size_t len);
/* i_generation: from the hash seed and the number, so that it is the same in every run. */
uint32_t xw_build_generation(const struct xw_builder *b, const struct xw_binode *n);
/* Seed of the checksums of n's blocks. */
uint32_t xw_build_inode_seed(const struct xw_builder *b, const struct xw_binode *n);

/* Who named n, for messages: the source, or the image where none did. */
const char *xw_build_origin(const struct xw_builder *b, const struct xw_binode *n);
#define XW_BUILD_PATH_MAX 512u
/* A path of n for messages: points into buf (size bytes), cut at the front when too long. */
const char *xw_build_path(const struct xw_builder *b, const struct xw_binode *n, char *buf,
			  size_t size);

/* map.c */
uint64_t xw_map_blocks(const struct xw_builder *b,
		       const struct xw_binode *n); /* map blocks outside the inode */
void xw_map_encode_inode(const struct xw_builder *b, const struct xw_binode *n,
			 struct xw_inode *in);
int xw_map_write(struct xw_builder *b, const struct xw_binode *n);

/* dirs.c */
/* All directories: shaped on the pool, placed in inode order. */
int xw_dirs_place(struct xw_builder *b);
/* What shaping left with the directories, while their numbers are known. */
void xw_dirs_free(struct xw_builder *b);
int xw_dir_write(struct xw_builder *b, const struct xw_binode *dir);

/* The record of a name that an entry of the model has. */
static inline struct xw_blink *xw_blink_of(const struct xw_dir_entry *e)
{
	return (struct xw_blink *)(uintptr_t)(e->name - offsetof(struct xw_blink, name));
}

/* itree.c */
/* Of n names in the order of arrival, before shaping; NULL: out of memory. */
struct xw_build_itree *xw_build_itree_gather(const struct xw_dir_entry *e, uint32_t n);
/* Shaped: order the names and plan the nodes. XW_ERR_LIMIT: it would be too deep. */
int xw_build_itree_plan(const struct xw_builder *b, struct xw_build_itree *t);
void xw_build_itree_free(struct xw_build_itree *t);
int xw_build_itree_place(struct xw_builder *b, const struct xw_binode *dir);
/* 0 where there is none. */
uint64_t xw_build_itree_blocks(const struct xw_binode *dir);
xw_blk xw_build_itree_root(const struct xw_binode *dir);
int xw_build_itree_write(struct xw_builder *b, const struct xw_binode *dir);

/* inline.c */

/*
 * Bytes of contents that n's inode takes beside the xattrs n has; -1: none, also not an empty file
 * (feature, size of inodes, too many xattrs).
 */
int64_t xw_inline_room(const struct xw_builder *b, const struct xw_binode *n);
/* Whether dir's names fit; then it is XW_BN_INLINE, with its size. Else nothing changes. */
bool xw_inline_shape(const struct xw_builder *b, struct xw_binode *dir);
/* Contents or names into a record whose other fields and xattrs are there. */
void xw_inline_encode(const struct xw_builder *b, const struct xw_binode *n, uint8_t *record,
		      uint32_t extra_isize);

/* attrs.c: xattr blocks and EA inodes */
int xw_attrs_count_ea(struct xw_builder *b);
int xw_attrs_place(struct xw_builder *b);
int xw_attrs_write_block(struct xw_builder *b, size_t index);
/* The fields that make n an EA inode: value hash, reference count. */
void xw_attrs_encode_ea(const struct xw_builder *b, const struct xw_binode *ea,
			struct xw_inode *in);
int xw_attrs_write_value(struct xw_builder *b, const struct xw_binode *ea);
void xw_attrs_encode_ibody(const struct xw_builder *b, const struct xw_binode *n, uint8_t *area,
			   size_t size);

/* itable.c */
int xw_itable_write(struct xw_builder *b, uint32_t group);
int xw_itable_encode(const struct xw_builder *b, const struct xw_binode *n, struct xw_inode *in);
/*
 * What i_blocks counts, in blocks, all of them in whole clusters: contents, map and itree; xattr
 * block and values.
 */
uint64_t xw_itable_held(const struct xw_builder *b, const struct xw_binode *n);
uint64_t xw_itable_held_xattrs(const struct xw_builder *b, const struct xw_binode *n);
/* The whole record, xattrs and inline data included, into zeroed memory; no checksum yet. */
int xw_itable_record(const struct xw_builder *b, const struct xw_binode *n, uint8_t *record);

/* finish.c: the superblock's reference to journal inode 8, and its copy of where that is. */
void xw_build_name_journal(struct xw_super *sb, const struct xw_inode *in);

/* special.c: journal and resize inode */
int xw_special_items(struct xw_builder *b);
void xw_resize_encode(const struct xw_builder *b, struct xw_inode *in);
int xw_journal_write(struct xw_builder *b);
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
