/* SPDX-License-Identifier: MIT */
/* Exporting a hand-made image: contents and holes, the order of the walk, types, damage. */
#include "unit.h"

#include "export/export.h"
#include "read_fix.h"
#include "tarread.h"

/* ---- contents ---- */

/* Put holes and data back together from what was exported. */
static void check_contents(struct fixture *fx, xw_ino ino, const struct sink *s,
			   const struct member *m)
{
	uint64_t size = m->sparse_name[0] ? m->real_size : m->size;
	uint8_t *want = calloc(1, size + 1), *got = calloc(1, size + 1);
	const uint8_t *p = s->v + m->payload;
	struct xw_inode inode;
	uint8_t raw[INODE_SIZE];
	size_t n;

	ck_assert(want && got);
	ck_assert_int_eq(xw_image_inode(fx->img, ino, &inode, raw), 0);
	ck_assert_uint_eq(inode.size, size);
	ck_assert_int_eq(xw_file_pread(fx->img, ino, &inode, raw, 0, want, size, &n), 0);
	ck_assert_uint_eq(n, size);
	if (m->sparse_name[0]) {
		char *map = (char *)p;
		unsigned long entries = strtoul(map, &map, 10);
		const uint8_t *data;
		uint64_t v[2 * 64];

		ck_assert_uint_le(entries, 64);
		for (unsigned long i = 0; i < 2 * entries; i++)
			v[i] = strtoull(map + 1, &map, 10);
		data = p + xw_round_up((uint64_t)(map + 1 - (char *)p), 512);
		for (unsigned long i = 0; i < entries; i++) {
			ck_assert_uint_le(v[2 * i] + v[2 * i + 1], size);
			memcpy(got + v[2 * i], data, v[2 * i + 1]);
			data += v[2 * i + 1];
		}
		ck_assert_uint_eq(v[2 * entries - 2], size);
		ck_assert_uint_eq(v[2 * entries - 1], 0);
		ck_assert_uint_eq((size_t)(data - p), m->size);
	} else {
		memcpy(got, p, size);
	}
	ck_assert_mem_eq(got, want, size);
	free(want);
	free(got);
}

static const struct {
	struct xw_extent e[4];
	unsigned n;
	uint64_t size;
	bool sparse;
} files[] = {
	{{{0}}, 0, 0, false},
	{{{0}}, 0, 5000, true},
	{{{0, 4, 1000, false}}, 1, 4 * BS, false},
	{{{0, 4, 1000, false}}, 1, 3 * BS + 1, false},
	{{{0, 4, 1000, false}}, 1, 100, false},
	{{{0, 4, 1000, false}}, 1, 4 * BS + 1, true},
	{{{0, 2, 1000, false}, {2, 2, 1500, false}}, 2, 4 * BS, false},
	{{{1, 2, 1000, false}}, 1, 3 * BS, true},
	{{{0, 2, 1000, true}, {2, 2, 1500, false}}, 2, 4 * BS, true},
	{{{0, 1, 1000, false}, {2, 1, 1500, false}, {5, 1, 1600, true}, {9, 3, 1700, false}},
	 4,
	 10 * BS + 7,
	 true},
	{{{0, 1, 1000, false}, {2, 8, 1500, false}}, 2, 2 * BS, true},
};

START_TEST(contents)
{
	const struct xw_export_opts opts = {0};
	const xw_ino to[] = {12};
	const char *const names[] = {"file"};
	struct xw_inode inode = {.mode = XW_S_IFREG | 0644, .size = files[_i].size};
	struct xw_export_stats stats;
	struct sink s = {0};
	struct fixture fx;
	struct member m;
	size_t at = 0;

	make_image(&fx, true);
	make_dir(&fx, 2, 2, 1, names, to, true);
	paint(&fx, 1000, 4);
	paint(&fx, 1500, 8);
	paint(&fx, 1700, 3);
	root_leaf(&inode, files[_i].e, files[_i].n);
	put_inode(&fx, 12, &inode, NULL, 0);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_image_to_tar(fx.img, &opts, to_sink, &s, &stats), 0);
	ck_assert_uint_eq(stats.files, 1);
	ck_assert_uint_eq(stats.sparse_files, files[_i].sparse);
	ck_assert(next_member(&s, &at, &m));
	ck_assert_str_eq(m.path, "./");
	ck_assert(next_member(&s, &at, &m));
	ck_assert_str_eq(files[_i].sparse ? m.sparse_name : m.path, "file");
	check_contents(&fx, 12, &s, &m);
	at += xw_round_up(m.size, 512);
	ck_assert(!next_member(&s, &at, &m));
	free(s.v);
	drop(&fx);
}
END_TEST

/* ---- the walk ---- */

