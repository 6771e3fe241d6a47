/* SPDX-License-Identifier: MIT */
/*
 * The layout behind a stream of unknown length: property tests over random streams. "Data" here is
 * everything before used_end that is not a head of the stream geometry.
 */
#include <stdio.h>

#include "plan_util.h"

struct run_of {
	struct xw_mkfs_params p;
	struct xw_geo stream, geo;
	struct xw_tail_req req;
};

static void done(struct run_of *t)
{
	xw_geo_free(&t->geo);
	xw_geo_free(&t->stream);
	xw_params_free(&t->p);
}

/* Blocks of heads before `end` as the stream stepped over them. */
static uint64_t heads_before(const struct xw_geo *stream, uint64_t end)
{
	uint64_t n = 0;

	for (uint32_t g = xw_geo_next_super(stream, 0); g < stream->groups;
	     g = xw_geo_next_super(stream, g + 1)) {
		uint64_t start = stream->first_data_block + (uint64_t)g * stream->blocks_per_group;

		if (start >= end)
			break;
		n += XW_MIN(stream->head_blocks, end - start);
	}
	return n;
}

/*
 * A stream that used everything up to used_end but for `gaps` blocks. used_end is moved out of a
 * head.
 */
static int run(struct run_of *t, const char *options, uint64_t used_end, uint64_t gaps,
	       uint64_t inodes, struct xw_diag *diag)
{
	int err = plan_params(&t->p, options, 0, diag);
	uint64_t group, room;

	memset(&t->stream, 0, sizeof(t->stream));
	memset(&t->geo, 0, sizeof(t->geo));
	memset(&t->req, 0, sizeof(t->req));
	if (!err)
		err = xw_geo_stream(&t->p, &t->stream, diag);
	if (err)
		return err;
	used_end =
		XW_MAX(used_end, (uint64_t)t->stream.first_data_block + t->stream.head_blocks + 5);
	group = (used_end - t->stream.first_data_block) / t->stream.blocks_per_group;
	if (group < t->stream.groups && xw_geo_has_super(&t->stream, (uint32_t)group)) {
		uint64_t start = t->stream.first_data_block + group * t->stream.blocks_per_group;

		used_end = XW_MAX(used_end, start + t->stream.head_blocks);
	}
	room = used_end - t->stream.first_data_block - heads_before(&t->stream, used_end);
	t->req.used_end = used_end;
	t->req.used_blocks = room - XW_MIN(gaps, room - 5);
	t->req.inodes = XW_MAX(inodes, 11);
	return xw_geo_tail(&t->stream, &t->p, &t->req, &t->geo, diag);
}

static uint64_t free_blocks(const struct run_of *t)
{
	return t->geo.blocks - t->geo.overhead - t->req.used_blocks;
}

