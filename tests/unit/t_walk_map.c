// SPDX-License-Identifier: MIT
/* lib/walk/map: maps in order give what lib/read gives, damaged ones findings and the rest. */
#include "unit.h"

#include "read/map.h"
#include "walk/map.h"

#include "read_fix.h"

struct seen {
	struct xw_map_run run[1024];
	unsigned runs, nodes, findings;
	enum xw_walk_map_rule rule; /* of the first finding */
};

static void walk(struct fixture *fx, xw_ino ino, int depth, struct seen *s)
{
	struct xw_walk_map w;
	struct xw_walk_map_item item;
	struct xw_inode in;
	int more;

	*s = (struct seen){0};
	xw_image_inode(fx->img, ino, &in, NULL);
	xw_walk_map_init(&w, fx->img->dev, &fx->img->sb);
	ck_assert_int_eq(xw_walk_map_begin(&w, ino, &in, depth), 0);
	while ((more = xw_walk_map_next(&w, &item)) != 0) {
		ck_assert_int_gt(more, 0);
		ck_assert_uint_lt(s->runs, XW_ARRAY_SIZE(s->run));
		if (more == 2 && !s->findings++)
			s->rule = item.rule;
		else if (more == 1 && item.kind == XW_WALK_NODE)
			s->nodes++;
		else if (more == 1)
			s->run[s->runs++] =
				(struct xw_map_run){item.lblk, item.len, item.pblk, item.unwritten};
	}
	ck_assert_int_eq(xw_walk_map_next(&w, &item), 0);
	xw_walk_map_free(&w);
}

static void as_strict(struct fixture *fx, xw_ino ino)
{
	struct xw_map_iter it;
	struct xw_map_run run;
	struct xw_inode in;
	struct seen s;
	unsigned n = 0;

	walk(fx, ino, -1, &s);
	ck_assert_uint_eq(s.findings, 0);
	ck_assert_int_eq(xw_image_inode(fx->img, ino, &in, NULL), 0);
	ck_assert_int_eq(xw_map_begin(fx->img, ino, &in, 0, &it), 0);
	for (; xw_map_next(&it, &run) == 1; n++) {
		ck_assert_uint_lt(n, s.runs);
		ck_assert_uint_eq(run.lblk, s.run[n].lblk);
		ck_assert_uint_eq(run.len, s.run[n].len);
		ck_assert_uint_eq(run.pblk, s.run[n].pblk);
		ck_assert_int_eq(run.unwritten, s.run[n].unwritten);
	}
	ck_assert_uint_eq(n, s.runs);
	xw_map_end(&it);
}

START_TEST(sound)
{
	static const xw_ino inos[] = {2, 30, 20, 40, 41, 42};
	struct fixture fx;
	struct seen s;

	make_rich_image(&fx, _i);
	open_it(&fx, 0);
	for (size_t i = 0; i < XW_ARRAY_SIZE(inos); i++)
		as_strict(&fx, inos[i]);
	walk(&fx, 40, -1, &s);
	ck_assert_uint_eq(s.runs, 256);
	ck_assert_uint_eq(s.nodes, 4 + 16 + 64);
	walk(&fx, 42, -1, &s);
	ck_assert_uint_eq(s.nodes, 1 + 2 + 3);
	drop(&fx);
}
END_TEST

/* What is poked into inode 40 (depth 3, 4 entries a node) or below it, and what is left. */
static const struct damage {
	const char *what;
	int level; /* of the node: the first child's first child ... */
	unsigned off, value, bytes;
	enum xw_walk_map_rule rule;
	unsigned runs;
} damages[] = {
	{"root magic", 0, 0, 0, 2, XW_MAP_MAGIC, 256},
	{"root entries", 0, 2, 99, 2, XW_MAP_ENTRIES, 256},
	{"root max", 0, 4, 0, 2, XW_MAP_ENTRIES, 256},
	{"root child", 0, 12 + 4, 0x7FFFFFFF, 4, XW_MAP_NODE_RANGE, 192},
	{"root key", 0, 12 + 12, 3, 4, XW_MAP_END, 256},
	{"node magic", 1, 0, 0, 2, XW_MAP_MAGIC, 256},
	{"node depth", 2, 6, 5, 2, XW_MAP_DEPTH, 256},
	{"node entries", 2, 2, 0, 2, XW_MAP_ENTRIES, 256},
	{"leaf child", 3, 12 + 8, 0, 4, XW_MAP_CSUM, 255},
	{"leaf length", 3, 12 + 12 + 4, 0, 2, XW_MAP_CSUM, 255},
	{"leaf order", 3, 12 + 12, 0, 4, XW_MAP_CSUM, 255},
	{"leaf unwritten", 3, 12 + 12 + 4, 0x8001, 2, XW_MAP_CSUM, 256},
};

