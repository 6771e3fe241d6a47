/* SPDX-License-Identifier: MIT */
/*
 * Directories changed one name at a time: random operations against a model, with everything on the
 * device checked at intervals: 1,360,000 over all rows, times XW_MODEL_FACTOR in the environment; a
 * quarter of that under XW_STRIDE.
 */
#include "unit.h"

#include "dir_model.h"

static struct xw_dir_format format(uint32_t bs, bool csum, enum xw_dx_version hash)
{
	return (struct xw_dir_format){
		.block_size = bs,
		.filetype = true,
		.csum = csum,
		.dir_index = true,
		.large_dir = true,
		.itree = true,
		.hash_version = hash,
		.hash_seed = {1, 2, 3, 4},
	};
}

static const struct row {
	uint32_t bs;
	bool csum, no_index, no_itree, small, fails, collide, loses;
	enum xw_dx_version hash;
	uint32_t names; /* that may be there; half of them are at a time */
	unsigned min, max; /* bytes of a name */
	size_t cache;
	uint32_t ops;
} rows[] = {
	{4096, true, .hash = XW_DX_HALF_MD4, .names = 12000, .min = 8, .max = 40, .ops = 62500},
	{4096, false, .hash = XW_DX_TEA_U, .names = 3000, .min = 5, .max = 255, .ops = 37500,
	 .cache = 20},
	{1024, true, .hash = XW_DX_HALF_MD4_U, .names = 10000, .min = 8, .max = 30, .ops = 62500},
	{1024, false, .hash = XW_DX_LEGACY, .names = 3000, .min = 8, .max = 255, .ops = 25000,
	 .cache = 5, .collide = true},
	{1024, true, .hash = XW_DX_HALF_MD4, .names = 3000, .min = 8, .max = 60, .ops = 12500,
	 .no_itree = true},
	{1024, true, .hash = XW_DX_HALF_MD4, .names = 150, .min = 5, .max = 60, .ops = 5000,
	 .no_index = true},
	{1024, true, .hash = XW_DX_TEA, .names = 4000, .min = 8, .max = 60, .ops = 25000,
	 .fails = true},
	/* small nodes: deep trees */
	{256, true, .hash = XW_DX_LEGACY_U, .names = 3000, .min = 5, .max = 40, .ops = 37500,
	 .collide = true},
	{256, false, .hash = XW_DX_LEGACY, .names = 400, .min = 6, .max = 12, .ops = 20000,
	 .collide = true, .fails = true},
	{128, true, .hash = XW_DX_TEA, .names = 300, .min = 5, .max = 20, .ops = 12500, .cache = 1},
	/* an itree of five levels is not enough */
	{128, true, .hash = XW_DX_TEA, .names = 2600, .min = 5, .max = 20, .ops = 20000,
	 .loses = true},
	/* one level of htree less: dx_root fills up, the itree gives way to its last entry */
	{128, true, .hash = XW_DX_TEA, .names = 1200, .min = 5, .max = 20, .ops = 20000,
	 .small = true, .loses = true},
};

static uint32_t factor(void)
{
	const char *s = getenv("XW_MODEL_FACTOR");
	unsigned long f = s ? strtoul(s, NULL, 10) : 1;

	if (!f || f > 10000)
		f = 1;
	return (uint32_t)f * (unit_stride() > 1 ? 1 : 4);
}

/* Grow for a while, shrink for a while, down to nothing every other time. */
static void random_op(struct model *m, uint32_t step, uint32_t ops)
{
	const uint32_t phase = step / (ops / 8 + 1), half = m->n_names / 2;
	const bool grow = phase % 2 == 0;
	const uint32_t insert = m->n_live >= half ? 20 : grow ? 60 : phase % 4 == 3 ? 2 : 25;
	const uint32_t dice = model_rnd(m, 100), any = model_rnd(m, m->n_names);
	const uint32_t live = m->n_live ? m->live[model_rnd(m, m->n_live)] : any;

	if (dice < insert)
		model_insert(m, any, model_ino(m));
	else if (dice < 78)
		model_delete(m, model_rnd(m, 8) ? live : any);
	else
		model_find(m, dice < 95 ? live : any);
}

