// SPDX-License-Identifier: MIT
/* lib/walk/map: items of block maps, see map_items.h, and trees that are too deep. */
#include "config.h"

#include "map_items.h"

/*
 * Block maps: block 0 is the inode's 15 pointers. With blocks of 1 KiB a pointer block has 256, so
 * the single indirect block begins at 12, the double one at 268, the triple one at 65804.
 */
static const struct block_map {
	const char *what;
	struct how how;
	uint32_t pointers[8][4]; /* block, index, first value, how many consecutive ones */
	const char *want;
	uint64_t blocks;
} block_maps[] = {
	{"nothing", {0}, {{0, 0, 0, 0}}, ""},
	{"direct",
	 {0},
	 {{0, 0, 100, 3}, {0, 3, 200, 1}, {0, 5, 202, 2}, {0, 11, 210, 1}},
	 "0+3@100 3+1@200:0.3.0 5+2@202:0.5.0 11+1@210:0.11.0"},
	{"direct, and the next slot continues",
	 {0},
	 {{0, 10, 100, 2}, {0, 12, 102, 1}, {102, 0, 103, 2}},
	 "10+2@100:0.10.0 [102 12+256 h1]:0.12.0 12+2@103:102.0.1"},
	{"single indirect",
	 {0},
	 {{0, 12, 50, 1}, {50, 0, 100, 2}, {50, 2, 103, 1}, {50, 255, 200, 1}},
	 "[50 12+256 h1]:0.12.0 12+2@100:50.0.1 14+1@103:50.2.1 267+1@200:50.255.1"},
	{"a full pointer block",
	 {0},
	 {{0, 12, 50, 1}, {50, 0, 100, 256}},
	 "[50 12+256 h1]:0.12.0 12+256@100:50.0.1"},
	{"double indirect",
	 {0},
	 {{0, 13, 50, 1}, {50, 0, 51, 1}, {50, 255, 52, 1}, {51, 0, 100, 1}, {52, 254, 200, 2}},
	 "[50 268+65536 h2]:0.13.0 [51 268+256 h1]:50.0.1 268+1@100:51.0.2 [52 65548+256 "
	 "h1]:50.255.1 65802+2@200:52.254.2"},
	{"triple indirect",
	 {0},
	 {{0, 14, 50, 1},
	  {50, 0, 51, 1},
	  {51, 0, 52, 1},
	  {52, 0, 100, 1},
	  {50, 255, 53, 1},
	  {53, 255, 54, 1},
	  {54, 255, 200, 1}},
	 "[50 65804+16777216 h3]:0.14.0 [51 65804+65536 h2]:50.0.1 [52 65804+256 h1]:51.0.2 "
	 "65804+1@100:52.0.3 [53 16777484+65536 h2]:50.255.1 [54 16842764+256 h1]:53.255.2 "
	 "16843019+1@200:54.255.3"},
	{"all",
	 {0},
	 {{0, 0, 100, 1},
	  {0, 12, 50, 1},
	  {50, 0, 200, 1},
	  {0, 13, 51, 2},
	  {51, 1, 53, 1},
	  {53, 0, 300, 1},
	  {52, 1, 54, 1}},
	 "0+1@100 [50 12+256 h1]:0.12.0 12+1@200:50.0.1 [51 268+65536 h2]:0.13.0 [53 524+256 "
	 "h1]:51.1.1 524+1@300:53.0.2 [52 65804+16777216 h3]:0.14.0 [54 131340+65536 h2]:52.1.1"},
	{"outside",
	 {0},
	 {{0, 0, 1998, 3}, {0, 4, 2001, 1}, {0, 12, 2000, 3}},
	 "0+2@1998 RANGE(2+1@2000 0/0):0.2.0 RANGE(4+1@2001 0/0):0.4.0 NODE(12+256@2000 "
	 "0/0):0.12.0 NODE(268+65536@2001 0/0):0.13.0 NODE(65804+16777216@2002 0/0):0.14.0"},
	{"outside in a pointer block",
	 {0},
	 {{0, 13, 50, 1}, {50, 0, 1999, 2}, {1999, 0, 1999, 2}},
	 "[50 268+65536 h2]:0.13.0 [1999 268+256 h1]:50.0.1 268+1@1999:1999.0.2 RANGE(269+1@2000 "
	 "0/0):1999.1.2 NODE(524+256@2000 0/0):50.1.1"},
	{"from a direct block",
	 {.from = 2},
	 {{0, 0, 100, 4}, {0, 12, 50, 1}, {50, 0, 200, 1}},
	 "2+2@102:0.2.0 [50 12+256 h1]:0.12.0 12+1@200:50.0.1"},
	{"from a single indirect block",
	 {.from = 14},
	 {{0, 0, 100, 4}, {0, 12, 50, 1}, {50, 0, 200, 5}},
	 "[50 12+256 h1]:0.12.0 14+3@202:50.2.1"},
	{"from the double indirect block",
	 {.from = 268},
	 {{0, 0, 100, 4}, {0, 12, 50, 2}, {50, 0, 200, 5}, {51, 0, 52, 1}, {52, 0, 300, 2}},
	 "[51 268+65536 h2]:0.13.0 [52 268+256 h1]:51.0.1 268+2@300:52.0.2"},
	{"from the last single one",
	 {.from = 267},
	 {{0, 12, 50, 2}, {50, 250, 200, 6}, {51, 0, 52, 1}, {52, 0, 300, 2}},
	 "[50 12+256 h1]:0.12.0 267+1@205:50.255.1 [51 268+65536 h2]:0.13.0 [52 268+256 h1]:51.0.1 "
	 "268+2@300:52.0.2"},
	{"from the middle of the double one",
	 {.from = 268 + 256 + 1},
	 {{0, 13, 50, 1}, {50, 0, 60, 3}, {60, 0, 200, 2}, {61, 0, 300, 3}, {62, 0, 400, 1}},
	 "[50 268+65536 h2]:0.13.0 [61 524+256 h1]:50.1.1 525+2@301:61.1.2 [62 780+256 h1]:50.2.1 "
	 "780+1@400:62.0.2"},
	{"from the triple one",
	 {.from = 65804 + 65536 + 256},
	 {{0, 13, 50, 2}, {51, 0, 60, 2}, {60, 0, 70, 1}, {61, 0, 70, 3}, {71, 3, 300, 3}},
	 "[51 65804+16777216 h3]:0.14.0 [61 131340+65536 h2]:51.1.1 [71 131596+256 h1]:61.1.2 "
	 "131599+3@300:71.3.3 [72 131852+256 h1]:61.2.2"},
	{"not entered",
	 {.skip = 51},
	 {{0, 12, 50, 2}, {50, 0, 200, 1}, {51, 0, 52, 1}, {52, 0, 300, 2}},
	 "[50 12+256 h1]:0.12.0 12+1@200:50.0.1 [51 268+65536 h2]:0.13.0"},
	{"more blocks than there are",
	 {0},
	 {{0, 0, 1, 12}, {0, 12, 5, 1}, {5, 0, 1, 18}, {5, 18, 1, 1}, {5, 19, 3, 4}},
	 "0+12@1 [5 12+256 h1]:0.12.0 BUDGET(12+18@1 0/0):5.0.1",
	 30},
};

