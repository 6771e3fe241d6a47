/* SPDX-License-Identifier: MIT */
/*
 * The plainest model of free space: one byte per block. Tests of the allocator hold it against
 * the allocator.
 */
#ifndef XW_TESTS_SPACE_MODEL_H
#define XW_TESTS_SPACE_MODEL_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "space/priv.h"
#include "space_check.h"

struct model {
	uint32_t fdb, bpg, groups;
	uint64_t blocks, free;
	uint8_t *used;
	uint8_t *origin; /* as the source tells it: the allocator may ask again at any time */
	bool known; /* the source knows summaries */
	uint32_t fail_group; /* its bitmap cannot be read */
	unsigned loads;
};

/* xorshift64*: the same numbers everywhere */
static inline uint64_t rnd(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * UINT64_C(0x2545F4914F6CDD1D);
}

static inline void model_init(struct model *m, uint32_t fdb, uint32_t bpg, uint64_t blocks)
{
	*m = (struct model){.fdb = fdb, .bpg = bpg, .blocks = blocks, .fail_group = UINT32_MAX};
	m->groups = (uint32_t)xw_div_up(blocks - fdb, bpg);
	m->free = blocks - fdb;
	m->used = calloc(blocks, 1);
	m->origin = calloc(blocks, 1);
	ck_assert(m->used && m->origin);
}

static inline void model_free(struct model *m)
{
	free(m->used);
	free(m->origin);
}

/*
 * Check writes to a pipe for every assertion that holds: in loops over blocks only failures may
 * call it.
 */
static inline void model_set(struct model *m, xw_blk start, uint64_t len, bool used)
{
	if (start < m->fdb || start >= m->blocks || len > m->blocks - start)
		ck_abort_msg("%llu+%llu is outside", (unsigned long long)start,
			     (unsigned long long)len);
	for (xw_blk b = start; b < start + len; b++)
		if (m->used[b] == used)
			ck_abort_msg("block %llu is %s twice", (unsigned long long)b,
				     used ? "taken" : "freed");
	memset(m->used + start, used, len);
	m->free = used ? m->free - len : m->free + len;
}

/* Used and free runs of random lengths up to max_used and max_free, before the allocator exists. */
static inline void model_fragment(struct model *m, uint64_t *seed, uint64_t max_used,
				  uint64_t max_free)
{
	for (xw_blk b = m->fdb; b < m->blocks;) {
		uint64_t n = rnd(seed) % (max_used + 1);

		n = XW_MIN(n, m->blocks - b);
		model_set(m, b, n, true);
		b += n + 1 + rnd(seed) % max_free;
	}
	memcpy(m->origin, m->used, m->blocks);
}

static inline uint32_t model_group_size(const struct model *m, uint32_t g)
{
	return (uint32_t)XW_MIN(m->bpg, m->blocks - m->fdb - (uint64_t)g * m->bpg);
}

static inline int model_bitmap(void *arg, uint32_t g, uint8_t *bits)
{
	struct model *m = arg;
	xw_blk base = m->fdb + (xw_blk)g * m->bpg;

	m->loads++;
	if (g == m->fail_group)
		return XW_ERR_IO;
	memset(bits, 0, m->bpg / 8); /* bits past the end left clear on purpose */
	for (uint32_t i = 0; i < model_group_size(m, g); i++)
		bits[i / 8] |= (uint8_t)(m->origin[base + i] << i % 8);
	return 0;
}

static inline struct xw_group_summary model_count(const struct model *m, const uint8_t *used,
						  uint32_t g)
{
	xw_blk base = m->fdb + (xw_blk)g * m->bpg;
	struct xw_group_summary r = {0};
	uint32_t run = 0;

	for (uint32_t i = 0; i < model_group_size(m, g); i++) {
		if (used[base + i]) {
			run = 0;
			continue;
		}
		if (!r.free)
			r.first_free = i;
		r.free++;
		r.fragments += !run;
		run++;
		r.longest = XW_MAX(r.longest, run);
	}
	return r;
}

static inline int model_summary(void *arg, uint32_t g, struct xw_group_summary *out, bool *known)
{
	const struct model *m = arg;
	struct xw_group_summary r = model_count(m, m->origin, g);

	if (m->known) {
		*out = r;
	} else {
		out->free = r.free;
		*known = false;
	}
	return 0;
}

static inline struct xw_space *model_space(struct model *m, int optimize_scan)
{
	struct xw_space_params p = {.blocks = m->blocks,
				    .first_data_block = m->fdb,
				    .blocks_per_group = m->bpg,
				    .groups = m->groups,
				    .optimize_scan = optimize_scan,
				    .linear_limit = -1,
				    .order2_req = -1,
				    .stream_req = -1,
				    .min_to_scan = -1,
				    .max_to_scan = -1,
				    .best_avail_max_trim_order = -1};
	struct xw_space_source src = {model_summary, model_bitmap, m, NULL};
	struct xw_diag diag = {0};
	struct xw_space *s;

	ck_assert_msg(!xw_space_new(&p, &src, &diag, &s), "%s", diag.text);
	return s;
}

/* Everything the allocator says about its groups, against the model and its own invariants. */
static inline void model_compare(struct model *m, struct xw_space *s)
{
	uint8_t *bits = malloc(m->bpg / 8);
	const char *wrong;

	ck_assert_ptr_nonnull(bits);
	for (uint32_t g = 0; g < m->groups; g++) {
		xw_blk base = m->fdb + (xw_blk)g * m->bpg;
		struct xw_group_summary want = model_count(m, m->used, g), got;

		ck_assert_int_eq(xw_space_group_bitmap(s, g, bits), 0);
		for (uint32_t i = 0; i < m->bpg; i++) {
			bool used = i >= model_group_size(m, g) || m->used[base + i];

			if ((bits[i / 8] >> i % 8 & 1) != used)
				ck_abort_msg("bitmap of group %u differs at %u", g, i);
		}
		xw_space_group(s, g, &got);
		if (!want.free)
			want.first_free = got.first_free;
		if (memcmp(&got, &want, sizeof(got)) != 0)
			ck_abort_msg("summary of group %u differs", g);
	}
	free(bits);
	ck_assert_uint_eq(xw_space_free_blocks(s), m->free);
	wrong = xw_space_check(s);
	ck_assert_msg(!wrong, "%s", wrong);
}

static inline uint64_t model_run_at(const struct model *m, xw_blk at, uint64_t max)
{
	uint64_t n = 0;

	while (at + n < m->blocks && n < max && at >= m->fdb && !m->used[at + n])
		n++;
	return n;
}

static inline int model_longer(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x > y ? -1 : x < y;
}

/*
 * The fewest runs that hold len blocks, by brute force; runs end at group boundaries when
 * `split`. 0 = there is no room.
 */
static inline size_t model_fewest(const struct model *m, uint64_t len, bool split)
{
	XW_VEC(uint64_t) runs = {0};
	uint64_t sum = 0, run = 0;
	size_t k = 0;

	for (xw_blk b = m->fdb; b <= m->blocks; b++) {
		bool end = b == m->blocks || m->used[b] || (split && (b - m->fdb) % m->bpg == 0);

		if (end && run) {
			if (xw_vec_push(&runs, run))
				abort();
			run = 0;
		}
		run += b < m->blocks && !m->used[b];
	}
	if (runs.n)
		qsort(runs.v, runs.n, sizeof(*runs.v), model_longer);
	while (k < runs.n && sum < len)
		sum += runs.v[k++];
	xw_vec_free(&runs);
	return sum < len ? 0 : k;
}

#endif