/* Everything that must hold for any stream. */
static void check(const struct run_of *t, const char *o)
{
	const struct xw_geo *geo = &t->geo;
	uint64_t supers = 0, inodes = (uint64_t)geo->inodes_per_group * geo->groups, journal = 0,
		 sum;
	uint64_t per_block = geo->block_size / geo->inode_size;
	struct xw_group_place last;
	struct owned all = {0};

	ck_assert_msg(geo->groups ==
			      xw_div_up(geo->blocks - geo->first_data_block, geo->blocks_per_group),
		      "%s: %u groups, %llu blocks", o, geo->groups,
		      (unsigned long long)geo->blocks);
	ck_assert_uint_le(geo->groups, t->stream.groups);
	ck_assert_uint_le(geo->blocks, t->stream.blocks);
	ck_assert_msg(inodes >= t->req.inodes && inodes >= t->p.inodes && inodes <= UINT32_MAX,
		      "%s: inodes", o);
	ck_assert_msg(geo->inodes_per_group % 8 == 0 && geo->inodes_per_group % per_block == 0,
		      "%s: ipg %u", o, geo->inodes_per_group);
	ck_assert_uint_le(geo->inodes_per_group, 8 * geo->block_size);
	ck_assert_uint_eq((uint64_t)geo->itable_blocks * per_block, geo->inodes_per_group);
	ck_assert_uint_eq(geo->desc_blocks, xw_div_up(geo->groups, geo->desc_per_block));
	ck_assert_uint_le(geo->head_blocks, t->stream.head_blocks);
	ck_assert_uint_le(geo->reserved_gdt, geo->block_size / 4);
	if (xw_has_compat(&geo->features, XW_COMPAT_RESIZE_INODE))
		ck_assert_uint_eq(geo->head_blocks, t->stream.head_blocks);
	else
		ck_assert_uint_eq(geo->reserved_gdt, 0);

	for (uint32_t g = 0; g < geo->groups; g++) {
		supers += xw_geo_has_super(geo, g);
		/* a head where data may be must be one that the stream stepped over */
		if (xw_geo_has_super(geo, g) &&
		    geo->first_data_block + (uint64_t)g * geo->blocks_per_group < t->req.used_end)
			ck_assert_msg(xw_geo_has_super(&t->stream, g),
				      "%s: head of group %u is on data", o, g);
	}
	xw_geo_group(geo, geo->groups - 1, &last);
	ck_assert_uint_ge(last.blocks, XW_MAX(last.head, 1));

	owned_metadata(&all, geo);
	for (size_t i = 0; i < all.n; i++)
		ck_assert_msg(!strcmp(all.v[i].what, "head") || all.v[i].start >= t->req.used_end,
			      "%s: %s %u lies before the end of data", o, all.v[i].what,
			      all.v[i].group);
	sum = owned_check(&all, geo, o);
	owned_check_bitmaps(&all, geo, o);
	ck_assert_uint_eq(sum, supers * geo->head_blocks +
				       (uint64_t)geo->groups * (2 + geo->itable_blocks));
	for (size_t i = 0; i < geo->n_journal_runs; i++) {
		ck_assert_uint_gt(geo->journal_runs[i].len, 0);
		ck_assert_uint_ge(geo->journal_runs[i].start,
				  i ? geo->journal_runs[i - 1].start : t->req.used_end);
		owned_add(&all, geo->journal_runs[i].start, geo->journal_runs[i].len, "journal",
			  (uint32_t)i);
		journal += geo->journal_runs[i].len;
	}
	ck_assert_uint_eq(journal, geo->journal_blocks);
	ck_assert_uint_eq(owned_check(&all, geo, o) + geo->first_data_block, geo->overhead);
	ck_assert_uint_eq(geo->tail_start, t->req.used_end);
	ck_assert_msg(geo->tail_end <= geo->blocks, "%s: tail ends at %llu of %llu", o,
		      (unsigned long long)geo->tail_end, (unsigned long long)geo->blocks);
	for (size_t i = 0; i < all.n; i++)
		ck_assert_msg(!strcmp(all.v[i].what, "head") ||
				      all.v[i].start + all.v[i].len <= geo->tail_end,
			      "%s: %s %u lies behind the tail", o, all.v[i].what, all.v[i].group);

	/* the journal is the one that a filesystem of this size gets */
	if (!xw_has_compat(&t->p.features, XW_COMPAT_HAS_JOURNAL))
		ck_assert_uint_eq(journal, 0);
	else if (t->p.journal_bytes)
		ck_assert_uint_eq(journal, t->p.journal_bytes / geo->block_size);
	else
		ck_assert_uint_eq(journal, xw_journal_default_blocks(geo->blocks, geo->block_size));
	ck_assert_uint_eq(xw_has_compat(&geo->features, XW_COMPAT_HAS_JOURNAL) != 0, journal > 0);

	/* room asked for */
	ck_assert_uint_ge(free_blocks(t) * geo->block_size, t->p.free_bytes);
	ck_assert((double)free_blocks(t) >= t->p.free_percent / 100 * (double)geo->blocks);
	ck_assert_uint_ge(inodes - t->req.inodes, t->p.free_inodes);
	free(all.v);
}

static void random_options(struct rnd *r, char *out, size_t size)
{
	static const char *const features[] = {
		"^resize_inode",
		"^64bit",
		"^has_journal",
		"sparse_super2",
		"^sparse_super,^resize_inode",
		"ea_inode",
	};
	uint32_t bs = 1024u << rnd_below(r, 3);
	size_t n = (size_t)snprintf(out, size, "-b %u", bs);

#define ADD(...) n += (size_t)snprintf(out + n, size - n, " " __VA_ARGS__)
	for (unsigned k = (unsigned)rnd_below(r, 3); k; k--)
		ADD("-O %s", features[rnd_below(r, XW_ARRAY_SIZE(features))]);
	if (rnd_chance(r, 40))
		ADD("-g %u", (unsigned)(32 + rnd_below(r, bs / 4)) * 8);
	if (rnd_chance(r, 20))
		ADD("-G %u", 1u << rnd_below(r, 8));
	if (rnd_chance(r, 15))
		ADD("-N %u", (unsigned)rnd_magnitude(r, 20));
	if (rnd_chance(r, 15))
		ADD("-i %u", (unsigned)(8192 + rnd_magnitude(r, 22)));
	if (rnd_chance(r, 30))
		ADD("-I %u", 128u << rnd_below(r, 4));
	if (rnd_chance(r, 15))
		ADD("-J size=%u", (unsigned)(4 + rnd_below(r, 40)));
	if (rnd_chance(r, 15))
		ADD("-E num_backup_sb=%u", (unsigned)rnd_below(r, 3));
	if (rnd_chance(r, 15))
		ADD("-E resize=%u", (unsigned)rnd_magnitude(r, 31));
	if (rnd_chance(r, 20))
		ADD("--free %u%%", (unsigned)rnd_below(r, 60));
	else if (rnd_chance(r, 20))
		ADD("--free %uk", (unsigned)rnd_magnitude(r, 20));
	if (rnd_chance(r, 10))
		ADD("--free-inodes %u", (unsigned)rnd_magnitude(r, 18));
#undef ADD
}

