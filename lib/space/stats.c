/* SPDX-License-Identifier: MIT */
/* Inspection of the allocator: summaries, bitmaps, statistics, memory. */
#include "config.h"

#include "base/json.h"
#include "space/priv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t xw_cl_space_free_blocks(const struct xw_space *s)
{
	return s->free;
}

void xw_space_group(const struct xw_space *s, uint32_t group, struct xw_group_summary *out)
{
	struct xw_group gr = xw_group_exact(s, group);

	out->free = gr.free;
	out->fragments = gr.fragments;
	out->longest = gr.longest;
	out->first_free = gr.first;
}

int xw_space_group_bitmap(struct xw_space *s, uint32_t group, uint8_t *bits)
{
	xw_space_trim(s);
	return xw_group_copy(s, group, bits);
}

bool xw_space_group_touched(const struct xw_space *s, uint32_t group)
{
	return s->groups[group].flags & XW_G_TOUCHED;
}

void xw_space_stats(const struct xw_space *s, struct xw_space_stats *out)
{
	*out = s->st;
	if (s->src.prefetched)
		out->prefetched = *s->src.prefetched;
}

void xw_space_stats_add(struct xw_space_stats *sum, const struct xw_space *s)
{
	struct xw_space_stats st;
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)&st;

	static_assert(sizeof(st) % sizeof(uint64_t) == 0, "counters only");
	xw_space_stats(s, &st);
	for (size_t i = 0; i < sizeof(st) / sizeof(uint64_t); i++)
		to[i] += from[i];
}

static void report_criterion(const struct xw_cr_stats *cr, enum xw_criteria c,
			     const struct xw_stat_sink *to)
{
	char name[32];

	snprintf(name, sizeof(name), "cr_%s_stats", xw_criteria_kernel_name(c));
	to->open(to->arg, name);
	to->number(to->arg, "hits", cr->hits);
	to->number(to->arg, "groups_considered", cr->groups_considered);
	to->number(to->arg, "extents_scanned", cr->extents_scanned);
	to->number(to->arg, "useless_loops", cr->useless_loops);
	to->close(to->arg);
}

void xw_space_stats_report(const struct xw_space_stats *st, const struct xw_stat_sink *to)
{
	to->number(to->arg, "reqs", st->requests);
	to->number(to->arg, "success", st->success);
	to->number(to->arg, "groups_scanned", st->groups_scanned);
	for (int c = 0; c < XW_CR_COUNT; c++)
		report_criterion(&st->cr[c], (enum xw_criteria)c, to);
	to->number(to->arg, "extents_scanned", st->extents_scanned);
	to->number(to->arg, "goal_hits", st->goal_hits);
	to->number(to->arg, "stream_goal_hits", st->stream_hits);
	to->number(to->arg, "len_goal_hits", st->exact_hits);
	to->number(to->arg, "2^n_hits", st->cr[XW_CR_P2_ALIGNED].hits);
	to->number(to->arg, "breaks", st->breaks);
	to->number(to->arg, "lost", st->lost);
	to->number(to->arg, "buddies_generated", st->buddies_generated);
	to->number(to->arg, "bitmaps_prefetched", st->prefetched);
	to->number(to->arg, "index_steps", st->index_steps);
}

static void json_open(void *arg, const char *name)
{
	xw_json_object(arg, name);
}

static void json_number(void *arg, const char *name, uint64_t value)
{
	xw_json_u64(arg, name, value);
}

static void json_close(void *arg)
{
	xw_json_end(arg, '}');
}

void xw_space_stats_json(const struct xw_space_stats *st, struct xw_json *j, const char *key)
{
	const struct xw_stat_sink to = {json_open, json_number, json_close, j};

	xw_json_object(j, key);
	xw_space_stats_report(st, &to);
	xw_json_end(j, '}');
}

const char *xw_criteria_name(enum xw_criteria cr)
{
	static const char *const names[XW_CR_COUNT] = {"p2_aligned", "goal_fast", "best_avail",
						       "goal_slow", "any"};

	return (unsigned)cr < XW_CR_COUNT ? names[cr] : "unknown";
}

const char *xw_criteria_kernel_name(enum xw_criteria cr)
{
	return cr == XW_CR_ANY ? "any_free" : xw_criteria_name(cr);
}

void xw_space_structs(const struct xw_space *s, struct xw_space_structs *out)
{
	memset(out, 0, sizeof(*out));
	out->indexed = s->top > 0;
	for (uint32_t g = 0; g < s->ngroups; g++) {
		struct xw_group gr = xw_group_exact(s, g);

		out->loaded += gr.slot != XW_NO_SLOT;
		out->unresolved += (gr.flags & XW_G_UNRESOLVED) != 0;
		if (!gr.free) {
			out->full++;
			continue;
		}
		out->largest_order[gr.order - 1]++;
		out->avg_order[xw_floor_log2(gr.avg)]++;
	}
}

int xw_space_resolve(struct xw_space *s)
{
	int rc = 0;

	xw_space_reindex(s);
	for (uint32_t g = 0; g < s->ngroups && !rc; g++) {
		if (!(s->groups[g].flags & (XW_G_UNRESOLVED | XW_G_INEXACT)))
			continue;
		xw_space_trim(s);
		rc = xw_group_load(s, g);
	}
	return rc;
}

int xw_space_group_buddies(struct xw_space *s, uint32_t group, uint16_t hist[XW_SPACE_ORDERS])
{
	const struct xw_group *gr = &s->groups[group];
	int rc;

	xw_space_trim(s);
	rc = xw_group_load(s, group);
	if (rc)
		return rc;
	memset(hist, 0, XW_SPACE_ORDERS * sizeof(*hist));
	if (gr->slot != XW_NO_SLOT)
		memcpy(hist, xw_group_buddies(s, group), XW_SPACE_ORDERS * sizeof(*hist));
	else
		xw_buddies_of_run(hist, gr->first, (uint32_t)gr->first + gr->free, 1);
	return 0;
}

size_t xw_space_memory(const struct xw_space *s)
{
	size_t n = sizeof(*s) + s->ngroups * sizeof(*s->groups);

	for (unsigned l = 1; l <= s->top; l++)
		n += xw_div_up(s->ngroups, (uint64_t)1 << (XW_INDEX_SHIFT * l)) *
		     sizeof(struct xw_node);
	n += s->slots.cap * sizeof(*s->slots.v) + s->spare.cap * sizeof(*s->spare.v) +
	     s->clean.cap * sizeof(*s->clean.v);
	for (size_t i = 0; i < s->slots.n; i++)
		if (s->slots.v[i])
			n += sizeof(struct xw_bitmap) + (s->cpg + 63) / 64 * sizeof(uint64_t);
	return n;
}
