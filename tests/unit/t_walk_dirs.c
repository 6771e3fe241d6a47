/* SPDX-License-Identifier: MIT */
/* The walkers over directory blocks and hash trees: healthy ones, and each kind of damage. */
#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "dir/build.h"
#include "unit.h"
#include "walk/dirblock.h"
#include "walk/htree.h"

#define BS 1024u
#define SEED 77u
#define INODES 100000u

static void seal(uint8_t *b)
{
	xw_dir_block_set_csum(b, BS, SEED);
}

/* n entries "name00" .. of 16 bytes, the last one to the tail. */
static void make_block(uint8_t *b, unsigned n)
{
	const uint32_t room = BS - XW_DIR_TAIL;
	char name[16];

	memset(b, 0, BS);
	for (unsigned i = 0; i < n; i++) {
		struct xw_dirent e = {.ino = 100 + i, .name_len = 6, .ftype = XW_FT_REG};

		snprintf(name, sizeof(name), "name%02u", i);
		e.name = name;
		e.rec_len = i + 1 == n ? room - 16 * i : 16;
		xw_dirent_encode(b, BS, 16 * i, &e);
	}
	xw_dir_tail_init(b, BS);
	seal(b);
}

static struct xw_dirblock_area area_of(const uint8_t *b)
{
	return (struct xw_dirblock_area){.data = b,
					 .size = BS,
					 .seed = SEED,
					 .inodes_count = INODES,
					 .csum = true,
					 .filetype = true};
}

struct seen {
	unsigned entries, unused, removed, findings, rules;
	uint64_t inos; /* sum */
	struct xw_dirblock_item last; /* finding */
};

static struct seen walk_area(const struct xw_dirblock_area *a)
{
	struct xw_dirblock_item item;
	struct seen s = {0};
	struct xw_dirblock it;
	int kind;

	xw_dirblock_begin(&it, a);
	while ((kind = xw_dirblock_next(&it, &item)) != 0) {
		if (kind == 2) {
			s.findings++;
			s.rules |= 1u << item.rule;
			s.last = item;
			if (!item.keep)
				continue;
		}
		if (item.removed)
			s.removed++;
		else if (item.unused)
			s.unused++;
		else {
			s.entries++;
			s.inos += item.e.ino;
		}
	}
	return s;
}

static struct seen walk_block(const uint8_t *b)
{
	const struct xw_dirblock_area a = area_of(b);

	return walk_area(&a);
}

START_TEST(healthy_block)
{
	uint8_t b[BS];
	struct seen s;

	make_block(b, 20);
	s = walk_block(b);
	ck_assert_uint_eq(s.findings, 0);
	ck_assert_uint_eq(s.entries, 20);
}
END_TEST

/* Whatever is put into one rec_len, the other entries and that one are found. */
START_TEST(rec_len_is_resynchronized)
{
	static const uint16_t bad[] = {0, 4, 8, 10, 13, 1022, 4096, 65535};
	uint8_t b[BS];

	for (unsigned i = 0; i < 20; i++) {
		for (unsigned k = 0; k < XW_ARRAY_SIZE(bad); k++) {
			struct seen s;

			make_block(b, 20);
			b[16 * i + 4] = (uint8_t)bad[k];
			b[16 * i + 5] = (uint8_t)(bad[k] >> 8);
			seal(b);
			s = walk_block(b);
			ck_assert_uint_eq(s.entries, 20);
			ck_assert_uint_eq(s.rules, 1u << XW_DIRBLOCK_REC_LEN);
			ck_assert_uint_eq(s.findings, 1);
		}
	}
}
END_TEST

START_TEST(names_and_numbers)
{
	uint8_t b[BS];
	struct seen s;

	make_block(b, 20);
	b[16 * 3 + 8 + 2] = '/';
	b[16 * 4 + 8 + 2] = 0;
	b[16 * 5 + 6] = 0; /* name_len */
	b[16 * 6 + 3] = 0xFF; /* inode number */
	b[16 * 7 + 6] = 200;
	seal(b);
	s = walk_block(b);
	ck_assert_uint_eq(s.findings, 5);
	ck_assert_uint_eq(s.rules, 1u << XW_DIRBLOCK_NAME_BYTES | 1u << XW_DIRBLOCK_NAME_EMPTY |
					   1u << XW_DIRBLOCK_INO | 1u << XW_DIRBLOCK_NAME_LEN);
	/* the name that was said to be too long ends at its NUL */
	ck_assert_uint_eq(s.entries, 16);
	ck_assert_uint_eq(s.last.e.name_len, 6);
}
END_TEST

START_TEST(tail_and_checksum)
{
	struct xw_dirblock_area a;
	uint8_t b[BS];
	struct seen s;

	make_block(b, 20);
	b[9] ^= 1;
	s = walk_block(b);
	ck_assert_uint_eq(s.rules, 1u << XW_DIRBLOCK_CSUM);
	ck_assert_uint_eq(s.entries, 20);
	make_block(b, 20);
	b[BS - 5] = 0;
	s = walk_block(b);
	ck_assert_uint_ne(s.rules & 1u << XW_DIRBLOCK_NO_TAIL, 0);
	ck_assert_uint_eq(s.entries, 20);
	a = area_of(b);
	a.csum = false;
	ck_assert_uint_eq(walk_area(&a).rules, 0);
}
END_TEST

START_TEST(removed_entries)
{
	struct xw_dirblock_area a;
	uint8_t b[BS];
	struct seen s;

	make_block(b, 20);
	b[16 * 4 + 4] = 32; /* over name05 */
	seal(b);
	a = area_of(b);
	s = walk_area(&a);
	ck_assert_uint_eq(s.entries, 19);
	ck_assert_uint_eq(s.removed, 0);
	a.removed = true;
	ck_assert_uint_eq(walk_area(&a).removed, 1);
}
END_TEST

