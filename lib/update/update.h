/* SPDX-License-Identifier: MIT */
/*
 * An image opened for change, above the blocks: inodes and space come and go, and the bitmaps,
 * descriptors, quota files and the superblock follow.
 *
 *      xw_edit_begin(path, ..., &e)            session/edit.h: recovered, an overlay over it
 *      xw_update_begin(xw_edit_dev(e), ...)    checked, orphans released
 *      ... u->space, u->out, xw_update_*()     new contents go to space free in the old state
 *      xw_update_tree(u, &tree)                a filled tree: built, placed, written
 *      xw_update_flush(u)                      all of it is on the device
 *      xw_update_close(u)
 *      xw_edit_commit(e, &info)                as one unit; without it the image is what it was
 *
 * What the change frees stays taken until the commit (session/edit.h says why): it is collected in
 * `freed` and given back to the bitmaps when they are written. Who goes on behind xw_update_flush()
 * relies on the edit's device, which holds what is written to blocks of the old state.
 *
 * Everything is checked as far as it is touched: what is freed must be in use, belong to nobody
 * else in this change, and be no metadata of groups.
 */
#ifndef XW_UPDATE_UPDATE_H
#define XW_UPDATE_UPDATE_H

#include "base/pool.h"
#include "base/table.h"
#include "place/place.h"
#include "plan/params.h"
#include "read/bitmaps.h"
#include "read/image.h"
#include "read/space.h"
#include "space/inodes.h"
#include "space/space.h"
#include "tree/tree.h"

#pragma GCC visibility push(default)

/* RO_COMPAT features under which images are changed. */
#define XW_UPDATE_RO_KNOWN                                                                         \
	(XW_RO_SPARSE_SUPER | XW_RO_LARGE_FILE | XW_RO_HUGE_FILE | XW_RO_GDT_CSUM |                \
	 XW_RO_DIR_NLINK | XW_RO_EXTRA_ISIZE | XW_RO_QUOTA | XW_RO_METADATA_CSUM | XW_RO_PROJECT | \
	 XW_RO_VERITY | XW_RO_ORPHAN_PRESENT | XW_RO_ITREE | XW_RO_BIGALLOC)

struct xw_update_opts {
	int64_t now; /* seconds: ctime, dtime, s_wtime */
	struct xw_alloc_tunables mb; /* -1 each: defaults */
	unsigned jobs; /* 0 = processors */
	/*
	 * For debuggers: errors, a filesystem that is not clean, bitmaps and counts that do not
	 * agree are no reasons to refuse; counts change by what the change takes and frees, what is
	 * freed may be free already, and orphans stay where they are.
	 */
	bool lax;
	unsigned image_flags; /* XW_IMAGE_*, under lax */
	/*
	 * Under lax: refuse a bitmap whose checksum is wrong, unless XW_IMAGE_NOCSUM; never
	 * allocate metadata of groups, nor an inode whose record has links (protect.c).
	 */
	bool protect;
};

/* A record of an inode table to be written. */
struct xw_update_rec {
	xw_ino ino;
	const struct xw_binode *node; /* a new inode: encoded from the model */
	uint8_t *raw; /* else: its bytes (malloc'd), checksum not yet set */
};

/* Under `lax`: by how much a group's descriptor and its bitmaps disagree; see lax.c. */
struct xw_update_bias {
	uint32_t group;
	bool know_blocks, know_inodes;
	int64_t blocks, inodes, dirs; /* what the descriptor says less what there is */
};

/* Under `protect`: free in its bitmap, and not to be allocated; see protect.c. */
struct xw_update_exposed {
	uint32_t group, bit;
	bool inode;
};

struct xw_update {
	struct xw_image *img; /* on the caller's device, which is img->dev */
	struct xw_dev *data; /* where edit.h writes contents of files; img->dev but in a session */
	struct xw_sysmap *sysmap;
	struct xw_space_view view; /* what `space` knows the image by */
	struct xw_space *space;
	struct xw_ispace *inodes;
	struct xw_diag *diag;
	struct xw_out out; /* bulk writes */
	struct xw_pool *pool;
	struct xw_placer place; /* share and intern are set by who has xattrs */
	int64_t now;
	XW_VEC(struct xw_run) freed; /* free after the commit */
	/* In a session; see contents.c. */
	uint64_t held_max; /* bytes of memory that u->data may use when contents are added */
	XW_VEC(struct xw_run) fence; /* free, and kept from the allocator */
	xw_blk passed; /* where contents ended last that are not held */
	XW_VEC(struct xw_update_rec) recs; /* one an inode */
	struct xw_table rec_of; /* by number; see itable.c */
	struct xw_table usage[XW_QUOTA_TYPES]; /* what owners gain and lose; see quota.c */
	uint64_t dirs; /* directories of the image when it was opened, as descriptors say */
	unsigned quota_types; /* 1 << type: has a quota file */
	bool large_file; /* the change makes a file of 2 GiB or more */
	bool lax, protect;
	struct xw_update_lax {
		XW_VEC(struct xw_update_exposed) exposed;
		XW_VEC(struct xw_update_bias) groups;
		int64_t blocks, inodes; /* the superblock's counts less the descriptors' */
	} bias;
	struct xw_update_stats {
		uint64_t freed_blocks, freed_inodes, new_inodes, rebuilt_directories, orphans;
	} stats;
};

