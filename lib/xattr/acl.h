/* SPDX-License-Identifier: MIT */
/*
 * POSIX ACLs in their three encodings.
 *
 * disk   le32 1, then entries of le16 tag, le16 perm, and for USER and GROUP le32 id (8 bytes;
 *        all others 4)
 * xattr  the value of system.posix_acl_*: le32 2, then entries of le16 tag, le16 perm, le32 id
 *        (always 8 bytes)
 * text   SCHILY.acl.*, as star, GNU tar and libarchive write it:
 *
 *          text  = entry { ("," | newline) entry }
 *          entry = [("default" | "d") ":"] tag ":" [who] ":" perm [":" id]
 *                | ("mask" | "m" | "other" | "o") ":" perm
 *          tag   = "user" | "u" | "group" | "g" | "mask" | "m" | "other" | "o"
 *
 *        perm is any of r w x -, id a number that overrides who; backslash and three octal digits
 *        are a byte of who. "#" begins a comment to the end of the entry; spaces around words are
 *        ignored.
 *
 * A decoded ACL is always valid and in the kernel's order: USER_OBJ, USER by id, GROUP_OBJ, GROUP
 * by id, MASK, OTHER; exactly one of each without id, MASK mandatory with a USER or GROUP.
 * Duplicate ids are kept in their order, as in the kernel, which uses the first.
 */
#ifndef XW_XATTR_ACL_H
#define XW_XATTR_ACL_H

#include "base/err.h"
#include "base/types.h"
#include "base/vec.h"

enum xw_acl_tag {
	XW_ACL_USER_OBJ = 0x01,
	XW_ACL_USER = 0x02,
	XW_ACL_GROUP_OBJ = 0x04,
	XW_ACL_GROUP = 0x08,
	XW_ACL_MASK = 0x10,
	XW_ACL_OTHER = 0x20,
};

#define XW_ACL_NO_ID UINT32_MAX
#define XW_ACL_ENTRIES_MAX 8191u /* maximum in a value of 64 KiB in the xattr encoding */

struct xw_acl_entry {
	uint16_t tag; /* enum xw_acl_tag */
	uint16_t perm; /* 4 r, 2 w, 1 x */
	uint32_t id; /* XW_ACL_NO_ID except for USER and GROUP */
};

/* Zero-initialized: an empty ACL. */
struct xw_acl {
	XW_VEC(struct xw_acl_entry) e;
};

/* Resolves names to ids: the library itself does not query the host. */
struct xw_acl_names {
	/* 0 and *id, or non-zero if no such user (group: no such group) exists. */
	int (*lookup)(void *arg, bool group, const char *name, uint32_t *id);
	void *arg;
};

void xw_acl_free(struct xw_acl *acl);
/*
 * Decode an ACL and replace *acl. `what` names the attribute in messages. XW_ERR_INPUT (text and
 * xattr) or XW_ERR_CORRUPT (disk): malformed or invalid; XW_ERR_LIMIT: over XW_ACL_ENTRIES_MAX;
 * XW_ERR_NOMEM; *acl is then empty. An xattr value or text without entries, which means "no ACL",
 * gives 0 and an empty ACL.
 */
int xw_acl_from_text(struct xw_acl *acl, const char *text, size_t len, bool is_default,
		     const struct xw_acl_names *names, const char *what, struct xw_diag *diag);
int xw_acl_from_xattr(struct xw_acl *acl, const void *value, size_t len, const char *what,
		      struct xw_diag *diag);
int xw_acl_from_disk(struct xw_acl *acl, const void *value, size_t len, const char *what,
		     struct xw_diag *diag);
/*
 * As xw_acl_from_disk(), but also accepts version 2, the xattr encoding, which some tools
 * (tar2ext4) copy from archives unchanged, although Linux refuses it.
 */
int xw_acl_from_stored(struct xw_acl *acl, const void *value, size_t len, const char *what,
		       struct xw_diag *diag);
/* Are all entries equivalent to mode bits? Such an access ACL is not stored. */
bool xw_acl_is_minimal(const struct xw_acl *acl);

/* Number of bytes written to buf, or required if buf is NULL. */
size_t xw_acl_to_disk(const struct xw_acl *acl, uint8_t *buf);
size_t xw_acl_to_xattr(const struct xw_acl *acl, uint8_t *buf);
/*
 * Text with numeric ids and commas, terminated; the length excludes the terminator. Fits
 * XW_ACL_TEXT_MAX(entries).
 */
size_t xw_acl_to_text(const struct xw_acl *acl, char *buf);
#define XW_ACL_TEXT_MAX(entries) ((entries)*22 + 1)

/* Used by the decoders: sort and validate; records a message and returns `code` if invalid. */
int xw_acl_finish(struct xw_acl *acl, int code, const char *what, struct xw_diag *diag);

#endif
