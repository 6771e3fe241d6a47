/* SPDX-License-Identifier: MIT */
/*
 * Applies labels (labels.h) to the tree. Files are labeled with their entries, since the room for
 * inline data depends on their attributes; directories at the end, when implied ones exist, too.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/inode.h"
#include "import/fill.h"

int xw_fill_label(struct xw_fill *f, struct xw_binode *n, const char *path)
{
	const struct xw_label_config *c = xw_labels_config(f->labels, path);
	const struct xw_entry e = {.path = {path, strlen(path)}};
	auto_free char *context = NULL;
	uint8_t caps[XW_LABEL_CAPS];
	struct xw_slice value = {(const char *)caps, sizeof(caps)};
	int rc = 0;

	if (c) {
		n->uid = c->uid;
		n->gid = c->gid;
		if (!xw_binode_is(n, XW_S_IFLNK))
			rc = xw_fill_chmod(f, &e, n, c->mode);
	}
	if (!rc && c && c->capabilities && xw_binode_is(n, XW_S_IFREG)) {
		xw_labels_caps(c->capabilities, caps);
		rc = xw_fill_put_xattr(f, path, n, xw_slice_of("security.capability"), value);
	}
	if (!rc && c)
		rc = xw_fill_note_label(f, n, c);
	if (rc)
		return rc;
	rc = xw_labels_context(f->labels, path, n->mode, &context, f->diag);
	if (rc != 1)
		return rc;
	value = (struct xw_slice){context, strlen(context) + 1};
	return xw_fill_put_xattr(f, path, n, xw_slice_of("security.selinux"), value);
}

int xw_fill_label_entry(struct xw_fill *f, struct xw_binode *n)
{
	const char *path;

	if (!f->labels || xw_binode_is(n, XW_S_IFDIR))
		return 0;
	path = xw_labels_path(f->labels, f->select->directory, f->path.p, f->path.len);
	return path ? xw_fill_label(f, n, path) : xw_fail_nomem(f->diag, "labels");
}

/* Is the directory new, or changed by an entry? Others keep their labels. */
static bool needs_label(const struct xw_binode *n)
{
	return !(n->flags & (XW_BN_DEAD | XW_BN_LAZY)) &&
	       (!(n->flags & XW_BN_OLD) || n->flags & XW_BN_ATTRS);
}

struct level {
	const struct xw_blink *next;
	size_t len; /* length of the directory's path */
};

struct walk {
	struct xw_fill *f;
	XW_VEC(struct level) levels;
	XW_VEC(char) path;
};

/* Label the directory at w->path and descend into it. */
static int enter(struct walk *w, struct xw_binode *n)
{
	const char *path =
		xw_labels_path(w->f->labels, NULL, w->path.n ? w->path.v : "", w->path.n);
	const struct level l = {n->dir->first, w->path.n};

	if (!path || xw_vec_push(&w->levels, l))
		return xw_fail_nomem(w->f->diag, "labels");
	return needs_label(n) ? xw_fill_label(w->f, n, path) : 0;
}

/* Visit the next entry of the deepest directory, or ascend after the last one. */
static int step(struct walk *w)
{
	struct level *l = &w->levels.v[w->levels.n - 1];
	const struct xw_blink *name = l->next;

	w->path.n = l->len;
	if (!name) {
		w->levels.n--;
		return 0;
	}
	l->next = name->next;
	if (!name->node || !xw_binode_is(name->node, XW_S_IFDIR) ||
	    name->node->flags & (XW_BN_DEAD | XW_BN_LAZY))
		return 0;
	if (xw_vec_reserve(&w->path, w->path.n + name->len + 1))
		return xw_fail_nomem(w->f->diag, "labels");
	w->path.v[w->path.n++] = '/';
	memcpy(w->path.v + w->path.n, name->name, name->len);
	w->path.n += name->len;
	return enter(w, name->node);
}

int xw_fill_label_directories(struct xw_fill *f)
{
	struct walk w = {.f = f};
	int rc = f->labels ? enter(&w, f->tree->root) : 0;

	while (!rc && w.levels.n)
		rc = step(&w);
	xw_vec_free(&w.levels);
	xw_vec_free(&w.path);
	return rc;
}