/*
 * Open the image on dev for change; it is recovered already. XW_ERR_STATE: the image is marked as
 * having errors (run xw-fsck -f); XW_ERR_UNSUPPORTED: a feature that cannot be changed with; else
 * what xw_image_open() reports. dev stays the caller's: what becomes of it after xw_update_flush()
 * is the caller's business. *out is closed with xw_update_close().
 */
int xw_update_begin(struct xw_dev *dev, const struct xw_update_opts *opts, struct xw_diag *diag,
		    struct xw_update **out);
/*
 * The tree, which came from xw_tree_image_init() on u->img and was filled with u's space, share and
 * intern, becomes the image's. Space for all that it needs is taken first: XW_ERR_NOSPC and
 * XW_ERR_NOINODES say what is missing.
 */
int xw_update_tree(struct xw_update *u, struct xw_tree *t);
/*
 * Bitmaps, descriptors, quota, inodes, superblock, to the device. The change can go on from there:
 * what was freed can be taken again. After a failure it can only be closed.
 */
int xw_update_flush(struct xw_update *u);
void xw_update_close(struct xw_update *u); /* NULL is fine */

/* ---- one inode, one run ---- */

/* Free after the commit. XW_ERR_CORRUPT: metadata, or outside the filesystem. */
int xw_update_free(struct xw_update *u, xw_blk blk, uint64_t len);
/* All blocks of an inode's contents, map and itree. */
int xw_update_free_map(struct xw_update *u, xw_ino ino, const struct xw_inode *in);
/* The references an inode has to its xattr block and to EA inodes; *ea counts the latter. */
int xw_update_free_xattrs(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			  const uint8_t *raw, uint64_t *ea);
/* Values of its attributes that are in EA inodes, each of which quota counts as an inode of it. */
int xw_update_count_ea(struct xw_update *u, const struct xw_inode *in, const uint8_t *raw,
		       uint64_t *n_ea);
/* Add the attributes of an inode to *set, values and all. */
int xw_update_xattrs(struct xw_update *u, xw_ino ino, struct xw_xattr_set *set);
/*
 * The contents of an inode that is there are n's from now on: its map and size into *in, the old
 * blocks are freed, what its xattrs take of i_blocks stays.
 */
int xw_update_remap(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in);
/*
 * What an inode has goes: its blocks, its attributes, its number, and what its owners are charged
 * for it. The record is the caller's to change.
 */
int xw_update_empty(struct xw_update *u, xw_ino ino, const struct xw_inode *in, const uint8_t *raw);
/* The inode goes, with all it has: its last name is gone. */
int xw_update_drop(struct xw_update *u, xw_ino ino);
/*
 * The record of an inode that is there is to become raw (owned from here on) with `in` encoded over
 * it.
 */
int xw_update_put(struct xw_update *u, xw_ino ino, const struct xw_inode *in, uint8_t *raw);
/* The record of a new inode, encoded from the model when it is written. */
int xw_update_put_node(struct xw_update *u, const struct xw_binode *node);
/* What an inode's owners gain in quota (negative: lose), in inodes and bytes. */
int xw_update_charge(struct xw_update *u, const struct xw_inode *in, int64_t inodes, int64_t bytes);
/* i_blocks, in bytes. */
uint64_t xw_update_bytes(const struct xw_update *u, const struct xw_inode *in);
/* A quota file as xw_quota_decode() reads it, with a line where it is none. */
int xw_update_quota_read(struct xw_update *u, enum xw_quota_type type, xw_ino ino,
			 const struct xw_inode *in, const uint8_t *raw, xw_quota_take *fn,
			 void *arg);
/* The file is to have these entries, ids ascending; what is charged before the end is added. */
int xw_update_quota_write(struct xw_update *u, enum xw_quota_type type, xw_ino ino,
			  const struct xw_quota_entry *e, size_t n);
/* Read an inode: *raw is malloc'd. A record that was put before this is what is read. */
int xw_update_get(struct xw_update *u, xw_ino ino, struct xw_inode *in, uint8_t **raw);

#pragma GCC visibility pop

#endif