#define ROUNDS 40
#define TRIES 50

START_TEST(consistent)
{
	struct rnd r = {(uint64_t)_i + 1000};
	unsigned made = 0;

	for (int i = 0; i < TRIES; i++) {
		struct run_of t;
		struct xw_diag diag = {0};
		char o[400];
		uint64_t end = rnd_magnitude(&r, 20),
			 gaps = rnd_chance(&r, 30) ? rnd_magnitude(&r, 10) : 0;
		int err;

		random_options(&r, o, sizeof(o));
		err = run(&t, o, end, gaps, rnd_magnitude(&r, 19), &diag);
		if (!err) {
			made++;
			check(&t, o);
		} else {
			ck_assert_msg(err == XW_ERR_LIMIT || err == XW_ERR_USAGE, "%s: %d %s", o,
				      err, diag.text);
			ck_assert_int_ne(diag.text[0], 0);
		}
		done(&t);
	}
	ck_assert_uint_ge(made, TRIES / 2);
}
END_TEST

/*
 * used_end on, just before and just behind every border of the first groups: last groups of a
 * block, heads to hold.
 */
START_TEST(borders)
{
	static const char *const options[] = {
		"-b 1024 -g 1024 -O ^has_journal",
		"-b 1024 -g 1024 -O ^has_journal,^resize_inode",
		"-b 4096 -g 512 -O ^has_journal,sparse_super2 -E num_backup_sb=2",
		"-b 4096 -g 512 -O ^has_journal,sparse_super2",
		"-b 2048 -g 512 -O ^sparse_super,^resize_inode,^has_journal",
		"-b 4096 -g 2048 -J size=4",
	};
	uint32_t bpg = _i == 5 ? 2048 : _i < 2 ? 1024 : 512;

	for (uint64_t g = 1; g < 11; g++) {
		for (int64_t d = -40; d < 8; d++) {
			struct run_of t;
			struct xw_diag diag = {0};

			ck_assert_msg(!run(&t, options[_i], g * bpg + (uint64_t)d, 0,
					   11 + (uint64_t)(d + 40) * 3, &diag),
				      "%s: %s", options[_i], diag.text);
			check(&t, options[_i]);
			done(&t);
		}
	}
}
END_TEST

/*
 * Nothing is wasted: without --free all that is free are gaps in front of heads and what fills the
 * last group up.
 */
static const struct {
	const char *options;
	uint64_t end, inodes, most_free;
} tight[] = {
	{"-b 4096", 100, 11, 0},
	{"-b 4096", 400000, 90000, 600},
	{"-b 1024", 100000, 1000, 300},
	{"-b 4096 -O ^has_journal", 370000, 83731, 400},
	{"-b 4096 -O ^resize_inode,^has_journal", 20000, 5000, 63},
};

START_TEST(compact)
{
	struct run_of t;

	ck_assert_int_eq(run(&t, tight[_i].options, tight[_i].end, 0, tight[_i].inodes, NULL), 0);
	check(&t, tight[_i].options);
	ck_assert_msg(free_blocks(&t) <= tight[_i].most_free, "%s: %llu free", tight[_i].options,
		      (unsigned long long)free_blocks(&t));
	/* inodes: less than one table block a group too many */
	ck_assert_uint_lt((uint64_t)t.geo.inodes_per_group * t.geo.groups - t.req.inodes,
			  (uint64_t)t.geo.groups * t.geo.block_size / t.geo.inode_size);
	done(&t);
}
END_TEST

