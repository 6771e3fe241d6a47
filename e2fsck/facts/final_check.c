// SPDX-License-Identifier: MIT
/*
 * The last check before the commit, independent of the repairs: where a file has the same block at
 * the same logical block as before, its contents must not have changed. If they have, a repair has
 * written to a block that was not its own, and nothing is committed.
 *
 * The new owners are those of the last round, which has found nothing to repair. The old ones are
 * found in the inode records on the base, where the new descriptors say that the tables are; that
 * takes a pass over the tables, but only when a block in question has changed at all.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "dev/overlay.h"
#include "facts/hidden.h"
#include "walk/map.h"

struct look {
	struct fsck *f;
	struct xw_dev *base;
	struct xw_blockset *changed; /* blocks of files that differ from the base */
	struct xw_walk_map walk, now; /* of the base, and of the overlay */
	xw_ino ino; /* a file that had a changed block; 0: none found */
	xw_blk blk;
};

/* The filesystem blocks that are dirty in the overlay, which may use another block size. */
struct dirty {
	uint64_t *v;
	size_t n;
	uint32_t unit, bs;
};

static void dirty_free(struct dirty *d)
{
	free(d->v);
}

static int dirty_blocks(struct fsck *f, struct dirty *d)
{
	*d = (struct dirty){.unit = xw_overlay_block_size(f->ses.dev),
			    .bs = f->ses.img->block_size};
	return xw_overlay_dirty(f->ses.dev, &d->v, &d->n);
}

/* The blocks first .. end of dirty block i. */
static void blocks_of(const struct fsck *f, const struct dirty *d, size_t i, xw_blk *first,
		      xw_blk *end)
{
	const xw_blk blocks = f->ses.img->sb.blocks_count;

	*first = XW_MIN(d->v[i] * d->unit / d->bs, blocks);
	*end = XW_MIN(xw_div_up((d->v[i] + 1) * d->unit, d->bs), blocks);
}

static bool differs(const struct look *l, xw_blk blk, uint8_t *buf)
{
	const uint32_t bs = l->f->ses.img->block_size;

	return !xw_dev_pread(l->base, buf, bs, blk * bs) &&
	       !xw_dev_pread(l->f->ses.dev, buf + bs, bs, blk * bs) &&
	       memcmp(buf, buf + bs, bs) != 0;
}

static int add_changed(struct look *l, xw_blk blk, uint8_t *buf)
{
	struct fsck *f = l->f;

	if (!fsck_owns(f, FSCK_O_DATA, blk, 1) ||
	    (f->ses.opened && xw_blockset_has(f->ses.opened, blk)) || !differs(l, blk, buf))
		return 0;
	return fsck_set_add(&l->changed, f->ses.img->sb.blocks_count, blk, 1, NULL);
}

static int find_changed(struct look *l)
{
	struct fsck *f = l->f;
	auto_free uint8_t *buf = malloc(2 * (size_t)f->ses.img->block_size);
	auto_end(dirty_free) struct dirty d = {0};
	xw_blk blk, end;
	int rc = buf ? dirty_blocks(f, &d) : XW_ERR_NOMEM;

	for (size_t i = 0; i < d.n && !rc; i++)
		for (blocks_of(f, &d, i, &blk, &end); blk < end && !rc; blk++)
			rc = add_changed(l, blk, buf);
	return rc ? xw_fail_nomem(&f->ses.diag, "the final check") : 0;
}

/*
 * Does the inode still map this block at the same logical block? Otherwise it was freed or moved.
 */
static int has_still(struct look *l, xw_ino ino, uint64_t lblk, xw_blk blk, bool *still)
{
	struct xw_walk_map_item item;
	struct xw_inode in;
	int more = 0, rc = fsck_inode_read(l->f, ino, &in, NULL);

	*still = false;
	if (rc || !in.links || !xw_inode_has_map(&in))
		return rc;
	rc = xw_walk_map_begin(&l->now, ino, &in, -1);
	while (!rc && !*still && (more = xw_walk_map_next(&l->now, &item)) > 0)
		*still = more == 1 && item.kind == XW_WALK_RUN && lblk >= item.lblk &&
			 lblk - item.lblk < item.len && item.pblk + (lblk - item.lblk) == blk;
	return rc || more < 0 ? XW_ERR_NOMEM : 0;
}

/*
 * Check a run that the inode had on the base: are any of its blocks changed although it still has
 * them?
 */
static int examine_run(struct look *l, xw_ino ino, const struct xw_walk_map_item *run)
{
	const xw_blk end = run->pblk + run->len;
	uint64_t start, len;
	bool still = false;
	int rc = 0;

	for (xw_blk at = run->pblk;
	     !rc && !still && xw_blockset_next_in(l->changed, at, end, &start, &len);
	     at = start + 1) {
		rc = has_still(l, ino, run->lblk + (start - run->pblk), start, &still);
		if (still) {
			l->ino = ino;
			l->blk = start;
		}
	}
	return rc;
}

