/* SPDX-License-Identifier: MIT */
/*
 * Placement of bitmaps and inode tables with flex_bg as in mke2fs 1.47.0 (observed;
 * tests/oracle/geometry.sh compares).
 *
 * Group by group, each bitmap or table is placed right after that of the previous group if
 * possible; the first one of its kind leaves room for those of the whole flex group (a flex group
 * of a single group: for those of a full one). If that place is in use, the next one that fits is
 * taken if it starts within as many blocks as this object and those of all following groups need
 * (at most a quarter of a group); else the first free run of that many blocks from the start of the
 * flex group; else the first place there that fits this object alone. With packed_meta_blocks the
 * whole filesystem is one range: first all block bitmaps, then all inode bitmaps, then all tables,
 * each at the first place that fits.
 *
 * Ranges with heads at the same offsets have the same layout, which is computed only once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "plan/map.h"

/* A range of groups being laid out. Block numbers are absolute. */
struct range {
	const struct xw_geo *geo;
	struct xw_diag *diag;
	uint32_t first, groups;
	xw_blk start, end;
	XW_VEC(struct xw_run) used; /* ascending, merged; without heads */
	xw_blk gap_start, gap_end; /* no head in between: cached by head_in() */
	struct xw_geo_map map; /* taken over by range_finish() */
};

/* End of the head that overlaps [at, at + len), 0 when there is none. */
static xw_blk head_in(struct range *r, xw_blk at, uint64_t len)
{
	const struct xw_geo *geo = r->geo;
	uint32_t group, next;
	xw_blk end;

	if (at >= r->gap_start && at + len <= r->gap_end)
		return 0;
	group = xw_geo_group_of(geo, at);
	end = xw_geo_group_start(geo, group) + xw_geo_head(geo, group);
	if (at < end)
		return end;
	next = xw_geo_next_head(geo, group + 1);
	r->gap_start = at;
	r->gap_end = next < geo->groups ? xw_geo_group_start(geo, next) : geo->blocks;
	if (at + len <= r->gap_end || next >= geo->groups)
		return 0;
	return r->gap_end + xw_geo_head(geo, next);
}

/* Index of the first used run that ends after `at`. */
static size_t used_after(const struct range *r, xw_blk at)
{
	return XW_LOWER_BOUND(i, r->used.n, r->used.v[i].start + r->used.v[i].len > at);
}

/* First run of len free blocks in [from, to). */
static bool find_free(struct range *r, xw_blk from, xw_blk to, uint64_t len, xw_blk *out)
{
	while (from < to && len <= to - from) {
		xw_blk end = head_in(r, from, len);
		size_t i = end ? 0 : used_after(r, from);

		if (!end && i < r->used.n && r->used.v[i].start < from + len)
			end = r->used.v[i].start + r->used.v[i].len;
		if (!end) {
			*out = from;
			return true;
		}
		from = end;
	}
	return false;
}

static int nomem(struct xw_diag *diag)
{
	return xw_fail_nomem(diag, "group layout");
}

static int mark_used(struct range *r, xw_blk start, uint64_t len)
{
	size_t i = used_after(r, start);
	struct xw_run run = {start, len};

	if (i > 0 && r->used.v[i - 1].start + r->used.v[i - 1].len == start) {
		r->used.v[i - 1].len += len;
	} else {
		if (xw_vec_push(&r->used, run))
			return nomem(r->diag);
		memmove(&r->used.v[i + 1], &r->used.v[i], (r->used.n - 1 - i) * sizeof(run));
		r->used.v[i++] = run;
	}
	if (i < r->used.n && r->used.v[i].start == start + len) {
		r->used.v[i - 1].len += r->used.v[i].len;
		memmove(&r->used.v[i], &r->used.v[i + 1], (r->used.n - 1 - i) * sizeof(run));
		r->used.n--;
	}
	return 0;
}

static int range_init(struct range *r, const struct xw_geo *geo, uint32_t first, uint32_t groups,
		      struct xw_diag *diag)
{
	xw_blk reach;
	int rc = 0;

