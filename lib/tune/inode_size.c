// SPDX-License-Identifier: MIT
/*
 * Larger inodes: every group gets a larger inode table.
 *
 * A new table needs contiguous free blocks: anywhere with flex_bg, else in its group. If there are
 * none, the place with the fewest blocks to move is chosen, and those are moved (evict.c). A new
 * table may overlap the old table of its group, but no other table. Where space is scarce it does
 * so as far as it can: what it does not overlap is free only after the records were copied.
 *
 * There are two steps. The first is an update: allocate the new tables, move blocks, free the old
 * tables. The second copies the inode records, group by group; nothing is allocated between the
 * two, so the freed tables still have their contents. The records are unchanged, and zeros follow
 * them: i_extra_isize is not raised until Linux writes the inode.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/blockset.h"
#include "base/bytes.h"
#include "disk/indirect.h"
#include "read/map.h"
#include "tune/evict.h"
#include "tune/tune_internal.h"

struct tables {
	struct xw_tune_run *t;
	struct xw_update *u;
	struct xw_image *img;
	uint64_t n; /* blocks of a new table */
	struct xw_blockset *fixed; /* blocks that cannot be moved, except for group metadata */
	struct xw_blockset *claimed; /* blocks of new tables */
	struct xw_blockset *area; /* blocks of new tables that are in use by files */
	uint8_t *bits, *kind; /* of a group, by block */
	xw_blk hint; /* flex_bg: where to search first, after the last new table */
	bool scarce; /* there may not be enough free blocks for tables apart from the old ones */
	bool full; /* flex_bg: there are no n contiguous free blocks */
};

/* What a block of a new table is now. */
enum { BLOCK_OWN, BLOCK_FREE, BLOCK_USED, BLOCK_FIXED, BLOCK_KINDS };

/* ---- blocks that cannot be moved ---- */

static int fix(struct tables *s, xw_blk blk, uint64_t len)
{
	if (!xw_image_has_blocks(s->img, blk, len))
		return 0;
	return xw_blockset_add(s->fixed, blk, len, NULL) ? xw_fail_nomem(s->t->diag, "blocks") : 0;
}

static int fix_node(void *arg, xw_blk blk, unsigned depth)
{
	(void)depth;
	return fix(arg, blk, 1);
}

static int fix_bad_blocks(struct tables *s)
{
	auto_end(xw_map_end) struct xw_map_iter it = {0};
	struct xw_map_run run;
	struct xw_inode in;
	int rc = xw_image_inode(s->img, XW_INO_BAD, &in, NULL);

	if (!rc)
		rc = xw_map_begin(s->img, XW_INO_BAD, &in, 0, &it);
	it.on_node = fix_node;
	it.arg = s;
	while (!rc && (rc = xw_map_next(&it, &run)) == 1)
		rc = fix(s, run.pblk, run.len);
	return rc;
}

static int fix_all(struct tables *s)
{
	const struct xw_super *sb = &s->img->sb;
	struct xw_inode in;
	int rc = fix_bad_blocks(s);

	if (!rc && sb->feature_incompat & XW_INCOMPAT_MMP)
		rc = fix(s, sb->mmp_block, 1);
	if (rc || !(sb->feature_compat & XW_COMPAT_RESIZE_INODE))
		return rc;
	rc = xw_image_inode(s->img, XW_INO_RESIZE, &in, NULL);
	return rc ? rc : fix(s, xw_inode_slot(&in, XW_DIND_SLOT), 1);
}

/* ---- places ---- */

static xw_blk find_free(struct tables *s, xw_blk from, xw_blk to)
{
	xw_blk blk = xw_space_next_free(s->u->space, from);

	while (blk < to && to - blk >= s->n) {
		const uint64_t len = xw_space_run_at(s->u->space, blk, s->n);

		if (len >= s->n)
			return blk;
		blk = xw_space_next_free(s->u->space, blk + len);
	}
	return 0;
}

static xw_blk find_free_anywhere(struct tables *s)
{
	xw_blk blk = 0;

	if (!s->full)
		blk = find_free(s, s->hint, s->img->sb.blocks_count);
	if (!s->full && !blk)
		blk = find_free(s, s->img->sb.first_data_block + 1, s->img->sb.blocks_count);
	s->full = !blk;
	s->hint = blk ? blk + s->n : s->hint;
	return blk;
}

