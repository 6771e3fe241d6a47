// SPDX-License-Identifier: MIT
/*
 * The last look before the commit, which knows nothing of the repairs: contents of a file that had
 * them before and has them now, in the same blocks, must be what they were. If not, a repair has
 * written to blocks that were not its own, and nothing is committed.
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
#include "inode_slice.h"
#include "walk/map.h"

struct look {
	struct fsck *f;
	struct xw_dev *base;
	struct xw_blockset *changed; /* blocks of files that differ from the base */
	struct xw_walk_map walk;
	xw_ino ino; /* a file that had one of them; 0: none found */
	xw_blk blk;
};

static bool differs(const struct look *l, xw_blk blk, uint8_t *old)
{
	const uint32_t bs = l->f->img->block_size;
	const void *now;

	if (!xw_overlay_block(l->f->dev, blk, &now) || xw_dev_pread(l->base, old, bs, blk * bs))
		return false;
	if (now)
		return memcmp(old, now, bs) != 0;
	for (uint32_t i = 0; i < bs; i++)
		if (old[i])
			return true;
	return false;
}

static int find_changed(struct look *l)
{
	struct fsck *f = l->f;
	auto_free uint8_t *old = malloc(f->img->block_size);
	auto_free uint64_t *dirty = NULL;
	size_t n = 0;
	int rc = old ? xw_overlay_dirty(f->dev, &dirty, &n) : XW_ERR_NOMEM;

	for (size_t i = 0; i < n && !rc; i++) {
		if (!fsck_owns(f, FSCK_O_DATA, dirty[i], 1) ||
		    (f->opened && xw_blockset_has(f->opened, dirty[i])) ||
		    !differs(l, dirty[i], old))
			continue;
		if (!l->changed)
			rc = xw_blockset_new(f->img->sb.blocks_count, &l->changed);
		if (!rc)
			rc = xw_blockset_add(l->changed, dirty[i], 1, NULL);
	}
	return rc ? xw_fail_nomem(&f->diag, "the last look") : 0;
}

/* Did this inode have one of them? */
static int look_at(struct look *l, xw_ino ino, const uint8_t *raw)
{
	const struct xw_super *sb = &l->f->img->sb;
	struct xw_walk_map_item item;
	struct xw_inode in;
	uint64_t start, len;
	int more = 0, rc;

	(void)xw_inode_decode(raw, sb, &in);
	if (!in.links || !xw_inode_has_map(&in) || (in.mode & XW_S_IFMT) == XW_S_IFDIR ||
	    ino < sb->first_ino || fsck_is_hidden(sb, ino))
		return 0;
	rc = xw_walk_map_begin(&l->walk, ino, &in, -1);
	while (!rc && !l->ino && (more = xw_walk_map_next(&l->walk, &item)) > 0)
		if (more == 1 && item.kind == XW_WALK_RUN &&
		    xw_blockset_next_in(l->changed, item.pblk, item.pblk + item.len, &start,
					&len)) {
			l->ino = ino;
			l->blk = start;
		}
	return rc || more < 0 ? xw_fail_nomem(&l->f->diag, "the last look") : 0;
}

static int look_at_table(struct look *l, uint64_t group, uint8_t *table)
{
	struct fsck *f = l->f;
	const struct xw_image *img = f->img;
	const uint32_t per_group = img->sb.inodes_per_group;
	struct xw_group_desc gd;
	int rc;

	if (!f->groups || !f->groups[group] || xw_image_group(f->img, group, &gd) ||
	    !xw_image_has_blocks(img, gd.inode_table, img->itable_blocks) ||
	    xw_dev_pread(l->base, table, (size_t)per_group * img->inode_size,
			 gd.inode_table * img->block_size)) {
		xw_diag_clear(&f->diag);
		return 0;
	}
	rc = 0;
	for (uint32_t i = 0; i < per_group && !rc && !l->ino; i++)
		if (f->groups[group][i].flags & FSCK_I_USED)
			rc = look_at(l, (xw_ino)(group * per_group + i + 1),
				     table + (size_t)i * img->inode_size);
	return rc;
}

static int look_at_tables(struct look *l)
{
	struct fsck *f = l->f;
	auto_free uint8_t *table = malloc((size_t)f->img->sb.inodes_per_group * f->img->inode_size);
	int rc = table ? 0 : xw_fail_nomem(&f->diag, "the last look");

	xw_walk_map_init(&l->walk, l->base, &f->img->sb);
	for (uint64_t g = 0; g < xw_image_groups_here(f->img) && !rc && !l->ino; g++)
		rc = look_at_table(l, g, table);
	xw_walk_map_free(&l->walk);
	return rc;
}

int fsck_opened(struct fsck *f)
{
	auto_free uint64_t *dirty = NULL;
	size_t n = 0;
	int rc = xw_overlay_dirty(f->dev, &dirty, &n);

	xw_blockset_free(f->opened);
	f->opened = NULL;
	if (!rc && n)
		rc = xw_blockset_new(f->img->sb.blocks_count, &f->opened);
	for (size_t i = 0; i < n && !rc && dirty[i] < f->img->sb.blocks_count; i++)
		rc = xw_blockset_add(f->opened, dirty[i], 1, NULL);
	return rc ? xw_fail_nomem(&f->diag, "the journal's blocks") : 0;
}

int fsck_last_look(struct fsck *f)
{
	struct look l = {.f = f, .base = xw_overlay_base(f->dev)};
	int rc;

	if (f->opts.mode == FSCK_NO || f->stop)
		return 0;
	rc = find_changed(&l);
	if (!rc && l.changed)
		rc = look_at_tables(&l);
	xw_blockset_free(l.changed);
	if (rc || !l.ino)
		return rc;
	return xw_fail(&f->diag, XW_ERR_INTERNAL,
		       "%s: the repairs would change block %llu, which is contents of inode %u: "
		       "nothing was written; please report this, with the image's metadata "
		       "(e2image -r)",
		       f->opts.image, (unsigned long long)l.blk, l.ino);
}
