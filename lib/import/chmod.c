// SPDX-License-Identifier: MIT
/*
 * Modes that options or tables set explicitly. Nobody gets by an ACL what such a mode denies.
 */
#include "config.h"

#include "base/auto.h"
#include "disk/inode.h"
#include "disk/xattrblk.h"
#include "import/fill.h"
#include "xattr/access.h"

static int failed(struct xw_fill *f, const struct xw_entry *e, int rc, const struct xw_diag *why)
{
	return xw_fill_fail(f, e, rc, "%s", why->code ? why->text : xw_err_text(rc));
}

int xw_fill_chmod(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n, uint32_t perms)
{
	auto_end(xw_acl_free) struct xw_acl acl = {0};
	const struct xw_xattr *a;
	struct xw_diag why = {0};
	int rc;

	n->mode = (uint16_t)((n->mode & XW_S_IFMT) | perms);
	if (!xw_fill_may_have_xattrs(f, n))
		return 0;
	rc = xw_fill_load_xattrs(f, n, &why);
	a = rc ? NULL : xw_xattr_set_find(&f->set, XW_XI_ACL_ACCESS, "", 0);
	if (a)
		rc = xw_acl_from_stored(&acl, a->value, a->value_len, "access ACL", &why);
	if (rc)
		return failed(f, e, rc, &why);
	if (!a || !xw_acl_chmod(&acl, perms))
		return 0;
	rc = xw_xattr_set_put_acl(&f->set, false, &acl, &why);
	if (rc)
		return failed(f, e, rc, &why);
	return xw_fill_store_xattrs(f, e, n);
}
