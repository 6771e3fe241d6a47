/* SPDX-License-Identifier: MIT */
/* The tree: names, replacement, subtree removal, and paths that try to leave the image. */
#include <stdio.h>
#include <string.h>

#include "disk/inode.h"
#include "tree/tree.h"
#include "unit.h"

static struct xw_diag diag;
static struct xw_tree tree;
static unsigned dropped;

static int count_dropped(void *arg, struct xw_binode *n)
{
	(void)arg;
	ck_assert(n->flags & XW_BN_DEAD);
	dropped++;
	return 0;
}

static void setup(void)
{
	memset(&diag, 0, sizeof(diag));
	dropped = 0;
	ck_assert_int_eq(xw_tree_init(&tree, 1000, &diag), 0);
	tree.dropped = count_dropped;
}

static void teardown(void)
{
	xw_tree_free(&tree);
}

static struct xw_binode *put(const char *path, uint32_t mode, const char *target)
{
	struct xw_path_at at;
	struct xw_blink *old;
	struct xw_binode *n;

	ck_assert_int_eq(xw_tree_walk(&tree, tree.root, path, strlen(path), XW_WALK_OWN, &at), 0);
	ck_assert_uint_gt(at.len, 0);
	old = xw_tree_find(&tree, at.dir, at.name, at.len);
	if (old)
		ck_assert_int_eq(xw_tree_unlink(&tree, old), 0);
	n = xw_tree_node(&tree, mode);
	if (target) {
		n->bytes = target;
		n->size = strlen(target);
	}
	ck_assert_int_eq(xw_tree_link(&tree, at.dir, at.name, at.len, n), 0);
	return n;
}

static struct xw_binode *get(const char *path)
{
	struct xw_binode *n = NULL;

	return xw_tree_lookup(&tree, tree.root, path, strlen(path), &n) ? NULL : n;
}

static struct xw_binode *must(const char *path)
{
	struct xw_binode *n = get(path);

	if (!n)
		ck_abort_msg("%s is not there", path);
	return n;
}

START_TEST(parents_are_made)
{
	struct xw_binode *f = put("a/b/c", XW_S_IFREG | 0644, NULL);

	ck_assert_ptr_eq(get("/a//b/./c"), f);
	ck_assert_ptr_eq(get("a/b/../b/c"), f);
	ck_assert_uint_eq(must("a")->mode, XW_S_IFDIR | 0755);
	ck_assert_int_eq(must("a")->mtime, 1000);
	ck_assert_uint_eq(tree.root->dir->subdirs, 1);
	ck_assert_uint_eq(must("a/b")->dir->entries, 1);
}
END_TEST

/* path given, and where the file must really be */
static const struct {
	const char *path, *real;
} escapes[] = {
	{"../../etc/passwd", "etc/passwd"},
	{"/etc/shadow", "etc/shadow"},
	{"x/../../../y", "y"},
	{"up/evil", "evil"},
	{"abs/f", "target/f"},
	{"rel/f", "dir/inner/f"},
	{"dir/back/f", "dir/f"},
	{"dir/out/f", "f"},
};

START_TEST(paths_stay_inside)
{
	struct xw_binode *f;

	put("dir/inner/keep", XW_S_IFREG, NULL);
	put("up", XW_S_IFLNK, "../../../..");
	put("abs", XW_S_IFLNK, "/target");
	put("rel", XW_S_IFLNK, "dir/inner");
	put("dir/back", XW_S_IFLNK, "inner/..");
	put("dir/out", XW_S_IFLNK, "../../..");
	f = put(escapes[_i].path, XW_S_IFREG | 0600, NULL);
	ck_assert_ptr_eq(get(escapes[_i].real), f);
}
END_TEST

/* The same where the walk begins in a directory that is not the root: that is / for it. */
START_TEST(paths_stay_below_their_beginning)
{
	struct xw_binode *f, *found = NULL;
	struct xw_path_at at;

	put("jail/dir/inner/keep", XW_S_IFREG, NULL);
	put("jail/up", XW_S_IFLNK, "../../../..");
	put("jail/abs", XW_S_IFLNK, "/target");
	put("jail/rel", XW_S_IFLNK, "dir/inner");
	put("jail/dir/back", XW_S_IFLNK, "inner/..");
	put("jail/dir/out", XW_S_IFLNK, "../../..");
	ck_assert_int_eq(xw_tree_walk(&tree, must("jail"), escapes[_i].path,
				      strlen(escapes[_i].path), XW_WALK_OWN, &at),
			 0);
	f = xw_tree_node(&tree, XW_S_IFREG);
	ck_assert_int_eq(xw_tree_link(&tree, at.dir, at.name, at.len, f), 0);
	ck_assert_int_eq(xw_tree_lookup(&tree, must("jail"), escapes[_i].real,
					strlen(escapes[_i].real), &found),
			 0);
	ck_assert_ptr_eq(found, f);
	ck_assert_uint_eq(tree.root->dir->entries, 1);
}
END_TEST

