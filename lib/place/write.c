/* SPDX-License-Identifier: MIT */
/* Writes the placed metadata once, in block order. */
#include "config.h"

#include <stdlib.h>

#include "base/search.h"
#include "place/place.h"

void xw_placer_free(struct xw_placer *p)
{
	xw_dirs_free(p);
	free(p->by_ino);
	for (uint32_t i = 0; i < p->enc.n_ea && p->enc.ea; i++)
		xw_binode_free_map(&p->enc.ea[i].node);
	free(p->enc.ea);
	xw_vec_free(&p->items);
}

static int write_symlink(struct xw_placer *p, const struct xw_binode *n)
{
	uint64_t off = n->ext.pblk * p->enc.block_size;
	int rc = xw_out_write(p->out, off, n->bytes, n->size);

	return rc ? rc : xw_out_zeros(p->out, off + n->size, p->enc.block_size - n->size);
}

int xw_place_write_item(struct xw_placer *p, const struct xw_item *it)
{
	const struct xw_binode *n = (const struct xw_binode *)(uintptr_t)it->ref;

	switch ((enum xw_item_kind)it->kind) {
	case XW_ITEM_SYMLINK:
		return write_symlink(p, n);
	case XW_ITEM_DIR:
		return xw_dir_write(p, n);
	case XW_ITEM_ITREE:
		return xw_itree_write(p, n);
	case XW_ITEM_XATTR:
		return xw_attrs_write_block(p, it->ref);
	case XW_ITEM_EA_VALUE:
		return xw_attrs_write_value(p, n);
	case XW_ITEM_MAP:
		return xw_map_write(p, n);
	case XW_ITEM_OTHER:
		break;
	}
	return XW_ERR_INTERNAL;
}

void xw_place_sort(struct xw_placer *p)
{
	if (p->items.n)
		qsort(p->items.v, p->items.n, sizeof(*p->items.v), xw_by_u64);
}

int xw_place_write_items(struct xw_placer *p)
{
	int rc = 0;

	xw_place_sort(p);
	for (size_t i = 0; i < p->items.n && !rc; i++)
		rc = xw_place_write_item(p, &p->items.v[i]);
	return rc;
}
