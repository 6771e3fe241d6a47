/* SPDX-License-Identifier: MIT */
/*
 * The bulk directory builder, judged by a reader of its own (dir_reader.h): every name is found by
 * descending with its hash, absent names are not, and each block keeps the format's rules.
 */
#include "unit.h"

#include "dir_reader.h"

/* ---- whole-directory checks ---- */

static uint32_t *index_by_ino(const struct dir *d)
{
	uint32_t *where = calloc(d->n + 1, sizeof(*where));

	ck_assert_ptr_nonnull(where);
	for (size_t i = 0; i < d->n; i++)
		where[d->entries[i].ino - FIRST_INO] = (uint32_t)i;
	return where;
}

static void check_linear(const struct dir *d)
{
	uint32_t *where = index_by_ino(d), used;
	uint8_t *seen = calloc(d->n + 1, 1);
	size_t names = 0;

	ck_assert(!d->shape.indexed);
	ck_assert_ptr_nonnull(seen);
	for (uint32_t b = 0; b < d->shape.blocks; b++) {
		uint32_t off = b ? 0 : check_dots(d, block_at(d, b));

		if (off != room(d))
			names += check_leaf(d, block_at(d, b), off, where, seen, &used);
		else
			check_tail(d, block_at(d, b));
	}
	ck_assert_uint_eq(names, d->n);
	free(where);
	free(seen);
}

/* Every leaf is full up to the next name, and holds only hashes within its bounds. */
static void check_leaves(const struct dir *d)
{
	uint32_t *where = index_by_ino(d), used;
	uint8_t *seen = calloc(d->n + 1, 1);
	size_t at = 0;

	ck_assert_ptr_nonnull(seen);
	for (uint32_t i = 0; i < d->n_leaves; i++) {
		unsigned names =
			check_leaf(d, block_at(d, d->leaves[i].lblk), 0, where, seen, &used);

		ck_assert_uint_ge(names, 1);
		ck_assert_uint_ge(d->entries[at].hash.major, d->leaves[i].bound & ~1u);
		if (i) {
			ck_assert_uint_eq(d->entries[at].hash.major, d->leaves[i].bound & ~1u);
			ck_assert_uint_eq(d->leaves[i].bound & 1,
					  d->entries[at].hash.major ==
						  d->entries[at - 1].hash.major);
		}
		at += names;
		if (at < d->n)
			ck_assert_uint_gt(used + ((8u + d->entries[at].name_len + 3) & ~3u),
					  room(d));
	}
	ck_assert_uint_eq(at, d->n);
	free(where);
	free(seen);
}

static void check_lookups(const struct dir *d)
{
	/* all of them, or of a large directory some in every leaf */
	for (size_t i = 0; i < d->n; i += 1 + d->n / 30000) {
		const struct xw_dir_entry *e = &d->entries[i];

		ck_assert_uint_eq(lookup(d, e->hash.major, e->name, e->name_len), e->ino);
	}
	for (unsigned i = 0; i < 1000; i++) {
		struct xw_dx_hash h;
		char name[32];
		unsigned len = (unsigned)snprintf(name, sizeof(name), "/%u", i);

		ck_assert_int_eq(xw_dx_hash(d->f.hash_version, d->f.hash_seed, name, len, &h), 0);
		ck_assert_uint_eq(lookup(d, h.major, name, len), 0);
	}
}

