/* SPDX-License-Identifier: MIT */
/* Layers: what whiteouts take away, what they leave, and what overlayfs is told. */
#include "fill_world.h"

static bool there(const char *path)
{
	struct xw_binode *n;

	return !xw_tree_lookup(&tree, tree.root, path, strlen(path), &n);
}

static void lower_layer(void)
{
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, "d", NULL, NULL, 0755},
				   {XW_ET_REG, "d/low", NULL, "low", 0644},
				   {XW_ET_REG, "d/sub/low", NULL, "low", 0644},
				   {XW_ET_REG, "d/sub/deep/low", NULL, "low", 0644},
				   {XW_ET_REG, "gone", NULL, "gone", 0644},
				   {XW_ET_REG, "kept", NULL, "kept", 0644}),
			     100),
			 0);
}

START_TEST(whiteouts_act_on_lower_layers_only)
{
	uint64_t before = xw_space_free_blocks(space);

	fill.whiteouts = XW_WHITEOUTS_APPLY;
	lower_layer();
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "new", NULL, "new", 0644},
				   {XW_ET_REG, ".wh.new", NULL, NULL, 0},
				   {XW_ET_REG, "d/sub/up", NULL, "up", 0644},
				   {XW_ET_REG, "d/.wh.sub", NULL, NULL, 0},
				   {XW_ET_REG, ".wh.gone", NULL, NULL, 0},
				   {XW_ET_REG, "no/such/.wh.dir", NULL, NULL, 0},
				   {XW_ET_REG, ".wh..wh.aufs", NULL, NULL, 0}),
			     100),
			 0);
	ck_assert(there("new") && there("kept") && there("d/low"));
	ck_assert(there("d/sub/up") && !there("d/sub/low") && !there("d/sub/deep"));
	ck_assert(!there("gone") && !there("no") && !there(".wh..wh.aufs"));
	ck_assert_uint_eq(before - xw_space_free_blocks(space), 4);
	ck_assert_uint_eq(sink.replaced_blocks, 3);
}
END_TEST

/* What lies in a union filesystem's own directories is only there for links of the same layer. */
START_TEST(own_directories_of_aufs_stay_out)
{
	uint64_t before = xw_space_free_blocks(space);
	struct xw_binode *n;

	fill.whiteouts = _i ? XW_WHITEOUTS_OVERLAY : XW_WHITEOUTS_APPLY;
	lower_layer();
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, ".wh..wh.orph/", NULL, NULL, 0700},
				   {XW_ET_REG, ".wh..wh.orph/7", NULL, "orphan", 0644},
				   {XW_ET_REG, ".wh..wh.orph/.wh.7", NULL, NULL, 0},
				   {XW_ET_REG, ".wh..wh.plnk/12.34", NULL, "shared", 0644},
				   {XW_ET_REG, "d/.wh..wh.own/deep/1", NULL, "other", 0644},
				   {XW_ET_HARDLINK, "d/l1", ".wh..wh.plnk/12.34", NULL, 0},
				   {XW_ET_HARDLINK, "l2", ".wh..wh.plnk/12.34", NULL, 0},
				   {XW_ET_REG, ".wh..wh.orph/8", NULL, "orphan", 0644}),
			     100),
			 0);
	ck_assert(!there(".wh..wh.orph") && !there(".wh..wh.plnk") && !there("d/.wh..wh.own"));
	ck_assert(there("d/low") && there("kept"));
	ck_assert_int_eq(xw_tree_lookup(&tree, tree.root, "d/l1", 4, &n), 0);
	ck_assert_uint_eq(n->links, 2);
	ck_assert_uint_eq(n->size, 6);
	ck_assert_uint_eq(before - xw_space_free_blocks(space), 6);
	/* the next layer has none of it */
	ck_assert_int_ne(run(STEPS({XW_ET_HARDLINK, "l3", ".wh..wh.plnk/12.34", NULL, 0}), 100), 0);
}
END_TEST

