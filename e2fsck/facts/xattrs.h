/* SPDX-License-Identifier: MIT */
/* Facts about attributes, shared by the files of that phase and quota.c. */
#ifndef XW_FSCK_XATTRS_H
#define XW_FSCK_XATTRS_H

#include "disk/xattrblk.h"
#include "fsck.h"

/* An attribute block. */
struct fsck_xattr_block {
	xw_blk blk; /* 0: not in use */
	uint32_t refs; /* number of inodes that refer to it */
	uint32_t stored; /* its h_refcount */
	uint32_t n_ea; /* entries with values in EA inodes */
	uint64_t ea_blocks; /* blocks that those add to i_blocks of each owner */
	bool bad; /* not an xattr block: references are cleared if the user agrees */
};

/* An inode to which attributes refer. */
struct fsck_ea {
	xw_ino ino; /* 0: not in use */
	uint64_t refs; /* number of entries; those of a shared block count once */
	uint32_t size; /* of the value */
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
	bool feature_told; /* the missing feature of EA inodes was reported */
	xw_ino last; /* the inode that was checked last, */
	uint64_t last_ea; /* and the number of its entries with values in EA inodes, for quota */
};

/* Contents of an area, in an inode record or a block. */
struct fsck_xattr_area {
	xw_ino ino; /* the owner, or one of them */
	uint32_t generation; /* of the owner */
	xw_blk blk; /* 0: in the record */
	uint8_t *p;
	size_t size;
	uint32_t n_ea;
	uint64_t ea_blocks;
	bool changed; /* p was rebuilt without the bad entries; checksum not set */
	bool empty; /* ... and no entry is left */
	bool has_data; /* it contains system.data, for inline contents */
};

/*
 * xattr_area.c: check all entries; invalid ones are removed if agreed to. The remaining entries are
 * counted for their EA inodes.
 */
int fsck_xattr_area(struct fsck *f, struct fsck_xattr_area *a);
/*
 * Is it in use as an EA inode, whatever its mode and link count: with the flag, and the contents
 * that its hash tells?
 */
bool fsck_is_ea_inode(struct fsck *f, xw_ino ino, const struct xw_inode *in);
/* Add system.data without a value: for inline contents that fit i_block. */
int fsck_xattr_add_data(struct fsck *f, struct fsck_xattr_area *a);

/* Slots of the tables, created if necessary; NULL: out of memory, reported. */
struct fsck_xattr_block *fsck_xattr_block_slot(struct fsck *f, xw_blk blk);
struct fsck_ea *fsck_ea_slot(struct fsck *f, xw_ino ino);

/* xattr_share.c: -E share_xattrs. */
int fsck_xattr_share(struct fsck *f, struct fsck_xattr_block *blocks, size_t n);

#endif
