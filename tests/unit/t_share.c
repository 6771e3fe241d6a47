/* SPDX-License-Identifier: MIT */
/* Sharing of xattr blocks: references, the limit of 1024, collisions, order, threads. */
#include "unit.h"

#include "base/endian.h"
#include "disk/xattrblk.h"
#include "xattr/layout.h"
#include "xattr/share.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define BS 4096u
#define HEAD (32u + 20 + 4) /* header, entry of "v", terminator */

/* A block with one attribute of `len` bytes that begins with the number n. */
static void make(uint8_t *block, uint32_t n, size_t len)
{
	struct xw_xattr_set s = {0};
	struct xw_xattr_slot slots[1];
	struct xw_xattr_span span;
	uint8_t value[BS] = {0};

	memset(value, 'v', len);
	poke32(value, n);
	ck_assert_int_eq(xw_xattr_set_put(&s, "user.v", 6, value, len, NULL), 0);
	ck_assert_int_eq(xw_xattr_layout(&s, 0, BS, false, slots, NULL), 0);
	ck_assert(xw_xattr_encode_block(&s, slots, BS, block, &span));
	xw_xattr_set_free(&s);
}

/* Without the zero middle: what make() left has one entry, whose value's offset is in it. */
static int get_keyed(struct xw_share *s, const uint8_t *block, const uint64_t *key,
		     struct xw_share_block **out)
{
	struct xw_share_content c = {.head_len = HEAD, .tail_len = BS - peek16(block + 34)};
	uint8_t bytes[BS];

	memcpy(bytes, block, c.head_len);
	memcpy(bytes + c.head_len, block + BS - c.tail_len, c.tail_len);
	c.bytes = bytes;
	c.key = key ? *key : xw_share_key(bytes, c.head_len + c.tail_len);
	return xw_share_get_packed(s, &c, out);
}

static struct xw_share_block *get(struct xw_share *s, const uint8_t *block)
{
	struct xw_share_block *b = NULL;

	ck_assert_int_eq(get_keyed(s, block, NULL, &b), 0);
	return b;
}

START_TEST(same_and_different)
{
	uint8_t one[BS], two[BS], out[BS];
	struct xw_share *s;
	struct xw_share_block *a, *b;

	ck_assert_int_eq(xw_share_new(BS, _i ? XW_CACHE_BUILD : 0, &s), 0);
	make(one, 1, 100);
	make(two, 2, 100);
	a = get(s, one);
	b = get(s, two);
	ck_assert_ptr_ne(a, b);
	ck_assert_ptr_eq(get(s, one), a);
	ck_assert_ptr_eq(get(s, two), b);
	ck_assert_ptr_eq(get(s, two), b);
	ck_assert_uint_eq(a->refcount, 2);
	ck_assert_uint_eq(b->refcount, 3);
	ck_assert_uint_eq(xw_share_count(s), 2);
	ck_assert_ptr_eq(xw_share_at(s, 0), a);
	ck_assert_ptr_eq(xw_share_at(s, 1), b);
	/* the whole block, with the count in it */
	memset(out, 0xff, sizeof(out));
	xw_share_expand(s, b, out);
	poke32(two + 4, 3);
	ck_assert_mem_eq(out, two, BS);
	ck_assert_uint_lt(b->head_len + b->tail_len, 200);
	xw_share_free(s);
}
END_TEST

START_TEST(limit_1024)
{
	uint8_t block[BS];
	struct xw_share *s;
	struct xw_share_block *first;

	ck_assert_int_eq(xw_share_new(BS, XW_CACHE_BUILD, &s), 0);
	make(block, 1, 40);
	first = get(s, block);
	for (unsigned i = 1; i < 2500; i++)
		get(s, block);
	ck_assert_uint_eq(xw_share_count(s), 3);
	ck_assert_ptr_eq(xw_share_at(s, 0), first);
	ck_assert_uint_eq(xw_share_at(s, 0)->refcount, 1024);
	ck_assert_uint_eq(xw_share_at(s, 1)->refcount, 1024);
	ck_assert_uint_eq(xw_share_at(s, 2)->refcount, 2500 - 2048);
	/* a full one that lost a reference takes one again, when the latest is full too */
	xw_share_put(s, first);
	ck_assert_uint_eq(first->refcount, 1023);
	for (unsigned i = 2500 - 2048; i < 1024; i++)
		ck_assert_ptr_eq(get(s, block), xw_share_at(s, 2));
	ck_assert_ptr_eq(get(s, block), first);
	ck_assert_uint_eq(xw_share_count(s), 3);
	get(s, block);
	ck_assert_uint_eq(xw_share_count(s), 4);
	xw_share_free(s);
}
END_TEST

