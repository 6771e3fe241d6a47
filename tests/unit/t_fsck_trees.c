// SPDX-License-Identifier: MIT
/* Extent trees that xw-fsck rewrites when it is known whose every block is: runs in, a tree out. */
#include "config.h"

#include "fsck_bytes.h"
#include "phases/inodes.h"

enum { MAX = 84 /* entries of a node */, OLD = 400, RUNS = 2000 };

static void start(void)
{
	const struct xw_inode in = {.mode = XW_S_IFREG | 0644,
				    .links = 1,
				    .flags = XW_FL_EXTENTS,
				    .generation = 9,
				    .extra_isize = 32};

	open_bytes();
	ok(fsck_claim_metadata(&f));
	put_inode(INO, &in);
}

/* One block each, every other logical one; the third of them unwritten. */
static struct xw_map_run run_at(size_t i)
{
	return (struct xw_map_run){10 + 2 * i, 1, RUNS + 2 * i, i % 3 == 2};
}

static void want_tree(size_t n, size_t n_nodes)
{
	struct fsck_rebuild r = {.ino = INO, .n = n, .n_nodes = n_nodes};

	r.runs = calloc(n, sizeof(*r.runs));
	r.nodes = calloc(n_nodes + 1, sizeof(*r.nodes));
	for (size_t i = 0; i < n; i++) {
		r.runs[i] = run_at(i);
		ok(fsck_claim(&f, FSCK_O_DATA, r.runs[i].pblk, 1, NULL));
	}
	for (size_t i = 0; i < n_nodes; i++)
		r.nodes[i] = OLD + 2 * i;
	ck_assert(!xw_vec_push(&f.facts.rebuilds, r));
}

/* The tree without a finding; its nodes, in disk order, to nodes[]. */
static size_t read_tree(size_t n, unsigned depth, xw_blk *nodes)
{
	struct xw_walk_map walk;
	struct xw_walk_map_item item;
	struct xw_inode in;
	size_t runs = 0, count = 0;
	int more;

	ok(fsck_inode_read(&f, INO, &in, NULL));
	xw_walk_map_init(&walk, f.ses.dev, &f.ses.img->sb);
	walk.full_room = true;
	ck_assert(!xw_walk_map_begin(&walk, INO, &in, -1));
	while ((more = xw_walk_map_next(&walk, &item)) > 0) {
		const struct xw_map_run want = run_at(runs);

		ck_assert_int_eq(more, 1);
		if (item.kind == XW_WALK_NODE) {
			nodes[count++] = item.pblk;
			continue;
		}
		ck_assert(item.lblk == want.lblk && item.len == want.len &&
			  item.pblk == want.pblk && item.unwritten == want.unwritten);
		runs++;
	}
	ck_assert_uint_eq(runs, n);
	ck_assert_uint_eq(walk.depth, depth);
	xw_walk_map_free(&walk);
	return count;
}

static const struct {
	size_t runs, nodes;
	unsigned depth;
} sizes[] = {
	{0, 0, 0},       {1, 0, 0},       {4, 0, 0},           {5, 1, 1},       {MAX, 1, 1},
	{MAX + 1, 2, 1}, {4 * MAX, 4, 1}, {4 * MAX + 1, 6, 2}, {5 * MAX, 6, 2}, {900, 12, 2},
};

START_TEST(rewritten)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(sizes); i++) {
		xw_blk nodes[20];
		unsigned depth = 9;
		size_t n;

		start();
		ck_assert_uint_eq(fsck_map_nodes(&f, sizes[i].runs, &depth), sizes[i].nodes);
		ck_assert_uint_eq(depth, sizes[i].depth);
		if (sizes[i].depth) {
			want_tree(sizes[i].runs, 0);
			ok(fsck_finish_claims(&f));
			ck_assert(f.round.changed && f.facts.owners.complete);
			n = read_tree(sizes[i].runs, depth, nodes);
			ck_assert_uint_eq(n, sizes[i].nodes);
			for (size_t k = 0; k < n; k++) /* near the contents */
				ck_assert(nodes[k] > RUNS &&
					  fsck_owns(&f, FSCK_O_MAP, nodes[k], 1));
		}
		close_bytes();
	}
}
END_TEST

/* Old map blocks that belong to nobody else are used again. */
START_TEST(old_nodes)
{
	xw_blk nodes[20];

	start();
	want_tree(3 * MAX, 4);
	ok(fsck_claim(&f, FSCK_O_MAP, OLD, 1, NULL));
	ok(fsck_claim(&f, FSCK_O_MAP, OLD + 2, 1, NULL));
	ok(fsck_claim(&f, FSCK_O_DATA, OLD + 2, 1, NULL)); /* a file has it, too */
	ok(fsck_claim(&f, FSCK_O_MAP, OLD + 6, 1, NULL));
	ok(fsck_finish_claims(&f));
	ck_assert_uint_eq(read_tree(3 * MAX, 1, nodes), 3);
	ck_assert_uint_eq(nodes[0], OLD);
	ck_assert_uint_eq(nodes[1], OLD + 6);
	ck_assert_uint_gt(nodes[2], RUNS);
	close_bytes();
}
END_TEST

/* More old blocks than are needed. */
START_TEST(too_many_old_nodes)
{
	xw_blk nodes[20];

	start();
	want_tree(MAX, 3);
	for (int i = 0; i < 3; i++)
		ok(fsck_claim(&f, FSCK_O_MAP, OLD + 2 * i, 1, NULL));
	ok(fsck_finish_claims(&f));
	ck_assert_uint_eq(read_tree(MAX, 1, nodes), 1);
	ck_assert_uint_eq(nodes[0], OLD);
	close_bytes();
}
END_TEST

/* Without space nothing is written, and nothing is taken. */
START_TEST(no_space)
{
	struct xw_inode in;

	start();
	want_tree(3 * MAX, 1);
	ok(fsck_claim(&f, FSCK_O_MAP, OLD, 1, NULL));
	for (xw_blk b = 1; b < BLOCKS; b++)
		if (b != 9000 && !fsck_is_claimed(&f, b))
			ok(fsck_claim(&f, FSCK_O_DATA, b, 1, NULL));
	ok(fsck_finish_claims(&f));
	ok(fsck_inode_read(&f, INO, &in, NULL));
	ck_assert_uint_eq(peek32(in.block), 0);
	ck_assert(!f.round.changed && !fsck_is_claimed(&f, 9000));
	ck_assert(fsck_owns(&f, FSCK_O_MAP, OLD, 1));
	close_bytes();
}
END_TEST

/* It was cleared for another reason. */
START_TEST(no_inode)
{
	start();
	put_inode(INO, &(struct xw_inode){.extra_isize = 32});
	want_tree(MAX, 0);
	ok(fsck_finish_claims(&f));
	ck_assert(!f.round.changed);
	close_bytes();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_trees");
	TCase *t = tcase_create("fsck_trees");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, rewritten);
	tcase_add_test(t, old_nodes);
	tcase_add_test(t, too_many_old_nodes);
	tcase_add_test(t, no_space);
	tcase_add_test(t, no_inode);
	suite_add_tcase(s, t);
	return unit_main(s);
}
