/* SPDX-License-Identifier: MIT */
/* Quota files: the file mke2fs makes byte for byte, shapes, round trips, what decoding refuses. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/err.h"
#include "disk/quota.h"
#include "unit.h"

struct file {
	uint8_t *bytes;
	uint32_t blocks, next;
};

static int put(void *arg, uint32_t index, const uint8_t *block)
{
	struct file *f = arg;

	ck_assert_uint_eq(index, f->next++);
	ck_assert_uint_lt(index, f->blocks);
	memcpy(f->bytes + (size_t)index * XW_QUOTA_BLOCK, block, XW_QUOTA_BLOCK);
	return 0;
}

static struct file make(enum xw_quota_type type, const struct xw_quota_entry *e, size_t n)
{
	struct xw_quota_shape shape;
	struct file f = {0};

	ck_assert_int_eq(xw_quota_shape(e, n, &shape), 0);
	f.blocks = shape.blocks;
	f.bytes = malloc((size_t)f.blocks * XW_QUOTA_BLOCK);
	ck_assert_ptr_nonnull(f.bytes);
	memset(f.bytes, 0xA5, (size_t)f.blocks * XW_QUOTA_BLOCK);
	ck_assert_int_eq(xw_quota_emit(type, e, n, &shape, put, &f), 0);
	ck_assert_uint_eq(f.next, f.blocks);
	return f;
}

struct taken {
	const struct xw_quota_entry *want;
	size_t n, stop;
};

static int take(void *arg, const struct xw_quota_entry *e)
{
	struct taken *t = arg;

	if (t->want) {
		const struct xw_quota_entry *w = &t->want[t->n];

		ck_assert_uint_eq(e->id, w->id);
		ck_assert_uint_eq(e->inodes, w->inodes);
		ck_assert_uint_eq(e->space, w->space);
		ck_assert_uint_eq(e->inode_hard, w->inode_hard);
		ck_assert_uint_eq(e->inode_soft, w->inode_soft);
		ck_assert_uint_eq(e->block_hard, w->block_hard);
		ck_assert_uint_eq(e->block_soft, w->block_soft);
		ck_assert_int_eq(e->inode_time, w->inode_time);
		ck_assert_int_eq(e->block_time, w->block_time);
	}
	return ++t->n == t->stop ? 77 : 0;
}

/* mke2fs -O quota,project: 2 inodes, 20480 bytes for id 0. Offset, value of the words not zero. */
static const struct {
	enum xw_quota_type type;
	uint32_t magic;
} fresh[] = {
	{XW_QUOTA_USER, 0xd9c01f11}, {XW_QUOTA_GROUP, 0xd9c01927}, {XW_QUOTA_PROJECT, 0xd9c03f14}};

START_TEST(as_mke2fs)
{
	static const struct {
		unsigned off;
		uint32_t value;
	} words[] = {
		{0x0004, 1}, {0x0008, 604800}, {0x000c, 604800}, {0x0014, 6},
		{0x001c, 5}, {0x0400, 2},      {0x0800, 3},      {0x0c00, 4},
		{0x1000, 5}, {0x1408, 1},      {0x1428, 2},      {0x1440, 20480},
	};
	struct xw_quota_entry e = {.inodes = 2, .space = 20480};
	struct file f = make(fresh[_i].type, &e, 1);
	uint8_t want[6 * XW_QUOTA_BLOCK] = {0};

	poke32(want, fresh[_i].magic);
	for (size_t i = 0; i < XW_ARRAY_SIZE(words); i++)
		poke32(want + words[i].off, words[i].value);
	ck_assert_uint_eq(f.blocks, 6);
	ck_assert_mem_eq(f.bytes, want, sizeof(want));
	free(f.bytes);
}
END_TEST

/* n ids `step` apart from `first` on: blocks by level, data blocks */
static const struct {
	uint32_t first, step;
	size_t n;
	uint32_t level[XW_QUOTA_DEPTH], data;
} shapes[] = {
	{0, 1, 0, {1, 0, 0, 0}, 0},
	{0, 1, 1, {1, 1, 1, 1}, 1},
	{0, 1, 14, {1, 1, 1, 1}, 1},
	{0, 1, 15, {1, 1, 1, 1}, 2},
	{0, 1, 256, {1, 1, 1, 1}, 19},
	{0, 1, 257, {1, 1, 1, 2}, 19},
	{0, 256, 300, {1, 1, 2, 300}, 22},
	{0, 65536, 300, {1, 2, 300, 300}, 22},
	{0, 1u << 24, 256, {1, 256, 256, 256}, 19},
	{0xfffffff0, 1, 16, {1, 1, 1, 1}, 2},
	{1000, 7919, 1000, {1, 1, 121, 1000}, 72},
};