START_TEST(own_directories_are_kept_as_files)
{
	fill.whiteouts = XW_WHITEOUTS_KEEP;
	ck_assert_int_eq(run(STEPS({XW_ET_REG, ".wh..wh.plnk/12.34", NULL, "shared", 0644},
				   {XW_ET_HARDLINK, "l", ".wh..wh.plnk/12.34", NULL, 0}),
			     100),
			 0);
	ck_assert(there(".wh..wh.plnk/12.34") && there("l"));
}
END_TEST

/* The marker first, in the middle, last: the result is the same. */
START_TEST(opaque_in_any_place)
{
	struct step steps[] = {{XW_ET_DIR, "d", NULL, NULL, 0700},
			       {XW_ET_REG, "d/up", NULL, "up", 0644},
			       {XW_ET_REG, "d/sub/up", NULL, "up", 0644},
			       {XW_ET_REG, "d/.wh..wh..opq", NULL, NULL, 0}};
	struct step marker = steps[3];

	memmove(&steps[_i + 1], &steps[_i], (3 - (size_t)_i) * sizeof(steps[0]));
	steps[_i] = marker;
	fill.whiteouts = XW_WHITEOUTS_APPLY;
	lower_layer();
	ck_assert_int_eq(run(steps, 4, 100), 0);
	ck_assert(there("d/up") && there("d/sub/up"));
	ck_assert(!there("d/low") && !there("d/sub/low") && !there("d/.wh..wh..opq"));
	ck_assert(there("kept") && there("gone"));
}
END_TEST

/* Markers that look into a directory before an entry of their layer goes there. */
START_TEST(a_marker_before_the_entry)
{
	fill.whiteouts = XW_WHITEOUTS_APPLY;
	lower_layer();
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "d/.wh.nothing", NULL, NULL, 0},
				   {XW_ET_REG, "d/y", NULL, "y", 0644},
				   {XW_ET_REG, ".wh..wh..opq", NULL, NULL, 0}),
			     100),
			 0);
	ck_assert(there("d/y") && !there("d/low") && !there("d/sub") && !there("kept"));
}
END_TEST

START_TEST(a_link_that_is_there_belongs_to_the_layer_that_names_it)
{
	fill.whiteouts = XW_WHITEOUTS_APPLY;
	ck_assert_int_eq(
		run(STEPS({XW_ET_REG, "a", NULL, "a", 0644}, {XW_ET_HARDLINK, "b", "a", NULL, 0}),
		    100),
		0);
	ck_assert_int_eq(
		run(STEPS({XW_ET_HARDLINK, "b", "a", NULL, 0}, {XW_ET_HARDLINK, "c", "a", NULL, 0},
			  {XW_ET_REG, ".wh..wh..opq", NULL, NULL, 0}),
		    100),
		0);
	ck_assert(!there("a") && there("b") && there("c"));
	ck_assert_uint_eq(must("c")->links, 2);
}
END_TEST

static const struct step dotted[] = {
	{XW_ET_REG, "d/.wh..", NULL, NULL, 0},
	{XW_ET_REG, "d/.wh...", NULL, NULL, 0},
	{XW_ET_REG, "d/.wh.", NULL, NULL, 0},
};

/* ".wh." in front of nothing, of "." and "..": no directory would survive such names. */
START_TEST(markers_of_the_dots_are_refused)
{
	fill.whiteouts = _i < 3 ? XW_WHITEOUTS_APPLY : XW_WHITEOUTS_OVERLAY;
	lower_layer();
	ck_assert_int_eq(run(&dotted[_i % 3], 1, 100), XW_ERR_INPUT);
	ck_assert_msg(strstr(diag.text, dotted[_i % 3].path) != NULL, "%s", diag.text);
	ck_assert(there("d/low"));
}
END_TEST

