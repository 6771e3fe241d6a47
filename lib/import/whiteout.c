// SPDX-License-Identifier: MIT
/*
 * Whiteouts of OCI image layers. `.wh.NAME` hides NAME in lower layers; `.wh..wh..opq` hides all
 * entries of its directory in lower layers. A marker never affects entries of its own layer, at any
 * position in the layer: directory entries record the last layer that contained them. Other names
 * that start with `.wh..wh.` are internal to union filesystems and are dropped. Their contents are
 * kept until the end of the layer: `.wh..wh.plnk` of aufs contains files that the layer links to.
 *
 * For overlayfs, the image must hide the same names in the layers below the image: entries are
 * removed, and a whiteout device or opaque directory is created.
 *
 * lost+found in the root belongs to the filesystem, not to a layer: it is kept, empty.
 */
#include "config.h"

#include <string.h>

#include "disk/dirent.h"
#include "disk/inode.h"
#include "import/fill.h"

#define PREFIX ".wh."
#define PREFIX_LEN 4
#define INTERNAL ".wh..wh."
#define INTERNAL_LEN 8
#define OPAQUE ".wh..wh..opq"
#define OPAQUE_LEN 12

bool xw_whiteout_named(const char *name, size_t len)
{
	return len >= PREFIX_LEN && !memcmp(name, PREFIX, PREFIX_LEN);
}

bool xw_whiteout_is_device(const struct xw_binode *n)
{
	return xw_binode_is(n, XW_S_IFCHR) && !n->dev.major && !n->dev.minor;
}

static bool is_lost_found(const struct xw_fill *f, const struct xw_blink *l)
{
	return l->dir == f->tree->root && xw_binode_is(l->node, XW_S_IFDIR) &&
	       l->node->dir->min_blocks;
}

static bool is_hidden(const struct xw_fill *f, const struct xw_blink *l,
		      const struct xw_binode *top)
{
	if (l->layer < f->tree->layer)
		return !is_lost_found(f, l) && !xw_fill_is_protected(f, l);
	return f->whiteouts == XW_WHITEOUTS_OVERLAY && top != f->tree->root &&
	       xw_whiteout_is_device(l->node);
}

/*
 * Remove entries of lower layers from the directory, recursively: a subdirectory of this layer only
 * keeps entries of this layer. Whiteout devices are removed, too, since they have nothing left to
 * hide. Later entries belong to this layer, so each directory is cleared once: an archive may
 * repeat a marker a million times, or for each of many nested directories.
 */
