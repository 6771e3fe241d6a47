// SPDX-License-Identifier: MIT
/*
 * A filled tree into the image: the steps of a build (number, place, write) for what is new, and
 * the records of what was there.
 *
 * Removed inodes go first, forward through the tables (remove.c), so that their numbers serve
 * again; their blocks do not before the commit. Blocks of attributes that the image has take
 * further references (adopt.c). Directories whose names changed are built whole, in
 * new blocks.
 */
#include "config.h"

#include "update/edit.h"

#include <stdlib.h>

#include "update/update_internal.h"

static bool is_new(const struct xw_binode *n)
{
	return !(n->flags & (XW_BN_DEAD | XW_BN_OLD));
}

/* A directory that nobody has looked into goes with what is in it, which has no nodes. */
static int add_removed(struct xw_update_gone *g, const struct xw_binode *n)
{
	if ((n->flags & (XW_BN_DEAD | XW_BN_OLD)) != (XW_BN_DEAD | XW_BN_OLD))
		return 0;
	return n->flags & XW_BN_LAZY ? xw_update_gone_dir(g, n->ino)
				     : xw_update_gone_name(g, n->ino);
}

static int drop_removed(struct xw_update *u, const struct xw_tree *t)
{
	struct xw_update_gone g = {.u = u, .node = t->known, .arg = t->load_arg};
	int ret = 0;

	for (const struct xw_binode *n = u->place.enc.first; n && !ret; n = n->next)
		ret = add_removed(&g, n);
	for (size_t i = 0; i < t->lost.n && !ret; i++)
		ret = xw_update_gone_name(&g, t->lost.v[i]);
	if (!ret)
		ret = xw_update_gone_run(&g);
	if (!ret)
		ret = xw_update_look_behind(u, t, &g);
	xw_update_gone_free(&g);
	return ret;
}

/* ---- numbers ---- */

static int check_inodes(struct xw_update *u)
{
	const uint64_t have = xw_ispace_free_count(u->inodes);
	uint64_t want = 0;

	for (const struct xw_binode *n = u->place.enc.first; n; n = n->next)
		want += is_new(n);
	for (uint32_t i = 0; i < u->place.enc.n_ea; i++)
		want += u->place.enc.ea[i].refs != 0;
	if (want <= have)
		return 0;
	return xw_fail(u->diag, XW_ERR_NOINODES,
		       "%s: %llu inodes needed, %llu free (%llu missing); "
		       "nothing was changed",
		       u->img->dev->name, (unsigned long long)want, (unsigned long long)have,
		       (unsigned long long)(want - have));
}

static int number(struct xw_update *u, struct xw_binode *n, xw_ino *goal)
{
	int ret = xw_ispace_alloc(u->inodes, *goal, xw_binode_is(n, XW_S_IFDIR), &n->ino);

	if (ret)
		return xw_fail(u->diag, ret, "%s: inode numbers", u->img->dev->name);
	*goal = n->ino + 1;
	u->stats.new_inodes++;
	return 0;
}

static int number_all(struct xw_update *u)
{
	struct xw_placer *p = &u->place;
	xw_ino goal = u->img->sb.first_ino;
	int ret = xw_attrs_count_ea(p);

	if (!ret)
		ret = check_inodes(u);
	for (struct xw_binode *n = p->enc.first; n && !ret; n = n->next)
		if (is_new(n))
			ret = number(u, n, &goal);
	for (uint32_t i = 0; i < p->enc.n_ea && !ret; i++)
		if (p->enc.ea[i].refs)
			ret = number(u, &p->enc.ea[i].node, &goal);
	return ret;
}

/* ---- places ---- */

/* The builder's list of nodes: here, of those that are to be built, in no order of numbers. */
static int list_nodes(struct xw_update *u)
{
	struct xw_placer *p = &u->place;
	size_t n_nodes = 1;

	for (struct xw_binode *n = p->enc.first; n; n = n->next)
		n_nodes++;
	p->by_ino = calloc(n_nodes, sizeof(struct xw_binode *));
	if (!p->by_ino)
		return xw_fail_nomem(u->diag, "inode list");
	p->last_ino = 0;
	for (struct xw_binode *n = p->enc.first; n; n = n->next) {
		const bool rebuild = n->flags & XW_BN_NAMES && !(n->flags & XW_BN_DEAD);

		if (is_new(n) || (xw_binode_is(n, XW_S_IFDIR) && rebuild))
			p->by_ino[++p->last_ino] = n;
	}
	return 0;
}

static int place(struct xw_update *u)
{
	struct xw_placer *p = &u->place;
	int ret = list_nodes(u);

	for (xw_ino i = 1; i <= p->last_ino && !ret; i++)
		if (xw_binode_is(p->by_ino[i], XW_S_IFLNK))
			ret = xw_place_symlink(p, p->by_ino[i]);
	if (!ret)
		ret = xw_dirs_place(p);
	if (!ret)
		ret = xw_attrs_place(p);
	for (xw_ino i = 1; i <= p->last_ino && !ret; i++)
		if (p->by_ino[i]->n_ext && !p->by_ino[i]->map)
			ret = xw_place_map(p, p->by_ino[i]);
	for (uint32_t i = 0; i < p->enc.n_ea && !ret; i++)
		if (p->enc.ea[i].node.n_ext)
			ret = xw_place_map(p, &p->enc.ea[i].node);
	return ret ? ret : xw_place_check_room(p);
}

/* ---- records ---- */

static int record_new(struct xw_update *u, const struct xw_binode *n)
{
	struct xw_inode in;
	int ret = 0;

	if (u->quota_types) {
		ret = xw_itable_encode(&u->place.enc, n, &in);
		if (!ret)
			ret = xw_update_charge(u, &in, 1 + (n->xattrs ? n->xattrs->n_ea : 0),
					       (int64_t)xw_update_bytes(u, &in));
	}
	return ret ? ret : xw_update_put_node(u, n);
}

static int records(struct xw_update *u)
{
	int ret = 0;

	for (const struct xw_binode *n = u->place.enc.first; n && !ret; n = n->next) {
		if (is_new(n))
			ret = record_new(u, n);
		else if (!(n->flags & XW_BN_DEAD))
			ret = xw_update_old(u, n);
	}
	for (uint32_t i = 0; i < u->place.enc.n_ea && !ret; i++)
		if (u->place.enc.ea[i].refs)
			ret = xw_update_put_node(u, &u->place.enc.ea[i].node);
	return ret;
}

int xw_update_tree(struct xw_update *u, struct xw_tree *t)
{
	int ret;

	u->place.enc.first = t->first;
	ret = xw_place_check_room(&u->place);
	if (!ret)
		ret = drop_removed(u, t);
	if (!ret)
		ret = xw_update_adopt_xattrs(u);
	if (!ret)
		ret = number_all(u);
	if (!ret)
		ret = place(u);
	if (!ret)
		ret = xw_place_write_items(&u->place);
	return ret ? ret : records(u);
}