static xw_blk group_end(const struct tables *s, uint64_t group)
{
	return XW_MIN(xw_tune_group_start(s->img, group) + s->img->sb.blocks_per_group,
		      s->img->sb.blocks_count);
}

static bool is_own(const struct tables *s, xw_blk blk, xw_blk own)
{
	return blk >= own && blk - own < s->img->itable_blocks;
}

/* Compute s->kind for group `in`, and for a new table of the group whose old table is at `own`. */
static int find_kinds(struct tables *s, uint64_t in, xw_blk own)
{
	const xw_blk start = xw_tune_group_start(s->img, in);
	const uint64_t len = group_end(s, in) - start;
	int rc = xw_space_group_bitmap(s->u->space, (uint32_t)in, s->bits);

	for (uint64_t i = 0, n; i < len && !rc; i += n) {
		bool meta;

		n = xw_sysmap_at(s->u->sysmap, start + i, len - i, &meta);
		for (uint64_t k = i; k < i + n; k++) {
			const xw_blk blk = start + k;
			const bool old = is_own(s, blk, own);
			const bool fixed = (meta && !old) || xw_blockset_has(s->fixed, blk) ||
					   xw_blockset_has(s->claimed, blk);

			s->kind[k] = fixed                              ? BLOCK_FIXED
				     : old                              ? BLOCK_OWN
				     : !(s->bits[k / 8] >> (k % 8) & 1) ? BLOCK_FREE
									: BLOCK_USED;
		}
	}
	return rc;
}

/*
 * The place in group `in` with the fewest blocks to move, where space is scarce with the fewest
 * blocks beside the old table; 0: there is none.
 */
static xw_blk cheapest(const struct tables *s, uint64_t in)
{
	const xw_blk start = xw_tune_group_start(s->img, in);
	const uint64_t len = group_end(s, in) - start;
	uint64_t count[BLOCK_KINDS] = {0}, best = UINT64_MAX;
	xw_blk at = 0;

	for (uint64_t i = 0; i < len; i++) {
		uint64_t cost;

		count[s->kind[i]]++;
		if (i >= s->n)
			count[s->kind[i - s->n]]--;
		cost = count[BLOCK_USED];
		if (s->scarce)
			cost += (s->n - count[BLOCK_OWN]) * s->n;
		if (i + 1 < s->n || count[BLOCK_FIXED] || cost >= best)
			continue;
		best = cost;
		at = start + i + 1 - s->n;
	}
	return at;
}

/* Find a place for the group's table from which blocks must be moved. */
static int find_used(struct tables *s, uint64_t group, xw_blk own, xw_blk *blk)
{
	const bool anywhere = s->img->sb.feature_incompat & XW_INCOMPAT_FLEX_BG;

	for (uint64_t i = 0; i < (anywhere ? s->img->groups : 1); i++) {
		const uint64_t in = (group + i) % s->img->groups;
		int rc = find_kinds(s, in, own);

		if (rc)
			return rc;
		*blk = cheapest(s, in);
		if (*blk)
			return 0;
	}
	return xw_tune_refuse(s->t, XW_ERR_NOSPC,
			      "group %" PRIu64 ": no place for an inode table of %" PRIu64
			      " blocks",
			      group, s->n);
}

/* ---- claims ---- */

/* Claim the free blocks of a new table at blk, and add those in use to s->area. */
static int claim(struct tables *s, xw_blk blk, xw_blk own)
{
	const xw_blk end = blk + s->n;

	if (xw_blockset_add(s->claimed, blk, s->n, NULL))
		return xw_fail_nomem(s->t->diag, "inode tables");
	for (xw_blk at = blk; at < end;) {
		const uint64_t n = xw_space_run_at(s->u->space, at, end - at);
		int rc = n ? xw_space_claim(s->u->space, at, n) : 0;

		if (rc)
			return rc;
		if (!n && !is_own(s, at, own) && xw_blockset_add(s->area, at, 1, NULL))
			return xw_fail_nomem(s->t->diag, "blocks to move");
		at += XW_MAX(n, 1);
	}
	return 0;
}

static int free_part(struct tables *s, xw_blk from, xw_blk to)
{
	if (from >= to)
		return 0;
	return xw_vec_push(&s->u->freed, ((struct xw_run){from, to - from}))
		       ? xw_fail_nomem(s->t->diag, "freed blocks")
		       : 0;
}

