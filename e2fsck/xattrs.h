/* SPDX-License-Identifier: MIT */
/* Facts about attributes, between the files of that phase and quota.c. */
#ifndef XW_FSCK_XATTRS_H
#define XW_FSCK_XATTRS_H

#include "disk/xattrblk.h"
#include "fsck.h"

/* An attribute block. */
struct fsck_xattr_block {
	xw_blk blk; /* 0: not in use */
	uint32_t refs; /* inodes that refer to it */
	uint32_t stored; /* its h_refcount */
	uint32_t n_ea; /* entries with values in EA inodes */
	uint64_t ea_blocks; /* what those add to i_blocks of each owner */
	bool bad; /* no attribute block: references are cleared, where the user agrees */
};

/* An inode that attributes refer to. */
struct fsck_ea {
	xw_ino ino; /* 0: not in use */
	uint64_t refs; /* entries, those of a shared block once */
	bool old; /* made by Lustre: refers to its owner and has no reference count */
};

/* An inode and its attribute block, for -E share_xattrs. */
struct fsck_xattr_user {
	xw_ino ino;
	xw_blk blk;
};

struct fsck_xattrs {
	struct xw_table blocks; /* of struct fsck_xattr_block */
	struct xw_table eas; /* of struct fsck_ea */
	XW_VEC(struct fsck_xattr_user) users;
	uint8_t *buf; /* two blocks */
	xw_ino last; /* the inode that was looked at last, */
	uint64_t last_ea; /* and its entries with values in EA inodes: quota counts them */
};

/* What an area, of an inode's record or a block, was found to hold. */
struct fsck_xattr_area {
	xw_ino ino; /* owner, or one of them */
	uint32_t generation; /* of the owner */
	xw_blk blk; /* 0: in the record */
	uint8_t *p;
	size_t size;
	uint32_t n_ea;
	uint64_t ea_blocks;
	bool changed; /* p was rebuilt without the bad entries; checksum not set */
	bool empty; /* ... and nothing is left */
	bool has_data; /* system.data, of inline contents, is there */
};

/*
 * xattr_area.c: checks all entries; bad ones go where that is agreed to. The entries that are left
 * count for their EA inodes.
 */
int fsck_xattr_area(struct fsck *f, struct fsck_xattr_area *a);
/* Adds system.data without a value: inline contents that i_block holds alone. */
int fsck_xattr_add_data(struct fsck *f, struct fsck_xattr_area *a);

/* Slots of the tables, made if need be; NULL: out of memory, said. */
struct fsck_xattr_block *fsck_xattr_block_slot(struct fsck *f, xw_blk blk);
struct fsck_ea *fsck_ea_slot(struct fsck *f, xw_ino ino);

/* xattr_share.c: -E share_xattrs. */
int fsck_xattr_share(struct fsck *f, struct fsck_xattr_block *blocks, size_t n);

#endif
