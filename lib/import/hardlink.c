/* SPDX-License-Identifier: MIT */
/*
 * Hard links of sources. If the first name of a file is left out by an option, the first hard link
 * to it that is selected becomes its name: it gets the contents and attributes of the file.
 */
#include "config.h"

#include "disk/inode.h"
#include "import/fill.h"
#include "import/unselected.h"

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

/* Add the file that was left out under the name of the hard link. */
static int add_unselected(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
			  const struct xw_path_at *at, struct xw_blink *old,
			  struct xw_unselected_file *file)
{
	const bool data = e->link_data && file->e.type == XW_ET_REG;
	struct xw_entry as = file->e;
	struct xw_unselected_read r;
	const struct xw_blink *l;
	int rc;

	if (as.type == XW_ET_HARDLINK || (file->lost && !data))
		return xw_fill_fail(f, e, XW_ERR_INPUT,
				    "hard link to %.*s, which is left out; the contents are lost: "
				    "%s",
				    XW_SHOWN(e->link),
				    file->lost && f->unselected->why ? f->unselected->why
								     : "they were replaced");
	as.path = e->path;
	as.pos = e->pos;
	if (data) {
		as.size = e->size;
		as.sparse = e->sparse;
		as.segs = e->segs;
		as.n_segs = e->n_segs;
		rc = xw_fill_add_file(f, s, &as, at, old);
		file->lost = true; /* what came before is replaced */
	} else {
		rc = xw_unselected_open(f, file, &r);
		if (rc)
			return rc;
		rc = xw_fill_add_file(f, &r.src, &as, at, old);
		xw_source_close(&r.src);
	}
	l = rc ? NULL : xw_tree_find(f->tree, at->dir, at->name, at->len);
	/* an existing file may be protected */
	file->node = l && !(l->node->flags & XW_BN_OLD) ? l->node : NULL;
	return rc;
}

static int find_target(struct xw_fill *f, const struct xw_entry *e, struct xw_binode **target)
{
	int rc = xw_fill_link_target(f, e, target);

	if (rc == XW_ERR_NOTFOUND)
		return xw_fill_fail(f, e, XW_ERR_INPUT,
				    "hard link to %.*s, which does not precede it in the archive",
				    XW_SHOWN(e->link));
	if (!rc && xw_binode_is(*target, XW_S_IFDIR))
		return xw_fill_fail(f, e, XW_ERR_INPUT, "hard link to a directory");
	return rc ? rc : xw_tree_need(f->tree, *target);
}

int xw_fill_add_hardlink(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
			 const struct xw_path_at *at, struct xw_blink *old)
{
	struct xw_unselected_file *file;
	struct xw_binode *target = NULL;
	int rc = xw_unselected_find(f, e->link, &file);

	if (rc)
		return rc;
	if (file && (!file->node || file->node->flags & XW_BN_DEAD))
		return add_unselected(f, s, e, at, old, file);
	if (file)
		target = file->node;
	else
		rc = find_target(f, e, &target);
	if (rc)
		return rc;
	if (old && old->node == target) {
		if (f->existing == XW_FILL_REPLACE)
			old->layer = f->tree->layer;
	} else if (old && xw_fill_is_protected(f, old)) {
		/* contents that come with the name, as with the last one in newc, are kept */
		rc = xw_fill_check_existing(f, old);
		if (rc || target->flags & XW_BN_OLD)
			return rc;
	} else {
		rc = link_target(f, e, at, old, target);
		if (rc)
			return rc;
	}
	if (file && e->link_data)
		file->lost = true; /* what was stored is replaced */
	rc = xw_fill_label_link(f, e, target);
	return rc ? rc : xw_fill_link_data(f, s, e, target);
}