/* That the row did what it is there for. */
static void check_stats(const struct row *r, const struct model *m)
{
	const struct xw_itree_stats *s = &m->stats;

	if (r->fails)
		ck_assert_uint_gt(m->failed, 100);
	if (r->loses)
		ck_assert_uint_gt(m->lost, 0);
	if (r->small)
		ck_assert_uint_gt(m->full, 10);
	if (r->no_itree || r->no_index || r->loses)
		return;
	if (unit_stride() == 1) /* rare: few operations need not show one */
		ck_assert_uint_gt(s->appends, 5);
	ck_assert_uint_gt(s->splits, 50);
	ck_assert_uint_gt(s->merges, 20);
	ck_assert_uint_gt(s->freed, 0);
	/* The reason for two bits of fullness: parents change in less than 5 % of deletes. */
	if (r->bs == 4096 && r->max <= 40)
		ck_assert_uint_lt(s->parents * 20, s->deletes);
}

START_TEST(against_the_model)
{
	const struct row *r = &rows[_i];
	const uint32_t ops = r->ops * factor();
	struct xw_dir_format f = format(r->bs, r->csum, r->hash);
	struct model m;

	f.dir_index = !r->no_index;
	f.itree = !r->no_itree && !r->no_index;
	f.large_dir = !r->small;
	f.filetype = _i != 1;
	model_init(&m, &f, r->names, r->min, r->max, r->collide, 6000);
	m.cache = r->cache;
	model_reopen(&m);
	for (uint32_t i = 0; i < ops; i++) {
		if (r->fails && !m.fail_in)
			m.fail_in = 1 + model_rnd(&m, 8);
		random_op(&m, i, ops);
		if (i % (ops / 32) == 17) {
			model_check(&m);
			if (i % 3 == 0)
				model_reopen(&m);
			/* lost by depth, or by the slot */
			m.fail_in = 0;
			if (f.itree && m.d.now.indexed && !m.d.now.itree && model_rnd(&m, 2))
				xw_dir_itree_build(&m.d);
		}
	}
	model_check(&m);
	model_add_stats(&m);
	check_stats(r, &m);
	for (uint32_t i = 0; i < r->names; i++)
		model_delete(&m, i);
	model_check(&m);
	model_free(&m);
}
END_TEST

/* ---- many names at once ---- */

static void small_model(struct model *m, uint32_t n_names, bool index)
{
	struct xw_dir_format f = format(1024, true, XW_DX_HALF_MD4);

	f.dir_index = index;
	model_init(m, &f, n_names, 20, 20, false, 300);
}

/* Delete n of those that are there, taken at random. */
static void delete_many(struct model *m, uint32_t n)
{
	struct xw_dir_victim *v = calloc(n + 1, sizeof(*v));
	uint32_t *which = calloc(m->n_names, sizeof(*which));
	int rc;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = model_rnd(m, m->n_live);

		which[i] = m->live[k];
		v[i].name = m->names[which[i]].name;
		v[i].len = m->names[which[i]].len;
		/* out of the model, so that it is not taken again */
		m->live[k] = m->live[--m->n_live];
		m->names[m->live[k]].live_at = k;
	}
	rc = xw_dir_delete_many(&m->d, v, n);
	ck_assert_msg(!rc, "delete: %d %s", rc, m->d.diag->text);
	for (uint32_t i = 0; i < n; i++) {
		ck_assert_uint_ne(v[i].ino, 0);
		ck_assert(!i || v[i - 1].ino <= v[i].ino);
		m->names[which[i]].ino = 0;
	}
	free(which);
	free(v);
}

START_TEST(many_against_the_model)
{
	const struct row *r = &rows[_i];
	struct xw_dir_format f = format(r->bs, r->csum, r->hash);
	struct model m;

	f.dir_index = !r->no_index;
	f.itree = !r->no_itree && !r->no_index;
	f.large_dir = !r->small;
	f.filetype = _i != 1;
	model_init(&m, &f, r->names, r->min, r->max, r->collide, 6000);
	m.cache = r->cache;
	model_reopen(&m);
	for (unsigned k = 0; k < 8; k++) {
		for (uint32_t i = k; i < r->names; i += 1 + k % 2)
			model_insert(&m, i, model_ino(&m));
		delete_many(&m, k == 4 ? 0 : k == 7 ? m.n_live : model_rnd(&m, m.n_live));
		model_check(&m);
		if (k % 3 == 0)
			model_reopen(&m);
	}
	ck_assert_uint_eq(m.n_live, 0);
	model_free(&m);
}
END_TEST