/* A caller that counts heads as used blocks gets no larger filesystem for it. */
START_TEST(overcounted)
{
	struct run_of t;
	struct xw_geo geo;
	struct xw_tail_req req;

	ck_assert_int_eq(run(&t, "-b 4096", 400000, 0, 90000, NULL), 0);
	req = t.req;
	req.used_blocks = req.used_end;
	ck_assert_int_eq(xw_geo_tail(&t.stream, &t.p, &req, &geo, NULL), 0);
	ck_assert_uint_eq(geo.blocks, t.geo.blocks);
	xw_geo_free(&geo);
	done(&t);
}
END_TEST

/* --free leaves an inode for each directory, when any room is asked for. */
START_TEST(an_inode_for_each_directory)
{
	struct run_of t;
	struct xw_geo geo;
	uint64_t inodes;

	for (int asked = 0; asked < 2; asked++) {
		ck_assert_int_eq(
			run(&t, asked ? "-b 4096 --free 1%" : "-b 4096", 400000, 0, 9000, NULL), 0);
		t.req.directories = 5000;
		ck_assert_int_eq(xw_geo_tail(&t.stream, &t.p, &t.req, &geo, NULL), 0);
		inodes = (uint64_t)geo.groups * geo.inodes_per_group;
		ck_assert_msg((inodes >= 9000 + 5000) == asked, "%llu inodes",
			      (unsigned long long)inodes);
		xw_geo_free(&geo);
		done(&t);
	}
}
END_TEST

/* DESIGN's example: the kernel tarball's image. */
START_TEST(kernel_tree)
{
	struct run_of t;

	ck_assert_int_eq(run(&t, "-b 4096", 368500, 0, 83742, NULL), 0);
	ck_assert_uint_eq(t.stream.head_blocks, 65);
	ck_assert_uint_eq(t.stream.groups, 4096);
	ck_assert_uint_eq(t.geo.groups, 12);
	ck_assert_uint_eq(t.geo.head_blocks, 65);
	ck_assert_uint_eq(t.geo.reserved_gdt, 63);
	ck_assert_uint_eq(t.geo.inodes_per_group, 6992);
	ck_assert_uint_eq(t.geo.itable_blocks, 437);
	ck_assert_uint_eq(t.geo.journal_blocks, 8192);
	ck_assert_uint_eq(t.geo.blocks, t.geo.tail_end);
	ck_assert_uint_eq(t.geo.reserved_blocks, 0);
	done(&t);
}
END_TEST

/* Many inodes and little data: the groups that bitmaps demand are a hole at the end. */
START_TEST(hole)
{
	struct run_of t;

	ck_assert_int_eq(run(&t, "-b 4096 -O ^has_journal", 1000, 0, 300000, NULL), 0);
	check(&t, "hole");
	ck_assert_uint_eq(t.geo.groups, 10);
	ck_assert_uint_eq(t.geo.blocks, 9 * 32768ull + t.geo.head_blocks); /* group 9 has a copy */
	ck_assert_uint_lt(t.geo.tail_end, 32768);
	done(&t);
}
END_TEST

static const struct {
	const char *options;
	uint64_t end, inodes;
	double least_free, most_free; /* share of the blocks */
	double least_inodes, most_inodes; /* share of free inodes */
} shares[] = {
	{"--free 5%", 370000, 83742, 5, 5.1, 5, 5.3},
	{"--free 50%", 370000, 83742, 50, 50.1, 50, 50.3},
	{"--free 99%", 10000, 5000, 99, 99.1, 98.5, 99.5},
	{"--free 0.5%", 370000, 83742, 0.5, 0.6, 0.5, 0.8},
	{"--free 1G", 370000, 83742, 39.5, 41, 39.5, 42},
	{"-O ^has_journal --free 0%", 370000, 83742, 0, 0.1, 0, 0.3},
};

START_TEST(free_share)
{
	struct run_of t;
	double part, inodes;

	ck_assert_int_eq(run(&t, shares[_i].options, shares[_i].end, 0, shares[_i].inodes, NULL),
			 0);
	check(&t, shares[_i].options);
	part = 100.0 * (double)free_blocks(&t) / (double)t.geo.blocks;
	inodes = (double)t.geo.inodes_per_group * t.geo.groups;
	inodes = 100.0 * (inodes - (double)shares[_i].inodes) / inodes;
	ck_assert_msg(part >= shares[_i].least_free && part <= shares[_i].most_free,
		      "%s: %f %% free", shares[_i].options, part);
	ck_assert_msg(inodes >= shares[_i].least_inodes && inodes <= shares[_i].most_inodes,
		      "%s: %f %% of the inodes free", shares[_i].options, inodes);
	done(&t);
}
END_TEST

