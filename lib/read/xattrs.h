/* SPDX-License-Identifier: MIT */
/* Extended attributes of an inode: in its record, in its xattr block, values in EA inodes. */
#ifndef XW_READ_XATTRS_H
#define XW_READ_XATTRS_H

#include "read/map.h"
#include "walk/xattr.h"
#include "xattr/set.h"

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

/* raw: the inode record. Call xw_xattr_end() even after a failure. */
int xw_xattr_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		   const uint8_t *raw, struct xw_xattr_iter *it);
/*
 * 1: *a, valid until the next call; 0: end. Negative: a value, or the rest of the record or block,
 * cannot be read; the next call continues after the unreadable part.
 */
int xw_xattr_next(struct xw_xattr_iter *it, struct xw_xattr_ref *a);
void xw_xattr_end(struct xw_xattr_iter *it);

/*
 * Get one attribute by index and name: its value in malloc'd memory (owned by the caller, never
 * NULL). XW_ERR_NOTFOUND without a message.
 */
int xw_xattr_get(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, const uint8_t *raw,
		 uint8_t index, const char *name, uint8_t **value, uint32_t *len);

/* An attribute as getxattr(2) returns it. */
struct xw_xattr_linux {
	char name[XW_XATTR_FULL_NAME_MAX]; /* with its prefix, terminated; has no NUL */
	size_t name_len;
	/* that of an ACL: as system.posix_acl_access has it. Valid as long as *a and this struct */
	const uint8_t *value;
	uint32_t value_len;
	struct xw_acl acl; /* an ACL decoded; empty for other attributes */
	uint8_t *own;
};
/*
 * Does Linux not list it as an attribute: inline data, the context of an encrypted file? Such an
 * attribute is not to be converted.
 */
bool xw_xattr_is_internal(const struct xw_xattr_ref *a);
/*
 * Free *out in any case. XW_ERR_CORRUPT, with a message in diag: an unknown prefix, a name with a
 * NUL, an invalid ACL.
 */
int xw_xattr_to_linux(const struct xw_xattr_ref *a, struct xw_diag *diag,
		      struct xw_xattr_linux *out);
void xw_xattr_linux_free(struct xw_xattr_linux *x);

#endif
