/* SPDX-License-Identifier: MIT */
/*
 * Bulk-built itrees, and the checker: a tree that is right passes, and one change of a byte or two
 * breaks the rule that it should, is mended where that is the repair, and passes again.
 */
#include "unit.h"

#include "base/endian.h"
#include "dir/itree_build.h"
#include "disk/dirent.h"
#include "itree_mem.h"

/* ---- a directory's entries ---- */

struct tree {
	struct mem m;
	bool csum;
	struct xw_itree_entry *e;
	size_t n;
	struct xw_itree_plan plan;
	struct xw_run runs[3];
	uint8_t *block0;
	struct xw_itree_sum sum;
};

static const uint32_t hash_seed[4] = {1, 2, 3, 4};

static uint64_t rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static int cmp_entries(const void *a, const void *b)
{
	return xw_itree_entry_cmp(a, b);
}

/* Names of min to max bytes, distinct by their first eight; every tenth is a hard link. */
static void make_entries(struct tree *t, size_t n, unsigned min, unsigned max)
{
	uint64_t state = 9;

	t->n = n;
	t->e = calloc(n + 1, sizeof(*t->e));
	ck_assert_ptr_nonnull(t->e);
	for (size_t i = 0; i < n; i++) {
		unsigned len = min + (unsigned)rnd(&state) % (max - min + 1);
		char *name = malloc(256);
		struct xw_dx_hash h;

		ck_assert_ptr_nonnull(name);
		memset(name, 'a' + (int)(i % 26), 256);
		snprintf(name, 256, "%07zx", i);
		name[7] = '-';
		ck_assert_int_eq(xw_dx_hash(XW_DX_HALF_MD4, hash_seed, name, len, &h), 0);
		t->e[i] = (struct xw_itree_entry){
			.key = {.ino = 12 + (xw_ino)(i - (i % 10 == 9)), .hash = h.major},
			.name = name,
			.name_len = (uint8_t)len,
			.ftype = (uint8_t)(1 + i % 7),
		};
	}
	qsort(t->e, n, sizeof(*t->e), cmp_entries);
	for (size_t i = 0; i < n; i++)
		xw_itree_sum_add(&t->sum, t->e[i].key.ino, t->e[i].ftype, t->e[i].name,
				 t->e[i].name_len);
}

static int plan(struct tree *t)
{
	xw_itree_plan_begin(&t->plan, t->m.bs);
	for (size_t i = 0; i < t->n; i++)
		ck_assert_int_eq(xw_itree_plan_add(&t->plan, &t->e[i].key, t->e[i].name_len), 0);
	return xw_itree_plan_end(&t->plan);
}

static int put(void *arg, xw_blk blk, const void *block)
{
	struct mem *m = arg;

	ck_assert_uint_eq(m->used[blk], 0);
	m->used[blk] = 1;
	m->writes++;
	memcpy(mem_at(m, blk), block, m->bs);
	return 0;
}

static void write_tree(struct tree *t, size_t n_runs)
{
	struct xw_itree_writer w = {
		.plan = &t->plan,
		.runs = t->runs,
		.n_runs = n_runs,
		.dir = MEM_DIR,
		.generation = MEM_GEN,
		.inode_seed = MEM_SEED,
		.csum = t->csum,
		.put = put,
		.arg = &t->m,
	};

	ck_assert_int_eq(xw_itree_write_begin(&w), 0);
	for (size_t i = 0; i < t->n; i++)
		ck_assert_int_eq(xw_itree_write_add(&w, &t->e[i]), 0);
	ck_assert_int_eq(xw_itree_write_end(&w), 0);
	ck_assert_uint_eq(t->m.writes, t->plan.blocks);
	t->block0 = calloc(1, t->m.bs);
	xw_dx_info_encode(t->block0,
			  &(struct xw_dx_info){.hash_version = XW_DX_HALF_MD4, .info_length = 8});
	xw_dx_set_limit(t->block0, XW_DX_ROOT_ENTRIES, xw_dx_root_limit(t->m.bs, t->csum), 2);
	xw_itree_slot_set(t->block0, t->m.bs, t->csum, xw_itree_writer_root(&w));
}

