/* SPDX-License-Identifier: MIT */
/*
 * Draws an itree: how full the nodes of each level are, and which blocks of the inode tables a walk
 * visits, in the order of the tree and in hash order, which is that of readdir.
 */
#include "config.h"

#include "svg.h"

#include "cli/draw.h"
#include "cli/human.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/auto.h"

enum {
	DOTS = 1500, /* maximum number of names drawn; more names are sampled */
	FIELD = 260, /* in pixels */
	LEVEL_GAP = 10,
};

void dbg_itree_shape_free(struct dbg_itree_shape *s)
{
	xw_vec_free(&s->nodes);
	xw_vec_free(&s->names);
}

int dbg_itree_shape_add(struct dbg_itree_shape *s, xw_blk blk, const struct xw_itree_hdr *h,
			const uint8_t *block)
{
	struct dbg_itree_node n = {
		.blk = blk, .count = h->count, .used = h->used, .level = h->level};
	struct xw_itree_entry e;
	uint32_t off = 0;

	while (!h->level && off < h->used && !xw_itree_leaf_decode(block, h->used, off, &e, &off)) {
		const struct dbg_itree_name name = {.ino = e.key.ino, .hash = e.key.hash};

		if (xw_vec_push(&s->names, name))
			return XW_ERR_NOMEM;
		n.first = n.first ? n.first : e.key.ino;
		n.last = e.key.ino;
	}
	return xw_vec_push(&s->nodes, n);
}

/* ---- levels ---- */

struct level {
	const struct dbg_itree_shape *s;
	const struct dbg_itree_node **nodes;
	uint64_t n, used;
	unsigned level;
};

static void node_cell(const void *arg, uint64_t first, uint64_t end, struct cli_cell *out)
{
	const struct level *l = arg;
	const struct dbg_itree_node *a = l->nodes[first], *b = l->nodes[end - 1];
	const uint64_t cap = (end - first) * l->s->cap;
	uint64_t used = 0, count = 0;
	char inodes[40] = "";

	for (uint64_t i = first; i < end; i++) {
		used += l->nodes[i]->used;
		count += l->nodes[i]->count;
	}
	/* 0 is full */
	out->step = (unsigned)((cap - XW_MIN(used, cap)) * CLI_DRAW_STEPS / XW_MAX(cap, 1));
	if (!l->level)
		snprintf(inodes, sizeof(inodes), ", inodes %" PRIu32 " to %" PRIu32, a->first,
			 b->last);
	snprintf(out->text, sizeof(out->text),
		 "block %" PRIu64 ": %" PRIu64 " entries, %.20s full%s", a->blk, count,
		 cli_share((double)used, (double)cap).s, inodes);
}

/* The nodes of a level. XW_ERR_NOMEM; free l->nodes in any case. */
static int level_begin(const struct dbg_itree_shape *s, unsigned level, struct level *l)
{
	*l = (struct level){.s = s, .level = level};
	l->nodes = calloc(s->nodes.n + 1, sizeof(*l->nodes));
	if (!l->nodes)
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < s->nodes.n; i++) {
		if (s->nodes.v[i].level != level)
			continue;
		l->nodes[l->n++] = &s->nodes.v[i];
		l->used += s->nodes.v[i].used;
	}
	return 0;
}

/* Draw all levels from the root down, and add their height to *top; out NULL: only add it. */
static int levels(const struct dbg_itree_shape *s, FILE *out, unsigned *top)
{
	int rc = 0;

	for (unsigned level = XW_ITREE_LEVELS; level-- && !rc;) {
		struct level l;
		char heading[96];

		rc = level_begin(s, level, &l);
		if (!rc && l.n) {
			const struct cli_grid g = {l.n, node_cell, &l};

			snprintf(heading, sizeof(heading), "Level %u: %.40s, %.20s full", level,
				 level ? cli_plural(l.n, "node", "nodes").s
				       : cli_plural(l.n, "leaf", "leaves").s,
				 cli_share((double)l.used, (double)(l.n * s->cap)).s);
			*top = cli_draw_grid(out, *top, heading, &g) + LEVEL_GAP;
		}
		free(l.nodes);
	}
	return rc;
}

/* ---- visits ---- */

static int locate(struct dbg *d, struct dbg_itree_shape *s)
{
	const struct xw_image *img = d->img;
	const uint32_t per = img->sb.inodes_per_group;
	struct xw_group_desc gd;
	uint64_t known = UINT64_MAX;

	for (size_t i = 0; i < s->names.n; i++) {
		struct dbg_itree_name *n = &s->names.v[i];
		const uint64_t at = n->ino - 1;

		if (!n->ino || n->ino > img->sb.inodes_count)
			continue;
		if (at / per != known) {
			int rc = xw_image_group(d->img, at / per, &gd);

			if (rc)
				return rc;
			known = at / per;
		}
		n->table = gd.inode_table + at % per * img->inode_size / img->block_size;
	}
	return 0;
}

