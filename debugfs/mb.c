/* SPDX-License-Identifier: MIT */
/*
 * mb_structs_summary, mb_groups, mb_stats, mb_find.
 *
 * Linux counts with fewer orders than the allocator: up to 2 x 8 x block size (blocksize_bits + 1),
 * so that a free group of 32,768 blocks is four buddies of 2^13; and it files groups under their
 * average fragment from 2 blocks on (both observed with 6.18). The lists here are cut to that, so
 * that they can be held against /proc/fs/ext4.
 */
#include "config.h"

#include "mb.h"

#include "show/rows.h"

#include <inttypes.h>
#include <string.h>

enum { KERNEL_COLUMNS = 14 };

static void damaged(void *arg, uint64_t group)
{
	struct mb *m = arg;

	(void)group; /* the line names it */
	show_problem(m->s, m->view.img->diag);
}

int mb_open(struct mb *m, struct xw_show *s, struct xw_image *img, int optimize_scan)
{
	struct xw_space_params p = {0};
	const unsigned look = show_look(s, img);
	int rc = show_sysmap(s, img);

	memset(m, 0, sizeof(*m));
	m->s = s;
	xw_space_params_tune(&p, NULL);
	p.optimize_scan = optimize_scan;
	if (!rc) {
		m->view = (struct xw_space_view){
			.img = img, .sysmap = s->sysmap, .damaged = damaged, .arg = m};
		rc = xw_space_view_open(&m->view, &p, &m->space);
	}
	return show_done(s, img, look, rc);
}

void mb_close(struct mb *m)
{
	xw_space_free(m->space);
	xw_space_view_close(&m->view);
	m->space = NULL;
}

/* Orders that Linux has for this block size. */
static unsigned orders(const struct mb *m)
{
	return m->view.img->sb.log_block_size + 12;
}

/* Groups by order to as many orders as Linux has; `from` is the order of its first list. */
static void fold(const uint32_t *count, unsigned from, unsigned n, uint32_t *out)
{
	memset(out, 0, XW_SPACE_ORDERS * sizeof(*out));
	for (unsigned i = 0; i < XW_SPACE_ORDERS; i++) {
		const unsigned order = i < from ? 0 : i - from;

		out[XW_MIN(order, n - 1)] += count[i];
	}
}

static void print_lists(const struct mb *m, const char *name, const uint32_t *count, bool kernel)
{
	fprintf(m->s->out, "%s:\n", name);
	for (unsigned i = 0; i < orders(m); i++)
		fprintf(m->s->out, "%slist_order_%u_groups: %" PRIu32 "\n", kernel ? "\t" : "  ", i,
			count[i]);
}

int mb_structs_summary(struct mb *m, bool kernel)
{
	struct xw_image *img = m->view.img;
	const unsigned look = show_look(m->s, img);
	uint32_t largest[XW_SPACE_ORDERS], avg[XW_SPACE_ORDERS];
	struct xw_space_structs st;
	FILE *out = m->s->out;
	int rc = xw_space_resolve(m->space);

	if (rc)
		return show_done(m->s, img, look, rc);
	xw_space_structs(m->space, &st);
	if (kernel && !st.indexed) { /* Linux keeps no lists then */
		memset(st.largest_order, 0, sizeof(st.largest_order));
		memset(st.avg_order, 0, sizeof(st.avg_order));
	}
	fold(st.largest_order, 0, orders(m), largest);
	fold(st.avg_order, 1, orders(m), avg);
	fprintf(out, "optimize_scan: %d\n", st.indexed);
	if (!kernel)
		fprintf(out,
			"groups: %" PRIu64 "\nfull_groups: %" PRIu32 "\nfree_clusters: %" PRIu64
			"\n",
			img->groups, st.full,
			xw_space_free_blocks(m->space) >> xw_image_cluster_bits(img));
	print_lists(m, "max_free_order_lists", largest, kernel);
	print_lists(m, "avg_fragment_size_lists", avg, kernel);
	return show_done(m->s, img, look, 0);
}

/* ---- groups ---- */