/* Everything in one run at block 10, or in three with gaps. */
static void build(struct tree *t, uint32_t bs, bool csum, size_t n, unsigned max, size_t n_runs)
{
	*t = (struct tree){.csum = csum, .m = {.bs = bs}};
	make_entries(t, n, 8, max);
	ck_assert_int_eq(plan(t), 0);
	mem_init(&t->m, bs, t->plan.blocks + 100);
	t->runs[0] = (struct xw_run){10, t->plan.blocks};
	if (n_runs == 3) {
		ck_assert_uint_ge(t->plan.blocks, 3);
		t->runs[0] = (struct xw_run){t->plan.blocks + 50, 1};
		t->runs[1] = (struct xw_run){10, t->plan.blocks / 2};
		t->runs[2] = (struct xw_run){t->plan.blocks / 2 + 20,
					     t->plan.blocks - 1 - t->plan.blocks / 2};
	}
	write_tree(t, n_runs);
}

static void free_tree(struct tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		free((char *)t->e[i].name);
	free(t->e);
	xw_itree_plan_free(&t->plan);
	free(t->block0);
	mem_free(&t->m);
}

static struct xw_itree_dir dir_of(struct tree *t)
{
	return (struct xw_itree_dir){
		.ino = MEM_DIR,
		.generation = MEM_GEN,
		.inode_seed = MEM_SEED,
		.flags = XW_FL_INDEX | XW_FL_ITREE,
		.size = 3 * t->m.bs,
		.block0 = t->block0,
		.mapped = 4,
		.held = 4 + t->plan.blocks,
		.entries = &t->sum,
	};
}

static struct xw_itree_result check_with(struct tree *t, struct findings *f,
					 const struct xw_itree_dir *d)
{
	struct xw_itree_env env = findings_env(f, t->csum);
	struct xw_itree_result res;

	memcpy(env.hash_seed, hash_seed, sizeof(hash_seed));
	ck_assert_int_eq(xw_itree_check(&env, d, &res), 0);
	ck_assert_uint_eq(res.findings, f->n);
	return res;
}

static void check_clean(struct tree *t)
{
	struct findings f = {.m = &t->m};
	struct xw_itree_dir d = dir_of(t);
	struct xw_itree_result res = check_with(t, &f, &d);

	ck_assert_msg(!f.n, "%s", f.text);
	ck_assert(res.complete && res.has_tree);
	ck_assert_uint_eq(res.nodes, t->plan.blocks);
	ck_assert_uint_eq(res.leaves, t->plan.nodes[0]);
	ck_assert_uint_eq(res.levels, t->plan.levels);
	ck_assert_uint_eq(res.entries, t->n);
}

/* ---- building ---- */

static const struct {
	uint32_t bs;
	bool csum;
	size_t n;
	unsigned max; /* bytes of the longest name */
	size_t runs;
	unsigned levels;
} rows[] = {
	{1024, true, 0, 8, 1, 1},
	{1024, true, 1, 8, 1, 1},
	{1024, false, 49, 8, 1, 1},
	{1024, false, 50, 8, 1, 2},
	{1024, true, 50 * 61 - 61, 8, 3, 2},
	{1024, true, 3000, 8, 1, 3},
	{1024, false, 20000, 255, 3, 3},
	{4096, true, 5000, 20, 1, 2},
	{4096, false, 100000, 40, 3, 3},
	{65536, true, 20000, 30, 3, 2},
	{256, true, 18000, 24, 3, 5},
	{128, false, 500, 12, 1, 5},
};

START_TEST(built)
{
	struct tree t;
	size_t at = 0;

	build(&t, rows[_i].bs, rows[_i].csum, rows[_i].n, rows[_i].max, rows[_i].runs);
	ck_assert_uint_eq(t.plan.levels, rows[_i].levels);
	check_clean(&t);
	/* full: no leaf has room for the entry behind its last */
	for (size_t i = 0; i < t.plan.leaves.n; i++) {
		at += t.plan.leaves.v[i].count;
		if (at < t.n)
			ck_assert_uint_gt(t.plan.leaves.v[i].used +
						  xw_itree_rec_len(t.e[at].name_len),
					  xw_itree_cap(t.m.bs));
	}
	ck_assert_uint_eq(at, t.n);
	free_tree(&t);
}
END_TEST