static const struct {
	const char *options;
	uint64_t end, inodes;
	int err;
	const char *said;
} refusals[] = {
	{"-b 4096", 4096ull * 32768, 11, XW_ERR_LIMIT, "-E resize"},
	{"-b 4096", 1ull << 40, 11, XW_ERR_LIMIT, "-E resize"},
	{"-b 4096 --free 1T", 1000, 11, XW_ERR_LIMIT, "-E resize"},
	{"-b 1024", 1000, 4000000000, XW_ERR_LIMIT, "-E resize"},
	{"-b 4096", 1000, 4294967295, XW_ERR_LIMIT, "inodes"},
	{"-b 4096 -N 100", 1000, 101, XW_ERR_USAGE, "-N 100"},
	{"-b 4096 -O ^flex_bg", 1000, 101, XW_ERR_USAGE, "flex_bg"},
	{"-b 1024 -I 1024 -i 1024", 1000, 101, XW_ERR_LIMIT, ""},
};

START_TEST(refuse)
{
	struct run_of t;
	struct xw_diag diag = {0};
	int err = run(&t, refusals[_i].options, refusals[_i].end, 0, refusals[_i].inodes, &diag);

	ck_assert_msg(err == refusals[_i].err, "%s: %d %s", refusals[_i].options, err, diag.text);
	ck_assert_msg(strstr(diag.text, refusals[_i].said), "%s", diag.text);
	done(&t);
}
END_TEST

/* -E resize= makes room for a larger stream; without it 512 GiB, 128 GiB, 32 GiB. */
static const struct {
	const char *options;
	uint32_t head, groups;
} rooms[] = {
	{"-b 4096", 65, 4096},
	{"-b 2048", 129, 4096},
	{"-b 1024", 257, 4096},
	{"-b 4096 -O ^64bit", 65, 8192},
	{"-b 4096 -E resize=2T", 257, 16384},
	{"-b 4096 -E resize=1M", 65, 4096},
	{"-b 4096 -E resize=16T", 1025, 65536},
	{"-b 1024 -E resize=16T", 257, 4096},
	{"-b 4096 -g 128 -O ^64bit", 0, 0},
	{"-b 4096 -g 256", 65, 4096},
	{"-b 1024 -g 256", 65, 1024},
};

START_TEST(room)
{
	struct xw_mkfs_params p;
	struct xw_geo stream;
	struct xw_group_place place;

	if (plan_params(&p, rooms[_i].options, 0, NULL)) {
		ck_assert_uint_eq(rooms[_i].head, 0);
		xw_params_free(&p);
		return;
	}
	ck_assert_int_eq(xw_geo_stream(&p, &stream, NULL), 0);
	ck_assert_uint_eq(stream.head_blocks, rooms[_i].head);
	ck_assert_uint_eq(stream.groups, rooms[_i].groups);
	for (uint32_t g = 0; g < 12; g++) {
		uint32_t n, longest, fragments, first;
		bool head = g == 0 || g == 1 || g == 3 || g == 5 || g == 7 || g == 9;

		xw_geo_group(&stream, g, &place);
		xw_geo_group_summary(&stream, g, &n, &longest, &fragments, &first);
		ck_assert(place.has_super == head && place.head == (head ? rooms[_i].head : 0));
		ck_assert(place.block_bitmap == 0 && place.inode_bitmap == 0 &&
			  place.inode_table == 0);
		ck_assert(first == place.head && n == stream.blocks_per_group - place.head &&
			  longest == n);
		ck_assert_uint_eq(fragments, 1);
	}
	xw_geo_free(&stream);
	xw_params_free(&p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tail");
	TCase *t = tcase_create("tail");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, an_inode_for_each_directory);
	tcase_add_loop_test(t, consistent, 0, ROUNDS);
	tcase_add_loop_test(t, borders, 0, 6);
	tcase_add_loop_test(t, compact, 0, XW_ARRAY_SIZE(tight));
	tcase_add_test(t, overcounted);
	tcase_add_test(t, kernel_tree);
	tcase_add_test(t, hole);
	tcase_add_loop_test(t, free_share, 0, XW_ARRAY_SIZE(shares));
	tcase_add_loop_test(t, refuse, 0, XW_ARRAY_SIZE(refusals));
	tcase_add_loop_test(t, room, 0, XW_ARRAY_SIZE(rooms));
	suite_add_tcase(s, t);
	return unit_main(s);
}
