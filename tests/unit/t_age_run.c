/* SPDX-License-Identifier: MIT */
/*
 * Runs of aging on small images: what each operation does and counts, what ends a run, what is
 * refused, and that a run in two parts is the run in one. Each line that is wanted holds the
 * counts, the reason and the measures; the image is consistent afterwards.
 */
#include "config.h"

#include "age/age.h"
#include "digest.h"
#include "said.h"
#include "steps_world.h"

/* ---- what there is to say about a run ---- */

static uint64_t digest_of_image(void)
{
	struct xw_dev *dev;
	uint64_t sum;

	ok(xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &dev));
	sum = digest(dev);
	xw_dev_close(dev);
	return sum;
}

static void add_measure(const struct xw_age_opts *o)
{
	struct xw_age_measure m;

	ok(xw_age_measure_image(path, o, &diag, &m));
	add(" files=%" PRIu64 " extents=%" PRIu64 " joined=%" PRIu64 "/%" PRIu64 " walk=%" PRIu64
	    "/%" PRIu64 " used=%" PRIu64 " longest=%" PRIu64 " groups=%u,%u layout=%u,%u",
	    m.files, m.extents, m.joined, m.joints, m.walk_joined, m.walk_joints, m.used,
	    m.longest_free, m.group_longest[0], m.group_longest[m.groups - 1], xw_age_layout(&m),
	    xw_age_walk_layout(&m));
	for (int i = 0; i < 3; i++)
		add(" %" PRIu64 ":%" PRIu64 ":%" PRIu64, m.free_runs[i], m.free_blocks[i],
		    m.files_of[i]);
	add(" buddies=%" PRIu64 ",%" PRIu64, m.buddies[0], m.buddies[4]);
	xw_age_measure_free(&m);
}

static void add_result(const struct xw_age_outcome *r)
{
	const struct xw_age_counts *c = &r->total;

	add("ops=%" PRIu64 " +%" PRIu64 " -%" PRIu64 " ~%" PRIu64 " skipped=%" PRIu64
	    " short=%" PRIu64 " written=%" PRIu64 " steps=%" PRIu64 " resumed=%" PRIu64 " %s",
	    c->ops, c->created, c->removed, c->changed, c->skipped, c->shortened, c->written,
	    c->steps, r->resumed, xw_age_reason_text(r->reason));
}

/* The name of the image's directory differs from run to run. */
static const char *without_dir(const char *text)
{
	const char *at = strstr(text, dir);

	return at ? at + strlen(dir) : text;
}