	memset(r, 0, sizeof(*r));
	r->geo = geo;
	r->diag = diag;
	r->first = first;
	r->groups = groups;
	r->start = xw_geo_group_start(geo, first);
	r->end = first + (uint64_t)groups >= geo->groups ? geo->blocks
							 : xw_geo_group_start(geo, first + groups);
	xw_map_init(&r->map, geo, first);
	/* The search for the last objects may go beyond the range; see choose() for how far. */
	reach = r->end + groups + 3 * (uint64_t)geo->blocks_per_group;
	for (size_t i = XW_LOWER_BOUND(k, geo->n_bad, geo->bad[k] >= r->start);
	     i < geo->n_bad && geo->bad[i] < reach && !rc; i++)
		rc = mark_used(r, geo->bad[i], 1);
	return rc;
}

static void range_end(struct range *r)
{
	xw_vec_free(&r->used);
	xw_map_free(&r->map);
}

/* Complete the map and append it to geo->maps, of which *cap are allocated. */
static int range_finish(struct range *r, struct xw_geo *geo, size_t *cap)
{
	if (xw_map_seal(&r->map) ||
	    xw_vec_reserve_((void **)&geo->maps, cap, geo->n_maps + 1, sizeof(*geo->maps)))
		return nomem(r->diag);
	geo->maps[geo->n_maps++] = r->map;
	memset(&r->map, 0, sizeof(r->map));
	return 0;
}

/* Place for the object of `unit` blocks of the i-th group of the range, near `want` if possible. */
static bool choose(struct range *r, xw_blk want, uint32_t i, uint64_t unit, xw_blk *out)
{
	uint64_t all = XW_MIN((r->groups - i) * (uint64_t)unit, r->geo->blocks_per_group / 4);

	if (want && want + unit <= r->geo->blocks &&
	    find_free(r, want, XW_MIN(want + all + unit - 1, r->geo->blocks), unit, out))
		return true;
	return (all >= unit && find_free(r, r->start, r->end, all, out)) ||
	       find_free(r, r->start, r->end, unit, out);
}

static int no_room(const struct range *r, uint32_t i)
{
	return xw_fail(r->diag, XW_ERR_LIMIT,
		       r->geo->n_bad
			       ? "group %u: no room for its bitmaps and inode table beside the bad "
				 "blocks"
			       : "group %u: no room for its bitmaps and inode table; try fewer "
				 "inodes",
		       r->first + i);
}

/* Add the i-th group's object at `at` to the map. */
static int add(struct range *r, int kind, uint32_t i, xw_blk at)
{
	return xw_map_add(&r->map, (enum xw_meta_kind)kind, i, 1, at - r->start) ? nomem(r->diag)
										 : 0;
}

static int flex_map(struct xw_geo *geo, size_t *cap, uint32_t first, uint32_t name,
		    struct xw_diag *diag)
{
	auto_end(range_end) struct range r;
	xw_blk at[XW_META_KINDS] = {0};
	int rc = range_init(&r, geo, first, XW_MIN(geo->flex_size, geo->groups - first), diag);

	for (uint32_t i = 0; i < r.groups; i++) {
		for (int k = 0; k < XW_META_KINDS && !rc; k++) {
			const uint32_t unit = r.map.unit[k];
			xw_blk want = at[k] ? at[k] + unit : 0;

			if (!at[k] && k)
				want = at[k - 1] + (r.groups > 1 ? r.groups : geo->flex_size);
			if (!choose(&r, want, i, unit, &at[k]) ||
			    (geo->n_bad && at[k] + unit > r.end))
				return no_room(&r, i);
			rc = mark_used(&r, at[k], unit);
			if (!rc)
				rc = add(&r, k, i, at[k]);
		}
		if (rc)
			return rc;
	}
	r.map.first_group = name;
	return range_finish(&r, geo, cap);
}

static int packed_map(struct xw_geo *geo, struct xw_diag *diag)
{
	auto_end(range_end) struct range r;
	xw_blk at = geo->first_data_block;
	int rc = range_init(&r, geo, 0, geo->groups, diag);
	size_t cap = 0;

	for (int k = 0; k < XW_META_KINDS; k++) {
		for (uint32_t i = 0; i < r.groups && !rc; i++) {
			if (!find_free(&r, at, r.end, r.map.unit[k], &at))
				return no_room(&r, i);
			rc = add(&r, k, i, at);
			at += r.map.unit[k];
		}
	}
	return rc ? rc : range_finish(&r, geo, &cap);
}

