// SPDX-License-Identifier: MIT
/*
 * Correction of leaf extents that contradict each other, the parent or the size: which extent is
 * damaged, and where it belongs.
 */
#include "config.h"

#include "walk/map_judge.h"

/* The end of the space for the current entry; *next: the next entry (may have length 0). */
static uint64_t limit_of(const struct xw_walk_map *w, struct xw_extent *next)
{
	const struct xw_walk_map_level *at = &w->at[w->level];

	*next = (struct xw_extent){0};
	if (at->index < at->count) {
		xw_extent_leaf_decode(xw_walk_map_node(w, w->level), at->index, next);
		return next->len && xw_walk_can_point_to(w->sb, next->pblk, next->len) ? next->lblk
										       : 0;
	}
	return at->end < XW_WALK_LBLK_END ? at->end : w->size;
}

/* The end of the space for the next entry. */
static uint64_t next_limit(const struct xw_walk_map *w)
{
	const struct xw_walk_map_level *at = &w->at[w->level];
	struct xw_extent then;

	if (at->index + 1 >= at->count)
		return at->end < XW_WALK_LBLK_END ? at->end : w->size;
	xw_extent_leaf_decode(xw_walk_map_node(w, w->level), at->index + 1, &then);
	return then.lblk;
}

/* Does `next` exactly fill the space from lblk to the entry after it, or to the end? */
static bool next_belongs(const struct xw_walk_map *w, const struct xw_extent *next, uint64_t lblk)
{
	const uint64_t limit = next_limit(w);

	return next->len && limit > lblk && limit - lblk == next->len;
}

/*
 * Find the only logical block in [from, limit) that differs from lblk by a single bit; of several
 * candidates, the one that ends at the limit.
 */
static bool one_bit_away(uint64_t lblk, uint64_t from, uint64_t limit, uint64_t len,
			 uint64_t *place)
{
	unsigned n = 0;

	for (unsigned bit = 0; bit < 32; bit++) {
		const uint64_t at = lblk ^ UINT64_C(1) << bit;

		if (at < from || at + len > limit)
			continue;
		*place = at;
		if (at + len == limit)
			return true;
		n++;
	}
	return n == 1;
}

/* Would the size, with a single bit flipped, match the end of the extent x? */
static bool size_explains(const struct xw_walk_map *w, const struct xw_extent *x)
{
	for (unsigned bit = 0; bit < 63; bit++)
		if (xw_div_up(w->bytes ^ UINT64_C(1) << bit, w->block_size) ==
		    (uint64_t)x->lblk + x->len)
			return true;
	return false;
}

/* Is x a written extent past a non-zero size? */
static bool is_past(const struct xw_walk_map *w, const struct xw_extent *x)
{
	return w->size && x->lblk >= w->size && !x->unwritten && !w->tail;
}

/*
 * Find a likely place for x in a gap longer than x: one that differs from the logical block of x by
 * a single bit, unless the same holds for the next extent. Without checksums this is not sufficient
 * for an extent that overlaps the previous one. For a last extent so far past the size that the
 * file would be larger than the filesystem, the size determines the place: few files start or end
 * with a hole.
 */
static bool has_likely_place(const struct xw_walk_map *w, const struct xw_extent *x,
			     const struct xw_extent *next, uint64_t limit, uint64_t *place)
{
	const struct xw_walk_map_level *at = &w->at[w->level];
	const uint64_t end = (uint64_t)x->lblk + x->len;
	const bool last = !next->len && at->end >= XW_WALK_LBLK_END;
	const bool near = (x->lblk >= w->next || xw_super_has_csum(w->sb)) &&
			  one_bit_away(x->lblk, w->next, limit, x->len, place);
	uint64_t other;

	if (next->len)
		return near && (x->lblk < w->next || is_past(w, x) ||
				!one_bit_away(next->lblk, end, next_limit(w), next->len, &other));
	if (!last)
		return near && xw_walk_map_next_agrees(w, w->level);
	if (x->lblk < w->next)
		return near;
	if (!near)
		*place = w->next ? limit - x->len : 0;
	return x->lblk >= 2 * limit &&
	       (x->lblk >= w->sb->blocks_count || (near && !size_explains(w, x)));
}

