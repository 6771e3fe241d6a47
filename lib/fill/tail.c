// SPDX-License-Identifier: MIT
/*
 * SIZE not given: converts from the geometry used for streaming to the final one.
 *
 * For every block, a geometry tells whether it is metadata at a fixed place. So the conversion is
 * the difference of two bitmaps per group, whatever the cause: unneeded descriptor blocks, reserves
 * that shrink or move, tables after the data. The allocator contains the fixed metadata of the old
 * geometry plus all allocated blocks; afterwards, that of the new geometry plus the same blocks.
 * The orphan file is allocated last, since its size depends on that of the filesystem. With
 * bigalloc, bits are clusters.
 */
#include "config.h"

#include "fill/builder.h"

#include <stdlib.h>

#include "base/auto.h"

static bool bit(const uint8_t *bits, uint32_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

/* First block >= i of the group, below n, in which the two bitmaps differ. */
static uint32_t next_change(const uint8_t *was, const uint8_t *is, uint32_t i, uint32_t n)
{
	while (i < n && bit(was, i) == bit(is, i))
		i += i % 8 == 0 && was[i / 8] == is[i / 8] ? 8 : 1;
	return XW_MIN(i, n);
}

/*
 * Release and claim the difference between the two geometries of one group. was, is: buffers for a
 * bitmap each.
 */
static int update_group(struct xw_builder *b, const struct xw_geo *old, uint32_t group,
			uint8_t *was, uint8_t *is)
{
	const uint32_t bits = b->geo.cluster_bits;
	struct xw_group_place p;
	uint32_t from, to, end;
	int rc = 0;

	xw_geo_group(&b->geo, group, &p);
	end = p.blocks >> bits;
	xw_geo_group_bitmap(old, group, was);
	xw_geo_group_bitmap(&b->geo, group, is);
	for (from = 0; !rc; from = to) {
		xw_blk start;
		uint64_t len;
		bool claim;

		from = next_change(was, is, from, end);
		if (from == end)
			break;
		claim = bit(is, from);
		for (to = from + 1; to < end && bit(was, to) != claim; to++)
			if (bit(is, to) != claim)
				break;
		start = p.start + ((xw_blk)from << bits);
		len = (uint64_t)(to - from) << bits;
		rc = claim ? xw_space_claim(b->place.space, start, len)
			   : xw_space_release(b->place.space, start, len);
	}
	return rc;
}

/* b->geo is the new geometry; the first `groups` groups may differ from the old one. */
static int update_groups(struct xw_builder *b, const struct xw_geo *old, uint32_t groups)
{
	size_t bytes = b->geo.blocks_per_group / 8;
	auto_free uint8_t *bits = malloc(2 * bytes);
	int rc = 0;

	if (!bits)
		return xw_fail_nomem(b->place.enc.diag, "group bitmaps");
	for (uint32_t g = 0; g < groups && !rc; g++)
		rc = update_group(b, old, g, bits, bits + bytes);
	return rc;
}

static int claim_runs(struct xw_builder *b, const struct xw_run *runs, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = xw_space_claim(b->place.space, runs[i].start, runs[i].len);
	return rc;
}

/* Read group g's bitmap of the allocator, without the blocks that are fixed in the geometry. */
static int allocated_bits(struct xw_space *space, const struct xw_geo *geo, uint32_t g,
			  uint8_t *bits, uint8_t *fixed)
{
	int rc = xw_space_group_bitmap(space, g, bits);

	if (rc)
		return rc;
	xw_geo_group_bitmap(geo, g, fixed);
	for (size_t i = 0; i < (geo->blocks_per_group >> geo->cluster_bits) / 8; i++)
		bits[i] &= (uint8_t)~fixed[i];
	return 0;
}

/* End of the last allocated block. */
static int used_end(struct xw_builder *b, xw_blk *end)
{
	size_t bytes = b->geo.blocks_per_group / 8;
	auto_free uint8_t *bits = malloc(2 * bytes);

	*end = b->geo.first_data_block;
	if (!bits)
		return xw_fail_nomem(b->place.enc.diag, "group bitmaps");
	for (uint32_t g = b->geo.groups; g-- > 0;) {
		struct xw_group_place p;
		int rc;

		if (!xw_space_group_touched(b->place.space, g))
			continue;
		rc = allocated_bits(b->place.space, &b->geo, g, bits, bits + bytes);
		if (rc)
			return rc;
		xw_geo_group(&b->geo, g, &p);
		for (uint32_t i = p.blocks >> b->geo.cluster_bits; i-- > 0;) {
			if (!bit(bits, i))
				continue;
			*end = p.start + (((xw_blk)i + 1) << b->geo.cluster_bits);
			return 0;
		}
	}
	return 0;
}

static int tail_request(struct xw_builder *b, struct xw_tail_req *req)
{
	uint64_t unused = 0;

	for (uint32_t g = 0; g < b->geo.groups; g++) {
		uint32_t n, longest, fragments, first;

		xw_geo_group_summary(&b->geo, g, &n, &longest, &fragments, &first);
		unused += (uint64_t)n << b->geo.cluster_bits;
	}
	req->used_blocks = unused - xw_space_free_blocks(b->place.space);
	req->inodes = b->place.last_ino;
	req->directories = b->place.counts.directories;
	req->growth = b->place.counts.growth;
	return used_end(b, &req->used_end);
}

int xw_tail_release_reserves(struct xw_builder *b)
{
	struct xw_geo old = b->geo, shrunk;
	struct xw_tail_req req;
	int rc;

	if (b->geo.kind != XW_GEO_STREAM || b->place.missing ||
	    xw_has_incompat(&b->geo.features, XW_INCOMPAT_FLEX_BG))
		return 0;
	rc = tail_request(b, &req);
	if (!rc)
		rc = xw_geo_shrink(&old, b->params, &req, &shrunk, b->place.enc.diag);
	if (rc)
		return rc;
	b->geo = shrunk;
	b->place.gap = b->geo.first_data_block;
	b->place.gaps_end = req.used_end;
	return update_groups(b, &old, shrunk.shrunk_groups);
}

/* Copy the journal's runs from the tail, followed by those of its map blocks. */
static int journal_from_tail(struct xw_builder *b)
{
	struct xw_geo *geo = &b->geo;
	struct xw_binode *n = &b->journal;
	uint64_t need;

	if (xw_binode_set_runs(n, geo->journal_runs, geo->n_journal_runs))
		return xw_fail_nomem(b->place.enc.diag, "journal");
	n->size = geo->journal_blocks * geo->block_size;
	if (!geo->journal_blocks)
		b->place.by_ino[XW_INO_JOURNAL] = NULL;
	need = xw_map_blocks(&b->place.enc, n);
	if (need != geo->journal_map_blocks)
		return xw_fail(b->place.enc.diag, XW_ERR_INTERNAL,
			       "journal of %zu runs needs %llu map blocks, not %llu",
			       geo->n_journal_runs, (unsigned long long)need,
			       (unsigned long long)geo->journal_map_blocks);
	if (!need)
		return 0;
	n->map = calloc(1, sizeof(*n->map));
	if (!n->map)
		return xw_fail_nomem(b->place.enc.diag, "journal map");
	n->map->runs = geo->journal_map_runs;
	n->map->n_runs = geo->n_journal_map_runs;
	n->map->blocks = (uint32_t)need;
	geo->journal_map_runs = NULL;
	geo->n_journal_map_runs = 0;
	return xw_place_item(&b->place, XW_ITEM_MAP, n->map->runs[0].start, (uintptr_t)n);
}

/*
 * The size of the orphan file depends on that of the filesystem. It is placed with the minimum size
 * first, then with the size that the resulting layout requires, until the size no longer grows.
 * Without a journal there is no orphan file.
 */
static int plan_tail(struct xw_builder *b, struct xw_geo *tail)
{
	struct xw_tail_req req;
	struct xw_geo least = b->geo;
	uint64_t orphan, want;
	int rc = tail_request(b, &req);

	least.blocks = req.used_end;
	want = xw_geo_orphan_blocks(&least, b->params);
	while (!rc) {
		struct xw_hidden_mark mark;

		orphan = want;
		rc = xw_orphan_place(b, orphan, &mark);
		if (!rc)
			rc = tail_request(b, &req);
		if (!rc)
			rc = xw_geo_tail(&b->geo, b->params, &req, tail, b->place.enc.diag);
		if (rc)
			return rc;
		want = xw_geo_orphan_blocks(tail, b->params);
		if (want == orphan)
			return 0;
		xw_geo_free(tail);
		rc = xw_orphan_unplace(b, &mark);
	}
	return rc;
}

static int geo_summary(void *arg, uint32_t group, struct xw_group_summary *out, bool *known)
{
	*known = true;
	xw_geo_group_summary(arg, group, &out->free, &out->longest, &out->fragments,
			     &out->first_free);
	return 0;
}

static int geo_bitmap(void *arg, uint32_t group, uint8_t *bits)
{
	xw_geo_group_bitmap(arg, group, bits);
	return 0;
}

/* Claim in the new allocator what is allocated in the only group of the old geometry. */
static int claim_allocated(struct xw_builder *b, const struct xw_geo *old, struct xw_space *from)
{
	const size_t bytes = old->blocks_per_group / 8;
	auto_free uint8_t *bits = malloc(2 * bytes);
	uint32_t i, end;
	int rc;

	if (!bits)
		return xw_fail_nomem(b->place.enc.diag, "group bitmaps");
	rc = allocated_bits(from, old, 0, bits, bits + bytes);
	for (i = 0; i < old->blocks_per_group && !rc; i = end) {
		const bool allocated = bit(bits, i);

		for (end = i + 1; end < old->blocks_per_group && bit(bits, end) == allocated; end++)
			;
		if (allocated)
			rc = xw_space_claim(b->place.space, old->first_data_block + (xw_blk)i,
					    end - i);
	}
	return rc;
}

/* The number of blocks per group changes (xw_geo_tail): restart the allocator. */
static int restart_space(struct xw_builder *b, const struct xw_geo *old)
{
	const struct xw_space_params p = {
		.blocks = b->geo.blocks,
		.first_data_block = b->geo.first_data_block,
		.blocks_per_group = b->geo.blocks_per_group,
		.groups = b->geo.groups,
		.optimize_scan = -1,
		.linear_limit = -1,
		.order2_req = -1,
		.stream_req = -1,
		.min_to_scan = -1,
		.max_to_scan = -1,
		.best_avail_max_trim_order = -1,
	};
	const struct xw_space_source src = {
		.summary = geo_summary, .bitmap = geo_bitmap, .arg = &b->geo};
	struct xw_space *from = b->place.space, *to;
	int rc = xw_space_new(&p, &src, b->place.enc.diag, &to);

	if (rc)
		return rc;
	b->place.space = to;
	return claim_allocated(b, old, from);
}

/* Move the allocator to b->geo, the final geometry. */
static int convert_space(struct xw_builder *b, const struct xw_geo *old)
{
	int rc;

	if (b->geo.blocks_per_group != old->blocks_per_group) {
		rc = restart_space(b, old);
	} else {
		rc = xw_space_truncate(b->place.space, b->geo.blocks);
		if (!rc)
			rc = update_groups(b, old, b->geo.groups);
	}
	if (!rc)
		rc = claim_runs(b, b->geo.journal_runs, b->geo.n_journal_runs);
	return rc ? rc : claim_runs(b, b->geo.journal_map_runs, b->geo.n_journal_map_runs);
}

int xw_tail_plan(struct xw_builder *b)
{
	auto_end(xw_geo_free) struct xw_geo old = {0};
	struct xw_geo tail;
	int rc = plan_tail(b, &tail);

	if (rc)
		return rc;
	if (!xw_geo_orphan_blocks(&tail, b->params))
		xw_orphan_drop(b);
	old = b->geo;
	b->geo = tail;
	rc = convert_space(b, &old);
	if (rc && rc != XW_ERR_NOMEM)
		xw_fail(b->place.enc.diag, XW_ERR_INTERNAL, "tail of the image overlaps its data");
	if (rc)
		return rc;
	rc = journal_from_tail(b);
	if (!rc)
		xw_plan_super(b->params, &b->geo, &b->place.enc.sb);
	return rc;
}
