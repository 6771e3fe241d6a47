/* SPDX-License-Identifier: MIT */
/* lib/read on a hand-made image: extent trees, block maps and the contents found through them. */
#include "unit.h"

#include "read_fix.h"

static void expect_runs(struct fixture *fx, xw_ino ino, xw_lblk from, const struct xw_map_run *want,
			unsigned n)
{
	struct xw_map_iter it;
	struct xw_map_run run;
	struct xw_inode inode;

	ck_assert_int_eq(xw_image_inode(fx->img, ino, &inode, NULL), 0);
	ck_assert_int_eq(xw_map_begin(fx->img, ino, &inode, from, &it), 0);
	for (unsigned i = 0; i < n; i++) {
		ck_assert_int_eq(xw_map_next(&it, &run), 1);
		ck_assert_uint_eq(run.lblk, want[i].lblk);
		ck_assert_uint_eq(run.len, want[i].len);
		ck_assert_uint_eq(run.pblk, want[i].pblk);
		ck_assert_int_eq(run.unwritten, want[i].unwritten);
	}
	ck_assert_int_eq(xw_map_next(&it, &run), 0);
	ck_assert_int_eq(xw_map_next(&it, &run), 0);
	xw_map_end(&it);
}

/* The failure of walking the inode's map. */
static int map_failure(struct fixture *fx, xw_ino ino)
{
	struct xw_map_iter it;
	struct xw_map_run run;
	struct xw_inode inode;
	int rc = xw_image_inode(fx->img, ino, &inode, NULL);

	if (rc)
		return rc;
	rc = xw_map_begin(fx->img, ino, &inode, 0, &it);
	for (unsigned i = 0; !rc && (rc = xw_map_next(&it, &run)) == 1; i++) {
		ck_assert_uint_le(i, BLOCKS);
		rc = 0;
	}
	ck_assert_int_eq(xw_map_next(&it, &run), 0);
	xw_map_end(&it);
	return rc;
}

/* ---- extents ---- */

START_TEST(extents_in_the_inode)
{
	static const struct xw_extent e[] = {{0, 10, 1000, false},
					     {20, 5, 2000, true},
					     {25, 1, 3000, false},
					     {4000000000u, 7, 500, false}};
	static const struct xw_map_run all[] = {{0, 10, 1000, false},
						{20, 5, 2000, true},
						{25, 1, 3000, false},
						{4000000000u, 7, 500, false}};
	static const struct xw_map_run cut[] = {
		{22, 3, 2002, true}, {25, 1, 3000, false}, {4000000000u, 7, 500, false}};
	struct xw_inode inode = {.mode = XW_S_IFREG};
	struct xw_map_run run;
	struct fixture fx;

	make_image(&fx, true);
	root_leaf(&inode, e, 4);
	put_inode(&fx, 12, &inode, NULL, 0);
	open_it(&fx, 0);
	expect_runs(&fx, 12, 0, all, 4);
	expect_runs(&fx, 12, 22, cut, 3);
	expect_runs(&fx, 12, 15, all + 1, 3);
	expect_runs(&fx, 12, 4000000007u, NULL, 0);
	ck_assert_int_eq(xw_map_lookup(fx.img, 12, &inode, 24, &run), 0);
	ck_assert(run.lblk == 24 && run.len == 1 && run.pblk == 2004 && run.unwritten);
	ck_assert_int_eq(xw_map_lookup(fx.img, 12, &inode, 12, &run), 0);
	ck_assert(run.lblk == 12 && run.len == 0 && run.pblk == 0);
	drop(&fx);
}
END_TEST

START_TEST(extent_trees)
{
	struct fixture fx;
	struct xw_map_run want[1100], run;
	struct xw_inode inode;
	uint32_t n;

	make_image(&fx, true);
	make_tree(&fx, 12, (unsigned)_i, _i < 5 ? 4 : 3, &n);
	for (uint32_t i = 0; i < n && i < XW_ARRAY_SIZE(want); i++)
		want[i] = (struct xw_map_run){.lblk = 2 * i, .len = 1, .pblk = 1000 + i};
	ck_assert_uint_le(n, XW_ARRAY_SIZE(want));
	open_it(&fx, 0);
	expect_runs(&fx, 12, 0, want, n);
	ck_assert_int_eq(xw_image_inode(fx.img, 12, &inode, NULL), 0);
	for (uint32_t i = 0; i < n; i++) {
		expect_runs(&fx, 12, 2 * n - 2 - 2 * (i % 8), want + n - 1 - i % 8, i % 8 + 1);
		ck_assert_int_eq(xw_map_lookup(fx.img, 12, &inode, 2 * i, &run), 0);
		ck_assert(run.pblk == 1000 + i && run.len == 1);
		ck_assert_int_eq(xw_map_lookup(fx.img, 12, &inode, 2 * i + 1, &run), 0);
		ck_assert(run.len == 0);
	}
	drop(&fx);
}
END_TEST

