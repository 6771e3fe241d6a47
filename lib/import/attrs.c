// SPDX-License-Identifier: MIT
/*
 * Sets the extended attributes of inodes: those that ext4 can store and Linux allows on this type
 * of file. Sets are interned and xattr blocks shared (lib/xattr).
 */
#include "config.h"

#include <string.h>

#include "base/auto.h"
#include "disk/inode.h"
#include "disk/xattrblk.h"
#include "import/fill.h"

/*
 * Linux allows user.* only on files and directories, no ACLs on symlinks, and default ACLs only on
 * directories.
 */
static bool allowed(const struct xw_binode *n, struct xw_slice name)
{
	bool dir = xw_binode_is(n, XW_S_IFDIR);
	struct xw_slice rest;

	if (xw_slice_after(name, "user.", &rest))
		return dir || xw_binode_is(n, XW_S_IFREG);
	if (xw_slice_is(name, "system.posix_acl_default"))
		return dir;
	if (xw_slice_is(name, "system.posix_acl_access"))
		return !xw_binode_is(n, XW_S_IFLNK);
	return true;
}

static int failed(struct xw_fill *f, const struct xw_entry *e, int rc, const struct xw_diag *why)
{
	return xw_fill_fail(f, e, rc, "%s", why->code ? why->text : xw_err_text(rc));
}

/* Is the attribute selected and allowed? 1; 0, with a warning if not allowed; or a failure. */
static int is_wanted(struct xw_fill *f, const struct xw_entry *e, const struct xw_binode *n,
		     struct xw_slice name)
{
	const int excluded = xw_select_xattr_excluded(f->select, name);
	struct xw_slice rest;

	if (excluded)
		return excluded < 0 ? xw_fail_nomem(f->diag, "--xattrs-exclude") : 0;
	if (xw_slice_after(name, "system.posix_acl_", &rest) && xw_fill_is_container(f, n))
		return 0;
	if (allowed(n, name))
		return 1;
	xw_fill_warn(f, e, "attribute %.*s dropped: not allowed on this type of file",
		     XW_SHOWN(name));
	return 0;
}

/* Add a selected attribute to f->set. */
static int convert(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n,
		   struct xw_slice name, struct xw_slice value, struct xw_diag *why)
{
	const bool is_default = xw_slice_is(name, "system.posix_acl_default");
	auto_end(xw_acl_free) struct xw_acl acl = {0};
	int rc;

	if (xw_slice_is(name, "security.capability"))
		return xw_fill_put_caps(f, e, value, why);
	if (!is_default && !xw_slice_is(name, "system.posix_acl_access"))
		return xw_xattr_set_put(&f->set, name.p, name.len, value.p, value.len, why);
	rc = xw_acl_from_xattr(&acl, value.p, value.len,
			       is_default ? "system.posix_acl_default" : "system.posix_acl_access",
			       why);
	return rc ? rc : xw_fill_put_acl(f, e, n, is_default, &acl, why);
}

static int put(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n,
	       struct xw_slice name, struct xw_slice value)
{
	const char *unusable = xw_xattr_unusable(name.p, name.len, value.p, value.len);
	struct xw_diag why = {0};
	int rc = is_wanted(f, e, n, name);

	if (rc <= 0)
		return rc;
	if (unusable) {
		xw_fill_warn(f, e, "attribute %.*s dropped: %s", XW_SHOWN(name), unusable);
		return 0;
	}
	rc = convert(f, e, n, name, value, &why);
	if (rc == XW_ERR_UNSUPPORTED) {
		xw_fill_warn(f, e, "attribute %.*s dropped: not supported by ext4", XW_SHOWN(name));
		return 0;
	}
	return rc ? failed(f, e, rc, &why) : 0;
}

static int put_acl(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n,
		   bool is_default, struct xw_slice text)
{
	const char *name = is_default ? "system.posix_acl_default" : "system.posix_acl_access";
	auto_end(xw_acl_free) struct xw_acl acl = {0};
	struct xw_diag why = {0};
	int rc;

	if (!text.len)
		return 0;
	rc = is_wanted(f, e, n, xw_slice_of(name));
	if (rc <= 0)
		return rc;
	rc = xw_acl_from_text(&acl, text.p, text.len, is_default, &f->names, name, &why);
	if (!rc)
		rc = xw_fill_put_acl(f, e, n, is_default, &acl, &why);
	return rc ? failed(f, e, rc, &why) : 0;
}

/* Add the attributes of the entry, and -E root_selinux, to f->set. */
static int add_attributes(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n)
{
	int rc = 0;

	for (size_t i = 0; i < e->n_xattrs && !rc; i++)
		rc = put(f, e, n, e->xattrs[i].name, e->xattrs[i].value);
	/* ACLs in text form come last: they take precedence over raw ACL attributes. */
	if (!rc)
		rc = put_acl(f, e, n, false, e->acl_access);
	if (!rc)
		rc = put_acl(f, e, n, true, e->acl_default);
	if (rc || n != f->tree->root || !f->root_selinux)
		return rc;
	return put(f, e, n, xw_slice_of("security.selinux"),
		   (struct xw_slice){f->root_selinux, strlen(f->root_selinux) + 1});
}

static bool opaque(const struct xw_binode *n)
{
	return n->flags & XW_BN_OPAQUE;
}

