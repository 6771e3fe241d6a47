/* SPDX-License-Identifier: MIT */
/* Extended attributes and ACLs as pax records. */
#ifndef XW_EXPORT_RECORDS_H
#define XW_EXPORT_RECORDS_H

#include "export/header.h"
#include "read/xattrs.h"

struct xw_record_counts {
	uint64_t xattrs, acls;
};

/*
 * Add the record SCHILY.xattr.NAME of one attribute, and for an ACL also SCHILY.acl.access or
 * SCHILY.acl.default, its text. 0, XW_ERR_NOMEM, or XW_ERR_CORRUPT with a message in diag: the ACL
 * is invalid or the prefix of the name is unknown.
 */
int xw_records_add(struct xw_tar_records *r, const struct xw_xattr_ref *a, struct xw_diag *diag,
		   struct xw_record_counts *counts);

#endif
