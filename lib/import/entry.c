/* SPDX-License-Identifier: MIT */
/* Attributes and contents of an entry, and the inode to which a hard link refers. */
#include "config.h"

#include "disk/inode.h"
#include "import/fill.h"

#define LARGE_FILE_SIZE ((uint64_t)1 << 31)

/* ---- attributes ---- */

/* Apply --mode and -E root_perms: after the ACL of the entry, which decides the mode otherwise. */
static int explicit_mode(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n)
{
	if (n == f->tree->root && f->keep_root_perms)
		return xw_fill_chmod(f, e, n, n->mode & 07777u);
	if (e->type == XW_ET_LNK || !f->select->mode.v.n)
		return 0;
	return xw_fill_chmod(f, e, n,
			     xw_select_mode(f->select, n->mode & 07777u, e->type == XW_ET_DIR));
}

void xw_fill_set_times(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n)
{
	struct xw_time t = xw_select_time(f->select, e->mtime);

	n->flags |= XW_BN_ATTRS;
	if (f->latest && (t.sec > f->latest || t.sec < INT32_MIN))
		xw_fill_warn(f, e, "time %lld does not fit the inode: clamped", (long long)t.sec);
	n->mtime = t.sec;
	n->mtime_ns = t.nsec;
	if (e->has_atime)
		t = xw_select_time(f->select, e->atime);
	n->atime = t.sec;
	n->atime_ns = t.nsec;
}

int xw_fill_set_attributes(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n)
{
	const bool root = n == f->tree->root, plain = root && xw_fill_is_container(f, n);
	uint32_t perms = plain ? n->mode & 07777 : e->mode & 07777;
	int rc;

	if (!plain && !(n->flags & XW_BN_OLD)) /* kept for existing inodes, as by Linux */
		n->flags = (uint16_t)((n->flags & ~XW_BN_CHATTR) | e->chattr);
	if (e->type == XW_ET_LNK)
		perms = 0777; /* the mode of every symlink in Linux */
	if (!(root && f->keep_root_perms))
		n->mode = (uint16_t)(xw_fill_type_bits(e->type) | perms);
	if (!(root && f->keep_root_owner)) {
		n->uid = xw_select_owner(f->select, plain ? n->uid : e->uid);
		n->gid = xw_select_group(f->select, plain ? n->gid : e->gid);
	}
	xw_fill_set_times(f, e, n);
	rc = xw_fill_xattrs(f, e, n);
	if (!rc)
		rc = explicit_mode(f, e, n);
	return rc ? rc : xw_fill_label_entry(f, n);
}

/* ---- files ---- */

int xw_fill_contents(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
		     struct xw_binode *n)
{
	const int rc = xw_sink_file(f->sink, s, e, n);

	f->large_file |= n->size >= LARGE_FILE_SIZE;
	return rc;
}

static int set_target(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n)
{
	struct xw_slice link = e->link;

	/* a trailing slash is significant and kept */
	if (f->select->transforms &&
	    xw_transforms_apply(f->select->transforms, XW_TRANSFORM_SYMLINK, &link))
		return xw_fail_nomem(f->diag, "--transform");
	if (!link.len)
		return xw_fill_fail(f, e, XW_ERR_INPUT, "symlink without a target");
	if (link.len >= f->sink->block_size)
		return xw_fill_fail(f, e, XW_ERR_LIMIT, "symlink target does not fit a block");
	n->bytes = xw_arena_dup(&f->tree->arena, link.p, link.len);
	n->size = link.len;
	return n->bytes ? 0 : xw_fail_nomem(f->diag, "symlink");
}

int xw_fill_add_file(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
		     const struct xw_path_at *at, struct xw_blink *old)
{
	const bool over_dir = old && xw_binode_is(old->node, XW_S_IFDIR);
	const bool stays = old && xw_fill_is_protected(f, old);
	struct xw_binode *n;
	int rc = over_dir && !stays ? xw_tree_need(f->tree, old->node) : 0;

	if (rc || stays)
		return rc ? rc : xw_fill_check_existing(f, old);
	/* image layers may do so without a whiteout */
	if (over_dir && old->node->dir->entries && !f->image_layer)
		xw_fill_warn(f, e, "replaces a non-empty directory");
	rc = old ? xw_tree_unlink(f->tree, old) : 0;
	if (rc)
		return rc;
	n = xw_tree_node(f->tree, xw_fill_type_bits(e->type));
	if (!n)
		return xw_fail_nomem(f->diag, "file");
	rc = xw_tree_link(f->tree, at->dir, at->name, at->len, n);
	if (!rc)
		rc = xw_fill_set_attributes(f, e, n);
	if (rc)
		return rc;
	switch (e->type) {
	case XW_ET_REG:
		return xw_fill_contents(f, s, e, n);
	case XW_ET_LNK:
		return set_target(f, e, n);
	case XW_ET_CHR:
	case XW_ET_BLK:
		if (e->dev_major > 0xfff || e->dev_minor > 0xfffff)
			return xw_fill_fail(f, e, XW_ERR_LIMIT,
					    "device number is over 4095:1048575");
		n->dev.major = e->dev_major;
		n->dev.minor = e->dev_minor;
		return 0;
	default:
		return 0;
	}
}

/* ---- hard links ---- */

int xw_fill_link_target(struct xw_fill *f, const struct xw_entry *e, struct xw_binode **target)
{
	struct xw_slice link = e->link;
	int rc = xw_select_transform(f->select, XW_TRANSFORM_HARDLINK, &link);

	if (rc)
		return xw_fail_nomem(f->diag, "--transform");
	if (!xw_select_strip(f->select, link, &link))
		return XW_ERR_NOTFOUND;
	rc = xw_tree_lookup(f->tree, f->top, link.p, link.len, target);
	if (rc != XW_ERR_INPUT)
		return rc;
	xw_diag_clear(f->diag);
	return XW_ERR_NOTFOUND;
}

int xw_fill_link_data(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
		      struct xw_binode *n)
{
	int rc;

	if (!e->link_data || !xw_binode_is(n, XW_S_IFREG))
		return 0;
	if (n->flags & XW_BN_OLD)
		return xw_fill_fail(f, e, XW_ERR_UNSUPPORTED,
				    "a hard link with new contents for an existing file is not "
				    "supported");
	rc = xw_sink_release(f->sink, n);
	return rc ? rc : xw_fill_contents(f, s, e, n);
}