/* A look into a directory does not say that the layer has it; a later entry below it does. */
START_TEST(only_entries_mark_the_way)
{
	static const enum xw_path_walk looks[] = {XW_WALK_FIND, XW_WALK_ADD};
	struct xw_path_at at;
	struct xw_blink *d;

	tree.layer = 1;
	put("d/x", XW_S_IFREG, NULL);
	d = xw_tree_find(&tree, tree.root, "d", 1);
	tree.layer = 2;
	tree.last_parent = NULL;
	ck_assert_int_eq(xw_tree_walk(&tree, tree.root, "d/n", 3, looks[_i], &at), 0);
	ck_assert_uint_eq(d->layer, 1);
	put("d/y", XW_S_IFREG, NULL);
	ck_assert_uint_eq(d->layer, 2);
	/* Files are not in the way of what only looks or hides. */
	ck_assert_int_eq(xw_tree_walk(&tree, tree.root, "d/x/n", 5, looks[_i], &at),
			 XW_ERR_NOTFOUND);
	ck_assert_int_eq(xw_tree_walk(&tree, tree.root, "e/n", 3, looks[_i], &at),
			 looks[_i] == XW_WALK_FIND ? XW_ERR_NOTFOUND : 0);
	if (looks[_i] == XW_WALK_ADD)
		ck_assert_uint_eq(xw_tree_find(&tree, tree.root, "e", 1)->layer, 0);
}
END_TEST

/*
 * A walk may start at the directory of the previous one, or above it. The node that it finds is
 * that of a walk from the root, whatever the previous path was.
 */
START_TEST(walks_start_nearby)
{
	static const char *const paths[] = {
		"a/b/c/d/f",  "a/b/c/d/e/f", "a/b/c/f",  "a/b/cc/f", "a/b/c/d/e/g",
		"a/f",        "f",           "/a/b/c/f", "//a/b/f",  "a//b/c//f",
		"a/./b/f",    "a/b/../f",    "to/b/c/f", "to/b/f",   "a/b/c/to/c/f",
		"a/b/c/to/f", "a/b/c/d/h",   "..//f",    "a/b/f/",   "aa/b/f",
	};
	struct xw_binode *want[XW_ARRAY_SIZE(paths)];

	put("a/b/c/d/e/x", XW_S_IFREG, NULL);
	put("a/b/cc/x", XW_S_IFREG, NULL);
	put("aa/b/x", XW_S_IFREG, NULL);
	put("to", XW_S_IFLNK, "a");
	put("a/b/c/to", XW_S_IFLNK, "/a/b");
	for (size_t i = 0; i < XW_ARRAY_SIZE(paths); i++) {
		struct xw_path_at at;

		tree.last_parent = NULL;
		ck_assert_int_eq(xw_tree_walk(&tree, tree.root, paths[i], strlen(paths[i]),
					      XW_WALK_OWN, &at),
				 0);
		want[i] = at.dir;
	}
	for (size_t i = 0; i < XW_ARRAY_SIZE(paths); i++) {
		for (size_t k = 0; k < XW_ARRAY_SIZE(paths); k++) {
			struct xw_path_at at;

			tree.last_parent = NULL;
			ck_assert_int_eq(xw_tree_walk(&tree, tree.root, paths[i], strlen(paths[i]),
						      XW_WALK_OWN, &at),
					 0);
			ck_assert_int_eq(xw_tree_walk(&tree, tree.root, paths[k], strlen(paths[k]),
						      XW_WALK_OWN, &at),
					 0);
			ck_assert_msg(at.dir == want[k], "%s after %s", paths[k], paths[i]);
		}
	}
}
END_TEST

START_TEST(nobody_names_the_dots)
{
	struct xw_binode *n = xw_tree_node(&tree, XW_S_IFCHR);

	ck_assert_int_eq(xw_tree_link(&tree, tree.root, ".", 1, n), XW_ERR_INPUT);
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_tree_link(&tree, tree.root, "..", 2, n), XW_ERR_INPUT);
	ck_assert_int_eq(xw_tree_link(&tree, tree.root, "...", 3, n), 0);
	ck_assert_uint_eq(tree.root->dir->entries, 1);
}
END_TEST

