/* SPDX-License-Identifier: MIT */
/* How full the nodes of an itree are when names come one at a time, in orders of their inodes. */
#include "unit.h"

#include <stdio.h>

#include "dir_store.h"
#include "disk/itree.h"

#define NAMES 20000u
#define FIRST 100u

enum order {
	ASCENDING,
	DESCENDING,
	TWO_RANGES, /* one name of the first, one of the second, ... */
	TWO_DOWN, /* the same, both descending */
	APART, /* from the middle up and down in turn */
	EIGHT_RANGES,
	BELOW, /* the upper half, then the lower half */
	BETWEEN, /* lowest and highest quarter, then upwards between them */
	BETWEEN_DOWN, /* the same, downwards */
	STRIDES, /* two ranges of every sixteenth inode */
	RANDOM,
};

static const struct row {
	enum order order;
	unsigned percent; /* of the bytes of all nodes, at least */
} rows[] = {
	{ASCENDING, 95},    {DESCENDING, 95},   {TWO_RANGES, 95}, {TWO_DOWN, 95},
	{APART, 95},        {EIGHT_RANGES, 95}, {BELOW, 95},      {BETWEEN, 95},
	{BETWEEN_DOWN, 95}, {STRIDES, 95},      {RANDOM, 66},
};

/* Number i of an inode in that order. Not for RANDOM, which shuffles those of ASCENDING. */
static uint32_t inode_of(enum order order, uint32_t i)
{
	const uint32_t half = NAMES / 2, quarter = NAMES / 4;

	switch (order) {
	case DESCENDING:
		return NAMES - 1 - i;
	case TWO_RANGES:
		return i % 2 * half + i / 2;
	case TWO_DOWN:
		return NAMES - 1 - (i % 2 * half + i / 2);
	case APART:
		return i % 2 ? half + i / 2 : half - 1 - i / 2;
	case EIGHT_RANGES:
		return i % 8 * (NAMES / 8) + i / 8;
	case BELOW:
		return (i + half) % NAMES;
	case BETWEEN:
		return i < quarter ? i : i < half ? i + half : i - quarter;
	case BETWEEN_DOWN:
		return i < quarter ? i : i < half ? i + half : NAMES - 1 - (i - quarter);
	case STRIDES:
		return (i % 2 * half + i / 2) * 16;
	case ASCENDING:
	case RANDOM:
		break;
	}
	return i;
}

static void shuffle(uint32_t *inode)
{
	uint64_t state = 7;

	for (uint32_t i = NAMES - 1; i; i--) {
		uint32_t k, was = inode[i];

		state = state * 6364136223846793005u + 1442695040888963407u;
		k = (uint32_t)((state >> 33) % (i + 1));
		inode[i] = inode[k];
		inode[k] = was;
	}
}

struct found {
	uint64_t nodes, used, entries;
	xw_ino last;
};

static void look_at(const struct dir_store *s, xw_blk blk, struct found *f)
{
	const uint8_t *block = s->blocks.v[blk];
	struct xw_itree_flaw flaw;
	struct xw_itree_entry e;
	struct xw_itree_hdr h;
	uint32_t off = 0;

	ck_assert_int_eq(xw_itree_node_check(block, s->bs, false, &h, &flaw), 0);
	f->nodes++;
	f->used += h.used;
	for (unsigned i = 0; h.level && i < h.count; i++) {
		struct xw_itree_idx idx;

		ck_assert_int_eq(xw_itree_idx_decode(block, i, &idx), 0);
		/* what is left of a separator is not above it, what is right not below */
		ck_assert_uint_ge(idx.key.ino, f->last);
		look_at(s, idx.blk, f);
		ck_assert_uint_ge(f->last, idx.key.ino);
	}
	while (!h.level && off < h.used) {
		ck_assert_int_eq(xw_itree_leaf_decode(block, h.used, off, &e, &off), 0);
		ck_assert_uint_gt(e.key.ino, f->last);
		f->last = e.key.ino;
		f->entries++;
	}
}

START_TEST(filled)
{
	const struct row *r = &rows[_i];
	const struct xw_dir_format format = {
		.block_size = 4096,
		.filetype = true,
		.csum = true,
		.dir_index = true,
		.large_dir = true,
		.itree = true,
		.hash_version = XW_DX_HALF_MD4,
	};
	uint32_t *inode = calloc(NAMES, sizeof(*inode));
	struct found f = {0};
	struct dir_store s;
	struct xw_dir d;

	ck_assert_ptr_nonnull(inode);
	for (uint32_t i = 0; i < NAMES; i++)
		inode[i] = FIRST + inode_of(r->order, i);
	if (r->order == RANDOM)
		shuffle(inode);
	dir_store_init(&s, &format, 0, &d);
	for (uint32_t i = 0; i < NAMES; i++) {
		char name[32];
		const int len = snprintf(name, sizeof(name), "file-of-the-test-%06u", inode[i]);

		ck_assert_int_eq(xw_dir_insert(&d, name, (unsigned)len, inode[i], XW_FT_REG), 0);
	}
	ck_assert_int_eq(xw_dir_flush(&d), 0);
	ck_assert(d.now.itree);
	look_at(&s, d.tree.root, &f);
	ck_assert_uint_eq(f.entries, NAMES);
	ck_assert_uint_ge(f.used * 100, f.nodes * xw_itree_cap(s.bs) * r->percent);
	dir_store_free(&s, &d);
	free(inode);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("itree_fill");
	TCase *t = tcase_create("all");

	unit_add_table(t, filled, rows);
	suite_add_tcase(s, t);
	return unit_main(s);
}
