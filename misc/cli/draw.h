/* SPDX-License-Identifier: MIT */
/*
 * Drawings of images: one SVG file each without scripts or fonts, for any browser, light or dark.
 * All drawings share one set of colors, from full (0) to empty (CLI_DRAW_STEPS).
 */
#ifndef XW_CLI_DRAW_H
#define XW_CLI_DRAW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	CLI_DRAW_WIDTH = 960, /* in pixels */
	CLI_DRAW_MARGIN = 24,
	CLI_DRAW_TOP = 72, /* below the title and a line of text */
	CLI_DRAW_STEPS = 8,
};

/* Starts a drawing with the title "WHAT NAME"; the name may be any bytes. */
void cli_draw_begin(FILE *out, unsigned height, const char *what, const char *name);
void cli_draw_end(FILE *out);

/* Text at its base line; kind: 'h' heading, 's' small, 'm' small and centered, 'n' normal. */
__attribute__((format(printf, 5, 6))) void cli_draw_text(FILE *out, unsigned x, unsigned y,
							 char kind, const char *text, ...);
/* A box in a color; the text is its tooltip. */
struct cli_box {
	unsigned x, y, width, height, step;
};
__attribute__((format(printf, 3, 4))) void cli_draw_box(FILE *out, const struct cli_box *b,
							const char *text, ...);

/* The scale of a drawing of free space. */
struct cli_scale {
	uint64_t block_size;
	unsigned orders; /* of a whole group: log2 of its blocks, at least 1 */
};
struct cli_scale cli_draw_scale(uint64_t block_size, uint64_t blocks_per_group);
/* The color of a group by its longest free run, in blocks. */
unsigned cli_draw_step(const struct cli_scale *s, uint64_t longest);

/*
 * A grid of n items in order; a cell shows one item, or as many as necessary for all to fit. `cell`
 * returns the color and the text of items first to end - 1.
 */
struct cli_cell {
	unsigned step;
	char text[128];
};
struct cli_grid {
	uint64_t n;
	void (*cell)(const void *arg, uint64_t first, uint64_t end, struct cli_cell *out);
	const void *arg;
};
/*
 * Draw a grid; the heading is extended by the number of items per cell. Returns the lower edge; out
 * NULL: nothing is drawn.
 */
unsigned cli_draw_grid(FILE *out, unsigned top, const char *heading, const struct cli_grid *g);

/* Colors from first to last and what they mean, 40 pixels high. */
enum { CLI_DRAW_LEGEND = 40 };
struct cli_label {
	char s[24];
};
void cli_draw_legend(FILE *out, unsigned top, const struct cli_label *labels, unsigned first,
		     unsigned last);

/*
 * Draw a grid of groups by their longest free run, in blocks, with a legend. Returns the lower
 * edge; out NULL: nothing is drawn.
 */
unsigned cli_draw_groups(FILE *out, const struct cli_scale *s, unsigned top,
			 const uint32_t *longest, uint64_t n);

/* Plot values[n], each at most `most`, from left to right in a field: as a line, or as dots. */
struct cli_field {
	unsigned x, y, width, height;
};
void cli_draw_series(FILE *out, const struct cli_field *f, const uint64_t *values, uint64_t n,
		     uint64_t most, unsigned step, bool line);

/* One bar of a histogram; the labels `what` and `many` stand below it. */
struct cli_bar {
	uint64_t value; /* height */
	unsigned step;
	char what[24], many[24];
	char text[96]; /* tooltip */
};
enum { CLI_DRAW_BARS = 120, CLI_DRAW_BARS_ALL = CLI_DRAW_BARS + 64 }; /* bars; with text */
/* Returns its lower edge, CLI_DRAW_BARS_ALL below top. */
unsigned cli_draw_bars(FILE *out, unsigned top, const char *heading, const struct cli_bar *bars,
		       unsigned n);

#endif
