// SPDX-License-Identifier: MIT
/*
 * Aging by distributions, after Kadekodi, Nagarajan and Ganger (Geriatrix, 2018): files are created
 * up to the requested utilization, which is then maintained by creations and deletions. Sizes and
 * depths of new files are drawn from distributions. The ages of files, relative to the oldest, are
 * controlled by deletions: the victim is a random file of the age class with the largest surplus.
 *
 * The model counts blocks itself, so the stream of operations is independent of their results.
 */
#include "config.h"

#include "age/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "age/run_internal.h"
#include "age/tables.h"
#include "base/search.h"

#define PATH_ROOM 1024
#define DEFAULT_UTIL 8000
/*
 * Without --ops and --until a run ends when the age distribution has converged (XW_AGE_CONVERGED),
 * after the image was overwritten at least OVERWRITES_MIN and at most OVERWRITES_MAX times.
 */
#define OVERWRITES_MIN 2
#define OVERWRITES_MAX 60
#define LOOK 1024 /* operations between two checks of the age distribution */

/* A file; the array is sorted by time of creation. */
struct file {
	uint64_t id; /* number of files created before it */
	uint32_t blocks;
	uint16_t depth, size; /* row numbers */
	bool live;
	uint32_t dir; /* number of its directory at that depth */
};

struct geriatrix {
	struct xw_age_tables t;
	struct xw_age_rng rng;
	struct xw_diag *diag;
	XW_VEC(struct file) files; /* sorted by id */
	uint32_t *sums; /* Fenwick tree over files: number of live ones */
	size_t n_sums; /* power of two; capacity for files */
	uint64_t live, created;
	uint64_t target, used; /* in blocks of files */
	uint64_t written; /* in blocks */
	uint64_t write_min, write_max; /* 0: no limit */
	uint64_t ops, done;
	uint32_t block_size;
	char path[PATH_ROOM];
};

static void geriatrix_close(void *state)
{
	struct geriatrix *g = state;

	xw_age_tables_free(&g->t);
	xw_vec_free(&g->files);
	free(g->sums);
	free(g);
}

/* ---- files by birth ---- */

static void count(struct geriatrix *g, size_t at, int delta)
{
	for (size_t i = at + 1; i <= g->n_sums; i += i & -i)
		g->sums[i] += (uint32_t)delta;
}

/* Number of live files before position n. */
static uint64_t live_below(const struct geriatrix *g, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = n; i; i -= i & -i)
		sum += g->sums[i];
	return sum;
}

/* Position of the k-th live file; k starts at 0. */
static size_t nth_live(const struct geriatrix *g, uint64_t k)
{
	size_t at = 0;

	for (size_t step = g->n_sums; step; step /= 2) {
		if (at + step > g->n_sums || g->sums[at + step] > k)
			continue;
		at += step;
		k -= g->sums[at];
	}
	return at;
}

/* Remove deleted files from the array, and reallocate the Fenwick tree if necessary. */
static int compact(struct geriatrix *g)
{
	size_t n = 0, room = 1024;

	for (size_t i = 0; i < g->files.n; i++)
		if (g->files.v[i].live)
			g->files.v[n++] = g->files.v[i];
	g->files.n = n;
	while (room < 2 * n)
		room *= 2;
	if (room != g->n_sums) {
		free(g->sums);
		g->n_sums = room;
		g->sums = malloc((room + 1) * sizeof(*g->sums));
	}
	if (!g->sums)
		return xw_fail_nomem(g->diag, "files");
	for (size_t i = 0; i <= room; i++)
		g->sums[i] = 0;
	for (size_t i = 0; i < n; i++)
		count(g, i, 1);
	return 0;
}

/* First position born at or after `birth`. */
static size_t born_from(const struct geriatrix *g, uint64_t birth)
{
	return XW_LOWER_BOUND(i, g->files.n, g->files.v[i].id >= birth);
}

/* ---- operations ---- */

/*
 * Print the path of a file. The directories of each depth are distributed evenly over their
 * parents.
 */
