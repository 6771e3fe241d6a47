// SPDX-License-Identifier: MIT
/* The walk over itrees: the order of its items, findings by kind, and what skipping leaves out. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "unit.h"
#include "walk/itree.h"

enum { BS = 1024, BLOCKS = 16, DIR = 77, GEN = 5, ROOT = 3, SEED = 9 };

static uint8_t disk[BLOCKS][BS];

static void put_node(xw_blk blk, uint8_t level, uint16_t count, uint16_t used)
{
	const struct xw_itree_hdr h = {
		.level = level,
		.count = count,
		.used = used,
		.dir = DIR,
		.generation = GEN,
		.self = blk,
	};

	xw_itree_hdr_encode(disk[blk], BS, &h);
	xw_itree_set_csum(disk[blk], BS, true, SEED);
}

static void put_index(xw_blk blk, uint8_t level, xw_ino first, xw_ino step, const xw_blk *child,
		      uint16_t n)
{
	memset(disk[blk], 0, BS);
	for (unsigned i = 0; i < n; i++)
		xw_itree_idx_encode(disk[blk], i,
				    &(struct xw_itree_idx){
					    .key = {first ? first + i * step : i * step, 0},
					    .blk = child[i],
				    });
	put_node(blk, level, n, (uint16_t)(n * XW_ITREE_IDX));
}

static void put_leaf(xw_blk blk, xw_ino first)
{
	uint32_t used = 0;

	memset(disk[blk], 0, BS);
	for (unsigned i = 0; i < 3; i++)
		used += xw_itree_leaf_encode(disk[blk], used,
					     &(struct xw_itree_entry){
						     .key = {first + i, 2 * i},
						     .name_len = 4,
						     .ftype = 1,
						     .name = "name",
					     });
	put_node(blk, 0, 3, (uint16_t)used);
}

/* 3 -> (4 -> 6, 7), (5 -> 8, 9) */
static void make_tree(void)
{
	memset(disk, 0, sizeof(disk));
	put_index(ROOT, 2, 0, 200, (const xw_blk[]){4, 5}, 2);
	put_index(4, 1, 0, 100, (const xw_blk[]){6, 7}, 2);
	put_index(5, 1, 200, 100, (const xw_blk[]){8, 9}, 2);
	for (unsigned i = 0; i < 4; i++)
		put_leaf(6 + i, 12 + 100 * i);
}

static int read_block(void *arg, xw_blk blk, void *buf)
{
	(void)arg;
	ck_assert_uint_lt(blk, BLOCKS);
	memcpy(buf, disk[blk], BS);
	return blk == 15 ? XW_ERR_IO : 0;
}

struct seen {
	char items[256]; /* "c4 n4 d4 ": child, node, done; "f7 ": finding of rule 7 */
	unsigned findings, rule;
	bool left_out;
};

/* skip: the child that is left out; 0: none. */
static void walk(xw_blk root, xw_blk skip, struct seen *s)
{
	const struct xw_walk_itree_env env = {
		.block_size = BS,
		.csum = true,
		.dir = DIR,
		.generation = GEN,
		.seed = SEED,
		.blocks_count = BLOCKS,
		.read = read_block,
	};
	struct xw_walk_itree_item item;
	struct xw_walk_itree it;
	int more;

	*s = (struct seen){0};
	ck_assert_int_eq(xw_walk_itree_begin(&it, &env, root), 0);
	while ((more = xw_walk_itree_next(&it, &item)) != 0) {
		const size_t len = strlen(s->items);

		ck_assert_int_gt(more, 0);
		ck_assert_uint_lt(len, sizeof(s->items) - 8);
		snprintf(s->items + len, 8, "%c%u ", more == 2 ? 'f' : "cnd"[item.kind],
			 more == 2 ? item.rule : (unsigned)item.blk);
		if (more == 2) {
			s->findings++;
			s->rule = item.rule;
			s->left_out = item.left_out;
			ck_assert_ptr_nonnull(item.what);
			ck_assert(item.left_out || item.block);
		} else if (item.kind == XW_WALK_ITREE_CHILD && item.blk == skip) {
			xw_walk_itree_skip(&it);
		}
	}
	ck_assert_int_eq(xw_walk_itree_next(&it, &item), 0);
	xw_walk_itree_end(&it);
}

START_TEST(good)
{
	struct seen s;

	make_tree();
	walk(ROOT, 0, &s);
	ck_assert_str_eq(s.items, "c3 n3 c4 n4 c6 n6 d6 c7 n7 d7 d4 "
				  "c5 n5 c8 n8 d8 c9 n9 d9 d5 d3 ");
	walk(ROOT, 4, &s);
	ck_assert_str_eq(s.items, "c3 n3 c4 c5 n5 c8 n8 d8 c9 n9 d9 d5 d3 ");
	walk(ROOT, ROOT, &s);
	ck_assert_str_eq(s.items, "c3 ");
}
END_TEST

