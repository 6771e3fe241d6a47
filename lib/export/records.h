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
 * Add a record for one attribute: SCHILY.xattr.NAME; for an ACL also SCHILY.acl.access or .default
 * as text. XW_ERR_NOMEM; XW_ERR_CORRUPT with a message in diag: an invalid ACL, a name with an
 * unknown prefix.
 */
int xw_records_add(struct xw_tar_records *r, const struct xw_xattr_ref *a, struct xw_diag *diag,
		   struct xw_record_counts *counts);

#endif
