/* SPDX-License-Identifier: MIT */
/*
 * Export: each item of the queue is passed to a writer. Three kinds of failures must not be mixed:
 * damage of the image and items that cannot be written unchanged are logged and counted, and the
 * run continues; every other failure (out of memory, writing the output) ends the run.
 */
#include "export/exporter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "read/file.h"
#include "xattr/access.h"
#include "xattr/set.h"

/* Is this failure caused by damage of the image? */
static bool is_damage(int rc)
{
	return rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM || rc == XW_ERR_IO ||
	       rc == XW_ERR_TRUNCATED || rc == XW_ERR_LIMIT || rc == XW_ERR_INPUT ||
	       rc == XW_ERR_UNSUPPORTED || rc == XW_ERR_NOTFOUND;
}

/* Log the message in diag, with the path of its item, and clear it. */
static void log_failure(struct xw_exporter *x, const char *path)
{
	struct xw_diag *d = x->img->diag;

	if (!d)
		return;
	path = *path ? path : "/";
	if (!*x->first)
		snprintf(x->first, sizeof(x->first), "%.300s: %.400s", path, d->text);
	xw_log(d, XW_LOG_WARN, "%s: %s", path, d->text);
	xw_diag_clear(d);
}

int xw_export_damage(struct xw_exporter *x, const char *path, int rc)
{
	if (!is_damage(rc))
		return rc;
	x->stats->damaged++;
	if (rc != XW_ERR_UNSUPPORTED || !x->damage_code)
		x->damage_code = rc == XW_ERR_UNSUPPORTED ? rc : XW_ERR_CORRUPT;
	log_failure(x, path);
	return 0;
}

void xw_export_failed(struct xw_exporter *x, const char *path, int rc)
{
	x->stats->failed++;
	if (!x->failed_code)
		x->failed_code = rc;
	log_failure(x, path);
}

bool xw_export_has_contents(const struct xw_export_item *item)
{
	return (item->at->inode.mode & XW_S_IFMT) == XW_S_IFREG && !item->hardlink;
}

static bool is_wanted(const struct xw_exporter *x, const struct xw_xattr_ref *a)
{
	char name[XW_XATTR_FULL_NAME_MAX];
	const bool is_acl = a->index == XW_XI_ACL_ACCESS || a->index == XW_XI_ACL_DEFAULT;
	size_t len;

	if (xw_xattr_is_internal(a))
		return false;
	if (is_acl ? x->opts->no_acls : x->opts->no_xattrs)
		return false;
	if (!x->opts->select || !x->opts->select->xattrs_exclude.n)
		return true;
	len = xw_xattr_full_name(a->index, a->name, a->name_len, name);
	/* a name of this length is compared without allocating memory */
	return !len || !xw_select_xattr_excluded(x->opts->select, (struct xw_slice){name, len});
}

static const char *shown_path(const struct xw_export_item *item)
{
	return *item->at->path ? item->at->path : "/";
}

/* Encode an ACL with the ids that options give, and with an explicit mode. */
static int select_acl(struct xw_exporter *x, const struct xw_export_item *item,
		      struct xw_xattr_ref *a, uint8_t **own)
{
	const struct xw_select *s = x->opts->select;
	const struct xw_inode *to = &item->at->inode;
	const struct xw_acl_ids ids = {xw_select_id, s, x->was_uid, x->was_gid, to->uid, to->gid};
	const char *what = a->index == XW_XI_ACL_DEFAULT ? "default ACL" : "access ACL";
	auto_end(xw_acl_free) struct xw_acl acl = {0};
	struct xw_diag *diag = x->img->diag;
	bool merged = false;
	int rc = xw_acl_from_stored(&acl, a->value, a->value_len, what, diag);

	if (!rc && xw_select_maps_ids(s))
		rc = xw_acl_map(&acl, &ids, &merged, what, diag);
	if (rc)
		return rc;
	if (merged && !x->merged_acls)
		xw_log(diag, XW_LOG_WARN, "%s: " XW_ACL_MERGED, shown_path(item));
	x->merged_acls |= merged;
	if (s->mode.v.n && a->index == XW_XI_ACL_ACCESS)
		xw_acl_chmod(&acl, to->mode);
	a->value_len = (uint32_t)xw_acl_to_disk(&acl, NULL);
	a->value = *own = malloc(a->value_len);
	if (!*own)
		return xw_fail_nomem(diag, "an ACL");
	xw_acl_to_disk(&acl, *own);
	return 0;
}

static int select_caps(struct xw_exporter *x, const struct xw_export_item *item,
		       struct xw_xattr_ref *a, uint8_t **own)
{
	uint32_t was, rootid;

