/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/draw.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "cli/escape.h"
#include "cli/human.h"

enum {
	CELL_MAX = 24, /* in pixels */
	CELL_MIN = 4,
	CELLS_MAX = 6400,
	FIELD_MAX = 800, /* height in pixels, unless cells have their minimum size */
	ROOM = CLI_DRAW_WIDTH - 2 * CLI_DRAW_MARGIN,
	HEADING = 24,
};

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static const char style[] =
	"<style>text{fill:#222}.p{fill:#fff}.h{font-size:13px;font-weight:bold}.s{font-size:9px}"
	".m{font-size:9px;text-anchor:middle}path{fill:none}.l7{stroke:#2f9e44;stroke-width:2}"
	".d2{stroke:#b45309;stroke-width:2;stroke-linecap:round}.f{fill:#8881}"
	".c0{fill:#2b2d42}.c1{fill:#7f1d1d}.c2{fill:#b45309}.c3{fill:#d97706}.c4{fill:#eab308}"
	".c5{fill:#a3b818}.c6{fill:#65a30d}.c7{fill:#2f9e44}.c8{fill:#0ca678}"
	"@media (prefers-color-scheme:dark){text{fill:#ddd}.p{fill:#181a20}.c0{fill:#565a78}"
	".c1{fill:#a32c2c}}</style>\n";

void cli_draw_begin(FILE *out, unsigned height, const char *what, const char *name)
{
	fprintf(out,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%u' "
		"viewBox='0 0 %d %u' font-family='sans-serif' font-size='11'>\n"
		"%s<rect width='100%%' height='100%%' class='p'/>\n"
		"<text x='%d' y='34' font-size='18' font-weight='bold'>%s ",
		CLI_DRAW_WIDTH, height, CLI_DRAW_WIDTH, height, style, CLI_DRAW_MARGIN, what);
	cli_escape(out, CLI_XML, name, strlen(name));
	fputs("</text>\n", out);
}

void cli_draw_end(FILE *out)
{
	fputs("</svg>\n", out);
}

__attribute__((format(printf, 2, 0))) static void print_text(FILE *out, const char *text,
							     va_list ap)
{
	char line[256];

	vsnprintf(line, sizeof(line), text, ap);
	cli_escape(out, CLI_XML, line, strlen(line));
}

void cli_draw_text(FILE *out, unsigned x, unsigned y, char kind, const char *text, ...)
{
	va_list ap;

	fprintf(out, "<text x='%u' y='%u' class='%c'>", x, y, kind);
	va_start(ap, text);
	print_text(out, text, ap);
	va_end(ap);
	fputs("</text>\n", out);
}

void cli_draw_box(FILE *out, const struct cli_box *b, const char *text, ...)
{
	va_list ap;

	fprintf(out, "<rect x='%u' y='%u' width='%u' height='%u' class='c%u'><title>", b->x, b->y,
		b->width, b->height, b->step);
	va_start(ap, text);
	print_text(out, text, ap);
	va_end(ap);
	fputs("</title></rect>\n", out);
}

static unsigned order1(uint64_t n)
{
	return n ? 64 - (unsigned)__builtin_clzll(n) : 0;
}

struct cli_scale cli_draw_scale(uint64_t block_size, uint64_t blocks_per_group)
{
	return (struct cli_scale){block_size, MAX(order1(blocks_per_group), 2u) - 1};
}

unsigned cli_draw_step(const struct cli_scale *s, uint64_t longest)
{
	if (!longest)
		return 0;
	return MIN(1 + (order1(longest) - 1) * (CLI_DRAW_STEPS - 1) / s->orders,
		   (unsigned)CLI_DRAW_STEPS);
}

void cli_draw_legend(FILE *out, unsigned top, const struct cli_label *labels, unsigned first,
		     unsigned last)
{
	for (unsigned i = first; i <= last; i++) {
		const unsigned x = CLI_DRAW_MARGIN + (i - first) * 100;

		fprintf(out, "<rect x='%u' y='%u' width='12' height='12' class='c%u'/>\n", x, top,
			i);
		cli_draw_text(out, x + 16, top + 10, 'n', "%s", labels[i].s);
	}
}

struct grid {
	uint64_t per_cell, cells;
	unsigned columns, rows, cell; /* in pixels */
};

static struct grid plan(uint64_t n)
{
	struct grid g = {.per_cell = (MAX(n, 1u) + CELLS_MAX - 1) / CELLS_MAX, .cell = CELL_MAX};

	g.cells = (n + g.per_cell - 1) / g.per_cell;
	do {
		g.columns = ROOM / g.cell;
		g.rows = (unsigned)((g.cells + g.columns - 1) / g.columns);
	} while (g.rows * g.cell > FIELD_MAX && --g.cell > CELL_MIN);
	return g;
}