/* Free the blocks of the old table that the new one does not overlap. */
static int free_old(struct tables *s, xw_blk own, xw_blk blk)
{
	const xw_blk own_end = own + s->img->itable_blocks;
	int rc;

	if (blk >= own_end || blk + s->n <= own)
		return free_part(s, own, own_end);
	rc = free_part(s, own, blk);
	return rc ? rc : free_part(s, blk + s->n, own_end);
}

/* A place that overlaps the old table at `own`; 0: there is none. */
static int find_overlap(struct tables *s, xw_blk own, xw_blk *blk)
{
	const uint64_t in = (own - s->img->sb.first_data_block) / s->img->sb.blocks_per_group;
	const int rc = find_kinds(s, in, own);

	*blk = rc ? 0 : cheapest(s, in);
	if (*blk >= own + s->img->itable_blocks || *blk + s->n <= own)
		*blk = 0;
	return rc;
}

static int place_table(struct tables *s, uint64_t group)
{
	struct xw_group_desc gd;
	xw_blk blk = 0;
	int rc = xw_image_group(s->img, group, &gd);

	if (!rc && s->scarce)
		rc = find_overlap(s, gd.inode_table, &blk);
	if (rc)
		return rc;
	if (!blk && s->img->sb.feature_incompat & XW_INCOMPAT_FLEX_BG)
		blk = find_free_anywhere(s);
	else if (!blk)
		blk = find_free(s, xw_tune_group_start(s->img, group), group_end(s, group));
	if (!blk)
		rc = find_used(s, group, gd.inode_table, &blk);
	if (!rc)
		rc = claim(s, blk, gd.inode_table);
	if (!rc)
		rc = free_old(s, gd.inode_table, blk);
	s->t->tables[group] = blk;
	return rc;
}

static int place_all(struct tables *s)
{
	const uint64_t blocks = s->img->sb.blocks_count;
	int rc = 0;

	if (!s->t->tables || !s->bits || !s->kind || xw_blockset_new(blocks, &s->fixed) ||
	    xw_blockset_new(blocks, &s->claimed) || xw_blockset_new(blocks, &s->area))
		return xw_fail_nomem(s->t->diag, "inode tables");
	rc = fix_all(s);
	for (uint64_t g = 0; g < s->img->groups && !rc; g++)
		rc = place_table(s, g);
	return rc;
}

/* Is there a free block for each one that must be moved? Nothing has been read or written yet. */
static int check_space(struct tables *s)
{
	const uint64_t free = xw_space_free_blocks(s->u->space);
	uint64_t used = 0, len;

	for (xw_blk at = 0; xw_blockset_next(s->area, at, &at, &len); at += len)
		used += len;
	if (used <= free)
		return 0;
	return xw_tune_refuse(s->t, XW_ERR_NOSPC,
			      "no space for inodes of %u bytes: %" PRIu64 " blocks missing",
			      s->t->want->inode_size, used - free);
}

int xw_tune_place_tables(struct xw_tune_run *t, struct xw_update *u)
{
	const struct xw_super *sb = &u->img->sb;
	struct tables s = {
		.t = t,
		.u = u,
		.img = u->img,
		.n = xw_div_up((uint64_t)sb->inodes_per_group * t->want->inode_size,
			       u->img->block_size),
		.bits = malloc(sb->blocks_per_group / 8 + 1),
		.kind = malloc(sb->blocks_per_group),
		.hint = sb->first_data_block + 1,
	};
	int rc;

	s.scarce = xw_space_free_blocks(u->space) < u->img->groups * s.n;
	t->tables = calloc(u->img->groups, sizeof(*t->tables));
	rc = place_all(&s);
	if (!rc)
		rc = check_space(&s);
	if (!rc)
		rc = xw_tune_evict(u, s.area);
	if (!rc && u->img->sb.overhead_blocks)
		u->img->sb.overhead_blocks +=
			(uint32_t)(u->img->groups * (s.n - u->img->itable_blocks));
	xw_blockset_free(s.fixed);
	xw_blockset_free(s.claimed);
	xw_blockset_free(s.area);
	free(s.bits);
	free(s.kind);
	return rc;
}

/* ---- records ---- */

struct mover {
	struct xw_tune_run *t;
	struct xw_image *img; /* opened with the old tables */
	struct xw_super to;
	uint64_t n; /* blocks of a new table */
	uint8_t *old, *new; /* tables */
};