	if (!xw_caps_rootid(a->value, a->value_len, &was))
		return 0;
	rootid = xw_select_owner(x->opts->select, was);
	*own = malloc(a->value_len);
	if (!*own)
		return xw_fail_nomem(x->img->diag, "capabilities");
	memcpy(*own, a->value, a->value_len);
	poke32(*own + XW_CAPS_ROOTID, rootid);
	a->value = *own;
	if (was && !rootid && !x->root_caps)
		xw_log(x->img->diag, XW_LOG_WARN, "%s: " XW_CAPS_BECOME_ROOT, shown_path(item),
		       was);
	x->root_caps |= was && !rootid;
	return 0;
}

/* Change ids and modes in the value of an attribute. *own: the new value, to be freed, or NULL. */
static int select_attribute(struct xw_exporter *x, const struct xw_export_item *item,
			    struct xw_xattr_ref *a, uint8_t **own)
{
	const struct xw_select *s = x->opts->select;
	const bool is_acl = a->index == XW_XI_ACL_ACCESS || a->index == XW_XI_ACL_DEFAULT;

	if (!s || (!xw_select_maps_ids(s) && !s->mode.v.n))
		return 0;
	if (is_acl)
		return select_acl(x, item, a, own);
	if (a->index == XW_XI_SECURITY && a->name_len == 10 && !memcmp(a->name, "capability", 10))
		return select_caps(x, item, a, own);
	return 0;
}

/* Pass on one attribute. */
static int put_attribute(struct xw_exporter *x, const struct xw_export_item *item,
			 struct xw_xattr_ref *a,
			 int (*each)(void *arg, const struct xw_xattr_ref *a), void *arg)
{
	auto_free uint8_t *own = NULL;
	int rc;

	if (!is_wanted(x, a))
		return 0;
	rc = select_attribute(x, item, a, &own);
	return rc ? rc : each(arg, a);
}

int xw_export_attributes(struct xw_exporter *x, const struct xw_export_item *item,
			 int (*each)(void *arg, const struct xw_xattr_ref *a), void *arg)
{
	const struct xw_walk_item *e = item->at;
	auto_end(xw_xattr_end) struct xw_xattr_iter it;
	struct xw_xattr_ref a;
	int rc = xw_xattr_begin(x->img, e->ino, &e->inode, e->raw, &it);

	while (rc || (rc = xw_xattr_next(&it, &a))) {
		if (rc > 0)
			rc = put_attribute(x, item, &a, each, arg);
		if (rc < 0)
			rc = xw_export_damage(x, e->path, rc);
		if (rc)
			return rc;
	}
	return 0;
}

/* The top is not counted, as when an image is filled. */
static void count(struct xw_export_stats *s, const struct xw_export_item *item)
{
	const uint32_t type = item->at->inode.mode & XW_S_IFMT;

	if (item->hardlink)
		s->hardlinks++;
	else if (type == XW_S_IFDIR)
		s->directories += *item->path != '\0';
	else if (type == XW_S_IFREG)
		s->files++;
	else if (type == XW_S_IFLNK)
		s->symlinks++;
	else
		s->specials++;
}

/* ---- items ---- */

/* Find the target of a symbolic link or the first name of a hard link, and write the item. */
static int put_name(struct xw_exporter *x, struct xw_export_item *item)
{
	const struct xw_walk_item *e = item->at;
	const bool linked = (e->inode.mode & XW_S_IFMT) != XW_S_IFDIR && e->inode.links > 1;
	size_t len;
	int rc = 0;

	if (linked) {
		item->link = xw_links_visit(&x->links, e->ino, e->inode.links, item->path, &rc);
		if (rc)
			return xw_fail_nomem(x->img->diag, "hard links");
		item->hardlink = item->link;
	}
	if (!item->link && (e->inode.mode & XW_S_IFMT) == XW_S_IFLNK) {
		rc = xw_symlink_read(x->img, e->ino, &e->inode, e->raw, x->text, &len);
		item->link = x->text;
	}
	if (!rc)
		rc = x->put(x->to, item);
	if (!rc)
		count(x->stats, item);
	else if (linked && !item->hardlink)
		xw_links_drop(&x->links, e->ino);
	return rc;
}

void xw_export_select(struct xw_exporter *x, struct xw_inode *inode)
{
	const struct xw_select *s = x->opts->select;
	const uint32_t type = inode->mode & XW_S_IFMT;

	x->was_uid = inode->uid;
	x->was_gid = inode->gid;
	if (!s)
		return;
	inode->mode =
		(uint16_t)(type | xw_select_mode(s, inode->mode & 07777u, type == XW_S_IFDIR));
	inode->uid = xw_select_owner(s, inode->uid);
	inode->gid = xw_select_group(s, inode->gid);
}

/* 1: item->path is the path in the output; 0: the item is excluded. */
static int select_item(struct xw_exporter *x, struct xw_walk_item *e, struct xw_export_item *item)
{
	const struct xw_select *s = x->opts->select;
	struct xw_slice left = {e->path, e->path_len};

	item->path = e->path;
	item->path_len = e->path_len;
	xw_export_select(x, &e->inode);
	if (!s || !s->strip_components)
		return 1;
	if (!xw_select_strip(s, left, &left) || !left.len)
		return 0;
	free(x->path);
	item->path = x->path = strndup(left.p, left.len);
	item->path_len = left.len;
	return x->path ? 1 : xw_fail_nomem(x->img->diag, "path");
}