/* Through a cache that holds nearly nothing each leaf is read once, and each node of the itree;
 * blocks of indexes once a change. */
START_TEST(many_read_each_block_once)
{
	struct xw_dir_format f = format(4096, true, XW_DX_HALF_MD4);
	uint64_t nodes = 0, changes;
	struct model m;

	model_init(&m, &f, 20000, 20, 30, false, 3000);
	for (uint32_t i = 0; i < 20000; i++)
		model_insert(&m, i, FIRST_INO + i * 7919 % 20000);
	m.cache = 1;
	model_reopen(&m);
	for (size_t i = 1; i < m.m.n; i++)
		nodes += m.m.used[i];
	nodes -= m.file.n;
	m.m.reads = 0;
	changes = 2 * (m.n_live / 256 + 1);
	delete_many(&m, m.n_live);
	ck_assert_uint_le(m.m.reads, m.file.n + nodes + 4 * changes);
	model_check(&m);
	model_free(&m);
}
END_TEST

/* One that is not there: the handle is of no use any more; one that cannot be: nothing happened. */
START_TEST(many_refused)
{
	struct xw_dir_victim v[2] = {{.name = "..", .len = 2}};
	struct model m;

	for (unsigned k = 0; k < 2; k++) {
		small_model(&m, 100, k);
		for (uint32_t i = 0; i < 60; i++)
			model_insert(&m, i, FIRST_INO + i);
		v[1].name = m.names[3].name;
		v[1].len = m.names[3].len;
		v[0].name = "..";
		v[0].len = 2;
		ck_assert_int_eq(xw_dir_delete_many(&m.d, v, 2), XW_ERR_INPUT);
		xw_diag_clear(m.d.diag);
		model_check(&m);
		v[0].name = m.names[77].name;
		v[0].len = m.names[77].len;
		ck_assert_int_eq(xw_dir_delete_many(&m.d, v, 2), XW_ERR_NOTFOUND);
		ck_assert(!v[0].ino || !v[1].ino);
		ck_assert_int_eq(xw_dir_flush(&m.d), XW_ERR_STATE);
		xw_diag_clear(m.d.diag);
		model_free(&m);
	}
}
END_TEST

static int count_entries(void *arg, const struct xw_dirent *e)
{
	(void)e;
	++*(unsigned *)arg;
	return 0;
}

/* A damaged directory has a name twice: the first goes, and what is behind the second one stays. */
START_TEST(many_of_a_name_twice)
{
	struct xw_dir_victim v[2] = {{.len = 20}, {.len = 20}};
	struct model m;
	unsigned n = 0;
	uint8_t *b;

	small_model(&m, 6, false);
	for (uint32_t i = 0; i < 6; i++)
		model_insert(&m, i, FIRST_INO + i);
	ck_assert_int_eq(xw_dir_flush(&m.d), 0);
	b = mem_at(&m.m, m.file.v[0]);
	memcpy(b + 24 + 3 * 28 + 8, m.names[1].name, 20);
	xw_dir_block_set_csum(b, 1024, SEED);
	xw_dir_close(&m.d); /* which knows the block as it was */
	model_open(&m, 0);
	v[0].name = m.names[1].name;
	v[1].name = m.names[4].name;
	ck_assert_int_eq(xw_dir_delete_many(&m.d, v, 2), 0);
	ck_assert_uint_eq(v[0].ino, FIRST_INO + 1);
	ck_assert_int_eq(xw_dir_each(&m.d, count_entries, &n), 0);
	ck_assert_uint_eq(n, 2 + 4);
	model_free(&m);
}
END_TEST

/* ---- single operations ---- */

