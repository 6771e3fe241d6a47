/* SPDX-License-Identifier: MIT */
/*
 * Free runs of groups and the allocator's view of an image, beside plain counts of the bitmaps; and
 * what both say of damaged groups.
 */
#include "holed.h"
#include "space/priv.h"
#include "space_check.h"

static const struct {
	const char *name;
	const char *args[10];
} kinds[] = {
	{"1k blocks", {"SIZE", "200M", "-b", "1024", NULL}},
	{"4k blocks", {"SIZE", "900M", NULL}},
	{"without 64bit, flex_bg, checksums",
	 {"SIZE", "300M", "-b", "2048", "-O", "^64bit,^flex_bg,^metadata_csum", NULL}},
	{"bigalloc", {"SIZE", "2G", "-O", "bigalloc", "-C", "16384", "-b", "2048", NULL}},
	{"meta_bg, uninit_bg",
	 {"SIZE", "120M", "-b", "1024", "-O", "meta_bg,^resize_inode,uninit_bg", NULL}},
};

struct seen {
	const struct holed *h;
	uint64_t group;
	uint32_t next; /* everything below was told of */
	uint32_t runs;
};

static int see(void *arg, uint32_t at, uint32_t len)
{
	struct seen *s = arg;

	ck_assert_uint_gt(len, 0);
	ck_assert(at == 0 ? s->next == 0 : at >= s->next);
	if (s->runs)
		ck_assert_uint_gt(at, s->next); /* runs do not touch */
	for (; s->next < at; s->next++)
		ck_assert(holed_used(s->h, s->group, s->next));
	for (; s->next < at + len; s->next++)
		ck_assert(!holed_used(s->h, s->group, s->next));
	s->runs++;
	return 0;
}

START_TEST(free_runs)
{
	struct holed h;
	void *scratch;

	holed_make(&h, kinds[_i].args, 77 + (uint32_t)_i);
	scratch = malloc(h.img->block_size);
	for (uint64_t g = 0; g < h.img->groups; g++) {
		struct seen s = {&h, g, 0, 0};

		ck_assert_msg(!xw_image_free_runs(h.img, h.map, g, scratch, see, &s), "%s",
			      h.diag.text);
		for (; s.next < h.group_bits; s.next++)
			ck_assert(holed_used(&h, g, s.next));
	}
	free(scratch);
	holed_free(&h);
}
END_TEST

static int stop(void *arg, uint32_t at, uint32_t len)
{
	(void)at, (void)len;
	*(int *)arg += 1;
	return XW_ERR_LIMIT;
}

START_TEST(callback_ends_it)
{
	struct holed h;
	void *scratch;

	holed_make(&h, kinds[1].args, 5);
	scratch = malloc(h.img->block_size);
	for (uint64_t g = 0; g < h.img->groups; g++) {
		int calls = 0;

		ck_assert_int_eq(xw_image_free_runs(h.img, h.map, g, scratch, stop, &calls),
				 XW_ERR_LIMIT);
		ck_assert_int_eq(calls, 1);
	}
	free(scratch);
	holed_free(&h);
}
END_TEST

/* Longest run, runs, first, and the buddies of one group, counted bit by bit. */
static void count(const struct holed *h, uint64_t g, struct xw_group_summary *sum,
		  uint16_t hist[XW_SPACE_ORDERS])
{
	uint32_t run = 0;

	memset(sum, 0, sizeof(*sum));
	memset(hist, 0, XW_SPACE_ORDERS * sizeof(*hist));
	for (uint32_t i = 0; i <= h->group_bits; i++) {
		const bool used = i == h->group_bits || holed_used(h, g, i);

		if (!used && !sum->free)
			sum->first_free = i;
		sum->free += !used;
		sum->fragments += !used && !run;
		run = used ? 0 : run + 1;
		sum->longest = XW_MAX(sum->longest, run);
	}
	for (uint32_t i = 0; i < h->group_bits;) {
		unsigned k = 0;
		uint32_t n = 0;

		while (i + n < h->group_bits && !holed_used(h, g, i + n))
			n++;
		if (!n) {
			i++;
			continue;
		}
		while (k + 1 < XW_SPACE_ORDERS && i % (2u << k) == 0 && 2u << k <= n)
			k++;
		hist[k]++;
		i += 1u << k;
	}
}

static const struct xw_space_params defaults = {
	.optimize_scan = -1,
	.linear_limit = -1,
	.order2_req = -1,
	.stream_req = -1,
	.min_to_scan = -1,
	.max_to_scan = -1,
	.best_avail_max_trim_order = -1,
};

/* Both ways to look at everything. */
static int resolve(struct xw_space_view *v, struct xw_space *s, bool threads)
{
	return threads ? xw_space_view_resolve(v, s, 2) : xw_space_resolve(s);
}

