/* SPDX-License-Identifier: MIT */
/*
 * The entries of one attribute area, in an inode's record or in a block: a pull iterator that
 * yields entries and findings and never stops at damage that can be stepped over. Only when an
 * entry's name leaves the area is nothing known of what follows.
 *
 * Nothing outside the area is looked at: values in EA inodes and the hashes of their entries are
 * the caller's to check.
 */
#ifndef XW_WALK_XATTR_H
#define XW_WALK_XATTR_H

#include "disk/xattrblk.h"

#pragma GCC visibility push(default)

/* Findings; the numbers are permanent. */
enum xw_walk_xattr_rule {
	XW_XATTR_OK,
	XW_XATTR_BAD_ENTRY = 1, /* leaves the area, or no terminator follows; the walk ends */
	XW_XATTR_BAD_NAME = 2, /* neither name nor index */
	XW_XATTR_BAD_VALUE = 3, /* found: value offset, outside the area or among the entries */
	XW_XATTR_BAD_SIZE = 4, /* found: value size, which leaves the area or exceeds the limit */
	XW_XATTR_BAD_OVERLAP = 5, /* found: offset of a value that shares bytes with another one */
	XW_XATTR_BAD_HASH = 6, /* found: e_hash; the entry is otherwise good */
};

struct xw_walk_xattr_item {
	struct xw_xattr_entry e; /* not with XW_XATTR_BAD_ENTRY; its name is in the area */
	const uint8_t *value; /* NULL: empty, in an EA inode, or not usable */
	size_t off; /* of the entry in the area */
	/* of a finding */
	enum xw_walk_xattr_rule rule;
	uint64_t found;
};

#define XW_WALK_XATTR_MAX 65536u /* bytes of an area */

struct xw_walk_xattr {
	const uint8_t *area;
	size_t size, base; /* bytes; what value offsets count from */
	size_t off; /* next entry */
	size_t entries_end; /* values begin here or behind; 0: not looked for yet */
	bool block;
	bool places_only; /* may be set after begin: values must lie in the area, no more */
	uint8_t taken[XW_WALK_XATTR_MAX / 32]; /* a bit for 4 bytes: part of a value */
};

/*
 * The area stays the caller's. In an inode it begins with the magic, which the caller has seen; in
 * a block with the header, likewise. size: at most XW_WALK_XATTR_MAX.
 */
void xw_walk_xattr_inode(struct xw_walk_xattr *it, const void *area, size_t size);
void xw_walk_xattr_block(struct xw_walk_xattr *it, const void *block, size_t size);
/* 1: an entry; 2: a finding, and the entry that it is about; 0: end. */
int xw_walk_xattr_next(struct xw_walk_xattr *it, struct xw_walk_xattr_item *out);

#pragma GCC visibility pop

#endif
