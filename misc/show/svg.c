/* SPDX-License-Identifier: MIT */
/*
 * Free space as a drawing: a grid of cells, each a group (or as many consecutive groups as
 * necessary to fit), colored by the longest free run in it; below it the histogram of runs by size.
 * One file without scripts or fonts, for any browser.
 */
#include "config.h"

#include "cli/escape.h"
#include "cli/human.h"
#include "show/show.h"

#include <inttypes.h>
#include <string.h>

enum {
	WIDTH = 960,
	MARGIN = 24,
	FIELD_TOP = 96,
	CELL_MAX = 24, /* in pixels */
	CELLS_MAX = 6400,
	BARS_HEIGHT = 180,
	STEPS = 8, /* number of colors */
};

/* From a full group to an empty group. */
static const char *const colours[STEPS + 1] = {"#2b2d42", "#7f1d1d", "#b45309",
					       "#d97706", "#eab308", "#a3b818",
					       "#65a30d", "#2f9e44", "#0ca678"};

struct drawing {
	FILE *out;
	const struct xw_image *img;
	const struct xw_freefrag *ff;
	uint64_t per_cell, cells;
	unsigned columns, rows, cell; /* in pixels */
	unsigned orders; /* for a whole group: 1 + log2 */
};

static unsigned order1(uint64_t n)
{
	return n ? 64 - (unsigned)__builtin_clzll(n) : 0;
}

static const char *colour(const struct drawing *d, uint64_t longest)
{
	return colours[longest ? 1 + (order1(longest) - 1) * (STEPS - 1) / d->orders : 0];
}

static void plan(struct drawing *d)
{
	d->per_cell = xw_div_up(XW_MAX(d->ff->groups, 1), CELLS_MAX);
	d->cells = xw_div_up(d->ff->groups, d->per_cell);
	d->cell = CELL_MAX;
	do {
		d->columns = (WIDTH - 2 * MARGIN) / d->cell;
		d->rows = (unsigned)xw_div_up(d->cells, d->columns);
	} while (d->rows * d->cell > 800 && --d->cell > 4);
	d->orders = XW_MAX(order1(d->img->sb.blocks_per_group), 2) - 1;
}

static void cells(const struct drawing *d)
{
	for (uint64_t i = 0; i < d->cells; i++) {
		const uint64_t first = i * d->per_cell;
		const uint64_t end = XW_MIN(first + d->per_cell, d->ff->groups);
		uint32_t longest = 0;

		for (uint64_t g = first; g < end; g++)
			longest = XW_MAX(longest, d->ff->group_longest[g]);
		fprintf(d->out, "<rect x='%u' y='%u' width='%u' height='%u' fill='%s'><title>",
			MARGIN + (unsigned)(i % d->columns) * d->cell,
			FIELD_TOP + (unsigned)(i / d->columns) * d->cell, d->cell - 1, d->cell - 1,
			colour(d, longest));
		if (end - first > 1)
			fprintf(d->out, "groups %" PRIu64 " to %" PRIu64, first, end - 1);
		else
			fprintf(d->out, "group %" PRIu64, first);
		fprintf(d->out, ": longest free run %s</title></rect>\n",
			cli_size((uint64_t)longest * d->img->block_size).s);
	}
}

/* The legend of the colors. */
static void legend(const struct drawing *d, unsigned y)
{
	for (unsigned i = 0; i <= STEPS; i++) {
		const unsigned x = MARGIN + i * 100;
		/* the first order of the step; the inverse of colour() */
		const unsigned order = i ? ((i - 1) * d->orders + STEPS - 2) / (STEPS - 1) : 0;

		fprintf(d->out,
			"<rect x='%u' y='%u' width='12' height='12' fill='%s'/>"
			"<text x='%u' y='%u'>%s%s</text>\n",
			x, y, colours[i], x + 16, y + 10, i ? "&#8805; " : "",
			i ? cli_size((uint64_t)d->img->block_size << order).s : "full");
	}
}

static void bars(const struct drawing *d, unsigned top)
{
	const struct xw_freefrag *ff = d->ff;
	unsigned first = XW_FREEFRAG_SIZES, last = 0, width;
	uint64_t most = 1;

	for (unsigned i = 0; i < XW_FREEFRAG_SIZES; i++) {
		if (!ff->count[i])
			continue;
		first = XW_MIN(first, i);
		last = i;
		most = XW_MAX(most, ff->sum[i]);
	}
	fprintf(d->out, "<text x='%d' y='%u' class='h'>Free extents by size</text>\n", MARGIN,
		top - 12);
	if (first > last)
		return;
	width = XW_MIN((WIDTH - 2 * MARGIN) / (last - first + 1), 80);
	for (unsigned i = first; i <= last; i++) {
		const unsigned x = MARGIN + (i - first) * width;
		const unsigned h = (unsigned)((double)ff->sum[i] / (double)most * BARS_HEIGHT);

		fprintf(d->out,
			"<rect x='%u' y='%u' width='%u' height='%u' fill='%s'><title>%s in %s, "
			"from %s</title></rect>\n",
			x, top + BARS_HEIGHT - h, width - 4, h,
			colour(d, UINT64_C(1) << XW_MIN(i, d->orders)),
			cli_size(ff->sum[i] * d->img->block_size).s,
			cli_plural(ff->count[i], "extent", "extents").s,
			cli_size((uint64_t)d->img->block_size << i).s);
		fprintf(d->out,
			"<text x='%u' y='%u' class='s'>%s</text>"
			"<text x='%u' y='%u' class='s'>%s</text>\n",
			x, top + BARS_HEIGHT + 14, cli_size((uint64_t)d->img->block_size << i).s, x,
			top + BARS_HEIGHT + 28, cli_count(ff->count[i]).s);
	}
}

int xw_freefrag_svg(FILE *out, struct xw_image *img, const char *name, const struct xw_freefrag *ff)
{
	struct drawing d = {.out = out, .img = img, .ff = ff};
	unsigned legend_at, bars_at;

	plan(&d);
	legend_at = FIELD_TOP + d.rows * d.cell + 12;
	bars_at = legend_at + 64;
	fprintf(out,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%u' "
		"font-family='sans-serif' font-size='11'>\n"
		"<style>.h{font-size:13px;font-weight:bold}.s{font-size:9px}</style>\n"
		"<rect width='100%%' height='100%%' fill='#ffffff'/>\n"
		"<text x='%d' y='34' font-size='18' font-weight='bold'>Free space in ",
		WIDTH, bars_at + BARS_HEIGHT + 48, MARGIN);
	cli_escape(out, CLI_XML, name, strlen(name));
	fprintf(out, "</text>\n<text x='%d' y='56'>%s of %s free, in %s; the longest %s</text>\n",
		MARGIN, cli_size(ff->blocks * img->block_size).s,
		cli_size(img->sb.blocks_count * img->block_size).s,
		cli_plural(ff->extents, "extent", "extents").s,
		cli_size(ff->longest * img->block_size).s);
	fprintf(out, "<text x='%d' y='84' class='h'>%s groups by their longest free run", MARGIN,
		cli_count(ff->groups).s);
	if (d.per_cell > 1)
		fprintf(out, ", %" PRIu64 " a cell", d.per_cell);
	fputs("</text>\n", out);
	cells(&d);
	legend(&d, legend_at);
	bars(&d, bars_at);
	fputs("</svg>\n", out);
	return ferror(out) ? XW_ERR_IO : 0;
}
