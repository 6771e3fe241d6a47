// SPDX-License-Identifier: MIT
/*
 * Limits of --until that are checked between two steps, and detection of stalled runs.
 *
 * Utilization, layout and free runs are goals that a profile may never reach: a run has stalled if
 * no distance to a goal shrinks by 1/20 for a long time. Numbers of operations and of bytes written
 * are bounds, which every run reaches.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "age/run_internal.h"

/*
 * A run stalls without progress in STALL_OPS operations that also overwrite the image STALL_WRITES
 * times, or in STALL_OPS_MAX operations.
 */
#define STALL_OPS UINT64_C(32768)
#define STALL_WRITES 4 /* as a multiple of the image's size */
#define STALL_OPS_MAX UINT64_C(500000)
#define CLOSER 20 /* progress means that a distance shrinks by this fraction */

static bool closer(uint64_t distance, uint64_t best)
{
	return distance < best && best - distance >= (best + CLOSER - 1) / CLOSER;
}

static uint64_t above(uint64_t value, uint64_t goal)
{
	return value > goal ? value - goal : 0;
}

static bool improved(const struct xw_age_until *until, const struct xw_age_best *now,
		     const struct xw_age_best *best)
{
	bool better = !best->known || until->ops;

	better |= until->overwrites && now->written > best->written;
	better |= until->util &&
		  closer(above(until->util, now->util), above(until->util, best->util));
	better |= until->no_run && closer(above(now->longest_free, until->no_run - 1),
					  above(best->longest_free, until->no_run - 1));
	better |= until->layout &&
		  closer(above(now->layout, until->layout), above(best->layout, until->layout));
	return better;
}

static struct xw_age_best state_of(const struct xw_age_run *r, const struct xw_age_measure *m)
{
	const struct xw_age_counts *c = &r->state.counts;
	const uint64_t blocks = r->state.base.blocks;
	const uint64_t size = blocks * r->state.base.block_size;

	return (struct xw_age_best){
		.known = true,
		.util = (uint32_t)((unsigned __int128)(blocks - r->free) * XW_AGE_ONE / blocks),
		.layout = xw_age_layout(m),
		.longest_free = m->longest_free * m->block_size,
		.written = (uint64_t)((unsigned __int128)c->written * XW_AGE_ONE / size),
		.ops = c->ops,
		.bytes = c->written,
	};
}

static size_t print_share(char *text, size_t size, const char *name, uint64_t got, uint64_t want)
{
	return (size_t)snprintf(
		text, size,
		"%s is %" PRIu64 ".%04" PRIu64 " instead of %" PRIu64 ".%04" PRIu64 "; ", name,
		got / XW_AGE_ONE, got % XW_AGE_ONE, want / XW_AGE_ONE, want % XW_AGE_ONE);
}

/* Print the values reached, e.g. "layout is 0.9843 instead of 0.9500; ". */
static void print_reached(const struct xw_age_run *r, const struct xw_age_best *now, char *text,
			  size_t size)
{
	const struct xw_age_until *until = &r->o->until;
	size_t n = 0;

	text[0] = 0;
	if (until->util)
		n += print_share(text + n, size - n, "util", now->util, until->util);
	if (until->layout)
		n += print_share(text + n, size - n, "layout", now->layout, until->layout);
	if (until->no_run)
		n += (size_t)snprintf(text + n, size - n,
				      "free runs of up to %" PRIu64 " bytes are left; ",
				      now->longest_free);
	if (until->overwrites)
		print_share(text + n, size - n, "overwrites", now->written,
			    until->overwrites * XW_AGE_ONE);
}

static int check_stall(struct xw_age_run *r, const struct xw_age_best *now)
{
	const struct xw_age_counts *c = &r->state.counts;
	const uint64_t size = r->state.base.blocks * r->state.base.block_size;
	char reached[256];

	if (improved(&r->o->until, now, &r->best)) {
		r->best = *now;
		return 0;
	}
	if (c->ops - r->best.ops < STALL_OPS ||
	    (c->ops - r->best.ops < STALL_OPS_MAX &&
	     (c->written - r->best.bytes) / STALL_WRITES < size))
		return 0;
	r->stalled = r->res->missed = true;
	print_reached(r, now, reached, sizeof(reached));
	return xw_fail(r->diag, XW_ERR_MISSED,
		       "%s: the limit of --until cannot be reached with this profile: %sno closer "
		       "in %" PRIu64 " operations; --resume with another limit continues",
		       r->path, reached, c->ops - r->best.ops);
}

bool xw_age_until_due(const struct xw_age_run *r)
{
	const struct xw_age_until *until = &r->o->until;
	const bool every = r->o->step || r->o->allocator != XW_AGE_LINUX;

	return (until->no_run || until->layout) && !r->state.writing &&
	       (every || r->state.counts.steps % (XW_AGE_STEP / XW_AGE_STEP_LINUX) == 0);
}

/* Determine the values that the limits refer to. */
static int look(struct xw_age_run *r, struct xw_age_best *now)
{
	const struct xw_age_until *until = &r->o->until;
	struct xw_age_measure m = {0};
	int rc = 0;

	if (until->no_run || until->layout)
		rc = xw_age_measure_some(r->path, r->o, until->layout != 0, r->diag, &m);
	if (!rc) {
		*now = state_of(r, &m);
		r->res->layout = until->layout ? now->layout : 0;
		r->res->longest_free = until->no_run ? now->longest_free : UINT64_MAX;
	}
	xw_age_measure_free(&m);
	return rc;
}

/* Is a limit that needs a scan reached? */
static bool reached(struct xw_age_run *r, const struct xw_age_best *now)
{
	const struct xw_age_until *until = &r->o->until;

	if (until->no_run && now->longest_free < until->no_run)
		r->state.ended = 1 + XW_AGE_END_NO_RUN;
	else if (until->layout && now->layout <= until->layout)
		r->state.ended = 1 + XW_AGE_END_LAYOUT;
	else
		return false;
	return true;
}

int xw_age_until_check(struct xw_age_run *r)
{
	const struct xw_age_until *until = &r->o->until;
	struct xw_age_best now;
	int rc;

	if (r->state.ended || r->o->fast || !xw_age_until_any(until) || r->state.writing)
		return 0;
	if ((until->no_run || until->layout) && !xw_age_until_due(r))
		return 0;
	rc = look(r, &now);
	if (rc || reached(r, &now))
		return rc;
	return check_stall(r, &now);
}

int xw_age_until_end(struct xw_age_run *r)
{
	const struct xw_age_until *until = &r->o->until;
	struct xw_age_best now;
	char text[256];
	int rc;

	/* with --ops, whichever comes first ends the run */
	if (r->state.ended != 1 + XW_AGE_END_PROFILE || r->o->ops ||
	    !(until->util || until->layout || until->no_run))
		return 0;
	rc = look(r, &now);
	if (rc || reached(r, &now) || (until->util && now.util >= until->util))
		return rc;
	r->res->missed = true;
	print_reached(r, &now, text, sizeof(text));
	return xw_fail(r->diag, XW_ERR_MISSED,
		       "%s: the profile ended before the limit of --until: %s"
		       "the image remains as it is",
		       r->path, text);
}
