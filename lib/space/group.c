/* SPDX-License-Identifier: MIT */
/*
 * One group: its summary, its bitmap, and the transitions between the states described in priv.h.
 *
 * Allocating and freeing adjust the summary by the free run concerned; a group is never recounted.
 * Only the longest run and the largest buddy cannot be maintained incrementally: when one of them
 * is split, it becomes STALE, and xw_space_reindex determines it again, once, before the next
 * search over groups. The histogram of buddies is built when the first request of 2^k blocks needs
 * it, and adjusted from then on.
 */
#include "config.h"

#include "space/priv.h"

#include <stdlib.h>
#include <string.h>

static uint32_t nwords(const struct xw_space *s)
{
	return (s->cpg + 63) / 64;
}

uint64_t *xw_group_words(const struct xw_space *s, uint32_t g)
{
	return s->slots.v[s->groups[g].slot]->words;
}

/* ---- slots ---- */

static int slot_get(struct xw_space *s, uint32_t g)
{
	uint32_t id;

	if (s->spare.n) {
		id = s->spare.v[s->spare.n - 1];
	} else {
		/* A place in `spare` for every slot, so that releasing a slot cannot fail. */
		if (xw_vec_reserve(&s->spare, s->slots.n + 1) || xw_vec_push(&s->slots, NULL))
			return XW_ERR_NOMEM;
		id = (uint32_t)s->slots.n - 1;
		s->spare.v[s->spare.n++] = id;
	}
	if (!s->slots.v[id]) {
		s->slots.v[id] = malloc(sizeof(struct xw_bitmap) + nwords(s) * sizeof(uint64_t));
		if (!s->slots.v[id])
			return XW_ERR_NOMEM;
	}
	s->spare.n--;
	s->loaded++;
	s->groups[g].slot = id;
	return 0;
}

static void slot_put(struct xw_space *s, uint32_t g)
{
	struct xw_group *gr = &s->groups[g];

	if (gr->slot == XW_NO_SLOT)
		return;
	/* Keep as many allocated as a trim drops, for the groups that are read next. */
	if (s->spare.n >= XW_CLEAN_MAX) {
		free(s->slots.v[gr->slot]);
		s->slots.v[gr->slot] = NULL;
	}
	s->spare.v[s->spare.n++] = gr->slot;
	s->loaded--;
	gr->slot = XW_NO_SLOT;
}

void xw_space_trim(struct xw_space *s)
{
	size_t drop;

	if (s->clean.n <= 2 * XW_CLEAN_MAX)
		return;
	drop = s->clean.n - XW_CLEAN_MAX;
	for (size_t i = 0; i < drop; i++) {
		uint32_t g = s->clean.v[i];

		if (g < s->ngroups && !(s->groups[g].flags & XW_G_TOUCHED))
			slot_put(s, g);
	}
	s->clean.n -= drop;
	memmove(s->clean.v, s->clean.v + drop, s->clean.n * sizeof(*s->clean.v));
}

void xw_group_forget(struct xw_space *s, uint32_t g)
{
	slot_put(s, g);
}

void xw_groups_free(struct xw_space *s)
{
	for (size_t i = 0; i < s->slots.n; i++)
		free(s->slots.v[i]);
	xw_vec_free(&s->slots);
	xw_vec_free(&s->spare);
	xw_vec_free(&s->clean);
	free(s->groups);
}

/* ---- summaries ---- */

/*
 * Describe a group with one free run or none. xw_space_reindex sets the order later, since streams
 * call this for every file.
 */
static void describe(struct xw_space *s, uint32_t g, uint32_t first, uint32_t nfree)
{
	struct xw_group *gr = &s->groups[g];

	gr->free = gr->longest = gr->avg = (uint16_t)nfree;
	gr->fragments = nfree > 0;
	gr->first = nfree ? (uint16_t)first : 0;
	gr->head = first ? 0 : (uint16_t)nfree;
	gr->tail = first + nfree == xw_group_size(s, g) ? (uint16_t)nfree : 0;
}

static void describe_fully(struct xw_space *s, uint32_t g, uint32_t first, uint32_t nfree)
{
	describe(s, g, first, nfree);
	s->groups[g].order = (uint8_t)xw_buddy_order1(first, first + nfree);
}

static unsigned highest_buddy(const uint16_t hist[XW_SPACE_ORDERS])
{
	unsigned k = XW_SPACE_ORDERS;

	while (k && !hist[k - 1])
		k--;
	return k;
}

