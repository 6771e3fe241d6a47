/* SPDX-License-Identifier: MIT */
/* Extended attributes of an inode: in its record, in its xattr block, values in EA inodes. */
#ifndef XW_READ_XATTRS_H
#define XW_READ_XATTRS_H

#include "read/map.h"
#include "walk/xattr.h"

struct xw_xattr_ref {
	uint8_t index; /* XW_XI_* */
	uint8_t name_len;
	bool in_block;
	const char *name; /* without prefix; not terminated */
	const uint8_t *value; /* as stored: ACLs in ext4's encoding */
	uint32_t value_len;
	uint32_t hash; /* e_hash */
	xw_ino value_ino; /* 0 = the value is stored with the entry */
};

struct xw_xattr_iter {
	struct xw_image *img;
	xw_ino ino;
	uint32_t generation;
	unsigned area; /* 0: record, 1: block, 2: end */
	bool loaded; /* the area is in buf, and its walk has started */
	struct xw_walk_xattr walk;
	xw_blk file_acl;
	uint8_t *buf; /* copy of the area */
	uint8_t *value; /* value of an EA inode */
};

/* raw: the inode record. End it in any case. */
int xw_xattr_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		   const uint8_t *raw, struct xw_xattr_iter *it);
/*
 * 1: *a, valid until the next call; 0: end. Negative: a value, or the rest of the record or block,
 * cannot be read; the next call continues after it.
 */
int xw_xattr_next(struct xw_xattr_iter *it, struct xw_xattr_ref *a);
void xw_xattr_end(struct xw_xattr_iter *it);

/*
 * One attribute by index and name: its value in malloc'd memory (owned by the caller, never NULL).
 * XW_ERR_NOTFOUND without a message.
 */
int xw_xattr_get(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, const uint8_t *raw,
		 uint8_t index, const char *name, uint8_t **value, uint32_t *len);

#endif
