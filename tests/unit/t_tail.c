/* SPDX-License-Identifier: MIT */
/* The layout behind a stream of unknown length: property tests over random streams. */
#include <stdio.h>

#include "tail_run.h"

static void random_options(struct rnd *r, char *out, size_t size)
{
	static const char *const features[] = {
		"^resize_inode",
		"^64bit",
		"^has_journal",
		"sparse_super2",
		"^sparse_super,^resize_inode",
		"ea_inode",
		"^extent,^64bit",
		"^flex_bg",
		"^flex_bg",
		"^flex_bg",
		"^resize_inode,meta_bg",
	};
	uint32_t bs = 1024u << rnd_below(r, 7);
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
		ADD("-i %u", (unsigned)(2048 + rnd_magnitude(r, 22)));
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
			 gaps = rnd_chance(&r, 30) ? rnd_magnitude(&r, 10) : 0,
			 more = rnd_chance(&r, 50) ? rnd_magnitude(&r, 14) : 0;
		int err;

		random_options(&r, o, sizeof(o));
		err = run_more(&t, o, end, gaps, rnd_magnitude(&r, 19), more, &diag);
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
		"-b 1024 -g 1024 -O ^flex_bg,^has_journal",
		"-b 4096 -g 512 -O ^flex_bg,^has_journal,^resize_inode",
		"-b 2048 -g 512 -O ^flex_bg,^has_journal,^sparse_super,^resize_inode",
		"-b 4096 -g 512 -O ^flex_bg,^has_journal,sparse_super2",
		"-b 4096 -g 2048 -J size=4 -O ^flex_bg,^extent,^64bit",
	};
	static const uint32_t sizes[] = {1024, 1024, 512, 512, 512, 2048,
					 1024, 512,  512, 512, 2048};
	uint32_t bpg = sizes[_i];

	for (uint64_t g = 1; g < 11; g++) {
		for (int64_t d = -60; d < 8; d++) {
			struct run_of t;
			struct xw_diag diag = {0};

			ck_assert_msg(!run(&t, options[_i], g * bpg + (uint64_t)d, 0,
					   11 + (uint64_t)(d + 60) * 3, &diag),
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
	{"-b 4096 -O ^flex_bg", 100, 11, 0},
	{"-b 1024 -O ^flex_bg", 4000, 5000, 0},
	{"-b 1024 -t ext2", 100000, 24000, 900},
	{"-b 4096 -t ext3", 32700, 32000, 0},
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
/* With blocks to put a file into each, if any are asked for. */
START_TEST(room_for_each_directory)
{
	static const struct {
		const char *options;
		uint64_t least;
	} rooms_of[] = {
		{"-b 4096 --free 1k", 5700},
		{"-b 4096 -t ext2 --free 1k", 5701}, /* and what was kept for tables */
		{"-b 4096 --free 1%", 5700},
		{"-b 4096 --free 10%", 40000},
		{"-b 4096 --free 100M", 25600},
		{"-b 4096", 0},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rooms_of); i++) {
		struct run_of t;
		uint64_t have;

		ck_assert_int_eq(run(&t, rooms_of[i].options, 400000, 0, 9000, NULL), 0);
		xw_geo_free(&t.geo);
		t.req.directories = 5000;
		t.req.growth = 700;
		ck_assert_int_eq(xw_geo_tail(&t.stream, &t.p, &t.req, &t.geo, NULL), 0);
		check(&t, rooms_of[i].options);
		have = usable_blocks(&t);
		ck_assert_msg(have >= rooms_of[i].least &&
				      (rooms_of[i].least != 5700 || have < 5702),
			      "%s: %llu", rooms_of[i].options, (unsigned long long)have);
		done(&t);
	}
}
END_TEST

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

	ck_assert_int_eq(run(&t, "-b 4096 -g 32768 -O ^has_journal", 1000, 0, 300000, NULL), 0);
	check(&t, "hole");
	ck_assert_uint_eq(t.geo.groups, 10);
	ck_assert_uint_eq(t.geo.blocks, 9 * 32768ull + t.geo.head_blocks); /* group 9 has a copy */
	ck_assert_uint_lt(t.geo.tail_end, 32768);
	done(&t);

	/* unless groups can be as small as what is in them */
	ck_assert_int_eq(run(&t, "-b 4096 -O ^has_journal", 1000, 0, 300000, NULL), 0);
	check(&t, "small groups");
	ck_assert_uint_eq(t.geo.blocks_per_group, 2048);
	ck_assert_uint_lt(t.geo.blocks, 13 * 2048);
	done(&t);
	ck_assert_int_eq(run(&t, "-b 4096 -O ^has_journal", 2100, 0, 300000, NULL), 0);
	check(&t, "data in more than the smallest");
	ck_assert_uint_eq(t.geo.blocks_per_group, 4096);
	done(&t);
	ck_assert_int_eq(run(&t, "-b 4096 -O ^has_journal", 31000, 0, 11, NULL), 0);
	check(&t, "nothing to gain");
	ck_assert_uint_eq(t.geo.blocks_per_group, 32768);
	done(&t);
}
END_TEST

/*
 * Without flex_bg: while data is in group 0 nothing is at a group's end, and then everything but
 * the last group's.
 */
static const struct {
	const char *options;
	uint64_t end, more, inodes;
	uint32_t groups, inodes_per_group;
	uint64_t own_last; /* 0: right behind the data */
} owns[] = {
	{"-t ext2", 100, 0, 11, 1, 16, 0},
	{"-t ext2", 30000, 0, 20000, 1, 20000, 0},
	{"-t ext2", 30654, 64, 33000, 2, 16512, 32768 + 65}, /* the table of all does not fit */
	{"-t ext2", 70000, 1, 30000, 3, 10000, 0},
	{"-t ext2", 70000, 4000, 30000, 3, 10000, 0},
	{"-t ext2 -N 50000", 70000, 1, 30000, 3, 16672, 0},
	{"-t ext2", 70000, 1, 120000, 4, 30000, 3 * 32768 + 65}, /* a group for its inodes */
	{"-t ext2 -i 2048", 40000, 1, 11, 3, 27840, 0},
	{"-t ext2 -i 65536", 70000, 1, 11, 3, 1472, 0},
	{"-t ext2 -T largefile", 70000, 1, 30000, 3, 10000, 0},
	{"-t ext2 --free-inodes 9000", 70000, 1, 30000, 3, 13008, 0},
};

START_TEST(own_metadata)
{
	struct run_of t;
	struct xw_diag diag = {0};
	uint64_t last = owns[_i].own_last;

	ck_assert_msg(!run_more(&t, owns[_i].options, owns[_i].end, 0, owns[_i].inodes,
				owns[_i].more, &diag),
		      "%s", diag.text);
	check(&t, owns[_i].options);
	ck_assert_uint_eq(t.geo.groups, owns[_i].groups);
	ck_assert_uint_eq(t.geo.inodes_per_group, owns[_i].inodes_per_group);
	ck_assert_uint_eq(t.geo.own_last, last ? last : t.req.used_end);
	ck_assert_uint_eq(t.geo.blocks, t.geo.own_last + 2 + t.geo.itable_blocks);
	done(&t);
}
END_TEST

/* Blocks that map a journal. As mke2fs 1.47.0 makes them: 8192 blocks of 1 KiB have 33. */
static const struct {
	const char *options;
	uint64_t len;
	size_t runs;
	uint64_t blocks;
} journal_maps[] = {
	{"-b 1024 -O ^extent,^64bit", 12, 1, 0},
	{"-b 1024 -O ^extent,^64bit", 13, 1, 1},
	{"-b 1024 -O ^extent,^64bit", 1024, 1, 5},
	{"-b 1024 -O ^extent,^64bit", 8192, 3, 33},
	{"-b 1024 -O ^extent,^64bit", 12 + 256 + 65536, 1, 258},
	{"-b 1024 -O ^extent,^64bit", 12 + 256 + 65536 + 1, 1, 261},
	{"-b 4096 -O ^extent,^64bit", 262144, 1, 257},
	{"-b 4096", 262144, 1, 1},
	{"-b 4096", 131072, 1, 0},
	{"-b 4096", 8192, 4, 0},
	{"-b 4096", 8192, 5, 1},
	{"-b 1024", 1024, 84, 1},
	{"-b 1024", 1024, 85, 2},
	{"-b 1024", 10240, 84 * 4 + 1, 6},
};

START_TEST(journal_map)
{
	size_t n = journal_maps[_i].runs;
	struct xw_run *runs = calloc(n, sizeof(*runs));
	struct xw_mkfs_params p;
	struct xw_geo stream;
	uint64_t left = journal_maps[_i].len;

	for (size_t i = 0; i < n; i++) {
		runs[i].len = i + 1 < n ? journal_maps[_i].len / n : left;
		left -= runs[i].len;
	}
	ck_assert_int_eq(plan_params(&p, journal_maps[_i].options, 0, NULL), 0);
	ck_assert_int_eq(xw_geo_stream(&p, &stream, NULL), 0);
	ck_assert_uint_eq(xw_journal_map_blocks(&stream, runs, n, journal_maps[_i].len),
			  journal_maps[_i].blocks);
	xw_params_free(&p);
	free(runs);
}
END_TEST

static void remember(void *arg, enum xw_log_level level, const char *text)
{
	if (strstr(text, "journal"))
		*(enum xw_log_level *)arg = level;
}

/*
 * A small image without the journal of its type is news to those who named the type. An explicitly
 * requested journal is an error with SIZE, and without SIZE the image grows to hold it.
 */
static const struct {
	const char *options;
	enum xw_log_level level;
	int err;
	bool journal;
} said[] = {
	{"-b 4096", XW_LOG_INFO, 0, false},
	{"SIZE 4M", XW_LOG_INFO, 0, false},
	{"-t ext3", XW_LOG_WARN, 0, false},
	{"-t ext4 SIZE 4M", XW_LOG_WARN, 0, false},
	{"-t ext2 -j ", 0, 0, true},
	{"-O has_journal", 0, 0, true},
	{"-O has_journal SIZE 4M", 0, XW_ERR_NOSPC, false},
	{"-J size=4 SIZE 4M", 0, XW_ERR_NOSPC, false},
	{"-O ^has_journal", 0, 0, false},
};

START_TEST(journal_news)
{
	enum xw_log_level level = 0;
	struct xw_diag diag = {.log = remember, .log_arg = &level};
	struct run_of t;

	if (strstr(said[_i].options, "SIZE")) {
		memset(&t, 0, sizeof(t));
		ck_assert_int_eq(plan_params(&t.p, said[_i].options, 0, &diag), 0);
		ck_assert_int_eq(xw_geo_plan(&t.p, t.p.size_bytes, &t.geo, &diag), said[_i].err);
	} else {
		ck_assert_int_eq(run(&t, said[_i].options, 100, 0, 11, &diag), said[_i].err);
	}
	ck_assert_int_eq(level, said[_i].level);
	if (!said[_i].err)
		ck_assert(xw_has_compat(&t.geo.features, XW_COMPAT_HAS_JOURNAL) ==
			  said[_i].journal);
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
	{"-t ext3 --free 20%", 370000, 83742, 20, 20.1, 20, 20.3},
	{"-t ext2 --free 1G", 370000, 83742, 41, 43, 41, 45},
};

START_TEST(free_share)
{
	struct run_of t;
	double part, inodes;

	ck_assert_int_eq(run(&t, shares[_i].options, shares[_i].end, 0, shares[_i].inodes, NULL),
			 0);
	check(&t, shares[_i].options);
	part = 100.0 * (double)usable_blocks(&t) / (double)t.geo.blocks;
	inodes = (double)t.geo.inodes_per_group * t.geo.groups;
	inodes = 100.0 * (inodes - (double)shares[_i].inodes) / inodes;
	ck_assert_msg(part >= shares[_i].least_free && part <= shares[_i].most_free,
		      "%s: %f %% free", shares[_i].options, part);
	ck_assert_msg(inodes >= shares[_i].least_inodes && inodes <= shares[_i].most_inodes,
		      "%s: %f %% of the inodes free", shares[_i].options, inodes);
	done(&t);
}
END_TEST

/* Many files that take no block: what is free is what was asked for, and -N and -i say how many. */
static const struct {
	const char *options;
	uint64_t end, inodes, least, most; /* inodes */
	uint64_t most_free; /* MiB */
} small_files[] = {
	{"-b 4096 --free 600M", 3000, 300012, 2 * 300000, 2 * 300012 + 2000, 750},
	{"-b 4096 --free 600M -N 400000", 3000, 300012, 400000, 400500, 660},
	{"-b 4096 --free 600M -N 300012", 3000, 300012, 300012, 300500, 640},
	{"-b 4096 --free 600M -N 400000 --free-inodes 150000", 3000, 300012, 450012, 451000, 710},
	{"-b 4096 --free 600M -i 16384", 3000, 300012, 300012, 300500, 640},
	{"-b 4096 --free 20G", 3000, 300012, 5542892, 5548000, 20600},
	{"-b 4096 --free 20%", 3000, 300012, 300012 + 75000, 300012 + 76500, 75},
	{"-b 1024 --free 600M", 12000, 300012, 914412, 916000, 660},
	{"-b 1024 --free 600M -i 16384", 12000, 300012, 300012, 301000, 640},
	{"-b 4096 --free 1G", 1100, 1195, 1195 + 262144, 264000, 1050},
	{"-b 4096 --free 1G -N 5000", 1100, 1195, 5000, 5200, 1050},
	{"-b 4096 --free 1G -i 65536", 1100, 1195, 16384, 17500, 1050},
};

START_TEST(free_of_small_files)
{
	struct run_of t;
	uint64_t inodes, mib;

	ck_assert_int_eq(run(&t, small_files[_i].options, small_files[_i].end, 0,
			     small_files[_i].inodes, NULL),
			 0);
	check(&t, small_files[_i].options);
	inodes = (uint64_t)t.geo.inodes_per_group * t.geo.groups;
	mib = free_blocks(&t) * t.geo.block_size >> 20;
	ck_assert_msg(inodes >= small_files[_i].least && inodes <= small_files[_i].most,
		      "%s: %llu inodes", small_files[_i].options, (unsigned long long)inodes);
	ck_assert_msg(mib <= small_files[_i].most_free, "%s: %llu MiB are free",
		      small_files[_i].options, (unsigned long long)mib);
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
	{"-b 4096 -O ^flex_bg -E resize=1M --free 1T", 1000, 11, XW_ERR_LIMIT, "-E resize"},
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
	tcase_add_test(t, room_for_each_directory);
	tcase_add_test(t, an_inode_for_each_directory);
	tcase_add_loop_test(t, consistent, 0, ROUNDS);
	tcase_add_loop_test(t, borders, 0, 11);
	unit_add_rows(t, compact, tight, options);
	tcase_add_test(t, overcounted);
	tcase_add_test(t, kernel_tree);
	tcase_add_test(t, hole);
	unit_add_rows(t, own_metadata, owns, options);
	unit_add_rows(t, journal_map, journal_maps, options);
	unit_add_rows(t, journal_news, said, options);
	unit_add_rows(t, free_share, shares, options);
	unit_add_rows(t, free_of_small_files, small_files, options);
	unit_add_rows(t, refuse, refusals, options);
	unit_add_rows(t, room, rooms, options);
	suite_add_tcase(s, t);
	return unit_main(s);
}
