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
#include "xattr/cache.h"

/* RO_COMPAT features under which images are changed. */
#define XW_UPDATE_RO_KNOWN                                                                         \
	(XW_RO_SPARSE_SUPER | XW_RO_LARGE_FILE | XW_RO_HUGE_FILE | XW_RO_GDT_CSUM |                \
	 XW_RO_DIR_NLINK | XW_RO_EXTRA_ISIZE | XW_RO_QUOTA | XW_RO_METADATA_CSUM | XW_RO_PROJECT | \
	 XW_RO_VERITY | XW_RO_ORPHAN_PRESENT | XW_RO_ITREE | XW_RO_BIGALLOC)

struct xw_update_opts {
	int64_t now; /* in seconds: for ctime, dtime, s_wtime */
	struct xw_alloc_tunables mb; /* -1 each: default */
	unsigned jobs; /* 0 = processors */
	/*
	 * For debuggers: errors, a filesystem that is not clean, and inconsistent bitmaps and
	 * counts are accepted; counts change by what the change allocates and frees, freed blocks
	 * may be free already, and orphans are not processed.
	 */
	bool lax;
	unsigned image_flags; /* XW_IMAGE_*, under lax */
	/*
	 * With lax: refuse a bitmap with a wrong checksum, unless XW_IMAGE_NOCSUM; never allocate
	 * group metadata, nor an inode whose record has links (protect.c).
	 */
	bool protect;
	/*
	 * Called for each orphan that is cut short within a block, instead of zeroing the rest of
	 * that block, which another file may have as well: for checkers. NULL: it is zeroed.
	 */
	int (*cut)(void *arg, xw_ino ino);
	void *cut_arg;
};

/* An inode record to be written. */
struct xw_update_rec {
	xw_ino ino;
	const struct xw_binode *node; /* a new inode: encoded from the model */
	uint8_t *raw; /* otherwise its bytes (malloc'd), checksum not set yet */
};

/* With `lax`: the difference between a group's descriptor and its bitmaps; see unchecked.c. */
struct xw_update_bias {
	uint32_t group;
	bool know_blocks, know_inodes;
	int64_t blocks, inodes, dirs; /* value in the descriptor minus the actual one */
};

/* With `protect`: free in its bitmap, but must not be allocated; see protect.c. */
struct xw_update_exposed {
	uint32_t group, bit;
	bool inode;
};

struct xw_update {
	struct xw_image *img; /* on the caller's device, which is img->dev */
	/* destination of file contents written by edit.h; img->dev except in steps */
	struct xw_dev *data;
	struct xw_sysmap *sysmap;
	struct xw_space_view view; /* the view of the image used by `space` */
	struct xw_space *space;
	struct xw_ispace *inodes;
	struct xw_diag *diag;
	struct xw_out out; /* bulk writes */
	struct xw_pool *pool;
	struct xw_placer place; /* share and intern are set by users with xattrs */
	struct xw_update_shared *xattrs; /* xattr blocks of the image by content: share_xattr.c */
	int64_t now;
	XW_VEC(struct xw_run) freed; /* to be freed after the commit */
	/* In steps; see edit/contents.c. */
	uint64_t held_max; /* maximum memory of u->data, in bytes, when contents are added */
	XW_VEC(struct xw_run) fence; /* free, and fenced off from the allocator */
	xw_blk passed; /* end of the last contents that were not held */
	XW_VEC(struct xw_update_rec) recs; /* one per inode */
	struct xw_table rec_of; /* by number; see itable.c */
	struct xw_table usage[XW_QUOTA_TYPES]; /* gains and losses of owners; see quota.c */
	/* number of directories when the image was opened, according to descriptors */
	uint64_t dirs;
	unsigned quota_types; /* 1 << type: has a quota file */
	bool large_file; /* the change creates a file of 2 GiB or more */
	bool lax, protect;
	bool leave_quota; /* see steps.h */
	int (*cut)(void *arg, xw_ino ino); /* see the options */
	void *cut_arg;
	struct xw_update_lax {
		XW_VEC(struct xw_update_exposed) exposed;
		XW_VEC(struct xw_update_bias) groups;
		/* counts of the superblock minus those of the descriptors */
		int64_t blocks, inodes;
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
 * Bitmaps, descriptors, quota, inodes, superblock, to the device. The change can go on from there:
 * what was freed can be taken again. After a failure it can only be closed.
 */
int xw_update_flush(struct xw_update *u);
void xw_update_close(struct xw_update *u); /* u may be NULL */

/* ---- one inode, one run ---- */

/* Free after the commit. XW_ERR_CORRUPT: metadata, or outside the filesystem. */
int xw_update_free(struct xw_update *u, xw_blk blk, uint64_t len);
/* Free one block of a map or itree, the only one of its cluster. */
int xw_update_free_one(struct xw_update *u, xw_blk blk);
/* Set the record of an existing inode to raw (owned from here on) with `in` encoded over it. */
int xw_update_put(struct xw_update *u, xw_ino ino, const struct xw_inode *in, uint8_t *raw);
/* Write the record of a new inode, encoded from the model later. */
int xw_update_put_node(struct xw_update *u, const struct xw_binode *node);
/* Add (negative: subtract) quota usage of an inode's owners, in inodes and bytes. */
int xw_update_charge(struct xw_update *u, const struct xw_inode *in, int64_t inodes, int64_t bytes);
/* i_blocks, in bytes. */
uint64_t xw_update_bytes(const struct xw_update *u, const struct xw_inode *in);
/* Read a quota file as xw_quota_decode() does, with a message if it is invalid. info: or NULL. */
int xw_update_quota_read(struct xw_update *u, enum xw_quota_type type, xw_ino ino,
			 const struct xw_inode *in, const uint8_t *raw, struct xw_quota_info *info,
			 xw_quota_entry_fn *fn, void *arg);
/*
 * Set the entries of the file, ids ascending, and the grace times in *info; usage charged before
 * the end is added.
 */
int xw_update_quota_write(struct xw_update *u, enum xw_quota_type type, xw_ino ino,
			  const struct xw_quota_entry *e, size_t n,
			  const struct xw_quota_info *info);
/* Read an inode: *raw is malloc'd. A record that was put before is returned. */
int xw_update_get(struct xw_update *u, xw_ino ino, struct xw_inode *in, uint8_t **raw);
/* Write all records at once, to save memory; later readers of the image find them there. */
int xw_update_flush_recs(struct xw_update *u);

/*
 * Change one bit of a bitmap, with `lax`; counts are not updated. XW_ERR_EXISTS, without a message:
 * it has that value already.
 */
int xw_update_mark_block(struct xw_update *u, xw_blk blk, bool used);
int xw_update_mark_inode(struct xw_update *u, xw_ino ino, bool used);

#endif