static struct xw_quota_entry *entries(size_t n, uint32_t first, uint32_t step)
{
	struct xw_quota_entry *e = calloc(n + 1, sizeof(*e));

	ck_assert_ptr_nonnull(e);
	for (size_t i = 0; i < n; i++) {
		e[i] = (struct xw_quota_entry){
			.id = first + (uint32_t)i * step,
			.inodes = i + 1,
			.space = (uint64_t)i << 33,
			.inode_hard = 3 * i,
			.inode_soft = 5 * i,
			.block_hard = 7 * i,
			.block_soft = 11 * i,
			.inode_time = (int64_t)i - 5,
			.block_time = (int64_t)i << 31,
		};
	}
	return e;
}

START_TEST(shape_and_back)
{
	size_t n = shapes[_i].n;
	struct xw_quota_entry *e = entries(n, shapes[_i].first, shapes[_i].step);
	struct taken t = {.want = e};
	struct xw_quota_shape s;
	struct xw_quota_info info;
	struct file f = make(XW_QUOTA_GROUP, e, n);
	size_t len = (size_t)f.blocks * XW_QUOTA_BLOCK;

	ck_assert_int_eq(xw_quota_shape(e, n, &s), 0);
	ck_assert_mem_eq(s.level, shapes[_i].level, sizeof(s.level));
	ck_assert_uint_eq(s.data, shapes[_i].data);
	ck_assert_int_eq(xw_quota_decode(f.bytes, len, XW_QUOTA_GROUP, &info, take, &t), 0);
	ck_assert_uint_eq(t.n, n);
	ck_assert_uint_eq(info.blocks, s.blocks);
	ck_assert_uint_eq(info.free_entry, n % XW_QUOTA_PER_BLOCK ? s.blocks - 1 : 0);
	ck_assert_uint_eq(info.free_block, 0);
	ck_assert_uint_eq(info.block_grace, XW_QUOTA_GRACE);
	ck_assert_int_eq(xw_quota_decode(f.bytes, len, XW_QUOTA_GROUP, &info, NULL, NULL), 0);
	ck_assert_int_eq(xw_quota_decode(f.bytes, len, XW_QUOTA_USER, &info, NULL, NULL),
			 XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_quota_decode(f.bytes, len - 1, XW_QUOTA_GROUP, &info, NULL, NULL),
			 XW_ERR_CORRUPT);
	free(f.bytes);
	free(e);
}
END_TEST

START_TEST(stops)
{
	struct xw_quota_entry *e = entries(40, 0, 1);
	struct file f = make(XW_QUOTA_USER, e, 40);
	struct taken t = {.stop = 17};
	struct xw_quota_info info;

	ck_assert_int_eq(xw_quota_decode(f.bytes, (size_t)f.blocks * XW_QUOTA_BLOCK, XW_QUOTA_USER,
					 &info, take, &t),
			 77);
	ck_assert_uint_eq(t.n, 17);
	free(f.bytes);
	free(e);
}
END_TEST

/* One word of a file of 20 ids (7 blocks: header, one of each level, two of data). */
static const struct {
	unsigned off;
	uint32_t value;
	int want;
} changes[] = {
	{0x0000, 0, XW_ERR_CORRUPT}, /* magic */
	{0x0004, 0, XW_ERR_CORRUPT}, /* version */
	{0x0004, 2, XW_ERR_CORRUPT},
	{0x0008, 5, 0},
	{0x0014, 1, XW_ERR_CORRUPT}, /* blocks */
	{0x0014, 5, XW_ERR_CORRUPT},
	{0x0014, 8, XW_ERR_CORRUPT},
	{0x0014, 0xffffffff, XW_ERR_CORRUPT},
	{0x0018, 7, XW_ERR_CORRUPT}, /* free lists */
	{0x001c, 7, XW_ERR_CORRUPT},
	{0x0018, 6, 0},
	{0x0400, 0, 0}, /* the root: empty */
	{0x0400, 1, XW_ERR_CORRUPT}, /* itself */
	{0x0400, 7, XW_ERR_CORRUPT}, /* outside */
	{0x0404, 2, XW_ERR_CORRUPT}, /* a subtree twice: ids are not where the path leads */
	{0x0800, 2, XW_ERR_CORRUPT}, /* a loop */
	{0x1000, 6, XW_ERR_CORRUPT}, /* the other data block */
	{0x1000, 2, XW_ERR_CORRUPT},
	{0x1004, 0, 0}, /* id 1 gone */
	{0x1410, 99, XW_ERR_CORRUPT}, /* id 0's entry */
};

