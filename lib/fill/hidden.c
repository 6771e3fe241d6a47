// SPDX-License-Identifier: MIT
/*
 * Hidden inodes: their numbers and blocks, the orphan file, the MMP block.
 *
 * Numbers are those of mke2fs: user and group quota have 3 and 4; the project quota, then the
 * orphan file follow lost+found.
 */
#include "config.h"

#include "fill/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/mmp.h"
#include "disk/orphan.h"

static bool has_quota(const struct xw_builder *b, enum xw_quota_type type)
{
	return b->params->quota_types & 1u << type;
}

static bool has_orphan_file(const struct xw_builder *b)
{
	return xw_has_compat(&b->geo.features, XW_COMPAT_ORPHAN_FILE);
}

void xw_hidden_free(struct xw_builder *b)
{
	for (int t = 0; t < XW_QUOTA_TYPES; t++) {
		free(b->hidden.quota[t].entries);
		xw_binode_free_map(&b->hidden.quota[t].node);
	}
	xw_binode_free_map(&b->hidden.orphan);
	xw_binode_free_map(&b->hidden.bad);
}

uint32_t xw_hidden_count(const struct xw_builder *b)
{
	return (uint32_t)has_quota(b, XW_QUOTA_PROJECT) + has_orphan_file(b);
}

xw_ino xw_hidden_number(struct xw_builder *b, xw_ino last)
{
	struct xw_quota_file *q = b->hidden.quota;

	if (b->hidden.bad.n_ext)
		xw_build_set_number(b, &b->hidden.bad, XW_INO_BAD);
	if (has_quota(b, XW_QUOTA_USER))
		xw_build_set_number(b, &q[XW_QUOTA_USER].node, XW_INO_USR_QUOTA);
	if (has_quota(b, XW_QUOTA_GROUP))
		xw_build_set_number(b, &q[XW_QUOTA_GROUP].node, XW_INO_GRP_QUOTA);
	if (has_quota(b, XW_QUOTA_PROJECT))
		xw_build_set_number(b, &q[XW_QUOTA_PROJECT].node, ++last);
	if (has_orphan_file(b))
		xw_build_set_number(b, &b->hidden.orphan, ++last);
	return last;
}

/* ---- bad blocks ---- */

/* Claim a bad block, except in a superblock backup or its descriptors, which are in use already. */
static int claim_bad(struct xw_builder *b, xw_blk blk)
{
	uint32_t group = (uint32_t)((blk - b->geo.first_data_block) / b->geo.blocks_per_group);
	struct xw_group_place p;

	xw_geo_group(&b->geo, group, &p);
	return blk < p.start + p.head ? 0 : xw_space_claim(b->place.space, blk, 1);
}

/* The bad blocks inode has no type and no name; its map is an indirect one with any features. */
int xw_bad_reserve(struct xw_builder *b)
{
	auto_free struct xw_run *runs = NULL;
	struct xw_binode *n = &b->hidden.bad;
	size_t n_runs = 0;

	if (!b->geo.n_bad)
		return 0;
	runs = calloc(b->geo.n_bad, sizeof(*runs));
	if (!runs)
		return xw_fail_nomem(b->place.enc.diag, "bad blocks");
	for (size_t i = 0; i < b->geo.n_bad; i++) {
		const xw_blk at = b->geo.bad[i];
		const int rc = claim_bad(b, at);

		if (rc)
			return rc;
		if (n_runs && runs[n_runs - 1].start + runs[n_runs - 1].len == at)
			runs[n_runs - 1].len++;
		else
			runs[n_runs++] = (struct xw_run){at, 1};
	}
	if (xw_binode_set_runs(n, runs, n_runs))
		return xw_fail_nomem(b->place.enc.diag, "bad blocks");
	n->ino = XW_INO_BAD;
	n->size = b->geo.n_bad * b->geo.block_size;
	n->mtime = n->atime = b->place.enc.now;
	return xw_place_map(&b->place, n);
}

/* ---- MMP block ---- */

int xw_build_alloc_block(struct xw_builder *b, xw_blk *out)
{
	auto_free struct xw_run *runs = NULL;
	size_t n;
	const int rc = xw_place_alloc(&b->place, 1, &runs, &n);

	if (!rc && n)
		*out = runs[0].start;
	return rc;
}

