/* SPDX-License-Identifier: MIT */
/*
 * The research's disk: 491,520 groups of 32,768 blocks of 4 KiB, half full, so fragmented that no
 * 2 MiB are free in one piece. 16 patterns of group stand for all; bitmaps are made when asked
 * for. Shared by the test and the benchmark.
 */
#ifndef XW_TESTS_MODEL_65TB_H
#define XW_TESTS_MODEL_65TB_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "space/space.h"

#define BIG_GROUPS 491520u
#define BIG_BPG 32768u
#define BIG_PATTERNS 16
#define BIG_LONGEST 300 /* of every eighth pattern; others stay below */
#define BIG_BETTER 3000 /* in one run, at the end of the group */
#define BIG_USUAL 26 /* all other runs: what a scan of 200 runs finds */

struct big_model {
	uint32_t groups;
	uint8_t bits[BIG_PATTERNS][BIG_BPG / 8];
	struct xw_group_summary sum[BIG_PATTERNS];
	uint32_t clean[8]; /* groups that are wholly free */
	unsigned nclean;
	uint32_t better; /* this group has BIG_BETTER more free blocks than its pattern; 0: none */
	bool known;
	uint64_t loads;
};

static inline uint64_t big_rnd(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * UINT64_C(0x2545F4914F6CDD1D);
}

static inline void big_pattern(struct big_model *m, unsigned p, uint64_t *seed)
{
	uint32_t longest = p % 8 == 3 ? BIG_LONGEST : 90 + 10 * p, at = 0;
	struct xw_group_summary *sum = &m->sum[p];

	memset(m->bits[p], 0xff, sizeof(m->bits[p]));
	/* Odd patterns begin with free blocks: runs over group boundaries are possible there. */
	at = p % 2 ? 0 : 1 + (uint32_t)big_rnd(seed) % 40;
	while (at < BIG_BPG - longest) {
		uint32_t len = 1 + (uint32_t)big_rnd(seed) % BIG_USUAL;

		if (sum->fragments == 400)
			len = longest;
		if (!sum->free)
			sum->first_free = at;
		for (uint32_t i = at; i < at + len; i++)
			m->bits[p][i / 8] &= (uint8_t) ~(1u << i % 8);
		sum->free += len;
		sum->fragments++;
		sum->longest = len > sum->longest ? len : sum->longest;
		at += len + 1 + (uint32_t)big_rnd(seed) % BIG_USUAL;
	}
}

static inline unsigned big_pattern_of(uint32_t group)
{
	return (group * 7 + group / 1000) % BIG_PATTERNS;
}

static inline bool big_is_clean(const struct big_model *m, uint32_t group)
{
	for (unsigned i = 0; i < m->nclean; i++)
		if (m->clean[i] == group)
			return true;
	return false;
}

/* Number of free blocks of a group that is not clean. */
static inline uint32_t big_free(const struct big_model *m, uint32_t group)
{
	const uint8_t *bits = m->bits[big_pattern_of(group)];
	uint32_t more = 0;

	for (uint32_t i = BIG_BPG - BIG_BETTER; i < BIG_BPG && group && group == m->better; i++)
		more += bits[i / 8] >> i % 8 & 1;
	return m->sum[big_pattern_of(group)].free + more;
}

static inline int big_summary(void *arg, uint32_t group, struct xw_group_summary *out, bool *known)
{
	const struct big_model *m = arg;

	*known = m->known;
	if (big_is_clean(m, group))
		return 0; /* the default is a free group */
	if (m->known)
		*out = m->sum[big_pattern_of(group)];
	else
		out->free = big_free(m, group);
	return 0;
}

static inline int big_bitmap(void *arg, uint32_t group, uint8_t *bits)
{
	struct big_model *m = arg;

	m->loads++;
	memcpy(bits, m->bits[big_pattern_of(group)], BIG_BPG / 8);
	if (group && group == m->better)
		memset(bits + (BIG_BPG - BIG_BETTER) / 8, 0, BIG_BETTER / 8);
	if (big_is_clean(m, group))
		memset(bits, 0, BIG_BPG / 8);
	return 0;
}

