/* SPDX-License-Identifier: MIT */
/*
 * An opened image: superblock, group descriptors, inodes. Read-only; everything comes from the
 * device when asked for, and memory does not grow with the size of the image. A handle belongs to
 * one thread at a time; several handles (a superblock and a small cache each) may read one device
 * in parallel.
 *
 * Nothing that is read is trusted: block numbers are checked against the filesystem, structures
 * against their blocks, checksums (unless XW_IMAGE_NOCSUM) against contents; the failure says which
 * object is meant.
 */
#ifndef XW_READ_IMAGE_H
#define XW_READ_IMAGE_H

#include "base/err.h"
#include "base/types.h"
#include "dev/dev.h"
#include "disk/group.h"
#include "disk/inode.h"
#include "disk/super.h"

#pragma GCC visibility push(default)

struct xw_meta_cache;

struct xw_image {
	struct xw_dev *dev; /* borrowed */
	struct xw_diag *diag; /* may be NULL */
	struct xw_super sb;
	unsigned flags;
	uint32_t block_size, inode_size, desc_size;
	uint32_t csum_seed;
	uint64_t groups;
	uint32_t itable_blocks; /* per group */
	struct xw_meta_cache *cache;
};

/* Flags of open. */
#define XW_IMAGE_NOCSUM                                                                            \
	0x1 /* checksums are not verified: checkers and debuggers judge for themselves */
#define XW_IMAGE_ANY_FEATURES 0x2 /* unknown incompat features are no reason to refuse */
#define XW_IMAGE_SHORT 0x4 /* nor is a device shorter than the filesystem */
/* Of many groups, one that is damaged does not keep from the others: see bitmaps.h. */
#define XW_IMAGE_LENIENT 0x8

/*
 * Open the filesystem on dev through its primary superblock. dev stays the caller's and must
 * outlive the image. XW_ERR_INPUT: no ext2/3/4 there. XW_ERR_UNSUPPORTED names the features.
 * XW_ERR_TRUNCATED: the device is too short. A log line at warning level when the journal needs
 * recovery: what is read then is the state before it.
 */
int xw_image_open(struct xw_dev *dev, unsigned flags, struct xw_diag *diag, struct xw_image **out);
/* img may be NULL. */
void xw_image_close(struct xw_image *img);
/* Drop cached metadata: the device under the image was written to. */
void xw_image_forget(struct xw_image *img);

/* Whether blocks [blk, blk + len) lie in the filesystem and behind block first_data_block. */
static inline bool xw_image_has_blocks(const struct xw_image *img, xw_blk blk, uint64_t len)
{
	return blk > img->sb.first_data_block && blk < img->sb.blocks_count &&
	       len <= img->sb.blocks_count - blk;
}

/*
 * Read len bytes from byte off of block blk, which must not reach beyond the block, through the
 * metadata cache.
 */
int xw_image_meta(struct xw_image *img, xw_blk blk, uint32_t off, void *buf, size_t len);

/*
 * What there is of the filesystem where XW_IMAGE_SHORT lets it be longer than the device: its
 * blocks, and the groups that begin on the device, with those that share their metadata with one of
 * these (flex_bg). For loops and budgets: a damaged superblock counts billions.
 */
uint64_t xw_image_blocks_here(const struct xw_image *img);
uint64_t xw_image_groups_here(const struct xw_image *img);

/* The block that holds the descriptor of `group`. group < img->groups. */
xw_blk xw_image_desc_block(const struct xw_image *img, uint64_t group);
/* Whether `group` begins with a copy of the superblock. */
bool xw_image_has_super(const struct xw_image *img, uint64_t group);
int xw_image_group(struct xw_image *img, uint64_t group, struct xw_group_desc *out);

/* What a group begins with, in this order; a length of 0 means that there is none. */
struct xw_group_head {
	uint32_t boot; /* a block in front of the superblock: bigalloc with 1 KiB blocks */
	bool has_super;
	xw_blk super; /* where, or where it would be */
	bool meta_bg; /* one block of descriptors, as meta_bg places them */
	uint64_t desc_len, reserved_len; /* blocks of descriptors, and kept for more of them */
};
void xw_image_group_head(const struct xw_image *img, uint64_t group, struct xw_group_head *out);

/*
 * Inode ino, decoded; raw (inode_size bytes) may be NULL. XW_ERR_CORRUPT: the number or the table's
 * place is impossible, or the record cannot be decoded; XW_ERR_CHECKSUM. raw and *out are filled as
 * far as known also in the last two cases.
 */
int xw_image_inode(struct xw_image *img, xw_ino ino, struct xw_inode *out, uint8_t *raw);
/* Seed of the checksums of all blocks that belong to an inode. */
uint32_t xw_image_inode_seed(const struct xw_image *img, xw_ino ino, const struct xw_inode *inode);

/*
 * All inode records of groups [group, end_group) in order, read in large runs. Parts of tables that
 * the descriptors say were never used are passed over; records in use are not told from free ones:
 * mode and links do that.
 */
struct xw_inode_scan {
	struct xw_image *img;
	uint64_t group, end_group;
	uint32_t index, count; /* in this group: next record, records to see */
	xw_blk table;
	uint32_t buf_first, buf_count; /* records in the buffer */
	uint8_t *buf;
};
int xw_inode_scan_begin(struct xw_image *img, uint64_t group, uint64_t end_group,
			struct xw_inode_scan *s);
/* 1: *ino and *raw (valid until the next call), 0: no more, negative: this group cannot be read;
 * the next call goes on behind it. */
int xw_inode_scan_next(struct xw_inode_scan *s, xw_ino *ino, const uint8_t **raw);
void xw_inode_scan_end(struct xw_inode_scan *s);

#pragma GCC visibility pop

#endif