START_TEST(damaged)
{
	const struct damage *d = &damages[_i];
	uint8_t node[BS];
	uint8_t *p = node;
	struct fixture fx;
	struct xw_inode in;
	struct seen s;
	xw_blk blk = 0;

	make_rich_image(&fx, true);
	open_it(&fx, XW_IMAGE_NOCSUM);
	ck_assert_int_eq(xw_image_inode(fx.img, 40, &in, NULL), 0);
	p = in.block;
	for (int level = 0; level < d->level; level++) {
		struct xw_extent_idx x;

		xw_extent_idx_decode(p, 0, &x);
		blk = x.pblk;
		p = node;
		ck_assert_int_eq(xw_dev_pread(fx.dev, node, BS, blk * BS), 0);
	}
	if (d->bytes == 2)
		poke16(p + d->off, (uint16_t)d->value);
	else
		poke32(p + d->off, d->value);
	if (blk)
		put_block(&fx, blk, node);
	else
		put_inode(&fx, 40, &in, NULL, 0);
	xw_image_drop_cache(fx.img);
	walk(&fx, 40, -1, &s);
	ck_assert_msg(s.rule == d->rule, "%s: rule %d", d->what, s.rule);
	ck_assert_msg(s.runs == d->runs, "%s: %u runs", d->what, s.runs);
	drop(&fx);
}
END_TEST

START_TEST(pointers)
{
	struct fixture fx;
	struct xw_inode in = {.mode = XW_S_IFREG, .size = 100u * BS};
	struct seen s;

	make_image(&fx, true);
	for (unsigned i = 0; i < 20; i++)
		map_block(&fx, &in, i, 500 + i);
	map_block(&fx, &in, 3, 0xFFFFFF);
	map_block(&fx, &in, 15, 0xFFFFFE);
	map_block(&fx, &in, 80000, 700);
	put_inode(&fx, 12, &in, NULL, 0);
	open_it(&fx, 0);
	walk(&fx, 12, -1, &s);
	ck_assert_uint_eq(s.findings, 2);
	ck_assert_int_eq(s.rule, XW_MAP_RANGE);
	ck_assert_uint_eq(s.runs, 5); /* 0-2, 4-11, 12-14, 16-19, 80000: the inode's end apart */
	drop(&fx);
}
END_TEST

