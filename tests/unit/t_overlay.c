/* SPDX-License-Identifier: MIT */
/* The overlay: what it shows, what it holds, what it lets through to the base. t_dev.c has the
 * rules that it shares with other devices. */
#include "config.h"

#include <string.h>

#include "base/types.h"
#include "dev/overlay.h"
#include "faultdev.h"
#include "unit.h"

#define SIZE 70000 /* no multiple of any block size */

static struct xw_diag diag;
static struct faultdev *base;
static unsigned char before[2 * SIZE];

static uint32_t rnd(uint32_t *x)
{
	return (*x = *x * 1664525u + 1013904223u) >> 8;
}

/* A base full of bytes that are not zero, and an overlay on it. */
static struct xw_dev *open_over(uint32_t block_size)
{
	struct xw_dev *o;

	memset(&diag, 0, sizeof(diag));
	base = faultdev_open_mem(0, &diag);
	for (size_t i = 0; i < SIZE; i++)
		before[i] = (unsigned char)(i * 7 + i / 256 + 1) | 1;
	ck_assert_int_eq(xw_dev_pwrite(&base->dev, before, SIZE, 0), 0);
	base->changes = 0;
	ck_assert_int_eq(xw_overlay_open(&base->dev, block_size, &diag, &o), 0);
	return o;
}

static void check_base(void)
{
	unsigned char *got = malloc(SIZE);

	ck_assert_uint_eq(base->dev.size, SIZE);
	ck_assert_int_eq(xw_dev_pread(base->under, got, SIZE, 0), 0);
	ck_assert(memcmp(got, before, SIZE) == 0);
	free(got);
}

static void check_shows(struct xw_dev *o, const unsigned char *model, uint64_t size)
{
	unsigned char *got = malloc(size + 1);

	ck_assert_uint_eq(o->size, size);
	ck_assert_int_eq(xw_dev_pread(o, got, size, 0), 0);
	ck_assert(memcmp(got, model, size) == 0);
	ck_assert_int_eq(xw_dev_pread(o, got, 1, size), XW_ERR_TRUNCATED);
	xw_diag_clear(&diag);
	free(got);
}

static const uint32_t sizes[] = {512, 1024, 4096, 65536};

/* Random changes against an array; the base must not see any of them. */
START_TEST(like_an_array)
{
	struct xw_dev *o = open_over(sizes[_i]);
	unsigned char *model = calloc(1, 2 * SIZE), *buf = malloc(20000);
	uint64_t size = SIZE;
	uint32_t x = 1;

	memcpy(model, before, SIZE);
	for (int step = 0; step < 400; step++) {
		uint64_t off = rnd(&x) % SIZE, len = rnd(&x) % (rnd(&x) % 8 ? 3000 : 20000);

		switch (rnd(&x) % 8) {
		case 0:
			ck_assert_int_eq(xw_dev_zero(o, off, len), 0);
			memset(model + off, 0, len);
			size = len ? XW_MAX(size, off + len) : size;
			break;
		case 1:
			if (rnd(&x) % 4)
				break;
			off = off / 2 + SIZE / 2;
			ck_assert_int_eq(xw_dev_set_size(o, off), 0);
			memset(model + off, 0, 2 * SIZE - off);
			size = off;
			break;
		default:
			for (size_t i = 0; i < len; i++)
				buf[i] = (unsigned char)rnd(&x);
			ck_assert_int_eq(xw_dev_pwrite(o, buf, len, off), 0);
			memcpy(model + off, buf, len);
			size = len ? XW_MAX(size, off + len) : size;
		}
		if (step % 40 == 0)
			check_shows(o, model, size);
	}
	check_shows(o, model, size);
	ck_assert_uint_eq(base->changes, 0);
	check_base();
	xw_overlay_discard(o);
	check_shows(o, before, SIZE);
	xw_dev_close(o);
	free(model);
	free(buf);
}
END_TEST

