/* SPDX-License-Identifier: MIT */
/* Facts about attributes, shared by the phase `xattrs` and usage.c. */
#ifndef XW_FSCK_XATTRS_H
#define XW_FSCK_XATTRS_H

#include "disk/xattrblk.h"
#include "facts/facts.h"

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
	bool lost; /* the value is in another inode; correcting the number was declined */
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
	xw_ino last; /* the inode that was checked last */
	uint64_t last_ea; /* its number of entries with values in EA inodes, for quota */
};

extern const struct xw_table_kind fsck_xattr_by_block, fsck_ea_by_ino;
/* Slots of the tables, created if necessary; NULL: out of memory, reported. */
struct fsck_xattr_block *fsck_xattr_block_slot(struct fsck *f, xw_blk blk);
struct fsck_ea *fsck_ea_slot(struct fsck *f, xw_ino ino);
/* A list of f->facts.xattrs->eas by inode number, as their findings are reported; free it. */
int fsck_ea_list(struct fsck *f, struct fsck_ea **v, size_t *n);
void fsck_xattrs_free(struct fsck *f);

#endif
