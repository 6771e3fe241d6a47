/* SPDX-License-Identifier: MIT */
/*
 * An opened image: superblock, group descriptors, inodes. Read-only; everything is read from the
 * device on demand, and memory does not grow with the size of the image. A handle may be used by
 * one thread at a time; several handles (a superblock and a small cache each) may read one device
 * in parallel.
 *
 * The contents are not trusted: block numbers must be inside the filesystem, structures inside
 * their blocks, and checksums must match (unless XW_IMAGE_NOCSUM). Each failure names the object.
 */
#ifndef XW_READ_IMAGE_H
#define XW_READ_IMAGE_H

#include "base/err.h"
#include "base/types.h"
#include "dev/dev.h"
#include "disk/group.h"
#include "disk/inode.h"
#include "disk/super.h"

struct xw_meta_cache;

/*
 * Inode records that an update has changed in memory but not yet written. `record` copies the
 * record of ino, whose checksum is not yet set, to raw (inode_size bytes) and sets *found to true;
 * without such a record *found is false and raw unchanged. A negative code is a failure.
 */
struct xw_image_pending {
	int (*record)(void *arg, xw_ino ino, uint8_t *raw, bool *found);
	void *arg;
};

struct xw_image {
	struct xw_dev *dev; /* borrowed */
	struct xw_diag *diag; /* may be NULL */
	struct xw_super sb;
	unsigned flags;
	uint32_t block_size, inode_size, desc_size;
	uint32_t csum_seed;
	uint64_t groups;
	uint32_t itable_blocks; /* blocks in the inode table of a group */
	struct xw_meta_cache *cache;
	/* takes precedence in xw_image_inode() and scans; record is NULL after opening */
	struct xw_image_pending pending;
};

/* Flags of open. */
#define XW_IMAGE_NOCSUM 0x1 /* checksums are not verified: for checkers and debuggers */
#define XW_IMAGE_ANY_FEATURES 0x2 /* accept unknown incompat features */
#define XW_IMAGE_SHORT 0x4 /* accept a device shorter than the filesystem */
#define XW_IMAGE_LENIENT 0x8 /* skip damaged descriptors, see xw_sysmap_new() */

/*
 * Open the filesystem on dev through its primary superblock. dev is borrowed. XW_ERR_INPUT: not an
 * ext2/3/4 filesystem. XW_ERR_UNSUPPORTED: unknown features. XW_ERR_TRUNCATED: the device is too
 * short. If the journal needs recovery, a warning is logged, and the image shows the state before
 * recovery.
 */
int xw_image_open(struct xw_dev *dev, unsigned flags, struct xw_diag *diag, struct xw_image **out);
/* img may be NULL. */
void xw_image_close(struct xw_image *img);
/* Drop cached metadata; must be called after writes to the device. */
void xw_image_drop_cache(struct xw_image *img);

/* Are blocks [blk, blk + len) inside the filesystem and after block first_data_block? */
static inline bool xw_image_has_blocks(const struct xw_image *img, xw_blk blk, uint64_t len)
{
	return blk > img->sb.first_data_block && blk < img->sb.blocks_count &&
	       len <= img->sb.blocks_count - blk;
}

/*
 * Read len bytes from byte off of block blk, not crossing the end of the block, through the
 * metadata cache.
 */
int xw_image_meta(struct xw_image *img, xw_blk blk, uint32_t off, void *buf, size_t len);

/* XW_ERR_TRUNCATED, with both sizes: the filesystem of this superblock exceeds the device. */
int xw_image_fits(const struct xw_dev *dev, const struct xw_super *sb, struct xw_diag *diag);
/*
 * The part of the filesystem on the device, which may be shorter with XW_IMAGE_SHORT: the number of
 * blocks, and of groups that start on the device or share a flex_bg with such a group. For the
 * bounds of loops: a damaged superblock may claim billions of blocks.
 */
uint64_t xw_image_blocks_here(const struct xw_image *img);
uint64_t xw_image_groups_here(const struct xw_image *img);

/* The block with the descriptor of `group`, which must be below img->groups. */
xw_blk xw_image_desc_block(const struct xw_image *img, uint64_t group);
/* Does `group` start with a copy of the superblock? */
bool xw_image_has_super(const struct xw_image *img, uint64_t group);
int xw_image_group(struct xw_image *img, uint64_t group, struct xw_group_desc *out);

/* The metadata at the start of a group, in this order; a length of 0 means none. */
struct xw_group_head {
	uint32_t boot; /* a block before the superblock: bigalloc with 1 KiB blocks */
	bool has_super;
	xw_blk super; /* block of the superblock, also without has_super */
	bool meta_bg; /* a single block of descriptors, as with meta_bg */
	/* number of descriptor blocks, and of reserved GDT blocks */
	uint64_t desc_len, reserved_len;
};
void xw_image_group_head(const struct xw_image *img, uint64_t group, struct xw_group_head *out);

/*
 * Read and decode inode ino; raw (inode_size bytes) may be NULL. XW_ERR_CORRUPT: the inode number
 * or the location of the table is invalid, or the record cannot be decoded; XW_ERR_CHECKSUM. In the
 * last two cases raw and *out are filled as far as possible.
 */
int xw_image_inode(struct xw_image *img, xw_ino ino, struct xw_inode *out, uint8_t *raw);
/* Checksum seed for all blocks that belong to an inode. */
uint32_t xw_image_inode_seed(const struct xw_image *img, xw_ino ino, const struct xw_inode *inode);

/*
 * All inode records of groups [group, end_group) in order, read in large runs. Never used inodes
 * (bg_itable_unused) are skipped. Free records are returned as well; callers check mode and links.
 */
struct xw_inode_scan {
	struct xw_image *img;
	uint64_t group, end_group;
	uint32_t index, count; /* next record of the group, number of records to visit */
	xw_blk table;
	uint32_t buf_first, buf_count; /* records in the buffer */
	uint8_t *buf;
};
int xw_inode_scan_begin(struct xw_image *img, uint64_t group, uint64_t end_group,
			struct xw_inode_scan *s);
/*
 * 1: *ino and *raw (valid until the next call), 0: end, negative: this group cannot be read; the
 * next call continues after it.
 */
int xw_inode_scan_next(struct xw_inode_scan *s, xw_ino *ino, const uint8_t **raw);
void xw_inode_scan_end(struct xw_inode_scan *s);

#endif