START_TEST(too_deep)
{
	struct tree t = {.m = {.bs = 128}};

	make_entries(&t, 5000, 8, 8);
	ck_assert_int_eq(plan(&t), XW_ERR_LIMIT);
	free_tree(&t);
}
END_TEST

START_TEST(not_as_planned)
{
	struct tree t = {.m = {.bs = 1024}};
	struct xw_itree_writer w = {.plan = &t.plan, .runs = t.runs, .n_runs = 1, .put = put};

	make_entries(&t, 200, 8, 8);
	ck_assert_int_eq(plan(&t), 0);
	mem_init(&t.m, 1024, 100);
	w.arg = &t.m;
	t.runs[0] = (struct xw_run){10, t.plan.blocks};
	/* too few */
	ck_assert_int_eq(xw_itree_write_begin(&w), 0);
	ck_assert_int_eq(xw_itree_write_add(&w, &t.e[0]), 0);
	ck_assert_int_eq(xw_itree_write_end(&w), XW_ERR_INTERNAL);
	/* another one first */
	memset(t.m.used, 0, t.m.n);
	ck_assert_int_eq(xw_itree_write_begin(&w), 0);
	ck_assert_int_eq(xw_itree_write_add(&w, &t.e[1]), XW_ERR_INTERNAL);
	ck_assert_int_eq(xw_itree_write_end(&w), XW_ERR_INTERNAL);
	/* fewer blocks than planned */
	memset(t.m.used, 0, t.m.n);
	t.runs[0].len = 1;
	ck_assert_int_eq(xw_itree_write_begin(&w), 0);
	for (unsigned i = 0; i < 48; i++)
		ck_assert_int_eq(xw_itree_write_add(&w, &t.e[i]), 0);
	ck_assert_int_eq(xw_itree_write_add(&w, &t.e[48]), XW_ERR_INTERNAL);
	ck_assert_int_eq(xw_itree_write_end(&w), XW_ERR_INTERNAL);
	free_tree(&t);
}
END_TEST

/* ---- the checker ---- */

/* The first index node of level 1, its first leaf, another leaf in the middle. */
static xw_blk child_of(struct tree *t, xw_blk blk, unsigned i)
{
	struct xw_itree_idx e;

	xw_itree_idx_decode(mem_at(&t->m, blk), i, &e);
	return e.blk;
}

/* Seal a node again whose bytes were changed: what is left to find is the change. */
static void seal(struct tree *t, xw_blk blk)
{
	xw_itree_set_csum(mem_at(&t->m, blk), t->m.bs, t->csum, MEM_SEED);
}

enum where { ROOT, INDEX, LEAF, LAST_LEAF };

static xw_blk node_at(struct tree *t, enum where where)
{
	xw_blk blk = t->runs[0].start;

	if (where >= INDEX)
		blk = child_of(t, blk, 1);
	if (where == LEAF)
		blk = child_of(t, blk, 2);
	if (where == LAST_LEAF)
		blk = t->runs[0].start + t->plan.blocks - 1;
	return blk;
}

static void expect(struct tree *t, const struct xw_itree_dir *d, struct findings *f, unsigned rules,
		   enum xw_itree_repair repair)
{
	f->m = &t->m;
	check_with(t, f, d);
	ck_assert_msg(f->rules == rules, "rules %x, expected %x: %s", f->rules, rules, f->text);
	ck_assert_int_eq(f->repair, repair);
}

/*
 * A byte of a node set to a value, and what the checker says; with `sealed` the checksum is right.
 */