static void print_path(struct geriatrix *g, const struct file *f)
{
	const struct xw_age_table *t = &g->t.depths;
	const uint64_t depth = t->a.v[f->depth].value;
	uint64_t at[65], dir = f->dir;
	size_t row = f->depth, n = 0;

	for (uint64_t d = depth; d; d--) {
		const uint64_t here = XW_MAX(t->a.v[row].subdirs, 1);

		at[d] = dir;
		if (row && t->a.v[row - 1].value >= d - 1) {
			row--;
			dir = dir * XW_MAX(t->a.v[row].subdirs, 1) / here;
		}
	}
	for (uint64_t d = 1; d <= depth; d++)
		n += (size_t)snprintf(g->path + n, PATH_ROOM - n, "d%" PRIu64 "/", at[d]);
	snprintf(g->path + n, PATH_ROOM - n, "f%010" PRIu64, f->id);
}

static int create(struct geriatrix *g, struct xw_age_op *op)
{
	const struct xw_age_table *sizes = &g->t.sizes, *depths = &g->t.depths;
	const size_t s = xw_age_table_pick(sizes, xw_age_below(&g->rng, sizes->weight));
	struct file f = {.id = g->created++, .size = (uint16_t)s, .live = true};
	const uint64_t low = s ? sizes->a.v[s - 1].value + 1 : sizes->a.v[s].value / 2;
	uint64_t bytes = xw_age_log_uniform(&g->rng, low, sizes->a.v[s].value);

	f.depth = (uint16_t)xw_age_table_pick(depths, xw_age_below(&g->rng, depths->weight));
	f.dir = (uint32_t)xw_age_below(&g->rng, XW_MAX(depths->a.v[f.depth].subdirs, 1));
	bytes = XW_MIN(bytes, (uint64_t)UINT32_MAX / 2 * g->block_size);
	f.blocks = (uint32_t)xw_div_up(bytes, g->block_size);
	if (g->files.n >= g->n_sums && compact(g))
		return XW_ERR_NOMEM;
	if (xw_vec_push(&g->files, f))
		return xw_fail_nomem(g->diag, "files");
	count(g, g->files.n - 1, 1);
	g->live++;
	g->used += f.blocks;
	g->written += f.blocks;
	print_path(g, &f);
	*op = (struct xw_age_op){.what = XW_AGE_CREATE, .path = g->path, .bytes = bytes};
	return 1;
}

/* Number of live files older than age class i; end: the number older than class i - 1. */
static uint64_t older_than(const struct geriatrix *g, size_t i, uint64_t end)
{
	const struct xw_age_table *t = &g->t.ages;
	const double age = (double)t->a.v[i].value / (double)t->a.v[t->a.n - 1].value;
	const uint64_t birth = g->created - (uint64_t)(age * (double)g->created);

	return i + 1 < t->a.n ? XW_MIN(live_below(g, born_from(g, birth)), end) : 0;
}

/*
 * Find the age class with the largest surplus: the *n live files that follow the *from oldest ones.
 */
static void pick_class(const struct geriatrix *g, uint64_t *from, uint64_t *n)
{
	const struct xw_age_table *t = &g->t.ages;
	uint64_t end = g->live;
	double most = -2;

	*from = 0;
	*n = g->live;
	for (size_t i = 0; i < t->a.n; i++) {
		const uint64_t start = older_than(g, i, end), here = end - start;
		const double extra = (double)here / (double)g->live -
				     (double)t->a.v[i].weight / (double)t->weight;

		if (here && extra > most) {
			most = extra;
			*from = start;
			*n = here;
		}
		end = start;
	}
}

static int delete (struct geriatrix *g, struct xw_age_op *op)
{
	uint64_t from, n;
	struct file *f;
	size_t at;

	pick_class(g, &from, &n);
	at = nth_live(g, from + xw_age_below(&g->rng, n));
	f = &g->files.v[at];
	f->live = false;
	count(g, at, -1);
	g->live--;
	g->used -= f->blocks;
	print_path(g, f);
	*op = (struct xw_age_op){.what = XW_AGE_DELETE, .path = g->path};
	return 1;
}

/* ---- resulting distributions ---- */

static void ask(const struct xw_age_table *t, uint64_t unit, struct xw_age_shares *s)
{
	s->n = XW_MIN(t->a.n, XW_AGE_ROWS);
	for (size_t i = 0; i < s->n; i++) {
		s->row[i].value = t->a.v[i].value * XW_MAX(unit, 1) /
				  (unit ? XW_MAX(t->a.v[t->a.n - 1].value, 1) : 1);
		s->row[i].asked = (uint32_t)((uint64_t)t->a.v[i].weight * XW_AGE_ONE / t->weight);
	}
}

