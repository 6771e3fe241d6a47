// SPDX-License-Identifier: MIT
/*
 * -E bmap2extent and optimize_extents: maps written anew, once a round has found nothing to repair.
 * The next round checks what became of them.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "read/map.h"
#include "update/edit.h"

#include "fsck.h"
#include "inode_slice.h"

enum { STEP = 1024 }; /* inodes written at a time */

/* Blocks that a tree over n extents needs beside the inode. */
static uint64_t nodes_for(const struct xw_image *img, uint64_t n)
{
	const uint64_t per_block = xw_extent_node_max(img->block_size);
	uint64_t nodes = 0;

	while (n > XW_EXT_INODE_ENTRIES) {
		n = xw_div_up(n, per_block);
		nodes += n;
	}
	return nodes;
}

static bool is_wanted(const struct fsck *f, const struct xw_inode *in,
		      const struct xw_update_map *m)
{
	if (!(in->flags & XW_FL_EXTENTS))
		return f->opts.bmap2extent;
	return f->opts.optimize_extents && m->nodes.n > nodes_for(f->img, m->e.n);
}

static int rewrite(struct fsck *f, struct xw_update *u, xw_ino ino, bool *changed)
{
	auto_free uint8_t *raw = NULL;
	struct xw_update_map m = {0};
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	*changed = false;
	if (rc || !xw_inode_has_map(&in) ||
	    (in.flags & XW_FL_EXTENTS && !f->opts.optimize_extents) || in.flags & XW_FL_ITREE)
		return rc;
	rc = xw_update_map_read(u, ino, &in, &m);
	if (!rc && is_wanted(f, &in, &m)) {
		*changed = true;
		rc = xw_update_map_write(u, ino, &in, &m);
		if (!rc)
			rc = xw_update_put(u, ino, &in, steal(raw));
	}
	xw_update_map_end(&m);
	return rc;
}

/* Inodes with names: those of the filesystem itself keep the maps they have. */
static bool may_change(const struct fsck *f, xw_ino ino)
{
	const struct fsck_inode *i = fsck_inode(f, ino);
	const struct xw_super *sb = &f->img->sb;

	return i && i->flags & FSCK_I_USED && !(i->flags & (FSCK_I_SYSTEM | FSCK_I_EA)) &&
	       (ino == XW_INO_ROOT || ino >= sb->first_ino) && !fsck_is_hidden(sb, ino);
}

static int set_feature(struct fsck *f)
{
	if (!f->opts.bmap2extent || f->img->sb.feature_incompat & XW_INCOMPAT_EXTENTS)
		return 0;
	f->img->sb.feature_incompat |= XW_INCOMPAT_EXTENTS;
	return fsck_super_write(f);
}

/* A round that did not have to move a block: none is shared. */
static int end_sharing(struct fsck *f)
{
	struct xw_super *sb = &f->img->sb;

	if (!f->opts.unshare_blocks || !(sb->feature_ro_compat & FSCK_RO_SHARED_BLOCKS) ||
	    f->contested)
		return 0;
	sb->feature_ro_compat &= ~FSCK_RO_SHARED_BLOCKS;
	return fsck_super_write(f);
}

int fsck_rewrite_maps(struct fsck *f)
{
	const uint32_t inodes = f->img->sb.inodes_count;
	struct xw_update *u;
	unsigned n = 0;
	int rc;

	if (f->changed || f->findings.left || f->opts.mode == FSCK_NO)
		return 0;
	rc = end_sharing(f);
	if (rc || f->maps_rewritten || (!f->opts.bmap2extent && !f->opts.optimize_extents))
		return rc;
	f->maps_rewritten = true;
	rc = set_feature(f);
	if (!rc)
		rc = fsck_update(f, &u);
	for (xw_ino ino = 1; ino <= inodes && !rc; ino++) {
		bool changed = false;

		if (may_change(f, ino))
			rc = rewrite(f, u, ino, &changed);
		if (!rc && changed && ++n % STEP == 0)
			rc = fsck_update_step(f);
	}
	if (!rc && n)
		return fsck_update_keep(f);
	fsck_update_drop(f);
	return rc;
}