static const struct {
	enum where where;
	int off; /* negative: from the end */
	int add; /* to the byte there */
	bool sealed;
	unsigned rules;
	enum xw_itree_repair repair;
} bytes[] = {
	{ROOT, 0, 1, true, 1 << 6, XW_ITREE_REBUILD},
	{INDEX, 4, 1, true, 1 << 6, XW_ITREE_REBUILD},
	{LEAF, 12, 1, true, 1 << 6, XW_ITREE_REBUILD},
	{LEAF, 16, 1, true, 1 << 6, XW_ITREE_REBUILD},
	{LEAF, 24, 1, true, 1 << 6, XW_ITREE_REBUILD},
	{LEAF, 20, 1, true, 1 << 6, XW_ITREE_REBUILD},
	{LEAF, -8, 1, true, 1 << 6, XW_ITREE_REBUILD},
	{INDEX, -12, 1, true, 1 << 6, XW_ITREE_REBUILD},
	{LEAF, -1, 1, false, 1 << 6, XW_ITREE_FIX_CSUM},
	{ROOT, -4, 1, false, 1 << 6, XW_ITREE_FIX_CSUM},
	{LEAF, 43, 1, false, 1 << 6 | 1 << 15, XW_ITREE_REBUILD}, /* file type */
	{LEAF, 44, 1, true, 1 << 14 | 1 << 15, XW_ITREE_REBUILD}, /* a name */
	{LEAF, 36, 2, true, 1 << 14, XW_ITREE_REBUILD}, /* a hash */
	{LEAF, 40, 4, true, 1 << 10, XW_ITREE_REBUILD},
	{LEAF, 6, 1, true, 1 << 10, XW_ITREE_REBUILD},
	{INDEX, 6, 1, true, 1 << 10, XW_ITREE_REBUILD},
	{LEAF, 35, 1, true, 1 << 11, XW_ITREE_REBUILD}, /* inode number, far up */
	{INDEX, 46, -1, true, 1 << 13, XW_ITREE_FIX_QUARTILE},
	{ROOT, 62, -2, true, 1 << 13, XW_ITREE_FIX_QUARTILE},
	{INDEX, 33, 0x40, true, 1 << 11, XW_ITREE_FIX_SEPARATOR}, /* lowest separator, up */
	{INDEX, 64, -4, true, 1 << 11, XW_ITREE_FIX_SEPARATOR},
	{ROOT, 32, 1, true, 1 << 11, XW_ITREE_FIX_SEPARATOR}, /* leftmost spine */
	{INDEX, 5, 1, true, 1 << 7, XW_ITREE_REBUILD},
	{INDEX, 43, 1, true, 1 << 5, XW_ITREE_REBUILD}, /* a child outside */
};

START_TEST(byte_changed)
{
	struct tree t;
	struct findings f = {0};
	struct xw_itree_dir d;
	uint8_t *p;
	xw_blk blk;

	build(&t, 1024, true, 20000, 8, 1);
	d = dir_of(&t);
	blk = node_at(&t, bytes[_i].where);
	p = mem_at(&t.m, blk) + (bytes[_i].off < 0 ? 1024 : 0) + bytes[_i].off;
	*p = (uint8_t)(*p + bytes[_i].add);
	if (bytes[_i].sealed)
		seal(&t, blk);
	f.mend = bytes[_i].repair != XW_ITREE_REBUILD;
	expect(&t, &d, &f, bytes[_i].rules, bytes[_i].repair);
	if (f.mend)
		check_clean(&t);
	free_tree(&t);
}
END_TEST

/*
 * The order over a leaf's edge: the first entry of one leaf again as the last of the leaf before.
 */
START_TEST(leaves_out_of_order)
{
	struct findings f = {0};
	struct xw_itree_dir d;
	struct tree t;
	xw_blk a, b, index;

	build(&t, 1024, true, 20000, 8, 1);
	d = dir_of(&t);
	index = node_at(&t, INDEX);
	a = child_of(&t, index, 3);
	b = child_of(&t, index, 4);
	memcpy(mem_at(&t.m, a) + 32, mem_at(&t.m, b) + 32, 1024 - 32);
	seal(&t, a);
	expect(&t, &d, &f, 1 << 11 | 1 << 15, XW_ITREE_REBUILD);
	free_tree(&t);
}
END_TEST