START_TEST(view_is_exact)
{
	const size_t kind = (size_t)_i % XW_ARRAY_SIZE(kinds);
	uint32_t largest[XW_SPACE_ORDERS] = {0}, avg[XW_SPACE_ORDERS] = {0}, full = 0;
	struct xw_space_structs st;
	struct xw_space_view v;
	struct xw_space *s;
	struct holed h;

	holed_make(&h, kinds[kind].args, 99 + (uint32_t)kind);
	v = (struct xw_space_view){.img = h.img, .sysmap = h.map};
	ck_assert_msg(!xw_space_view_open(&v, &defaults, &s), "%s", h.diag.text);
	ck_assert_int_eq(resolve(&v, s, kind != (size_t)_i), 0);
	xw_space_structs(s, &st);
	ck_assert_uint_eq(st.unresolved, 0);
	for (uint64_t g = 0; g < h.img->groups; g++) {
		uint16_t hist[XW_SPACE_ORDERS], got[XW_SPACE_ORDERS];
		struct xw_group_summary want, have;
		unsigned top = 0;

		count(&h, g, &want, hist);
		xw_space_group(s, (uint32_t)g, &have);
		ck_assert_uint_eq(have.free, want.free);
		ck_assert_uint_eq(have.fragments, want.fragments);
		ck_assert_uint_eq(have.longest, want.longest);
		if (want.free)
			ck_assert_uint_eq(have.first_free, want.first_free);
		ck_assert_int_eq(xw_space_group_buddies(s, (uint32_t)g, got), 0);
		ck_assert_mem_eq(got, hist, sizeof(got));
		for (unsigned k = 0; k < XW_SPACE_ORDERS; k++)
			top = hist[k] ? k : top;
		full += !want.free;
		largest[top] += want.free != 0;
		if (want.free)
			avg[31 - __builtin_clz(want.free / want.fragments)]++;
	}
	ck_assert_uint_eq(st.full, full);
	ck_assert_mem_eq(st.largest_order, largest, sizeof(largest));
	ck_assert_mem_eq(st.avg_order, avg, sizeof(avg));
	ck_assert_pstr_eq(xw_space_check(s), NULL);
	xw_space_free(s);
	xw_space_view_close(&v);
	holed_free(&h);
}
END_TEST

static void note_damage(void *arg, uint64_t group)
{
	*(uint64_t *)arg |= UINT64_C(1) << group;
}

/* Bits of group 1 change without its checksum. */
START_TEST(damage_counts_as_read)
{
	struct xw_space_view v;
	struct xw_group_summary sum;
	struct xw_group_desc gd;
	uint64_t damaged = 0;
	struct xw_space *s;
	struct holed h;
	uint8_t *bits;

	holed_make(&h, kinds[0].args, 3);
	bits = calloc(1, h.img->block_size);
	ck_assert_int_eq(xw_image_group(h.img, 1, &gd), 0);
	memset(bits, 0xff, 100);
	ck_assert_int_eq(
		xw_dev_pwrite(h.dev, bits, h.group_bytes, gd.block_bitmap * h.img->block_size), 0);
	xw_image_drop_cache(h.img);
	ck_assert_int_eq(xw_image_block_bitmap(h.img, h.map, 1, bits), XW_ERR_CHECKSUM);
	ck_assert_uint_eq(bits[99], 0xff);
	ck_assert_uint_eq(bits[100], 0);
	xw_diag_clear(&h.diag);

	v = (struct xw_space_view){.img = h.img, .sysmap = h.map};
	ck_assert_int_eq(xw_space_view_open(&v, &defaults, &s), 0);
	ck_assert_int_eq(resolve(&v, s, _i), XW_ERR_CHECKSUM);
	xw_space_free(s);
	xw_space_view_close(&v);
	xw_diag_clear(&h.diag);

	v = (struct xw_space_view){
		.img = h.img, .sysmap = h.map, .damaged = note_damage, .arg = &damaged};
	ck_assert_int_eq(xw_space_view_open(&v, &defaults, &s), 0);
	ck_assert_int_eq(resolve(&v, s, _i), 0);
	xw_space_group(s, 1, &sum);
	ck_assert_uint_eq(sum.free, h.group_bits - 800);
	ck_assert_uint_eq(sum.first_free, 800);
	ck_assert_uint_eq(damaged, 2);
	ck_assert_int_eq(h.diag.code, 0);
	xw_space_free(s);
	xw_space_view_close(&v);
	free(bits);
	holed_free(&h);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("read_space");
	TCase *t = tcase_create("read_space");

	tcase_set_timeout(t, 120);
	unit_add_rows(t, free_runs, kinds, name);
	tcase_add_test(t, callback_ends_it);
	tcase_add_loop_test(t, view_is_exact, 0, 2 * XW_ARRAY_SIZE(kinds));
	tcase_add_loop_test(t, damage_counts_as_read, 0, 2);
	suite_add_tcase(s, t);
	return unit_main(s);
}