/* From one block to an htree with an itree, and never back. */
START_TEST(first_steps)
{
	struct model m;
	xw_ino ino;

	small_model(&m, 100, true);
	ck_assert_int_eq(xw_dir_find(&m.d, "..", 2, &ino, NULL), 0);
	ck_assert_uint_eq(ino, PARENT);
	for (uint32_t i = 0; i < 100; i++) {
		/* 28 bytes an entry: 35 of them beside the dots */
		ck_assert_uint_eq(m.d.now.indexed, i > 35);
		ck_assert_uint_eq(m.d.now.itree, i > 35);
		model_insert(&m, i, FIRST_INO + i);
		model_check(&m);
		model_reopen(&m);
	}
	ck_assert_int_eq(xw_dir_find(&m.d, ".", 1, &ino, NULL), 0);
	ck_assert_uint_eq(ino, SELF);
	for (uint32_t i = 0; i < 100; i++)
		model_delete(&m, i);
	ck_assert(m.d.now.indexed && m.d.now.itree);
	model_check(&m);
	model_free(&m);
}
END_TEST

/* Deleted first entries leave ".." longer than it needs, or an unused entry behind it: neither is
 * in the leaf that an index begins with, nor in the itree. */
START_TEST(dotdot_with_slack)
{
	static const struct {
		unsigned gone;
		bool unused;
		uint32_t dotdot;
	} rows_of[] = {{1, false, 24}, {2, false, 36}, {1, true, 12}};
	struct xw_dir_format f = format(1024, true, XW_DX_HALF_MD4);
	struct model m;

	for (unsigned k = 0; k < 2 * XW_ARRAY_SIZE(rows_of); k++) {
		const unsigned row = k / 2, gone = rows_of[row].gone;
		uint8_t *b;

		f.itree = k % 2;
		model_init(&m, &f, 100, 20, 20, false, 300);
		for (unsigned i = 0; i < gone; i++)
			ck_assert_int_eq(xw_dir_insert(&m.d, &"ab"[i], 1, FIRST_INO + i, 1), 0);
		model_insert(&m, 0, FIRST_INO + 10);
		for (unsigned i = gone; i-- && !rows_of[row].unused;)
			ck_assert_int_eq(xw_dir_delete(&m.d, &"ab"[i], 1, NULL), 0);
		ck_assert_int_eq(xw_dir_flush(&m.d), 0);
		b = mem_at(&m.m, m.file.v[0]);
		if (rows_of[row].unused) {
			poke32(b + 24, 0);
			xw_dir_block_set_csum(b, 1024, SEED);
			xw_dir_close(&m.d); /* which knows the block as it was */
			model_open(&m, 0);
		}
		ck_assert_uint_eq(peek16(b + 16), rows_of[row].dotdot);
		for (uint32_t i = 1; i < 40; i++)
			model_insert(&m, i, FIRST_INO + 10 + i);
		ck_assert(m.d.now.indexed && m.d.now.itree == f.itree);
		model_check(&m);
		model_free(&m);
	}
}
END_TEST

START_TEST(impossible_names)
{
	static const struct {
		const char *name;
		size_t len;
		int insert, remove;
	} bad[] = {
		{"", 0, XW_ERR_INPUT, XW_ERR_INPUT},     {"a/b", 3, XW_ERR_INPUT, XW_ERR_INPUT},
		{"a\0b", 3, XW_ERR_INPUT, XW_ERR_INPUT}, {".", 1, XW_ERR_EXISTS, XW_ERR_INPUT},
		{"..", 2, XW_ERR_EXISTS, XW_ERR_INPUT},
	};
	char longest[256];
	struct model m;

	memset(longest, 'x', sizeof(longest));
	for (unsigned k = 0; k < 2; k++) {
		small_model(&m, 60, true);
		for (uint32_t i = 0; i < (k ? 60 : 3); i++)
			model_insert(&m, i, FIRST_INO + i);
		for (size_t i = 0; i < XW_ARRAY_SIZE(bad); i++) {
			ck_assert_int_eq(xw_dir_insert(&m.d, bad[i].name, bad[i].len, 50, 1),
					 bad[i].insert);
			ck_assert_int_eq(xw_dir_delete(&m.d, bad[i].name, bad[i].len, NULL),
					 bad[i].remove);
		}
		ck_assert_int_eq(xw_dir_insert(&m.d, longest, 256, 50, 1), XW_ERR_INPUT);
		ck_assert_int_eq(xw_dir_insert(&m.d, "zero", 4, 0, 1), XW_ERR_INPUT);
		ck_assert_int_eq(xw_dir_insert(&m.d, longest, 255, 50, 1), 0);
		ck_assert_int_eq(xw_dir_delete(&m.d, longest, 255, NULL), 0);
		model_check(&m);
		model_free(&m);
	}
}
END_TEST

