/* SPDX-License-Identifier: MIT */
/*
 * The entries of one attribute area, in an inode record or in a block: a pull iterator that yields
 * entries and findings and continues after damage. Only if the name of an entry leaves the area,
 * the following entries are lost.
 *
 * Only the area is examined: the caller checks values in EA inodes and the hashes of their entries.
 */
#ifndef XW_WALK_XATTR_H
#define XW_WALK_XATTR_H

#include "disk/xattrblk.h"

/* Findings; the numbers are permanent. */
enum xw_walk_xattr_rule {
	XW_XATTR_OK,
	/* outside the area, or not followed by a terminator; the walk ends */
	XW_XATTR_BAD_ENTRY = 1,
	XW_XATTR_BAD_NAME = 2, /* neither name nor index */
	XW_XATTR_BAD_VALUE = 3, /* found: value offset, outside the area or among the entries */
	XW_XATTR_BAD_SIZE = 4, /* found: value size, past the end of the area or over the limit */
	XW_XATTR_BAD_OVERLAP = 5, /* found: offset of a value that overlaps another value */
	XW_XATTR_BAD_HASH = 6, /* found: e_hash; the entry is otherwise valid */
};

struct xw_walk_xattr_item {
	struct xw_xattr_entry e; /* not set with XW_XATTR_BAD_ENTRY; its name is in the area */
	const uint8_t *value; /* NULL: empty, in an EA inode, or unusable */
	size_t off; /* offset of the entry in the area */
	/* only for findings */
	enum xw_walk_xattr_rule rule;
	uint64_t found;
};

#define XW_WALK_XATTR_MAX 65536u /* maximum size of an area in bytes */

struct xw_walk_xattr {
	const uint8_t *area;
	size_t size, base; /* size in bytes; base of the value offsets */
	size_t off; /* offset of the next entry */
	size_t entries_end; /* values start here or later; 0: not computed yet */
	bool block;
	bool places_only; /* may be set after begin: check only that values lie in the area */
	uint8_t taken[XW_WALK_XATTR_MAX / 32]; /* one bit for 4 bytes: part of a value */
};

/*
 * The caller owns the area, which starts with the magic (in an inode) or the header (in a block);
 * the caller has checked these. size: at most XW_WALK_XATTR_MAX.
 */
void xw_walk_xattr_inode(struct xw_walk_xattr *it, const void *area, size_t size);
void xw_walk_xattr_block(struct xw_walk_xattr *it, const void *block, size_t size);
/* 1: an entry; 2: a finding and its entry; 0: end. */
int xw_walk_xattr_next(struct xw_walk_xattr *it, struct xw_walk_xattr_item *out);

#endif