START_TEST(symlink_loop_is_an_error)
{
	struct xw_path_at at;

	put("a", XW_S_IFLNK, "b");
	put("b", XW_S_IFLNK, "a");
	ck_assert_int_eq(xw_tree_walk(&tree, tree.root, "a/f", 3, XW_WALK_OWN, &at), XW_ERR_INPUT);
	ck_assert_ptr_nonnull(strstr(diag.text, "symlinks"));
}
END_TEST

START_TEST(bad_names)
{
	struct xw_path_at at;
	char name[300];

	memset(name, 'n', sizeof(name));
	ck_assert_int_eq(xw_tree_walk(&tree, tree.root, name, 255, XW_WALK_OWN, &at), 0);
	ck_assert_int_eq(xw_tree_walk(&tree, tree.root, name, 256, XW_WALK_OWN, &at), XW_ERR_INPUT);
	xw_diag_clear(&diag);
	name[100] = '/';
	ck_assert_int_eq(xw_tree_walk(&tree, tree.root, name, 300, XW_WALK_OWN, &at), 0);
	name[50] = 0;
	ck_assert_int_eq(xw_tree_walk(&tree, tree.root, name, 300, XW_WALK_OWN, &at), XW_ERR_INPUT);
}
END_TEST

START_TEST(subtree_removal_drops_everything_once)
{
	struct xw_blink *top;
	struct xw_binode *linked = put("out", XW_S_IFREG, NULL), *d;
	struct xw_path_at at;

	put("d/e/f", XW_S_IFREG, NULL);
	put("d/g", XW_S_IFREG, NULL);
	put("d/e/h/i", XW_S_IFREG, NULL);
	d = get("d");
	ck_assert_int_eq(xw_tree_link(&tree, d, "hard", 4, linked), 0);
	top = xw_tree_find(&tree, tree.root, "d", 1);
	ck_assert_int_eq(xw_tree_unlink(&tree, top), 0);
	ck_assert_uint_eq(dropped, 6); /* d, e, f, g, h, i: not the file that has another name */
	ck_assert_ptr_null(get("d"));
	ck_assert_ptr_eq(get("out"), linked);
	ck_assert_uint_eq(linked->links, 1);
	ck_assert_uint_eq(tree.root->dir->subdirs, 0);
	/* the remembered parent must not bring the dead directory back */
	ck_assert_int_eq(xw_tree_walk(&tree, tree.root, "d/g", 3, XW_WALK_OWN, &at), 0);
	ck_assert_ptr_ne(at.dir, d);
}
END_TEST

START_TEST(file_in_the_way_becomes_a_directory)
{
	put("p", XW_S_IFREG, NULL);
	put("p/q", XW_S_IFREG, NULL);
	ck_assert_uint_eq(dropped, 1);
	ck_assert(xw_binode_is(must("p"), XW_S_IFDIR));
}
END_TEST

START_TEST(many_names_and_revival)
{
	char name[32];

	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "d%d/f%d", i % 7, i);
		put(name, XW_S_IFREG, NULL);
	}
	for (int i = 0; i < 20000; i += 3) {
		snprintf(name, sizeof(name), "d%d/f%d", i % 7, i);
		put(name, XW_S_IFREG | 0600, NULL);
	}
	ck_assert_uint_eq(dropped, 6667);
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "d%d/f%d", i % 7, i);
		ck_assert_uint_eq(must(name)->mode, i % 3 ? XW_S_IFREG : XW_S_IFREG | 0600);
	}
	ck_assert_uint_eq(must("d0")->dir->entries, 2858);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tree");
	TCase *t = tcase_create("tree");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, parents_are_made);
	unit_add_rows(t, paths_stay_inside, escapes, path);
	unit_add_rows(t, paths_stay_below_their_beginning, escapes, path);
	tcase_add_loop_test(t, only_entries_mark_the_way, 0, 2);
	tcase_add_test(t, walks_start_nearby);
	tcase_add_test(t, nobody_names_the_dots);
	tcase_add_test(t, symlink_loop_is_an_error);
	tcase_add_test(t, bad_names);
	tcase_add_test(t, subtree_removal_drops_everything_once);
	tcase_add_test(t, file_in_the_way_becomes_a_directory);
	tcase_add_test(t, many_names_and_revival);
	suite_add_tcase(s, t);
	return unit_main(s);
}