START_TEST(root_only)
{
	struct seen s;

	make_tree();
	walk(6, 0, &s);
	ck_assert_str_eq(s.items, "c6 n6 d6 ");
	walk(0, 0, &s);
	ck_assert_str_eq(s.items, "f5 ");
	walk(BLOCKS, 0, &s);
	ck_assert_str_eq(s.items, "f5 ");
	walk(14, 0, &s); /* zeros */
	ck_assert_str_eq(s.items, "c14 f6 ");
}
END_TEST

/* All members of all items: kind, block, level, entry, level and count of the header; "r": root */
static void describe(bool unverified, bool any_names, char *out, size_t size)
{
	const struct xw_walk_itree_env env = {
		.block_size = BS,
		.csum = true,
		.unverified = unverified,
		.any_names = any_names,
		.dir = DIR,
		.generation = GEN,
		.seed = SEED,
		.first_data_block = 2,
		.blocks_count = BLOCKS,
		.read = read_block,
	};
	struct xw_walk_itree_item i;
	struct xw_walk_itree it;
	size_t n = 0;
	int more;

	ck_assert_int_eq(xw_walk_itree_begin(&it, &env, ROOT), 0);
	while ((more = xw_walk_itree_next(&it, &i)) > 0) {
		ck_assert_uint_lt(n, size - 100);
		if (more == 2) {
			n += (size_t)snprintf(out + n, size - n, "%u(%d)%s%u.%u%s; ", i.rule,
					      i.code, i.left_out ? "left out " : "",
					      (unsigned)i.blk, i.entry, i.block ? "" : " unread");
			continue;
		}
		n += (size_t)snprintf(out + n, size - n, "%c%u:%u.%u%s", "cnd"[i.kind],
				      (unsigned)i.blk, i.level, i.entry, i.root ? "r" : "");
		if (i.kind != XW_WALK_ITREE_CHILD)
			n += (size_t)snprintf(out + n, size - n, " %ux%u%s", i.h.level, i.h.count,
					      i.block ? "" : " unread");
		ck_assert(i.kind == XW_WALK_ITREE_CHILD || !memcmp(i.block, disk[i.blk], BS));
		n += (size_t)snprintf(out + n, size - n, "; ");
	}
	ck_assert_int_eq(more, 0);
	out[n - 2] = 0;
	xw_walk_itree_end(&it);
	ck_assert_int_eq(xw_walk_itree_next(&it, &i), 0);
}

static void hurt_none(void)
{
}

static void hurt_root_csum(void)
{
	disk[ROOT][BS - 1] ^= 1;
}

static void hurt_outside(void)
{
	put_index(4, 1, 0, 100, (const xw_blk[]){2, BLOCKS}, 2); /* the first data block, the end */
}

static void hurt_one_child(void)
{
	put_index(ROOT, 2, 0, 200, (const xw_blk[]){4}, 1);
}

static void hurt_one_entry(void)
{
	put_index(4, 1, 0, 100, (const xw_blk[]){6}, 1);
}

static void hurt_empty(void)
{
	memset(disk[4], 0, BS);
	put_node(4, 1, 0, 0);
}

static void hurt_name(void)
{
	disk[6][XW_ITREE_HDR + 12] = '/';
	xw_itree_set_csum(disk[6], BS, true, SEED);
}

static void hurt_order(void)
{
	put_index(4, 1, 0, 100, (const xw_blk[]){6, 7}, 2);
	xw_itree_idx_encode(disk[4], 0, &(struct xw_itree_idx){.key = {101, 0}, .blk = 6});
	xw_itree_set_csum(disk[4], BS, true, SEED);
}

static void hurt_leaf_order(void)
{
	put_leaf(7, 112);
	xw_itree_leaf_encode(disk[7], 0,
			     &(struct xw_itree_entry){
				     .key = {900, 0}, .name_len = 4, .ftype = 1, .name = "name"});
	xw_itree_set_csum(disk[7], BS, true, SEED);
}

static void hurt_belongs_and_level(void)
{
	put_index(6, 1, 0, 100, (const xw_blk[]){8, 9}, 2);
	xw_itree_hdr_encode(
		disk[6], BS,
		&(struct xw_itree_hdr){
			.level = 1, .count = 2, .used = 2 * XW_ITREE_IDX, .dir = DIR, .self = 6});
	xw_itree_set_csum(disk[6], BS, true, SEED);
}

