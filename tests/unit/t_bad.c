/* SPDX-License-Identifier: MIT */
/* Bad blocks: lists, searching, and geometry around them. */
#include <stdio.h>

#include "dev/scan.h"
#include "plan/bad.h"
#include "memdev.h"
#include "plan_util.h"

/* ---- lists ---- */

static const struct {
	const char *text;
	int err;
	const char *said; /* or what is left after settling, in blocks of 1 KiB of 64 MiB */
} lists[] = {
	{"", 0, ""},
	{"\n\n", 0, ""},
	{"5", 0, "5 "},
	{"7\n5\n7\n6\n", 0, "5 6 7 "},
	{" 12 \r\n# comment\n\t13\n", 0, "12 13 "},
	{"0\n1\n65535\n65536\n18446744073709551615\n", 0, "1 65535 "},
	{"x\n", XW_ERR_USAGE, "list:1: "},
	{"1\n\n2 3\n", XW_ERR_USAGE, "list:3: "},
	{"1\n-2\n", XW_ERR_USAGE, "list:2: "},
	{"18446744073709551616\n", XW_ERR_USAGE, "list:1: "},
	{"1111111111111111111111111111111111111111111111111111\n", XW_ERR_USAGE, "list:1: "},
};

START_TEST(read_list)
{
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};
	char have[64] = "", *end = have;
	int err;

	ck_assert_int_eq(plan_params(&p, "-b 1024 SIZE 64M", 0, &diag), 0);
	err = xw_bad_parse("list", lists[_i].text, strlen(lists[_i].text), &p, &diag);
	ck_assert_msg(err == lists[_i].err, "%s: %d %s", lists[_i].text, err, diag.text);
	if (err) {
		ck_assert_msg(strstr(diag.text, lists[_i].said), "%s", diag.text);
	} else {
		ck_assert_int_eq(xw_bad_finish(&p, &diag), 0);
		for (size_t i = 0; i < p.bad.n; i++)
			end += sprintf(end, "%llu ", (unsigned long long)p.bad.v[i]);
		ck_assert_str_eq(have, lists[_i].said);
	}
	xw_params_free(&p);
}
END_TEST

START_TEST(nul_bytes)
{
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};

	ck_assert_int_eq(plan_params(&p, "SIZE 64M", 0, NULL), 0);
	ck_assert_int_eq(xw_bad_parse("list", "1\0002\n", 4, &p, &diag), XW_ERR_USAGE);
	xw_params_free(&p);
}
END_TEST

START_TEST(what_goes_without)
{
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};

	ck_assert_int_eq(plan_params(&p, "-O bigalloc SIZE 64M", 0, NULL), 0);
	ck_assert_int_eq(xw_bad_parse("list", "900\n", 4, &p, &diag), 0);
	ck_assert_int_eq(xw_bad_finish(&p, &diag), XW_ERR_UNSUPPORTED);
	xw_params_free(&p);
	xw_diag_clear(&diag);
	ck_assert_int_eq(plan_params(&p, "SIZE 60T", 0, NULL), 0);
	ck_assert_int_eq(xw_bad_parse("list", "5000000000\n", 11, &p, &diag), 0);
	ck_assert_int_eq(xw_bad_finish(&p, &diag), XW_ERR_LIMIT);
	xw_params_free(&p);
}
END_TEST

/* ---- geometry ---- */

static const char *const shapes[] = {
	"-b 1024 SIZE 40M",
	"-b 1024 -t ext2 SIZE 40M",
	"-b 4096 SIZE 3G",
	"-b 4096 -O ^sparse_super,^resize_inode -G 4 SIZE 2G",
	"-b 1024 -O ^resize_inode,meta_bg SIZE 200M",
	"-b 1024 -O ^resize_inode,meta_bg,^flex_bg SIZE 200M",
	"-b 1024 -E packed_meta_blocks=1 SIZE 60M",
	"-b 2048 -t ext3 -E stride=7 SIZE 100M",
	"-b 4096 -O sparse_super2 -G 2 SIZE 2G",
};

static void check_group(const struct xw_geo *geo, uint32_t g)
{
	static uint8_t bits[8192];
	uint32_t free, longest, fragments, first, zeros = 0;
	struct xw_group_place p;

	xw_geo_group(geo, g, &p);
	hold(!xw_geo_bad_in(geo, p.block_bitmap, 1) && !xw_geo_bad_in(geo, p.inode_bitmap, 1) &&
		     !xw_geo_bad_in(geo, p.inode_table, geo->itable_blocks),
	     "group %u lies on a bad block", g);
	hold(p.inode_table + geo->itable_blocks <= geo->blocks, "group %u: past the end", g);
	xw_geo_group_bitmap(geo, g, bits);
	xw_geo_group_summary(geo, g, &free, &longest, &fragments, &first);
	for (uint32_t i = 0; i < geo->blocks_per_group; i++)
		zeros += !(bits[i / 8] >> i % 8 & 1);
	hold(zeros == free, "group %u: %u free, bitmap says %u", g, free, zeros);
}