/* A record with an invalid checksum must not get a valid one. */
static int move_record(struct mover *m, xw_ino ino, const uint8_t *old, uint8_t *new)
{
	const struct xw_image *img = m->img;

	memcpy(new, old, img->inode_size);
	if (xw_all_zero(old, img->inode_size))
		return 0;
	if (xw_inode_verify(old, &img->sb, img->csum_seed, ino))
		return xw_fail(img->diag, XW_ERR_CHECKSUM,
			       "%s: inode %" PRIu32 ": checksum mismatch; run xw-fsck -f",
			       img->dev->name, ino);
	xw_inode_set_csum(new, &m->to, img->csum_seed, ino);
	return 0;
}

static int move_records(struct mover *m, uint64_t group, xw_blk from, xw_blk to, uint32_t used)
{
	const struct xw_image *img = m->img;
	const uint32_t bs = img->block_size, size = m->to.inode_size;
	const uint64_t old_bytes = xw_div_up((uint64_t)used * img->inode_size, bs) * bs;
	const uint64_t new_bytes = xw_div_up((uint64_t)used * size, bs) * bs;
	const xw_ino base = (xw_ino)(group * img->sb.inodes_per_group + 1);
	int rc = old_bytes ? xw_dev_pread(img->dev, m->old, old_bytes, from * bs) : 0;

	memset(m->new, 0, new_bytes);
	for (uint32_t i = 0; i < used && !rc; i++)
		rc = move_record(m, base + i, m->old + (size_t)i * img->inode_size,
				 m->new + (size_t)i *size);
	if (!rc && new_bytes)
		rc = xw_dev_pwrite(img->dev, m->new, new_bytes, to * bs);
	if (!rc && new_bytes < m->n * bs)
		rc = xw_dev_zero(img->dev, to * bs + new_bytes, m->n * bs - new_bytes);
	return rc;
}

static int put_group(struct mover *m, uint64_t group, const struct xw_group_desc *gd)
{
	const struct xw_image *img = m->img;
	const uint32_t bs = img->block_size, size = img->desc_size, per = bs / size;
	const uint64_t off = xw_image_desc_block(img, group) * bs + group % per * size;
	auto_free uint8_t *buf = malloc(size);
	int rc = buf ? xw_dev_pread(img->dev, buf, size, off)
		     : xw_fail_nomem(m->t->diag, "group descriptor");

	if (rc)
		return rc;
	xw_group_encode(gd, &m->to, img->csum_seed, (uint32_t)group, buf);
	return xw_dev_pwrite(img->dev, buf, size, off);
}

static int move_table(struct mover *m, uint64_t group)
{
	const bool tracked = xw_tune_tracks_use(&m->img->sb);
	uint32_t used = m->img->sb.inodes_per_group;
	struct xw_group_desc gd;
	int rc = xw_image_group(m->img, group, &gd);

	if (rc)
		return rc;
	if (tracked)
		used = gd.flags & XW_BG_INODE_UNINIT ? 0 : used - XW_MIN(gd.itable_unused, used);
	rc = move_records(m, group, gd.inode_table, m->t->tables[group], used);
	gd.inode_table = m->t->tables[group];
	gd.flags |= tracked ? XW_BG_INODE_ZEROED : 0;
	return rc ? rc : put_group(m, group, &gd);
}

int xw_tune_move_tables(struct xw_tune_run *t)
{
	auto_end(xw_tune_image_end) struct xw_image *img = NULL;
	auto_free uint8_t *old = NULL, *new = NULL;
	struct mover m = {.t = t};
	int rc = xw_image_open(xw_edit_dev(t->edit), 0, t->diag, &img);

	if (rc)
		return rc;
	m.img = img;
	m.to = m.img->sb;
	m.to.inode_size = (uint16_t)t->want->inode_size;
	m.to.rev_level = XW_MAX(m.to.rev_level, 1); /* revision 0 has 128-byte inodes */
	m.n = xw_div_up((uint64_t)m.to.inodes_per_group * m.to.inode_size, m.img->block_size);
	m.old = old = malloc((size_t)img->itable_blocks * img->block_size);
	m.new = new = malloc(m.n * img->block_size);
	if (!old || !new)
		return xw_fail_nomem(t->diag, "inode tables");
	for (uint64_t g = 0; g < img->groups && !rc; g++)
		rc = move_table(&m, g);
	t->sb = m.to;
	return rc ? rc : xw_tune_put_super(t, &t->sb);
}