static void put_file(struct fixture *fx, xw_ino ino, uint32_t mode, uint16_t links)
{
	struct xw_inode inode = {.mode = (uint16_t)mode, .links = links};

	if ((mode & XW_S_IFMT) == XW_S_IFCHR)
		ck_assert_int_eq(xw_inode_put_rdev(&inode, 4000, 1000000), 0);
	put_inode(fx, ino, &inode, NULL, 0);
}

struct listing {
	char text[2000];
	unsigned n, stop_at;
};

static int to_listing(void *arg, const struct xw_export_item *item)
{
	struct listing *l = arg;
	size_t n = strlen(l->text);

	snprintf(l->text + n, sizeof(l->text) - n, "%s%s%s ", item->at->path,
		 item->hardlink ? "=" : "", item->link ? item->link : "");
	return ++l->n == l->stop_at ? -77 : 0;
}

/*
 * /b (20) holds x (22), and y (21), which is the /z of the root; /lost+found is empty, /a (30)
 * comes last; /s is a socket.
 */
static void make_tree_image(struct fixture *fx)
{
	static const char *const root[] = {"a", "b", "lost+found", "z", "s", "l"};
	static const xw_ino root_to[] = {30, 20, 11, 21, 25, 26};
	static const char *const sub[] = {"x", "y"};
	static const xw_ino sub_to[] = {22, 21};

	make_image(fx, true);
	make_dir(fx, 2, 2, 6, root, root_to, true);
	make_dir(fx, 11, 2, 0, NULL, NULL, true);
	make_dir(fx, 20, 2, 2, sub, sub_to, true);
	put_file(fx, 21, XW_S_IFREG, 2);
	put_file(fx, 22, XW_S_IFCHR, 1);
	put_file(fx, 25, XW_S_IFSOCK, 1);
	put_link(fx, 26, "b/x");
	put_file(fx, 30, XW_S_IFIFO, 1);
}

START_TEST(order)
{
	struct xw_export_opts opts = {0};
	struct xw_select select = {0};
	struct xw_export_stats stats;
	struct listing l = {0};
	struct fixture fx;

	make_tree_image(&fx);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_image_to_list(fx.img, &opts, to_listing, &l, &stats), 0);
	ck_assert_str_eq(l.text, " b b/y b/x z=b/y s lb/x a ");
	ck_assert_uint_eq(stats.directories, 1);
	ck_assert_uint_eq(stats.hardlinks, 1);
	ck_assert_int_eq(xw_select_set(&select, "--exclude", "b", NULL), 0);
	opts.select = &select;
	memset(&l, 0, sizeof(l));
	ck_assert_int_eq(xw_image_to_list(fx.img, &opts, to_listing, &l, &stats), 0);
	ck_assert_str_eq(l.text, " z s lb/x a ");
	opts = (struct xw_export_opts){.top = "b"};
	memset(&l, 0, sizeof(l));
	ck_assert_int_eq(xw_image_to_list(fx.img, &opts, to_listing, &l, &stats), 0);
	ck_assert_str_eq(l.text, " y x ");
	opts.top = "/lost+found/";
	memset(&l, 0, sizeof(l));
	ck_assert_int_eq(xw_image_to_list(fx.img, &opts, to_listing, &l, &stats), 0);
	ck_assert_str_eq(l.text, " ");
	opts.top = "z";
	ck_assert_int_eq(xw_image_to_list(fx.img, &opts, to_listing, &l, &stats), XW_ERR_INPUT);
	xw_diag_clear(&fx.diag);
	opts.top = "none";
	ck_assert_int_eq(xw_image_to_list(fx.img, &opts, to_listing, &l, &stats), XW_ERR_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(fx.diag.text, "none"));
	opts = (struct xw_export_opts){0};
	l = (struct listing){.stop_at = 3};
	ck_assert_int_eq(xw_image_to_list(fx.img, &opts, to_listing, &l, &stats), -77);
	xw_select_free(&select);
	drop(&fx);
}
END_TEST

static const char *list_paths(struct fixture *fx, struct listing *l, int want, unsigned n,
			      const char *const *paths)
{
	const struct xw_export_opts opts = {.order = XW_ORDER_INODE,
					    .paths = {(char *const *)(uintptr_t)paths, n}};
	struct xw_export_stats stats;

	memset(l, 0, sizeof(*l));
	xw_diag_clear(&fx->diag);
	ck_assert_int_eq(xw_image_to_list(fx->img, &opts, to_listing, l, &stats), want);
	return l->text;
}