/* Reads of inode table blocks by a walk in the current order that caches one block. */
static uint64_t reads(const struct dbg_itree_shape *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->names.n; i++)
		n += !i || s->names.v[i].table != s->names.v[i - 1].table;
	return n;
}

static int series(const struct dbg_itree_shape *s, FILE *out, const struct cli_field *f, xw_blk low,
		  xw_blk high, bool line)
{
	const size_t n = XW_MIN(s->names.n, (size_t)DOTS);
	auto_free uint64_t *values = calloc(DOTS, sizeof(*values));

	if (!values)
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < n; i++)
		values[i] = s->names.v[i * s->names.n / n].table - low;
	cli_draw_series(out, f, values, n, high - low, line ? 7 : 2, line);
	return 0;
}

static int by_hash(const void *x, const void *y)
{
	const struct dbg_itree_name *a = x, *b = y;

	return a->hash != b->hash ? (a->hash < b->hash ? -1 : 1)
				  : (a->ino > b->ino) - (a->ino < b->ino);
}

static int visits(struct dbg_itree_shape *s, FILE *out, unsigned top)
{
	const struct cli_field f = {CLI_DRAW_MARGIN, top + 64, CLI_DRAW_WIDTH - 2 * CLI_DRAW_MARGIN,
				    FIELD};
	const uint64_t by_tree = reads(s);
	xw_blk low = UINT64_MAX, high = 0;
	int rc;

	for (size_t i = 0; i < s->names.n; i++) {
		low = XW_MIN(low, s->names.v[i].table);
		high = XW_MAX(high, s->names.v[i].table);
	}
	cli_draw_text(
		out, CLI_DRAW_MARGIN, top + 12, 'h',
		"Where a walk goes: from left to right name after name, upwards blocks %" PRIu64
		" to %" PRIu64 " of the inode tables",
		XW_MIN(low, high), high);
	fprintf(out, "<rect x='%u' y='%u' width='%u' height='%u' class='f'/>\n", f.x, f.y, f.width,
		f.height);
	if (!s->names.n)
		return 0;
	rc = series(s, out, &f, low, high, true);
	if (rc)
		return rc;
	qsort(s->names.v, s->names.n, sizeof(*s->names.v), by_hash);
	rc = series(s, out, &f, low, high, false);
	if (rc)
		return rc;
	cli_draw_box(out, &(struct cli_box){f.x, top + 26, 12, 12, 7}, "the line");
	cli_draw_text(out, f.x + 16, top + 36, 'n', "in the order of the itree: %s of table blocks",
		      cli_plural(by_tree, "read", "reads").s);
	cli_draw_box(out, &(struct cli_box){f.x, top + 44, 12, 12, 2}, "the dots");
	cli_draw_text(out, f.x + 16, top + 54, 'n',
		      "in the order of hashes, as readdir of ext4: %s, if one block is kept",
		      cli_plural(reads(s), "read", "reads").s);
	return 0;
}

static void legend(FILE *out, unsigned top)
{
	struct cli_label labels[CLI_DRAW_STEPS + 1] = {{"full"}};

	for (unsigned i = 0; i < CLI_DRAW_STEPS; i++)
		snprintf(labels[i].s, sizeof(labels[i].s), "> %u %%",
			 100 - (i + 1) * 100 / CLI_DRAW_STEPS);
	cli_draw_legend(out, top, labels, 0, CLI_DRAW_STEPS - 1);
}

int dbg_itree_svg(struct dbg *d, struct dbg_itree_shape *s, FILE *out, const char *name)
{
	unsigned top = CLI_DRAW_TOP;
	uint64_t used = 0;
	int rc = locate(d, s);

	if (!rc)
		rc = levels(s, NULL, &top);
	if (rc)
		return rc;
	for (size_t i = 0; i < s->nodes.n; i++)
		used += s->nodes.v[i].used;
	cli_draw_begin(out, top + CLI_DRAW_LEGEND + 64 + FIELD + 24, "The itree of", name);
	cli_draw_text(out, CLI_DRAW_MARGIN, 56, 'n', "%s in %s, %s full",
		      cli_plural(s->names.n, "name", "names").s,
		      cli_plural(s->nodes.n, "node", "nodes").s,
		      cli_share((double)used, (double)(s->nodes.n * s->cap)).s);
	top = CLI_DRAW_TOP;
	rc = levels(s, out, &top);
	legend(out, top);
	if (!rc)
		rc = visits(s, out, top + CLI_DRAW_LEGEND);
	cli_draw_end(out);
	return rc;
}