static inline struct big_model *big_model_new(uint32_t groups)
{
	struct big_model *m = calloc(1, sizeof(*m));
	uint64_t seed = 65;

	if (!m)
		abort();
	m->groups = groups;
	m->known = true;
	for (unsigned p = 0; p < BIG_PATTERNS; p++)
		big_pattern(m, p, &seed);
	return m;
}

static inline struct xw_space *big_space(struct big_model *m, int optimize_scan)
{
	struct xw_space_params p = {.blocks = (uint64_t)m->groups * BIG_BPG,
				    .blocks_per_group = BIG_BPG,
				    .groups = m->groups,
				    .optimize_scan = optimize_scan,
				    .linear_limit = -1,
				    .order2_req = -1,
				    .stream_req = -1,
				    .min_to_scan = -1,
				    .max_to_scan = -1,
				    .best_avail_max_trim_order = -1};
	struct xw_space_source src = {big_summary, big_bitmap, m, NULL};
	struct xw_diag diag = {0};
	struct xw_space *s;

	if (xw_space_new(&p, &src, &diag, &s)) {
		fprintf(stderr, "%s\n", diag.text);
		abort();
	}
	return s;
}

static inline uint64_t big_considered(const struct xw_space *s)
{
	struct xw_space_stats st;
	uint64_t n = 0;

	xw_space_stats(s, &st);
	for (unsigned c = 0; c < XW_CR_COUNT; c++)
		n += st.cr[c].groups_considered;
	return n;
}

/*
 * As dd writes it: requests of what is left of `bs` blocks, each answered with one run, until all
 * is there. Returns the number of runs; 0 on failure.
 */
static inline uint64_t big_dd(struct xw_space *s, uint64_t bs, unsigned count)
{
	uint64_t runs = 0;

	for (unsigned i = 0; i < count; i++)
		for (uint64_t left = bs; left;) {
			struct xw_alloc_req req = {0, left, 0};
			struct xw_run run;

			if (xw_space_alloc(s, &req, &run))
				return 0;
			left -= run.len;
			runs++;
		}
	return runs;
}

/* The research's table, each line behind `prefix`. */
static inline void big_print(const struct xw_space *s, const char *prefix, const char *title)
{
	struct xw_space_stats st;

	xw_space_stats(s, &st);
	printf("%s%s\n", prefix, title);
	printf("%s  reqs %llu, success %llu, groups_scanned %llu, groups_considered %llu, "
	       "extents_scanned %llu\n",
	       prefix, (unsigned long long)st.requests, (unsigned long long)st.success,
	       (unsigned long long)st.groups_scanned, (unsigned long long)big_considered(s),
	       (unsigned long long)st.extents_scanned);
	printf("%s  goal_hits %llu, stream_hits %llu, exact_hits %llu, breaks %llu, lost %llu, "
	       "buddies_generated %llu, index_steps %llu\n",
	       prefix, (unsigned long long)st.goal_hits, (unsigned long long)st.stream_hits,
	       (unsigned long long)st.exact_hits, (unsigned long long)st.breaks,
	       (unsigned long long)st.lost, (unsigned long long)st.buddies_generated,
	       (unsigned long long)st.index_steps);
	for (unsigned c = 0; c < XW_CR_COUNT; c++)
		printf("%s  %-10s hits %6llu, groups_considered %10llu, extents_scanned %6llu, "
		       "useless_loops %6llu\n",
		       prefix, xw_criteria_name((enum xw_criteria)c),
		       (unsigned long long)st.cr[c].hits,
		       (unsigned long long)st.cr[c].groups_considered,
		       (unsigned long long)st.cr[c].extents_scanned,
		       (unsigned long long)st.cr[c].useless_loops);
	fflush(stdout);
}

#endif