START_TEST(drop_to_none)
{
	uint8_t block[BS];
	struct xw_share *s;
	struct xw_share_block *b;

	ck_assert_int_eq(xw_share_new(BS, XW_CACHE_BUILD, &s), 0);
	make(block, 1, 40);
	b = get(s, block);
	xw_share_put(s, b);
	ck_assert_uint_eq(b->refcount, 0);
	ck_assert_ptr_eq(get(s, block), b);
	ck_assert_uint_eq(b->refcount, 1);
	xw_share_free(s);
}
END_TEST

START_TEST(collisions)
{
	const uint64_t key = 42;
	struct xw_share_block *b;
	uint8_t block[BS];
	struct xw_share *s;

	ck_assert_int_eq(xw_share_new(BS, XW_CACHE_BUILD, &s), 0);
	for (unsigned round = 0; round < 3; round++)
		for (unsigned n = 0; n < 100; n++) {
			make(block, n, 40 + n % 3 * 4);
			ck_assert_int_eq(get_keyed(s, block, &key, &b), 0);
			ck_assert_ptr_eq(b, xw_share_at(s, n));
			ck_assert_uint_eq(xw_share_at(s, n)->refcount, round + 1);
		}
	ck_assert_uint_eq(xw_share_count(s), 100);
	xw_share_free(s);
}
END_TEST

/* ext4's own hash would not tell these apart: two words swapped across an even number of folds. */
START_TEST(key_is_strong)
{
	uint8_t a[16] = {1, 0, 0, 0, 0, 0, 0, 0, 2}, b[16] = {2, 0, 0, 0, 0, 0, 0, 0, 1};

	ck_assert_uint_eq(xw_xattr_entry_hash("n", 1, a, 16), xw_xattr_entry_hash("n", 1, b, 16));
	ck_assert_uint_ne(xw_share_key(a, 16), xw_share_key(b, 16));
}
END_TEST

START_TEST(deterministic)
{
	enum { CALLS = 60000 };
	struct xw_share *s[2];
	uint32_t *order = malloc(CALLS * sizeof(*order));

	for (unsigned k = 0; k < 2; k++) {
		uint64_t seed = 7;
		uint8_t block[BS];

		ck_assert_int_eq(xw_share_new(BS, XW_CACHE_BUILD, &s[k]), 0);
		for (unsigned i = 0; i < CALLS; i++) {
			uint32_t n;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			/* some often, many seldom: more than the cache holds */
			n = seed >> 63 ? (uint32_t)(seed >> 40) % 50
				       : (uint32_t)(seed >> 40) % 30000;
			if (i == 0)
				make(block, n, 44);
			poke32(block + BS - 44,
			       n); /* the hashes go stale, which the sharer does not look at */
			if (k == 0)
				order[i] = (uint32_t)(get(s[k], block)->key >> 32);
			else
				ck_assert_uint_eq(order[i],
						  (uint32_t)(get(s[k], block)->key >> 32));
		}
	}
	ck_assert_uint_eq(xw_share_count(s[0]), xw_share_count(s[1]));
	for (size_t i = 0; i < xw_share_count(s[0]); i++) {
		ck_assert_uint_eq(xw_share_at(s[0], i)->key, xw_share_at(s[1], i)->key);
		ck_assert_uint_eq(xw_share_at(s[0], i)->refcount, xw_share_at(s[1], i)->refcount);
	}
	xw_share_free(s[0]);
	xw_share_free(s[1]);
	free(order);
}
END_TEST

START_TEST(packed)
{
	static const uint8_t stable[] = "head and tail";
	uint8_t copy[sizeof(stable)];
	struct xw_share_content c = {.bytes = stable, .head_len = 8, .tail_len = 5, .stable = true};
	struct xw_share *s;
	struct xw_share_block *a, *b;

	c.key = xw_share_key(c.bytes, 13);
	ck_assert_int_eq(xw_share_new(BS, XW_CACHE_BUILD, &s), 0);
	ck_assert_int_eq(xw_share_get_packed(s, &c, &a), 0);
	ck_assert_ptr_eq(a->bytes, stable);
	memcpy(copy, stable, sizeof(copy));
	c.bytes = copy;
	c.stable = false;
	ck_assert_int_eq(xw_share_get_packed(s, &c, &b), 0);
	ck_assert_ptr_eq(a, b);
	/* the same bytes, cut elsewhere */
	c.head_len = 9;
	c.tail_len = 4;
	ck_assert_int_eq(xw_share_get_packed(s, &c, &b), 0);
	ck_assert_ptr_ne(a, b);
	ck_assert_ptr_ne(b->bytes, copy);
	xw_share_free(s);
}
END_TEST

