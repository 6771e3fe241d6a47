// SPDX-License-Identifier: MIT
/*
 * The profile alternate without a history of operations, for images of many TiB: the used runs of
 * the pattern are claimed directly, and mapped by files of a few groups each. The pattern covers
 * the whole filesystem, so runs may cross group boundaries. Blocks in use keep their contents.
 *
 * Extent tree blocks and directories come from the free runs of the pattern.
 *
 * Invariant: operation n of the run creates file n, which maps blocks of groups n * per to n * per
 * + per - 1. So the operation count in the state file is the position of the next step.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "age/run_internal.h"
#include "age/world_internal.h"
#include "base/auto.h"

/* bitmaps of so many groups (64 MiB with 4 KiB blocks) are held in memory until the commit */
#define STEP_GROUPS 16384
#define FILE_EXTENTS 1344 /* just below the capacity of four blocks of an extent tree */
#define FILES_PER_DIR 1000

struct pattern {
	uint64_t used, period; /* in blocks */
	uint64_t groups_per_file, groups_per_step;
};

static struct pattern pattern_of(const struct xw_age_run *r, const struct xw_image *img)
{
	/* whole clusters */
	const unsigned bits = xw_image_cluster_bits(img);
	const uint64_t unit = (uint64_t)img->block_size << bits;
	struct pattern p = {.used = xw_div_up(r->o->used, unit) << bits};
	uint64_t extents;

	p.period = p.used + (xw_div_up(r->o->free, unit) << bits);
	extents = img->sb.blocks_per_group / p.period + 1;
	p.groups_per_file = XW_MAX(FILE_EXTENTS / extents, 1);
	p.groups_per_step = (r->o->step ? r->o->step : XW_MAX(STEP_GROUPS / p.groups_per_file, 1)) *
			    p.groups_per_file;
	return p;
}

/* Assign the free blocks in [from, to) to the file. */
static int claim(struct xw_update *u, struct xw_update_map *m, uint64_t *lblk, xw_blk from,
		 xw_blk to)
{
	int rc = 0;

	while (from < to && !rc) {
		const uint64_t len = xw_space_run_at(u->space, from, to - from);

		if (!len) {
			from = xw_space_next_free(u->space, from);
			continue;
		}
		rc = xw_space_claim(u->space, from, len);
		if (!rc)
			rc = xw_update_map_add(
				u, m, (struct xw_map_run){(xw_lblk)*lblk, len, from, false});
		*lblk += len;
		from += len;
	}
	return rc;
}

/* Claim the used runs of the pattern in blocks [from, to). */
static int claim_pattern(struct xw_update *u, const struct pattern *p, xw_blk from, xw_blk to,
			 struct xw_update_map *m)
{
	xw_blk at = from / p->period * p->period;
	uint64_t lblk = 0;
	int rc = 0;

	for (; at < to && !rc; at += p->period)
		rc = claim(u, m, &lblk, XW_MAX(at, from), XW_MIN(at + p->used, to));
	return rc;
}

static int write_file(struct xw_age_world *w, xw_ino ino, struct xw_update_map *m)
{
	const struct xw_extent *last = &m->e.v[m->e.n - 1];
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(w->u, ino, &in, &raw);

	if (rc)
		return rc;
	in.size = ((uint64_t)last->lblk + last->len) * w->u->img->block_size;
	w->u->large_file |= in.size > INT32_MAX;
	w->counts->written += in.size;
	rc = xw_update_map_write(w->u, ino, &in, m);
	return rc ? rc : xw_update_put(w->u, ino, &in, steal(raw));
}

/* Create file n from blocks of groups first to end - 1. */
static int make_file(struct xw_age_world *w, const struct pattern *p, uint64_t n, uint64_t first,
		     uint64_t end)
{
	const struct xw_super *sb = &w->u->img->sb;
	const xw_blk from = sb->first_data_block + first * sb->blocks_per_group;
	const xw_blk to =
		XW_MIN(sb->first_data_block + end * sb->blocks_per_group, sb->blocks_count);
	struct xw_update_map m = {0};
	struct xw_age_place place;
	char path[48];
	int rc;

	snprintf(path, sizeof(path), "%06" PRIu64 "/file-%010" PRIu64, n / FILES_PER_DIR, n);
	rc = xw_age_world_find(w, path, true, &place);
	if (rc > 0 || (!rc && place.ino))
		rc = xw_fail(w->u->diag, XW_ERR_EXISTS,
			     "%s: /%s/%s exists; --fast needs it to be absent",
			     w->u->img->dev->name, w->top, path);
	if (!rc)
		rc = claim_pattern(w->u, p, from, to, &m);
	if (!rc && m.e.n)
		rc = xw_age_world_make_file(w, &place);
	if (!rc && m.e.n)
		rc = write_file(w, place.ino, &m);
	w->counts->created += m.e.n != 0;
	w->counts->skipped += m.e.n == 0;
	w->counts->ops++;
	xw_update_map_end(&m);
	return rc;
}

int xw_age_fast_step(struct xw_age_run *r, struct xw_age_world *w)
{
	const struct xw_image *img = w->u->img;
	const struct pattern p = pattern_of(r, img);
	const uint64_t start = w->counts->ops * p.groups_per_file;
	const uint64_t end = XW_MIN(start + p.groups_per_step, img->groups);
	int rc = 0;

	for (uint64_t g = start; g < end && !rc; g += p.groups_per_file) {
		rc = xw_commit_check_canceled(r->o->watch, r->path, r->diag);
		if (!rc)
			rc = make_file(w, &p, w->counts->ops, g,
				       XW_MIN(g + p.groups_per_file, end));
	}
	if (end == img->groups)
		r->state.ended = 1 + XW_AGE_END_PROFILE;
	return rc;
}
