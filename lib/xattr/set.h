/* SPDX-License-Identifier: MIT */
/*
 * xattr sets: the attributes of an inode, independent of their placement. Full names ("user.x",
 * "system.posix_acl_access", ...) are split into name index and rest; ACLs are added as text or as
 * the value of system.posix_acl_* and stored in ext4's encoding.
 *
 * A set is always sorted and has each (index, name) once. Zero-initialized: an empty set. Not
 * thread-safe.
 */
#ifndef XW_XATTR_SET_H
#define XW_XATTR_SET_H

#include "base/err.h"
#include "base/types.h"
#include "base/vec.h"
#include "xattr/acl.h"

#define XW_XATTR_VALUE_MAX 65536u /* the kernel's limit of one value */
#define XW_XATTR_NAME_MAX 255u /* without the prefix: name_len is one byte on disk */
#define XW_XATTR_COUNT_MAX 8192u /* more entries than fit any inode and block together */
#define XW_XATTR_FULL_NAME_MAX 300u

struct xw_xattr {
	uint8_t index; /* XW_XI_* */
	uint8_t name_len;
	uint32_t value_len;
	xw_ino value_inum; /* EA inode of a decoded entry; else 0 */
	const char *name; /* owned by the set; not terminated */
	const uint8_t *value; /* owned by the set; NULL with value_inum */
};

struct xw_xattr_set {
	/* sorted by (index, name_len, name), the order in blocks */
	XW_VEC(struct xw_xattr) a;
	XW_VEC(uint8_t) bytes; /* internal storage; the pointers above are adjusted with it */
};

/* Empty the set, keeping memory. */
void xw_xattr_set_clear(struct xw_xattr_set *s);
void xw_xattr_set_free(struct xw_xattr_set *s);

/*
 * Add or replace by full name (not terminated). Values of system.posix_acl_access and _default are
 * converted from the kernel's xattr encoding to ext4's. An access ACL that is equivalent to the
 * mode bits, or an ACL without entries, removes the ACL from the set. The caller checks whether the
 * inode may have the attribute at all (no user.* or ACL on a symlink, default ACLs on directories
 * only).
 *
 * XW_ERR_UNSUPPORTED  ext4 has no name index for the prefix, or only the filesystem itself writes
 *                     the attribute (system.data): drop it and warn
 * XW_ERR_INPUT        empty name, NUL in the name, malformed ACL
 * XW_ERR_LIMIT        name, value or number of attributes beyond the limits above
 * XW_ERR_NOMEM
 *
 * The set is unchanged after a failure. A caller that continues after the first three errors needs
 * a separate diag.
 */
int xw_xattr_set_put(struct xw_xattr_set *s, const char *full_name, size_t len, const void *value,
		     size_t value_len, struct xw_diag *diag);
/*
 * As put of system.posix_acl_access (is_default: _default), from SCHILY.acl text
 * ("user::rwx,user:1000:r--,mask::r--"; the grammar is in acl.h). names resolves user and group
 * names; NULL: names without a number are XW_ERR_INPUT. If an archive has both text and raw value,
 * the text is authoritative: put it last.
 */
int xw_xattr_set_put_acl_text(struct xw_xattr_set *s, bool is_default, const char *text, size_t len,
			      const struct xw_acl_names *names, struct xw_diag *diag);
/* The same from a decoded ACL. An empty one, or a minimal access ACL, removes an existing one. */
int xw_xattr_set_put_acl(struct xw_xattr_set *s, bool is_default, const struct xw_acl *acl,
			 struct xw_diag *diag);
/*
 * Add or replace in the on-disk form, without interpretation. name may point to the name of the
 * replaced attribute; value must not point into the set. XW_ERR_LIMIT, XW_ERR_NOMEM, XW_ERR_INPUT
 * for index 0 with an empty name, which ext4 cannot store.
 */
int xw_xattr_set_put_raw(struct xw_xattr_set *s, uint8_t index, const char *name, size_t name_len,
			 const void *value, size_t value_len, struct xw_diag *diag);
/*
 * Add or replace an entry whose value is in an EA inode; value is NULL until the caller reads it
 * and calls xw_xattr_set_put_raw().
 */
int xw_xattr_set_put_inum(struct xw_xattr_set *s, uint8_t index, const char *name, size_t name_len,
			  xw_ino inum, uint32_t value_len, struct xw_diag *diag);
/*
 * Why Linux would never return the attribute (constant string), although ext4 can store it: for
 * callers that drop it with a warning. NULL: it would.
 */
const char *xw_xattr_unusable(const char *full_name, size_t len, const void *value,
			      size_t value_len);
/* NULL if missing; valid until the set changes. */
const struct xw_xattr *xw_xattr_set_find(const struct xw_xattr_set *s, uint8_t index,
					 const char *name, size_t name_len);
/* Returns whether the attribute was found. */
bool xw_xattr_set_remove(struct xw_xattr_set *s, uint8_t index, const char *name, size_t name_len);

/* <0, 0, >0 in ext4's order (index, name_len, bytes of the name). */
int xw_xattr_compare(uint8_t index_a, const char *name_a, size_t len_a, uint8_t index_b,
		     const char *name_b, size_t len_b);
/*
 * Split a full name into index and offset of the rest (the whole length for an index that
 * represents a single name). XW_ERR_UNSUPPORTED: ext4 has no index for the name; XW_ERR_INPUT:
 * nothing follows the prefix.
 */
int xw_xattr_split_name(const char *full_name, size_t len, uint8_t *index, size_t *rest);
/*
 * Write the full name of (index, name) to buf of XW_XATTR_FULL_NAME_MAX bytes, terminated. Returns
 * its length, 0 for unknown indexes.
 */
size_t xw_xattr_full_name(uint8_t index, const char *name, size_t name_len, char *buf);

#endif