/* The sum over all age classes of |asked - reached|, in 1/10000. */
static uint64_t age_distance(const struct geriatrix *g)
{
	const struct xw_age_table *t = &g->t.ages;
	uint64_t end = g->live, sum = 0;

	for (size_t i = 0; i < t->a.n && g->live; i++) {
		const uint64_t start = older_than(g, i, end);
		const uint64_t asked = (uint64_t)t->a.v[i].weight * XW_AGE_ONE / t->weight;
		const uint64_t got = (end - start) * XW_AGE_ONE / g->live;

		sum += got > asked ? got - asked : asked - got;
		end = start;
	}
	return sum;
}

static void geriatrix_shares(const void *state, struct xw_age_outcome *res)
{
	const struct geriatrix *g = state;
	uint64_t sizes[XW_AGE_ROWS] = {0}, depths[XW_AGE_ROWS] = {0}, end = g->live;

	ask(&g->t.sizes, 0, &res->sizes);
	ask(&g->t.depths, 0, &res->depths);
	ask(&g->t.ages, 1000, &res->ages);
	for (size_t i = 0; i < g->files.n; i++) {
		const struct file *f = &g->files.v[i];

		if (f->live && f->size < XW_AGE_ROWS)
			sizes[f->size]++;
		if (f->live && f->depth < XW_AGE_ROWS)
			depths[f->depth]++;
	}
	for (size_t i = 0; i < XW_AGE_ROWS && g->live; i++) {
		res->sizes.row[i].achieved = (uint32_t)(sizes[i] * XW_AGE_ONE / g->live);
		res->depths.row[i].achieved = (uint32_t)(depths[i] * XW_AGE_ONE / g->live);
	}
	for (size_t i = 0; i < res->ages.n && g->live; i++) {
		const uint64_t start = older_than(g, i, end);

		res->ages.row[i].achieved = (uint32_t)((end - start) * XW_AGE_ONE / g->live);
		end = start;
	}
	res->age_distance = (uint32_t)age_distance(g);
}

static bool has_converged(const struct geriatrix *g)
{
	if (!g->write_max || g->written < g->write_min)
		return false;
	return g->written >= g->write_max ||
	       (g->done % LOOK == 0 && age_distance(g) <= XW_AGE_CONVERGED);
}

static int geriatrix_next(void *state, struct xw_age_op *op)
{
	struct geriatrix *g = state;
	const uint64_t slack = g->target / 100;
	bool make;

	if ((g->ops && g->done == g->ops) || has_converged(g))
		return 0;
	g->done++;
	make = xw_age_below(&g->rng, 2);
	if (!g->live || g->used + slack < g->target)
		make = true;
	else if (g->used > g->target + slack)
		make = false;
	return make ? create(g, op) : delete (g, op);
}

int xw_age_geriatrix(const struct xw_age_opts *o, const struct xw_age_base *base,
		     struct xw_diag *diag, struct xw_age_source *src)
{
	const uint64_t want = xw_age_share(base->blocks, o->util ? o->util : DEFAULT_UTIL);
	const uint64_t before = base->blocks - base->free;
	struct geriatrix *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return xw_fail_nomem(diag, "files");
	g->rng.state = o->seed;
	g->diag = diag;
	g->ops = o->ops;
	g->block_size = base->block_size;
	g->target = want - before;
	rc = xw_age_tables_load(o, diag, &g->t);
	if (!rc && want <= before + base->blocks / 100)
		rc = xw_fail(diag, XW_ERR_USAGE, "--util: more of the image is already in use");
	if (!rc)
		rc = compact(g);
	if (rc) {
		geriatrix_close(g);
		return rc;
	}
	*src = (struct xw_age_source){g, geriatrix_next, geriatrix_shares, geriatrix_close};
	if (!o->ops && !xw_age_until_any(&o->until)) {
		g->write_min = OVERWRITES_MIN * base->blocks;
		g->write_max = OVERWRITES_MAX * base->blocks;
	}
	return 0;
}