/* First group >= `group` that makes its flex group differ from others; geo->groups: none. */
static uint32_t next_special(const struct xw_geo *geo, uint32_t group)
{
	uint32_t super = xw_geo_dense(geo) ? geo->groups : xw_geo_next_super(geo, group);
	xw_blk bad = xw_geo_next_bad(geo, xw_geo_group_start(geo, group));

	return bad == XW_BLK_MAX ? super : XW_MIN(super, xw_geo_group_of(geo, bad));
}

/*
 * The first n_common maps are shared by all flex groups without a map of their own. One is enough,
 * but with meta_bg there are as many as a meta group has flex groups, since descriptors lie in
 * three groups of a meta group. The other maps, ascending, are those of flex groups that contain a
 * superblock copy or a bad block, and that of the last flex group, which may be short. Without
 * sparse_super every group has a copy, so all flex groups but the last are equal again.
 */
static int common_maps(struct xw_geo *geo, size_t *cap, uint32_t last, struct xw_diag *diag)
{
	uint32_t mask = geo->flex_size - 1, kinds = 1;
	int rc = 0;

	if (xw_geo_meta_bg(geo) && geo->desc_per_block > geo->flex_size)
		kinds = geo->desc_per_block / geo->flex_size;
	for (uint32_t k = 0; k < kinds && !rc; k++) {
		uint64_t g = (uint64_t)k * geo->flex_size;

		while (g < last && (next_special(geo, (uint32_t)g) & ~mask) == g)
			g += (uint64_t)kinds * geo->flex_size;
		rc = flex_map(geo, cap, g < last ? (uint32_t)g : last, XW_MAP_ANY, diag);
	}
	geo->n_common = kinds;
	return rc;
}

int xw_geo_flex_maps(struct xw_geo *geo, struct xw_diag *diag)
{
	uint32_t mask = geo->flex_size - 1, last = (geo->groups - 1) & ~mask;
	size_t cap = 0;
	int rc;

	if (geo->packed_meta)
		return packed_map(geo, diag);
	rc = common_maps(geo, &cap, last, diag);
	for (uint64_t g = 0; !rc && g < last; g = (g & ~(uint64_t)mask) + geo->flex_size) {
		g = next_special(geo, (uint32_t)g);
		if (g < last)
			rc = flex_map(geo, &cap, (uint32_t)g & ~mask, (uint32_t)g & ~mask, diag);
	}
	return rc ? rc : flex_map(geo, &cap, last, last, diag);
}

/* Map of a group that has bad blocks: each object at its regular place, or the next good one. */
static int own_map(struct xw_geo *geo, size_t *cap, uint32_t group, struct xw_diag *diag)
{
	auto_end(range_end) struct range r;
	struct xw_group_place p;
	xw_blk want[XW_META_KINDS], at;
	int rc = range_init(&r, geo, group, 1, diag);

	xw_geo_group(geo, group, &p);
	want[XW_META_BLOCK_BITMAP] = p.block_bitmap;
	want[XW_META_INODE_BITMAP] = p.inode_bitmap;
	want[XW_META_INODE_TABLE] = p.inode_table;
	for (int k = 0; k < XW_META_KINDS && !rc; k++) {
		const uint32_t unit = r.map.unit[k];

		if (!find_free(&r, want[k], r.end, unit, &at) &&
		    !find_free(&r, r.start, r.end, unit, &at))
			return no_room(&r, 0);
		rc = mark_used(&r, at, unit);
		if (!rc)
			rc = add(&r, k, 0, at);
	}
	return rc ? rc : range_finish(&r, geo, cap);
}

int xw_geo_own_maps(struct xw_geo *geo, struct xw_diag *diag)
{
	xw_blk bad = xw_geo_next_bad(geo, 0);
	size_t cap = 0;

	while (bad != XW_BLK_MAX) {
		uint32_t group = xw_geo_group_of(geo, bad);
		int rc = own_map(geo, &cap, group, diag);

		if (rc)
			return rc;
		bad = xw_geo_next_bad(geo, xw_geo_group_start(geo, group) + geo->blocks_per_group);
	}
	return 0;
}