static void check_indexed(struct dir *d)
{
	const uint8_t *root = block_at(d, 0);
	uint32_t nodes = 0;

	ck_assert(d->shape.indexed);
	ck_assert_uint_eq(check_dots(d, root), d->f.block_size);
	ck_assert_uint_eq(peek32(root + 24), 0);
	ck_assert_uint_eq(root[28], d->f.hash_version % 3);
	ck_assert_uint_eq(root[29], 8);
	ck_assert_uint_eq(root[30], d->shape.levels);
	ck_assert_uint_eq(root[31], 0);
	walk_index(d, 0, 0, 0);
	for (unsigned i = 0; i < d->shape.levels; i++)
		nodes += d->shape.nodes[i];
	ck_assert_uint_eq(d->n_leaves, d->shape.leaves);
	ck_assert_uint_eq(d->shape.blocks, 1 + nodes + d->n_leaves);
	ck_assert_uint_eq(d->referenced[0], 0);
	for (uint32_t b = 1; b < d->shape.blocks; b++)
		ck_assert_uint_eq(d->referenced[b], 1);
	for (size_t i = 1; i < d->n; i++)
		ck_assert(d->entries[i - 1].hash.major < d->entries[i].hash.major ||
			  (d->entries[i - 1].hash.major == d->entries[i].hash.major &&
			   d->entries[i - 1].hash.minor <= d->entries[i].hash.minor));
	check_leaves(d);
	check_lookups(d);
}

/* ---- tests ---- */

static struct xw_dir_format format(uint32_t bs, bool csum, bool index)
{
	return (struct xw_dir_format){
		.block_size = bs,
		.filetype = true,
		.csum = csum,
		.dir_index = index,
		.hash_version = XW_DX_HALF_MD4,
		.hash_seed = {1, 2, 3, 4},
	};
}

static const uint32_t sizes[] = {1024, 2048, 4096, 65536};

/* A directory of one block keeps the order it was given, whatever the features. */
START_TEST(one_block)
{
	struct dir d = {.f = format(sizes[_i / 4], _i & 1, _i & 2)};
	uint32_t ino = FIRST_INO, off;
	const uint8_t *b;

	build(&d, TWELVE, 40, 0);
	ck_assert_uint_eq(d.shape.blocks, 1);
	ck_assert_uint_eq(d.shape.leaves, 1);
	check_linear(&d);
	b = block_at(&d, 0);
	for (off = check_dots(&d, b); off < room(&d); off += rec_len_at(&d, b + off))
		ck_assert_uint_eq(peek32(b + off), ino++);
	ck_assert_uint_eq(ino, FIRST_INO + 40);
	free_dir(&d);
}
END_TEST

/* The last name that fits makes one block, the next one makes an htree (or a second linear block).
 */
START_TEST(one_block_limit)
{
	bool index = _i & 1, csum = _i & 2;
	size_t fit = (1024 - 24 - (csum ? 12 : 0)) / 20;

	for (size_t n = fit; n <= fit + 1; n++) {
		struct dir d = {.f = format(1024, csum, index)};

		build(&d, TWELVE, n, 0);
		ck_assert_uint_eq(d.shape.indexed, index && n > fit);
		ck_assert_uint_eq(d.shape.blocks, n == fit ? 1 : 2);
		if (d.shape.indexed)
			check_indexed(&d);
		else
			check_linear(&d);
		free_dir(&d);
	}
}
END_TEST

START_TEST(empty)
{
	struct dir d = {.f = format(sizes[_i / 2], _i & 1, true)};

	build(&d, SHORT, 0, 0);
	ck_assert_uint_eq(d.shape.blocks, 1);
	check_linear(&d);
	ck_assert_uint_eq(check_dots(&d, block_at(&d, 0)), room(&d));
	free_dir(&d);
}
END_TEST

/* lost+found: linear over its minimal size, also when it holds more than one block of names. */
START_TEST(minimal_size)
{
	static const size_t counts[] = {0, 3, 60, 120};
	struct dir d = {.f = format(1024, true, true)};

	build(&d, TWELVE, counts[_i], 4);
	ck_assert_uint_eq(d.shape.blocks, 4);
	check_linear(&d);
	free_dir(&d);
}
END_TEST

START_TEST(minimal_size_outgrown)
{
	struct dir d = {.f = format(1024, true, true)};

	build(&d, TWELVE, 300, 4);
	ck_assert_uint_gt(d.shape.blocks, 4);
	check_indexed(&d);
	free_dir(&d);
}
END_TEST