static int place_mmp(struct xw_builder *b)
{
	return xw_has_incompat(&b->geo.features, XW_INCOMPAT_MMP)
		       ? xw_build_alloc_block(b, &b->hidden.mmp_block)
		       : 0;
}

/* ---- the orphan file ---- */

int xw_orphan_place(struct xw_builder *b, uint64_t blocks, struct xw_hidden_mark *mark)
{
	struct xw_binode *n = &b->hidden.orphan;
	int rc;

	*mark = (struct xw_hidden_mark){
		.stream = b->place.stream, .gap = b->place.gap, .items = b->place.items.n};
	if (!blocks)
		return 0;
	xw_hidden_node(&b->place.enc, n, blocks * b->geo.block_size, 0);
	rc = xw_place_alloc_node(&b->place, n, blocks);
	if (!rc && n->n_ext)
		rc = xw_place_map(&b->place, n);
	return rc || b->geo.kind == XW_GEO_SIZED ? rc : xw_build_check_room(b);
}

int xw_orphan_unplace(struct xw_builder *b, const struct xw_hidden_mark *mark)
{
	struct xw_binode *n = &b->hidden.orphan;
	const struct xw_extent *e = xw_binode_extents(n);
	int rc = 0;

	for (uint32_t i = 0; i < n->n_ext && !rc; i++)
		rc = xw_space_release(b->place.space, e[i].pblk, e[i].len);
	for (size_t i = 0; n->map && i < n->map->n_runs && !rc; i++)
		rc = xw_space_release(b->place.space, n->map->runs[i].start, n->map->runs[i].len);
	xw_binode_free_map(n);
	n->map = NULL;
	n->n_ext = 0;
	b->place.stream = mark->stream;
	b->place.gap = mark->gap;
	b->place.items.n = mark->items;
	return rc;
}

void xw_orphan_drop(struct xw_builder *b)
{
	struct xw_binode *n = &b->hidden.orphan;

	if (n->ino)
		b->place.by_ino[n->ino] = NULL;
	n->ino = 0;
}

/* ---- all hidden inodes ---- */

int xw_hidden_reserve(struct xw_builder *b)
{
	struct xw_hidden_mark mark;
	int rc = xw_orphan_place(b, xw_geo_orphan_blocks(&b->geo, b->params), &mark);

	return rc ? rc : place_mmp(b);
}

int xw_hidden_place(struct xw_builder *b)
{
	int rc = b->geo.kind == XW_GEO_SIZED ? 0 : place_mmp(b);

	return rc ? rc : xw_quota_place(&b->place, b->hidden.quota, b->params->quota_types);
}

int xw_hidden_items(struct xw_builder *b)
{
	const struct xw_binode *orphan = &b->hidden.orphan;
	int rc = 0;

	for (int t = 0; t < XW_QUOTA_TYPES && !rc; t++) {
		const struct xw_binode *n = &b->hidden.quota[t].node;

		if (n->n_ext)
			rc = xw_place_item(&b->place, XW_ITEM_QUOTA, xw_binode_extents(n)[0].pblk,
					   (uint64_t)t);
	}
	if (!rc && orphan->n_ext)
		rc = xw_place_item(&b->place, XW_ITEM_ORPHAN, xw_binode_extents(orphan)[0].pblk, 0);
	if (!rc && b->hidden.mmp_block)
		rc = xw_place_item(&b->place, XW_ITEM_MMP, b->hidden.mmp_block, 0);
	return rc;
}

void xw_hidden_super(struct xw_builder *b)
{
	const struct xw_quota_file *q = b->hidden.quota;

	b->place.enc.sb.usr_quota_inum = q[XW_QUOTA_USER].node.ino;
	b->place.enc.sb.grp_quota_inum = q[XW_QUOTA_GROUP].node.ino;
	b->place.enc.sb.prj_quota_inum = q[XW_QUOTA_PROJECT].node.ino;
	b->place.enc.sb.orphan_file_inum = b->hidden.orphan.ino;
	b->place.enc.sb.mmp_block = b->hidden.mmp_block;
}
