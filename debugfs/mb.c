/* SPDX-License-Identifier: MIT */
/*
 * mb_structs_summary, mb_groups, mb_stats, mb_find.
 *
 * Linux has fewer orders than the allocator: up to 2 x 8 x block size (blocksize_bits + 1), so that
 * a free group of 32,768 blocks is four buddies of 2^13; and it lists groups by average fragment
 * from 2 blocks on (both observed with 6.18). The lists printed here are limited to that, so that
 * they can be compared with /proc/fs/ext4.
 */
#include "config.h"

#include "mb.h"

#include "show/rows.h"
#include "yaml.h"

#include <inttypes.h>
#include <string.h>

enum { KERNEL_COLUMNS = 14 };

static void damaged(void *arg, uint64_t group)
{
	struct mb *m = arg;

	(void)group; /* named in the message */
	show_problem(m->s, m->view.img->diag);
}

int mb_open(struct mb *m, struct xw_show *s, struct xw_image *img,
	    const struct xw_alloc_tunables *how)
{
	struct xw_space_params p = {0};
	const unsigned look = show_lenient(s, img);
	int rc = show_sysmap(s, img);

	memset(m, 0, sizeof(*m));
	m->s = s;
	xw_space_params_tune(&p, how);
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

/* Number of orders in Linux for this block size. */
static unsigned orders(const struct mb *m)
{
	return m->view.img->sb.log_block_size + 12;
}

/* Map groups by order to the orders of Linux; `from` is the order of its first list. */
static void fold(const uint32_t *count, unsigned from, unsigned n, uint32_t *out)
{
	memset(out, 0, XW_SPACE_ORDERS * sizeof(*out));
	for (unsigned i = 0; i < XW_SPACE_ORDERS; i++) {
		const unsigned order = i < from ? 0 : i - from;

		out[XW_MIN(order, n - 1)] += count[i];
	}
}

/* Begin a result in YAML, in the layout of Linux, or in JSON. */
static struct yaml begin_result(const struct mb *m, bool kernel)
{
	struct yaml y = {.out = m->s->out, .js = m->s->json, .indent = kernel ? "\t" : "  "};

	yaml_map(&y, NULL, false);
	return y;
}

static void print_lists(const struct mb *m, struct yaml *y, const char *name, const uint32_t *count)
{
	char key[32];

	yaml_map(y, name, false);
	for (unsigned i = 0; i < orders(m); i++) {
		snprintf(key, sizeof(key), "list_order_%u_groups", i);
		yaml_u64(y, key, count[i]);
	}
	yaml_end(y);
}

int mb_structs_summary(struct mb *m, bool kernel)
{
	struct xw_image *img = m->view.img;
	const unsigned look = show_lenient(m->s, img);
	uint32_t largest[XW_SPACE_ORDERS], avg[XW_SPACE_ORDERS];
	struct xw_space_structs st;
	struct yaml y;
	int rc = xw_space_view_resolve(&m->view, m->space, 0);

	if (rc)
		return show_done(m->s, img, look, rc);
	xw_space_structs(m->space, &st);
	if (kernel && !st.indexed) { /* Linux has no lists without optimize_scan */
		memset(st.largest_order, 0, sizeof(st.largest_order));
		memset(st.avg_order, 0, sizeof(st.avg_order));
	}
	fold(st.largest_order, 0, orders(m), largest);
	fold(st.avg_order, 1, orders(m), avg);
	y = begin_result(m, kernel);
	yaml_u64(&y, "optimize_scan", st.indexed);
	if (!kernel) {
		yaml_u64(&y, "groups", img->groups);
		yaml_u64(&y, "full_groups", st.full);
		yaml_u64(&y, "free_clusters",
			 xw_space_free_blocks(m->space) >> xw_image_cluster_bits(img));
	}
	print_lists(m, &y, "max_free_order_lists", largest);
	print_lists(m, &y, "avg_fragment_size_lists", avg);
	yaml_end(&y);
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

static void our_group(const struct mb *m, struct yaml *y, uint32_t g,
		      const struct xw_group_summary *sum, const uint32_t *buddies)
{
	yaml_map(y, NULL, true);
	yaml_u64(y, "group", g);
	yaml_u64(y, "free_clusters", sum->free);
	yaml_u64(y, "frags", sum->fragments);
	yaml_u64(y, "first", sum->free ? sum->first_free : xw_image_group_bits(m->view.img));
	yaml_u64(y, "longest_clusters", sum->longest);
	yaml_u64(y, "average_clusters", sum->fragments ? sum->free / sum->fragments : 0);
	yaml_list(y, "buddies", true);
	for (unsigned i = 0; i < orders(m); i++)
		yaml_u64(y, NULL, buddies[i]);
	yaml_end(y);
	yaml_end(y);
}

/* y: NULL for Linux's layout. */
static int each_group(struct mb *m, uint64_t first, uint64_t end, struct yaml *y)
{
	int rc = 0;

	for (uint64_t g = first; g < end && !rc && !(m->s->out && ferror(m->s->out)); g++) {
		struct xw_group_summary sum;
		uint16_t hist[XW_SPACE_ORDERS];
		uint32_t buddies[XW_SPACE_ORDERS];

		rc = xw_space_group_buddies(m->space, (uint32_t)g, hist);
		if (rc)
			break;
		fold_buddies(m, hist, buddies);
		xw_space_group(m->space, (uint32_t)g, &sum);
		if (y)
			our_group(m, y, (uint32_t)g, &sum, buddies);
		else
			kernel_group(m, (uint32_t)g, &sum, buddies);
	}
	return rc;
}

int mb_groups(struct mb *m, uint64_t first, uint64_t last, bool kernel)
{
	struct xw_image *img = m->view.img;
	const unsigned look = show_lenient(m->s, img);
	const uint64_t end = last < img->groups ? last + 1 : img->groups;
	struct yaml y;
	int rc;

	if (kernel) {
		fputs("#group: free  frags first [", m->s->out);
		for (int i = 0; i < KERNEL_COLUMNS; i++)
			fprintf(m->s->out, " 2^%-3d", i);
		fputs(" ]\n", m->s->out);
		rc = each_group(m, first, end, NULL);
	} else {
		y = begin_result(m, false);
		yaml_list(&y, "groups", false);
		rc = each_group(m, first, end, &y);
		yaml_end(&y);
		yaml_end(&y);
	}
	return show_done(m->s, img, look, rc);
}

/* ---- statistics ---- */

struct stat_text {
	struct yaml y;
	const struct mb *m;
	bool kernel;
};

static void open_criterion(void *arg, const char *name)
{
	yaml_map(&((struct stat_text *)arg)->y, name, false);
}

static void close_criterion(void *arg)
{
	yaml_end(&((struct stat_text *)arg)->y);
}

/* Linux indents some numbers as if they were children of the one before. */
static void print_number(void *arg, const char *name, uint64_t value)
{
	struct stat_text *s = arg;

	if (s->kernel && !strcmp(name, "buddies_generated")) {
		s->y.indented--;
		fprintf(s->y.out, "\tbuddies_generated: %" PRIu64 "/%" PRIu64 "\n", value,
			s->m->view.img->groups);
		return;
	}
	if (s->kernel && (!strcmp(name, "bitmaps_prefetched") || !strcmp(name, "index_steps")))
		return;
	s->y.indented += s->kernel && !strcmp(name, "goal_hits");
	yaml_u64(&s->y, name, value);
}

int mb_stats(struct mb *m, bool kernel)
{
	struct stat_text s = {.y = begin_result(m, kernel), .m = m, .kernel = kernel};
	const struct xw_stat_sink to = {open_criterion, print_number, close_criterion, &s};
	struct xw_space_stats st;

	xw_space_stats(m->space, &st);
	yaml_map(&s.y, "mballoc", false);
	xw_space_stats_report(&st, &to);
	if (kernel) { /* neither times nor preallocations are recorded */
		yaml_u64(&s.y, "buddies_time_used", 0);
		yaml_u64(&s.y, "preallocated", 0);
		yaml_u64(&s.y, "discarded", 0);
	} else {
		yaml_u64(&s.y, "groups", m->view.img->groups);
		yaml_u64(&s.y, "memory_bytes", xw_space_memory(m->space));
	}
	yaml_end(&s.y);
	yaml_end(&s.y);
	return s.y.out && ferror(s.y.out) ? XW_ERR_IO : 0;
}

/* ---- a request ---- */

static const char *served_by(const struct xw_space_stats *a, const struct xw_space_stats *b)
{
	for (int cr = 0; cr < XW_CR_COUNT; cr++)
		if (b->cr[cr].hits > a->cr[cr].hits)
			return xw_criteria_name(cr);
	return b->goal_hits > a->goal_hits ? "goal" : "none";
}

static void print_considered(struct yaml *y, const struct xw_space_stats *a,
			     const struct xw_space_stats *b)
{
	yaml_map(y, "considered", false);
	for (int cr = 0; cr < XW_CR_COUNT; cr++) {
		const struct xw_cr_stats *from = &a->cr[cr], *to = &b->cr[cr];

		yaml_map(y, xw_criteria_name(cr), true);
		yaml_u64(y, "groups", to->groups_considered - from->groups_considered);
		yaml_u64(y, "extents", to->extents_scanned - from->extents_scanned);
		yaml_bool(y, "in_vain", to->useless_loops > from->useless_loops);
		yaml_end(y);
	}
	yaml_end(y);
	yaml_u64(y, "index_steps", b->index_steps - a->index_steps);
	yaml_u64(y, "bitmaps_read", b->buddies_generated - a->buddies_generated);
	yaml_u64(y, "bitmaps_prefetched", b->prefetched - a->prefetched);
}

static void print_result(const struct mb *m, struct yaml *y, const struct xw_run *run, uint64_t len)
{
	const struct xw_super *sb = &m->view.img->sb;
	const uint64_t off = run->start - sb->first_data_block;

	if (!run->len) {
		yaml_null(y, "result");
		return;
	}
	yaml_map(y, "result", false);
	yaml_u64(y, "start_block", run->start);
	yaml_u64(y, "length_blocks", run->len);
	yaml_u64(y, "group", off / sb->blocks_per_group);
	yaml_u64(y, "offset_blocks", off % sb->blocks_per_group);
	yaml_bool(y, "whole", run->len == len);
	yaml_end(y);
}

int mb_find(struct mb *m, uint64_t len, xw_blk goal)
{
	struct xw_image *img = m->view.img;
	const unsigned look = show_lenient(m->s, img);
	/* without a goal, large requests would be placed after the last one */
	const struct xw_alloc_req req = {.goal = XW_MAX(goal, img->sb.first_data_block + 1u),
					 .len = len};
	struct xw_space_stats before, after;
	struct xw_run run = {0, 0};
	struct yaml y;
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
	y = begin_result(m, false);
	yaml_map(&y, "request", false);
	yaml_u64(&y, "length_blocks", len);
	yaml_u64(&y, "goal_block", goal);
	yaml_end(&y);
	yaml_word(&y, "criterion", served_by(&before, &after));
	print_considered(&y, &before, &after);
	print_result(m, &y, &run, len);
	yaml_end(&y);
	return show_done(m->s, img, look, 0);
}