/* The dirty blocks put on a copy of the base give what the overlay shows. */
START_TEST(dirty_blocks_are_the_difference)
{
	const uint32_t bs = sizes[_i];
	struct xw_dev *o = open_over(bs);
	unsigned char *model = calloc(1, 2 * SIZE), *got = malloc(2 * SIZE);
	uint64_t *blocks, last = 0;
	uint32_t x = 5;
	size_t n;

	ck_assert_int_eq(xw_overlay_dirty(o, &blocks, &n), 0);
	ck_assert_ptr_null(blocks);
	ck_assert_uint_eq(n, 0);
	for (int i = 0; i < 60; i++) {
		uint64_t off = rnd(&x) % SIZE;

		if (i % 3 == 0)
			ck_assert_int_eq(xw_dev_zero(o, off, XW_MIN(3 * bs, SIZE)), 0);
		else
			ck_assert_int_eq(xw_dev_pwrite(o, &off, sizeof(off), off), 0);
	}
	ck_assert_int_eq(xw_dev_pread(o, got, o->size, 0), 0);
	memcpy(model, before, SIZE);
	ck_assert_int_eq(xw_overlay_dirty(o, &blocks, &n), 0);
	ck_assert_uint_gt(n, 0);
	for (size_t i = 0; i < n; i++) {
		uint64_t at = blocks[i] * bs, len = XW_MIN(bs, o->size - at);
		const void *data;

		ck_assert(i == 0 || blocks[i] > last);
		last = blocks[i];
		ck_assert(xw_overlay_block(o, blocks[i], &data));
		if (data)
			memcpy(model + at, data, len);
		else
			memset(model + at, 0, len);
	}
	ck_assert(memcmp(model, got, o->size) == 0);
	free(blocks);
	free(model);
	free(got);
	xw_dev_close(o);
}
END_TEST

/* Blocks 10 .. 19 and everything from 40 on were free. */
static uint64_t free_fn(void *arg, uint64_t blk, uint64_t n, bool *is_free)
{
	uint64_t end = blk < 10 ? 10 : blk < 20 ? 20 : blk < 40 ? 40 : UINT64_MAX;

	++*(int *)arg;
	*is_free = (blk >= 10 && blk < 20) || blk >= 40;
	return XW_MIN(n, end - blk);
}