/*
 * The logical block of the extent x contradicts its neighbors: x starts before the end of the
 * previous extent, or ends past the start of the next one (the last extent: past the size). x
 * belongs at the start of the node according to the parent, if it fits there, or in the gap between
 * its neighbors if that has exactly its length. In a directory, which has no holes, a larger gap is
 * sufficient.
 */
bool xw_walk_map_has_place(const struct xw_walk_map *w, const struct xw_extent *x, uint64_t *place)
{
	const struct xw_walk_map_level *at = &w->at[w->level];
	const uint64_t end = (uint64_t)x->lblk + x->len, from = w->next;
	struct xw_extent next;
	const uint64_t limit = limit_of(w, &next);
	const bool last = !next.len && at->end >= XW_WALK_LBLK_END;

	if (!x->len || !xw_walk_can_point_to(w->sb, x->pblk, x->len) || limit < from + x->len ||
	    (x->lblk >= from && end <= limit))
		return false;
	if (last && !w->dense && x->lblk >= from && (x->unwritten || w->tail || x->lblk < limit))
		return false; /* blocks past the size, or a wrong size */
	if (x->lblk >= from && next_belongs(w, &next, end))
		return false;
	*place = from;
	if (w->level && at->index == 1 && at->lblk >= from && at->lblk + x->len <= limit)
		*place = at->lblk;
	else if (limit - from != x->len && !w->dense)
		return has_likely_place(w, x, &next, limit, place);
	return true;
}

/*
 * x is truncated or skipped if two later entries contradict it, or a single one that starts in the
 * physical blocks of x or ends exactly at the next entry or at the end of the contents, or if x
 * leaves the filesystem.
 */
uint32_t xw_walk_map_usable_len(const struct xw_walk_map *w, const struct xw_extent *x)
{
	const struct xw_walk_map_level *at = &w->at[w->level];
	const uint64_t end = (uint64_t)x->lblk + x->len;
	struct xw_extent next, then = {0};
	bool outvoted, within;
	uint32_t len;

	/*
	 * Skip x only if it is past both the parent's next entry and the size: one may be damaged.
	 */
	if (at->index >= at->count)
		return at->end < XW_WALK_LBLK_END && x->lblk >= at->end && x->lblk >= w->size
			       ? 0
			       : x->len;
	xw_extent_leaf_decode(xw_walk_map_node(w, w->level), at->index, &next);
	if (!next.len || next.lblk < w->next || next.lblk >= end ||
	    !xw_walk_can_point_to(w->sb, next.pblk, next.len))
		return x->len;
	if (at->index + 1 < at->count)
		xw_extent_leaf_decode(xw_walk_map_node(w, w->level), at->index + 1, &then);
	outvoted = then.len && then.lblk < end && then.lblk >= (uint64_t)next.lblk + next.len;
	/* A single next entry within the size is sufficient if x is past the size. */
	outvoted = outvoted || (is_past(w, x) && next.lblk < x->lblk &&
				(uint64_t)next.lblk + next.len <= w->size);
	if (next.lblk <= x->lblk)
		return outvoted ? 0 : x->len;
	within = next.pblk > x->pblk && next.pblk - x->pblk < x->len;
	outvoted = outvoted || (next_belongs(w, &next, next.lblk) && !next_belongs(w, &next, end));
	if (!outvoted && !within && xw_walk_can_point_to(w->sb, x->pblk, x->len))
		return x->len;
	len = next.lblk - x->lblk;
	return within ? (uint32_t)XW_MIN((uint64_t)len, next.pblk - x->pblk) : len;
}