/* Every group's objects are disjoint and good, and used blocks are those of all objects. */
START_TEST(around_bad_blocks)
{
	struct rnd r = {(uint64_t)_i};
	const char *shape = shapes[_i % XW_ARRAY_SIZE(shapes)];
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};
	struct xw_geo geo;
	uint64_t used = 0;
	struct owned own = {0};

	ck_assert_int_eq(plan_params(&p, shape, 0, &diag), 0);
	for (int i = 0; i < 200; i++) {
		uint64_t blk = 1000 + rnd_below(&r, p.size_bytes / p.block_size - 1000);

		/* most in the first groups, where the metadata of a flex group is */
		if (rnd_chance(&r, 60))
			blk = 600 + blk % 6000;
		ck_assert_int_eq(xw_vec_push(&p.bad, blk), 0);
	}
	ck_assert_int_eq(xw_bad_finish(&p, &diag), 0);
	if (xw_geo_plan(&p, p.size_bytes, &geo, &diag)) {
		/* what cannot be must be said: descriptors of a meta group have one place */
		ck_assert_msg(strstr(diag.text, "bad") || strstr(diag.text, "no room"), "%s: %s",
			      shape, diag.text);
		xw_params_free(&p);
		return;
	}
	for (uint32_t g = 0; g < geo.groups; g++) {
		uint32_t free, longest, fragments, first;
		struct xw_group_place at;

		check_group(&geo, g);
		xw_geo_group(&geo, g, &at);
		xw_geo_group_summary(&geo, g, &free, &longest, &fragments, &first);
		used += at.blocks - free;
		owned_add(&own, at.start, at.head, "head", g);
		owned_add(&own, at.block_bitmap, 1, "block bitmap", g);
		owned_add(&own, at.inode_bitmap, 1, "inode bitmap", g);
		owned_add(&own, at.inode_table, geo.itable_blocks, "inode table", g);
	}
	qsort(own.v, own.n, sizeof(*own.v), owned_cmp);
	for (size_t i = 0; i < own.n; i++) {
		hold(!i || own.v[i - 1].start + own.v[i - 1].len <= own.v[i].start,
		     "%s: %s of group %u and %s of group %u overlap", shape, own.v[i - 1].what,
		     own.v[i - 1].group, own.v[i].what, own.v[i].group);
		used -= own.v[i].len;
	}
	ck_assert_uint_eq(used, 0);
	free(own.v);
	xw_geo_free(&geo);
	xw_params_free(&p);
}
END_TEST

static const struct {
	const char *options;
	uint64_t blk;
	int err;
	uint32_t reserved; /* descriptor blocks kept, where it works */
} heads[] = {
	{"-b 1024 -O ^64bit SIZE 64M", 1, XW_ERR_LIMIT, 0},
	{"-b 1024 -O ^64bit SIZE 64M", 2, XW_ERR_LIMIT, 0},
	{"-b 1024 -O ^64bit SIZE 64M", 3, 0, 0},
	{"-b 1024 -O ^64bit SIZE 64M", 10, 0, 7},
	{"-b 1024 -O ^64bit SIZE 64M", 8193, 0, 255}, /* backups: said, not refused */
	{"-b 1024 -O ^64bit SIZE 64M", 8194, 0, 255},
	{"-b 1024 -O ^64bit SIZE 64M", 8200, 0, 5},
	{"-b 1024 -O ^64bit SIZE 64M", 16385, 0, 255}, /* no superblock there */
	{"-b 1024 -O ^resize_inode,meta_bg SIZE 300M", 2, XW_ERR_LIMIT, 0},
	{"-b 1024 -O ^resize_inode,meta_bg SIZE 300M", 8194, 0, 0},
	{"-b 1024 -O ^resize_inode,meta_bg SIZE 300M", 16 * 8192 + 1, XW_ERR_LIMIT, 0},
	{"-b 1024 -O ^resize_inode,meta_bg SIZE 300M", 17 * 8192 + 1, 0, 0},
};

START_TEST(bad_heads)
{
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};
	struct xw_geo geo;
	int err;

	ck_assert_int_eq(plan_params(&p, heads[_i].options, 0, &diag), 0);
	ck_assert_int_eq(xw_vec_push(&p.bad, heads[_i].blk), 0);
	err = xw_geo_plan(&p, p.size_bytes, &geo, &diag);
	ck_assert_msg(err == heads[_i].err, "%d: %d %s", _i, err, diag.text);
	if (!err) {
		ck_assert_uint_eq(geo.reserved_gdt, heads[_i].reserved);
		xw_geo_free(&geo);
	}
	xw_params_free(&p);
}
END_TEST