unsigned cli_draw_grid(FILE *out, unsigned top, const char *heading, const struct cli_grid *g)
{
	const struct grid at = plan(g->n);

	if (!out)
		return top + HEADING + at.rows * at.cell + 12;
	if (at.per_cell > 1)
		cli_draw_text(out, CLI_DRAW_MARGIN, top + 12, 'h', "%s, %" PRIu64 " a cell",
			      heading, at.per_cell);
	else
		cli_draw_text(out, CLI_DRAW_MARGIN, top + 12, 'h', "%s", heading);
	for (uint64_t i = 0; i < at.cells; i++) {
		const uint64_t first = i * at.per_cell;
		struct cli_cell c = {0};

		g->cell(g->arg, first, MIN(first + at.per_cell, g->n), &c);
		cli_draw_box(
			out,
			&(struct cli_box){CLI_DRAW_MARGIN + (unsigned)(i % at.columns) * at.cell,
					  top + HEADING + (unsigned)(i / at.columns) * at.cell,
					  at.cell - 1, at.cell - 1, c.step},
			"%s", c.text);
	}
	return top + HEADING + at.rows * at.cell + 12;
}

struct groups {
	const struct cli_scale *scale;
	const uint32_t *longest;
};

static void group_cell(const void *arg, uint64_t first, uint64_t end, struct cli_cell *out)
{
	const struct groups *g = arg;
	uint32_t most = 0;
	char to[32] = "";

	for (uint64_t i = first; i < end; i++)
		most = MAX(most, g->longest[i]);
	out->step = cli_draw_step(g->scale, most);
	if (end - first > 1)
		snprintf(to, sizeof(to), " to %" PRIu64, end - 1);
	snprintf(out->text, sizeof(out->text), "%s %" PRIu64 "%s: longest free run %.40s",
		 *to ? "groups" : "group", first, to, cli_size(most * g->scale->block_size).s);
}

unsigned cli_draw_groups(FILE *out, const struct cli_scale *s, unsigned top,
			 const uint32_t *longest, uint64_t n)
{
	const struct groups groups = {s, longest};
	const struct cli_grid g = {n, group_cell, &groups};
	struct cli_label labels[CLI_DRAW_STEPS + 1] = {{"full"}};
	char heading[64];

	snprintf(heading, sizeof(heading), "%.30s by their longest free run",
		 cli_plural(n, "group", "groups").s);
	top = cli_draw_grid(out, top, heading, &g);
	for (unsigned i = 1; i <= CLI_DRAW_STEPS; i++) {
		/* the first order of the step; the inverse of cli_draw_step() */
		const unsigned order =
			((i - 1) * s->orders + CLI_DRAW_STEPS - 2) / (CLI_DRAW_STEPS - 1);

		snprintf(labels[i].s, sizeof(labels[i].s), "\xe2\x89\xa5 %.16s",
			 cli_size(s->block_size << order).s);
	}
	if (out)
		cli_draw_legend(out, top, labels, 0, CLI_DRAW_STEPS);
	return top + CLI_DRAW_LEGEND;
}

void cli_draw_series(FILE *out, const struct cli_field *f, const uint64_t *values, uint64_t n,
		     uint64_t most, unsigned step, bool line)
{
	fprintf(out, "<path class='%s%u' d='", line ? "l" : "d", step);
	for (uint64_t i = 0; i < n; i++) {
		const double x = f->x + (double)i / (double)MAX(n, 1u) * f->width;
		const double share = (double)values[i] / (double)MAX(most, 1u);

		fprintf(out, "%c%.1f %.1f%s", line && i ? 'L' : 'M', x,
			f->y + f->height - share * f->height, line ? "" : "h1");
	}
	fputs("'/>\n", out);
}

unsigned cli_draw_bars(FILE *out, unsigned top, const char *heading, const struct cli_bar *bars,
		       unsigned n)
{
	const unsigned base = top + HEADING + CLI_DRAW_BARS, width = MIN(ROOM / MAX(n, 1u), 80u);
	uint64_t most = 1;

	cli_draw_text(out, CLI_DRAW_MARGIN, top + 12, 'h', "%s", heading);
	for (unsigned i = 0; i < n; i++)
		most = MAX(most, bars[i].value);
	for (unsigned i = 0; i < n; i++) {
		const unsigned x = CLI_DRAW_MARGIN + i * width;
		const unsigned high =
			(unsigned)((double)bars[i].value / (double)most * CLI_DRAW_BARS);

		if (bars[i].value)
			cli_draw_box(out,
				     &(struct cli_box){x, base - MAX(high, 1u), width - 4,
						       MAX(high, 1u), bars[i].step},
				     "%s", bars[i].text);
		cli_draw_text(out, x + width / 2 - 2, base + 14, 'm', "%s", bars[i].what);
		cli_draw_text(out, x + width / 2 - 2, base + 26, 'm', "%s", bars[i].many);
	}
	return top + CLI_DRAW_BARS_ALL;
}
