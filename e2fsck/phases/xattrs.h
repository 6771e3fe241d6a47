/* SPDX-License-Identifier: MIT */
/* Shared by the files of the phase `xattrs`. */
#ifndef XW_FSCK_XATTRS_PHASE_H
#define XW_FSCK_XATTRS_PHASE_H

#include "facts/xattrs.h"
#include "phases/phases.h"

/* The attributes in an inode record or a block. */
struct fsck_xattr_area {
	xw_ino ino; /* the owner, or one of them */
	uint32_t generation; /* of the owner */
	xw_blk blk; /* 0: in the record */
	uint8_t *p;
	size_t size;
	uint32_t n_ea; /* number of entries with values in EA inodes */
	uint64_t ea_blocks; /* blocks that these values add to i_blocks */
	bool changed; /* p was changed; its checksum is stale */
	bool empty; /* p was rebuilt, and no entry is left */
	bool has_data; /* there is an attribute system.data, for inline contents */
};

/*
 * xattr_area.c: check all entries, and remove invalid ones if agreed to. References of the others
 * to EA inodes are counted.
 */
int fsck_xattr_area(struct fsck *f, struct fsck_xattr_area *a);
/*
 * Is this an EA inode in use, according to its flag and the hash of its value? Mode and link count
 * are ignored.
 */
bool fsck_is_ea_inode(struct fsck *f, xw_ino ino, const struct xw_inode *in);
/* Blocks that values in EA inodes add to i_blocks of the inode, according to unchecked entries. */
uint64_t fsck_xattr_values(struct fsck *f, const struct xw_inode *in, const uint8_t *raw);
/* *other: the value is readable, but its hash, *hash, differs from the stored one. */
int fsck_ea_other_hash(struct fsck *f, xw_ino ino, const struct xw_inode *in, bool *other,
		       uint32_t *hash);
/* Add system.data with an empty value, for inline contents that fit in i_block. */
int fsck_xattr_add_data(struct fsck *f, struct fsck_xattr_area *a);

/* xattr_share.c: -E share_xattrs. */
int fsck_xattr_share(struct fsck *f, struct fsck_xattr_block *blocks, size_t n);

#endif
