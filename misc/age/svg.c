// SPDX-License-Identifier: MIT
/*
 * Free space before and after, one above the other: a grid of cells, each a group (or as many
 * neighbors as necessary to fit), colored by the longest free run in it, and bars for the free
 * space by the size of its runs. One file without scripts, readable on light and dark backgrounds.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "age/tool.h"
#include "cli/escape.h"
#include "cli/human.h"

enum {
	WIDTH = 960,
	MARGIN = 24,
	CELL = 12, /* in pixels */
	CELLS_MAX = 2280,
	BARS = 120, /* in pixels */
	STEPS = 8, /* number of colors */
};

/* From a full group to an empty group. */
static const char *const colors[STEPS + 1] = {"#2b2d42", "#7f1d1d", "#b45309", "#d97706", "#eab308",
					      "#a3b818", "#65a30d", "#2f9e44", "#0ca678"};

/* Order 15, a group of 32,768 blocks, has the last color. */
static const char *color(uint64_t longest)
{
	unsigned order;

	if (!longest)
		return colors[0];
	order = 63 - (unsigned)__builtin_clzll(longest);
	return colors[XW_MIN(1 + order / 2, STEPS)];
}

static unsigned field(FILE *out, const struct xw_age_measure *m, unsigned top)
{
	const uint64_t per = xw_div_up(XW_MAX(m->groups, 1), CELLS_MAX);
	const unsigned columns = (WIDTH - 2 * MARGIN) / CELL;
	const uint64_t cells = xw_div_up(m->groups, per);

	for (uint64_t i = 0; i < cells; i++) {
		uint32_t longest = 0;

		for (uint64_t g = i * per; g < XW_MIN((i + 1) * per, m->groups); g++)
			longest = XW_MAX(longest, m->group_longest[g]);
		fprintf(out,
			"<rect x='%u' y='%u' width='%u' height='%u' fill='%s'><title>from group "
			"%" PRIu64 ": longest free run %s</title></rect>\n",
			MARGIN + (unsigned)(i % columns) * CELL,
			top + (unsigned)(i / columns) * CELL, CELL - 1, CELL - 1, color(longest),
			i * per, cli_size((uint64_t)longest * m->block_size).s);
	}
	return top + (unsigned)xw_div_up(cells, columns) * CELL;
}

static unsigned bars(FILE *out, const struct xw_age_measure *m, unsigned top)
{
	const unsigned width = (WIDTH - 2 * MARGIN) / XW_AGE_ORDERS;
	uint64_t most = 1;

	for (unsigned i = 0; i < XW_AGE_ORDERS; i++)
		most = XW_MAX(most, m->free_blocks[i]);
	for (unsigned i = 0; i < XW_AGE_ORDERS; i++) {
		const unsigned h = (unsigned)((double)m->free_blocks[i] / (double)most * BARS);
		const unsigned x = MARGIN + i * width;

		if (m->free_blocks[i])
			fprintf(out,
				"<rect x='%u' y='%u' width='%u' height='%u' fill='%s'><title>%s in "
				"runs of %s and more: %s</title></rect>\n",
				x, top + BARS - h, width - 3, XW_MAX(h, 1), color(UINT64_C(1) << i),
				cli_size(m->free_blocks[i] * m->block_size).s,
				cli_size((uint64_t)m->block_size << i).s,
				cli_count(m->free_runs[i]).s);
		if (i % 2 == 0)
			fprintf(out, "<text x='%u' y='%u' class='s'>%s</text>\n", x,
				top + BARS + 14, cli_size((uint64_t)m->block_size << i).s);
	}
	return top + BARS + 24;
}

static unsigned part(FILE *out, const char *what, const struct xw_age_measure *m, unsigned top)
{
	uint64_t runs = 0;

	for (unsigned i = 0; i < XW_AGE_ORDERS; i++)
		runs += m->free_runs[i];
	fprintf(out,
		"<text x='%d' y='%u' class='h'>%s: %s used, longest free run %s, %s free runs, "
		"layout score %.2f</text>\n",
		MARGIN, top, what, cli_share((double)m->used, (double)m->blocks).s,
		cli_size(m->longest_free * m->block_size).s, cli_count(runs).s,
		(double)xw_age_layout(m) / XW_AGE_ONE);
	return bars(out, m, field(out, m, top + 10) + 12) + 28;
}

void age_svg(FILE *out, const char *name, const struct xw_age_measure *before,
	     const struct xw_age_measure *after)
{
	const uint64_t per = xw_div_up(XW_MAX(after->groups, 1), CELLS_MAX);
	const unsigned rows =
		(unsigned)xw_div_up(xw_div_up(after->groups, per), (WIDTH - 2 * MARGIN) / CELL);
	const unsigned height = 60 + (before ? 2 : 1) * (10 + rows * CELL + 12 + BARS + 52);
	unsigned top = 70;

	fprintf(out,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%u' "
		"font-family='sans-serif' font-size='11'>\n"
		"<style>text{fill:#222}.p{fill:#fff}.h{font-size:13px;font-weight:bold}"
		".s{font-size:9px}@media (prefers-color-scheme:dark){text{fill:#ddd}"
		".p{fill:#181a20}}</style>\n"
		"<rect width='100%%' height='100%%' class='p'/>\n"
		"<text x='%d' y='34' font-size='18' font-weight='bold'>Free space in ",
		WIDTH, height, MARGIN);
	cli_escape(out, CLI_XML, name, strlen(name));
	fputs("</text>\n", out);
	if (before)
		top = part(out, "Before", before, top);
	part(out, before ? "After" : "Now", after, top);
	fputs("</svg>\n", out);
}
