/* SPDX-License-Identifier: MIT */
/*
 * One stream of unknown length, its tail, and everything that must hold for the two. "Data" here is
 * everything before used_end that is not a head or a reserve of the stream geometry.
 */
#ifndef XW_TESTS_TAIL_RUN_H
#define XW_TESTS_TAIL_RUN_H

#include "plan_util.h"

struct run_of {
	struct xw_mkfs_params p;
	struct xw_geo stream, geo;
	struct xw_tail_req req;
};

static inline void done(struct run_of *t)
{
	xw_geo_free(&t->geo);
	xw_geo_free(&t->stream);
	xw_params_free(&t->p);
}

static inline uint64_t group_start(const struct xw_geo *geo, uint64_t group)
{
	return geo->first_data_block + group * geo->blocks_per_group;
}

static inline bool is_own(const struct xw_geo *geo)
{
	return !xw_has_incompat(&geo->features, XW_INCOMPAT_FLEX_BG);
}

static inline bool bit(const uint8_t *bits, uint64_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

/* Blocks before `end` that the stream keeps from data. */
static inline uint64_t kept_before(const struct xw_geo *stream, uint64_t end)
{
	uint8_t *bits = malloc(stream->blocks_per_group / 8);
	uint64_t n = 0;

	for (uint32_t g = 0; g < stream->groups && group_start(stream, g) < end; g++) {
		xw_geo_group_bitmap(stream, g, bits);
		for (uint64_t i = 0;
		     i < XW_MIN(stream->blocks_per_group, end - group_start(stream, g)); i++)
			n += bit(bits, i);
	}
	free(bits);
	return n;
}

/* The end moved to where data can end: in front of a reserve, behind a head. */
static inline uint64_t data_end(const struct xw_geo *stream, uint64_t end)
{
	uint64_t group = (end - 1 - stream->first_data_block) / stream->blocks_per_group;
	struct xw_group_place place;

	if (group >= stream->groups)
		return end;
	xw_geo_group(stream, (uint32_t)group, &place);
	if (is_own(stream))
		end = XW_MIN(end, place.block_bitmap);
	return XW_MAX(end, place.start + place.head + (place.head ? 1 : 0));
}

/*
 * Groups became smaller: all data is in the first, behind what a stream of such groups would have
 * kept free. That stream is what the rest is checked against.
 */
static inline void regroup(struct run_of *t)
{
	const struct xw_geo old = t->stream;

	ck_assert_uint_lt(t->geo.blocks_per_group, old.blocks_per_group);
	ck_assert_uint_eq(t->p.blocks_per_group, 0);
	t->p.blocks_per_group = t->geo.blocks_per_group;
	ck_assert_int_eq(xw_geo_stream(&t->p, &t->stream, NULL), 0);
	t->p.blocks_per_group = 0;
	ck_assert_uint_le(t->req.used_end, group_start(&t->geo, 1));
	ck_assert_uint_le(t->stream.head_blocks, old.head_blocks);
}

/*
 * A stream that used everything up to used_end but for `gaps` blocks, and `more` blocks of metadata
 * behind it, into which reserves shrank before when more is not 0.
 */
static inline int run_more(struct run_of *t, const char *options, uint64_t used_end, uint64_t gaps,
			   uint64_t inodes, uint64_t more, struct xw_diag *diag)
{
	int err = plan_params(&t->p, options, 0, diag);
	struct xw_geo shrunk;
	uint64_t room;

	memset(&t->stream, 0, sizeof(t->stream));
	memset(&t->geo, 0, sizeof(t->geo));
	memset(&t->req, 0, sizeof(t->req));
	if (!err)
		err = xw_geo_stream(&t->p, &t->stream, diag);
	if (err)
		return err;
	used_end =
		XW_MAX(used_end, (uint64_t)t->stream.first_data_block + t->stream.head_blocks + 5);
	t->req.used_end = data_end(&t->stream, used_end);
	t->req.inodes = XW_MAX(inodes, 11);
	t->req.used_blocks = UINT64_MAX;
	if (more) {
		err = xw_geo_shrink(&t->stream, &t->p, &t->req, &shrunk, diag);
		if (err)
			return err;
		t->stream = shrunk;
		t->req.used_end = data_end(&t->stream, t->req.used_end + more - 1);
	}
	room = t->req.used_end - t->stream.first_data_block;
	if (t->req.used_end <= t->stream.blocks)
		room -= kept_before(&t->stream, t->req.used_end);
	t->req.used_blocks = room - XW_MIN(gaps, room - 5);
	err = xw_geo_tail(&t->stream, &t->p, &t->req, &t->geo, diag);
	if (!err && t->geo.blocks_per_group != t->stream.blocks_per_group)
		regroup(t);
	return err;
}

static inline int run(struct run_of *t, const char *options, uint64_t used_end, uint64_t gaps,
		      uint64_t inodes, struct xw_diag *diag)
{
	return run_more(t, options, used_end, gaps, inodes, 0, diag);
}

static inline uint64_t free_blocks(const struct run_of *t)
{
	return t->geo.blocks - t->geo.overhead - t->geo.journal_map_blocks - t->req.used_blocks;
}

/* What Linux lets files have of them: without 2 %, at most 4096 blocks, where there are extents. */
static inline uint64_t usable_blocks(const struct run_of *t)
{
	uint64_t kept = xw_has_incompat(&t->geo.features, XW_INCOMPAT_EXTENTS)
				? XW_MIN(t->geo.blocks * 2 / 100, 4096)
				: 0;

	return free_blocks(t) > kept ? free_blocks(t) - kept : 0;
}

/* What was free for data and lies before the end of it belongs to no metadata now. */
static inline void check_data(const struct run_of *t, const char *o)
{
	uint32_t bpg = t->geo.blocks_per_group;
	uint8_t *was = malloc(bpg / 8), *is = malloc(bpg / 8);

	for (uint32_t g = 0; group_start(&t->geo, g) < t->req.used_end; g++) {
		xw_geo_group_bitmap(&t->stream, g, was);
		xw_geo_group_bitmap(&t->geo, g, is);
		for (uint64_t i = 0; i < bpg && group_start(&t->geo, g) + i < t->req.used_end; i++)
			hold(bit(was, i) || !bit(is, i), "%s: group %u: %u is data", o, g,
			     (unsigned)i);
	}
	free(was);
	free(is);
}

/* Without flex_bg: what Linux refuses to mount otherwise. */
static inline void check_own(const struct xw_geo *geo, const char *o)
{
	for (uint32_t g = 0; g < geo->groups; g++) {
		struct xw_group_place p;
		uint64_t end;

		xw_geo_group(geo, g, &p);
		end = p.start + p.blocks;
		hold(p.block_bitmap >= p.start + p.head && p.block_bitmap < end &&
			     p.inode_bitmap >= p.start + p.head && p.inode_bitmap < end &&
			     p.inode_table >= p.start + p.head &&
			     p.inode_table + geo->itable_blocks <= end,
		     "%s: group %u has %llu %llu %llu + %u", o, g,
		     (unsigned long long)p.block_bitmap, (unsigned long long)p.inode_bitmap,
		     (unsigned long long)p.inode_table, geo->itable_blocks);
	}
}

static inline uint64_t check_runs(const struct run_of *t, const struct xw_run *runs, size_t n,
				  const char *what, struct owned *all)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		hold(runs[i].len > 0 && runs[i].start >= (i ? runs[i - 1].start : t->req.used_end),
		     "%s: run %zu", what, i);
		owned_add(all, runs[i].start, runs[i].len, what, (uint32_t)i);
		sum += runs[i].len;
	}
	return sum;
}

