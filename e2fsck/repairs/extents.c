// SPDX-License-Identifier: MIT
/*
 * -E bmap2extent and optimize_extents: rewrites maps when a round has found nothing to repair. The
 * next round checks the result.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "edit/edit.h"
#include "walk/map.h"

#include "repairs/repairs.h"
#include "facts/hidden.h"

enum { STEP = 1024 }; /* maximum number of inodes written at a time */

struct rewrite {
	XW_VEC(xw_ino) list; /* inodes whose maps are to be rewritten, ascending */
	size_t kept; /* inodes that keep their map */
	xw_ino first; /* the first such inode, and its error */
	int why;
};

/* Does the inode's tree have more blocks than a new tree would? False if the map is damaged. */
static bool is_loose(const struct fsck *f, struct xw_walk_map *w, xw_ino ino,
		     const struct xw_inode *in)
{
	uint64_t extents = 0, nodes = 0, len = 0;
	struct xw_walk_map_item i, last = {0};
	unsigned depth;
	int more = 0;

	if (xw_walk_map_begin(w, ino, in, -1))
		return false;
	while ((more = xw_walk_map_next(w, &i)) == 1) {
		if (i.kind == XW_WALK_NODE) {
			nodes++;
			continue;
		}
		if (!len || i.unwritten != last.unwritten || i.lblk != last.lblk + last.len ||
		    i.pblk != last.pblk + last.len) {
			extents +=
				xw_div_up(len, last.unwritten ? XW_EXT_MAX_UNINIT : XW_EXT_MAX_LEN);
			len = 0;
		}
		len += i.len;
		last = i;
	}
	extents += xw_div_up(len, last.unwritten ? XW_EXT_MAX_UNINIT : XW_EXT_MAX_LEN);
	return !more && nodes > fsck_map_nodes(f, extents, &depth);
}

static bool is_wanted(struct fsck *f, struct xw_walk_map *w, xw_ino ino)
{
	struct xw_inode in;

	if (xw_image_inode(f->ses.img, ino, &in, NULL) || !xw_inode_has_map(&in) ||
	    in.flags & XW_FL_ITREE)
		return false;
	if (!(in.flags & XW_FL_EXTENTS))
		return f->opts.bmap2extent;
	return f->opts.optimize_extents && is_loose(f, w, ino, &in);
}

static int rewrite(struct xw_update *u, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	auto_update_map struct xw_update_map m = {0};
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	if (!rc)
		rc = xw_update_map_read(u, ino, &in, &m);
	if (!rc)
		rc = xw_update_map_write(u, ino, &in, &m);
	return rc ? rc : xw_update_put(u, ino, &in, steal(raw));
}

/* Rewrite n inodes in one step, all or none. */
static int rewrite_step(struct fsck *f, const xw_ino *inos, size_t n)
{
	struct xw_update *u;
	int rc = fsck_update(f, &u);

	if (rc)
		return rc;
	f->round.allocated = true; /* free space is complete: openings after a failure use it */
	for (size_t i = 0; i < n && !rc; i++)
		rc = rewrite(u, inos[i]);
	return rc ? rc : fsck_update_step(f);
}

/*
 * This is no repair, so an inode that fails keeps its map and all others are rewritten: a failed
 * step is repeated in halves, down to one inode.
 */
static int rewrite_all(struct fsck *f, struct rewrite *r, const xw_ino *inos, size_t n)
{
	int rc = rewrite_step(f, inos, n);

	if (!rc)
		return 0;
	fsck_update_drop(f);
	if ((rc != XW_ERR_NOSPC && rc != XW_ERR_CORRUPT) || f->ses.steps.torn)
		return rc;
	xw_diag_clear(&f->ses.diag);
	if (n > 1) {
		rc = rewrite_all(f, r, inos, n / 2);
		return rc ? rc : rewrite_all(f, r, inos + n / 2, n - n / 2);
	}
	if (!r->kept++) {
		r->first = inos[0];
		r->why = rc;
	}
	return 0;
}

