// SPDX-License-Identifier: MIT
/*
 * Adds entries of sources to the tree. As when unpacking, an entry replaces an existing one of the
 * same name (directories are merged); a hard link refers to the inode that its target has at that
 * time; parents without an entry are created with default attributes.
 */
#include "config.h"

#include "import/fill.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/inode.h"
#include "import/layout.h"
#include "import/unselected.h"

/* ---- callbacks of the tree ---- */

static int dropped(void *arg, struct xw_binode *n)
{
	struct xw_fill *f = arg;

	if (n->xblock)
		xw_share_put(f->share, n->xblock);
	n->xblock = NULL;
	n->xattrs = NULL;
	if (n->flags & XW_BN_OLD)
		return 0; /* its blocks in the image are freed with the metadata */
	return xw_binode_is(n, XW_S_IFREG) ? xw_sink_release(f->sink, n) : 0;
}

/*
 * Flags of a directory that replaces a file or whiteout: as these hid a directory of the same name
 * in the layers below the image, so must the new directory.
 */
static uint16_t in_place_of_file(const struct xw_fill *f)
{
	return f->whiteouts == XW_WHITEOUTS_OVERLAY ? XW_BN_OPAQUE : 0;
}

/*
 * Create an implied directory as root's mkdir(2) does: like tar(1), which also creates it before an
 * entry of the same source sets the attributes of its parent.
 */
static int implied(void *arg, struct xw_binode *n, const struct xw_binode *parent,
		   const struct xw_blink *old)
{
	struct xw_fill *f = arg;
	const bool given_now = parent->flags & XW_BN_ATTRS && !(parent->flags & XW_BN_OLD) &&
			       parent->ino > f->made_before;

	if (parent->mode & XW_S_ISGID && !given_now) {
		n->mode |= XW_S_ISGID;
		n->gid = parent->gid;
	}
	if (!old)
		return 0;
	/* fails in tar, too, even with --skip-old-files */
	if (xw_fill_is_protected(f, old))
		return xw_fill_fail_exists(f, old);
	if (!xw_whiteout_is_device(old->node))
		xw_fill_warn(f, f->entry, "replaces the file %.*s with a directory", old->len,
			     old->name);
	n->flags |= in_place_of_file(f);
	return n->flags & XW_BN_OPAQUE ? xw_fill_update_xattrs(f, n) : 0;
}

void xw_fill_set_callbacks(struct xw_fill *f)
{
	f->tree->dropped = dropped;
	f->tree->dropped_arg = f;
	f->tree->implied = implied;
	f->tree->implied_arg = f;
}

void xw_fill_free(struct xw_fill *f)
{
	xw_xattr_set_free(&f->set);
	xw_xattr_set_free(&f->old);
	xw_unselected_free(f);
	xw_vec_free(&f->internal_dirs);
	xw_table_free(&f->origins);
	xw_table_free(&f->labeled);
	for (size_t i = 0; i < f->layers.n; i++)
		free(f->layers.v[i]);
	xw_vec_free(&f->layers);
}

/* ---- entries ---- */

/* An entry for an existing directory. */
static int update_directory(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n)
{
	const bool is_new_root = n == f->tree->root && !(n->flags & XW_BN_OLD);

	if (!is_new_root && xw_fill_is_container(f, n))
		return 0;
	if (!f->no_overwrite_dir)
		return xw_fill_set_attributes(f, e, n);
	xw_fill_set_times(f, e, n); /* which tar(1) does, too */
	return 0;
}

static int add_directory(struct xw_fill *f, const struct xw_entry *e, const struct xw_path_at *at,
			 struct xw_blink *old)
{
	struct xw_binode *n = !at->len ? at->dir : old ? old->node : NULL;
	int rc = n ? xw_tree_need(f->tree, n) : 0;
	uint16_t flags = 0;
	bool existed;

	if (rc)
		return rc;
	if (f->existing != XW_FILL_REPLACE && n && n->flags & XW_BN_OLD &&
	    xw_binode_is(n, XW_S_IFDIR)) {
		if (old)
			old->layer = f->tree->layer;
		return 0;
	}
	if (old && xw_fill_is_protected(f, old))
		return xw_fill_check_existing(f, old);
	if (n && !xw_binode_is(n, XW_S_IFDIR)) {
		flags = in_place_of_file(f);
		rc = xw_tree_unlink(f->tree, old);
		if (rc)
			return rc;
		n = NULL;
	}
	existed = n;
	if (!n) {
		n = xw_tree_node(f->tree, XW_S_IFDIR);
		if (!n)
			return xw_fail_nomem(f->diag, "directory");
		n->flags |= flags;
		rc = xw_tree_link(f->tree, at->dir, at->name, at->len, n);
		if (rc)
			return rc;
	}
	if (old)
		old->layer = f->tree->layer;
	return existed ? update_directory(f, e, n) : xw_fill_set_attributes(f, e, n);
}

static bool last_is_whiteout(struct xw_slice path)
{
	const char *slash;
	size_t from;

	path = xw_slice_trim(path);
	slash = path.len ? memrchr(path.p, '/', path.len) : NULL;
	from = slash ? (size_t)(slash + 1 - path.p) : 0;
	return xw_whiteout_named(path.p + from, path.len - from);
}

/* Look up the parent directory of the entry. A failure's message gets the entry's name. */
static int walk_to(struct xw_fill *f, const struct xw_entry *e, struct xw_slice path,
		   enum xw_path_walk how, struct xw_path_at *at)
{
	int rc = xw_tree_walk(f->tree, f->top, path.p, path.len, how, at);

	return rc == XW_ERR_INPUT ? xw_fill_fail(f, e, rc, "%s", f->diag->text) : rc;
}