static const struct {
	const char *what;
	void (*hurt)(void);
	bool unverified, any_names;
	const char *want;
} described[] = {
	{"sound", hurt_none, false, false,
	 "c3:0.0r; n3:2.0r 2x2; c4:1.0; n4:1.0 1x2; c6:0.0; n6:0.0 0x3; d6:0.0 0x3; c7:0.1; n7:0.1 "
	 "0x3; d7:0.1 0x3; d4:1.0 1x2; c5:1.1; n5:1.1 1x2; c8:0.0; n8:0.0 0x3; d8:0.0 0x3; c9:0.1; "
	 "n9:0.1 0x3; d9:0.1 0x3; d5:1.1 1x2; d3:2.0r 2x2"},
	{"the root's checksum", hurt_root_csum, false, false,
	 "c3:0.0r; 6(-8)3.0; n3:2.0r 2x2; c4:1.0; n4:1.0 1x2; c6:0.0; n6:0.0 0x3; d6:0.0 0x3; "
	 "c7:0.1; n7:0.1 0x3; d7:0.1 0x3; d4:1.0 1x2; c5:1.1; n5:1.1 1x2; c8:0.0; n8:0.0 0x3; "
	 "d8:0.0 0x3; c9:0.1; n9:0.1 0x3; d9:0.1 0x3; d5:1.1 1x2; d3:2.0r 2x2"},
	{"checksums are not verified", hurt_root_csum, true, false,
	 "c3:0.0r; n3:2.0r 2x2; c4:1.0; n4:1.0 1x2; c6:0.0; n6:0.0 0x3; d6:0.0 0x3; c7:0.1; n7:0.1 "
	 "0x3; d7:0.1 0x3; d4:1.0 1x2; c5:1.1; n5:1.1 1x2; c8:0.0; n8:0.0 0x3; d8:0.0 0x3; c9:0.1; "
	 "n9:0.1 0x3; d9:0.1 0x3; d5:1.1 1x2; d3:2.0r 2x2"},
	{"outside", hurt_outside, false, false,
	 "c3:0.0r; n3:2.0r 2x2; c4:1.0; n4:1.0 1x2; 5(-7)left out 2.0 unread; 5(-7)left out 16.0 "
	 "unread; d4:1.0 1x2; c5:1.1; n5:1.1 1x2; c8:0.0; n8:0.0 0x3; d8:0.0 0x3; c9:0.1; n9:0.1 "
	 "0x3; d9:0.1 0x3; d5:1.1 1x2; d3:2.0r 2x2"},
	{"a root with one child", hurt_one_child, false, false,
	 "c3:0.0r; 12(-7)3.0; n3:2.0r 2x1; c4:1.0; n4:1.0 1x2; c6:0.0; n6:0.0 0x3; d6:0.0 0x3; "
	 "c7:0.1; n7:0.1 0x3; d7:0.1 0x3; d4:1.0 1x2; d3:2.0r 2x1"},
	{"a node with one child", hurt_one_entry, false, false,
	 "c3:0.0r; n3:2.0r 2x2; c4:1.0; n4:1.0 1x1; c6:0.0; n6:0.0 0x3; d6:0.0 0x3; d4:1.0 1x1; "
	 "c5:1.1; n5:1.1 1x2; c8:0.0; n8:0.0 0x3; d8:0.0 0x3; c9:0.1; n9:0.1 0x3; d9:0.1 0x3; "
	 "d5:1.1 1x2; d3:2.0r 2x2"},
	{"an empty node", hurt_empty, false, false,
	 "c3:0.0r; n3:2.0r 2x2; c4:1.0; 12(-7)4.0; n4:1.0 1x0; d4:1.0 1x0; c5:1.1; n5:1.1 1x2; "
	 "c8:0.0; n8:0.0 0x3; d8:0.0 0x3; c9:0.1; n9:0.1 0x3; d9:0.1 0x3; d5:1.1 1x2; d3:2.0r 2x2"},
	{"a name", hurt_name, false, false,
	 "c3:0.0r; n3:2.0r 2x2; c4:1.0; n4:1.0 1x2; c6:0.0; 10(-7)left out 6.0 unread; c7:0.1; "
	 "n7:0.1 0x3; d7:0.1 0x3; d4:1.0 1x2; c5:1.1; n5:1.1 1x2; c8:0.0; n8:0.0 0x3; d8:0.0 0x3; "
	 "c9:0.1; n9:0.1 0x3; d9:0.1 0x3; d5:1.1 1x2; d3:2.0r 2x2"},
	{"any name", hurt_name, false, true,
	 "c3:0.0r; n3:2.0r 2x2; c4:1.0; n4:1.0 1x2; c6:0.0; n6:0.0 0x3; d6:0.0 0x3; c7:0.1; n7:0.1 "
	 "0x3; d7:0.1 0x3; d4:1.0 1x2; c5:1.1; n5:1.1 1x2; c8:0.0; n8:0.0 0x3; d8:0.0 0x3; c9:0.1; "
	 "n9:0.1 0x3; d9:0.1 0x3; d5:1.1 1x2; d3:2.0r 2x2"},
	{"order in a node", hurt_order, false, false,
	 "c3:0.0r; n3:2.0r 2x2; c4:1.0; 11(-7)4.1; n4:1.0 1x2; c6:0.0; n6:0.0 0x3; d6:0.0 0x3; "
	 "c7:0.1; n7:0.1 0x3; d7:0.1 0x3; d4:1.0 1x2; c5:1.1; n5:1.1 1x2; c8:0.0; n8:0.0 0x3; "
	 "d8:0.0 0x3; c9:0.1; n9:0.1 0x3; d9:0.1 0x3; d5:1.1 1x2; d3:2.0r 2x2"},
	{"order in a leaf", hurt_leaf_order, false, false,
	 "c3:0.0r; n3:2.0r 2x2; c4:1.0; n4:1.0 1x2; c6:0.0; n6:0.0 0x3; d6:0.0 0x3; c7:0.1; "
	 "11(-7)left out 7.1 unread; d4:1.0 1x2; c5:1.1; n5:1.1 1x2; c8:0.0; n8:0.0 0x3; d8:0.0 "
	 "0x3; c9:0.1; n9:0.1 0x3; d9:0.1 0x3; d5:1.1 1x2; d3:2.0r 2x2"},
	{"another directory's, and another level", hurt_belongs_and_level, false, false,
	 "c3:0.0r; n3:2.0r 2x2; c4:1.0; n4:1.0 1x2; c6:0.0; 6(-7)left out 6.0 unread; c7:0.1; "
	 "n7:0.1 0x3; d7:0.1 0x3; d4:1.0 1x2; c5:1.1; n5:1.1 1x2; c8:0.0; n8:0.0 0x3; d8:0.0 0x3; "
	 "c9:0.1; n9:0.1 0x3; d9:0.1 0x3; d5:1.1 1x2; d3:2.0r 2x2"},
};