/* Make f->set the attributes of n. */
static int install(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n)
{
	struct xw_diag why = {0};
	int rc;

	if (n->xblock)
		xw_share_put(f->share, n->xblock);
	n->xblock = NULL;
	n->xattrs = NULL;
	rc = opaque(n) ? put(f, e, n, xw_slice_of("trusted.overlay.opaque"), xw_slice_of("y")) : 0;
	if (rc || !f->set.a.n)
		return rc;
	if (!f->xattrs_allowed)
		return xw_fill_fail(f, e, XW_ERR_UNSUPPORTED,
				    "has extended attributes, but ext_attr is off; "
				    "--xattrs-exclude='*' drops them");
	rc = xw_xintern_get(f->intern, &f->set, &why, &n->xattrs);
	if (rc)
		return failed(f, e, rc, &why);
	if (n->xattrs && n->xattrs->block.bytes &&
	    xw_share_get_packed(f->share, &n->xattrs->block, &n->xblock))
		return xw_fail_nomem(f->diag, "xattr block");
	return 0;
}

/* Are the current attributes of n those that are stored in the image? */
static bool in_image(const struct xw_fill *f, const struct xw_binode *n)
{
	return n->flags & XW_BN_OLD && !(n->flags & XW_BN_XATTRS) && f->old_xattrs;
}

bool xw_fill_may_have_xattrs(const struct xw_fill *f, const struct xw_binode *n)
{
	return n->xattrs || in_image(f, n);
}

int xw_fill_load_xattrs(struct xw_fill *f, const struct xw_binode *n, struct xw_diag *why)
{
	int rc = 0;

	xw_xattr_set_clear(&f->set);
	xw_xattr_set_clear(&f->old);
	if (n->xattrs)
		return xw_xintern_unpack(n->xattrs, &f->set, why);
	if (in_image(f, n))
		rc = f->old_xattrs(f->old_xattrs_arg, n, &f->old);
	for (size_t i = 0; i < f->old.a.n && !rc; i++) {
		const struct xw_xattr *a = &f->old.a.v[i];

		rc = xw_xattr_set_put_raw(&f->set, a->index, a->name, a->name_len, a->value,
					  a->value_len, why);
	}
	return rc;
}

static bool equal(const struct xw_xattr_set *x, const struct xw_xattr_set *y)
{
	if (x->a.n != y->a.n)
		return false;
	for (size_t i = 0; i < x->a.n; i++) {
		const struct xw_xattr *a = &x->a.v[i], *b = &y->a.v[i];

		if (xw_xattr_compare(a->index, a->name, a->name_len, b->index, b->name,
				     b->name_len) ||
		    a->value_len != b->value_len ||
		    (a->value_len && memcmp(a->value, b->value, a->value_len)))
			return false;
	}
	return true;
}

int xw_fill_store_xattrs(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n)
{
	if (in_image(f, n)) {
		if (!opaque(n) && equal(&f->set, &f->old))
			return 0;
		n->flags |= XW_BN_XATTRS | XW_BN_ATTRS;
		if (n->dir->was_inline)
			/* an inline directory has entries in system.data */
			n->flags |= XW_BN_NAMES;
	}
	return install(f, e, n);
}

int xw_fill_update_xattrs(struct xw_fill *f, struct xw_binode *n)
{
	static const struct xw_entry none = {.path = {"whiteout", 8}};
	struct xw_diag why = {0};
	int rc = xw_fill_load_xattrs(f, n, &why);

	return rc ? failed(f, &none, rc, &why) : xw_fill_store_xattrs(f, &none, n);
}

int xw_fill_put_xattr(struct xw_fill *f, const char *path, struct xw_binode *n,
		      struct xw_slice name, struct xw_slice value)
{
	const struct xw_entry e = {.path = {path, strlen(path)}};
	struct xw_diag why = {0};
	int rc = xw_fill_load_xattrs(f, n, &why);

	if (rc)
		return failed(f, &e, rc, &why);
	rc = put(f, &e, n, name, value);
	return rc ? rc : xw_fill_store_xattrs(f, &e, n);
}

int xw_fill_xattrs(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n)
{
	bool any = e->n_xattrs || e->acl_access.len || e->acl_default.len || opaque(n) ||
		   (n == f->tree->root && f->root_selinux);
	struct xw_diag why = {0};
	int rc;

	if (!any && !xw_fill_may_have_xattrs(f, n))
		return 0;
	rc = xw_fill_load_xattrs(f, n, &why);
	if (rc)
		return failed(f, e, rc, &why);
	/*
	 * As in overlayfs, the attributes of a directory in an image layer replace all of those in
	 * lower layers.
	 */
	if (f->image_layer && !(n->flags & XW_BN_OLD))
		xw_xattr_set_clear(&f->set);
	if (!xw_fill_is_container(f, n)) {
		xw_xattr_set_remove(&f->set, XW_XI_ACL_ACCESS, "", 0);
		xw_xattr_set_remove(&f->set, XW_XI_ACL_DEFAULT, "", 0);
	}
	rc = add_attributes(f, e, n);
	return rc ? rc : xw_fill_store_xattrs(f, e, n);
}

/* Apply -E root_selinux before the sources, which need not have an entry for the root. */
int xw_fill_root(struct xw_fill *f)
{
	static const struct xw_entry none = {.path = {"/", 1}};

	return xw_fill_xattrs(f, &none, f->tree->root);
}