static void survey_words(const struct xw_space *s, uint32_t g, const uint64_t *words,
			 struct xw_group_survey *out)
{
	const struct xw_group *gr = &s->groups[g];
	uint32_t size = xw_group_size(s, g);
	struct xw_group_summary *sum = &out->sum;

	xw_bits_count(words, s->cpg, &sum->free, &sum->fragments);
	/* A group that was read before and has not changed needs no second pass. */
	if (!(gr->flags & (XW_G_UNRESOLVED | XW_G_STALE)) && gr->free == sum->free &&
	    gr->fragments == sum->fragments)
		sum->longest = gr->longest;
	else
		sum->longest = xw_bits_longest(words, s->cpg, UINT32_MAX);
	sum->first_free = sum->free ? xw_bits_next_free(words, 0, size) : 0;
	out->head = xw_bits_next_used(words, 0, size);
	out->tail = size - xw_bits_run_start(words, size);
	out->order1 = xw_bits_order1(words, s->cpg, sum->first_free, sum->longest);
}

void xw_space_survey(const struct xw_space *s, uint32_t group, void *bits,
		     struct xw_group_survey *out)
{
	xw_bits_from_le(bits, nwords(s));
	survey_words(s, group, bits, out);
}

bool xw_space_known(const struct xw_space *s, uint32_t group)
{
	const struct xw_group *gr = &s->groups[group];

	return gr->slot != XW_NO_SLOT || !(gr->flags & (XW_G_UNRESOLVED | XW_G_INEXACT));
}

void xw_space_learn(struct xw_space *s, uint32_t group, const struct xw_group_survey *seen)
{
	const struct xw_group_summary *sum = &seen->sum;
	struct xw_group *gr = &s->groups[group];

	s->free += sum->free;
	s->free -= gr->free;
	s->unread -= (gr->flags & XW_G_UNRESOLVED) != 0;
	gr->flags &= (uint8_t) ~(XW_G_UNRESOLVED | XW_G_INEXACT | XW_G_STALE | XW_G_STALE_ORDER);
	gr->free = (uint16_t)sum->free;
	gr->fragments = (uint16_t)sum->fragments;
	gr->avg = (uint16_t)(sum->fragments ? sum->free / sum->fragments : 0);
	gr->longest = (uint16_t)sum->longest;
	gr->first = (uint16_t)sum->first_free;
	gr->head = (uint16_t)seen->head;
	gr->tail = (uint16_t)seen->tail;
	gr->order = (uint8_t)seen->order1;
}

int xw_space_learned(struct xw_space *s)
{
	xw_index_free(s);
	return xw_index_new(s);
}

/* Recompute everything from the bitmap; a bitmap that is not needed is dropped. */
static void recount(struct xw_space *s, uint32_t g)
{
	struct xw_bitmap *bm = s->slots.v[s->groups[g].slot];
	struct xw_group_survey seen;

	bm->counted = false;
	survey_words(s, g, bm->words, &seen);
	xw_space_learn(s, g, &seen);
	if (seen.sum.fragments <= 1)
		slot_put(s, g);
}

const uint16_t *xw_group_buddies(struct xw_space *s, uint32_t g)
{
	struct xw_bitmap *bm = s->slots.v[s->groups[g].slot];

	if (!bm->counted)
		xw_bits_buddies(bm->words, s->cpg, bm->buddies);
	bm->counted = true;
	return bm->buddies;
}

/* Upper bounds from what is known without the bitmap. */
static void bound(struct xw_group *gr, uint32_t size)
{
	gr->flags |= XW_G_INEXACT;
	gr->avg = gr->free / gr->fragments;
	gr->head = gr->first ? 0 : gr->longest;
	gr->tail = (uint32_t)gr->first + gr->longest <= size ? gr->longest
							     : (uint16_t)(size - gr->first);
	gr->order = (uint8_t)(xw_floor_log2(gr->longest) + 1);
}

static bool summary_ok(const struct xw_group_summary *m, uint32_t size)
{
	if (!m->free)
		return !m->fragments && !m->longest;
	/* All other runs have at least one block each, and used blocks separate the runs. */
	return m->free <= size && m->fragments && m->longest && m->longest <= m->free &&
	       m->fragments - 1 <= m->free - m->longest &&
	       (m->fragments > 1 || m->longest == m->free) && m->first_free < size &&
	       m->free + (m->fragments - 1) <= size - m->first_free;
}

