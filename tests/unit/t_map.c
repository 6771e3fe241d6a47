/* SPDX-License-Identifier: MIT */
/*
 * Block maps: what the builder encodes is read back with an independent walk, extent trees by
 * header, indirect maps by slot, and must map every block where it was put and nothing else.
 */
#include <string.h>

#include "disk/extent.h"
#include "disk/indirect.h"
#include "place/place.h"
#include "memdev.h"
#include "unit.h"

#define MAP_START 100000u
#define DATA_START 200000u

struct fixture {
	struct xw_placer p;
	struct xw_dev *dev;
	struct xw_out out;
	struct xw_binode n;
	struct xw_bmap map;
	struct xw_run runs[2];
	struct xw_extent *ext;
	uint32_t seed;
};

static uint32_t rnd(struct fixture *f)
{
	f->seed = f->seed * 1664525u + 1013904223u;
	return f->seed >> 8;
}

static void start(struct fixture *f, uint32_t bs, bool extents)
{
	memset(f, 0, sizeof(*f));
	f->seed = 1;
	f->p.enc.block_size = bs;
	f->p.enc.features.w[XW_FW_INCOMPAT] = extents ? XW_INCOMPAT_EXTENTS : 0;
	f->p.enc.dirfmt.csum = extents;
	f->p.out = &f->out;
	f->n.ino = 12;
	ck_assert_int_eq(xw_dev_open_mem(0, NULL, &f->dev), 0);
	ck_assert_int_eq(xw_batch_new(f->dev, 0, false, NULL, &f->out.batch), 0);
}

static void finish(struct fixture *f)
{
	xw_batch_free(f->out.batch);
	xw_dev_close(f->dev);
	free(f->ext);
}

/*
 * n_ext extents with random holes and lengths; the map in two runs, so that its blocks are not
 * contiguous.
 */
static void build(struct fixture *f, uint32_t n_ext, uint32_t max_len, uint32_t max_hole)
{
	uint32_t lblk = 0;
	xw_blk pblk = DATA_START;

	f->ext = calloc(n_ext + 1, sizeof(*f->ext));
	ck_assert_ptr_nonnull(f->ext);
	for (uint32_t i = 0; i < n_ext; i++) {
		uint32_t len = 1 + rnd(f) % max_len;

		lblk += max_hole ? rnd(f) % max_hole : 0;
		f->ext[i] = (struct xw_extent){.lblk = lblk, .len = len, .pblk = pblk};
		lblk += len;
		pblk += len + 1;
	}
	f->n.n_ext = n_ext;
	if (n_ext > 1)
		f->n.exts = f->ext;
	else
		f->n.ext = f->ext[0];
	f->map.blocks = (uint32_t)xw_map_blocks(&f->p.enc, &f->n);
	f->runs[0] = (struct xw_run){MAP_START, f->map.blocks / 2};
	f->runs[1] = (struct xw_run){MAP_START + 50000, f->map.blocks - f->map.blocks / 2};
	f->map.runs = f->runs;
	f->map.n_runs = 2;
	if (f->map.blocks) {
		f->n.map = &f->map;
		ck_assert_int_eq(xw_map_write(&f->p, &f->n), 0);
		ck_assert_int_eq(xw_batch_drain(f->out.batch), 0);
	}
}

static void load(struct fixture *f, xw_blk blk, uint8_t *buf)
{
	uint32_t bs = f->p.enc.block_size;
	bool mine = (blk >= f->runs[0].start && blk < f->runs[0].start + f->runs[0].len) ||
		    (blk >= f->runs[1].start && blk < f->runs[1].start + f->runs[1].len);

	ck_assert_msg(mine, "block %llu is not of the map", (unsigned long long)blk);
	ck_assert_int_eq(xw_dev_pread(f->dev, buf, bs, blk * bs), 0);
}

/* Physical block of lblk through the extent tree, 0 for a hole. */
static xw_blk look_up_extent(struct fixture *f, const uint8_t *root, uint32_t lblk)
{
	uint32_t bs = f->p.enc.block_size;
	uint8_t buf[4096];
	const uint8_t *node = root;
	struct xw_extent_hdr h;
	size_t size = 60;

	for (;;) {
		struct xw_extent_idx idx = {0};
		unsigned i;

		ck_assert_int_eq(xw_extent_hdr_decode(node, size, &h), 0);
		if (!h.depth)
			break;
		for (i = 0; i < h.entries; i++) {
			struct xw_extent_idx next;

			xw_extent_idx_decode(node, i, &next);
			if (next.lblk > lblk)
				break;
			idx = next;
		}
		if (!i)
			return 0;
		load(f, idx.pblk, buf);
		ck_assert_int_eq(xw_extent_block_verify(buf, bs, xw_encode_seed(&f->p.enc, &f->n)),
				 0);
		node = buf;
		size = bs;
	}
	for (unsigned i = 0; i < h.entries; i++) {
		struct xw_extent e;

		xw_extent_leaf_decode(node, i, &e);
		if (lblk >= e.lblk && lblk < e.lblk + e.len)
			return e.pblk + (lblk - e.lblk);
	}
	return 0;
}