START_TEST(maps_of_pointers)
{
	const struct block_map *m = &block_maps[_i];
	struct world w = {.sb = super_of(m->blocks ? m->blocks : 2000), .pointers = m->pointers};
	char got[2048];
	uint8_t root[BS];

	read_node(&w, 0, root);
	memcpy(w.inode.block, root, sizeof(w.inode.block));
	walk(&w, &m->how, got, sizeof(got));
	ck_assert_msg(!strcmp(got, m->want), "%s\n# got  %s\n# want %s", m->what, got, m->want);
}
END_TEST

/* A tree too deep, of nodes with one entry each: what a root of valid depth would hold. */
static const struct deep_tree {
	const char *what;
	unsigned levels; /* depth of the root */
	unsigned two; /* the node at this depth has two entries; 0: none */
	unsigned cut; /* the node at this depth has no magic; 0: none */
	unsigned wrong; /* the node at this depth states another one; 0: none */
	unsigned depth; /* found; 0: nothing */
} deep_trees[] = {
	{"valid already", 5, 0, 0, 0, 0},
	{"one too deep", 6, 0, 0, 0, 5},
	{"two too deep", 7, 0, 0, 0, 5},
	{"as deep as it may", 16, 0, 0, 0, 5},
	{"deeper", 17, 0, 0, 0, 0},
	{"two entries in the root", 7, 7, 0, 0, 0},
	{"two entries in a node", 9, 7, 0, 0, 0},
	{"two entries in the one that becomes the root", 8, 5, 0, 0, 0},
	{"two entries below", 8, 4, 0, 0, 5},
	{"no node", 8, 0, 6, 0, 0},
	{"no node below the new root", 8, 0, 4, 0, 0},
	{"another depth", 8, 0, 0, 7, 0},
	{"another depth below the new root", 8, 0, 0, 4, 0},
};

static int read_deep(void *arg, xw_blk blk, void *buf)
{
	const struct deep_tree *t = arg;
	const unsigned depth = (unsigned)(blk - 100);
	const struct xw_extent_hdr h = {.entries = depth == t->two ? 2 : 1,
					.max = 4,
					.depth = (uint16_t)(depth == t->wrong ? depth - 2 : depth)};

	ck_assert_uint_ge(blk, 100);
	memset(buf, 0, blk == 100 + t->levels ? 60 : BS);
	if (depth != t->cut)
		xw_extent_hdr_encode(buf, &h);
	xw_extent_idx_encode(buf, 0, &(struct xw_extent_idx){.lblk = depth, .pblk = blk - 1});
	return 0;
}

START_TEST(shortened)
{
	const struct deep_tree *t = &deep_trees[_i];
	const struct xw_super sb = super_of(2000);
	struct xw_extent_idx entry = {0};
	struct xw_walk_map w;
	unsigned depth = 0;
	uint8_t root[60];

	xw_walk_map_init(&w, NULL, &sb);
	w.read = read_deep;
	w.arg = (void *)(uintptr_t)t;
	read_deep(w.arg, 100 + t->levels, root);
	ck_assert_msg(xw_walk_map_shorten(&w, root, &entry, &depth) == !!t->depth, "%s", t->what);
	if (t->depth) {
		ck_assert_msg(depth == t->depth, "%s: depth %u", t->what, depth);
		ck_assert_uint_eq(entry.pblk, 100 + depth - 1);
		ck_assert_uint_eq(entry.lblk, depth);
	}
	xw_walk_map_free(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("walk_pointers");
	TCase *t = tcase_create("walk_pointers");

	unit_add_rows(t, maps_of_pointers, block_maps, what);
	unit_add_rows(t, shortened, deep_trees, what);
	suite_add_tcase(s, t);
	return unit_main(s);
}