int xw_group_init(struct xw_space *s, uint32_t g, struct xw_diag *diag)
{
	struct xw_group *gr = &s->groups[g];
	uint32_t size = xw_group_size(s, g);
	struct xw_group_summary m = {.free = size, .fragments = 1, .longest = size};
	bool known = true;
	int rc;

	gr->slot = XW_NO_SLOT;
	if (s->src.summary) {
		rc = s->src.summary(s->src.arg, g, &m, &known);
		if (rc)
			return rc;
	}
	if (!known) {
		describe_fully(s, g, 0, XW_MIN(m.free, size));
		gr->flags = XW_G_UNRESOLVED;
		s->unread++;
	} else if (!summary_ok(&m, size)) {
		return xw_fail(diag, XW_ERR_CORRUPT,
			       "free space of group %u is inconsistent: %u free in %u runs, "
			       "longest %u, first %u",
			       g, m.free, m.fragments, m.longest, m.first_free);
	} else if (m.fragments <= 1) {
		describe_fully(s, g, m.first_free, m.free);
	} else {
		gr->free = (uint16_t)m.free;
		gr->fragments = (uint16_t)m.fragments;
		gr->longest = (uint16_t)m.longest;
		gr->first = (uint16_t)m.first_free;
		bound(gr, size);
	}
	s->free += gr->free;
	return 0;
}

/* ---- bitmaps ---- */

static int from_source(struct xw_space *s, uint32_t g, uint64_t *words)
{
	uint32_t n = nwords(s);
	int rc;

	if (!s->src.bitmap)
		return XW_ERR_STATE;
	memset(words, 0xff, n * sizeof(*words));
	rc = s->src.bitmap(s->src.arg, g, (uint8_t *)words);
	if (rc)
		return rc;
	xw_bits_from_le(words, n);
	xw_bits_fill(words, xw_group_size(s, g), n * 64, true);
	return 0;
}

int xw_group_load(struct xw_space *s, uint32_t g)
{
	struct xw_group *gr = &s->groups[g];
	int rc;

	if (gr->slot != XW_NO_SLOT || xw_group_described(gr))
		return 0;
	if (xw_vec_reserve(&s->clean, s->clean.n + 1))
		return XW_ERR_NOMEM;
	rc = slot_get(s, g);
	if (rc)
		return rc;
	rc = from_source(s, g, xw_group_words(s, g));
	if (rc) {
		slot_put(s, g);
		return rc;
	}
	s->st.buddies_generated++;
	recount(s, g);
	if (gr->slot != XW_NO_SLOT)
		s->clean.v[s->clean.n++] = g;
	xw_index_update(s, g);
	return 0;
}

/* described -> in memory */
static int expand(struct xw_space *s, uint32_t g)
{
	struct xw_group *gr = &s->groups[g];
	uint32_t a = gr->first, b = a + gr->free;
	struct xw_bitmap *bm;
	int rc = slot_get(s, g);

	if (rc)
		return rc;
	bm = s->slots.v[gr->slot];
	memset(bm->words, 0xff, nwords(s) * sizeof(uint64_t));
	xw_bits_fill(bm->words, a, b, false);
	memset(bm->buddies, 0, sizeof(bm->buddies));
	xw_buddies_of_run(bm->buddies, a, b, 1);
	bm->counted = true;
	return 0;
}

int xw_group_copy(struct xw_space *s, uint32_t g, uint8_t *bits)
{
	const struct xw_group *gr = &s->groups[g];
	uint32_t nbytes = s->cpg / 8;
	int rc;

	if (xw_group_described(gr)) {
		uint32_t a = gr->first, b = a + gr->free;

		memset(bits, 0xff, nbytes);
		for (; a < b && a % 8; a++)
			bits[a / 8] &= (uint8_t) ~(1u << a % 8);
		for (; b > a && b % 8; b--)
			bits[b / 8] &= (uint8_t) ~(1u << (b - 1) % 8);
		if (a < b)
			memset(bits + a / 8, 0, (b - a) / 8);
		return 0;
	}
	rc = xw_group_load(s, g);
	if (rc)
		return rc;
	if (gr->slot == XW_NO_SLOT)
		return xw_group_copy(s, g, bits);
	xw_bits_to_le(xw_group_words(s, g), bits, nbytes);
	return 0;
}

/* ---- queries ---- */

