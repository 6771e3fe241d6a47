// SPDX-License-Identifier: MIT
/*
 * Writes a filled tree to the image: the steps of a build (number, place, write) for new inodes,
 * and updated records for existing ones.
 *
 * Removed inodes are processed first, in one forward pass over the tables (remove.c), so that their
 * numbers can be reused; their blocks cannot be reused before the commit. Existing xattr blocks get
 * additional references (reuse_xattrs.c). Directories whose names changed are rebuilt in new
 * blocks.
 */
#include "config.h"

#include "edit/edit.h"

#include <stdlib.h>

#include "base/auto.h"
#include "edit/edit_internal.h"

static bool is_new(const struct xw_binode *n)
{
	return !(n->flags & (XW_BN_DEAD | XW_BN_OLD));
}

/* A directory that was not loaded is removed with its contents, which have no nodes. */
static int add_removed(struct xw_removal *g, const struct xw_binode *n)
{
	if ((n->flags & (XW_BN_DEAD | XW_BN_OLD)) != (XW_BN_DEAD | XW_BN_OLD))
		return 0;
	return n->flags & XW_BN_LAZY ? xw_removal_add_dir(g, n->ino)
				     : xw_removal_add_name(g, n->ino);
}

static int drop_removed(struct xw_update *u, const struct xw_tree *t)
{
	auto_end(xw_removal_free) struct xw_removal g = {
		.u = u, .node = t->known, .arg = t->load_arg};
	int rc = 0;

	for (const struct xw_binode *n = u->place.enc.first; n && !rc; n = n->next)
		rc = add_removed(&g, n);
	for (size_t i = 0; i < t->lost.n && !rc; i++)
		rc = xw_removal_add_name(&g, t->lost.v[i]);
	if (!rc)
		rc = xw_removal_run(&g);
	return rc ? rc : xw_update_find_dangling(u, t, &g);
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
	int rc = xw_ispace_alloc(u->inodes, *goal, xw_binode_is(n, XW_S_IFDIR), &n->ino);

	if (rc)
		return xw_fail(u->diag, rc, "%s: inode numbers", u->img->dev->name);
	*goal = n->ino + 1;
	u->stats.new_inodes++;
	return 0;
}

static int number_all(struct xw_update *u)
{
	struct xw_placer *p = &u->place;
	xw_ino goal = u->img->sb.first_ino;
	int rc = xw_attrs_count_ea(p);

	if (!rc)
		rc = check_inodes(u);
	for (struct xw_binode *n = p->enc.first; n && !rc; n = n->next)
		if (is_new(n))
			rc = number(u, n, &goal);
	for (uint32_t i = 0; i < p->enc.n_ea && !rc; i++)
		if (p->enc.ea[i].refs)
			rc = number(u, &p->enc.ea[i].node, &goal);
	return rc;
}

/* ---- placing ---- */

/* The builder's list of nodes; here it contains only those to be written, not sorted by number. */
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
	int rc = list_nodes(u);

	for (xw_ino i = 1; i <= p->last_ino && !rc; i++)
		if (xw_binode_is(p->by_ino[i], XW_S_IFLNK))
			rc = xw_place_symlink(p, p->by_ino[i]);
	if (!rc)
		rc = xw_dirs_place(p);
	if (!rc)
		rc = xw_attrs_place(p);
	for (xw_ino i = 1; i <= p->last_ino && !rc; i++)
		if (p->by_ino[i]->n_ext && !p->by_ino[i]->map)
			rc = xw_place_map(p, p->by_ino[i]);
	for (uint32_t i = 0; i < p->enc.n_ea && !rc; i++)
		if (p->enc.ea[i].node.n_ext)
			rc = xw_place_map(p, &p->enc.ea[i].node);
	return rc ? rc : xw_place_check_room(p);
}

/* ---- records ---- */

static int record_new(struct xw_update *u, const struct xw_binode *n)
{
	struct xw_inode in;
	int rc = 0;

	if (u->quota_types) {
		rc = xw_itable_encode(&u->place.enc, n, &in);
		if (!rc)
			rc = xw_update_charge(u, &in, 1 + (n->xattrs ? n->xattrs->n_ea : 0),
					      (int64_t)xw_update_bytes(u, &in));
	}
	return rc ? rc : xw_update_put_node(u, n);
}

static int records(struct xw_update *u)
{
	int rc = 0;

	for (const struct xw_binode *n = u->place.enc.first; n && !rc; n = n->next) {
		if (is_new(n))
			rc = record_new(u, n);
		else if (!(n->flags & XW_BN_DEAD))
			rc = xw_update_existing(u, n);
	}
	for (uint32_t i = 0; i < u->place.enc.n_ea && !rc; i++)
		if (u->place.enc.ea[i].refs)
			rc = xw_update_put_node(u, &u->place.enc.ea[i].node);
	return rc;
}

int xw_update_tree(struct xw_update *u, struct xw_tree *t)
{
	int rc;

	u->place.enc.first = t->first;
	rc = xw_place_check_room(&u->place);
	if (!rc)
		rc = drop_removed(u, t);
	if (!rc)
		rc = xw_update_reuse_xattrs(u);
	if (!rc)
		rc = number_all(u);
	if (!rc)
		rc = place(u);
	if (!rc)
		rc = xw_place_write_items(&u->place);
	return rc ? rc : records(u);
}
