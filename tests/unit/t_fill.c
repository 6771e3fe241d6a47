/* SPDX-License-Identifier: MIT */
/*
 * Filling from a scripted source: what the tree says and what the device holds afterwards. Every
 * byte of every mapped block is checked, so stale device content would show.
 */
#include "fill_world.h"

static char *pattern(size_t n)
{
	char *p = malloc(n + 1);

	for (size_t i = 0; p && i < n; i++)
		p[i] = (char)('a' + i % 23);
	if (p)
		p[n] = 0;
	return p;
}

static const size_t cuts[] = {1, 7, 1000, 1024, 1 << 20};

START_TEST(data_lands_once_and_whole)
{
	char *big = pattern(3000);

	ck_assert_int_eq(run(STEPS({XW_ET_REG, "d/f", NULL, big, 0640},
				   {XW_ET_REG, "empty", NULL, NULL, 0600},
				   {XW_ET_REG, "one", NULL, "x", 0600},
				   {XW_ET_REG, "grown", NULL, big, 0600, XW_SIZE_UNKNOWN}),
			     cuts[_i]),
			 0);
	check_content("d/f", big, 3000, 3);
	check_content("empty", "", 0, 0);
	check_content("one", "x", 1, 1);
	check_content("grown", big, 3000, 3);
	ck_assert_uint_eq(must("grown")->n_ext, 1);
	ck_assert_uint_eq(must("d/f")->mode, XW_S_IFREG | 0640);
	ck_assert_uint_eq(must("d/f")->mtime_ns, 1);
	free(big);
}
END_TEST

START_TEST(holes_stay_holes)
{
	static const char data[] = "0123456789ABCDEFGHIJ";
	char *want = calloc(1, 100000);
	struct step s = {XW_ET_REG, "sparse", NULL,  data,
			 0600,      0,        false, {{100, 5}, {3000, 5}, {9000, 10}},
			 100000};

	memcpy(want + 100, data, 5);
	memcpy(want + 3000, data + 5, 5);
	memcpy(want + 9000, data + 10, 10);
	ck_assert_int_eq(run(&s, 1, cuts[_i]), 0);
	check_content("sparse", want, 100000, 3);
	ck_assert_uint_eq(must("sparse")->n_ext, 3);
	free(want);
}
END_TEST

START_TEST(later_entries_win)
{
	uint64_t before = xw_space_free_blocks(space);

	ck_assert_int_eq(
		run(STEPS({XW_ET_REG, "a", NULL, "first", 0600},
			  {XW_ET_REG, "a", NULL, "second", 0644},
			  {XW_ET_REG, "b", NULL, "file", 0600}, {XW_ET_DIR, "b/", NULL, NULL, 0700},
			  {XW_ET_REG, "b/c", NULL, "in", 0600}, {XW_ET_DIR, "d", NULL, NULL, 0700},
			  {XW_ET_REG, "d/x/y", NULL, "gone", 0600},
			  {XW_ET_LNK, "d", "b", NULL, 0777}, {XW_ET_DIR, "b", NULL, NULL, 0711}),
		    100),
		0);
	check_content("a", "second", 6, 1);
	check_content("b/c", "in", 2, 1);
	ck_assert_uint_eq(must("b")->mode, XW_S_IFDIR | 0711);
	ck_assert(xw_binode_is(must("d"), XW_S_IFLNK));
	ck_assert_uint_eq(before - xw_space_free_blocks(space), 2);
	ck_assert_uint_eq(sink.data_blocks, 2);
}
END_TEST

START_TEST(hard_links)
{
	ck_assert_int_eq(
		run(STEPS({XW_ET_REG, "a", NULL, "body", 0600},
			  {XW_ET_HARDLINK, "b", "./a", NULL, 0},
			  {XW_ET_HARDLINK, "b", "a", NULL, 0}, {XW_ET_HARDLINK, "a", "a", NULL, 0},
			  {XW_ET_REG, "a", NULL, "new", 0600}, {XW_ET_REG, "c", NULL, NULL, 0600},
			  {XW_ET_HARDLINK, "d", "c", "late data", 0, 0, true}),
		    100),
		0);
	check_content("b", "body", 4, 1);
	check_content("a", "new", 3, 1);
	ck_assert_uint_eq(must("b")->links, 1);
	ck_assert_ptr_eq(must("c"), must("d"));
	ck_assert_uint_eq(must("c")->links, 2);
	check_content("c", "late data", 9, 1);
}
END_TEST

static const struct {
	struct step steps[2];
	size_t n;
	const char *says;
} bad[] = {
	{{{XW_ET_HARDLINK, "x", "nothing", NULL, 0}}, 1, "hard link"},
	{{{XW_ET_DIR, "d", NULL, NULL, 0}, {XW_ET_HARDLINK, "x", "d", NULL, 0}}, 2, "directory"},
	{{{XW_ET_REG, "d/f", NULL, "x", 0}, {XW_ET_HARDLINK, "d", "d/f", NULL, 0}}, 2, "replaces"},
	{{{XW_ET_LNK, "l", "", NULL, 0}}, 1, "target"},
	{{{XW_ET_REG, "/", NULL, "x", 0}}, 1, "has a trailing slash"},
	{{{XW_ET_REG, "f", NULL, "longer than said", 0, 3}}, 1, "payload exceeds the file size"},
};

