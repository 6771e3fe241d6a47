/* SPDX-License-Identifier: MIT */
/*
 * Placement of bitmaps and inode tables with flex_bg as in mke2fs 1.47.0 (observed;
 * tests/oracle/geometry.sh compares).
 *
 * Group by group, each object is placed right after the same object of the previous group if
 * possible; the first object of its kind leaves room for all others of the flex group (in a flex
 * group of a single group: for as many as a full one has). If that place is taken, the next one
 * that fits is used, but only if it starts within as many blocks as this object and all following
 * ones need (at most a quarter of a group); else the first free run of that many blocks from the
 * start of the flex group, else the first place there that fits just this object. With
 * packed_meta_blocks the whole filesystem is one range: first all block bitmaps, then all inode
 * bitmaps, then all tables, each at the first place that fits.
 *
 * Ranges with the same heads inside have the same layout, so only one of each kind is computed.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/map.h"

/* One range being laid out. Block numbers are absolute. */
struct range {
	const struct xw_geo *geo;
	uint32_t first, groups;
	xw_blk start, end;
	XW_VEC(struct xw_run) taken; /* ascending, merged; without heads */
	xw_blk gap_start, gap_end; /* result of the last lookup: no head in between */
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

/* Index of the first taken run that ends after `at`. */
static size_t taken_after(const struct range *r, xw_blk at)
{
	size_t lo = 0, hi = r->taken.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->taken.v[mid].start + r->taken.v[mid].len <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* First run of len free blocks in [from, to). */
static bool find_free(struct range *r, xw_blk from, xw_blk to, uint64_t len, xw_blk *out)
{
	while (from < to && len <= to - from) {
		xw_blk end = head_in(r, from, len);
		size_t i = end ? 0 : taken_after(r, from);

		if (!end && i < r->taken.n && r->taken.v[i].start < from + len)
			end = r->taken.v[i].start + r->taken.v[i].len;
		if (!end) {
			*out = from;
			return true;
		}
		from = end;
	}
	return false;
}

static int take(struct range *r, xw_blk start, uint64_t len)
{
	size_t i = taken_after(r, start);
	struct xw_run run = {start, len};

	if (i > 0 && r->taken.v[i - 1].start + r->taken.v[i - 1].len == start) {
		r->taken.v[i - 1].len += len;
	} else {
		if (xw_vec_push(&r->taken, run))
			return XW_ERR_NOMEM;
		memmove(&r->taken.v[i + 1], &r->taken.v[i], (r->taken.n - 1 - i) * sizeof(run));
		r->taken.v[i++] = run;
	}
	if (i < r->taken.n && r->taken.v[i].start == start + len) {
		r->taken.v[i - 1].len += r->taken.v[i].len;
		memmove(&r->taken.v[i], &r->taken.v[i + 1], (r->taken.n - 1 - i) * sizeof(run));
		r->taken.n--;
	}
	return 0;
}

static int range_init(struct range *r, const struct xw_geo *geo, uint32_t first, uint32_t groups)
{
	memset(r, 0, sizeof(*r));
	r->geo = geo;
	r->first = first;
	r->groups = groups;
	r->start = xw_geo_group_start(geo, first);
	r->end = first + (uint64_t)groups >= geo->groups ? geo->blocks
							 : xw_geo_group_start(geo, first + groups);
	/* all from here on: the search for one object may go past the end of the range */
	for (size_t i = 0; i < geo->n_bad; i++) {
		if (geo->bad[i] >= r->start && take(r, geo->bad[i], 1))
			return XW_ERR_NOMEM;
	}
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

static int no_room(const struct xw_geo *geo, uint32_t group, struct xw_diag *diag)
{
	return xw_fail(diag, XW_ERR_LIMIT,
		       geo->n_bad
			       ? "group %u: no room for its bitmaps and inode table beside the bad "
				 "blocks"
			       : "group %u: no room for its bitmaps and inode table; try fewer "
				 "inodes",
		       group);
}

static int place(struct range *r, struct xw_geo_map *map, enum xw_meta_kind kind, uint32_t i,
		 xw_blk want, xw_blk *out, struct xw_diag *diag)
{
	uint32_t unit = map->unit[kind];

	if (!choose(r, want, i, unit, out) || (r->geo->n_bad && *out + unit > r->end))
		return no_room(r->geo, r->first + i, diag);
	if (take(r, *out, unit) || xw_map_add(map, kind, i, 1, *out - r->start))
		return xw_fail_nomem(diag, "group layout");
	return 0;
}

/* Complete the map, or return err with the reason. */
static int finish(struct range *r, struct xw_geo_map *map, int err, struct xw_diag *diag)
{
	if (!err && xw_map_seal(map))
		err = xw_fail_nomem(diag, "group layout");
	xw_vec_free(&r->taken);
	if (err)
		xw_map_free(map);
	return err;
}

int xw_geo_flex_map(const struct xw_geo *geo, uint32_t first, struct xw_geo_map *map,
		    struct xw_diag *diag)
{
	struct range r;
	xw_blk at[XW_META_KINDS] = {0};
	int err = 0;

	xw_map_init(map, geo, first);
	if (range_init(&r, geo, first, XW_MIN(geo->flex_size, geo->groups - first)))
		err = xw_fail_nomem(diag, "group layout");
	for (uint32_t i = 0; i < r.groups && !err; i++) {
		for (int k = 0; k < XW_META_KINDS && !err; k++) {
			xw_blk want = at[k] ? at[k] + map->unit[k] : 0;

			if (!at[k] && k)
				want = at[k - 1] + (r.groups > 1 ? r.groups : geo->flex_size);
			err = place(&r, map, (enum xw_meta_kind)k, i, want, &at[k], diag);
		}
	}
	return finish(&r, map, err, diag);
}

int xw_geo_packed_map(const struct xw_geo *geo, struct xw_geo_map *map, struct xw_diag *diag)
{
	struct range r;
	xw_blk at = geo->first_data_block;
	int err = 0;

	xw_map_init(map, geo, 0);
	if (range_init(&r, geo, 0, geo->groups))
		err = xw_fail_nomem(diag, "group layout");
	for (int k = 0; k < XW_META_KINDS && !err; k++) {
		for (uint32_t i = 0; i < r.groups && !err; i++) {
			if (!find_free(&r, at, r.end, map->unit[k], &at))
				err = no_room(geo, i, diag);
			else if (xw_map_add(map, (enum xw_meta_kind)k, i, 1, at - r.start))
				err = xw_fail_nomem(diag, "group layout");
			at += map->unit[k];
		}
	}
	return finish(&r, map, err, diag);
}

static int add_map(struct xw_geo *geo, size_t *cap, uint32_t first, uint32_t name,
		   struct xw_diag *diag)
{
	struct xw_geo_map map;
	int err = xw_geo_flex_map(geo, first, &map, diag);

	if (err)
		return err;
	map.first_group = name;
	if (xw_vec_reserve_((void **)&geo->maps, cap, geo->n_maps + 1, sizeof(*geo->maps))) {
		xw_map_free(&map);
		return xw_fail_nomem(diag, "group layout");
	}
	geo->maps[geo->n_maps++] = map;
	return 0;
}

/* The first group from here on that makes its flex group differ from others; geo->groups: none. */
static uint32_t next_special(const struct xw_geo *geo, uint32_t group)
{
	uint32_t super = xw_geo_dense(geo) ? geo->groups : xw_geo_next_super(geo, group);
	xw_blk bad = xw_geo_next_bad(geo, xw_geo_group_start(geo, group));

	return bad == XW_BLK_MAX ? super : XW_MIN(super, xw_geo_group_of(geo, bad));
}

/*
 * The first n_common maps serve every flex group without a map of its own: just one, or with
 * meta_bg as many as a meta group has flex groups, since its descriptors lie in three of its
 * groups. The others, ascending, are those of flex groups that contain a superblock copy or a bad
 * block, and the last one, which may be short. Without sparse_super every group has a copy, and all
 * flex groups but the last are equal again.
 */
static int common_maps(struct xw_geo *geo, size_t *cap, uint32_t last, struct xw_diag *diag)
{
	uint32_t mask = geo->flex_size - 1, kinds = 1;
	int err = 0;

	if (xw_geo_meta_bg(geo) && geo->desc_per_block > geo->flex_size)
		kinds = geo->desc_per_block / geo->flex_size;
	for (uint32_t k = 0; k < kinds && !err; k++) {
		uint64_t g = (uint64_t)k * geo->flex_size;

		while (g < last && (next_special(geo, (uint32_t)g) & ~mask) == g)
			g += (uint64_t)kinds * geo->flex_size;
		err = add_map(geo, cap, g < last ? (uint32_t)g : last, XW_MAP_ANY, diag);
	}
	geo->n_common = kinds;
	return err;
}

int xw_geo_flex_maps(struct xw_geo *geo, struct xw_diag *diag)
{
	uint32_t mask = geo->flex_size - 1, last = (geo->groups - 1) & ~mask;
	size_t cap = 0;
	int err;

	if (geo->packed_meta) {
		if (xw_vec_reserve_((void **)&geo->maps, &cap, 1, sizeof(*geo->maps)))
			return xw_fail_nomem(diag, "group layout");
		err = xw_geo_packed_map(geo, &geo->maps[0], diag);
		geo->n_maps = !err;
		return err;
	}
	err = common_maps(geo, &cap, last, diag);
	for (uint64_t g = 0; !err && g < last; g = (g & ~(uint64_t)mask) + geo->flex_size) {
		g = next_special(geo, (uint32_t)g);
		if (g < last)
			err = add_map(geo, &cap, (uint32_t)g & ~mask, (uint32_t)g & ~mask, diag);
	}
	return err ? err : add_map(geo, &cap, last, last, diag);
}

/* Map of a group that has bad blocks: each object at its regular place, or the next good one. */
static int own_map(const struct xw_geo *geo, uint32_t group, struct xw_geo_map *map,
		   struct xw_diag *diag)
{
	struct xw_group_place p;
	struct range r;
	xw_blk want[XW_META_KINDS], at;
	int err = 0;

	xw_geo_group(geo, group, &p);
	want[XW_META_BLOCK_BITMAP] = p.block_bitmap;
	want[XW_META_INODE_BITMAP] = p.inode_bitmap;
	want[XW_META_INODE_TABLE] = p.inode_table;
	xw_map_init(map, geo, group);
	if (range_init(&r, geo, group, 1))
		err = xw_fail_nomem(diag, "group layout");
	for (int k = 0; k < XW_META_KINDS && !err; k++) {
		if (!find_free(&r, want[k], r.end, map->unit[k], &at) &&
		    !find_free(&r, r.start, r.end, map->unit[k], &at))
			err = no_room(geo, group, diag);
		else if (take(&r, at, map->unit[k]) ||
			 xw_map_add(map, (enum xw_meta_kind)k, 0, 1, at - r.start))
			err = xw_fail_nomem(diag, "group layout");
	}
	return finish(&r, map, err, diag);
}

int xw_geo_own_maps(struct xw_geo *geo, struct xw_diag *diag)
{
	xw_blk bad = xw_geo_next_bad(geo, 0);
	size_t cap = 0;
	int err = 0;

	while (bad != XW_BLK_MAX && !err) {
		uint32_t group = xw_geo_group_of(geo, bad);
		struct xw_geo_map map;

		err = own_map(geo, group, &map, diag);
		if (!err && xw_vec_reserve_((void **)&geo->maps, &cap, geo->n_maps + 1,
					    sizeof(*geo->maps))) {
			xw_map_free(&map);
			err = xw_fail_nomem(diag, "group layout");
		}
		if (err)
			break;
		geo->maps[geo->n_maps++] = map;
		bad = xw_geo_next_bad(geo, xw_geo_group_start(geo, group) + geo->blocks_per_group);
	}
	return err;
}
