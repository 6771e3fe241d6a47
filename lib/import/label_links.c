/* SPDX-License-Identifier: MIT */
/*
 * Warns if a table (labels.h, devtable.h) has different owners, modes or capabilities for two names
 * of one file. In --fs-config the line of the first name in the source applies, in --device-table
 * the last line, as if each were a chown(1) and chmod(1).
 */
#include "config.h"

#include "base/table.h"
#include "disk/inode.h"
#include "import/fill.h"

struct labeled {
	uint64_t node; /* address of the inode; 0: unused slot */
	const struct xw_label_config *config; /* the line that was applied; NULL: device table */
	struct xw_slice path; /* the name in the device table */
	unsigned long line; /* of the device table */
};

static const struct xw_table_kind by_node = XW_TABLE_BY_U64(struct labeled);

static struct labeled *find(const struct xw_fill *f, const struct xw_binode *n)
{
	const uint64_t key = (uintptr_t)n;

	return xw_table_get(&f->labeled, &by_node, NULL, xw_table_number(&f->labeled, key), &key);
}

/* The slot of n, which is added if needed; NULL: out of memory. */
static struct labeled *slot_of(struct xw_fill *f, const struct xw_binode *n)
{
	const uint64_t key = (uintptr_t)n;
	struct labeled *l;

	if (xw_table_room(&f->labeled, &by_node, NULL))
		return NULL;
	l = xw_table_slot(&f->labeled, &by_node, NULL, xw_table_number(&f->labeled, key), &key);
	f->labeled.n += !l->node;
	l->node = key;
	return l;
}

int xw_fill_note_label(struct xw_fill *f, const struct xw_binode *n,
		       const struct xw_label_config *c)
{
	struct labeled *l;

	if (xw_binode_is(n, XW_S_IFDIR))
		return 0;
	l = slot_of(f, n);
	if (!l)
		return xw_fail_nomem(f->diag, "labels");
	l->config = c;
	return 0;
}

int xw_fill_label_link(struct xw_fill *f, const struct xw_entry *e, const struct xw_binode *n)
{
	const struct xw_label_config *c = NULL;
	const struct labeled *first;
	const char *path;

	if (!f->labels || !f->labels->config.n)
		return 0;
	path = xw_labels_path(f->labels, f->select->directory, f->path.p, f->path.len);
	if (!path)
		return xw_fail_nomem(f->diag, "labels");
	c = xw_labels_config(f->labels, path);
	first = find(f, n);
	if (!c || (n->uid == c->uid && n->gid == c->gid &&
		   (xw_binode_is(n, XW_S_IFLNK) || (n->mode & 07777) == c->mode) &&
		   (first && first->config ? first->config->capabilities : 0) == c->capabilities))
		return 0;
	if (first && first->config)
		xw_fill_warn(f, e,
			     "--fs-config: line %lu is not applied: it is a hard link to /%.300s, "
			     "for which line %lu has other values",
			     c->line, first->config->path, first->config->line);
	else
		xw_fill_warn(f, e,
			     "--fs-config: line %lu is not applied: it is a hard link to %.*s, and "
			     "the first name decides",
			     c->line, XW_SHOWN(e->link));
	return 0;
}

int xw_fill_note_table(struct xw_fill *f, const struct xw_entry *e, const struct xw_binode *n)
{
	struct labeled *l;

	if (n->links < 2 || xw_binode_is(n, XW_S_IFDIR))
		return 0;
	l = find(f, n);
	if (l && l->line && !xw_slice_same(l->path, e->path) &&
	    (n->uid != e->uid || n->gid != e->gid || (n->mode & 07777) != e->mode))
		xw_fill_warn(f, e,
			     "line %lu: it is a hard link to %.*s, for which line %lu has other "
			     "values; line %lu applies",
			     e->listed, XW_SHOWN(l->path), l->line, e->listed);
	l = slot_of(f, n);
	if (!l)
		return xw_fail_nomem(f->diag, "labels");
	l->line = e->listed;
	l->path = (struct xw_slice){xw_arena_dup(&f->tree->arena, e->path.p, e->path.len),
				    e->path.len};
	return l->path.p ? 0 : xw_fail_nomem(f->diag, "labels");
}