uint32_t xw_group_next_free(const struct xw_space *s, uint32_t g, uint32_t at)
{
	const struct xw_group *gr = &s->groups[g];
	uint32_t size = xw_group_size(s, g);

	if (gr->slot != XW_NO_SLOT)
		return xw_bits_next_free(xw_group_words(s, g), at, size);
	if (at < gr->first)
		return gr->first;
	return at < (uint32_t)gr->first + gr->free ? at : size;
}

uint32_t xw_group_run_end(const struct xw_space *s, uint32_t g, uint32_t at)
{
	const struct xw_group *gr = &s->groups[g];

	if (gr->slot != XW_NO_SLOT)
		return xw_bits_next_used(xw_group_words(s, g), at, xw_group_size(s, g));
	return at >= gr->first && at < (uint32_t)gr->first + gr->free
		       ? (uint32_t)gr->first + gr->free
		       : at;
}

uint32_t xw_group_find_run(const struct xw_space *s, uint32_t g, uint32_t at, uint32_t n)
{
	const struct xw_group *gr = &s->groups[g];
	uint32_t size = xw_group_size(s, g);

	if (gr->slot != XW_NO_SLOT)
		return xw_bits_find_run(xw_group_words(s, g), at, size, n);
	at = XW_MAX(at, gr->first);
	return at + n <= (uint32_t)gr->first + gr->free ? at : size;
}

bool xw_group_is_free(const struct xw_space *s, uint32_t g, uint32_t at, uint32_t n)
{
	return xw_group_run_end(s, g, at) >= at + n;
}

bool xw_group_is_used(const struct xw_space *s, uint32_t g, uint32_t at, uint32_t n)
{
	return xw_group_next_free(s, g, at) >= at + n;
}

/* 1 + the largest buddy order of a group whose bitmap is in memory; gr->longest is exact. */
static unsigned order1_of(const struct xw_space *s, const struct xw_group *gr)
{
	const struct xw_bitmap *bm = s->slots.v[gr->slot];

	if (bm->counted)
		return highest_buddy(bm->buddies);
	return gr->flags & XW_G_STALE_ORDER
		       ? xw_bits_order1(bm->words, s->cpg, gr->first, gr->longest)
		       : gr->order;
}

struct xw_group xw_group_exact(const struct xw_space *s, uint32_t g)
{
	struct xw_group gr = s->groups[g];

	if (g != s->dirty)
		return gr;
	if (gr.flags & XW_G_STALE)
		gr.longest = (uint16_t)xw_bits_longest(xw_group_words(s, g) + gr.first / 64,
						       s->cpg - gr.first / 64 * 64, gr.longest);
	gr.avg = gr.fragments ? gr.free / gr.fragments : 0;
	if (gr.slot == XW_NO_SLOT)
		gr.order = (uint8_t)xw_buddy_order1(gr.first, (uint32_t)gr.first + gr.free);
	else
		gr.order = (uint8_t)order1_of(s, &gr);
	gr.flags &= (uint8_t) ~(XW_G_STALE | XW_G_STALE_ORDER);
	return gr;
}

/* ---- changes ---- */

void xw_group_dirty(struct xw_space *s, uint32_t g)
{
	s->groups[g].flags |= XW_G_TOUCHED;
	if (s->dirty == g)
		return;
	xw_space_reindex(s);
	s->dirty = g;
	s->indexed_as = s->groups[g];
}

void xw_space_reindex(struct xw_space *s)
{
	uint32_t g = s->dirty;

	if (g == XW_NO_GROUP)
		return;
	s->groups[g] = xw_group_exact(s, g);
	s->dirty = XW_NO_GROUP;
	xw_index_change(s, g, &s->indexed_as);
}

/* in memory -> described, when one run or none is left */
static void collapse(struct xw_space *s, uint32_t g)
{
	struct xw_group *gr = &s->groups[g];

	if (gr->fragments > 1)
		return;
	gr->flags &= (uint8_t) ~(XW_G_STALE | XW_G_STALE_ORDER);
	describe(s, g, gr->first, gr->free);
	slot_put(s, g);
}

/*
 * Blocks [at, end) of the free run [a, b) were allocated (sign -1) or freed (1) in a group in
 * memory: adjust its buddy histogram, or else the order of its largest buddy.
 */