static int clear_lower(struct xw_fill *f, struct xw_binode *top)
{
	/* whiteout devices below the root are kept and not searched for */
	const bool all = f->whiteouts == XW_WHITEOUTS_APPLY || top != f->tree->root;
	struct xw_binode *dir = top;
	struct xw_blink *l = dir->dir->first;

	if (top->dir->cleared == f->tree->layer)
		return 0;

	/* Iterates without recursion: `scan` is the next entry of each open directory. */
	for (;;) {
		while (!l && dir != top) {
			dir->dir->cleared = all ? f->tree->layer : dir->dir->cleared;
			l = dir->dir->scan;
			dir = dir->dir->parent;
		}
		if (!l) {
			top->dir->cleared = f->tree->layer;
			return 0;
		}
		if (!l->node) {
			l = l->next;
		} else if (l->layer < f->tree->layer && xw_fill_is_protected(f, l) &&
			   !is_lost_found(f, l) && xw_fill_check_existing(f, l)) {
			return XW_ERR_EXISTS;
		} else if (is_hidden(f, l, top)) {
			struct xw_blink *next = l->next;
			int rc = xw_tree_unlink(f->tree, l);

			if (rc)
				return rc;
			l = next;
		} else if (xw_binode_is(l->node, XW_S_IFDIR) &&
			   l->node->dir->cleared != f->tree->layer) {
			struct xw_binode *sub = l->node;
			int rc = xw_tree_need(f->tree, sub);

			if (rc)
				return rc;
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
	int rc = clear_lower(f, dir);

	if (rc || f->whiteouts == XW_WHITEOUTS_APPLY)
		return rc;
	if (dir == f->tree->root) {
		xw_log(f->diag, XW_LOG_WARN,
		       "%s: opaque root directory: overlayfs ignores this, and layers below the "
		       "image remain visible",
		       f->source);
		return 0;
	}
	dir->flags |= XW_BN_OPAQUE;
	return xw_fill_update_xattrs(f, dir);
}

/* Create a whiteout of overlayfs: a character device 0:0. */
static int add_device(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *dir,
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
	int rc = 0;

	if (at->len == OPAQUE_LEN && !memcmp(at->name, OPAQUE, OPAQUE_LEN))
		return make_opaque(f, at->dir);
	if (at->len >= INTERNAL_LEN && !memcmp(at->name, INTERNAL, INTERNAL_LEN))
		return 0;
	if (!len || xw_name_is_dots(name, len))
		return xw_fill_fail(f, e, XW_ERR_INPUT,
				    "whiteout of \"%.*s\", which is not a valid name", (int)len,
				    name);
	l = xw_tree_find(f->tree, at->dir, name, len);
	if (l && (l->layer == f->tree->layer || is_lost_found(f, l))) {
		/*
		 * This layer contains the name itself: only remove entries of lower layers below
		 * it.
		 */
		rc = xw_tree_need(f->tree, l->node);
		if (rc)
			return rc;
		return xw_binode_is(l->node, XW_S_IFDIR) ? make_opaque(f, l->node) : 0;
	}
	if (l && xw_fill_is_protected(f, l))
		return xw_fill_check_existing(f, l);
	if (l)
		rc = xw_tree_unlink(f->tree, l);
	if (!rc && f->whiteouts == XW_WHITEOUTS_OVERLAY && !xw_tree_covered(f->tree, at->dir))
		rc = add_device(f, e, at->dir, name, len);
	return rc;
}

/*
 * Length of the path up to the first directory that is internal to a union filesystem, or 0. The
 * paths of a deep tree are long, and this is done for each of them.
 */
static size_t internal_dir(struct xw_slice path)
{
	static const char below[] = "/" INTERNAL;
	const char *name = path.p, *end;

	if (path.len < INTERNAL_LEN || memcmp(name, INTERNAL, INTERNAL_LEN)) {
		name = memmem(path.p, path.len, below, sizeof(below) - 1);
		if (!name)
			return 0;
		name++;
	}
	end = memchr(name, '/', path.len - (size_t)(name - path.p));
	return end ? (size_t)(end - path.p) : 0;
}

int xw_whiteout_remember(struct xw_fill *f, struct xw_slice path)
{
	const size_t len = internal_dir(path);
	struct xw_path_at at;
	struct xw_blink *l;
	int rc;

	if (!len)
		return 0;
	rc = xw_tree_walk(f->tree, f->top, path.p, len, XW_WALK_FIND, &at);
	if (rc)
		return rc == XW_ERR_NOTFOUND ? 0 : rc;
	l = at.len ? xw_tree_find(f->tree, at.dir, at.name, at.len) : NULL;
	if (!l || l->node->flags & XW_BN_OLD ||
	    (f->internal_dirs.n && f->internal_dirs.v[f->internal_dirs.n - 1] == l))
		return 0;
	return xw_vec_push(&f->internal_dirs, l) ? xw_fail_nomem(f->diag, "whiteout") : 0;
}

int xw_whiteout_end(struct xw_fill *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->internal_dirs.n && !rc; i++) {
		struct xw_blink *l = f->internal_dirs.v[i];

		if (l->node && !(l->node->flags & XW_BN_OLD))
			rc = xw_tree_unlink(f->tree, l);
	}
	f->internal_dirs.n = 0;
	return rc;
}