/* Extents whose logical blocks contradict their neighbors, in an inode and in a node below it. */
static const struct place {
	uint16_t mode;
	uint32_t flags;
	unsigned blocks; /* i_size */
	struct xw_extent e[4]; /* those of one node; len 0: no more */
	unsigned in_index; /* logical block in the index entry above, with `deep` */
	bool deep;
	uint32_t lblk[4]; /* where the walk yields them */
	unsigned runs, moved;
} places[] = {
#define DIR XW_S_IFDIR | 0755
#define REG XW_S_IFREG | 0644
	/* a directory: first, middle, last, the only one, two of them */
	{DIR, 0, 11, {{0x2000000, 9, 50, 0}, {9, 2, 70, 0}}, 0, 0, {0, 9}, 2, 1},
	{DIR, 0, 12, {{0, 3, 50, 0}, {0x2000000, 4, 60, 0}, {7, 5, 70, 0}}, 0, 0, {0, 3, 7}, 3, 1},
	{DIR, 0, 12, {{0, 3, 50, 0}, {1, 4, 60, 0}, {7, 5, 70, 0}}, 0, 0, {0, 3, 7}, 3, 1},
	{DIR, 0, 11, {{0, 9, 50, 0}, {0x2000000, 2, 70, 0}}, 0, 0, {0, 9}, 2, 1},
	{DIR, 0, 11, {{0, 9, 50, 0}, {3, 2, 70, 0}}, 0, 0, {0, 9}, 2, 1},
	{DIR, 0, 4, {{7, 4, 50, 0}}, 0, 0, {0}, 1, 1},
	{DIR, 0, 14, {{900, 3, 50, 0}, {900, 4, 60, 0}, {9, 5, 70, 0}}, 0, 0, {0, 3, 9}, 3, 2},
	{DIR, 0, 11, {{0, 9, 50, 0}, {9, 2, 70, 0}}, 0, 0, {0, 9}, 2, 0},
	/* the second one is wrong, although there is room for the first one before it */
	{DIR, 0, 10, {{1, 3, 50, 0}, {3, 6, 60, 0}}, 0, 0, {1, 4}, 2, 1},
	/* regular file: an extent moves only to a gap of its length or to a place one bit away */
	{REG, 0, 11, {{0x2000000, 9, 50, 0}, {9, 2, 70, 0}}, 0, 0, {0, 9}, 2, 1},
	{REG, 0, 11, {{0x2000000, 8, 50, 0}, {9, 2, 70, 0}}, 0, 0, {0, 9}, 2, 1},
	{REG, 0, 11, {{0x2000100, 8, 50, 0}, {9, 2, 70, 0}}, 0, 0, {9}, 1, 0},
	{REG, 0, 12, {{0, 3, 50, 0}, {1, 4, 60, 0}, {7, 5, 70, 0}}, 0, 0, {0, 3, 7}, 3, 1},
	{REG, 0, 12, {{0, 3, 50, 0}, {1, 3, 60, 0}, {7, 5, 70, 0}}, 0, 0, {0, 3, 7}, 3, 1},
	{REG, 0, 12, {{0, 3, 50, 0}, {1, 2, 60, 0}, {7, 5, 70, 0}}, 0, 0, {0, 5, 7}, 3, 1},
	{REG, 0, 12, {{0, 3, 50, 0}, {0, 2, 60, 0}, {7, 5, 70, 0}}, 0, 0, {0, 4, 7}, 3, 1},
	{REG, 0, 15, {{0, 3, 50, 0}, {1, 1, 60, 0}, {10, 5, 70, 0}}, 0, 0, {0, 9, 10}, 3, 1},
	{REG, 0, 16, {{0, 3, 50, 0}, {1, 1, 60, 0}, {11, 5, 70, 0}}, 0, 0, {0, 11}, 2, 0},
	/* either of two could be moved: the later one is, which lacks the room */
	{REG, 0, 40, {{10, 10, 50, 0}, {14, 2, 60, 0}, {35, 5, 70, 0}}, 0, 0, {10, 30, 35}, 3, 1},
	{REG, 0, 11, {{0, 9, 50, 0}, {0x2000000, 2, 70, 0}}, 0, 0, {0, 9}, 2, 1},
	{REG, 0, 11, {{0, 9, 50, 0}, {0x2000000, 2, 70, 1}}, 0, 0, {0, 0x2000000}, 2, 0},
	{REG, XW_FL_VERITY, 11, {{0, 9, 50, 0}, {64, 2, 70, 0}}, 0, 0, {0, 64}, 2, 0},
	{REG, 0, 12, {{0, 9, 50, 0}, {0x2000000, 2, 70, 0}}, 0, 0, {0, 10}, 2, 1},
	/* the last one: one bit away, up to the size if possible; or enormous */
	{REG, 0, 40, {{0, 9, 50, 0}, {0x10 + 1024, 2, 70, 0}}, 0, 0, {0, 0x10}, 2, 1},
	{REG, 0, 40, {{0, 9, 50, 0}, {38 + 0x4000000, 2, 70, 0}}, 0, 0, {0, 38}, 2, 1},
	{REG, 0, 40, {{0, 9, 50, 0}, {0x410 + 2048, 2, 70, 0}}, 0, 0, {0, 0x410 + 2048}, 2, 0},
	{REG, 0, 40, {{0, 9, 50, 0}, {0xFFFFFFFF, 2, 70, 0}}, 0, 0, {0, 38}, 2, 1},
	{REG, 0, 10, {{0, 9, 50, 0}, {0x2000000, 2, 70, 0}}, 0, 0, {0, 0x2000000}, 2, 0},
	{REG, 0, 40, {{0, 9, 50, 0}, {79, 2, 70, 0}}, 0, 0, {0, 79}, 2, 0}, /* too near */
	{REG, 0, 40, {{0, 9, 50, 0}, {0x2000000, 2, 70, 1}}, 0, 0, {0, 0x2000000}, 2, 0},
	/* ... unless the size is one bit away from its end, or contains it */
	{REG, 0, 40, {{0, 9, 50, 0}, {38 + 1024, 2, 70, 0}}, 0, 0, {0, 38 + 1024}, 2, 0},
	{REG, 0, 20, {{0, 9, 50, 0}, {0x402, 18, 70, 0}}, 0, 0, {0, 0x402}, 2, 0},
	{REG, 0, 0x2000002, {{0, 9, 50, 0}, {0x2000000, 2, 70, 0}}, 0, 0, {0, 0x2000000}, 2, 0},
	/* before others that are within the size, it is the wrong one */
	{REG, 0, 40, {{0x204, 3, 50, 0}, {9, 5, 70, 0}}, 0, 0, {4, 9}, 2, 1},
	{REG, 0, 40, {{0x990, 3, 50, 0}, {9, 5, 70, 0}}, 0, 0, {9}, 1, 0},
	{REG, 0, 40, {{0x990, 3, 50, 1}, {9, 5, 70, 0}}, 0, 0, {0x990}, 1, 0},
	/* ... nor does a wrong length count against the next one, which ends with the contents */
	{REG, 0, 11, {{0, 900, 50, 0}, {9, 2, 70, 0}}, 0, 0, {0, 9}, 2, 0},
	{REG, 0, 4, {{5, 4, 50, 0}}, 0, 0, {0}, 1, 1},
	{REG, 0, 4, {{3, 4, 50, 0}}, 0, 0, {3}, 1, 0},
	/* the parent says where the first one of its node belongs */
	{REG, 0, 20, {{900, 3, 50, 0}, {9, 5, 70, 0}}, 4, 1, {4, 9}, 2, 1},
	{REG, 0, 20, {{900, 6, 50, 0}, {9, 5, 70, 0}}, 4, 1, {9}, 1, 0},
	{DIR, 0, 12, {{0x2000000, 3, 50, 0}, {3, 9, 70, 0}}, 0, 1, {0, 3}, 2, 1},
};