/* Export one item. Damage is handled here; a returned code ends the run. */
static int export_item(struct xw_exporter *x, struct xw_walk_item *e)
{
	struct xw_export_item item = {.at = e};
	int rc = select_item(x, e, &item);

	if (rc != 1)
		return rc;
	if ((e->inode.mode & XW_S_IFMT) == XW_S_IFSOCK && !x->sockets) {
		x->stats->sockets++;
		xw_log(x->img->diag, XW_LOG_WARN,
		       "%s: socket skipped: archives cannot store sockets", e->path);
		return 0;
	}
	rc = put_name(x, &item);
	if (rc == 1)
		return 0;
	return x->foreign ? rc : xw_export_damage(x, e->path, rc);
}

int xw_export_items(struct xw_exporter *x)
{
	struct xw_walk_item e;
	int rc;

	while ((rc = xw_queue_next(x->queue, &e))) {
		rc = rc < 0 ? xw_export_damage(x, e.path, rc) : export_item(x, &e);
		if (!rc && x->opts->tick)
			rc = x->opts->tick(x->opts->tick_arg, x->stats);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- the run ---- */

static int on_missing(void *arg, const char *path)
{
	struct xw_exporter *x = arg;
	const size_t n = strlen(x->missing);

	x->stats->missing++;
	if (n + strlen(path) + 3 < sizeof(x->missing))
		snprintf(x->missing + n, sizeof(x->missing) - n, "%s%s", n ? ", " : "", path);
	else if (n + 5 < sizeof(x->missing) && strcmp(x->missing + n - 3, "..."))
		strcpy(x->missing + n, " ...");
	return 0;
}

int xw_export_begin(struct xw_exporter *x, struct xw_image *img, const struct xw_export_opts *o,
		    struct xw_export_stats *stats)
{
	const enum xw_export_order order = o->order == XW_ORDER_DEFAULT ? XW_ORDER_TREE : o->order;
	struct xw_walk_opts wo = {.top = o->top, .order = order, .select = o->select};
	auto_end(xw_children_free) struct xw_children roots = {0};
	struct xw_walk *w;
	bool all = !o->paths.n;
	xw_ino top;
	int rc;

	memset(stats, 0, sizeof(*stats));
	x->img = img;
	x->opts = o;
	x->stats = stats;
	x->text = malloc((size_t)img->block_size + 1);
	if (!x->text)
		return xw_fail_nomem(img->diag, "symbolic link");
	rc = xw_walk_top(img, o->top, &top);
	if (rc)
		return rc;
	if (!all)
		rc = xw_paths_resolve(img, top, order, &o->paths, on_missing, x, &roots, &all);
	if (rc)
		return rc;
	wo.roots = all ? NULL : &roots;
	rc = xw_walk_new(img, &wo, &w);
	return rc ? rc : xw_queue_new(img, order, w, &x->queue);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

int xw_export_finish(struct xw_exporter *x, int rc)
{
	const struct xw_export_stats *s = x->stats;
	struct xw_diag *d = x->img->diag;
	const char *name = x->img->dev->name;

	xw_queue_free(x->queue);
	xw_links_free(&x->links);
	free(x->text);
	free(x->path);
	if (rc)
		return rc;
	if (s->missing && (s->damaged || s->failed))
		xw_log(d, XW_LOG_WARN, "not in the image: %s", x->missing);
	if (s->damaged)
		return xw_fail(d, x->damage_code,
			       "%s: %" PRIu64 " item%s could not be read, the first: %s", name,
			       s->damaged, plural(s->damaged), x->first);
	if (s->failed)
		return xw_fail(d, x->failed_code,
			       "%s: %" PRIu64 " item%s could not be written as %s, the first: %s",
			       name, s->failed, plural(s->failed),
			       s->failed == 1 ? "it is" : "they are", x->first);
	if (s->missing)
		return xw_fail(d, XW_ERR_NOTFOUND, "%s: not in the image: %s", name, x->missing);
	return 0;
}

/* ---- listings ---- */

struct list {
	struct xw_exporter x;
	int (*each)(void *arg, const struct xw_export_item *item);
	void *arg;
};

static int list_put(void *to, const struct xw_export_item *item)
{
	struct list *l = to;
	int rc = l->each(l->arg, item);

	l->x.foreign = rc != 0;
	return rc;
}

int xw_image_to_list(struct xw_image *img, const struct xw_export_opts *o,
		     int (*each)(void *arg, const struct xw_export_item *item), void *arg,
		     struct xw_export_stats *stats)
{
	struct list l = {
		.x = {.put = list_put, .to = &l, .sockets = true}, .each = each, .arg = arg};
	int rc = xw_export_begin(&l.x, img, o, stats);

	if (!rc)
		rc = xw_export_items(&l.x);
	return xw_export_finish(&l.x, rc);
}