START_TEST(bad_entries_are_named)
{
	ck_assert_int_lt(run(bad[_i].steps, bad[_i].n, 100), 0);
	ck_assert_msg(strstr(diag.text, bad[_i].says) != NULL, "%s", diag.text);
	ck_assert_ptr_nonnull(strstr(diag.text, "script"));
}
END_TEST

START_TEST(full_image_counts_what_is_missing)
{
	struct step s = {XW_ET_REG, "big", NULL, NULL, 0600, (uint64_t)40000 * BS};

	ck_assert_int_eq(run(&s, 1, 100), 0);
	ck_assert_uint_eq(missing, 40000 - DEVICE_BLOCKS * 8);
	s.path = "more";
	s.size = 5 * BS + 1;
	ck_assert_int_eq(run(&s, 1, 100), 0);
	ck_assert_uint_eq(missing, 40000 - DEVICE_BLOCKS * 8 + 6);
	ck_assert_int_eq(diag.code, 0);
}
END_TEST

START_TEST(directory_and_strip)
{
	ck_assert_int_eq(xw_select_set(&sel, "--directory", "/opt/x/", &diag), 0);
	ck_assert_int_eq(xw_select_set(&sel, "--strip-components", "1", &diag), 0);
	ck_assert_int_eq(xw_select_set(&sel, "--exclude", "skip", &diag), 0);
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, "top", NULL, NULL, 0700},
				   {XW_ET_REG, "top/a", NULL, "x", 0600},
				   {XW_ET_REG, "top/skip/b", NULL, "x", 0600},
				   {XW_ET_HARDLINK, "top/h", "top/a", NULL, 0}),
			     100),
			 0);
	ck_assert_ptr_eq(must("opt/x/h"), must("opt/x/a"));
	ck_assert_uint_eq(must("opt/x")->dir->entries, 2);
	ck_assert_uint_eq(must("opt/x")->mode, XW_S_IFDIR | 0755);
}
END_TEST

static const struct {
	const char *path, *real;
} outward[] = {
	{"../../out", "opt/x/out"},
	{"a/../../../../out", "opt/x/out"},
	{"abs/out", "opt/x/srv/out"},
	{"rel/out", "opt/x/out"},
};

/* --directory is for the source what / is: links in the image and ".." lead nowhere else. */
START_TEST(directory_is_a_boundary)
{
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "srv/x", NULL, "x", 0600},
				   {XW_ET_LNK, "opt/x/abs", "/srv", NULL, 0777},
				   {XW_ET_LNK, "opt/x/rel", "../..", NULL, 0777},
				   {XW_ET_LNK, "link", "/opt/../opt/x", NULL, 0777}),
			     100),
			 0);
	ck_assert_int_eq(xw_select_set(&sel, "--directory", "link", &diag), 0);
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "f", NULL, "f", 0600},
				   {XW_ET_REG, outward[_i].path, NULL, "out", 0600},
				   {XW_ET_HARDLINK, "../hard", "../../f", NULL, 0}),
			     100),
			 0);
	check_content(outward[_i].real, "out", 3, 1);
	ck_assert_ptr_eq(must("opt/x/hard"), must("opt/x/f"));
	ck_assert_uint_eq(tree.root->dir->entries, 3);
	ck_assert_uint_eq(must("srv")->dir->entries, 1);
}
END_TEST

/* tar(1) gives up here; whoever goes on has to say so. */
START_TEST(a_file_in_the_way_goes_with_a_warning)
{
	ck_assert_int_eq(
		run(STEPS({XW_ET_REG, "f", NULL, "x", 0600}, {XW_ET_REG, "g", NULL, "x", 0600},
			  {XW_ET_DIR, "g", NULL, NULL, 0700}),
		    100),
		0);
	ck_assert_uint_eq(diag.warnings, 0);
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "f/sub", NULL, "x", 0600}), 100), 0);
	ck_assert_uint_eq(diag.warnings, 1);
	check_content("f/sub", "x", 1, 1);
}
END_TEST

START_TEST(directory_is_no_file)
{
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "etc/passwd", NULL, "x", 0600}), 100), 0);
	ck_assert_int_eq(xw_select_set(&sel, "--directory", "etc/passwd", &diag), 0);
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "f", NULL, "f", 0600}), 100), XW_ERR_INPUT);
	ck_assert_msg(strstr(diag.text, "--directory etc/passwd") != NULL, "%s", diag.text);
	check_content("etc/passwd", "x", 1, 1);
}
END_TEST

