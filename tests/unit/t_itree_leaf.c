/* SPDX-License-Identifier: MIT */
/* Deleted entries of itree leaves in the block cache: replaced, and gone when a leaf is written. */
#include "unit.h"

#include <stdio.h>

#include "dir/itree_leaf.h"
#include "dir_store.h"

#define NAMES 3000u
#define FIRST 100u

static const struct xw_dir_format format = {
	.block_size = 4096,
	.filetype = true,
	.csum = true,
	.dir_index = true,
	.large_dir = true,
	.itree = true,
	.hash_version = XW_DX_HALF_MD4,
};

/* The name of inode number i of that generation; `longer`: by so many bytes. */
static unsigned name_of(char *buf, uint32_t i, unsigned generation, unsigned longer)
{
	return (unsigned)sprintf(buf, "file-%06u-%02u%.*s", i, generation, (int)longer,
				 "xxxxxxxxxxxxxxxx");
}

static void insert(struct xw_dir *d, uint32_t i, unsigned generation, unsigned longer)
{
	char name[64];
	const unsigned len = name_of(name, i, generation, longer);

	ck_assert_int_eq(xw_dir_insert(d, name, len, FIRST + i, XW_FT_REG), 0);
}

static void delete (struct xw_dir *d, uint32_t i, unsigned generation)
{
	char name[64];
	const unsigned len = name_of(name, i, generation, 0);

	ck_assert_int_eq(xw_dir_delete(d, name, len, NULL), 0);
}

static void make(struct dir_store *s, struct xw_dir *d, size_t cache)
{
	dir_store_init(s, &format, cache, d);
	for (uint32_t i = 0; i < NAMES; i++)
		insert(d, i, 0, 0);
}

/* Size of all deleted entries in the cache. */
static uint32_t dead(const struct xw_dir *d)
{
	uint32_t sum = 0;

	for (const struct xw_dbuf *b = d->cache.newest; b; b = b->older)
		sum += b->kind == XW_DBUF_ITREE ? xw_itree_dead(b->data) : 0;
	return sum;
}

/* State of a walk over the nodes on the device, which must hold exactly the expected names. */
struct found {
	const char *(*expected)(xw_ino ino);
	xw_ino last;
	uint32_t entries;
};

static void look_at(const struct dir_store *s, xw_blk blk, struct found *f)
{
	const uint8_t *block = s->blocks.v[blk];
	struct xw_itree_flaw flaw;
	struct xw_itree_entry e;
	struct xw_itree_hdr h;
	uint32_t off = 0;

	ck_assert_int_eq(xw_itree_node_check(block, s->bs, false, &h, &flaw), 0);
	ck_assert_int_eq(xw_itree_verify(block, s->bs, true, STORE_SEED), 0);
	for (unsigned i = 0; h.level && i < h.count; i++) {
		struct xw_itree_idx idx;

		ck_assert_int_eq(xw_itree_idx_decode(block, i, &idx), 0);
		look_at(s, idx.blk, f);
	}
	while (!h.level && off < h.used) {
		ck_assert_int_eq(xw_itree_leaf_decode(block, h.used, off, &e, &off), 0);
		ck_assert_uint_gt(e.key.ino, f->last);
		ck_assert_mem_eq(e.name, f->expected(e.key.ino), e.name_len);
		f->last = e.key.ino;
		f->entries++;
	}
}

static void flush_and_look(struct dir_store *s, struct xw_dir *d,
			   const char *(*expected)(xw_ino ino), uint32_t n)
{
	struct found f = {.expected = expected};

	ck_assert_int_eq(xw_dir_flush(d), 0);
	ck_assert(d->now.itree);
	ck_assert_uint_eq(dead(d), 0);
	look_at(s, d->tree.root, &f);
	ck_assert_uint_eq(f.entries, n);
}

static const char *first_names(xw_ino ino)
{
	static char name[64];

	name_of(name, ino - FIRST, 0, 0);
	return name;
}

static const char *thirds_replaced(xw_ino ino)
{
	static char name[64];

	name_of(name, ino - FIRST, (ino - FIRST) % 3 == 0, 0);
	return name;
}

/* The names of one inode have hashes above and below each other: both neighbors are reused. */
START_TEST(number_reused)
{
	const uint32_t rec = xw_itree_rec_len(14);
	struct dir_store s;
	struct xw_dir d;
	uint64_t appends;

	make(&s, &d, 0);
	appends = d.tree.stats.appends;
	for (uint32_t i = 0; i < NAMES; i += 3) {
		delete (&d, i, 0);
		ck_assert_uint_eq(dead(&d), rec);
		insert(&d, i, 1, 0);
		ck_assert_uint_eq(dead(&d), 0);
	}
	ck_assert_uint_eq(d.tree.stats.appends, appends);
	ck_assert_uint_eq(d.tree.stats.splits, 0);
	flush_and_look(&s, &d, thirds_replaced, NAMES);
	dir_store_free(&s, &d);
}
END_TEST

static const char *no_thirds(xw_ino ino)
{
	ck_assert_uint_ne((ino - FIRST) % 3, 0);
	return first_names(ino);
}

/* Also with a cache that writes leaves while others lose entries (_i blocks, 0: no bound). */
START_TEST(gone_when_written)
{
	struct dir_store s;
	struct xw_dir d;

	make(&s, &d, (size_t)_i);
	for (uint32_t i = 0; i < NAMES; i++) {
		const uint32_t k = (uint32_t)((uint64_t)i * 1301 % NAMES);

		if (k % 3 == 0)
			delete (&d, k, 0);
	}
	flush_and_look(&s, &d, no_thirds, NAMES - NAMES / 3);
	for (uint32_t i = 0; i < NAMES; i += 3)
		insert(&d, i, 1, 0);
	flush_and_look(&s, &d, thirds_replaced, NAMES);
	dir_store_free(&s, &d);
}
END_TEST

static const char *one_longer(xw_ino ino)
{
	static char name[64];

	ck_assert_uint_ne(ino, FIRST + 13);
	name_of(name, ino - FIRST, ino == FIRST + 11, 4);
	return ino == FIRST + 11 ? name : first_names(ino);
}

/* A full leaf takes a name of 4 bytes more where deleted ones were, without a split. */
START_TEST(space_is_found)
{
	struct dir_store s;
	struct xw_dir d;

	make(&s, &d, 0);
	delete (&d, 11, 0);
	delete (&d, 13, 0);
	insert(&d, 11, 1, 4);
	ck_assert_uint_eq(d.tree.stats.splits, 0);
	flush_and_look(&s, &d, one_longer, NAMES - 1);
	dir_store_free(&s, &d);
}
END_TEST

int main(void)
{
	static const int caches[] = {0, 8, 64};
	Suite *s = suite_create("itree_leaf");
	TCase *t = tcase_create("all");

	tcase_add_test(t, number_reused);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(caches); i++)
		tcase_add_loop_test(t, gone_when_written, caches[i], caches[i] + 1);
	tcase_add_test(t, space_is_found);
	suite_add_tcase(s, t);
	return unit_main(s);
}
