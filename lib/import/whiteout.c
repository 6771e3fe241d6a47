// SPDX-License-Identifier: MIT
/*
 * Whiteouts of OCI image layers. `.wh.NAME` hides NAME of the layers below; `.wh..wh..opq` hides
 * everything the layers below have in its directory. A marker never touches what its own layer
 * brings, wherever in the layer it stands: names carry the number of the layer that last named
 * them. Other names that begin with `.wh..wh.` are a union filesystem's own notes and are dropped.
 */
#include "config.h"

#include <string.h>

#include "disk/inode.h"
#include "import/fill.h"

#define PREFIX ".wh."
#define PREFIX_LEN 4
#define NOTE ".wh..wh."
#define NOTE_LEN 8
#define OPAQUE ".wh..wh..opq"
#define OPAQUE_LEN 12

bool xw_whiteout_named(const char *name, size_t len)
{
	return len > PREFIX_LEN && !memcmp(name, PREFIX, PREFIX_LEN);
}

/* Remove what is from below this layer in dir; a directory this layer has keeps what it brought. */
static int clear_lower(struct xw_fill *f, struct xw_binode *top)
{
	struct xw_binode *dir = top;
	struct xw_blink *l = dir->dir->first;

	/* Without recursion: `scan` is where each open directory goes on. */
	for (;;) {
		while (!l && dir != top) {
			l = dir->dir->scan;
			dir = dir->dir->parent;
		}
		if (!l)
			return 0;
		if (!l->node) {
			l = l->next;
		} else if (l->layer < f->tree->layer) {
			struct xw_blink *next = l->next;
			int ret = xw_tree_unlink(f->tree, l);

			if (ret)
				return ret;
			l = next;
		} else if (xw_binode_is(l->node, XW_S_IFDIR)) {
			struct xw_binode *sub = l->node;
			int ret = xw_tree_need(f->tree, sub);

			if (ret)
				return ret;
			sub->dir->scan = l->next;
			dir = sub;
			l = sub->dir->first;
		} else {
			l = l->next;
		}
	}
}

static int make_opaque(struct xw_fill *f, struct xw_binode *dir)
{
	if (f->whiteouts == XW_WHITEOUTS_APPLY)
		return clear_lower(f, dir);
	dir->flags |= XW_BN_OPAQUE;
	return xw_fill_renew_xattrs(f, dir);
}

/* overlayfs: a character device 0:0 in the place of the name. */
static int put_device(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *dir,
		      const char *name, size_t len)
{
	struct xw_binode *n = xw_tree_node(f->tree, XW_S_IFCHR);

	if (!n)
		return xw_fail_nomem(f->diag, "whiteout");
	n->uid = f->select->owner_set ? f->select->owner : e->uid;
	n->gid = f->select->group_set ? f->select->group : e->gid;
	n->mtime = n->atime = e->mtime.sec;
	n->mtime_ns = n->atime_ns = e->mtime.nsec;
	return xw_tree_link(f->tree, dir, name, len, n);
}

int xw_whiteout_apply(struct xw_fill *f, const struct xw_entry *e, const struct xw_path_at *at)
{
	const char *name = at->name + PREFIX_LEN;
	size_t len = at->len - PREFIX_LEN;
	struct xw_blink *l;
	int ret = 0;

	if (at->len == OPAQUE_LEN && !memcmp(at->name, OPAQUE, OPAQUE_LEN))
		return make_opaque(f, at->dir);
	if (at->len >= NOTE_LEN && !memcmp(at->name, NOTE, NOTE_LEN))
		return 0;
	l = xw_tree_find(f->tree, at->dir, name, len);
	if (l && l->layer == f->tree->layer) {
		/* The layer has the name itself: only what lies below it from lower layers goes. */
		ret = xw_tree_need(f->tree, l->node);
		if (ret)
			return ret;
		return xw_binode_is(l->node, XW_S_IFDIR) ? make_opaque(f, l->node) : 0;
	}
	if (l)
		ret = xw_tree_unlink(f->tree, l);
	if (!ret && f->whiteouts == XW_WHITEOUTS_OVERLAY)
		ret = put_device(f, e, at->dir, name, len);
	return ret;
}