START_TEST(items)
{
	char got[2048];

	make_tree();
	described[_i].hurt();
	describe(described[_i].unverified, described[_i].any_names, got, sizeof(got));
	ck_assert_msg(!strcmp(got, described[_i].want), "%s\n# got  %s\n# want %s",
		      described[_i].what, got, described[_i].want);
}
END_TEST

/* The second child of node 4, in its place: */
static const struct damage {
	xw_blk child;
	unsigned rule;
	bool left_out;
} damages[] = {
	{0, 5, true},    {BLOCKS, 5, true}, {6, 7, true},
	{ROOT, 7, true}, {15, 6, true},     {10, 7, true}, /* an index node, where a leaf is due */
	{11, 6, false}, /* checksum */
	{12, 6, false}, /* of another directory */
	{13, 12, false}, /* empty */
};

START_TEST(damaged)
{
	const struct damage *d = &damages[_i];
	struct seen s;

	make_tree();
	put_index(10, 1, 100, 50, (const xw_blk[]){8, 9}, 2);
	put_leaf(11, 112);
	disk[11][BS - 1] ^= 1;
	put_leaf(12, 112);
	xw_itree_hdr_encode(
		disk[12], BS,
		&(struct xw_itree_hdr){
			.count = 3, .used = 48, .dir = DIR + 1, .generation = GEN, .self = 12});
	xw_itree_set_csum(disk[12], BS, true, SEED);
	put_node(13, 0, 0, 0);
	put_index(4, 1, 0, 100, (const xw_blk[]){6, d->child}, 2);
	walk(ROOT, 0, &s);
	ck_assert_uint_eq(s.findings, 1);
	ck_assert_uint_eq(s.rule, d->rule);
	ck_assert_int_eq(s.left_out, d->left_out);
	ck_assert_ptr_nonnull(strstr(s.items, " d9 d5 d3 "));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("walk_itree");
	TCase *t = tcase_create("walk_itree");

	tcase_add_test(t, good);
	tcase_add_test(t, root_only);
	unit_add_table(t, damaged, damages);
	unit_add_table(t, items, described);
	suite_add_tcase(s, t);
	return unit_main(s);
}
