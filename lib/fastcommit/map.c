// SPDX-License-Identifier: MIT
/*
 * The blocks of fast commits. A file's final map is its old map overlaid with the ranges gained and
 * lost, the latest on top. Ownership of blocks is computed on sets of clusters:
 *
 *   claimed  blocks in added ranges that were free: allocated first, so that nothing else gets them
 *   added    blocks in the final maps that the old maps lack
 *   lost     blocks in the old maps that the final maps lack: freed with the commit
 *
 * Linux does not reuse a block in the transaction that freed it, so `added` must be a subset of
 * `claimed` without duplicates; the rest of `claimed` (files that were deleted again) is freed.
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "fastcommit/fastcommit_internal.h"

int xw_fast_bad(struct xw_fast *f, xw_ino ino, const char *fmt, ...)
{
	char text[128], who[32] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (ino)
		snprintf(who, sizeof(who), "inode %" PRIu32 ": ", ino);
	return xw_fail(f->u->diag, XW_ERR_CORRUPT,
		       "%s: the journal's fast commits do not match it: %s%s", f->u->img->dev->name,
		       who, text);
}

/* ---- sets: ascending runs that do not touch ---- */

/* Sort and merge; *twice: a block is in two runs. */
static void merge_runs(xw_fast_runs *s, bool *twice)
{
	size_t kept = 0;

	*twice = false;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), xw_by_u64);
	for (size_t i = 0; i < s->n; i++) {
		struct xw_run *last = kept ? &s->v[kept - 1] : NULL;
		const uint64_t end = s->v[i].start + s->v[i].len;

		if (!last || last->start + last->len < s->v[i].start) {
			s->v[kept++] = s->v[i];
			continue;
		}
		*twice |= last->start + last->len > s->v[i].start;
		last->len = XW_MAX(last->start + last->len, end) - last->start;
	}
	s->n = kept;
}

/* Call fn for everything in `a` that is not in `b`; merges both. */
static int each_difference(struct xw_fast *f, const xw_fast_runs *a, const xw_fast_runs *b,
			   int (*fn)(struct xw_fast *f, xw_blk start, uint64_t len))
{
	size_t k = 0;
	int rc = 0;

	for (size_t i = 0; i < a->n && !rc; i++) {
		const uint64_t end = a->v[i].start + a->v[i].len;
		uint64_t at = a->v[i].start;

		while (k < b->n && b->v[k].start + b->v[k].len <= at)
			k++;
		for (size_t j = k; at < end && !rc; j++) {
			const bool more = j < b->n && b->v[j].start < end;
			const uint64_t to = more ? XW_MAX(b->v[j].start, at) : end;

			if (to > at)
				rc = fn(f, at, to - at);
			at = more ? b->v[j].start + b->v[j].len : end;
		}
	}
	return rc;
}

static int nomem(struct xw_fast *f)
{
	return xw_fail_nomem(f->u->diag, "fast commits");
}

/* ---- free blocks ---- */

static struct xw_run clusters_of(const struct xw_fast *f, xw_blk blk, uint64_t len)
{
	const uint64_t inside = (UINT64_C(1) << f->u->place.enc.cluster_bits) - 1;
	const xw_blk start = blk & ~inside;

	return (struct xw_run){start, ((blk + len + inside) & ~inside) - start};
}

int xw_fast_note(struct xw_fast *f, const struct xw_extent *e)
{
	if (!xw_image_has_blocks(f->u->img, e->pblk, e->len))
		return xw_fast_bad(f, 0, "blocks %" PRIu64 "+%" PRIu32 " are beyond its end",
				   e->pblk, e->len);
	return xw_vec_push(&f->claimed, clusters_of(f, e->pblk, e->len)) ? nomem(f) : 0;
}

/*
 * Append the free part of a run to *out. *at: below it no block is free, except those that earlier
 * runs left.
 */
static int claim_run(struct xw_fast *f, const struct xw_run *r, xw_blk *at, xw_fast_runs *out)
{
	const uint64_t end = XW_MIN(r->start + r->len, f->u->img->sb.blocks_count);
	int rc = 0;

	if (*at < r->start)
		*at = xw_space_next_free(f->u->space, r->start);
	while (!rc && *at < end) {
		const uint64_t len = xw_space_run_at(f->u->space, *at, end - *at);

		if (!len) /* an unreadable bitmap: the next allocation reports it */
			break;
		rc = xw_space_claim(f->u->space, *at, len);
		if (!rc && xw_vec_push(out, ((struct xw_run){*at, len})))
			rc = nomem(f);
		*at = xw_space_next_free(f->u->space, *at + len);
	}
	return rc;
}

int xw_fast_claim(struct xw_fast *f)
{
	xw_fast_runs got = {0};
	xw_blk at = 0;
	bool twice;
	int rc = 0;

	merge_runs(&f->claimed, &twice);
	for (size_t i = 0; i < f->claimed.n && !rc; i++)
		rc = claim_run(f, &f->claimed.v[i], &at, &got);
	xw_vec_free(&f->claimed);
	memcpy(&f->claimed, &got, sizeof(got));
	merge_runs(&f->claimed, &twice);
	return rc;
}

/* ---- ranges over extents ---- */

/* A piece of the map; of all pieces that cover a block, the one with the highest rank applies. */
struct piece {
	uint64_t first, end; /* in logical blocks */
	uint32_t rank;
	xw_blk pblk;
	bool unwritten, gone;
};

struct layers {
	struct piece *all; /* sorted by first */
	size_t n, next;
	size_t *heap; /* pieces that have started: indexes in `all`, by rank */
	size_t heaped;
};