/* Nobody named them: mkdir(2) gives them the group of a setgid directory that was there. */
START_TEST(implied_directories_take_the_group)
{
	ck_assert_int_eq(xw_select_set(&sel, "--group", "50", &diag), 0);
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, "s", NULL, NULL, 02775},
				   {XW_ET_DIR, "s/now/f", NULL, NULL, 0755}),
			     100),
			 0);
	ck_assert_uint_eq(must("s/now")->mode, XW_S_IFDIR | 0755); /* s gets its mode last */
	ck_assert_uint_eq(must("s/now")->gid, 0);
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, "s/later/deep/f", NULL, NULL, 0700}), 100), 0);
	ck_assert_uint_eq(must("s/later")->mode, XW_S_IFDIR | 02755);
	ck_assert_uint_eq(must("s/later/deep")->mode, XW_S_IFDIR | 02755);
	ck_assert_uint_eq(must("s/later/deep")->gid, 50);
	ck_assert_uint_eq(must("s/later/deep/f")->mode, XW_S_IFDIR | 0700);
}
END_TEST

/*
 * The source is not a file: what is left out is spooled, and read again in pieces of another size.
 */
START_TEST(names_of_a_file_that_is_left_out)
{
	static const char data[] = "0123456789ABCDEFGHIJ";
	uint64_t before = xw_space_free_blocks(space);
	char *big = pattern(3000), *want = calloc(1, 100000);

	memcpy(want + 100, data, 5);
	memcpy(want + 3000, data + 5, 5);
	memcpy(want + 9000, data + 10, 10);
	ck_assert_int_eq(xw_select_set(&sel, "--exclude", "out", &diag), 0);
	ck_assert_int_eq(
		run(STEPS({XW_ET_REG, "out/f", NULL, big, 0640},
			  {XW_ET_REG, "out/grown", NULL, big, 0600, XW_SIZE_UNKNOWN},
			  {XW_ET_REG,
			   "out/sparse",
			   NULL,
			   data,
			   0600,
			   0,
			   false,
			   {{100, 5}, {3000, 5}, {9000, 10}},
			   100000},
			  {XW_ET_REG, "out/later", NULL, "old", 0600},
			  {XW_ET_HARDLINK, "later", "out/later", "new text", 0600, 0, true},
			  {XW_ET_FIFO, "out/fifo", NULL, NULL, 0604},
			  {XW_ET_HARDLINK, "out/again", "out/f", NULL, 0},
			  {XW_ET_HARDLINK, "f", "out/again", NULL, 0},
			  {XW_ET_HARDLINK, "g", "out/f", NULL, 0},
			  {XW_ET_HARDLINK, "h", "g", NULL, 0},
			  {XW_ET_HARDLINK, "grown", "out/grown", NULL, 0},
			  {XW_ET_HARDLINK, "sparse", "out/sparse", NULL, 0},
			  {XW_ET_HARDLINK, "fifo", "out/fifo", NULL, 0}),
		    cuts[_i]),
		0);
	check_content("f", big, 3000, 3);
	check_content("grown", big, 3000, 3);
	check_content("sparse", want, 100000, 3);
	check_content("later", "new text", 8, 1);
	ck_assert_uint_eq(before - xw_space_free_blocks(space), 10);
	ck_assert_uint_eq(sink.replaced_blocks, 0);
	ck_assert_ptr_eq(must("f"), must("g"));
	ck_assert_ptr_eq(must("f"), must("h"));
	ck_assert_uint_eq(must("f")->links, 3);
	ck_assert_uint_eq(must("f")->mode, XW_S_IFREG | 0640);
	ck_assert_uint_eq(must("fifo")->mode, 0010604);
	ck_assert_ptr_null(fill.unselected);
	/* names do not outlive their source */
	ck_assert_int_eq(run(STEPS({XW_ET_HARDLINK, "i", "out/f", NULL, 0}), 100), XW_ERR_INPUT);
	ck_assert_msg(strstr(diag.text, "does not precede it") != NULL, "%s", diag.text);
	free(want);
	free(big);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fill");
	TCase *t = tcase_create("fill");

	tcase_add_checked_fixture(t, setup, teardown);
	unit_add_table(t, data_lands_once_and_whole, cuts);
	unit_add_table(t, holes_stay_holes, cuts);
	tcase_add_test(t, later_entries_win);
	tcase_add_test(t, hard_links);
	unit_add_rows(t, bad_entries_are_named, bad, says);
	tcase_add_test(t, full_image_counts_what_is_missing);
	tcase_add_test(t, directory_and_strip);
	unit_add_rows(t, directory_is_a_boundary, outward, path);
	tcase_add_test(t, a_file_in_the_way_goes_with_a_warning);
	tcase_add_test(t, directory_is_no_file);
	tcase_add_test(t, implied_directories_take_the_group);
	unit_add_table(t, names_of_a_file_that_is_left_out, cuts);
	suite_add_tcase(s, t);
	return unit_main(s);
}
