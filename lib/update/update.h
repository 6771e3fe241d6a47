/* SPDX-License-Identifier: MIT */
/*
 * An image opened for change, above the block level: inodes and space are allocated and freed, and
 * the bitmaps, descriptors, quota files and the superblock follow.
 *
 *        xw_edit_begin(path, ..., &e)            session/edit.h: recovered, with an overlay
 *        xw_update_begin(xw_edit_dev(e), ...)    checked, orphans released
 *        ... u->space, u->out, xw_update_*()     new contents go to space free in the old state
 *        xw_update_tree(u, &tree)                a filled tree: built, placed, written
 *        xw_update_flush(u)                      everything is on the device
 *        xw_update_close(u)
 *        xw_edit_commit(e, &info)                atomically; without it the image is unchanged
 *
 * Blocks freed by the change stay allocated until the commit (session/edit.h says why): they are
 * collected in `freed`, and released when the bitmaps are written. Code that continues after
 * xw_update_flush() relies on the edit's device, which holds writes to blocks of the old state in
 * memory.
 *
 * Everything accessed is checked: freed blocks must be in use, freed only once by this change, and
 * not belong to group metadata.
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

/* RO_COMPAT features of images that can be changed. */
#define XW_UPDATE_RO_KNOWN                                                                         \
	(XW_RO_SPARSE_SUPER | XW_RO_LARGE_FILE | XW_RO_HUGE_FILE | XW_RO_GDT_CSUM |                \
	 XW_RO_DIR_NLINK | XW_RO_EXTRA_ISIZE | XW_RO_QUOTA | XW_RO_METADATA_CSUM | XW_RO_PROJECT | \
	 XW_RO_VERITY | XW_RO_ORPHAN_PRESENT | XW_RO_ITREE | XW_RO_BIGALLOC)

struct xw_update_opts {
	int64_t now; /* in seconds: for ctime, dtime, s_wtime */
	struct xw_alloc_tunables mb; /* -1 each: default */
	unsigned jobs; /* 0 = processors */
	/*
	 * For debugger, checker and fast commits: errors, a filesystem that is not clean, and
	 * inconsistent bitmaps and counts are accepted. Counts change by the blocks and inodes that
	 * the change allocates and frees, freed blocks may be free already, and orphans are not
	 * processed.
	 */
	bool unchecked;
	unsigned image_flags; /* XW_IMAGE_*, with unchecked */
	/*
	 * With unchecked: refuse a bitmap with an invalid checksum, unless XW_IMAGE_NOCSUM; never
	 * allocate group metadata, nor an inode whose record has links (protect.c).
	 */
	bool protect;
	/*
	 * Called for each orphan that is truncated within a block, instead of zeroing the rest of
	 * that block, which may also belong to another file: for checkers. NULL: the rest is
	 * zeroed.
	 */
	int (*cut)(void *arg, xw_ino ino);
	void *cut_arg;
};

/* An inode record to be written. */
struct xw_update_rec {
	xw_ino ino;
	const struct xw_binode *node; /* a new inode, encoded from the model; or NULL */
	uint8_t *raw; /* the record (malloc'd) if node is NULL, without its checksum */
};

/*
 * With `unchecked`: the difference between a group's descriptor and its bitmaps; see unchecked.c.
 */
struct xw_update_bias {
	uint32_t group;
	bool know_blocks, know_inodes;
	int64_t blocks, inodes, dirs; /* value in the descriptor minus the counted one */
};

/* With `protect`: free in the bitmap, but never allocated; see protect.c. */
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
	/* in steps; see edit/contents.c */
	uint64_t held_max; /* maximum memory of u->data, in bytes, when contents are added */
	XW_VEC(struct xw_run) fence; /* free blocks withheld from the allocator */
	xw_blk passed; /* end of the last contents that were written to the image */
	XW_VEC(struct xw_update_rec) recs; /* one per inode */
	struct xw_table rec_of; /* by number; see itable.c */
	struct xw_table usage[XW_QUOTA_TYPES]; /* gains and losses of owners; see quota.c */
	/* number of directories when the image was opened, according to descriptors */
	uint64_t dirs;
	unsigned quota_types; /* 1 << type: has a quota file */
	bool large_file; /* the change creates a file of 2 GiB or more */
	bool unchecked, protect;
	bool leave_quota; /* see steps.h */
	int (*cut)(void *arg, xw_ino ino); /* see the options */
	void *cut_arg;
	struct xw_update_biases {
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
 * Open the recovered image on dev for change. XW_ERR_STATE: the image is marked as having errors
 * (run xw-fsck -f); XW_ERR_UNSUPPORTED: a feature that this code cannot change an image with;
 * otherwise the errors of xw_image_open(). The caller keeps dev, and decides what happens to it
 * after xw_update_flush(). *out is closed with xw_update_close().
 */
int xw_update_begin(struct xw_dev *dev, const struct xw_update_opts *opts, struct xw_diag *diag,
		    struct xw_update **out);
/*
 * Write bitmaps, descriptors, quota, inodes and superblock to the device. The change may continue
 * afterwards, and may reallocate the blocks it freed. After a failure it can only be closed.
 */
int xw_update_flush(struct xw_update *u);
void xw_update_close(struct xw_update *u); /* u may be NULL */

/* ---- one inode, one run ---- */

/* Free blocks after the commit. XW_ERR_CORRUPT: metadata, or outside the filesystem. */
int xw_update_free(struct xw_update *u, xw_blk blk, uint64_t len);
/* Free one block of a map or itree, the only one of its cluster. */
int xw_update_free_one(struct xw_update *u, xw_blk blk);
/* Set the record of an existing inode to raw with `in` encoded over it; takes ownership of raw. */
int xw_update_put(struct xw_update *u, xw_ino ino, const struct xw_inode *in, uint8_t *raw);
/* Set the record of a new inode, which is encoded from the model later. */
int xw_update_put_node(struct xw_update *u, const struct xw_binode *node);
/* Add (negative: subtract) quota usage of an inode's owners, in inodes and bytes. */
int xw_update_charge(struct xw_update *u, const struct xw_inode *in, int64_t inodes, int64_t bytes);
/* i_blocks, in bytes. */
uint64_t xw_update_bytes(const struct xw_update *u, const struct xw_inode *in);
/* Read a quota file like xw_quota_decode(), with a message if it is invalid. info may be NULL. */
int xw_update_quota_read(struct xw_update *u, enum xw_quota_type type, xw_ino ino,
			 const struct xw_inode *in, const uint8_t *raw, struct xw_quota_info *info,
			 xw_quota_entry_fn *fn, void *arg);
/*
 * Set the entries of the file, ids ascending, and the grace times in *info; usage charged before
 * the end of the change is added.
 */
int xw_update_quota_write(struct xw_update *u, enum xw_quota_type type, xw_ino ino,
			  const struct xw_quota_entry *e, size_t n,
			  const struct xw_quota_info *info);
/* Read an inode: *raw is malloc'd. Returns the record set last, if any. */
int xw_update_get(struct xw_update *u, xw_ino ino, struct xw_inode *in, uint8_t **raw);
/* Write all records at once, to save memory; later reads of the image find them there. */
int xw_update_flush_recs(struct xw_update *u);

/*
 * Change one bit of a bitmap, with `unchecked`; counts are not updated. XW_ERR_EXISTS, without a
 * message: the bit has that value already.
 */
int xw_update_mark_block(struct xw_update *u, xw_blk blk, bool used);
int xw_update_mark_inode(struct xw_update *u, xw_ino ino, bool used);

#endif