static void make_lost_found(void)
{
	struct xw_binode *lf = xw_tree_node(&tree, XW_S_IFDIR | 0700);

	lf->dir->min_blocks = 16;
	ck_assert_int_eq(xw_tree_link(&tree, tree.root, "lost+found", 10, lf), 0);
}

START_TEST(lost_found_stays)
{
	static const char *const markers[] = {".wh..wh..opq", ".wh.lost+found"};

	make_lost_found();
	fill.whiteouts = _i < 2 ? XW_WHITEOUTS_APPLY : XW_WHITEOUTS_OVERLAY;
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, "lost+found", NULL, NULL, 0755},
				   {XW_ET_REG, "lost+found/x", NULL, "x", 0600},
				   {XW_ET_REG, "d/lost+found/x", NULL, "x", 0600}),
			     100),
			 0);
	ck_assert_int_eq(run(&(struct step){XW_ET_REG, markers[_i % 2], NULL, NULL, 0}, 1, 100), 0);
	ck_assert(xw_binode_is(must("lost+found"), XW_S_IFDIR) && !there("lost+found/x"));
	ck_assert_uint_eq(must("lost+found")->dir->min_blocks, 16);
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "d/.wh.lost+found", NULL, NULL, 0}), 100), 0);
	ck_assert(!there("d/lost+found/x")); /* only the root's is the filesystem's */
}
END_TEST

static bool opaque(const char *path)
{
	const struct xw_binode *n = must(path);

	ck_assert(!(n->flags & XW_BN_OPAQUE) == !n->xattrs);
	return n->flags & XW_BN_OPAQUE;
}

/* The marker of a name, and what the same layer brings under it: `d` itself only if `_i & 2`. */
START_TEST(overlay_directory_and_its_whiteout)
{
	struct step steps[] = {{XW_ET_REG, ".wh.d", NULL, NULL, 0},
			       {XW_ET_DIR, "d", NULL, NULL, 0700},
			       {XW_ET_REG, "d/up", NULL, "up", 0644},
			       {XW_ET_REG, "d/sub/up", NULL, "up", 0644}};
	const struct step marker = steps[0];

	fill.whiteouts = XW_WHITEOUTS_OVERLAY;
	lower_layer();
	if (!(_i & 2))
		steps[1] = steps[2];
	if (_i & 1) {
		memmove(&steps[0], &steps[1], 3 * sizeof(steps[0]));
		steps[3] = marker;
	}
	ck_assert_int_eq(run(steps, 4, 100), 0);
	ck_assert(opaque("d") && !opaque("d/sub"));
	ck_assert(there("d/up") && there("d/sub/up"));
	ck_assert(!there("d/low") && !there("d/sub/low")); /* of a lower source, in this image */
}
END_TEST

/* Where a directory hides everything, nothing is left for devices to hide. */
START_TEST(overlay_marker_under_an_opaque_directory)
{
	struct step steps[] = {{XW_ET_REG, "d/.wh.low", NULL, NULL, 0},
			       {XW_ET_REG, "d/.wh..wh..opq", NULL, NULL, 0},
			       {XW_ET_DIR, "d/sub", NULL, NULL, 0700},
			       {XW_ET_REG, "d/new/.wh.low", NULL, NULL, 0}};
	const struct step marker = steps[1];

	steps[1] = steps[_i];
	steps[_i] = marker;
	fill.whiteouts = XW_WHITEOUTS_OVERLAY;
	lower_layer();
	ck_assert_int_eq(run(steps, 4, 100), 0);
	ck_assert(opaque("d") && there("d/sub"));
	ck_assert(!there("d/low") && !there("d/sub/low") && !there("d/new"));
}
END_TEST

