/* SPDX-License-Identifier: MIT */
/*
 * Warns if --transform or --strip-components gives several members of a source the same name: as in
 * tar(1), the last one replaces the others.
 */
#include "config.h"

#include "base/table.h"
#include "import/fill.h"

struct origin {
	uint64_t link; /* address of the directory entry; 0: unused slot */
	struct xw_slice path; /* path of the member with this name, as stored */
};

static const struct xw_table_kind by_link = XW_TABLE_BY_U64(struct origin);

static bool same_path(struct xw_slice a, struct xw_slice b)
{
	struct xw_slice x, y;

	do {
		x = xw_slice_component(&a);
		y = xw_slice_component(&b);
	} while (x.len && xw_slice_same(x, y));
	return !x.len && !y.len;
}

int xw_fill_check_renamed(struct xw_fill *f, const struct xw_entry *e, const struct xw_path_at *at,
			  const struct xw_binode *was)
{
	const struct xw_blink *link;
	struct origin *o;
	uint64_t key;

	if (!f->select->transforms && !f->select->strip_components)
		return 0;
	link = xw_tree_find(f->tree, at->dir, at->name, at->len);
	if (!link)
		return 0;
	if (xw_table_room(&f->origins, &by_link, NULL))
		return xw_fail_nomem(f->diag, "names of members");
	key = (uintptr_t)link;
	o = xw_table_slot(&f->origins, &by_link, NULL, xw_table_number(&f->origins, key), &key);
	if (o->link && was && link->node != was && !same_path(o->path, e->path))
		xw_fill_warn(f, e, "replaces %.*s, which is renamed to the same name, %.*s",
			     (int)XW_MIN(o->path.len, 200), o->path.p,
			     (int)XW_MIN(f->path.len, 200), f->path.p);
	f->origins.n += !o->link;
	o->link = key;
	o->path.len = e->path.len;
	o->path.p = xw_arena_dup(&f->tree->arena, e->path.p, e->path.len);
	return o->path.p ? 0 : xw_fail_nomem(f->diag, "names of members");
}