/* One more name of 255 bytes takes 264: in the block, in a second one, or in those of an index. */
static const struct {
	uint32_t names, blocks;
	bool csum, index;
	uint32_t growth;
} grows[] = {
	{0, 0, true, true, 0},        {36, 0, true, true, 0}, /* 24 + 36 * 20 + 264 + 12 = 1020 */
	{37, 0, true, true, 2},       {37, 0, true, false, 1},
	{36, 0, false, true, 0},      {37, 0, false, true, 2},
	{50, 0, true, true, 1}, /* two leaves */
	{10, 4, true, true, 0},       {120, 4, true, true, 1},
	{50 * 123, 0, true, true, 2}, /* a full root */
	{50 * 130, 0, true, true, 3}, /* two levels */
	{3000, 0, true, false, 1},
};

START_TEST(growth)
{
	struct dir d = {.f = format(1024, grows[_i].csum, grows[_i].index)};

	build(&d, TWELVE, grows[_i].names, grows[_i].blocks);
	ck_assert_uint_eq(xw_dir_growth(&d.f, &d.shape, d.entries, d.n), grows[_i].growth);
	free_dir(&d);
}
END_TEST

START_TEST(linear_without_dir_index)
{
	static const enum names kinds[] = {SHORT, MIXED, LONG};
	struct dir d = {.f = format(sizes[_i / 3], true, false)};

	d.f.filetype = _i & 1;
	build(&d, kinds[_i % 3], 5000, 0);
	check_linear(&d);
	free_dir(&d);
}
END_TEST

static const struct {
	uint32_t bs;
	bool csum, large;
	enum xw_dx_version version;
	enum names kind;
	size_t n;
	unsigned levels;
} trees[] = {
	{1024, true, false, XW_DX_HALF_MD4, MIXED, 50, 0},
	{1024, true, false, XW_DX_HALF_MD4, SHORT, 3000, 0},
	{1024, false, false, XW_DX_LEGACY, LONG, 300, 0},
	{1024, true, false, XW_DX_TEA, MIXED, 20000, 1},
	{1024, false, false, XW_DX_HALF_MD4_U, LONG, 9000, 1},
	{1024, true, true, XW_DX_HALF_MD4, LONG, 47500, 2},
	{1024, false, true, XW_DX_LEGACY_U, LONG, 47500, 2},
	{2048, true, false, XW_DX_TEA_U, MIXED, 30000, 1},
	{4096, true, false, XW_DX_HALF_MD4, SHORT, 400, 0},
	{4096, true, false, XW_DX_HALF_MD4, MIXED, 10000, 0},
	{4096, true, false, XW_DX_HALF_MD4, SHORT, 150000, 1},
	{4096, false, true, XW_DX_HALF_MD4_U, TWELVE, 120000, 1},
	{65536, true, false, XW_DX_HALF_MD4, SHORT, 100000, 0},
	{65536, false, false, XW_DX_TEA, MIXED, 2000, 0},
};

START_TEST(htree)
{
	struct dir d = {.f = format(trees[_i].bs, trees[_i].csum, true)};

	d.f.hash_version = trees[_i].version;
	d.f.large_dir = trees[_i].large;
	d.f.filetype = _i & 1;
	build(&d, trees[_i].kind, trees[_i].n, 0);
	ck_assert_uint_eq(d.shape.levels, trees[_i].levels);
	check_indexed(&d);
	free_dir(&d);
}
END_TEST

START_TEST(fill)
{
	struct dir d = {.f = format(4096, true, true)};
	uint64_t bytes = 0;

	build(&d, SHORT, 100000, 0);
	for (size_t i = 0; i < d.n; i++)
		bytes += (8u + d.entries[i].name_len + 3) & ~3u;
	ck_assert_uint_ge(bytes * 1000, (uint64_t)d.shape.leaves * 4084 * 995);
	free_dir(&d);
}
END_TEST

