/* SPDX-License-Identifier: MIT */
/* Entries of tables: see xw_entry.listed. Options that select entries are not for them. */
#include "config.h"

#include "disk/inode.h"
#include "import/fill.h"

static int refuse(struct xw_fill *f, const struct xw_entry *e, const char *why)
{
	xw_diag_clear(f->diag);
	return xw_fail(f->diag, XW_ERR_INPUT, "%s: %.*s: %s", f->source,
		       (int)XW_MIN(e->path.len, 300), e->path.p, why);
}

/* Is n what the entry says, so that only its owner and mode may have to change? */
static bool is_it(const struct xw_entry *e, const struct xw_binode *n)
{
	if (!xw_binode_is(n, xw_fill_type_bits(e->type)))
		return false;
	if (e->type == XW_ET_CHR || e->type == XW_ET_BLK)
		return !(n->flags & XW_BN_OLD) && n->dev.major == e->dev_major &&
		       n->dev.minor == e->dev_minor;
	return e->type == XW_ET_DIR || !(n->flags & XW_BN_OLD);
}

static bool is_so(const struct xw_entry *e, const struct xw_binode *n)
{
	return (n->mode & 07777) == e->mode && n->uid == e->uid && n->gid == e->gid;
}

static int make(struct xw_fill *f, const struct xw_entry *e, const struct xw_path_at *at,
		struct xw_blink *old, struct xw_binode **out)
{
	struct xw_binode *n;
	int rc = 0;

	if (old && xw_binode_is(old->node, XW_S_IFDIR))
		return refuse(f, e, "is a directory already");
	if (e->dev_major > 0xfff || e->dev_minor > 0xfffff)
		return refuse(f, e, "device number is over 4095:1048575");
	if (old)
		rc = xw_tree_unlink(f->tree, old);
	n = rc ? NULL : xw_tree_node(f->tree, xw_fill_type_bits(e->type));
	if (!n)
		return rc ? rc : xw_fail_nomem(f->diag, "file");
	n->mtime = n->atime = f->tree->now;
	if (e->type == XW_ET_CHR || e->type == XW_ET_BLK) {
		n->dev.major = e->dev_major;
		n->dev.minor = e->dev_minor;
	}
	*out = n;
	return xw_tree_link(f->tree, at->dir, at->name, at->len, n);
}

int xw_fill_listed(struct xw_fill *f, const struct xw_entry *e)
{
	struct xw_path_at at;
	struct xw_blink *old;
	struct xw_binode *n;
	int rc = xw_tree_walk(f->tree, f->top, e->path.p, e->path.len,
			      e->optional ? XW_WALK_FIND : XW_WALK_OWN, &at);

	if (rc)
		return rc == XW_ERR_NOTFOUND && e->optional ? 0 : rc;
	old = at.len ? xw_tree_find(f->tree, at.dir, at.name, at.len) : NULL;
	n = old ? old->node : at.len ? NULL : at.dir;
	rc = n ? xw_tree_need(f->tree, n) : 0;
	if (rc || (!n && e->optional))
		return rc;
	if (n && n->flags & XW_BN_OLD && e->type == XW_ET_REG && xw_binode_is(n, XW_S_IFREG))
		return is_so(e, n) ? 0
				   : refuse(f, e,
					    "is in the image already, with another owner or mode: "
					    "xw-debugfs changes files of an image");
	if (!n || !is_it(e, n))
		rc = make(f, e, &at, old, &n);
	if (rc)
		return rc;
	if (old && old->node == n)
		old->layer = f->tree->layer;
	n->flags |= XW_BN_ATTRS;
	n->mode = (uint16_t)(xw_fill_type_bits(e->type) | e->mode);
	n->uid = e->uid;
	n->gid = e->gid;
	f->path = e->path;
	return xw_fill_label_entry(f, n);
}