/* Equal keys on both sides of a leaf's edge: then the names are in order. */
START_TEST(names_over_an_edge)
{
	struct findings f = {0};
	struct xw_itree_idx separator;
	struct xw_itree_flaw flaw;
	struct xw_itree_entry e, first;
	struct xw_itree_dir d;
	struct xw_itree_hdr h;
	uint32_t off = 0, last = 0;
	uint8_t *node;
	struct tree t;
	xw_blk a, b, index;

	build(&t, 1024, true, 20000, 8, 1);
	d = dir_of(&t);
	d.flags |= XW_FL_CASEFOLD; /* nobody knows the hashes of these names */
	index = node_at(&t, INDEX);
	a = child_of(&t, index, 3);
	b = child_of(&t, index, 4);
	xw_itree_leaf_decode(mem_at(&t.m, b), 1024 - 32, 0, &first, &last);
	node = mem_at(&t.m, a);
	ck_assert_int_eq(xw_itree_hdr_decode(node, 1024, &h, &flaw), 0);
	for (unsigned i = 0; i < h.count; i++) {
		last = off;
		xw_itree_leaf_decode(node, h.used, off, &e, &off);
	}
	poke32(node + 32 + last, first.key.ino);
	poke32(node + 32 + last + 4, first.key.hash);
	node[32 + last + 12] = _i ? '~' : '!'; /* names here begin with digits */
	seal(&t, a);
	ck_assert_int_eq(xw_itree_idx_decode(mem_at(&t.m, index), 4, &separator), 0);
	separator.key = first.key;
	xw_itree_idx_encode(mem_at(&t.m, index), 4, &separator);
	seal(&t, index);
	expect(&t, &d, &f, (_i ? 1 << 11 : 0) | 1 << 15, XW_ITREE_REBUILD);
	free_tree(&t);
}
END_TEST

START_TEST(shape_of_the_tree)
{
	struct xw_itree_idx e, other;
	struct xw_itree_hdr h;
	struct tree t;
	xw_blk index;

	for (unsigned k = 0; k < 4; k++) {
		static const unsigned rules[] = {1 << 7, 1 << 7, 1 << 12 | 1 << 13, 1 << 12};
		struct findings f = {0};
		struct xw_itree_dir d;

		build(&t, 1024, true, 20000, 8, 1);
		d = dir_of(&t);
		index = node_at(&t, INDEX);
		xw_itree_idx_decode(mem_at(&t.m, index), 5, &e);
		if (k == 0) { /* a leaf twice */
			xw_itree_idx_decode(mem_at(&t.m, index), 4, &other);
			e.blk = other.blk;
			xw_itree_idx_encode(mem_at(&t.m, index), 5, &e);
		} else if (k == 1) { /* a circle */
			e.blk = t.runs[0].start;
			xw_itree_idx_encode(mem_at(&t.m, index), 5, &e);
		} else if (k == 2) { /* an empty leaf */
			xw_itree_hdr_decode(mem_at(&t.m, e.blk), 1024, &h, NULL);
			h.used = h.count = 0;
			memset(mem_at(&t.m, e.blk), 0, 1024);
			xw_itree_hdr_encode(mem_at(&t.m, e.blk), 1024, &h);
			seal(&t, e.blk);
			d.entries = NULL;
		} else { /* a root with one child */
			index = t.runs[0].start;
			xw_itree_hdr_decode(mem_at(&t.m, index), 1024, &h, NULL);
			memset(mem_at(&t.m, index) + 48, 0, h.used - 16u);
			h.used = 16;
			h.count = 1;
			xw_itree_hdr_encode(mem_at(&t.m, index), 1024, &h);
			d.entries = NULL;
			d.mapped = UINT64_MAX;
		}
		seal(&t, index);
		expect(&t, &d, &f, rules[k], k == 2 ? XW_ITREE_FIX_QUARTILE : XW_ITREE_REBUILD);
		free_tree(&t);
	}
}
END_TEST