/* What is changed in the second child of the root, before its checksum is made right again. */
enum damage {
	D_MAGIC,
	D_DEPTH,
	D_ENTRIES,
	D_ORDER,
	D_OVERLAP,
	D_ZERO_LEN,
	D_OUTSIDE,
	D_PBLK_ZERO,
	D_BEYOND_PARENT,
	D_BEFORE_PARENT,
	D_CSUM,
	D_SELF,
	N_DAMAGE
};

START_TEST(extent_damage)
{
	struct fixture fx;
	uint8_t node[BS];
	struct xw_extent e;
	struct xw_extent_idx x;
	uint32_t n;
	xw_blk blk;

	make_image(&fx, true);
	make_tree(&fx, 12, _i == D_SELF ? 2 : 1, 4, &n);
	open_it(&fx, 0);
	ck_assert_int_eq(map_failure(&fx, 12), 0);
	/* of a tree of depth 2, block 0 after DATA is the first index block */
	blk = _i == D_SELF ? DATA : DATA + 1;
	ck_assert_int_eq(xw_dev_pread(fx.dev, node, BS, blk * BS), 0);
	xw_extent_leaf_decode(node, 1, &e);
	switch ((enum damage)_i) {
	case D_MAGIC:
		node[0] ^= 1;
		break;
	case D_DEPTH:
		poke16(node + 6, 1);
		break;
	case D_ENTRIES:
		poke16(node + 2, 200);
		break;
	case D_ORDER:
		e.lblk -= 4;
		break;
	case D_OVERLAP:
		e.lblk -= 2;
		break;
	case D_ZERO_LEN:
		e.len = 0;
		break;
	case D_OUTSIDE:
		e.pblk = BLOCKS;
		break;
	case D_PBLK_ZERO:
		e.pblk = 0;
		break;
	case D_BEYOND_PARENT:
		e.len = 10;
		break;
	case D_BEFORE_PARENT:
		e.lblk = 0;
		break;
	case D_CSUM:
	case D_SELF:
	case N_DAMAGE:
		break;
	}
	if (_i >= D_ORDER && _i <= D_BEFORE_PARENT)
		xw_extent_leaf_encode(node, 1, &e);
	if (_i == D_SELF) {
		xw_extent_idx_decode(node, 1, &x);
		x.pblk = blk;
		xw_extent_idx_encode(node, 1, &x);
	}
	xw_extent_block_set_csum(node, BS, inode_seed(&fx, 12));
	if (_i == D_CSUM)
		node[BS - 4] ^= 1;
	put_block(&fx, blk, node);
	xw_image_drop_cache(fx.img);
	ck_assert_int_eq(map_failure(&fx, 12), _i == D_CSUM ? XW_ERR_CHECKSUM : XW_ERR_CORRUPT);
	ck_assert_ptr_nonnull(strstr(fx.diag.text, "inode 12"));
	drop(&fx);
}
END_TEST

/* Extents that all lie on the same blocks: more than a filesystem can hold is refused. */
START_TEST(more_than_everything)
{
	static const struct xw_extent e[] = {
		{0, 4000, 1000, false}, {4000, 4000, 1000, false}, {8000, 4000, 1000, false}};
	struct xw_inode inode = {.mode = XW_S_IFREG};
	struct fixture fx;

	make_image(&fx, true);
	root_leaf(&inode, e, 3);
	put_inode(&fx, 12, &inode, NULL, 0);
	open_it(&fx, 0);
	ck_assert_int_eq(map_failure(&fx, 12), XW_ERR_CORRUPT);
	drop(&fx);
}
END_TEST

/* ---- block maps ---- */

START_TEST(block_map)
{
	/* in all four zones, over zone borders, single blocks, at a zone's last block */
	static const struct xw_map_run want[] = {
		{3, 2, 2000, false},
		{10, 6, 2100, false},
		{200, 100, 2200, false},
		{300, 1, 2500, false},
		{12 + 256 + 65536 - 1, 2, 2600, false},
		{70000, 3, 2700, false},
		{12 + 256 + 65536 + 16777216 - 1, 1, 2800, false},
	};
	struct xw_inode inode = {.mode = XW_S_IFREG};
	struct xw_map_run run;
	struct fixture fx;

	make_image(&fx, true);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(want); i++)
		for (unsigned k = 0; k < want[i].len; k++)
			map_block(&fx, &inode, want[i].lblk + k, (uint32_t)want[i].pblk + k);
	put_inode(&fx, 12, &inode, NULL, 0);
	open_it(&fx, 0);
	/* the first block of the double-indirect zone follows the last one of the zone before it */
	expect_runs(&fx, 12, 0, want, XW_ARRAY_SIZE(want));
	expect_runs(&fx, 12, 5, want + 1, XW_ARRAY_SIZE(want) - 1);
	expect_runs(&fx, 12, 70003, want + 6, 1);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(want); i++) {
		ck_assert_int_eq(
			xw_map_lookup(fx.img, 12, &inode, want[i].lblk + want[i].len - 1, &run), 0);
		ck_assert(run.len == 1 && run.pblk == want[i].pblk + want[i].len - 1);
		ck_assert_int_eq(xw_map_lookup(fx.img, 12, &inode, want[i].lblk - 1, &run), 0);
		ck_assert(run.len == 0 || want[i].lblk == 300);
	}
	drop(&fx);
}
END_TEST

