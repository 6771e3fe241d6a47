/* SPDX-License-Identifier: MIT */
/*
 * The block cache below directories that are changed: random changes of bytes are all there when
 * the change is kept, none when it is not, whatever was evicted and read again meanwhile.
 */
#include "unit.h"

#include <string.h>

#include "dir/cache.h"

#define BS 256u
#define BLOCKS 400u
#define AREA (BS - 56u) /* bytes that are changed; the rest stays zero, as behind an itree node */

struct store {
	uint8_t block[BLOCKS][BS]; /* the device */
	uint8_t now[BLOCKS][BS], before[BLOCKS][BS]; /* what the cache must hold */
	struct xw_dcache c;
	uint32_t state;
	unsigned released;
};

static uint32_t rnd(struct store *s, uint32_t below)
{
	s->state = s->state * 1664525u + 1013904223u;
	return (s->state >> 8) % below;
}

static int read_block(void *arg, xw_blk blk, void *buf)
{
	memcpy(buf, ((struct store *)arg)->block[blk / 8], BS);
	return 0;
}

static int write_block(void *arg, xw_blk blk, const void *buf)
{
	memcpy(((struct store *)arg)->block[blk / 8], buf, BS);
	return 0;
}

static int release_block(void *arg, xw_blk blk)
{
	(void)blk;
	((struct store *)arg)->released++;
	return 0;
}

/* Unused entries that tile a block: what the cache takes for a leaf, whatever is in them. */
static void init_block(uint8_t *b)
{
	memset(b, 0, BS);
	b[4] = BS & 0xff;
	b[5] = BS >> 8;
}

static void begin(struct store *s, size_t max)
{
	const struct xw_dcache_owner o = {.block_size = BS};
	const struct xw_dir_io io = {
		.arg = s, .read = read_block, .write = write_block, .release = release_block};

	for (unsigned i = 0; i < BLOCKS; i++)
		init_block(s->block[i]);
	memcpy(s->now, s->block, sizeof(s->now));
	s->state = 7;
	ck_assert_int_eq(xw_dcache_init(&s->c, &o, &io, max), 0);
}

/* The block's bytes behind the first 12, which say that it is a leaf. */
static void change(struct store *s, unsigned i, struct xw_dbuf *b)
{
	uint8_t *now = s->now[i];
	const uint32_t off = 12 + rnd(s, AREA / 2 - 12), len = 1 + rnd(s, 20);
	const uint32_t end = off + len + rnd(s, AREA / 2 - 40);

	switch (rnd(s, 8)) {
	case 0:
		ck_assert_int_eq(xw_dcache_dirty(&s->c, b), 0);
		memset(b->data + 12, (int)rnd(s, 256), AREA - 12);
		memcpy(now, b->data, BS);
		break;
	case 1:
	case 2:
		ck_assert_int_eq(xw_dcache_dirty_range(&s->c, b, off, len), 0);
		memset(b->data + off, (int)rnd(s, 256), len);
		memcpy(now, b->data, BS);
		break;
	case 3:
	case 4:
	case 5: /* zeros are behind what is moved */
		ck_assert_int_eq(xw_dcache_dirty_range(&s->c, b, end, BS - end), 0);
		memset(b->data + end, 0, BS - end);
		memcpy(now, b->data, BS);
		ck_assert_int_eq(xw_dcache_open_gap(&s->c, b, off, len, end), 0);
		memmove(now + off + len, now + off, end - off);
		memset(b->data + off, 0xee, len);
		memset(now + off, 0xee, len);
		break;
	default:
		ck_assert_int_eq(xw_dcache_dirty_range(&s->c, b, end, BS - end), 0);
		memset(b->data + end, 0, BS - end);
		memcpy(now, b->data, BS);
		ck_assert_int_eq(xw_dcache_close_gap(&s->c, b, off, len, end), 0);
		memmove(now + off, now + off + len, end - off - len);
		memset(now + end - len, 0, len);
		break;
	}
	ck_assert_mem_eq(b->data, now, BS);
}

static struct xw_dbuf *get(struct store *s, unsigned i)
{
	struct xw_dbuf *b;

	ck_assert_int_eq(xw_dcache_get(&s->c, (xw_blk)i * 8, XW_DBUF_LEAF, &b), 0);
	ck_assert_mem_eq(b->data, s->now[i], BS);
	return b;
}

START_TEST(kept_or_not)
{
	struct store *s = calloc(1, sizeof(*s));
	const unsigned changes = 4000 / (unsigned)unit_stride();

	ck_assert_ptr_nonnull(s);
	begin(s, _i ? 50 : 1000);
	for (unsigned k = 0; k < changes; k++) {
		memcpy(s->before, s->now, sizeof(s->now));
		for (unsigned n = rnd(s, 12); n; n--) {
			unsigned i = rnd(s, rnd(s, 2) ? 4 : BLOCKS);

			change(s, i, get(s, i));
		}
		if (rnd(s, 3)) {
			ck_assert_int_eq(xw_dcache_commit(&s->c), 0);
			ck_assert_uint_le(s->c.n, _i ? 50 : BLOCKS);
		} else {
			xw_dcache_abort(&s->c);
			memcpy(s->now, s->before, sizeof(s->now));
		}
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		get(s, i);
		ck_assert_int_eq(xw_dcache_commit(&s->c), 0);
	}
	ck_assert_int_eq(xw_dcache_flush(&s->c), 0);
	ck_assert_mem_eq(s->block, s->now, sizeof(s->now));
	xw_dcache_free(&s->c);
	free(s);
}
END_TEST

/* Blocks that come and go while others stand in their places of the table. */
START_TEST(given_back)
{
	struct store *s = calloc(1, sizeof(*s));
	bool gone[BLOCKS] = {0};
	unsigned released = 0;

	ck_assert_ptr_nonnull(s);
	begin(s, BLOCKS);
	for (unsigned k = 0; k < 3000; k++) {
		const unsigned i = rnd(s, BLOCKS);
		const bool keep = rnd(s, 4);
		struct xw_dbuf *b;

		if (gone[i])
			ck_assert_int_eq(xw_dcache_new(&s->c, (xw_blk)i * 8, XW_DBUF_LEAF, &b), 0);
		else
			ck_assert_int_eq(xw_dcache_release(&s->c, (xw_blk)i * 8), 0);
		if (gone[i])
			init_block(b->data);
		if (keep) {
			ck_assert_int_eq(xw_dcache_commit(&s->c), 0);
			released += !gone[i];
			gone[i] = !gone[i];
			init_block(s->now[i]);
		} else {
			xw_dcache_abort(&s->c);
		}
		for (unsigned n = 0; n < 3; n++) {
			unsigned other = rnd(s, BLOCKS);

			if (!gone[other])
				change(s, other, get(s, other));
		}
		ck_assert_int_eq(xw_dcache_commit(&s->c), 0);
	}
	ck_assert_uint_eq(s->released, released);
	ck_assert_uint_gt(released, 500);
	xw_dcache_free(&s->c);
	free(s);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dir_cache");
	TCase *t = tcase_create("changes");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, kept_or_not, 0, 2);
	tcase_add_test(t, given_back);
	suite_add_tcase(s, t);
	return unit_main(s);
}