/* The inode of the i-th of 20,000 names: ascending, in no order, two ascending ranges by turns. */
static xw_ino append_ino(unsigned k, uint32_t i)
{
	if (k == 2)
		return FIRST_INO + i / 2 + i % 2 * 10000;
	return FIRST_INO + (k ? i * 7919 % 20000 : i);
}

/* Every ascending range of inodes leaves full leaves behind it; inodes in no order, halves. */
START_TEST(append_leaves_full_nodes)
{
	struct xw_dir_format f = format(4096, true, XW_DX_HALF_MD4);
	struct model m;

	for (unsigned k = 0; k < 3; k++) {
		uint64_t nodes, bytes = 20000ull * 40;

		model_init(&m, &f, 20000, 26, 26, false, 3000);
		for (uint32_t i = 0; i < 20000; i++)
			model_insert(&m, i, append_ino(k, i));
		model_check(&m);
		nodes = 0;
		for (size_t i = 1; i < m.m.n; i++)
			nodes += m.m.used[i];
		nodes -= m.file.n;
		ck_assert_uint_ge(nodes * 4056, bytes);
		if (!k)
			ck_assert_uint_le(nodes, bytes / 4056 + 4);
		else if (k == 2)
			ck_assert_uint_le(nodes * 95, bytes / 4056 * 100);
		else
			ck_assert_uint_le(nodes, bytes / 4056 * 2);
		model_free(&m);
	}
}
END_TEST

/* Index nodes lose their children from the front, or the back, until they go while full ones stand
 * beside them: what bounds those follows. */
START_TEST(deleted_in_order)
{
	struct xw_dir_format f = format(128, true, XW_DX_HALF_MD4);
	struct model m;

	for (unsigned k = 0; k < 2; k++) {
		model_init(&m, &f, 400, 8, 8, false, 3000);
		for (uint32_t i = 0; i < 400; i++)
			model_insert(&m, i, FIRST_INO + i);
		for (uint32_t i = 0; i < 400; i++) {
			model_delete(&m, k ? 399 - i : i);
			if (i % 5 == 0)
				model_check(&m);
			/* into what the leftmost node covers now */
			if (i % 40 == 20 && !k) {
				model_insert(&m, 0, FIRST_INO);
				model_delete(&m, 0);
			}
		}
		model_check(&m);
		model_free(&m);
	}
}
END_TEST

/* The tree built in bulk is the one that is there, dropped and built again: it changes like any. */
START_TEST(drop_and_build)
{
	struct xw_dir_format f = format(1024, true, XW_DX_HALF_MD4);
	struct model m;

	model_init(&m, &f, 4000, 8, 60, false, 3000);
	ck_assert_int_eq(xw_dir_itree_build(&m.d), XW_ERR_LIMIT);
	for (unsigned k = 0; k < 6; k++) {
		for (uint32_t i = k * 500; i < (k + 1) * 500; i++)
			model_insert(&m, i, model_ino(&m));
		ck_assert_int_eq(xw_dir_itree_drop(&m.d), 0);
		ck_assert(!m.d.now.itree);
		model_check(&m);
		for (uint32_t i = 3000 + k * 100; i < 3100 + k * 100; i++)
			model_insert(&m, i, model_ino(&m));
		ck_assert_int_eq(xw_dir_itree_build(&m.d), 0);
		ck_assert(m.d.now.itree);
		model_check(&m);
		model_reopen(&m);
		for (uint32_t i = 0; i < 300; i++)
			model_delete(&m, model_rnd(&m, 4000));
		model_check(&m);
	}
	model_free(&m);
}
END_TEST

/* A failure anywhere leaves everything as it was, also in the middle of building. */
START_TEST(building_fails)
{
	struct model m;

	small_model(&m, 2000, true);
	for (uint32_t i = 0; i < 2000 && m.file.n < 60; i++)
		model_insert(&m, i, model_ino(&m));
	ck_assert_int_eq(xw_dir_itree_drop(&m.d), 0);
	for (unsigned i = 1; i < 200; i++) {
		m.fail_in = i;
		if (!xw_dir_itree_build(&m.d))
			break;
		ck_assert_uint_lt(i, 199);
		model_check(&m);
		xw_diag_clear(m.d.diag);
	}
	ck_assert(m.d.now.itree);
	m.fail_in = 0;
	model_check(&m);
	model_free(&m);
}
END_TEST