START_TEST(shadow)
{
	const uint32_t bs = 1024;
	struct xw_dev *o = open_over(bs);
	unsigned char *model = calloc(1, 2 * SIZE), *buf = malloc(30000);
	struct xw_overlay_stats st;
	uint64_t *blocks;
	size_t n;
	int asked = 0;

	memcpy(model, before, SIZE);
	/* dirty before the callback: stays held, free or not */
	ck_assert_int_eq(xw_dev_pwrite(o, "early", 5, 12 * bs + 100), 0);
	memcpy(model + 12 * bs + 100, "early", 5);
	xw_overlay_set_shadow(o, free_fn, &asked);
	memset(buf, 0xA5, 30000);
	/* 8 (part) .. 33 (part) in one write */
	ck_assert_int_eq(xw_dev_pwrite(o, buf, 25 * bs + 7, 8 * bs + 33), 0);
	memset(model + 8 * bs + 33, 0xA5, 25 * bs + 7);
	/* part of a free block, zeros over the border to 40, growth */
	ck_assert_int_eq(xw_dev_pwrite(o, "part", 4, 50 * bs + 10), 0);
	memcpy(model + 50 * bs + 10, "part", 4);
	ck_assert_int_eq(xw_dev_zero(o, 39 * bs, 3 * bs), 0);
	memset(model + 39 * bs, 0, 3 * bs);
	ck_assert_int_eq(xw_dev_pwrite(o, "tail", 4, 80 * bs), 0);
	memcpy(model + 80 * bs, "tail", 4);
	ck_assert_int_gt(asked, 0);
	check_shows(o, model, 80 * bs + 4);

	/* and says so: held or not, in runs */
	for (xw_blk blk = 0; blk < 60;) {
		const xw_blk ends[] = {10, 12, 13, 20, 40, 60};
		bool through;
		size_t i = 0;

		while (blk >= ends[i])
			i++;
		ck_assert_uint_eq(xw_overlay_write_target(o, blk, 60 - blk, &through),
				  ends[i] - blk);
		ck_assert_int_eq(through, i == 1 || i == 3 || i == 5);
		blk = ends[i];
	}
	/* the base has exactly the free ones */
	ck_assert_uint_eq(base->dev.size, 80 * bs + 4);
	ck_assert_int_eq(xw_dev_pread(base->under, buf, bs, 10 * bs), 0);
	ck_assert(memcmp(buf, model + 10 * bs, bs) == 0);
	ck_assert_int_eq(xw_dev_pread(base->under, buf, bs, 12 * bs), 0);
	ck_assert(memcmp(buf, before + 12 * bs, bs) == 0);
	ck_assert_int_eq(xw_dev_pread(base->under, buf, bs, 39 * bs), 0);
	ck_assert(memcmp(buf, before + 39 * bs, bs) == 0);
	ck_assert_int_eq(xw_dev_pread(base->under, buf, 4, 50 * bs + 10), 0);
	ck_assert(memcmp(buf, "part", 4) == 0);

	ck_assert_int_eq(xw_overlay_dirty(o, &blocks, &n), 0);
	for (size_t i = 0; i < n; i++)
		ck_assert(blocks[i] < 10 || blocks[i] == 12 || (blocks[i] >= 20 && blocks[i] < 40));
	ck_assert_uint_eq(n, 2 + 1 + 14 + 1);
	xw_overlay_stats(o, &st);
	ck_assert_uint_eq(st.dirty, n);
	ck_assert_uint_eq(st.shadow, 9 * bs + 4 + 2 * bs + 4);

	ck_assert_uint_eq(base->flushes, 0);
	ck_assert_int_eq(xw_dev_flush(o), 0);
	ck_assert_uint_eq(base->flushes, 1);
	free(blocks);
	free(model);
	free(buf);
	xw_dev_close(o);
}
END_TEST

START_TEST(errors)
{
	struct xw_dev *o = open_over(4096), *kept, *bad;
	uint64_t *blocks;
	char c;
	size_t n;

	ck_assert_int_eq(xw_overlay_open(&base->dev, 1000, &diag, &bad), XW_ERR_INTERNAL);
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_dev_zero(o, INT64_MAX, 2), XW_ERR_HOSTFULL);
	xw_diag_clear(&diag);
	/* a block whose other bytes cannot be read does not become dirty */
	base->fail_read = base->reads + 1;
	ck_assert_int_eq(xw_dev_pwrite(o, "x", 1, 5000), XW_ERR_IO);
	ck_assert_int_eq(xw_overlay_dirty(o, &blocks, &n), 0);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(xw_dev_pread(o, &c, 1, 5000), 0);
	ck_assert_int_eq((unsigned char)c, before[5000]);
	/* a whole block needs no read; nothing to flush without shadow writes */
	base->fail_read = base->reads + 1;
	ck_assert_int_eq(xw_dev_pwrite(o, before, 4096, 8192), 0);
	ck_assert_int_eq(xw_dev_flush(o), 0);
	ck_assert_uint_eq(base->flushes, 0);
	base->dev.is_block = true;
	kept = xw_overlay_detach(o);
	ck_assert_ptr_eq(kept, &base->dev);
	ck_assert_int_eq(xw_overlay_open(kept, 4096, &diag, &o), 0);
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_dev_pwrite(o, "x", 1, SIZE), XW_ERR_HOSTFULL);
	ck_assert_int_eq(xw_dev_set_size(o, 1), 0);
	ck_assert_uint_eq(o->size, SIZE);
	xw_dev_close(o);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("overlay");
	TCase *tc = tcase_create("overlay");

	unit_add_table(tc, like_an_array, sizes);
	unit_add_table(tc, dirty_blocks_are_the_difference, sizes);
	tcase_add_test(tc, shadow);
	tcase_add_test(tc, errors);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