static void report_kept(struct fsck *f, const struct rewrite *r)
{
	const char *const why = r->why == XW_ERR_NOSPC ? "there is no space for others"
						       : "others cannot be written";
	char more[32] = "";

	if (r->kept > 1)
		snprintf(more, sizeof(more), " and %zu more", r->kept - 1);
	if (r->kept)
		xw_log(&f->ses.diag, XW_LOG_WARN, "inode %u%s keep%s: %s", r->first, more,
		       r->kept > 1 ? " their maps" : "s its map", why);
}

/*
 * May the map of this inode be changed? Only inodes with names, not those of the filesystem itself.
 */
static bool may_change(const struct fsck *f, xw_ino ino)
{
	const struct fsck_inode *i = fsck_inode(f, ino);
	const struct xw_super *sb = &f->ses.img->sb;

	return i && i->flags & FSCK_I_USED && !(i->flags & (FSCK_I_SYSTEM | FSCK_I_EA)) &&
	       (ino == XW_INO_ROOT || ino >= sb->first_ino) && !fsck_is_hidden(sb, ino);
}

static int set_feature(struct fsck *f)
{
	if (!f->opts.bmap2extent || f->ses.img->sb.feature_incompat & XW_INCOMPAT_EXTENTS)
		return 0;
	f->ses.img->sb.feature_incompat |= XW_INCOMPAT_EXTENTS;
	return fsck_super_write(f);
}

/* Clear RO_SHARED_BLOCKS after a round without contested blocks. */
static int end_sharing(struct fsck *f)
{
	struct xw_super *sb = &f->ses.img->sb;

	if (!f->opts.unshare_blocks || !(sb->feature_ro_compat & XW_RO_SHARED_BLOCKS) ||
	    f->facts.owners.contested)
		return 0;
	sb->feature_ro_compat &= ~XW_RO_SHARED_BLOCKS;
	return fsck_super_write(f);
}

static int find_wanted(struct fsck *f, struct rewrite *r)
{
	const uint32_t per_group = f->ses.img->sb.inodes_per_group;
	struct xw_walk_map w;
	int rc = 0;

	xw_walk_map_init(&w, f->ses.img->dev, &f->ses.img->sb);
	for (uint64_t g = 0; f->facts.groups && g < f->ses.img->groups && !rc; g++)
		for (uint32_t i = 0; f->facts.groups[g] && i < per_group && !rc; i++) {
			const xw_ino ino = (xw_ino)(g * per_group + i + 1);

			if (may_change(f, ino) && is_wanted(f, &w, ino))
				rc = xw_vec_push(&r->list, ino);
		}
	xw_walk_map_free(&w);
	xw_diag_clear(&f->ses.diag);
	return rc ? xw_fail_nomem(&f->ses.diag, "inodes with maps to write anew") : 0;
}

int fsck_rewrite_maps(struct fsck *f)
{
	struct rewrite r = {0};
	const size_t step = STEP;
	int rc;

	if (f->round.changed || f->ses.findings.left || f->opts.mode == FSCK_NO)
		return 0;
	rc = end_sharing(f);
	if (rc || f->ses.maps_rewritten || (!f->opts.bmap2extent && !f->opts.optimize_extents))
		return rc;
	f->ses.maps_rewritten = true;
	rc = set_feature(f);
	if (!rc)
		rc = find_wanted(f, &r);
	for (size_t i = 0; i < r.list.n && !rc; i += step)
		rc = rewrite_all(f, &r, r.list.v + i, XW_MIN(step, r.list.n - i));
	xw_vec_free(&r.list);
	if (!rc)
		report_kept(f, &r);
	if (!rc && f->ses.steps.u)
		return fsck_update_keep(f);
	fsck_update_drop(f);
	return rc;
}