/* An itree that disagrees with its directory: said, and nothing changed. */
START_TEST(itree_disagrees)
{
	struct xw_itree_entry e = {.name = "stranger", .name_len = 8, .key = {500, 0}};
	struct xw_dx_hash h;
	struct model m;

	small_model(&m, 100, true);
	for (uint32_t i = 0; i < 100; i++)
		model_insert(&m, i, FIRST_INO + i);
	ck_assert_int_eq(xw_dx_hash(m.d.hash_version, m.f.hash_seed, "stranger", 8, &h), 0);
	e.key.hash = h.major;
	ck_assert_int_eq(xw_itree_insert(&m.d.tree, &e), 0);
	ck_assert_int_eq(xw_dcache_commit(&m.d.cache), 0);
	ck_assert_int_eq(xw_dir_insert(&m.d, "stranger", 8, 500, 1), XW_ERR_CORRUPT);
	ck_assert_ptr_nonnull(strstr(m.d.diag->text, "itree has an entry"));
	ck_assert_int_eq(xw_itree_remove(&m.d.tree, &e), 0);
	ck_assert_int_eq(xw_dcache_commit(&m.d.cache), 0);
	xw_diag_clear(m.d.diag);
	model_check(&m);

	e = (struct xw_itree_entry){.name = m.names[3].name, .name_len = 20};
	ck_assert_int_eq(xw_dx_hash(m.d.hash_version, m.f.hash_seed, e.name, 20, &h), 0);
	e.key = (struct xw_itree_key){FIRST_INO + 3, h.major};
	ck_assert_int_eq(xw_itree_remove(&m.d.tree, &e), 0);
	ck_assert_int_eq(xw_dcache_commit(&m.d.cache), 0);
	ck_assert_int_eq(xw_dir_delete(&m.d, e.name, 20, NULL), XW_ERR_CORRUPT);
	ck_assert_ptr_nonnull(strstr(m.d.diag->text, "itree lacks"));
	model_find(&m, 3);
	model_free(&m);
}
END_TEST

/* The lowest index node on the way to the first leaf. */
static uint8_t *lowest_index(struct model *m)
{
	uint8_t *b = mem_at(&m->m, m->d.tree.root);

	while (b[5] > 1)
		b = mem_at(&m->m, peek64(b + XW_ITREE_HDR + 8) & 0xFFFFFFFFFFFFu);
	ck_assert_uint_eq(b[5], 1);
	return b;
}

/* Dropping an itree whose pointers lead elsewhere: refused, and nobody's block is freed. */
START_TEST(drop_frees_only_nodes)
{
	struct xw_dir_format f = format(256, false, XW_DX_HALF_MD4);
	uint8_t *used, *child;
	xw_blk to[4], was;
	struct model m;

	model_init(&m, &f, 400, 20, 20, false, 600);
	for (uint32_t i = 0; i < 400; i++)
		model_insert(&m, i, FIRST_INO + i);
	model_reopen(&m);
	used = malloc(m.m.n);
	memcpy(used, m.m.used, m.m.n);
	child = lowest_index(&m) + XW_ITREE_HDR + XW_ITREE_IDX + 8;
	was = peek64(child) & 0xFFFFFFFFFFFFu;
	to[0] = m.file.v[3]; /* a leaf of the directory's own */
	to[1] = peek64(child + XW_ITREE_IDX) & 0xFFFFFFFFFFFFu; /* another leaf of the tree */
	to[2] = m.d.tree.root; /* of another level */
	m.m.used[599] = used[599] = 1; /* somebody else's */
	to[3] = 599;
	for (size_t i = 0; i < XW_ARRAY_SIZE(to); i++) {
		poke64(child, to[i]);
		model_reopen(&m);
		ck_assert_int_eq(xw_dir_itree_drop(&m.d), XW_ERR_CORRUPT);
		ck_assert_ptr_nonnull(strstr(m.d.diag->text, "directory inode"));
		ck_assert(m.d.now.itree);
		ck_assert_mem_eq(used, m.m.used, m.m.n);
		xw_diag_clear(m.d.diag);
	}
	poke64(child, was);
	m.m.used[599] = 0;
	model_reopen(&m);
	ck_assert_int_eq(xw_dir_itree_drop(&m.d), 0);
	model_check(&m);
	free(used);
	model_free(&m);
}
END_TEST