/* Groups of equal hashes of 1 to 200 names: over one leaf's end, over many leaves, over index
 * nodes. */
START_TEST(collisions)
{
	struct dir d = {.f = format(1024, true, true)};
	uint32_t hash = 0x1000, left = 0, continued = 0;
	uint64_t state = 9;

	make_names(&d, TWELVE, 20000);
	ck_assert_int_eq(xw_dir_shape(&d.f, d.entries, d.n, 0, &d.shape), 0);
	/* Names of one length: the shape does not depend on the order, so hashes may be forged now.
	 */
	for (size_t i = 0; i < d.n; i++, left--) {
		if (!left) {
			left = 1 + (uint32_t)rnd(&state) % (rnd(&state) % 4 ? 8 : 200);
			hash += 2 + 2 * ((uint32_t)rnd(&state) % 50000);
		}
		d.entries[i].hash = (struct xw_dx_hash){.major = hash, .minor = (uint32_t)i};
	}
	emit(&d);
	check_indexed(&d);
	for (uint32_t i = 0; i < d.n_leaves; i++)
		continued += d.leaves[i].bound & 1;
	ck_assert_uint_ge(continued, 100);
	free_dir(&d);
}
END_TEST

/* Names that really collide: found in both leaves; sorted by name where even the minor hash is
 * equal. */
START_TEST(real_collisions)
{
	static const char *const same[] = {"ivw5h", "82ijk", "vx13n", "ho9zq", "5pio0"};
	struct dir d = {.f = format(1024, true, true)};
	size_t first = 0;

	d.f.hash_version = XW_DX_LEGACY;
	d.f.filetype = true;
	make_names(&d, LONG, 600);
	for (size_t i = 0; i < XW_ARRAY_SIZE(same); i++) {
		char *name = (char *)d.entries[i].name;

		memset(name, 'p', 240);
		memcpy(name + 235, same[i], 5);
		d.entries[i].name_len = 240;
	}
	ck_assert_int_eq(xw_dir_shape(&d.f, d.entries, d.n, 0, &d.shape), 0);
	emit(&d);
	check_indexed(&d);
	while (d.entries[first].hash.major != 0x6E03A548)
		first++;
	for (size_t i = 1; i < XW_ARRAY_SIZE(same); i++) {
		ck_assert_uint_eq(d.entries[first + i].hash.major, 0x6E03A548);
		ck_assert_int_lt(
			memcmp(d.entries[first + i - 1].name, d.entries[first + i].name, 240), 0);
	}
	free_dir(&d);
}
END_TEST

/* Too many leaves for the levels allowed: linear, and still complete. */
START_TEST(too_deep_for_an_index)
{
	struct dir d = {.f = format(1024, true, true)};

	build(&d, LONG, 47000, 0);
	ck_assert(!d.shape.indexed);
	check_linear(&d);
	free_dir(&d);
}
END_TEST

START_TEST(size_limit)
{
	struct xw_dir_format f = format(1024, false, true);
	struct xw_dir_shape shape;

	ck_assert_int_eq(xw_dir_shape(&f, NULL, 0, (1u << 21) - 1, &shape), 0);
	ck_assert_uint_eq(shape.blocks, (1u << 21) - 1);
	ck_assert_int_eq(xw_dir_shape(&f, NULL, 0, 1u << 21, &shape), XW_ERR_LIMIT);
	f.large_dir = true;
	ck_assert_int_eq(xw_dir_shape(&f, NULL, 0, 1u << 21, &shape), 0);
}
END_TEST

