/* SPDX-License-Identifier: MIT */
/*
 * xattr sets: what an inode carries, before it is decided where each value lives. Names come in with their
 * prefix ("user.", "system.posix_acl_access", ...) and are split into name index and rest; ACLs come in as text or as the
 * raw system.posix_acl_* value and are kept in ext4's own encoding.
 */
#ifndef XW_XATTR_SET_H
#define XW_XATTR_SET_H

#include "base/err.h"
#include "base/types.h"
#include "base/vec.h"

struct xw_xattr {
	uint8_t index;          /* XW_XI_* */
	uint8_t name_len;
	uint32_t value_len;
	const char *name;       /* owned by the set */
	const uint8_t *value;   /* owned by the set */
};

struct xw_xattr_set {
	XW_VEC(struct xw_xattr) a;      /* sorted by (index, name_len, name): the order ext4 keeps in blocks */
	XW_VEC(uint8_t) bytes;          /* private storage: offsets are fixed up by the functions below */
};

/* Empty the set, keeping memory. */
void xw_xattr_set_clear(struct xw_xattr_set *s);
void xw_xattr_set_free(struct xw_xattr_set *s);
/*
 * Add or replace. full_name is not terminated. system.posix_acl_access and _default are converted from the kernel's xattr encoding to
 * ext4's; a minimal access ACL (mode bits only) is dropped: *drop_mode gets its bits... see acl.h. XW_ERR_INPUT: unknown prefix, empty name,
 * name over 255, malformed ACL (text in diag names the attribute).
 */
int xw_xattr_set_put(struct xw_xattr_set *s, const char *full_name, size_t len, const void *value, size_t value_len,
		     struct xw_diag *diag);
/* As put, with SCHILY.acl text ("user::rwx,user:1000:r--,mask::r--"). is_default: posix_acl_default. */
int xw_xattr_set_put_acl_text(struct xw_xattr_set *s, bool is_default, const char *text, size_t len,
			      struct xw_diag *diag);
void xw_xattr_set_sort(struct xw_xattr_set *s);
/* Full name with prefix of a (index, name) into buf of at least 300 bytes; its length. 0 for unknown indexes. */
size_t xw_xattr_full_name(uint8_t index, const char *name, size_t name_len, char *buf);

#endif
