/* SPDX-License-Identifier: MIT */
/*
 * Access that entries give: ACLs with the ids that options give, and the mode that belongs to them;
 * capabilities.
 */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "disk/inode.h"
#include "import/fill.h"
#include "xattr/access.h"

bool xw_fill_is_container(const struct xw_fill *f, const struct xw_binode *n)
{
	return f->plain_root && f->from_host_dir && n == f->top &&
	       (n == f->tree->root || n->flags & XW_BN_OLD || n->ino <= f->made_before);
}

static const char *name_of(bool is_default)
{
	return is_default ? "system.posix_acl_default" : "system.posix_acl_access";
}

static int map_ids(struct xw_fill *f, const struct xw_entry *e, const struct xw_binode *n,
		   bool is_default, struct xw_acl *acl, struct xw_diag *why)
{
	const struct xw_acl_ids ids = {
		.map = xw_select_id,
		.arg = f->select,
		.uid = e->uid,
		.gid = e->gid,
		.new_uid = n->uid,
		.new_gid = n->gid,
	};
	bool merged;
	int rc;

	if (!xw_select_maps_ids(f->select))
		return 0;
	rc = xw_acl_map(acl, &ids, &merged, name_of(is_default), why);
	if (!rc && merged && !f->merged_acls++)
		xw_fill_warn(f, e, XW_ACL_MERGED);
	return rc;
}

int xw_fill_put_acl(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n,
		    bool is_default, struct xw_acl *acl, struct xw_diag *why)
{
	const int rc = map_ids(f, e, n, is_default, acl, why);

	if (rc)
		return rc;
	/* setting an ACL sets the mode */
	if (!is_default && acl->e.n && !(n == f->tree->root && f->keep_root_perms))
		n->mode = (uint16_t)((n->mode & ~0777u) | xw_acl_mode(acl));
	return xw_xattr_set_put_acl(&f->set, is_default, acl, why);
}

int xw_fill_put_caps(struct xw_fill *f, const struct xw_entry *e, struct xw_slice value,
		     struct xw_diag *why)
{
	static const char name[] = "security.capability";
	uint8_t copy[XW_CAPS_ROOTID + 4];
	uint32_t was, rootid;

	if (!xw_select_maps_ids(f->select) || !xw_caps_rootid(value.p, value.len, &was))
		return xw_xattr_set_put(&f->set, name, sizeof(name) - 1, value.p, value.len, why);
	rootid = xw_select_owner(f->select, was);
	if (was && !rootid && !f->root_caps++)
		xw_fill_warn(f, e, XW_CAPS_BECOME_ROOT, was);
	memcpy(copy, value.p, sizeof(copy));
	poke32(copy + XW_CAPS_ROOTID, rootid);
	return xw_xattr_set_put(&f->set, name, sizeof(name) - 1, copy, sizeof(copy), why);
}