static int count_names(void *arg, const struct xw_dirent *e)
{
	(void)e;
	return ++*(unsigned *)arg == 77 ? XW_ERR_IO : 0;
}

START_TEST(each_entry)
{
	unsigned n;
	struct model m;

	for (unsigned k = 0; k < 2; k++) {
		small_model(&m, 70, k);
		for (uint32_t i = 0; i < 70; i++)
			model_insert(&m, i, FIRST_INO + i);
		n = 0;
		ck_assert_int_eq(xw_dir_each(&m.d, count_names, &n), 0);
		ck_assert_uint_eq(n, 72);
		n = 70;
		ck_assert_int_eq(xw_dir_each(&m.d, count_names, &n), XW_ERR_IO);
		model_free(&m);
	}
}
END_TEST

START_TEST(not_to_be_opened)
{
	struct xw_dir_self self = {.ino = SELF, .generation = MEM_GEN, .inode_seed = SEED};
	struct xw_diag diag = {0};
	struct xw_dir_params o;
	struct model m;
	struct xw_dir d;

	small_model(&m, 100, true);
	for (uint32_t i = 0; i < 100; i++)
		model_insert(&m, i, FIRST_INO + i);
	ck_assert_int_eq(xw_dir_flush(&m.d), 0);
	o = (struct xw_dir_params){
		.format = &m.f,
		.self = &self,
		.io = m.d.cache.io,
		.blocks = (uint32_t)m.file.n,
		.diag = &diag,
		.name = "model",
	};
#define OPEN_FAILS(i_flags, code, said)                                                            \
	do {                                                                                       \
		o.flags = i_flags;                                                                 \
		xw_diag_clear(&diag);                                                              \
		ck_assert_int_eq(xw_dir_load(&o, &d), code);                                       \
		ck_assert_msg(strstr(diag.text, said), "%s", diag.text);                           \
		xw_dir_close(&d);                                                                  \
	} while (0)
	OPEN_FAILS(XW_FL_CASEFOLD, XW_ERR_UNSUPPORTED, "casefolded");
	OPEN_FAILS(0, XW_ERR_CORRUPT, "space for its checksum"); /* dx_root read as a leaf */
	poke64(mem_at(&m.m, m.file.v[0]) + 1008, 0);
	OPEN_FAILS(XW_FL_INDEX | XW_FL_ITREE, XW_ERR_CORRUPT, "no pointer to its itree");
	mem_at(&m.m, m.file.v[0])[28] = 6;
	OPEN_FAILS(XW_FL_INDEX, XW_ERR_CHECKSUM, "checksum");
	xw_dx_block_set_csum(mem_at(&m.m, m.file.v[0]), 1024, 32, SEED);
	OPEN_FAILS(XW_FL_INDEX, XW_ERR_UNSUPPORTED, "unknown hash");
	o.blocks = 0;
	OPEN_FAILS(0, XW_ERR_CORRUPT, "no blocks");
	model_free(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dir_change");
	TCase *t = tcase_create("model");

	tcase_set_timeout(t, 3600);
	unit_add_table(t, against_the_model, rows);
	suite_add_tcase(s, t);
	t = tcase_create("single");
	tcase_set_timeout(t, 60);
	unit_add_table(t, many_against_the_model, rows);
	tcase_add_test(t, many_read_each_block_once);
	tcase_add_test(t, many_refused);
	tcase_add_test(t, many_of_a_name_twice);
	tcase_add_test(t, first_steps);
	tcase_add_test(t, dotdot_with_slack);
	tcase_add_test(t, impossible_names);
	tcase_add_test(t, append_leaves_full_nodes);
	tcase_add_test(t, deleted_in_order);
	tcase_add_test(t, drop_and_build);
	tcase_add_test(t, building_fails);
	tcase_add_test(t, itree_disagrees);
	tcase_add_test(t, drop_frees_only_nodes);
	tcase_add_test(t, each_entry);
	tcase_add_test(t, not_to_be_opened);
	suite_add_tcase(s, t);
	return unit_main(s);
}