static void fold_buddies(const struct mb *m, const uint16_t *hist, uint32_t *out)
{
	const unsigned top = orders(m) - 1;

	memset(out, 0, XW_SPACE_ORDERS * sizeof(*out));
	for (unsigned i = 0; i < XW_SPACE_ORDERS; i++)
		out[XW_MIN(i, top)] += i > top ? (uint32_t)hist[i] << (i - top) : hist[i];
}

static void kernel_group(const struct mb *m, uint32_t g, const struct xw_group_summary *sum,
			 const uint32_t *buddies)
{
	FILE *out = m->s->out;

	fprintf(out, "#%-5" PRIu32 ": %-5" PRIu32 " %-5" PRIu32 " %-5" PRIu32 " [", g, sum->free,
		sum->fragments, sum->free ? sum->first_free : xw_image_group_bits(m->view.img));
	for (unsigned i = 0; i < KERNEL_COLUMNS; i++)
		fprintf(out, " %-5" PRIu32, buddies[i]);
	fputs(" ]\n", out);
}

static void yaml_group(const struct mb *m, uint32_t g, const struct xw_group_summary *sum,
		       const uint32_t *buddies)
{
	FILE *out = m->s->out;

	fprintf(out,
		"  - {group: %" PRIu32 ", free: %" PRIu32 ", frags: %" PRIu32 ", first: %" PRIu32
		", longest: %" PRIu32 ", average: %" PRIu32 ", buddies: [",
		g, sum->free, sum->fragments,
		sum->free ? sum->first_free : xw_image_group_bits(m->view.img), sum->longest,
		sum->fragments ? sum->free / sum->fragments : 0);
	for (unsigned i = 0; i < orders(m); i++)
		fprintf(out, "%s%" PRIu32, i ? ", " : "", buddies[i]);
	fputs("]}\n", out);
}

int mb_groups(struct mb *m, uint64_t first, uint64_t last, bool kernel)
{
	struct xw_image *img = m->view.img;
	const unsigned look = show_look(m->s, img);
	const uint64_t end = last < img->groups ? last + 1 : img->groups;
	FILE *out = m->s->out;
	int rc = 0;

	if (kernel) {
		fputs("#group: free  frags first [", out);
		for (int i = 0; i < KERNEL_COLUMNS; i++)
			fprintf(out, " 2^%-3d", i);
		fputs(" ]\n", out);
	} else {
		fputs(first < end ? "groups:\n" : "groups: []\n", out);
	}
	for (uint64_t g = first; g < end && !rc && !ferror(out); g++) {
		struct xw_group_summary sum;
		uint16_t hist[XW_SPACE_ORDERS];
		uint32_t buddies[XW_SPACE_ORDERS];

		rc = xw_space_group_buddies(m->space, (uint32_t)g, hist);
		if (rc)
			break;
		fold_buddies(m, hist, buddies);
		xw_space_group(m->space, (uint32_t)g, &sum);
		(kernel ? kernel_group : yaml_group)(m, (uint32_t)g, &sum, buddies);
	}
	return show_done(m->s, img, look, rc);
}

/* ---- statistics ---- */

/* Linux's name of a criterion. */
static const char *kernel_name(enum xw_criteria cr)
{
	return cr == XW_CR_ANY ? "any_free" : xw_criteria_name(cr);
}