/*
 * Apply a whiteout. In a directory that does not exist it has no effect, except for overlayfs,
 * where it hides entries of the layers below the image.
 */
static int add_whiteout(struct xw_fill *f, const struct xw_entry *e, struct xw_slice path)
{
	const bool overlay = f->whiteouts == XW_WHITEOUTS_OVERLAY;
	struct xw_path_at at;
	int rc = walk_to(f, e, path, overlay ? XW_WALK_ADD : XW_WALK_FIND, &at);

	if (rc)
		return rc == XW_ERR_NOTFOUND ? 0 : rc;
	return xw_whiteout_apply(f, e, &at);
}

static int add_as(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
		  const struct xw_path_at *at, struct xw_blink *old)
{
	if (e->type == XW_ET_DIR)
		return add_directory(f, e, at, old);
	if (!at->len)
		return xw_fill_fail(f, e, XW_ERR_INPUT,
				    "has a trailing slash but is not a directory");
	if (e->type == XW_ET_HARDLINK)
		return xw_fill_add_hardlink(f, s, e, at, old);
	return xw_fill_add_file(f, s, e, at, old);
}

static int add_at(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
		  struct xw_slice path)
{
	const struct xw_binode *was;
	struct xw_path_at at;
	struct xw_blink *old;
	int rc = walk_to(f, e, path, XW_WALK_OWN, &at);

	if (rc)
		return rc;
	old = at.len ? xw_tree_find(f->tree, at.dir, at.name, at.len) : NULL;
	was = old && old->layer == f->tree->layer ? old->node : NULL;
	rc = add_as(f, s, e, &at, old);
	if (!rc && f->unselected)
		rc = xw_unselected_forget(f, e->path);
	return rc || !at.len ? rc : xw_fill_check_renamed(f, e, &at, was);
}

static int add_entry(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e)
{
	struct xw_slice path = e->path;
	int rc;

	f->entry = e;
	if (e->listed)
		return xw_fill_table_entry(f, e);
	rc = xw_select_excluded(f->select, path);
	if (rc < 0)
		return xw_fail_nomem(f->diag, "--exclude");
	if (rc || xw_select_too_old(f->select, e))
		return xw_unselected_add(f, s, e);
	rc = xw_select_transform(f->select, XW_TRANSFORM_NAME, &path);
	if (rc)
		return xw_fail_nomem(f->diag, "--transform");
	if (!path.len || !xw_select_strip(f->select, path, &path))
		return xw_unselected_add(f, s, e);
	if (xw_slice_has_dotdot(e->path) && !f->dotdots++)
		xw_fill_warn(f, e, "\"..\" stops at %s",
			     f->top == f->tree->root ? "the image's root" : "--directory");
	f->path = path;
	if (f->whiteouts == XW_WHITEOUTS_KEEP)
		return add_at(f, s, e, path);
	rc = last_is_whiteout(path) ? add_whiteout(f, e, path) : add_at(f, s, e, path);
	return rc ? rc : xw_whiteout_remember(f, path);
}

/* Warn if an archive of a container image is unpacked as such; intended with --directory. */
static void warn_layout(const struct xw_fill *f, const struct xw_source *s, unsigned marks)
{
	const bool wanted = f->select->directory || f->keep_images || f->image_layer;
	const char *kind = wanted ? NULL : xw_layout_kind(marks);

	if (kind)
		xw_log(f->diag, XW_LOG_WARN,
		       "%s: %s: its layers are stored as files, not unpacked; %s", s->name, kind,
		       xw_layout_advice(marks));
}

static int fill_layer(struct xw_fill *f, struct xw_source *s)
{
	const char *dir = f->select->directory ? f->select->directory : "";
	auto_free char *name = strdup(s->name);
	const struct xw_entry *e;
	unsigned marks = 0;
	int more, rc;

	if (f->tree->layer == UINT16_MAX)
		return xw_fail(f->diag, XW_ERR_LIMIT, "%s: more than %u sources", s->name,
			       UINT16_MAX);
	if (!name || xw_vec_push(&f->layers, name))
		return xw_fail_nomem(f->diag, "layer");
	(void)steal(name);
	f->source = s->name;
	f->from_host_dir = s->is_host_dir;
	f->tree->layer++;
	/* mark the names on the path to --directory as belonging to this layer */
	f->tree->last_parent = NULL;
	f->made_before = f->tree->made;
	/* unlike names of entries, --directory may follow symlinks anywhere in the image */
	rc = xw_tree_enter(f->tree, dir, strlen(dir), XW_WALK_ADD, &f->top);
	if (rc == XW_ERR_NOTFOUND)
		return xw_fail(f->diag, XW_ERR_INPUT,
			       "--directory %s: not a directory in the image", dir);
	if (rc)
		return rc;
	while ((more = xw_source_next(s, &e)) > 0) {
		f->entries++;
		rc = f->tick ? f->tick(f->tick_arg, f->entries) : 0;
		if (!rc)
			rc = add_entry(f, s, e);
		if (rc)
			return rc;
		marks |= xw_layout_mark(e);
	}
	xw_unselected_free(f);
	if (more)
		return more;
	warn_layout(f, s, marks);
	return xw_whiteout_end(f);
}

int xw_fill_source(struct xw_fill *f, struct xw_source *s)
{
	const enum xw_whiteouts before = f->whiteouts;
	int more = 0, rc = 0;

	if (!s->ops->layer)
		return fill_layer(f, s);
	if (f->whiteouts_default)
		f->whiteouts = XW_WHITEOUTS_APPLY;
	f->image_layer = true;
	while (!rc && (more = s->ops->layer(s)) > 0)
		rc = fill_layer(f, s);
	f->image_layer = false;
	f->whiteouts = before;
	return rc ? rc : more;
}