static xw_blk look_up_indirect(struct fixture *f, const uint8_t *slots, uint32_t lblk)
{
	unsigned path[4], depth;
	uint8_t buf[4096];
	xw_blk blk;

	ck_assert_int_eq(xw_indirect_path(f->p.enc.block_size, lblk, path, &depth), 0);
	blk = peek32(slots + 4ul * path[0]);
	for (unsigned k = 1; k <= depth && blk; k++) {
		load(f, blk, buf);
		blk = peek32(buf + 4ul * path[k]);
	}
	return blk;
}

static xw_blk expected(const struct fixture *f, uint32_t lblk)
{
	for (uint32_t i = 0; i < f->n.n_ext; i++) {
		if (lblk >= f->ext[i].lblk && lblk < f->ext[i].lblk + f->ext[i].len)
			return f->ext[i].pblk + (lblk - f->ext[i].lblk);
	}
	return 0;
}

static const struct {
	uint32_t bs;
	bool extents;
	uint32_t n_ext, max_len, max_hole, blocks; /* blocks: of the map; ~0 = not said */
} cases[] = {
	{4096, true, 0, 1, 0, 0},        {4096, true, 1, 300, 0, 0},
	{4096, true, 4, 9, 5, 0},        {4096, true, 5, 9, 5, 1},
	{4096, true, 340, 9, 5, 1},      {4096, true, 341, 9, 5, 2},
	{4096, true, 1361, 3, 2, 6},     {1024, true, 84, 9, 9, 1},
	{1024, true, 85, 9, 9, 2},       {1024, true, 1700, 2, 3, 22},
	{4096, false, 1, 12, 0, 0},      {4096, false, 3, 12, 40, ~0u},
	{1024, false, 1, 1, 0, 0},       {1024, false, 40, 30, 20, ~0u},
	{1024, false, 400, 90, 90, ~0u}, {1024, false, 300, 100, 4000, ~0u},
};

START_TEST(maps_read_back)
{
	struct xw_inode in = {0};
	struct fixture f;
	uint32_t end, step;

	start(&f, cases[_i].bs, cases[_i].extents);
	build(&f, cases[_i].n_ext, cases[_i].max_len, cases[_i].max_hole);
	if (cases[_i].blocks != ~0u)
		ck_assert_uint_eq(f.map.blocks, cases[_i].blocks);
	xw_map_encode_inode(&f.p.enc, &f.n, &in);
	ck_assert_uint_eq(!!(in.flags & XW_FL_EXTENTS), cases[_i].extents);
	end = f.n.n_ext ? f.ext[f.n.n_ext - 1].lblk + f.ext[f.n.n_ext - 1].len + 3 : 3;
	step = 1 + end / 5000;
	for (uint32_t l = 0; l < end; l += step) {
		xw_blk got = cases[_i].extents ? look_up_extent(&f, in.block, l)
					       : look_up_indirect(&f, in.block, l);

		ck_assert_msg(got == expected(&f, l), "lblk %u: %llu, expected %llu", l,
			      (unsigned long long)got, (unsigned long long)expected(&f, l));
	}
	finish(&f);
}
END_TEST

START_TEST(long_runs_split_at_the_extent_limit)
{
	struct xw_run runs[] = {{1000, 32768}, {50000, 32769}, {200000, 1}};
	struct xw_binode n = {0};

	ck_assert_int_eq(xw_binode_set_runs(&n, runs, 3), 0);
	ck_assert_uint_eq(n.n_ext, 4);
	ck_assert_uint_eq(n.exts[1].len, 32768);
	ck_assert_uint_eq(n.exts[2].pblk, 50000 + 32768);
	ck_assert_uint_eq(n.exts[3].lblk, 32768 + 32769);
	free(n.exts);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("map");
	TCase *t = tcase_create("map");

	unit_add_table(t, maps_read_back, cases);
	tcase_add_test(t, long_runs_split_at_the_extent_limit);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return unit_main(s);
}