/* ---- searching ---- */

struct flaky {
	struct xw_dev dev;
	struct xw_dev *mem;
	uint64_t unreadable, unwritable, forgetful; /* bytes that they are about */
	unsigned reads, writes;
};

static bool has(uint64_t at, uint64_t off, uint64_t len)
{
	return at >= off && at - off < len;
}

static int flaky_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	struct flaky *f = (struct flaky *)d;

	f->reads++;
	if (has(f->unreadable, off, len))
		return xw_fail(d->diag, XW_ERR_IO, "read");
	return xw_dev_pread(f->mem, buf, len, off);
}

static int flaky_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct flaky *f = (struct flaky *)d;
	uint8_t was;
	int err;

	f->writes++;
	if (has(f->unwritable, off, iov->iov_len))
		return xw_fail(d->diag, XW_ERR_IO, "write");
	ck_assert_int_eq(xw_dev_pread(f->mem, &was, 1, f->forgetful), 0);
	err = xw_dev_pwritev(f->mem, iov, n, off);
	if (has(f->forgetful, off, iov->iov_len))
		ck_assert_int_eq(xw_dev_pwrite(f->mem, &was, 1, f->forgetful), 0);
	return err;
}

static int flaky_flush(struct xw_dev *d)
{
	return xw_fail(d->diag, XW_ERR_IO, "flush");
}

struct finds {
	uint64_t blocks[64];
	unsigned n, ticks;
};

static int find(void *arg, uint64_t block)
{
	struct finds *f = arg;

	ck_assert_uint_lt(f->n, 64);
	f->blocks[f->n++] = block;
	return 0;
}

static int count_tick(void *arg, uint64_t done, uint64_t total)
{
	struct finds *f = arg;

	ck_assert_uint_le(done, total);
	f->ticks++;
	return 0;
}

static bool found(const struct finds *f, uint64_t block)
{
	for (unsigned i = 0; i < f->n; i++) {
		if (f->blocks[i] == block)
			return true;
	}
	return false;
}

#define MEDIUM (3u << 20)

START_TEST(searching)
{
	static const struct xw_dev_ops ops = {
		.pread = flaky_pread, .pwritev = flaky_pwritev, .flush = flaky_flush};
	struct xw_diag diag = {0};
	struct flaky f = {
		.dev = {.ops = &ops, .size = MEDIUM + 500, .name = "flaky", .diag = &diag},
		.unreadable = 100 * 2048 + 5,
		.unwritable = 700 * 2048,
		.forgetful = 1500 * 2048 + 2047,
	};
	struct finds got = {.n = 0};
	const struct xw_scan s = {
		.block_size = 2048,
		.blocks = 100000,
		.write = _i,
		.tick = count_tick,
		.bad = find,
		.arg = &got,
	};

	ck_assert_int_eq(xw_dev_open_mem(f.dev.size, NULL, &f.mem), 0);
	ck_assert_int_eq(xw_dev_scan(&f.dev, &s), 0);
	ck_assert_int_eq(diag.code, 0);
	ck_assert(found(&got, 100));
	ck_assert_int_eq(found(&got, 700), _i);
	ck_assert_int_eq(found(&got, 1500), _i);
	for (unsigned i = 0; i < got.n; i++)
		ck_assert(got.blocks[i] == 100 || got.blocks[i] == 700 || got.blocks[i] == 1500);
	ck_assert_int_eq(f.writes != 0, _i);
	ck_assert_uint_eq(got.ticks, _i ? 24 : 3);
	xw_dev_close(f.mem);
}
END_TEST

static int stop(void *arg, uint64_t done, uint64_t total)
{
	(void)arg;
	(void)done;
	(void)total;
	return XW_ERR_IO;
}

START_TEST(stopped)
{
	const struct xw_scan s = {.block_size = 1024, .blocks = 4096, .tick = stop};
	struct xw_dev *mem;

	ck_assert_int_eq(xw_dev_open_mem(MEDIUM, NULL, &mem), 0);
	ck_assert_int_eq(xw_dev_scan(mem, &s), XW_ERR_IO);
	xw_dev_close(mem);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("bad");
	TCase *t = tcase_create("bad");

	unit_add_rows(t, read_list, lists, text);
	tcase_add_test(t, nul_bytes);
	tcase_add_test(t, what_goes_without);
	tcase_add_loop_test(t, around_bad_blocks, 0, 5 * XW_ARRAY_SIZE(shapes));
	unit_add_rows(t, bad_heads, heads, options);
	tcase_add_loop_test(t, searching, 0, 2);
	tcase_add_test(t, stopped);
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	return unit_main(s);
}