static int by_first(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool above(const struct layers *l, size_t a, size_t b)
{
	return l->all[l->heap[a]].rank > l->all[l->heap[b]].rank;
}

static void swap(struct layers *l, size_t a, size_t b)
{
	const size_t t = l->heap[a];

	l->heap[a] = l->heap[b];
	l->heap[b] = t;
}

static void push(struct layers *l, size_t piece)
{
	size_t at = l->heaped++;

	l->heap[at] = piece;
	for (; at && above(l, at, (at - 1) / 2); at = (at - 1) / 2)
		swap(l, at, (at - 1) / 2);
}

static void pop(struct layers *l)
{
	size_t at = 0;

	l->heap[0] = l->heap[--l->heaped];
	for (;;) {
		size_t top = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
			if (child < l->heaped && above(l, child, top))
				top = child;
		if (top == at)
			return;
		swap(l, at, top);
		at = top;
	}
}

/* Sweep from left to right: each step ends where a piece starts, or the top piece ends. */
static int flatten(struct xw_fast *f, struct layers *l, struct xw_update_map *m)
{
	uint64_t at = 0;
	int rc = 0;

	while (!rc && (l->next < l->n || l->heaped)) {
		const struct piece *top;
		uint64_t end;

		if (!l->heaped)
			at = XW_MAX(at, l->all[l->next].first);
		while (l->next < l->n && l->all[l->next].first <= at)
			push(l, l->next++);
		while (l->heaped && l->all[l->heap[0]].end <= at)
			pop(l);
		if (!l->heaped)
			continue;
		top = &l->all[l->heap[0]];
		end = l->next < l->n ? XW_MIN(top->end, l->all[l->next].first) : top->end;
		if (!top->gone)
			rc = xw_update_map_add(f->u, m,
					       (struct xw_map_run){(xw_lblk)at, end - at,
								   top->pblk + (at - top->first),
								   top->unwritten});
		at = end;
	}
	return rc;
}

static struct piece piece_of(const struct xw_extent *e, size_t rank, bool gone)
{
	return (struct piece){
		e->lblk, (uint64_t)e->lblk + e->len, (uint32_t)rank, e->pblk, e->unwritten, gone};
}

/* Compute the new extents of m. */
static int merge_ranges(struct xw_fast *f, const struct xw_fast_inode *i, struct xw_update_map *m)
{
	const size_t n = m->e.n + i->ranges.n;
	auto_free struct piece *all = malloc((n + 1) * sizeof(*all));
	auto_free size_t *heap = malloc((n + 1) * sizeof(*heap));
	struct layers l = {.all = all, .n = n, .heap = heap};
	auto_update_map struct xw_update_map next = {0};
	int rc;

	if (!all || !heap)
		return nomem(f);
	for (size_t k = 0; k < m->e.n; k++)
		all[k] = piece_of(&m->e.v[k], 0, false);
	for (size_t k = 0; k < i->ranges.n; k++)
		all[m->e.n + k] = piece_of(&i->ranges.v[k].e, k + 1, i->ranges.v[k].gone);
	if (n)
		qsort(all, n, sizeof(*all), by_first);
	rc = flatten(f, &l, &next);
	if (!rc)
		xw_update_map_move(m, &next);
	return rc;
}

/* ---- ownership of blocks ---- */

static int set_of(struct xw_fast *f, xw_ino ino, const struct xw_update_map *m, xw_fast_runs *s)
{
	struct xw_update_clusters c = {.u = f->u};
	struct xw_run fresh;
	bool twice;
	int rc = 0;

	for (size_t k = 0; k < m->e.n && !rc; k++) {
		const struct xw_extent *e = &m->e.v[k];
		const struct xw_map_run run = {e->lblk, e->len, e->pblk, false};

		rc = xw_update_clusters(&c, &run, &fresh);
		if (!rc && fresh.len && xw_vec_push(s, fresh))
			rc = nomem(f);
	}
	merge_runs(s, &twice);
	if (!rc && twice)
		rc = xw_fast_bad(f, ino, "has a block twice");
	return rc;
}

static int add(struct xw_fast *f, xw_blk start, uint64_t len)
{
	return xw_vec_push(&f->added, ((struct xw_run){start, len})) ? nomem(f) : 0;
}

static int lose(struct xw_fast *f, xw_blk start, uint64_t len)
{
	return xw_update_free(f->u, start, len);
}

int xw_fast_remap(struct xw_fast *f, const struct xw_fast_inode *i, struct xw_update_map *m)
{
	xw_fast_runs before = {0}, after = {0};
	int rc = set_of(f, i->ino, m, &before);

	if (!rc)
		rc = merge_ranges(f, i, m);
	if (!rc)
		rc = set_of(f, i->ino, m, &after);
	if (!rc)
		rc = each_difference(f, &after, &before, add);
	if (!rc)
		rc = each_difference(f, &before, &after, lose);
	xw_vec_free(&before);
	xw_vec_free(&after);
	return rc;
}

static int not_free(struct xw_fast *f, xw_blk start, uint64_t len)
{
	return xw_fast_bad(f, 0, "blocks %" PRIu64 "+%" PRIu64 " were in use before", start, len);
}

static int unclaim(struct xw_fast *f, xw_blk start, uint64_t len)
{
	return xw_space_release(f->u->space, start, len);
}

int xw_fast_release_unused(struct xw_fast *f)
{
	bool twice;
	int rc;

	merge_runs(&f->added, &twice);
	if (twice)
		return xw_fast_bad(f, 0, "two files have the same block");
	rc = each_difference(f, &f->added, &f->claimed, not_free);
	return rc ? rc : each_difference(f, &f->claimed, &f->added, unclaim);
}