START_TEST(bad_arguments)
{
	struct dir d = {.f = format(1024, false, true)};
	const struct xw_dir_self self = {.ino = SELF, .parent = PARENT};
	struct xw_dir_shape shape;

	make_names(&d, SHORT, 2000);
	d.entries[5].name_len = 0;
	ck_assert_int_eq(xw_dir_shape(&d.f, d.entries, d.n, 0, &shape), XW_ERR_INPUT);
	d.entries[5].name_len = 2;
	d.f.hash_version = XW_DX_SIPHASH;
	ck_assert_int_eq(xw_dir_shape(&d.f, d.entries, d.n, 0, &shape), XW_ERR_UNSUPPORTED);
	d.f.hash_version = XW_DX_TEA;
	ck_assert_int_eq(xw_dir_shape(&d.f, d.entries, d.n, 0, &d.shape), 0);
	/* fewer, then more entries than were planned: caught before a block is put */
	d.blocks = malloc((size_t)d.shape.blocks * 1024);
	ck_assert_int_eq(xw_dir_emit(&d.f, &d.shape, d.entries, 30, &self, keep_block, &d),
			 XW_ERR_INTERNAL);
	d.shape.leaves -= 3;
	ck_assert_int_eq(xw_dir_emit(&d.f, &d.shape, d.entries, d.n, &self, keep_block, &d),
			 XW_ERR_INTERNAL);
	ck_assert_uint_eq(d.emitted, 0);
	free_dir(&d);
}
END_TEST

static int fail_at_five(void *arg, uint32_t lblk, const void *block)
{
	(void)arg;
	(void)block;
	ck_assert_uint_le(lblk, 5);
	return lblk == 5 ? XW_ERR_IO : 0;
}

START_TEST(put_failure_ends_the_run)
{
	struct dir d = {.f = format(1024, true, _i)};
	const struct xw_dir_self self = {.ino = SELF, .parent = PARENT};

	make_names(&d, LONG, 100);
	ck_assert_int_eq(xw_dir_shape(&d.f, d.entries, d.n, 0, &d.shape), 0);
	ck_assert_int_eq(xw_dir_emit(&d.f, &d.shape, d.entries, d.n, &self, fail_at_five, NULL),
			 XW_ERR_IO);
	free_dir(&d);
}
END_TEST

/* The order of the input does not show in an indexed directory. */
START_TEST(deterministic)
{
	struct dir a = {.f = format(4096, true, true)}, b = {.f = format(4096, true, true)};

	build(&a, MIXED, 5000, 0);
	make_names(&b, MIXED, 5000);
	for (size_t i = 0; i < b.n / 2; i++) {
		struct xw_dir_entry t = b.entries[i];

		b.entries[i] = b.entries[b.n - 1 - i];
		b.entries[b.n - 1 - i] = t;
	}
	ck_assert_int_eq(xw_dir_shape(&b.f, b.entries, b.n, 0, &b.shape), 0);
	emit(&b);
	ck_assert_uint_eq(a.shape.blocks, b.shape.blocks);
	ck_assert_mem_eq(a.blocks, b.blocks, (size_t)a.shape.blocks * 4096);
	free_dir(&a);
	free_dir(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dir_build");
	TCase *tc = tcase_create("dir_build");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, one_block, 0, 16);
	tcase_add_loop_test(tc, one_block_limit, 0, 4);
	tcase_add_loop_test(tc, empty, 0, 8);
	unit_add_table(tc, growth, grows);
	tcase_add_loop_test(tc, minimal_size, 0, 4);
	tcase_add_test(tc, minimal_size_outgrown);
	tcase_add_loop_test(tc, linear_without_dir_index, 0, 12);
	unit_add_table(tc, htree, trees);
	tcase_add_test(tc, fill);
	tcase_add_test(tc, collisions);
	tcase_add_test(tc, real_collisions);
	tcase_add_test(tc, too_deep_for_an_index);
	tcase_add_test(tc, size_limit);
	tcase_add_test(tc, bad_arguments);
	unit_add_cases(tc, put_failure_ends_the_run, "linear", "indexed");
	tcase_add_test(tc, deterministic);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