/* Everything that must hold for any stream. */
static inline void check(const struct run_of *t, const char *o)
{
	const struct xw_geo *geo = &t->geo;
	uint64_t inodes = (uint64_t)geo->inodes_per_group * geo->groups, journal = 0, sum;
	uint64_t per_block = geo->block_size / geo->inode_size;
	struct xw_group_place last;
	struct owned all = {0};

	ck_assert_msg(geo->groups ==
			      xw_div_up(geo->blocks - geo->first_data_block, geo->blocks_per_group),
		      "%s: %u groups, %llu blocks", o, geo->groups,
		      (unsigned long long)geo->blocks);
	ck_assert_uint_le(geo->groups, t->stream.groups);
	ck_assert_uint_le(geo->blocks, t->stream.blocks);
	ck_assert_msg(inodes >= t->req.inodes && inodes >= t->p.inodes && inodes <= UINT32_MAX,
		      "%s: inodes", o);
	ck_assert_msg(geo->inodes_per_group % 8 == 0 && geo->inodes_per_group % per_block == 0,
		      "%s: ipg %u", o, geo->inodes_per_group);
	ck_assert_uint_le(geo->inodes_per_group, XW_MIN(8 * geo->block_size, 65535));
	ck_assert_uint_eq((uint64_t)geo->itable_blocks * per_block, geo->inodes_per_group);
	ck_assert_uint_eq(geo->desc_blocks, xw_div_up(geo->groups, geo->desc_per_block));
	ck_assert_uint_le(geo->head_blocks, t->stream.head_blocks);
	ck_assert_uint_le(geo->reserved_gdt, geo->block_size / 4);
	if (xw_has_compat(&geo->features, XW_COMPAT_RESIZE_INODE))
		ck_assert_uint_eq(geo->head_blocks, t->stream.head_blocks);
	else
		ck_assert_uint_eq(geo->reserved_gdt, 0);

	for (uint32_t g = 0; g < geo->groups; g++) {
		/* a head where data may be must be one that the stream stepped over */
		if (head_of(geo, g) &&
		    geo->first_data_block + (uint64_t)g * geo->blocks_per_group < t->req.used_end)
			hold(xw_geo_head(&t->stream, g) >= head_of(geo, g),
			     "%s: head of group %u is on data", o, g);
	}
	xw_geo_group(geo, geo->groups - 1, &last);
	ck_assert_uint_ge(last.blocks, XW_MAX(last.head, 1));

	check_data(t, o);
	if (is_own(geo))
		check_own(geo, o);
	owned_metadata(&all, geo);
	for (size_t i = 0; i < all.n && !is_own(geo); i++)
		hold(!strcmp(all.v[i].what, "head") || all.v[i].start >= t->req.used_end,
		     "%s: %s %u lies before the end of data", o, all.v[i].what, all.v[i].group);
	sum = owned_check(&all, geo, o);
	owned_check_bitmaps(&all, geo, o);
	ck_assert_uint_eq(sum, heads_of(geo) + (uint64_t)geo->groups * (2 + geo->itable_blocks));
	journal = check_runs(t, geo->journal_runs, geo->n_journal_runs, "journal", &all);
	ck_assert_uint_eq(journal, geo->journal_blocks);
	ck_assert_uint_eq(owned_check(&all, geo, o) + geo->first_data_block, geo->overhead);
	ck_assert_uint_eq(
		check_runs(t, geo->journal_map_runs, geo->n_journal_map_runs, "map", &all),
		geo->journal_map_blocks);
	ck_assert_uint_eq(geo->journal_map_blocks,
			  xw_journal_map_blocks(geo, geo->journal_runs, geo->n_journal_runs,
						geo->journal_blocks));
	owned_check(&all, geo, o);
	ck_assert_uint_eq(geo->tail_start, t->req.used_end);
	ck_assert_msg(geo->tail_end <= geo->blocks, "%s: tail ends at %llu of %llu", o,
		      (unsigned long long)geo->tail_end, (unsigned long long)geo->blocks);
	for (size_t i = 0; i < all.n; i++)
		hold(!strcmp(all.v[i].what, "head") ||
			     all.v[i].start + all.v[i].len <= geo->tail_end,
		     "%s: %s %u lies behind the tail", o, all.v[i].what, all.v[i].group);

	/* the journal is the one that a filesystem of this size gets */
	if (!xw_has_compat(&t->p.features, XW_COMPAT_HAS_JOURNAL))
		ck_assert_uint_eq(journal, 0);
	else if (t->p.journal_bytes)
		ck_assert_uint_eq(journal, t->p.journal_bytes / geo->block_size);
	else
		ck_assert_uint_eq(journal, xw_journal_default_blocks(geo->blocks, geo->block_size));
	ck_assert_uint_eq(xw_has_compat(&geo->features, XW_COMPAT_HAS_JOURNAL) != 0, journal > 0);

	/* room asked for */
	ck_assert_uint_ge(usable_blocks(t) * geo->block_size, t->p.free_bytes);
	ck_assert((double)usable_blocks(t) >= t->p.free_percent / 100 * (double)geo->blocks);
	ck_assert_uint_ge(inodes - t->req.inodes, t->p.free_inodes);
	free(all.v);
}

#endif
