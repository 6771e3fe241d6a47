// SPDX-License-Identifier: MIT
/*
 * Free space before and after, one above the other: groups by their longest free run, and free
 * space by the size of its runs.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "age/tool.h"
#include "cli/draw.h"
#include "cli/human.h"

enum { PART_GAP = 28 };

/*
 * Blocks per group are not measured: the mean is rounded up, as only the last group may be short.
 */
static struct cli_scale scale_of(const struct xw_age_measure *m)
{
	const uint64_t mean = xw_div_up(m->blocks, XW_MAX(m->groups, 1));
	uint64_t group = 1;

	while (group < mean)
		group *= 2;
	return cli_draw_scale(m->block_size, group);
}

/* One more than the largest order with free runs. */
static unsigned orders_of(const struct xw_age_measure *m)
{
	unsigned n = XW_AGE_ORDERS;

	while (n && !m->free_runs[n - 1])
		n--;
	return n;
}

static unsigned bars(FILE *out, const struct cli_scale *s, const struct xw_age_measure *m,
		     unsigned top, unsigned n)
{
	struct cli_bar b[XW_AGE_ORDERS] = {{0}};

	for (unsigned i = 0; i < n; i++) {
		snprintf(b[i].what, sizeof(b[i].what), "%.20s",
			 cli_size((uint64_t)m->block_size << i).s);
		snprintf(b[i].many, sizeof(b[i].many), "%.20s", cli_count(m->free_runs[i]).s);
		snprintf(b[i].text, sizeof(b[i].text), "%.20s in runs of %.20s and more: %.20s",
			 cli_size(m->free_blocks[i] * m->block_size).s,
			 cli_size((uint64_t)m->block_size << i).s, cli_count(m->free_runs[i]).s);
		b[i].value = m->free_blocks[i];
		b[i].step = cli_draw_step(s, UINT64_C(1) << i);
	}
	return cli_draw_bars(out, top, "Free space by the size of its runs, and their number", b,
			     n);
}

static unsigned part(FILE *out, const char *what, const struct xw_age_measure *m, unsigned top,
		     unsigned n)
{
	const struct cli_scale s = scale_of(m);
	uint64_t runs = 0;

	for (unsigned i = 0; i < XW_AGE_ORDERS; i++)
		runs += m->free_runs[i];
	cli_draw_text(out, CLI_DRAW_MARGIN, top - 10, 'h',
		      "%s: %s used, longest free run %s, %s free runs, layout score %.2f", what,
		      cli_share((double)m->used, (double)m->blocks).s,
		      cli_size(m->longest_free * m->block_size).s, cli_count(runs).s,
		      (double)xw_age_layout(m) / XW_AGE_ONE);
	top = cli_draw_groups(out, &s, top, m->group_longest, m->groups);
	return bars(out, &s, m, top, n) + PART_GAP;
}

void age_svg(FILE *out, const char *name, const struct xw_age_measure *before,
	     const struct xw_age_measure *after)
{
	const struct cli_scale s = scale_of(after);
	const unsigned one =
		cli_draw_groups(NULL, &s, 0, NULL, after->groups) + CLI_DRAW_BARS_ALL + PART_GAP;
	/* both histograms have the same bars, so that they can be compared */
	const unsigned n = XW_MAX(orders_of(after), before ? orders_of(before) : 0);
	unsigned top = CLI_DRAW_TOP;

	cli_draw_begin(out, top + (before ? 2 : 1) * one, "Free space in", name);
	if (before)
		top = part(out, "Before", before, top, n);
	part(out, before ? "After" : "Now", after, top, n);
	cli_draw_end(out);
}