START_TEST(block_map_damage)
{
	static const uint32_t bad[] = {BLOCKS, 0xFFFFFFFF, 1};
	struct xw_inode inode = {.mode = XW_S_IFREG};
	struct fixture fx;
	uint8_t buf[BS];

	make_image(&fx, true);
	if (_i < 3) {
		map_block(&fx, &inode, 5, bad[_i]);
	} else if (_i < 6) {
		poke32(inode.block + 4 * XW_IND_SLOT, bad[_i - 3]);
	} else {
		/* a triple-indirect block whose pointers all lead back to it */
		for (unsigned i = 0; i < BS; i += 4)
			poke32(buf + i, DATA);
		put_block(&fx, DATA, buf);
		poke32(inode.block + 4 * XW_TIND_SLOT, DATA);
	}
	put_inode(&fx, 12, &inode, NULL, 0);
	open_it(&fx, 0);
	ck_assert_int_eq(map_failure(&fx, 12), XW_ERR_CORRUPT);
	drop(&fx);
}
END_TEST

/* ---- contents ---- */

START_TEST(contents)
{
	static const struct xw_extent e[] = {
		{1, 3, 1000, false}, {6, 2, 2000, true}, {8, 2, 3000, false}};
	struct xw_inode inode = {.mode = XW_S_IFREG, .size = 10 * BS - 100};
	uint8_t want[12 * BS] = {0}, got[12 * BS];
	struct fixture fx;
	uint64_t state = 3;
	size_t n;

	make_image(&fx, true);
	paint(&fx, 1000, 3);
	paint(&fx, 2000, 2);
	paint(&fx, 3000, 2);
	for (unsigned b = 1; b < 10; b++) {
		uint32_t v = b < 4 ? 999 + b : b >= 8 ? 2992 + b : 0;

		for (unsigned i = 0; i < BS; i += 4)
			poke32(want + b * BS + i, v);
	}
	if (_i) {
		for (unsigned b = 1; b < 10; b++)
			if (peek32(want + b * BS))
				map_block(&fx, &inode, b, peek32(want + b * BS));
	} else {
		root_leaf(&inode, e, 3);
	}
	put_inode(&fx, 12, &inode, NULL, 0);
	open_it(&fx, 0);
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t off;
		size_t len, expect;

		state = state * 6364136223846793005u + 1442695040888963407u;
		off = (state >> 33) % (11 * BS);
		len = (size_t)(state >> 20) % sizeof(got);
		expect = off >= inode.size ? 0 : XW_MIN(len, inode.size - off);
		memset(got, 0xEE, sizeof(got));
		ck_assert_int_eq(xw_file_pread(fx.img, 12, &inode, NULL, off, got, len, &n), 0);
		ck_assert_uint_eq(n, expect);
		ck_assert_mem_eq(got, want + off, n);
		if (n < sizeof(got))
			ck_assert_uint_eq(got[n], 0xEE);
	}
	drop(&fx);
}
END_TEST

START_TEST(symlinks)
{
	static const struct xw_extent e[] = {{0, 1, 1000, false}};
	struct xw_inode fast = {.mode = XW_S_IFLNK | 0777, .size = 59};
	struct xw_inode slow = {.mode = XW_S_IFLNK | 0777, .size = 300};
	char text[BS] = {0}, buf[BS + 1];
	struct fixture fx;
	size_t len;

	make_image(&fx, true);
	memset(text, 't', 300);
	put_block(&fx, 1000, text);
	memset(fast.block, 'f', 59);
	root_leaf(&slow, e, 1);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_symlink_read(fx.img, 12, &fast, NULL, buf, &len), 0);
	ck_assert(len == 59 && buf[58] == 'f' && buf[59] == 0);
	ck_assert_int_eq(xw_symlink_read(fx.img, 13, &slow, NULL, buf, &len), 0);
	ck_assert(len == 300 && buf[299] == 't' && buf[300] == 0);
	slow.size = 301;
	ck_assert_int_eq(xw_symlink_read(fx.img, 13, &slow, NULL, buf, &len), XW_ERR_CORRUPT);
	slow.size = BS + 1;
	ck_assert_int_eq(xw_symlink_read(fx.img, 13, &slow, NULL, buf, &len), XW_ERR_CORRUPT);
	fast.size = 0;
	ck_assert_int_eq(xw_symlink_read(fx.img, 12, &fast, NULL, buf, &len), XW_ERR_CORRUPT);
	drop(&fx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("read_map");
	TCase *tc = tcase_create("read_map");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, extents_in_the_inode);
	tcase_add_loop_test(tc, extent_trees, 0, 6);
	tcase_add_loop_test(tc, extent_damage, 0, N_DAMAGE);
	tcase_add_test(tc, more_than_everything);
	tcase_add_test(tc, block_map);
	tcase_add_loop_test(tc, block_map_damage, 0, 7);
	tcase_add_loop_test(tc, contents, 0, 2);
	tcase_add_test(tc, symlinks);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