int mb_stats(struct mb *m, bool kernel)
{
	const char *in = kernel ? "\t" : "  ", *in2 = kernel ? "\t\t" : "    ";
	/* children of a number, in Linux's layout */
	const char *sub = kernel ? "\t\t" : "  ";
	struct xw_space_stats st;
	FILE *out = m->s->out;

	xw_space_stats(m->space, &st);
	fputs("mballoc:\n", out);
#define LINE(indent, name, v) fprintf(out, "%s" name ": %" PRIu64 "\n", indent, (uint64_t)(v))
	LINE(in, "reqs", st.requests);
	LINE(in, "success", st.success);
	LINE(in, "groups_scanned", st.groups_scanned);
	for (int cr = 0; cr < XW_CR_COUNT; cr++) {
		fprintf(out, "%scr_%s_stats:\n", in, kernel_name(cr));
		LINE(in2, "hits", st.cr[cr].hits);
		LINE(in2, "groups_considered", st.cr[cr].groups_considered);
		LINE(in2, "extents_scanned", st.cr[cr].extents_scanned);
		LINE(in2, "useless_loops", st.cr[cr].useless_loops);
	}
	LINE(in, "extents_scanned", st.extents_scanned);
	LINE(sub, "goal_hits", st.goal_hits);
	LINE(sub, "stream_goal_hits", st.stream_hits);
	LINE(sub, "len_goal_hits", st.exact_hits);
	LINE(sub, "2^n_hits", st.cr[XW_CR_P2_ALIGNED].hits);
	LINE(sub, "breaks", st.breaks);
	LINE(sub, "lost", st.lost);
	if (kernel) { /* no clock, no preallocation here */
		fprintf(out, "\tbuddies_generated: %" PRIu64 "/%" PRIu64 "\n", st.buddies_generated,
			m->view.img->groups);
		LINE(in, "buddies_time_used", 0);
		LINE(in, "preallocated", 0);
		LINE(in, "discarded", 0);
	} else {
		LINE(in, "buddies_generated", st.buddies_generated);
		LINE(in, "groups", m->view.img->groups);
		LINE(in, "index_steps", st.index_steps);
		LINE(in, "memory", xw_space_memory(m->space));
	}
#undef LINE
	return ferror(out) ? XW_ERR_IO : 0;
}

/* ---- a request ---- */

static const char *served_by(const struct xw_space_stats *a, const struct xw_space_stats *b)
{
	for (int cr = 0; cr < XW_CR_COUNT; cr++)
		if (b->cr[cr].hits > a->cr[cr].hits)
			return xw_criteria_name(cr);
	return b->goal_hits > a->goal_hits ? "goal" : "none";
}

static void print_considered(FILE *out, const struct xw_space_stats *a,
			     const struct xw_space_stats *b)
{
	fputs("considered:\n", out);
	for (int cr = 0; cr < XW_CR_COUNT; cr++) {
		const struct xw_cr_stats *x = &a->cr[cr], *y = &b->cr[cr];

		fprintf(out, "  %s: {groups: %" PRIu64 ", extents: %" PRIu64 ", in_vain: %s}\n",
			xw_criteria_name(cr), y->groups_considered - x->groups_considered,
			y->extents_scanned - x->extents_scanned,
			y->useless_loops > x->useless_loops ? "true" : "false");
	}
	fprintf(out, "index_steps: %" PRIu64 "\nbitmaps_read: %" PRIu64 "\n",
		b->index_steps - a->index_steps, b->buddies_generated - a->buddies_generated);
}

static void print_result(const struct mb *m, const struct xw_run *run, uint64_t len)
{
	const struct xw_super *sb = &m->view.img->sb;
	const uint64_t off = run->start - sb->first_data_block;

	if (!run->len) {
		fputs("result: null\n", m->s->out);
		return;
	}
	fprintf(m->s->out,
		"result:\n  start: %" PRIu64 "\n  len: %" PRIu64 "\n  group: %" PRIu64
		"\n  offset: %" PRIu64 "\n  whole: %s\n",
		run->start, run->len, off / sb->blocks_per_group, off % sb->blocks_per_group,
		run->len == len ? "true" : "false");
}

int mb_find(struct mb *m, uint64_t len, xw_blk goal)
{
	struct xw_image *img = m->view.img;
	const unsigned look = show_look(m->s, img);
	/* without a goal, large requests would go where the last one ended */
	const struct xw_alloc_req req = {.goal = XW_MAX(goal, img->sb.first_data_block + 1u),
					 .len = len};
	struct xw_space_stats before, after;
	struct xw_run run = {0, 0};
	int rc;

	xw_space_stats(m->space, &before);
	rc = xw_space_alloc(m->space, &req, &run);
	xw_space_stats(m->space, &after);
	if (rc == XW_ERR_NOSPC)
		run.len = 0;
	else if (!rc)
		rc = xw_space_release(m->space, run.start, run.len);
	if (rc && rc != XW_ERR_NOSPC)
		return show_done(m->s, img, look, rc);
	fprintf(m->s->out, "request:\n  len: %" PRIu64 "\n  goal: %" PRIu64 "\ncriterion: %s\n",
		len, goal, served_by(&before, &after));
	print_considered(m->s->out, &before, &after);
	print_result(m, &run, len);
	return show_done(m->s, img, look, 0);
}