START_TEST(rejects)
{
	struct xw_quota_entry *e = entries(20, 0, 1);
	struct file f = make(XW_QUOTA_USER, e, 20);
	struct xw_quota_info info;

	ck_assert_uint_eq(f.blocks, 7);
	poke32(f.bytes + changes[_i].off, changes[_i].value);
	ck_assert_int_eq(xw_quota_decode(f.bytes, (size_t)f.blocks * XW_QUOTA_BLOCK, XW_QUOTA_USER,
					 &info, NULL, NULL),
			 changes[_i].want);
	free(f.bytes);
	free(e);
}
END_TEST

static int take_limit(void *arg, const struct xw_quota_entry *e)
{
	uint64_t *sum = arg;

	*sum += e->id * e->inode_hard;
	return 0;
}

static int count_one(void *arg, const struct xw_quota_entry *e)
{
	uint64_t *n = arg;

	(void)e;
	++*n;
	return 0;
}

/* Data blocks are known without the tree; blocks of the tree are not taken for them. */
START_TEST(salvages)
{
	struct xw_quota_entry *e = entries(40, 3, 70000);
	uint64_t want = 0, sum = 0;
	struct file f;

	for (size_t i = 0; i < 40; i++) {
		e[i].inode_hard = i % 3;
		want += e[i].id * e[i].inode_hard;
	}
	f = make(XW_QUOTA_USER, e, 40);
	memset(f.bytes, 0, XW_QUOTA_BLOCK);
	ck_assert_int_eq(
		xw_quota_salvage(f.bytes, (size_t)f.blocks * XW_QUOTA_BLOCK, take_limit, &sum), 0);
	ck_assert_uint_eq(sum, want);
	free(f.bytes);
	free(e);
}
END_TEST

/* A bit in a slot of no id: all entries are read, and the file is known to be wrong. */
START_TEST(sees_strays)
{
	const size_t spare = 16 + (XW_QUOTA_PER_BLOCK - 1) * 72; /* of the only data block */
	struct xw_quota_entry *e = entries(3, 3, 70000);
	struct file f = make(XW_QUOTA_USER, e, 3);
	const size_t len = (size_t)f.blocks * XW_QUOTA_BLOCK;
	struct xw_quota_info info;
	uint64_t sum = 0;

	ck_assert_int_eq(xw_quota_decode(f.bytes, len, XW_QUOTA_USER, &info, count_one, &sum), 0);
	ck_assert_uint_eq(sum, 3);
	ck_assert(!info.stray);
	for (size_t at = spare; at < spare + 72; at += 71) {
		uint8_t *const byte = f.bytes + len - XW_QUOTA_BLOCK + at;

		*byte = 4;
		sum = 0;
		ck_assert_int_eq(
			xw_quota_decode(f.bytes, len, XW_QUOTA_USER, &info, count_one, &sum), 0);
		ck_assert_uint_eq(sum, 3);
		ck_assert(info.stray);
		*byte = 0;
	}
	free(f.bytes);
	free(e);
}
END_TEST

START_TEST(keeps_grace)
{
	struct xw_quota_shape shape;
	struct xw_quota_info info;
	struct file f = {0};

	ck_assert_int_eq(xw_quota_shape(NULL, 0, &shape), 0);
	f.blocks = shape.blocks;
	f.bytes = calloc(shape.blocks, XW_QUOTA_BLOCK);
	ck_assert_ptr_nonnull(f.bytes);
	shape.block_grace = 77;
	ck_assert_int_eq(xw_quota_emit(XW_QUOTA_USER, NULL, 0, &shape, put, &f), 0);
	ck_assert_int_eq(xw_quota_decode(f.bytes, (size_t)shape.blocks * XW_QUOTA_BLOCK,
					 XW_QUOTA_USER, &info, NULL, NULL),
			 0);
	ck_assert_uint_eq(info.block_grace, 77);
	ck_assert_uint_eq(info.inode_grace, XW_QUOTA_GRACE);
	free(f.bytes);
}
END_TEST

START_TEST(knows_header)
{
	struct file f = make(XW_QUOTA_PROJECT, NULL, 0);

	ck_assert(xw_quota_is_header(f.bytes, XW_QUOTA_PROJECT));
	ck_assert(!xw_quota_is_header(f.bytes, XW_QUOTA_USER));
	ck_assert(!xw_quota_is_header(f.bytes, XW_QUOTA_GROUP));
	f.bytes[4]++; /* version */
	ck_assert(!xw_quota_is_header(f.bytes, XW_QUOTA_PROJECT));
	free(f.bytes);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("quota");
	TCase *t = tcase_create("quota");

	tcase_set_timeout(t, 60);
	unit_add_table(t, as_mke2fs, fresh);
	unit_add_table(t, shape_and_back, shapes);
	tcase_add_test(t, stops);
	unit_add_table(t, rejects, changes);
	tcase_add_test(t, salvages);
	tcase_add_test(t, sees_strays);
	tcase_add_test(t, keeps_grace);
	tcase_add_test(t, knows_header);
	suite_add_tcase(s, t);
	return unit_main(s);
}
