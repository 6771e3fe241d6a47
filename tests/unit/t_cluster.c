/* SPDX-License-Identifier: MIT */
/*
 * The allocator with clusters: a naive map of clusters beside it. Random requests, claims and
 * releases in blocks; no cluster is given out twice, answers begin at clusters and are as long as
 * the request, and what is free is what the map says.
 */
#include <stdlib.h>
#include <string.h>

#include "space/space.h"
#include "unit.h"

enum { BITS = 3, SIZE = 1 << BITS, CLUSTERS = 1024, GROUP = 256 };

struct held {
	xw_blk start;
	uint64_t len;
};

static uint32_t seed;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static void mark(bool *used, xw_blk start, uint64_t len, bool to)
{
	for (xw_blk c = start >> BITS; c <= (start + len - 1) >> BITS; c++) {
		ck_assert(used[c] != to);
		used[c] = to;
	}
}

static uint64_t free_blocks(const bool *used)
{
	uint64_t n = 0;

	for (int c = 0; c < CLUSTERS; c++)
		n += !used[c];
	return n * SIZE;
}

/* Each piece is a record of its own; the list grows to what the filesystem can hold. */
static size_t take(struct xw_space *s, struct xw_stream *st, bool *used, struct held *list,
		   size_t n)
{
	const struct xw_alloc_req req = {.goal = random_below(CLUSTERS * SIZE),
					 .len = 1 + random_below(60)};
	struct xw_run *runs, one;
	uint64_t sum = 0;
	size_t count;
	int rc;

	switch (random_below(3)) {
	case 0:
		rc = xw_space_alloc_all(s, &req, &runs, &count);
		break;
	case 1:
		rc = xw_stream_alloc(s, st, req.len, &runs, &count);
		break;
	default:
		rc = xw_stream_alloc_one(s, st, req.len, &one);
		if (rc != 1)
			return n;
		runs = malloc(sizeof(*runs));
		ck_assert_ptr_nonnull(runs);
		*runs = one;
		count = 1;
		rc = 0;
	}
	if (rc) {
		ck_assert_int_eq(rc, XW_ERR_NOSPC);
		ck_assert_uint_lt(free_blocks(used), (req.len + SIZE - 1) / SIZE * SIZE);
		return n;
	}
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(runs[i].start % SIZE, 0);
		ck_assert(i + 1 == count || runs[i].len % SIZE == 0);
		mark(used, runs[i].start, runs[i].len, true);
		list[n++] = (struct held){runs[i].start, runs[i].len};
		sum += runs[i].len;
	}
	ck_assert_uint_eq(sum, req.len);
	free(runs);
	return n;
}

START_TEST(against_a_map)
{
	static struct held list[CLUSTERS + 1];
	const struct xw_space_params p = {
		.blocks = CLUSTERS * SIZE,
		.blocks_per_group = GROUP * SIZE,
		.groups = CLUSTERS / GROUP,
		.cluster_bits = BITS,
		.optimize_scan = _i & 1,
		.linear_limit = -1,
		.order2_req = -1,
		.stream_req = -1,
		.min_to_scan = -1,
		.max_to_scan = -1,
		.best_avail_max_trim_order = -1,
	};
	bool used[CLUSTERS] = {0};
	struct xw_stream st = {0};
	struct xw_space *s;
	size_t n = 0;

	seed = 77u + (uint32_t)_i;
	ck_assert_int_eq(xw_space_new(&p, NULL, NULL, &s), 0);
	for (int step = 0; step < 4000; step++) {
		if (n && random_below(5) < 2) {
			const size_t i = random_below((uint32_t)n);

			ck_assert_int_eq(xw_space_release(s, list[i].start, list[i].len), 0);
			mark(used, list[i].start, list[i].len, false);
			list[i] = list[--n];
		} else {
			n = take(s, &st, used, list, n);
		}
		ck_assert_uint_eq(xw_space_free_blocks(s), free_blocks(used));
	}
	xw_space_free(s);
}
END_TEST

START_TEST(blocks_and_clusters)
{
	const struct xw_space_params p = {
		.blocks = CLUSTERS * SIZE,
		.blocks_per_group = GROUP * SIZE,
		.groups = CLUSTERS / GROUP,
		.cluster_bits = BITS,
		.optimize_scan = -1,
	};
	struct xw_group_summary sum;
	uint8_t bits[GROUP / 8];
	struct xw_space *s;

	ck_assert_int_eq(xw_space_new(&p, NULL, NULL, &s), 0);
	ck_assert_int_eq(xw_space_claim(s, 5, 6), 0); /* clusters 0 and 1 */
	ck_assert_int_eq(xw_space_claim(s, 15, 1), XW_ERR_CORRUPT);
	ck_assert_uint_eq(xw_space_next_free(s, 0), 2 * SIZE);
	ck_assert_uint_eq(xw_space_next_free(s, 2 * SIZE + 1), 3 * SIZE);
	ck_assert_uint_eq(xw_space_run_at(s, 2 * SIZE, 13), 13);
	xw_space_group(s, 0, &sum);
	ck_assert_uint_eq(sum.free, GROUP - 2);
	ck_assert_int_eq(xw_space_group_bitmap(s, 0, bits), 0);
	ck_assert_uint_eq(bits[0], 3);
	ck_assert_int_eq(xw_space_release(s, 0, 9), 0);
	ck_assert_uint_eq(xw_space_free_blocks(s), CLUSTERS * SIZE);
	xw_space_free(s);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("clusters");
	TCase *tc = tcase_create("clusters");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, against_a_map, 0, 8);
	tcase_add_test(tc, blocks_and_clusters);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