/* With a hint a block is found again whatever the cache has seen in between. */
START_TEST(hints)
{
	uint8_t bytes[2] = {1, 2}, flood[8];
	struct xw_share_block *hint = NULL, *first, *b;
	struct xw_share_content c = {
		.bytes = bytes, .head_len = 1, .tail_len = 1, .hint = _i ? &hint : NULL};
	struct xw_cache_stats st;
	struct xw_share *s;

	c.key = xw_share_key(bytes, 2);
	ck_assert_int_eq(xw_share_new(BS, XW_CACHE_BUILD, &s), 0);
	ck_assert_int_eq(xw_share_get_packed(s, &c, &first), 0);
	for (uint64_t i = 0; i < 20000; i++) {
		struct xw_share_content f = {.bytes = flood, .head_len = 4, .tail_len = 4};

		poke64(flood, i);
		f.key = xw_share_key(flood, 8);
		ck_assert_int_eq(xw_share_get_packed(s, &f, &b), 0);
	}
	ck_assert_int_eq(xw_share_get_packed(s, &c, &b), 0);
	ck_assert_int_eq(b == first, _i);
	ck_assert_uint_eq(first->refcount, _i ? 2 : 1);
	/* the limit holds for hints too, and the hint moves on */
	for (int i = 0; i < 1024; i++)
		ck_assert_int_eq(xw_share_get_packed(s, &c, &b), 0);
	ck_assert_ptr_ne(b, first);
	ck_assert_uint_le(first->refcount, 1024);
	ck_assert_uint_eq(b->refcount, _i ? 2 : 1);
	ck_assert_ptr_eq(hint, _i ? b : NULL);
	/* a reference by hint counts as use */
	xw_share_stats(s, &st);
	ck_assert_uint_gt(st.hits, 1000);
	xw_share_free(s);
}
END_TEST

struct load {
	struct xw_share *s;
	uint8_t (*blocks)[BS];
	unsigned id;
};

enum { CONTENTS = 40, GETS = 6000, THREADS = 6 };

static void *work(void *arg)
{
	struct load *l = arg;
	uint64_t seed = l->id;

	for (unsigned i = 0; i < GETS; i++) {
		struct xw_share_block *b;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if (get_keyed(l->s, l->blocks[(seed >> 40) % CONTENTS], NULL, &b))
			return l;
		if (seed >> 62 == 0)
			xw_share_put(l->s, b);
	}
	return NULL;
}

START_TEST(threads)
{
	struct load l[THREADS];
	pthread_t t[THREADS];
	uint8_t(*blocks)[BS] = malloc(CONTENTS * BS);
	uint64_t refs = 0, puts = 0;
	struct xw_share *s;

	ck_assert_int_eq(xw_share_new(BS, 0, &s), 0);
	for (unsigned n = 0; n < CONTENTS; n++)
		make(blocks[n], n, 40);
	for (unsigned i = 0; i < THREADS; i++) {
		uint64_t seed = i;

		l[i] = (struct load){s, blocks, i};
		for (unsigned k = 0; k < GETS; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			puts += seed >> 62 == 0;
		}
		ck_assert_int_eq(pthread_create(&t[i], NULL, work, &l[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		void *failed;

		pthread_join(t[i], &failed);
		ck_assert_ptr_null(failed);
	}
	for (size_t i = 0; i < xw_share_count(s); i++) {
		ck_assert_uint_le(xw_share_at(s, i)->refcount, 1024);
		refs += xw_share_at(s, i)->refcount;
	}
	ck_assert_uint_eq(refs, (uint64_t)THREADS * GETS - puts);
	/* beginning the same content at once is allowed, but is rare */
	ck_assert_uint_ge(xw_share_count(s), CONTENTS);
	ck_assert_uint_le(xw_share_count(s), (uint64_t)CONTENTS * THREADS);
	xw_share_free(s);
	free(blocks);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("share");
	TCase *tc = tcase_create("share");

	tcase_set_timeout(tc, 120);
	unit_add_cases(tc, same_and_different, "shared", "build");
	tcase_add_test(tc, limit_1024);
	tcase_add_test(tc, drop_to_none);
	tcase_add_test(tc, collisions);
	tcase_add_test(tc, key_is_strong);
	tcase_add_test(tc, deterministic);
	tcase_add_test(tc, packed);
	unit_add_cases(tc, hints, "no hint", "hint");
	tcase_add_test(tc, threads);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
