/* SPDX-License-Identifier: MIT */
/* ACLs and the mode they belong to; other owners for the ids in attributes. */
#ifndef XW_XATTR_ACCESS_H
#define XW_XATTR_ACCESS_H

#include "xattr/acl.h"

/* The permission bits (0777) that setting an access ACL gives a file: owner, mask, other. */
uint32_t xw_acl_mode(const struct xw_acl *acl);
/*
 * Change an access ACL as chmod(2) does: entries of owner and others, and the mask, or without a
 * mask the owning group. Returns whether the ACL changed.
 */
bool xw_acl_chmod(struct xw_acl *acl, uint32_t mode);

/* How ids change. */
struct xw_acl_ids {
	uint32_t (*map)(const void *arg, bool group, uint32_t id);
	const void *arg;
	/* owner and group of the file, before and after */
	uint32_t uid, gid, new_uid, new_gid;
};

/*
 * Change the ids of named entries. Nobody gets access that the ACL did not give: entries that
 * become one get the permissions that all of them had, and one that becomes an entry for the file's
 * owner or group has only those of the owner's or group's own entry. *merged: one of these
 * happened. XW_ERR_INPUT: an entry has no valid id left; XW_ERR_NOMEM.
 */
int xw_acl_map(struct xw_acl *acl, const struct xw_acl_ids *ids, bool *merged, const char *what,
	       struct xw_diag *diag);

/* Warnings about that, which are given for the first file. */
#define XW_ACL_MERGED                                                                              \
	"several ids of its ACL become one, which gets the permissions that all of them had; "     \
	"further ones are not mentioned"
#define XW_CAPS_BECOME_ROOT                                                                        \
	"its capabilities were those of namespaces of user %u, and are now those of root; "        \
	"further ones are not mentioned"

/*
 * The rootid in a value of security.capability of version 3: the user who is root of the namespaces
 * in which the capabilities apply. false: the value has none.
 */
#define XW_CAPS_ROOTID 20u /* offset */
bool xw_caps_rootid(const void *value, size_t len, uint32_t *rootid);

#endif
