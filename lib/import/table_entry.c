/* SPDX-License-Identifier: MIT */
/*
 * Adds entries of device tables (xw_entry.listed). Options that select entries do not apply to
 * them.
 */
#include "config.h"

#include "disk/inode.h"
#include "import/fill.h"

static const char *kind(uint32_t mode)
{
	static const char *const names[] = {
		[XW_S_IFREG >> 12] = "a regular file",  [XW_S_IFDIR >> 12] = "a directory",
		[XW_S_IFLNK >> 12] = "a symbolic link", [XW_S_IFCHR >> 12] = "a character device",
		[XW_S_IFBLK >> 12] = "a block device",  [XW_S_IFIFO >> 12] = "a FIFO",
		[XW_S_IFSOCK >> 12] = "a socket",       [15] = NULL,
	};
	const char *name = names[(mode & XW_S_IFMT) >> 12];

	return name ? name : "a regular file";
}

/* A table changes owners and modes, but not the type of an existing file. */
static int check_kind(struct xw_fill *f, const struct xw_entry *e, const struct xw_binode *n)
{
	const uint32_t type = xw_fill_type_bits(e->type);

	return xw_binode_is(n, type) ? 0
				     : xw_fill_fail(f, e, XW_ERR_INPUT,
						    "is %s in the image, not %s as in the table",
						    kind(n->mode), kind(type));
}

/* Can n be kept, with owner and mode of the entry? */
static bool can_keep(const struct xw_entry *e, const struct xw_binode *n)
{
	if (xw_entry_is_device(e))
		return !(n->flags & XW_BN_OLD) && n->dev.major == e->dev_major &&
		       n->dev.minor == e->dev_minor;
	return e->type == XW_ET_DIR || !(n->flags & XW_BN_OLD);
}

static int make(struct xw_fill *f, const struct xw_entry *e, const struct xw_path_at *at,
		struct xw_blink *old, struct xw_binode **out)
{
	struct xw_binode *n;
	int rc = 0;

	if (old)
		rc = xw_tree_unlink(f->tree, old);
	n = rc ? NULL : xw_tree_node(f->tree, xw_fill_type_bits(e->type));
	if (!n)
		return rc ? rc : xw_fail_nomem(f->diag, "file");
	n->mtime = n->atime = f->tree->now;
	if (xw_entry_is_device(e)) {
		n->dev.major = e->dev_major;
		n->dev.minor = e->dev_minor;
	}
	*out = n;
	return xw_tree_link(f->tree, at->dir, at->name, at->len, n);
}

int xw_fill_table_entry(struct xw_fill *f, const struct xw_entry *e)
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
	if (!rc && n)
		rc = check_kind(f, e, n);
	if (rc || (!n && e->optional))
		return rc;
	if (n && n->flags & XW_BN_OLD && e->type == XW_ET_REG && xw_binode_is(n, XW_S_IFREG)) {
		const bool same =
			(n->mode & 07777) == e->mode && n->uid == e->uid && n->gid == e->gid;

		return same ? 0
			    : xw_fill_fail(f, e, XW_ERR_INPUT,
					   "exists in the image with another owner "
					   "or mode; change it with xw-debugfs");
	}
	if (n && can_keep(e, n))
		rc = xw_fill_note_table(f, e, n);
	else
		rc = make(f, e, &at, old, &n);
	if (rc)
		return rc;
	if (old && old->node == n)
		old->layer = f->tree->layer;
	n->flags |= XW_BN_ATTRS;
	n->uid = e->uid;
	n->gid = e->gid;
	f->path = e->path;
	rc = xw_fill_chmod(f, e, n, e->mode);
	return rc ? rc : xw_fill_label_entry(f, n);
}