/* ---- hash trees ---- */

enum { MAX_BLOCKS = 4096 };

struct tree {
	uint8_t (*b)[BS];
	uint32_t n;
};

static int put(void *arg, uint32_t lblk, const void *block)
{
	struct tree *t = arg;

	ck_assert_uint_lt(lblk, MAX_BLOCKS);
	memcpy(t->b[lblk], block, BS);
	t->n = XW_MAX(t->n, lblk + 1);
	return 0;
}

static int get(void *arg, uint32_t lblk, void *buf)
{
	const struct tree *t = arg;

	memcpy(buf, t->b[lblk], BS);
	return 0;
}

static void make_tree(struct tree *t, size_t n)
{
	const struct xw_dir_format f = {.block_size = BS,
					.filetype = true,
					.csum = true,
					.dir_index = true,
					.hash_version = XW_DX_HALF_MD4};
	const struct xw_dir_self self = {.ino = 12, .parent = 2, .inode_seed = SEED};
	struct xw_dir_entry *e = calloc(n, sizeof(*e));
	char(*names)[40] = calloc(n, sizeof(*names));
	struct xw_dir_shape shape;

	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "a-longer-name-%07zu", i);
		e[i] = (struct xw_dir_entry){.name = names[i],
					     .name_len = 21,
					     .ftype = XW_FT_REG,
					     .ino = 20 + (xw_ino)i};
	}
	t->b = calloc(MAX_BLOCKS, BS);
	t->n = 0;
	ck_assert_int_eq(xw_dir_shape(&f, e, n, 0, &shape), 0);
	ck_assert(shape.indexed);
	ck_assert_int_eq(xw_dir_emit(&f, &shape, e, n, &self, put, t), 0);
	free(e);
	free(names);
}

struct tree_seen {
	unsigned leaves, nodes, findings, rules;
};

static struct tree_seen walk_tree(struct tree *t)
{
	const struct xw_htree_env env = {.block_size = BS,
					 .seed = SEED,
					 .blocks = t->n,
					 .levels_max = 1,
					 .csum = true,
					 .read = get,
					 .arg = t};
	struct tree_seen s = {0};
	struct xw_htree_item item;
	struct xw_htree it;
	int kind;

	ck_assert_int_eq(xw_htree_begin(&it, &env), 0);
	while ((kind = xw_htree_next(&it, &item)) > 0) {
		if (kind == 2) {
			s.findings++;
			s.rules |= 1u << item.rule;
		} else if (item.leaf) {
			s.leaves++;
		} else {
			s.nodes++;
		}
	}
	ck_assert_int_eq(kind, 0);
	xw_htree_end(&it);
	return s;
}

static void reseal_root(struct tree *t)
{
	xw_dx_block_set_csum(t->b[0], BS, XW_DX_ROOT_ENTRIES, SEED);
}

START_TEST(healthy_tree)
{
	static const size_t sizes[] = {60, 2000, 20000};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(sizes); i++) {
		struct tree_seen s;
		struct tree t;

		make_tree(&t, sizes[i]);
		s = walk_tree(&t);
		ck_assert_uint_eq(s.findings, 0);
		ck_assert_uint_eq(s.leaves + s.nodes, t.n);
		free(t.b);
	}
}
END_TEST

static const struct {
	unsigned off; /* in dx_root */
	uint8_t value;
	enum xw_htree_rule rule;
} root_damage[] = {
	{28, 9, XW_HTREE_HASH_VERSION}, {29, 7, XW_HTREE_INFO},  {30, 3, XW_HTREE_DEPTH},
	{31, 1, XW_HTREE_FLAGS},        {32, 5, XW_HTREE_LIMIT}, {34, 0, XW_HTREE_COUNT},
	{36, 0, XW_HTREE_LBLK},         {36, 2, XW_HTREE_TWICE}, {43, 0xFF, XW_HTREE_ORDER},
	{46, 1, XW_HTREE_LBLK},         {36, 3, XW_HTREE_TWICE},
};

START_TEST(damaged_root)
{
	for (unsigned i = 0; i < XW_ARRAY_SIZE(root_damage); i++) {
		struct tree_seen s;
		struct tree t;

		make_tree(&t, 200);
		t.b[0][root_damage[i].off] = root_damage[i].value;
		reseal_root(&t);
		s = walk_tree(&t);
		ck_assert_msg(s.rules >> root_damage[i].rule & 1, "damage %u: rules %x", i,
			      s.rules);
		free(t.b);
	}
}
END_TEST

START_TEST(damaged_node)
{
	struct tree_seen s;
	struct tree t;

	make_tree(&t, 20000);
	t.b[2][20] ^= 1; /* a hash of a dx_node */
	s = walk_tree(&t);
	ck_assert_uint_eq(s.rules & 1u << XW_HTREE_CSUM, 1u << XW_HTREE_CSUM);
	t.b[2][4] = 12; /* no node any more */
	s = walk_tree(&t);
	ck_assert_uint_eq(s.rules, 1u << XW_HTREE_NO_NODE | 1u << XW_HTREE_UNREFERENCED);
	free(t.b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("walk: directories");
	TCase *c = tcase_create("all");

	tcase_add_test(c, healthy_block);
	tcase_add_test(c, rec_len_is_resynchronized);
	tcase_add_test(c, names_and_numbers);
	tcase_add_test(c, tail_and_checksum);
	tcase_add_test(c, removed_entries);
	tcase_add_test(c, healthy_tree);
	tcase_add_test(c, damaged_root);
	tcase_add_test(c, damaged_node);
	suite_add_tcase(s, c);
	return unit_main(s);
}