static void change_buddies(struct xw_group *gr, struct xw_bitmap *bm, const uint32_t run[4],
			   int sign)
{
	const uint32_t a = run[0], at = run[1], end = run[2], b = run[3];
	unsigned whole, parts;

	if (bm->counted) {
		xw_buddies_of_run(bm->buddies, a, b, sign);
		xw_buddies_of_run(bm->buddies, a, at, -sign);
		xw_buddies_of_run(bm->buddies, end, b, -sign);
		return;
	}
	whole = xw_buddy_order1(a, b);
	if (whole < gr->order)
		return;
	parts = XW_MAX(xw_buddy_order1(a, at), xw_buddy_order1(end, b));
	if (sign > 0) {
		gr->order = (uint8_t)whole;
		gr->flags &= (uint8_t)~XW_G_STALE_ORDER;
	} else if (parts < gr->order) {
		gr->flags |= XW_G_STALE_ORDER;
	}
}

int xw_group_allocate(struct xw_space *s, uint32_t g, uint32_t at, uint32_t n)
{
	struct xw_group *gr = &s->groups[g];
	uint32_t size = xw_group_size(s, g), a, b, end = at + n;
	struct xw_bitmap *bm;

	if (gr->slot == XW_NO_SLOT && at != gr->first && end != (uint32_t)gr->first + gr->free) {
		int rc = expand(s, g);

		if (rc)
			return rc;
	}
	xw_group_dirty(s, g);
	s->free -= n;
	if (gr->slot == XW_NO_SLOT) {
		describe(s, g, at == gr->first ? end : gr->first, gr->free - n);
		return 0;
	}
	bm = s->slots.v[gr->slot];
	a = xw_bits_run_start(bm->words, at);
	b = xw_bits_next_used(bm->words, end, size);
	xw_bits_fill(bm->words, at, end, true);
	change_buddies(gr, bm, (const uint32_t[4]){a, at, end, b}, -1);
	gr->free = (uint16_t)(gr->free - n);
	gr->fragments = (uint16_t)(gr->fragments + (a < at) + (end < b) - 1);
	if (b - a == gr->longest)
		gr->flags |= XW_G_STALE;
	if (at == gr->first)
		gr->first = gr->free ? (uint16_t)xw_bits_next_free(bm->words, end, size) : 0;
	if (a == 0)
		gr->head = (uint16_t)at;
	if (b == size)
		gr->tail = (uint16_t)(size - end);
	collapse(s, g);
	return 0;
}

int xw_group_release(struct xw_space *s, uint32_t g, uint32_t at, uint32_t n)
{
	struct xw_group *gr = &s->groups[g];
	uint32_t size = xw_group_size(s, g), a, b, end = at + n;
	struct xw_bitmap *bm;

	if (gr->slot == XW_NO_SLOT && gr->free && end != gr->first &&
	    at != (uint32_t)gr->first + gr->free) {
		int rc = expand(s, g);

		if (rc)
			return rc;
	}
	xw_group_dirty(s, g);
	s->free += n;
	if (gr->slot == XW_NO_SLOT) {
		describe(s, g, !gr->free || end == gr->first ? at : gr->first, gr->free + n);
		return 0;
	}
	bm = s->slots.v[gr->slot];
	xw_bits_fill(bm->words, at, end, false);
	a = xw_bits_run_start(bm->words, at);
	b = xw_bits_next_used(bm->words, end, size);
	change_buddies(gr, bm, (const uint32_t[4]){a, at, end, b}, 1);
	gr->free = (uint16_t)(gr->free + n);
	gr->fragments = (uint16_t)(gr->fragments + 1 - (a < at) - (end < b));
	if (b - a >= gr->longest) {
		gr->longest = (uint16_t)(b - a);
		gr->flags &= (uint8_t)~XW_G_STALE;
	}
	gr->first = (uint16_t)XW_MIN(gr->first, a);
	if (a == 0)
		gr->head = (uint16_t)b;
	if (b == size)
		gr->tail = (uint16_t)(size - a);
	collapse(s, g);
	return 0;
}

int xw_group_shorten(struct xw_space *s, uint32_t g, uint32_t size)
{
	struct xw_group *gr = &s->groups[g];
	uint32_t old = xw_group_size(s, g);
	int rc;

	if (size == old)
		return 0;
	rc = xw_group_load(s, g);
	if (rc)
		return rc;
	s->last_size = size; /* the caller made this group the last one */
	if (gr->slot != XW_NO_SLOT) {
		xw_bits_fill(xw_group_words(s, g), size, old, true);
		recount(s, g);
	} else {
		uint32_t first = gr->first, end = XW_MIN((uint32_t)first + gr->free, size);

		s->free -= gr->free;
		describe_fully(s, g, first, first < end ? end - first : 0);
		s->free += gr->free;
	}
	return 0;
}