START_TEST(paths)
{
	static const struct {
		const char *want;
		int rc;
		const char *missing; /* in the line */
		unsigned n;
		const char *paths[4];
	} cases[] = {
		{"b b/y b/x ", 0, NULL, 1, {"b"}},
		{"b b/y b/x ", 0, NULL, 1, {"/b//./"}},
		{"b b/y b/x ", 0, NULL, 3, {"b/y", "b", "b/x"}},
		{"b/x ", 0, NULL, 1, {"b/x"}},
		{"b/x b/y ", 0, NULL, 2, {"b/x", "b/y"}},
		{"z b b/y=z b/x ", 0, NULL, 2, {"z", "b"}},
		{"a b/y ", 0, NULL, 3, {"a", "b/y", "a"}},
		{" b b/y b/x z=b/y s lb/x a ", 0, NULL, 1, {"."}},
		{" b b/y b/x z=b/y s lb/x a ", 0, NULL, 2, {"a", "/"}},
		{"b/y b/x ", 0, NULL, 1, {"b/*"}},
		{"b/y b/x ", 0, NULL, 1, {"?/[xy]"}},
		{"lost+found ", 0, NULL, 1, {"lost+*"}},
		{"", XW_ERR_NOTFOUND, ": none", 1, {"none"}},
		{"a ", XW_ERR_NOTFOUND, ": none, b/z", 3, {"none", "a", "b/z"}},
		{"", XW_ERR_NOTFOUND, ": l/x", 1, {"l/x"}},
		{"", XW_ERR_NOTFOUND, ": b/../a", 1, {"b/../a"}},
		{"", XW_ERR_NOTFOUND, ": *x", 1, {"*x"}},
		{"a ", XW_ERR_NOTFOUND, ": a/b", 2, {"a/b", "a"}},
	};
	struct listing l;
	struct fixture fx;

	make_tree_image(&fx);
	open_it(&fx, 0);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		ck_assert_str_eq(list_paths(&fx, &l, cases[i].rc, cases[i].n, cases[i].paths),
				 cases[i].want);
		if (cases[i].missing)
			ck_assert_ptr_nonnull(strstr(fx.diag.text, cases[i].missing));
	}
	drop(&fx);
}
END_TEST

/* Files whose data lie the other way round than their inodes; directories come before what is in
 * them all the same. */
static void make_mixed_image(struct fixture *fx)
{
	static const struct xw_extent at[] = {
		{0, 1, 3000, false}, {0, 1, 2000, false}, {0, 1, 1000, false}, {0, 1, 1500, false}};
	static const char *const root[] = {"d", "e", "f", "empty", "g"};
	static const xw_ino root_to[] = {12, 13, 14, 15, 16};
	static const char *const d[] = {"f", "s"};
	static const xw_ino d_to[] = {17, 18};
	static const char *const e[] = {"f"};
	static const xw_ino e_to[] = {19};
	static const xw_ino with_data[] = {14, 16, 17, 19};

	make_image(fx, true);
	make_dir(fx, 2, 2, 5, root, root_to, true);
	make_dir(fx, 12, 2, 2, d, d_to, true);
	make_dir(fx, 13, 2, 1, e, e_to, true);
	put_file(fx, 15, XW_S_IFREG, 1);
	put_link(fx, 18, "f");
	for (unsigned i = 0; i < 4; i++) {
		struct xw_inode inode = {.mode = XW_S_IFREG | 0644, .size = BS};

		root_leaf(&inode, &at[i], 1);
		put_inode(fx, with_data[i], &inode, NULL, 0);
	}
}

START_TEST(orders)
{
	static const char *const want[] = {
		[XW_ORDER_DEFAULT] = " d d/f d/sf e e/f empty g f ",
		[XW_ORDER_TREE] = " d d/f d/sf e e/f empty g f ",
		[XW_ORDER_DISK] = " d d/f d/sf e e/f empty g f ",
		[XW_ORDER_INODE] = " d d/f d/sf e e/f f empty g ",
		[XW_ORDER_NAME] = " d d/f d/sf e e/f empty f g ",
	};
	const struct xw_export_opts opts = {.order = (enum xw_export_order)_i};
	struct xw_export_stats stats;
	struct listing l = {0};
	struct fixture fx;

	make_mixed_image(&fx);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_image_to_list(fx.img, &opts, to_listing, &l, &stats), 0);
	ck_assert_str_eq(l.text, want[_i]);
	drop(&fx);
}
END_TEST

