/* SPDX-License-Identifier: MIT */
/* Shared by the files of the phase `xattrs`. */
#ifndef XW_FSCK_XATTRS_PHASE_H
#define XW_FSCK_XATTRS_PHASE_H

#include "facts/xattrs.h"
#include "phases/phases.h"

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
 * Is this an EA inode in use, judged by its flag and the hash of its contents? Mode and link count
 * are ignored.
 */
bool fsck_is_ea_inode(struct fsck *f, xw_ino ino, const struct xw_inode *in);
/*
 * Blocks that values in EA inodes add to i_blocks of the inode, according to its entries. Nothing
 * is checked.
 */
uint64_t fsck_xattr_values(struct fsck *f, const struct xw_inode *in, const uint8_t *raw);
/* *other: the value is readable, but its hash, *hash, differs from the stored one. */
int fsck_ea_other_hash(struct fsck *f, xw_ino ino, const struct xw_inode *in, bool *other,
		       uint32_t *hash);
/* Add system.data without a value: for inline contents that fit i_block. */
int fsck_xattr_add_data(struct fsck *f, struct fsck_xattr_area *a);

/* xattr_share.c: -E share_xattrs. */
int fsck_xattr_share(struct fsck *f, struct fsck_xattr_block *blocks, size_t n);

#endif
