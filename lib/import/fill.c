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

#define LARGE_FILE_SIZE ((uint64_t)1 << 31)

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
	xw_vec_free(&f->internal_dirs);
	xw_table_free(&f->origins);
	for (size_t i = 0; i < f->layers.n; i++)
		free(f->layers.v[i]);
	xw_vec_free(&f->layers);
}

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

static void set_times(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n)
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

static int set_attributes(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n)
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
	set_times(f, e, n);
	rc = xw_fill_xattrs(f, e, n);
	if (!rc)
		rc = explicit_mode(f, e, n);
	return rc ? rc : xw_fill_label_entry(f, n);
}

/* ---- entries ---- */

static int replace_content(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
			   struct xw_binode *n)
{
	int rc;

	if (n->flags & XW_BN_OLD)
		return xw_fill_fail(f, e, XW_ERR_UNSUPPORTED,
				    "a hard link with new contents for an existing file is not "
				    "supported");
	rc = xw_sink_release(f->sink, n);
	if (rc)
		return rc;
	rc = xw_sink_file(f->sink, s, e, n);
	f->large_file |= n->size >= LARGE_FILE_SIZE;
	return rc;
}

/*
 * Link the target in the place of `old`, which may be NULL. The target is kept while the old name,
 * which may be a parent of the target, is removed.
 */
static int link_target(struct xw_fill *f, const struct xw_entry *e, const struct xw_path_at *at,
		       struct xw_blink *old, struct xw_binode *target)
{
	int rc;

	target->links++;
	rc = old ? xw_tree_unlink(f->tree, old) : 0;
	if (rc)
		return rc;
	if (--target->links == 0)
		return xw_fill_fail(f, e, XW_ERR_INPUT,
				    "hard link replaces the directory of its target");
	return xw_tree_link(f->tree, at->dir, at->name, at->len, target);
}

/* The target of a hard link is not in the tree: was it left out by an option? */
static int fail_target(struct xw_fill *f, const struct xw_entry *e, bool stripped)
{
	const int excluded = xw_select_excluded(f->select, e->link);

	if (excluded < 0)
		return xw_fail_nomem(f->diag, "--exclude");
	if (excluded || stripped)
		return xw_fill_fail(f, e, XW_ERR_INPUT,
				    "hard link to %.*s, which is left out by %s; from a directory, "
				    "the contents are kept under this name",
				    XW_SHOWN(e->link),
				    excluded ? "--exclude" : "--strip-components");
	return xw_fill_fail(f, e, XW_ERR_INPUT,
			    "hard link to %.*s, which does not precede it in the archive",
			    XW_SHOWN(e->link));
}

static int add_hardlink(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
			const struct xw_path_at *at, struct xw_blink *old)
{
	struct xw_binode *target = NULL;
	struct xw_slice link = e->link;
	int rc = xw_select_transform(f->select, XW_TRANSFORM_HARDLINK, &link);

	if (rc)
		return xw_fail_nomem(f->diag, "--transform");
	if (!xw_select_strip(f->select, link, &link))
		return fail_target(f, e, true);
	if (xw_tree_lookup(f->tree, f->top, link.p, link.len, &target))
		return fail_target(f, e, false);
	if (xw_binode_is(target, XW_S_IFDIR))
		return xw_fill_fail(f, e, XW_ERR_INPUT, "hard link to a directory");
	rc = xw_tree_need(f->tree, target);
	if (rc)
		return rc;
	if (old && old->node == target) {
		if (f->existing == XW_FILL_REPLACE)
			old->layer = f->tree->layer;
	} else {
		if (old && xw_fill_is_protected(f, old))
			return xw_fill_check_existing(f, old);
		rc = link_target(f, e, at, old, target);
		if (rc)
			return rc;
	}
	return e->link_data && xw_binode_is(target, XW_S_IFREG) ? replace_content(f, s, e, target)
								: 0;
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

/* An entry for an existing directory. */
static int update_directory(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n)
{
	const bool is_new_root = n == f->tree->root && !(n->flags & XW_BN_OLD);

	if (!is_new_root && xw_fill_is_container(f, n))
		return 0;
	if (!f->no_overwrite_dir)
		return set_attributes(f, e, n);
	set_times(f, e, n); /* which tar(1) does, too */
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
	return existed ? update_directory(f, e, n) : set_attributes(f, e, n);
}

static int add_file(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
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
		rc = set_attributes(f, e, n);
	if (rc)
		return rc;
	switch (e->type) {
	case XW_ET_REG:
		rc = xw_sink_file(f->sink, s, e, n);
		f->large_file |= n->size >= LARGE_FILE_SIZE;
		return rc;
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
		return add_hardlink(f, s, e, at, old);
	return add_file(f, s, e, at, old);
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
		return 0;
	rc = xw_select_transform(f->select, XW_TRANSFORM_NAME, &path);
	if (rc)
		return xw_fail_nomem(f->diag, "--transform");
	if (!path.len || !xw_select_strip(f->select, path, &path))
		return 0;
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