START_TEST(directory_and_filesystem)
{
	struct xw_itree_env env;
	struct xw_itree_result res;
	struct findings f = {0};
	struct xw_itree_dir d;
	struct tree t;
	uint64_t slot;

	build(&t, 1024, true, 20000, 8, 1);
#define FIND(change, rules, repair)                                                                \
	do {                                                                                       \
		f = (struct findings){.m = &t.m};                                                  \
		d = dir_of(&t);                                                                    \
		change;                                                                            \
		expect(&t, &d, &f, rules, repair);                                                 \
	} while (0)
	FIND(d.flags &= ~XW_FL_INDEX, 1 << 2, XW_ITREE_FIX_FLAG);
	FIND(d.flags |= XW_FL_INLINE_DATA, 1 << 2, XW_ITREE_FIX_FLAG);
	FIND(d.size = 1024, 1 << 2, XW_ITREE_FIX_FLAG);
	FIND(d.held++, 1 << 9, XW_ITREE_FIX_BLOCKS);
	FIND(f.taken = 100, 1 << 8, XW_ITREE_REBUILD);
	FIND(f.meta = 100, 1 << 5, XW_ITREE_REBUILD);
	FIND(d.generation++, 1 << 6, XW_ITREE_REBUILD);
	t.m.used[101] = 0;
	FIND((void)0, 1 << 17, XW_ITREE_FIX_BITMAP);
	t.m.used[101] = 1;
	xw_dx_set_limit(t.block0, 32, 123, 123);
	FIND((void)0, 1 << 4, XW_ITREE_REHASH);
	xw_dx_set_limit(t.block0, 32, 123, 122);
	check_clean(&t);
	slot = peek64(t.block0 + 1008);
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t bad[] = {0, 1ull << 48 | 10, 1ull << 40};

		poke64(t.block0 + 1008, bad[i]);
		FIND((void)0, 1 << 5, XW_ITREE_REBUILD);
	}
	poke64(t.block0 + 1008, slot);

	/* the feature lost: the tree is checked all the same */
	f = (struct findings){.m = &t.m};
	d = dir_of(&t);
	env = findings_env(&f, true);
	memcpy(env.hash_seed, hash_seed, sizeof(hash_seed));
	env.feature = false;
	ck_assert_int_eq(xw_itree_check(&env, &d, &res), 0);
	ck_assert_uint_eq(f.rules, 1 << 1);
	ck_assert_int_eq(f.repair, XW_ITREE_FIX_FEATURE);
	ck_assert_uint_eq(res.entries, t.n);
	/* and where no node names the directory, the flag goes */
	d.ino++;
	f = (struct findings){.m = &t.m};
	ck_assert_int_eq(xw_itree_check(&env, &d, &res), 0);
	ck_assert_uint_eq(f.rules, 1 << 1);
	ck_assert_int_eq(f.repair, XW_ITREE_FIX_FLAG);
	ck_assert_uint_eq(res.nodes, 0);
	free_tree(&t);
}
END_TEST

/* One entry differs in one respect: the sums do. */
START_TEST(sums)
{
	static const struct {
		xw_ino ino;
		uint8_t ftype;
		const char *name;
	} set[] = {{12, 1, "a"}, {13, 1, "a"}, {12, 2, "a"}, {12, 1, "b"}, {12, 1, "ab"}};
	struct xw_itree_sum s[5] = {{0}}, forth = {0}, back = {0};

	for (unsigned i = 0; i < 5; i++) {
		xw_itree_sum_add(&s[i], set[i].ino, set[i].ftype, set[i].name, strlen(set[i].name));
		for (unsigned k = 0; k < i; k++)
			ck_assert(!xw_itree_sum_equal(&s[i], &s[k]));
		xw_itree_sum_add(&forth, set[i].ino, set[i].ftype, set[i].name,
				 strlen(set[i].name));
		xw_itree_sum_add(&back, set[4 - i].ino, set[4 - i].ftype, set[4 - i].name,
				 strlen(set[4 - i].name));
	}
	ck_assert(xw_itree_sum_equal(&forth, &back));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("itree_build");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	unit_add_table(t, built, rows);
	tcase_add_test(t, too_deep);
	tcase_add_test(t, not_as_planned);
	unit_add_table(t, byte_changed, bytes);
	tcase_add_test(t, leaves_out_of_order);
	tcase_add_loop_test(t, names_over_an_edge, 0, 2);
	tcase_add_test(t, shape_of_the_tree);
	tcase_add_test(t, directory_and_filesystem);
	tcase_add_test(t, sums);
	suite_add_tcase(s, t);
	return unit_main(s);
}
