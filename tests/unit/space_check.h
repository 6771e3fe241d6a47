/* SPDX-License-Identifier: MIT */
/* Checks of the allocator's invariants. */
#ifndef XW_TESTS_SPACE_CHECK_H
#define XW_TESTS_SPACE_CHECK_H

#include <stdlib.h>
#include <string.h>

#include "space/bits.h"
#include "space/priv.h"

/* The simplest possible count of a bitmap, used as reference. */
static inline void space_count_plainly(const uint8_t *bits, uint32_t size, struct xw_group *out)
{
	uint32_t run = 0;

	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < size; i++) {
		bool used = bits[i / 8] >> i % 8 & 1;

		if (!used && !out->free)
			out->first = (uint16_t)i;
		out->free = (uint16_t)(out->free + !used);
		out->fragments = (uint16_t)(out->fragments + (!used && !run));
		run = used ? 0 : run + 1;
		out->longest = (uint16_t)XW_MAX(out->longest, run);
		if (run == i + 1)
			out->head = (uint16_t)run;
		for (unsigned k = 0; k < XW_SPACE_ORDERS && run >= 1u << k; k++)
			if ((i + 1) % (1u << k) == 0)
				out->order = (uint8_t)XW_MAX(out->order, k + 1);
	}
	out->tail = (uint16_t)run;
	out->avg = out->fragments ? out->free / out->fragments : 0;
}

static inline const char *space_check_group(struct xw_space *s, uint32_t g, uint8_t *bits)
{
	struct xw_group before = s->groups[g], *gr = &s->groups[g], want;
	uint16_t buddies[XW_SPACE_ORDERS];

	if (xw_group_copy(s, g, bits))
		return "a bitmap cannot be loaded";
	space_count_plainly(bits, xw_group_size(s, g), &want);
	for (uint32_t i = xw_group_size(s, g); i < s->cpg; i++)
		if (!(bits[i / 8] >> i % 8 & 1))
			return "a block past the end is free";
	if (!(before.flags & XW_G_UNRESOLVED) &&
	    (before.free != want.free || before.longest != want.longest ||
	     before.first != want.first || before.fragments != want.fragments ||
	     before.avg != want.avg))
		return "a summary differs from its bitmap";
	if (!(before.flags & XW_G_UNRESOLVED) &&
	    (before.order < want.order || before.head < want.head || before.tail < want.tail))
		return "a bound is below the truth";
	if (gr->order != want.order || gr->head != want.head || gr->tail != want.tail ||
	    gr->longest != want.longest)
		return "a loaded group is not exact";
	if (gr->flags & (XW_G_UNRESOLVED | XW_G_INEXACT | XW_G_STALE | XW_G_STALE_ORDER))
		return "a loaded and settled group is marked inexact";
	if (gr->slot == XW_NO_SLOT)
		return gr->fragments > 1 ? "several runs and no bitmap" : NULL;
	if (gr->fragments <= 1)
		return "a bitmap that is not needed";
	xw_bits_buddies(xw_group_words(s, g), s->cpg, buddies);
	return memcmp(buddies, xw_group_buddies(s, g), sizeof(buddies))
		       ? "a buddy histogram differs from its bitmap"
		       : NULL;
}

/* Compare the whole index with one built from the groups. */
static inline const char *space_check_index(const struct xw_space *s)
{
	struct xw_space fresh = *s;
	const char *wrong = NULL;

	memset(fresh.level, 0, sizeof(fresh.level));
	if (xw_index_new(&fresh) || fresh.top != s->top)
		wrong = "the index cannot be rebuilt";
	for (unsigned l = 1; l <= s->top && !wrong; l++) {
		const size_t n = xw_div_up(s->ngroups, (uint64_t)1 << (XW_INDEX_SHIFT * l));

		if (memcmp(fresh.level[l], s->level[l], n * sizeof(*fresh.level[l])))
			wrong = "an index node is not the maximum of its children";
	}
	xw_index_free(&fresh);
	return wrong;
}

/*
 * Verify every invariant of space/priv.h, loading every group: NULL, or a description of the error.
 */
static inline const char *xw_space_check(struct xw_space *s)
{
	uint8_t *bits = malloc(s->cpg / 8);
	const char *wrong = NULL;
	uint64_t sum = 0;
	uint32_t loaded = 0;

	if (!bits)
		return "out of memory";
	xw_space_reindex(s);
	wrong = space_check_index(s);
	for (uint32_t g = 0; !wrong && g < s->ngroups; g++) {
		xw_space_trim(s);
		wrong = space_check_group(s, g, bits);
		sum += s->groups[g].free;
	}
	free(bits);
	for (uint32_t g = 0; g < s->ngroups; g++)
		loaded += s->groups[g].slot != XW_NO_SLOT;
	if (wrong)
		return wrong;
	if (s->unread)
		return "groups that nobody has read are miscounted";
	if (sum != s->free)
		return "the free blocks of the groups do not add up";
	if (loaded != s->loaded || s->slots.n - s->spare.n != loaded)
		return "slots in use are miscounted";
	return space_check_index(s);
}

#endif