/* Did this inode have a changed block on the base? */
static int examine(struct look *l, xw_ino ino, const uint8_t *raw)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	struct xw_walk_map_item item;
	struct xw_inode in;
	int more = 0, rc;

	(void)xw_inode_decode(raw, sb, &in);
	if (!in.links || !xw_inode_has_map(&in) || (in.mode & XW_S_IFMT) == XW_S_IFDIR ||
	    ino < sb->first_ino || fsck_is_hidden(sb, ino))
		return 0;
	rc = xw_walk_map_begin(&l->walk, ino, &in, -1);
	while (!rc && !l->ino && (more = xw_walk_map_next(&l->walk, &item)) > 0) {
		if (more == 1 && item.kind == XW_WALK_RUN)
			rc = examine_run(l, ino, &item);
		else if (more == 1 && fsck_node_is_foreign(l->f, &in, item.pblk))
			xw_walk_map_skip(&l->walk);
	}
	return rc || more < 0 ? xw_fail_nomem(&l->f->ses.diag, "the final check") : 0;
}

static int examine_table(struct look *l, uint64_t group, uint8_t *table)
{
	struct fsck *f = l->f;
	const struct xw_image *img = f->ses.img;
	const uint32_t per_group = img->sb.inodes_per_group;
	struct xw_group_desc gd;
	int rc = 0;

	if (!f->facts.groups || !f->facts.groups[group] || xw_image_group(f->ses.img, group, &gd) ||
	    !xw_image_has_blocks(img, gd.inode_table, img->itable_blocks) ||
	    xw_dev_pread(l->base, table, (size_t)per_group * img->inode_size,
			 gd.inode_table * img->block_size)) {
		xw_diag_clear(&f->ses.diag);
		return 0;
	}
	for (uint32_t i = 0; i < per_group && !rc && !l->ino; i++)
		if (f->facts.groups[group][i].flags & FSCK_I_USED)
			rc = examine(l, (xw_ino)(group * per_group + i + 1),
				     table + (size_t)i * img->inode_size);
	return rc;
}

static int examine_tables(struct look *l)
{
	struct fsck *f = l->f;
	auto_free uint8_t *table =
		malloc((size_t)f->ses.img->sb.inodes_per_group * f->ses.img->inode_size);
	int rc = table ? 0 : xw_fail_nomem(&f->ses.diag, "the final check");

	xw_walk_map_init(&l->walk, l->base, &f->ses.img->sb);
	xw_walk_map_init(&l->now, f->ses.dev, &f->ses.img->sb);
	for (uint64_t g = 0; g < xw_image_groups_here(f->ses.img) && !rc && !l->ino; g++)
		rc = examine_table(l, g, table);
	xw_walk_map_free(&l->walk);
	xw_walk_map_free(&l->now);
	return rc;
}

int fsck_opened(struct fsck *f)
{
	auto_end(dirty_free) struct dirty d = {0};
	xw_blk blk, end;
	int rc = dirty_blocks(f, &d);

	xw_blockset_free(f->ses.opened);
	f->ses.opened = NULL;
	for (size_t i = 0; i < d.n && !rc; i++) {
		blocks_of(f, &d, i, &blk, &end);
		if (blk < end)
			rc = fsck_set_add(&f->ses.opened, f->ses.img->sb.blocks_count, blk,
					  end - blk, NULL);
	}
	return rc ? xw_fail_nomem(&f->ses.diag, "the journal's blocks") : 0;
}

int fsck_declare(struct fsck *f, xw_blk blk)
{
	return fsck_set_add(&f->ses.opened, f->ses.img->sb.blocks_count, blk, 1, NULL)
		       ? xw_fail_nomem(&f->ses.diag, "the final check")
		       : 0;
}

int fsck_final_check(struct fsck *f)
{
	struct look l = {.f = f, .base = xw_overlay_base(f->ses.dev)};
	int rc;

	if (f->opts.mode == FSCK_NO || f->ses.stop)
		return 0;
	rc = find_changed(&l);
	if (!rc && l.changed)
		rc = examine_tables(&l);
	xw_blockset_free(l.changed);
	if (rc || !l.ino)
		return rc;
	return xw_fail(&f->ses.diag, XW_ERR_INTERNAL,
		       "%s: the repairs would change block %llu, which is contents of inode %u: "
		       "nothing was written; please report this, with the image's metadata "
		       "(e2image -r)",
		       f->opts.image, (unsigned long long)l.blk, l.ino);
}