START_TEST(types_in_the_archive)
{
	const struct xw_export_opts opts = {0};
	static const struct {
		const char *path;
		char type;
	} want[] = {{"./", '5'}, {"b/", '5'}, {"b/y", '0'}, {"b/x", '3'},
		    {"z", '1'},  {"l", '2'},  {"a", '6'}};
	struct xw_export_stats stats;
	struct sink s = {0};
	struct fixture fx;
	struct member m;
	size_t at = 0;

	make_tree_image(&fx);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_image_to_tar(fx.img, &opts, to_sink, &s, &stats), 0);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(want); i++) {
		ck_assert(next_member(&s, &at, &m));
		ck_assert_str_eq(m.path, want[i].path);
		ck_assert_int_eq(m.type, want[i].type);
		if (m.type == '3')
			ck_assert(m.major == 4000 && m.minor == 1000000);
		if (m.type == '1')
			ck_assert_str_eq(m.link, "b/y");
		if (m.type == '2')
			ck_assert_str_eq(m.link, "b/x");
	}
	ck_assert(!next_member(&s, &at, &m));
	ck_assert_uint_eq(stats.sockets, 1);
	ck_assert_uint_eq(stats.bytes_out, s.n);
	free(s.v);
	drop(&fx);
}
END_TEST

/* Directories that lead to themselves or have two names, inodes that are none: told, and passed
 * over. */
START_TEST(impossible_trees)
{
	static const char *const root[] = {"d", "d2", "file", "gone", "resize", "journal"};
	static const xw_ino root_to[] = {20, 20, 21, 22, 7, 8};
	static const char *const sub[] = {"up", "self", "file"};
	static const xw_ino sub_to[] = {2, 20, 21};
	const struct xw_export_opts opts = {0};
	struct xw_export_stats stats;
	struct listing l = {0};
	struct fixture fx;

	make_image(&fx, true);
	make_dir(&fx, 2, 2, 6, root, root_to, true);
	make_dir(&fx, 20, 2, 3, sub, sub_to, true);
	put_file(&fx, 21, XW_S_IFREG, 1);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_image_to_list(fx.img, &opts, to_listing, &l, &stats), XW_ERR_CORRUPT);
	ck_assert_str_eq(l.text, " d d/file file ");
	/* up, self, d2, gone, resize, journal */
	ck_assert_uint_eq(stats.damaged, 6);
	ck_assert_ptr_nonnull(strstr(fx.diag.text, "6 items could not be read"));
	drop(&fx);
}
END_TEST

/* Damage in the middle of everything: what is behind it comes out all the same. */
START_TEST(damage)
{
	static const char *const root[] = {"a", "b", "c"};
	static const xw_ino root_to[] = {20, 21, 22};
	const struct xw_export_opts opts = {0};
	struct xw_export_stats stats;
	struct sink s = {0};
	struct fixture fx;
	struct member m;
	xw_blk dir_block;
	size_t at = 0;
	uint32_t n;

	make_image(&fx, true);
	make_dir(&fx, 2, 2, 3, root, root_to, true);
	dir_block = fx.next + 3;
	make_dir(&fx, 20, 2, 3000, NULL, NULL, true);
	put_file(&fx, 11, XW_S_IFREG, 1);
	make_tree(&fx, 21, 2, 4, &n);
	put_file(&fx, 22, XW_S_IFREG, 1);
	ck_assert_int_eq(xw_dev_pwrite(fx.dev, "x", 1, dir_block * BS + 200), 0);
	ck_assert_int_eq(xw_dev_pwrite(fx.dev, "x", 1, (fx.next - 1) * BS + 20), 0);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_image_to_tar(fx.img, &opts, to_sink, &s, &stats), XW_ERR_CORRUPT);
	ck_assert_uint_eq(stats.damaged, 2); /* a block of a, all of b */
	ck_assert_uint_gt(stats.files, 2900);
	ck_assert_uint_lt(stats.files, 3001);
	for (n = 0; next_member(&s, &at, &m); n++)
		;
	ck_assert_uint_eq(n, stats.files + stats.directories + 1);
	ck_assert_ptr_nonnull(strstr(fx.diag.text, "2 items could not be read"));
	free(s.v);
	drop(&fx);
}
END_TEST

START_TEST(output_failure)
{
	const struct xw_export_opts opts = {0};
	struct xw_export_stats stats;
	struct sink s = {.fail_at = 300000};
	struct fixture fx;

	make_image(&fx, true);
	make_dir(&fx, 2, 2, 3000, NULL, NULL, true);
	put_file(&fx, 11, XW_S_IFREG, 1);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_image_to_tar(fx.img, &opts, to_sink, &s, &stats), XW_ERR_HOSTFULL);
	ck_assert_uint_eq(stats.damaged, 0);
	free(s.v);
	drop(&fx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("export");
	TCase *tc = tcase_create("export");

	tcase_set_timeout(tc, 300);
	unit_add_table(tc, contents, files);
	tcase_add_test(tc, order);
	tcase_add_test(tc, paths);
	tcase_add_loop_test(tc, orders, 0, 3);
	tcase_add_test(tc, types_in_the_archive);
	tcase_add_test(tc, impossible_trees);
	tcase_add_test(tc, damage);
	tcase_add_test(tc, output_failure);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
