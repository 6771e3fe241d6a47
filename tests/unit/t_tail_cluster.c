/* SPDX-License-Identifier: MIT */
/*
 * The layout behind a stream of unknown length, with bigalloc: no cluster has two owners among
 * data, metadata, the journal and its map; sizes are whole clusters; there is as much room as was
 * asked for.
 */
#include <stdio.h>

#include "tail_run.h"

enum owner { NOBODY, DATA, META, JOURNAL, MAP };

#define TRIES 60

static void random_options(struct rnd *r, char *out, size_t size)
{
	static const char *const features[] = {"", ",^flex_bg", ",meta_bg,^resize_inode",
					       ",sparse_super2,^resize_inode",
					       ",^flex_bg,^has_journal"};
	const unsigned bs = 1024u << rnd_below(r, 3), bits = 1 + (unsigned)rnd_below(r, 4);
	size_t n = (size_t)snprintf(out, size, "-b %u -C %u -O bigalloc%s", bs, bs << bits,
				    features[rnd_below(r, XW_ARRAY_SIZE(features))]);

	if (rnd_chance(r, 30))
		n += (size_t)snprintf(out + n, size - n, " -J size=%u",
				      (unsigned)(4 + rnd_below(r, 200)));
	if (rnd_chance(r, 30))
		n += (size_t)snprintf(out + n, size - n, " --free %u%%",
				      (unsigned)rnd_below(r, 60));
	if (rnd_chance(r, 20))
		snprintf(out + n, size - n, " -I 512 -N %u", (unsigned)rnd_magnitude(r, 16));
}

static uint64_t cluster_of(const struct run_of *t)
{
	return UINT64_C(1) << t->stream.cluster_bits;
}

/* Data ends with a cluster, in front of a reserve, behind a head. */
static uint64_t cluster_end(const struct run_of *t, uint64_t end)
{
	const struct xw_geo *s = &t->stream;
	const uint64_t size = cluster_of(t);
	struct xw_group_place p;

	end = xw_round_up(end, size);
	xw_geo_group(s, (uint32_t)((end - 1) / s->blocks_per_group), &p);
	if (is_own(s))
		end = XW_MIN(end, p.block_bitmap / size * size);
	return XW_MAX(end, p.start + xw_round_up(p.head, size) + size);
}

static int run_clusters(struct run_of *t, const char *o, struct rnd *r, struct xw_diag *diag)
{
	int err = plan_params(&t->p, o, 0, diag);
	struct xw_geo shrunk;

	memset(&t->geo, 0, sizeof(t->geo));
	if (!err)
		err = xw_geo_stream(&t->p, &t->stream, diag);
	if (err)
		return err;
	t->req = (struct xw_tail_req){
		.used_end = cluster_end(t, 1 + rnd_magnitude(r, 18)),
		.inodes = 11 + rnd_magnitude(r, 12),
		.used_blocks = UINT64_MAX,
	};
	if (rnd_chance(r, 50)) {
		err = xw_geo_shrink(&t->stream, &t->p, &t->req, &shrunk, diag);
		if (err)
			return err;
		t->stream = shrunk;
		t->req.used_end = cluster_end(t, t->req.used_end + rnd_magnitude(r, 14));
	}
	return xw_geo_tail(&t->stream, &t->p, &t->req, &t->geo, diag);
}

static void own_runs(const struct run_of *t, const char *o, uint8_t *owner,
		     const struct xw_run *runs, size_t n, enum owner who)
{
	const uint64_t size = cluster_of(t);

	for (size_t i = 0; i < n; i++) {
		hold(runs[i].start % size == 0 && runs[i].start >= t->req.used_end, "%s: run %zu",
		     o, i);
		hold(runs[i].len % size == 0 || i + 1 == n, "%s: run %zu", o, i);
		for (uint64_t c = runs[i].start / size;
		     c < xw_div_up(runs[i].start + runs[i].len, size); c++) {
			hold(owner[c] == NOBODY, "%s: cluster %llu", o, (unsigned long long)c);
			owner[c] = (uint8_t)who;
		}
	}
}

/* Metadata as the bitmaps have it; data is all that the stream had to give before used_end. */
static void own_groups(const struct run_of *t, const char *o, uint8_t *owner)
{
	const uint64_t size = cluster_of(t);
	const uint32_t per_group = t->geo.blocks_per_group;
	uint8_t *was = malloc(per_group / 8), *is = malloc(per_group / 8);

	for (uint32_t g = 0; g < t->geo.groups; g++) {
		struct xw_group_place p;

		xw_geo_group(&t->geo, g, &p);
		xw_geo_group_bitmap(&t->stream, g, was);
		xw_geo_group_bitmap(&t->geo, g, is);
		for (uint64_t i = 0; i < p.blocks / size; i++) {
			const uint64_t c = p.start / size + i;
			const bool data = c * size < t->req.used_end && !bit(was, i);

			hold(!data || !bit(is, i), "%s: cluster %llu is data", o,
			     (unsigned long long)c);
			owner[c] = data ? DATA : bit(is, i) ? META : NOBODY;
		}
	}
	free(was);
	free(is);
}

static void check_clusters(const struct run_of *t, const char *o)
{
	const uint64_t size = cluster_of(t), n = t->geo.blocks / size;
	uint64_t count[MAP + 1] = {0}, kept;
	uint8_t *owner = calloc(n, 1);

	ck_assert_uint_eq(t->geo.blocks % size, 0);
	ck_assert_uint_le(t->geo.tail_end, t->geo.blocks);
	own_groups(t, o, owner);
	own_runs(t, o, owner, t->geo.journal_runs, t->geo.n_journal_runs, JOURNAL);
	own_runs(t, o, owner, t->geo.journal_map_runs, t->geo.n_journal_map_runs, MAP);
	for (uint64_t c = 0; c < n; c++)
		count[owner[c]]++;
	ck_assert_uint_eq(count[JOURNAL], xw_div_up(t->geo.journal_blocks, size));
	ck_assert_uint_eq(count[MAP], t->geo.journal_map_blocks);
	ck_assert_uint_eq(count[META] + count[JOURNAL], t->geo.overhead);
	if (is_own(&t->geo))
		check_own(&t->geo, o);
	kept = XW_MIN(t->geo.blocks * 2 / 100, 4096);
	hold((double)(count[NOBODY] * size) >= t->p.free_percent / 100 * (double)t->geo.blocks +
						       (t->p.free_percent > 0 ? (double)kept : 0),
	     "%s: room", o);
	free(owner);
}

START_TEST(clusters)
{
	struct rnd r = {(uint64_t)_i + 77};
	unsigned made = 0;

	for (int i = 0; i < TRIES; i++) {
		struct xw_diag diag = {0};
		struct run_of t = {0};
		char o[200];
		int err;

		random_options(&r, o, sizeof(o));
		err = run_clusters(&t, o, &r, &diag);
		if (!err)
			check_clusters(&t, o);
		else
			ck_assert_msg(err == XW_ERR_LIMIT || err == XW_ERR_USAGE, "%s: %d %s", o,
				      err, diag.text);
		made += !err;
		done(&t);
	}
	ck_assert_uint_ge(made, TRIES / 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tail, clusters");
	TCase *t = tcase_create("clusters");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, clusters, 0, 10);
	suite_add_tcase(s, t);
	return unit_main(s);
}