static void put_extents(struct xw_inode *in, struct fixture *fx, const struct place *p)
{
	struct xw_extent_hdr h = {.max = XW_EXT_INODE_ENTRIES};
	uint8_t block[BS] = {0};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(p->e) && p->e[i].len; i++, h.entries++)
		xw_extent_leaf_encode(p->deep ? block : in->block, i, &p->e[i]);
	if (p->deep) {
		h.max = (uint16_t)xw_extent_node_max(BS);
		xw_extent_hdr_encode(block, &h);
		put_block(fx, 200, block);
		h = (struct xw_extent_hdr){.entries = 1, .max = XW_EXT_INODE_ENTRIES, .depth = 1};
		xw_extent_idx_encode(in->block, 0, &(struct xw_extent_idx){p->in_index, 200});
	}
	xw_extent_hdr_encode(in->block, &h);
}

START_TEST(place)
{
	const struct place *p = &places[_i];
	struct xw_inode in = {.mode = p->mode,
			      .flags = XW_FL_EXTENTS | p->flags,
			      .size = (uint64_t)p->blocks * BS};
	struct xw_walk_map_item item;
	struct xw_walk_map w;
	struct fixture fx;
	unsigned runs = 0, moved = 0;
	int more;

	make_image(&fx, true);
	put_extents(&in, &fx, p);
	put_inode(&fx, 12, &in, NULL, 0);
	open_it(&fx, 0);
	xw_walk_map_init(&w, fx.img->dev, &fx.img->sb);
	w.outvote = true;
	ck_assert_int_eq(xw_walk_map_begin(&w, 12, &in, -1), 0);
	while ((more = xw_walk_map_next(&w, &item)) > 0)
		if (more == 1 && item.kind == XW_WALK_RUN) {
			ck_assert_uint_lt(runs, p->runs);
			ck_assert_uint_eq(item.lblk, p->lblk[runs]);
			runs++;
		} else if (more == 2 && item.rule == XW_MAP_PLACE) {
			ck_assert_uint_eq(item.num, p->lblk[runs - 1]);
			ck_assert_uint_ne(item.lblk, item.num);
			moved++;
		}
	ck_assert_int_eq(more, 0);
	ck_assert_uint_eq(runs, p->runs);
	ck_assert_uint_eq(moved, p->moved);
	xw_walk_map_free(&w);
	drop(&fx);
}
END_TEST

/* A block map that leads to itself ends with the budget. */
START_TEST(itself)
{
	struct fixture fx;
	struct xw_inode in = {.mode = XW_S_IFREG, .size = 100u * BS};
	uint8_t block[BS];
	struct xw_walk_map w;
	struct xw_walk_map_item item = {0};
	unsigned n = 0;

	make_image(&fx, true);
	for (unsigned i = 0; i < BS; i += 4)
		poke32(block + i, 200);
	put_block(&fx, 200, block);
	poke32(in.block + 4 * XW_TIND_SLOT, 200);
	put_inode(&fx, 12, &in, NULL, 0);
	open_it(&fx, 0);
	xw_walk_map_init(&w, fx.img->dev, &fx.img->sb);
	ck_assert_int_eq(xw_walk_map_begin(&w, 12, &in, -1), 0);
	while (xw_walk_map_next(&w, &item))
		n++;
	ck_assert_uint_le(n, BLOCKS + 1);
	ck_assert_int_eq(item.rule, XW_MAP_BUDGET);
	xw_walk_map_free(&w);
	drop(&fx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("walk_map");
	TCase *t = tcase_create("walk_map");

	unit_add_cases(t, sound, "no checksums", "checksums");
	unit_add_rows(t, damaged, damages, what);
	tcase_add_test(t, pointers);
	unit_add_table(t, place, places);
	tcase_add_test(t, itself);
	suite_add_tcase(s, t);
	return unit_main(s);
}