/* overlayfs merges roots whatever they say: there, single names must stay hidden. */
START_TEST(overlay_root_is_never_opaque)
{
	fill.whiteouts = XW_WHITEOUTS_OVERLAY;
	lower_layer();
	ck_assert_int_eq(run(STEPS({XW_ET_REG, ".wh.d", NULL, NULL, 0},
				   {XW_ET_REG, ".wh..wh..opq", NULL, NULL, 0},
				   {XW_ET_REG, ".wh.gone", NULL, NULL, 0}),
			     100),
			 0);
	ck_assert_uint_eq(diag.warnings, 1);
	ck_assert(!(tree.root->flags & XW_BN_OPAQUE) && !there("kept"));
	ck_assert(xw_binode_is(must("d"), XW_S_IFCHR) && xw_binode_is(must("gone"), XW_S_IFCHR));
}
END_TEST

/* What several layers hide together stays hidden. */
START_TEST(overlay_over_three_layers)
{
	fill.whiteouts = XW_WHITEOUTS_OVERLAY;
	lower_layer();
	ck_assert_int_eq(run(STEPS({XW_ET_REG, ".wh.d", NULL, NULL, 0},
				   {XW_ET_REG, "gone/.wh.x", NULL, NULL, 0},
				   {XW_ET_REG, "new/.wh.x", NULL, NULL, 0},
				   {XW_ET_REG, ".wh.new", NULL, NULL, 0}),
			     100),
			 0);
	ck_assert(xw_binode_is(must("d"), XW_S_IFCHR) && xw_binode_is(must("new"), XW_S_IFCHR));
	ck_assert(xw_binode_is(must("gone"), XW_S_IFREG)); /* a marker makes no way through files */
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "d/third", NULL, "3", 0644},
				   {XW_ET_DIR, "gone", NULL, NULL, 0755},
				   {XW_ET_REG, "kept/x", NULL, "x", 0644}),
			     100),
			 0);
	/* A device or file of the layers between hid what is below; the directory still has to. */
	ck_assert(opaque("d") && opaque("gone") && opaque("kept"));
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, "plain", NULL, NULL, 0755}), 100), 0);
	ck_assert(!opaque("plain"));
}
END_TEST

START_TEST(whiteouts_for_overlayfs)
{
	fill.whiteouts = XW_WHITEOUTS_OVERLAY;
	lower_layer();
	ck_assert_int_eq(run(STEPS({XW_ET_REG, ".wh.gone", NULL, NULL, 0},
				   {XW_ET_REG, "x/.wh.never", NULL, NULL, 0}),
			     100),
			 0);
	ck_assert(xw_binode_is(must("gone"), XW_S_IFCHR) && must("gone")->dev.minor == 0);
	ck_assert(xw_binode_is(must("x/never"), XW_S_IFCHR));
	fill.whiteouts = XW_WHITEOUTS_KEEP;
	ck_assert_int_eq(run(STEPS({XW_ET_REG, ".wh.kept", NULL, "text", 0}), 100), 0);
	check_content(".wh.kept", "text", 4, 1);
	ck_assert(there("kept"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("whiteout");
	TCase *t = tcase_create("whiteout");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, whiteouts_act_on_lower_layers_only);
	unit_add_cases(t, own_directories_of_aufs_stay_out, "apply", "overlay");
	tcase_add_test(t, own_directories_are_kept_as_files);
	tcase_add_loop_test(t, opaque_in_any_place, 0, 4);
	tcase_add_test(t, a_marker_before_the_entry);
	tcase_add_test(t, a_link_that_is_there_belongs_to_the_layer_that_names_it);
	tcase_add_loop_test(t, markers_of_the_dots_are_refused, 0, 6);
	tcase_add_loop_test(t, lost_found_stays, 0, 4);
	tcase_add_loop_test(t, overlay_directory_and_its_whiteout, 0, 4);
	tcase_add_loop_test(t, overlay_marker_under_an_opaque_directory, 0, 4);
	tcase_add_test(t, overlay_root_is_never_opaque);
	tcase_add_test(t, overlay_over_three_layers);
	tcase_add_test(t, whiteouts_for_overlayfs);
	suite_add_tcase(s, t);
	return unit_main(s);
}