static const char *trace_file(const char *text)
{
	static char name[96];
	FILE *f;

	snprintf(name, sizeof(name), "%s/trace", dir);
	f = fopen(name, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	return name;
}

/* ---- single operations ---- */

static const struct {
	int kind;
	const char *text, *want;
} traces[] = {
	{1, "create a 1\ncreate b 1024\ncreate c 1025\ncreate d 0\n",
	 "ops=4 +4 -0 ~0 skipped=0 short=0 written=4096 steps=1 resumed=0 profile files=3 "
	 "extents=3 joined=1/1 walk=3/3 used=2330 longest=8057 groups=5997,8057 layout=10000,10000 "
	 "0:0:3 0:0:0 0:0:0 buddies=2,2 bd10a86597cb5615"},
	{1, "create a 3000\nappend a 1\nappend a 72\nappend a 1\nappend none 1\n",
	 "ops=5 +1 -0 ~3 skipped=1 short=0 written=4096 steps=1 resumed=0 profile files=1 "
	 "extents=1 joined=3/3 walk=3/3 used=2330 longest=8057 groups=5997,8057 layout=10000,10000 "
	 "0:0:1 0:0:0 0:0:0 buddies=2,2 f88284c166995634"},
	{1, "create a 9000\ntruncate a 9001\ntruncate a 9000\ntruncate a 1\ntruncate a 0\n",
	 "ops=5 +1 -0 ~3 skipped=1 short=0 written=9216 steps=1 resumed=0 profile files=0 "
	 "extents=0 joined=0/0 walk=0/0 used=2326 longest=8061 groups=5997,8061 layout=10000,10000 "
	 "0:0:0 0:0:0 0:0:0 buddies=2,2 e6f4af85309095f3"},
	{1, "create a 9000\noverwrite a 9000\noverwrite a 100\noverwrite a 20000\n",
	 "ops=4 +1 -0 ~3 skipped=0 short=0 written=39936 steps=1 resumed=0 profile files=1 "
	 "extents=1 joined=19/19 walk=19/19 used=2346 longest=8061 groups=5976,8061 "
	 "layout=10000,10000 1:1:1 0:0:0 0:0:0 buddies=2,3 e2a78c1e34eab4d0"},
	{1, "create a 9000\ndelete a\ndelete a\nmkdir d\ndelete d\n",
	 "ops=5 +2 -1 ~0 skipped=2 short=0 written=9216 steps=1 resumed=0 profile files=0 "
	 "extents=0 joined=0/0 walk=0/0 used=2327 longest=8051 groups=5997,8051 layout=10000,10000 "
	 "0:0:0 0:0:0 0:0:0 buddies=3,2 b8a61e710a40c2cb"},
	{1, "mkdir d\nmkdir d\ncreate d 5\ncreate d/a 5\nrmdir d\ndelete d/a\nrmdir d\nrmdir d\n",
	 "ops=8 +2 -2 ~0 skipped=4 short=0 written=1024 steps=1 resumed=0 profile files=0 "
	 "extents=0 joined=0/0 walk=0/0 used=2326 longest=8061 groups=5997,8061 layout=10000,10000 "
	 "0:0:0 0:0:0 0:0:0 buddies=2,2 c371d990b6ce0d33"},
	{1,
	 "create a 5\ncreate b 2000\nrename a b\nrename a b\nrename b b\nrename b d/e\nmkdir f\n"
	 "rename d/e f\nrename f g\nsetxattr d/e user.n value\nsetxattr d user.n value\n",
	 "ops=11 +3 -0 ~3 skipped=5 short=0 written=3072 steps=1 resumed=0 profile files=1 "
	 "extents=1 joined=0/0 walk=0/0 used=2329 longest=8056 groups=5997,8056 layout=10000,10000 "
	 "0:0:1 1:2:0 0:0:0 buddies=5,2 024ba39d40b87f9f"},
	{1,
	 "append a 1\nmkdir d\nappend d 1\noverwrite d 1\ntruncate d 0\nrmdir a\n"
	 "create big 4398046511104\ncreate all 90000000\ndelete big\n",
	 "ops=9 +2 -0 ~0 skipped=7 short=1 written=13902848 steps=1 resumed=0 profile files=1 "
	 "extents=2 joined=13575/13576 walk=13575/13576 used=15904 longest=479 groups=479,0 "
	 "layout=9999,9999 1:1:0 0:0:1 0:0:0 buddies=2,1 81a5bdd69467699e"},
	{0, "create a 300000\ncreate b 1\ndelete a\ncreate c 280000\nappend b 70000\n",
	 "ops=5 +3 -1 ~1 skipped=0 short=0 written=651264 steps=1 resumed=0 profile files=2 "
	 "extents=2 joined=341/341 walk=341/342 used=1521 longest=7541 groups=7025,7541 "
	 "layout=10000,9970 0:0:2 0:0:0 0:0:0 buddies=3,4 ff17eab67b79b3d6"},
	{3, "create a 50\nappend a 50\nappend a 5000\ncreate b 0\n",
	 "ops=4 +2 -0 ~2 skipped=0 short=0 written=8192 steps=1 resumed=0 profile files=2 "
	 "extents=2 joined=2/2 walk=1/1 used=1429 longest=4694 groups=4694,4694 layout=10000,10000 "
	 "2:2:2 0:0:0 1:6:0 buddies=5,1 b13fd80ad8c7980c"},
	{4, "create d/a 50\ncreate d/b 50\nrename d/a d/c\ndelete d/b\n",
	 "ops=4 +2 -1 ~1 skipped=0 short=0 written=2048 steps=1 resumed=0 profile files=1 "
	 "extents=1 joined=0/0 walk=0/0 used=1304 longest=8059 groups=7021,8059 layout=10000,10000 "
	 "0:0:1 0:0:0 0:0:0 buddies=2,2 e3122204e53e0e6b"},
};

static void run_trace(int kind, const char *text)
{
	struct xw_age_opts o = {.profile = XW_AGE_TRACE, .now = -1, .jobs = 1};
	struct xw_age_outcome res;

	said[0] = 0;
	make(kind);
	o.trace = trace_file(text);
	ok(xw_age_image(path, &o, &diag, &res));
	add_result(&res);
	add_measure(&o);
	check();
	add(" %016" PRIx64, digest_of_image());
}

START_TEST(operations)
{
	run_trace(traces[_i].kind, traces[_i].text);
	ck_assert_str_eq(said, traces[_i].want);
}
END_TEST

/* ---- profiles, and what ends them ---- */

#define PAZDERA .profile = XW_AGE_PAZDERA, .now = -1, .jobs = 1, .seed = 7, .size_max = 20000
#define ALTERNATE .profile = XW_AGE_ALTERNATE, .now = -1, .jobs = 1
#define GERIATRIX .profile = XW_AGE_GERIATRIX, .now = -1, .jobs = 1, .seed = 5

static const struct {
	int kind;
	struct xw_age_opts o;
	int code;
	const char *want;
} runs[] = {
	{1,
	 {PAZDERA, .ops = 300, .files = 100, .step = 64},
	 0,
	 "ops=300 +171 -129 ~0 skipped=0 short=0 written=584704 steps=5 resumed=0 profile files=41 "
	 "extents=41 joined=87/87 walk=87/127 used=2458 longest=7834 groups=5862,7834 "
	 "layout=10000,6850 4:4:41 3:7:0 3:17:0 buddies=14,5 1cf6fc4207b27c02"},
	{1,
	 {PAZDERA, .ops = 300, .files = 100, .dirs = 3, .size_min = 500},
	 0,
	 "ops=300 +171 -129 ~0 skipped=0 short=0 written=1071104 steps=1 resumed=0 profile "
	 "files=42 extents=42 joined=204/204 walk=204/245 used=2575 longest=7486 groups=5529,7486 "
	 "layout=10000,8326 3:3:42 4:10:0 2:13:0 buddies=27,14 d9d6e7d948fc722b"},
	{1,
	 {PAZDERA, .until = {.ops = 128}, .step = 64},
	 0,
	 "ops=128 +105 -23 ~0 skipped=0 short=0 written=387072 steps=3 resumed=0 ops files=79 "
	 "extents=79 joined=203/203 walk=207/281 used=2611 longest=7853 groups=5898,7853 "
	 "layout=10000,7366 7:7:79 1:2:0 0:0:0 buddies=9,1 91d804b90128f0f1"},
	{1,
	 {PAZDERA, .until = {.ops = 129}, .step = 64},
	 0,
	 "ops=129 +106 -23 ~0 skipped=0 short=0 written=391168 steps=3 resumed=0 ops files=80 "
	 "extents=80 joined=206/206 walk=210/285 used=2615 longest=7847 groups=5898,7847 "
	 "layout=10000,7368 7:7:80 2:4:0 0:0:0 buddies=9,1 338d6456edee3c8a"},
	{1,
	 {PAZDERA, .until = {.util = 5000}, .step = 100, .ops = 5000},
	 0,
	 "ops=2781 +2233 -548 ~0 skipped=0 short=0 written=7750656 steps=28 resumed=0 util "
	 "files=1619 extents=1619 joined=4191/4191 walk=4195/5809 used=8195 longest=4478 "
	 "groups=3565,4478 layout=10000,7221 14:14:1619 6:15:0 4:23:0 buddies=31,1 "
	 "830e052dd2b51f8e"},
	{1,
	 {PAZDERA, .until = {.overwrites = 1}, .files = 50, .ops = 9000},
	 0,
	 "ops=9000 +4512 -4488 ~0 skipped=0 short=0 written=15643648 steps=2 resumed=0 profile "
	 "files=24 extents=24 joined=75/75 walk=81/98 used=2427 longest=7123 groups=5740,7123 "
	 "layout=10000,8265 4:4:24 3:8:0 2:8:0 buddies=17,9 70170a9e9f5d5a46"},
	{1,
	 {PAZDERA, .until = {.layout = 9900}, .files = 600, .step = 500, .ops = 9000},
	 0,
	 "ops=9000 +4608 -4392 ~0 skipped=0 short=0 written=15568896 steps=19 resumed=0 profile "
	 "files=212 extents=212 joined=463/463 walk=466/674 used=3028 longest=6508 "
	 "groups=4998,6508 layout=10000,6913 34:34:212 40:91:0 37:192:0 buddies=148,15 "
	 "ae4c0710839221ea"},
	{1,
	 {PAZDERA, .until = {.no_run = 4 << 20}, .files = 900, .step = 200, .ops = 9000},
	 0,
	 "ops=9000 +4716 -4284 ~0 skipped=0 short=0 written=16557056 steps=46 resumed=0 profile "
	 "files=417 extents=417 joined=1061/1061 walk=1067/1477 used=3841 longest=6094 "
	 "groups=4664,6094 layout=10000,7224 68:68:417 51:121:0 45:237:0 buddies=215,17 "
	 "1eded181c552c571"},
	{1,
	 {GERIATRIX, .ops = 1500, .util = 5000, .step = 400},
	 0,
	 "ops=1500 +780 -720 ~0 skipped=0 short=0 written=59521024 steps=7 resumed=0 profile "
	 "files=60 extents=73 joined=5992/6005 walk=5992/6064 used=8596 longest=3164 "
	 "groups=922,3164 layout=9978,9881 16:16:57 12:24:1 9:44:1 buddies=60,19 e0efb512ea83bbd4"},
	{1,
	 {ALTERNATE, .used = 1 << 20, .free = 1 << 19},
	 0,
	 "ops=27 +18 -9 ~0 skipped=0 short=1 written=14118912 steps=1 resumed=0 profile files=9 "
	 "extents=11 joined=9205/9207 walk=9205/9215 used=11543 longest=745 groups=745,512 "
	 "layout=9997,9989 1:1:7 0:0:2 0:0:0 buddies=3,1 14523a244a3f03e1"},
	{1,
	 {ALTERNATE, .used = 1 << 20, .free = 1 << 19, .fast = true},
	 0,
	 "ops=1 +1 -0 ~0 skipped=0 short=0 written=9674752 steps=1 resumed=0 profile files=1 "
	 "extents=11 joined=9437/9447 walk=9437/9447 used=11776 longest=512 groups=512,512 "
	 "layout=9989,9989 1:1:0 0:0:0 0:0:0 buddies=18,9 8c6164088d4014f7"},
	{5,
	 {ALTERNATE, .used = 1 << 20, .free = 1 << 19, .fast = true},
	 0,
	 "ops=1 +1 -0 ~0 skipped=0 short=0 written=41615360 steps=1 resumed=0 profile files=1 "
	 "extents=40 joined=10120/10159 walk=10120/10159 used=11392 longest=128 groups=128,128 "
	 "layout=9961,9961 0:0:0 0:0:0 0:0:0 buddies=2,0 3507b6d55643e3bf"},
	{1,
	 {ALTERNATE, .used = 1 << 20, .free = 1 << 19, .fast = true, .until = {.no_run = 1 << 20}},
	 0,
	 "ops=1 +1 -0 ~0 skipped=0 short=0 written=9674752 steps=1 resumed=0 no-run files=1 "
	 "extents=11 joined=9437/9447 walk=9437/9447 used=11776 longest=512 groups=512,512 "
	 "layout=9989,9989 1:1:0 0:0:0 0:0:0 buddies=18,9 8c6164088d4014f7"},
	{1,
	 {ALTERNATE, .used = 64 << 20, .free = 1 << 10, .fast = true, .until = {.no_run = 2048}},
	 0,
	 "ops=1 +1 -0 ~0 skipped=0 short=0 written=14393344 steps=1 resumed=0 no-run files=1 "
	 "extents=2 joined=14054/14055 walk=14054/14055 used=16383 longest=1 groups=1,0 "
	 "layout=9999,9999 1:1:0 0:0:1 0:0:0 buddies=1,0 16ed5cb7b8e8b084"},
	{1,
	 {PAZDERA, .dir = "a/b", .ops = 10},
	 0,
	 "ops=10 +6 -4 ~0 skipped=0 short=0 written=6144 steps=1 resumed=0 profile files=2 "
	 "extents=2 joined=0/0 walk=1/1 used=2329 longest=8054 groups=5997,8054 layout=10000,10000 "
	 "0:0:2 0:0:0 1:4:0 buddies=5,2 2a101f9605a40645"},
	{1,
	 {PAZDERA, .dir = "lost+found", .ops = 10},
	 0,
	 "ops=10 +6 -4 ~0 skipped=0 short=0 written=6144 steps=1 resumed=0 profile files=2 "
	 "extents=2 joined=0/0 walk=1/1 used=2327 longest=8062 groups=5990,8062 layout=10000,10000 "
	 "0:0:2 0:0:0 1:5:0 buddies=3,2 c0391f78fbed0583"},
	{1,
	 {PAZDERA, .dir = "../x", .ops = 10},
	 XW_ERR_USAGE,
	 "--dir ../x: not a path below the root"},
	{1,
	 {ALTERNATE, .used = 0, .free = 1},
	 XW_ERR_USAGE,
	 "alternate:USED,FREE needs two sizes above 0, together below 16 EiB"},
	{1,
	 {ALTERNATE, .used = 1, .free = 0},
	 XW_ERR_USAGE,
	 "alternate:USED,FREE needs two sizes above 0, together below 16 EiB"},
	{1,
	 {ALTERNATE, .used = UINT64_MAX, .free = 1},
	 XW_ERR_USAGE,
	 "alternate:USED,FREE needs two sizes above 0, together below 16 EiB"},
	{1, {PAZDERA, .fast = true}, XW_ERR_USAGE, "--fast works with --profile alternate only"},
	{1,
	 {ALTERNATE, .used = 9, .free = 99, .fast = true, .until = {.no_run = 99}},
	 XW_ERR_USAGE,
	 "--until no-run cannot be reached with free runs of that size"},
	{1,
	 {ALTERNATE, .used = 9, .free = 98, .fast = true, .until = {.no_run = 99, .ops = 1}},
	 XW_ERR_USAGE,
	 "--fast supports only --until no-run=SIZE"},
	{1,
	 {ALTERNATE, .used = 9, .free = 9, .fast = true, .until = {.util = 1}},
	 XW_ERR_USAGE,
	 "--fast supports only --until no-run=SIZE"},
	{1,
	 {ALTERNATE, .used = 9, .free = 9, .fast = true, .until = {.layout = 1}},
	 XW_ERR_USAGE,
	 "--fast supports only --until no-run=SIZE"},
	{1,
	 {ALTERNATE, .used = 9, .free = 9, .fast = true, .until = {.overwrites = 1}},
	 XW_ERR_USAGE,
	 "--fast supports only --until no-run=SIZE"},
	{5,
	 {PAZDERA, .ops = 10},
	 XW_ERR_UNSUPPORTED,
	 "/image: bigalloc images can be aged with --fast only"},
	{1,
	 {PAZDERA, .resume = true, .ops = 10},
	 XW_ERR_STATE,
	 "/image: no interrupted aging run to resume"},
};

START_TEST(profiles)
{
	struct xw_age_outcome res;

	said[0] = 0;
	make(runs[_i].kind);
	ck_assert_int_eq(xw_age_image(path, &runs[_i].o, &diag, &res), runs[_i].code);
	if (runs[_i].code) {
		add("%s", without_dir(diag.text));
	} else {
		add_result(&res);
		add_measure(&runs[_i].o);
		add(" %016" PRIx64, digest_of_image());
	}
	check();
	ck_assert_str_eq(said, runs[_i].want);
}
END_TEST

/* ---- a run in two parts ---- */

static int stop_at(void *arg, const struct xw_age_outcome *r)
{
	return r->total.steps >= *(const uint64_t *)arg ? XW_ERR_STATE : 0;
}

static const struct xw_age_opts parts[] = {
	{PAZDERA, .ops = 400, .files = 100, .step = 64},
	{GERIATRIX, .ops = 900, .util = 4000, .step = 300},
	{ALTERNATE, .used = 1 << 19, .free = 1 << 18, .step = 3},
	{ALTERNATE, .used = 1 << 17, .free = 1 << 18, .fast = true, .step = 1},
	{PAZDERA, .allocator = XW_AGE_LINUX, .ops = 400, .files = 100, .step = 64},
	{GERIATRIX, .allocator = XW_AGE_LINUX, .ops = 900, .util = 4000, .step = 300},
	{PAZDERA, .allocator = XW_AGE_LINUX, .ops = 900, .step = 50},
	{GERIATRIX, .allocator = XW_AGE_LINUX, .ops = 1500, .util = 9800, .step = 200},
};

START_TEST(resumed)
{
	struct xw_age_opts o = parts[_i];
	struct xw_age_outcome res;
	uint64_t whole, after = 1;

	make(1);
	ok(xw_age_image(path, &o, &diag, &res));
	whole = digest_of_image();
	ck_assert_int_eq(unlink(path), 0);
	make(1);
	o.progress = stop_at;
	o.arg = &after;
	ck_assert_int_eq(xw_age_image(path, &o, &diag, &res), XW_ERR_STATE);
	check();
	ck_assert_uint_ne(digest_of_image(), whole);
	xw_diag_clear(&diag);
	o.progress = NULL;
	ck_assert_int_eq(xw_age_image(path, &o, &diag, &res), XW_ERR_STATE);
	ck_assert_str_eq(without_dir(diag.text), "/image: an earlier aging run was interrupted; "
						 "--resume continues it");
	xw_diag_clear(&diag);
	o.resume = true;
	o.seed++;
	ck_assert_int_eq(xw_age_image(path, &o, &diag, &res), XW_ERR_USAGE);
	ck_assert_str_eq(without_dir(diag.text),
			 "/image: the options differ from those of the interrupted run");
	xw_diag_clear(&diag);
	o.seed--;
	ok(xw_age_image(path, &o, &diag, &res));
	ck_assert_uint_gt(res.resumed, 0);
	ck_assert_uint_eq(digest_of_image(), whole);
	check();
	/* its file is gone */
	ck_assert_int_eq(xw_age_image(path, &o, &diag, &res), XW_ERR_STATE);
	ck_assert_str_eq(without_dir(diag.text), "/image: no interrupted aging run to resume");
}
END_TEST

static int stop_at_call(void *arg, const struct xw_age_outcome *r)
{
	uint64_t *left = arg;

	(void)r;
	return --*left ? 0 : XW_ERR_STATE;
}

/* Behind any commit, also those that a writeback needed because the image was full. */
START_TEST(resumed_anywhere)
{
	struct xw_age_opts o = {GERIATRIX,   .allocator = XW_AGE_LINUX,
				.ops = 500,  .util = 9900,
				.step = 120, .sizes = NULL};
	struct xw_age_outcome res;
	uint64_t whole, calls = UINT64_MAX, left;

	make(1);
	o.progress = stop_at_call;
	o.arg = &calls;
	ok(xw_age_image(path, &o, &diag, &res));
	calls = UINT64_MAX - calls;
	ck_assert_uint_gt(calls, res.total.steps + 1);
	whole = digest_of_image();
	for (uint64_t at = 1; at < calls; at++) {
		ck_assert_int_eq(unlink(path), 0);
		make(1);
		o.resume = false;
		o.arg = &left;
		left = at;
		ck_assert_int_eq(xw_age_image(path, &o, &diag, &res), XW_ERR_STATE);
		xw_diag_clear(&diag);
		check();
		o.resume = true;
		left = UINT64_MAX;
		ok(xw_age_image(path, &o, &diag, &res));
		ck_assert_msg(digest_of_image() == whole, "stopped at %" PRIu64, at);
		check();
	}
}
END_TEST

/* The bulk mode creates its files; one that exists is not its own. */
START_TEST(fast_needs_them_absent)
{
	const struct xw_age_opts o = {ALTERNATE, .used = 1 << 20, .free = 1 << 19, .fast = true};
	struct xw_age_opts t = {.profile = XW_AGE_TRACE, .now = -1, .jobs = 1};
	struct xw_age_outcome res;
	uint64_t before;

	make(1);
	t.trace = trace_file("create 000000/file-0000000000 5\n");
	ok(xw_age_image(path, &t, &diag, &res));
	before = digest_of_image();
	ck_assert_int_eq(xw_age_image(path, &o, &diag, &res), XW_ERR_EXISTS);
	ck_assert_str_eq(without_dir(diag.text), "/image: /age/000000/file-0000000000 exists; "
						 "--fast needs it to be absent");
	ck_assert_uint_eq(digest_of_image(), before);
	check();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("age_run");
	TCase *t = tcase_create("age_run");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	unit_add_rows(t, operations, traces, text);
	unit_add_rows(t, profiles, runs, want);
	unit_add_table(t, resumed, parts);
	tcase_add_test(t, resumed_anywhere);
	tcase_add_test(t, fast_needs_them_absent);
	suite_add_tcase(s, t);
	return unit_main(s);
}
