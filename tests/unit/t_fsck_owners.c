// SPDX-License-Identifier: MIT
/*
 * The owner map of xw-fsck, the writes that it allows and keeps, and the final check before a
 * commit: contents of a file that a repair has changed.
 */
#include "config.h"

#include "dev/overlay.h"
#include "repairs/repairs.h"
#include "steps_world.h"

/* ---- the world ---- */

enum { BIGALLOC = 5, BLOCKS = 3, INO = 20 };

static struct fsck f;
static xw_blk at; /* free blocks from here on */

static void open_world_in(int kind, uint32_t unit)
{
	struct xw_dev *base;

	make(kind);
	memset(&f, 0, sizeof(f));
	f.opts = (struct fsck_opts){.mode = FSCK_YES, .now = 1700000000, .image = path};
	ok(xw_dev_open_file(path, 0, &diag, &base));
	ok(xw_overlay_open(base, unit, &diag, &f.ses.dev));
	ok(xw_image_open(f.ses.dev, XW_IMAGE_NOCSUM | XW_IMAGE_LENIENT, &f.ses.diag, &f.ses.img));
	ok(fsck_claim_metadata(&f));
	at = f.ses.img->sb.blocks_count - 1024;
	at -= (at - f.ses.img->sb.first_data_block) &
	      ((1u << xw_image_cluster_bits(f.ses.img)) - 1);
	ck_assert(!fsck_is_metadata(&f, at, 512));
}

static void open_world(int kind)
{
	open_world_in(kind, kind < 2 || kind == 4 ? 1024 : 4096);
}

static void close_world(void)
{
	fsck_facts_free(&f);
	xw_blockset_free(f.ses.opened);
	xw_image_close(f.ses.img);
	xw_dev_close(f.ses.dev);
}

static void fill(uint8_t *buf, int byte)
{
	memset(buf, byte, f.ses.img->block_size);
}

static int byte_at(xw_blk blk)
{
	uint8_t byte;

	ok(xw_dev_pread(f.ses.dev, &byte, 1, blk * f.ses.img->block_size));
	return byte;
}

/* Write to an owner's block a byte that tells the write. */
static int put(enum fsck_owner owner, xw_blk blk, int byte)
{
	uint8_t buf[4096];

	fill(buf, byte);
	return fsck_write(&f, owner, blk, buf);
}

/* ---- the map ---- */

START_TEST(owners)
{
	const unsigned bits = (open_world(_i), xw_image_cluster_bits(f.ses.img));
	const uint64_t n = UINT64_C(4) << bits;
	uint64_t again = 99;

	ck_assert(!fsck_is_claimed(&f, at));
	ok(fsck_claim(&f, FSCK_O_DIR, at, n, &again));
	ck_assert_uint_eq(again, 0);
	ok(fsck_claim(&f, FSCK_O_DATA, at + n, n, &again));
	ck_assert_uint_eq(again, 0);
	ck_assert(fsck_owns(&f, FSCK_O_DIR, at, n));
	ck_assert(!fsck_owns(&f, FSCK_O_DIR, at, n + 1));
	ck_assert(fsck_owns(&f, FSCK_O_DATA, at + n, n));
	for (int i = 0; i < FSCK_OWNERS; i++) {
		ck_assert(fsck_owns(&f, i, at, 1) == (i == FSCK_O_DIR));
		ck_assert(fsck_owns(&f, i, at + n, 1) == (i == FSCK_O_DATA));
		ck_assert(!fsck_owns(&f, i, f.ses.img->sb.blocks_count, 1));
		ck_assert_ptr_nonnull(fsck_owner_name(i));
	}
	/* one cluster of both belongs to neither alone */
	ok(fsck_claim(&f, FSCK_O_XATTR, at + n - 1, 2, &again));
	ck_assert_uint_eq(again, 2);
	ck_assert(fsck_is_contested(&f, at + n - 1) && fsck_is_contested(&f, at + n));
	ck_assert(!fsck_is_contested(&f, at) && !fsck_is_contested(&f, at + 2 * n - 1));
	for (int i = 0; i < FSCK_OWNERS; i++)
		ck_assert(!fsck_owns(&f, i, at + n, 1) && !fsck_owns(&f, i, at + n - 1, 1));
	ck_assert(fsck_owns(&f, FSCK_O_DIR, at, n - (1u << bits)));
	/* what is contested stays claimed */
	fsck_unclaim(&f, FSCK_O_DIR, at, n);
	ck_assert(!fsck_is_claimed(&f, at) && !fsck_owns(&f, FSCK_O_DIR, at, 1));
	ck_assert(fsck_is_claimed(&f, at + n - 1));
	close_world();
}
END_TEST

START_TEST(group_metadata)
{
	struct xw_group_desc gd;

	open_world(_i);
	ok(xw_image_group(f.ses.img, 0, &gd));
	ck_assert(fsck_owns(&f, FSCK_O_GROUP, gd.block_bitmap, 1));
	ck_assert(fsck_owns(&f, FSCK_O_GROUP, gd.inode_table, f.ses.img->itable_blocks));
	ck_assert(!fsck_owns(&f, FSCK_O_DATA, gd.inode_table, 1));
	ok(fsck_claim(&f, FSCK_O_DATA, gd.block_bitmap, 1, NULL));
	ck_assert(!fsck_owns(&f, FSCK_O_GROUP, gd.block_bitmap, 1));
	f.facts.owners.copied = true; /* its contents are somewhere else by now */
	ck_assert(fsck_owns(&f, FSCK_O_GROUP, gd.block_bitmap, 1));
	close_world();
}
END_TEST

/* What an update may write, and what stands in the way of all repairs. */
START_TEST(updates)
{
	const uint64_t n = (open_world(_i), UINT64_C(1) << xw_image_cluster_bits(f.ses.img));
	struct xw_group_desc gd;

	ok(xw_image_group(f.ses.img, 0, &gd));
	ck_assert(fsck_may_change(&f, at)); /* nobody's */
	ck_assert(fsck_may_change(&f, gd.inode_table));
	ck_assert(fsck_may_change(&f, f.ses.img->sb.first_data_block));
	ok(fsck_claim(&f, FSCK_O_DATA, at, n, NULL));
	ck_assert(!fsck_may_change(&f, at));
	ok(fsck_reassign(&f, FSCK_O_SYSTEM, at, n));
	ck_assert(fsck_may_change(&f, at) && fsck_owns(&f, FSCK_O_SYSTEM, at, n));
	ck_assert(!fsck_owns(&f, FSCK_O_DATA, at, 1) && !fsck_is_contested(&f, at));
	ok(fsck_claim(&f, FSCK_O_DIR, at + n, n, NULL));
	ck_assert(fsck_may_change(&f, at + n));
	ok(fsck_claim(&f, FSCK_O_DATA, at + n, n, NULL));
	ck_assert(!fsck_may_change(&f, at + n));
	ck_assert(!fsck_metadata_is_shared(&f)); /* contested, but not by metadata */
	/* the list of bad blocks has nothing in them that could be lost */
	ok(fsck_claim(&f, FSCK_O_BAD, gd.inode_bitmap, 1, NULL));
	ck_assert(fsck_may_change(&f, gd.inode_bitmap) && !fsck_metadata_is_shared(&f));
	ok(fsck_claim(&f, FSCK_O_DATA, gd.inode_table + f.ses.img->itable_blocks - 1, 1, NULL));
	ck_assert(!fsck_may_change(&f, gd.inode_table + f.ses.img->itable_blocks - 1));
	ck_assert(fsck_metadata_is_shared(&f));
	f.facts.owners.copied = true;
	ck_assert(fsck_may_change(&f, gd.inode_table + f.ses.img->itable_blocks - 1));
	ck_assert(!fsck_metadata_is_shared(&f));
	close_world();
}
END_TEST

/* Neither claimed, nor in use by the bitmap as long as there are others. */
START_TEST(free_clusters)
{
	const unsigned bits = (open_world(_i), xw_image_cluster_bits(f.ses.img));
	const uint64_t cluster = UINT64_C(1) << bits, per_group = xw_image_group_bits(f.ses.img);
	const xw_blk first = f.ses.img->sb.first_data_block;
	const uint64_t group = ((at - first) >> bits) / per_group;
	uint8_t buf[4096];
	struct xw_group_desc gd;
	xw_blk blk;

	ok(xw_image_group(f.ses.img, group, &gd));
	if (xw_image_block_uninit(f.ses.img, &gd)) {
		gd.flags &= (uint16_t)~XW_BG_BLOCK_UNINIT;
		memset(buf, 0, sizeof(buf));
	} else {
		ok(xw_dev_pread(f.ses.dev, buf, f.ses.img->block_size,
				gd.block_bitmap * f.ses.img->block_size));
	}
	/* the goal is claimed, the next cluster in use by the bitmap alone */
	ok(fsck_claim(&f, FSCK_O_DATA, at, 1, NULL));
	if (!(gd.flags & XW_BG_BLOCK_UNINIT)) {
		const uint64_t bit = ((at - first) >> bits) % per_group + 1;

		buf[bit / 8] |= (uint8_t)(1u << bit % 8);
		ok(xw_dev_pwrite(f.ses.dev, buf, f.ses.img->block_size,
				 gd.block_bitmap * f.ses.img->block_size));
	}
	ok(fsck_claim_free(&f, FSCK_O_MAP, at, &blk));
	ck_assert(blk == at + 2 * cluster || blk == at + cluster);
	ck_assert(fsck_owns(&f, FSCK_O_MAP, blk, 1));
	/* every cluster but one: it is taken, whatever the bitmap says; then there is none */
	for (xw_blk b = first; b < f.ses.img->sb.blocks_count; b += cluster)
		if (b != at + cluster && !fsck_is_claimed(&f, b))
			ok(fsck_claim(&f, FSCK_O_DATA, b, 1, NULL));
	if (!fsck_is_claimed(&f, at + cluster)) {
		ok(fsck_claim_free(&f, FSCK_O_MAP, first, &blk));
		ck_assert_uint_eq(blk, at + cluster);
	}
	ck_assert_int_eq(fsck_claim_free(&f, FSCK_O_MAP, at, &blk), XW_ERR_NOSPC);
	close_world();
}
END_TEST

/* ---- writes ---- */

START_TEST(kept_writes)
{
	const uint64_t n = (open_world(_i), UINT64_C(1) << xw_image_cluster_bits(f.ses.img));
	uint8_t buf[2 * 4096];

	/* nothing reaches the device before the map is complete, but readers see it */
	ok(put(FSCK_O_DIR, at, 1));
	ok(put(FSCK_O_DIR, at, 2));
	ok(put(FSCK_O_MAP, at + n, 3));
	ok(put(FSCK_O_XATTR, at + 2 * n, 4));
	ck_assert(!f.round.changed);
	ck_assert_int_eq(byte_at(at), 0);
	ok(fsck_read(&f, at, 1, buf));
	ck_assert_uint_eq(buf[0], 2);
	ok(fsck_claim(&f, FSCK_O_DIR, at, 1, NULL));
	ok(fsck_claim(&f, FSCK_O_MAP, at + n, 1, NULL));
	ok(fsck_claim(&f, FSCK_O_DATA, at + n, 1, NULL)); /* contested */
	ok(fsck_finish_claims(&f)); /* nobody has claimed the third */
	ck_assert(f.round.changed);
	ck_assert_int_eq(byte_at(at), 2);
	ck_assert_int_eq(byte_at(at + n), 0);
	ck_assert_int_eq(byte_at(at + 2 * n), 0);
	close_world();
}
END_TEST

START_TEST(refused_writes)
{
	const uint64_t n = (open_world(_i), UINT64_C(1) << xw_image_cluster_bits(f.ses.img));
	uint8_t buf[4096];

	ok(fsck_claim(&f, FSCK_O_DIR, at, 1, NULL));
	ok(fsck_claim(&f, FSCK_O_DATA, at + n, 1, NULL));
	ok(fsck_finish_claims(&f));
	ok(put(FSCK_O_DIR, at, 1));
	ck_assert_int_eq(byte_at(at), 1);
	f.round.changed = false;
	ck_assert_int_eq(put(FSCK_O_DIR, at + n, 1), XW_ERR_INTERNAL);
	ck_assert_int_eq(put(FSCK_O_XATTR, at, 1), XW_ERR_INTERNAL);
	ck_assert_int_eq(put(FSCK_O_GROUP, at, 1), XW_ERR_INTERNAL);
	ck_assert_int_eq(put(FSCK_O_DIR, at + 2 * n, 1), XW_ERR_INTERNAL);
	fill(buf, 9);
	ok(fsck_try_write(&f, FSCK_O_DIR, at + n, buf));
	ck_assert_int_eq(byte_at(at + n), 0);
	ck_assert(!f.round.changed);
	ok(fsck_try_write(&f, FSCK_O_DIR, at, buf));
	ck_assert_int_eq(byte_at(at), 9);
	close_world();
}
END_TEST

/* ---- the final check ---- */

/* A file with BLOCKS blocks, on the base as well. */
static void add_file(void)
{
	struct xw_inode in = {.mode = XW_S_IFREG | 0644, .links = 1, .extra_isize = 32};
	uint8_t raw[4096] = {0};
	struct xw_group_desc gd;
	struct fsck_inode *facts;

	in.size = (uint64_t)BLOCKS * f.ses.img->block_size;
	if (f.ses.img->sb.feature_incompat & XW_INCOMPAT_EXTENTS) {
		in.flags = XW_FL_EXTENTS;
		xw_extent_hdr_encode(in.block, &(struct xw_extent_hdr){.entries = 1, .max = 4});
		xw_extent_leaf_encode(in.block, 0, &(struct xw_extent){.len = BLOCKS, .pblk = at});
	} else {
		for (uint32_t i = 0; i < BLOCKS; i++) {
			const uint32_t blk = (uint32_t)at + i;

			memcpy(in.block + 4 * i, &blk, 4); /* little-endian machines only */
		}
	}
	xw_inode_encode(&in, &f.ses.img->sb, raw);
	ok(xw_image_group(f.ses.img, 0, &gd));
	ok(xw_dev_pwrite(xw_overlay_base(f.ses.dev), raw, f.ses.img->inode_size,
			 gd.inode_table * f.ses.img->block_size +
				 (INO - 1) * f.ses.img->inode_size));
	ok(fsck_inode_make(&f, INO, &facts));
	facts->flags = FSCK_I_USED;
	ok(fsck_claim(&f, FSCK_O_DATA, at, BLOCKS, NULL));
	ok(fsck_finish_claims(&f));
}

static void change(xw_blk blk, int byte)
{
	uint8_t buf[4096];

	fill(buf, byte);
	ok(xw_dev_pwrite(f.ses.dev, buf, f.ses.img->block_size, blk * f.ses.img->block_size));
}

START_TEST(changed_contents)
{
	open_world(_i);
	add_file();
	ok(fsck_final_check(&f));
	change(at + 1, 0); /* as it was */
	ok(fsck_final_check(&f));
	change(at + BLOCKS - 1, 5);
	ck_assert_int_eq(fsck_final_check(&f), XW_ERR_INTERNAL);
	ck_assert_ptr_nonnull(strstr(f.ses.diag.text, "inode 20"));
	xw_diag_clear(&f.ses.diag);
	f.opts.mode = FSCK_NO;
	ok(fsck_final_check(&f));
	close_world();
}
END_TEST

/* A file that gave the block up, and another one that has it now. */
START_TEST(given_up)
{
	struct xw_inode in = {.mode = XW_S_IFREG | 0644, .links = 1, .extra_isize = 32};
	uint8_t raw[4096] = {0};
	struct xw_group_desc gd;

	open_world(_i);
	add_file();
	in.flags = f.ses.img->sb.feature_incompat & XW_INCOMPAT_EXTENTS ? XW_FL_EXTENTS : 0;
	if (in.flags)
		xw_extent_hdr_encode(in.block, &(struct xw_extent_hdr){.max = 4});
	xw_inode_encode(&in, &f.ses.img->sb, raw);
	ok(xw_image_group(f.ses.img, 0, &gd));
	ok(xw_dev_pwrite(f.ses.dev, raw, f.ses.img->inode_size,
			 gd.inode_table * f.ses.img->block_size +
				 (INO - 1) * f.ses.img->inode_size));
	change(at, 9);
	ok(fsck_final_check(&f));
	close_world();
}
END_TEST

/* With a lost superblock the overlay's blocks are smaller than those of the filesystem. */
START_TEST(small_unit)
{
	open_world_in(2, 1024);
	add_file();
	ck_assert_uint_eq(at % 4, 0);
	change(at / 4, 9); /* dirty blocks `at` to at + 3 of the overlay */
	ok(fsck_final_check(&f));
	change(at + 1, 9);
	ck_assert_int_eq(fsck_final_check(&f), XW_ERR_INTERNAL);
	xw_diag_clear(&f.ses.diag);
	ok(fsck_opened(&f));
	ok(fsck_final_check(&f));
	close_world();
}
END_TEST

/* Written by the journal, or by nobody that had the block before. */
START_TEST(changed_by_right)
{
	const uint64_t n = (open_world(_i), UINT64_C(4) << xw_image_cluster_bits(f.ses.img));

	change(at, 7);
	ok(fsck_opened(&f));
	add_file();
	ok(fsck_final_check(&f));
	ok(fsck_claim(&f, FSCK_O_DATA, at + n, 1, NULL)); /* a copy */
	change(at + n, 8);
	ok(fsck_final_check(&f));
	change(at + 1, 7);
	ck_assert_int_eq(fsck_final_check(&f), XW_ERR_INTERNAL);
	close_world();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_owners");
	TCase *tc = tcase_create("fsck_owners");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, owners, 0, BIGALLOC + 1);
	tcase_add_loop_test(tc, group_metadata, 0, BIGALLOC);
	tcase_add_loop_test(tc, updates, 0, BIGALLOC);
	tcase_add_loop_test(tc, free_clusters, 0, BIGALLOC + 1);
	tcase_add_loop_test(tc, kept_writes, 0, BIGALLOC + 1);
	tcase_add_loop_test(tc, refused_writes, 0, BIGALLOC + 1);
	tcase_add_loop_test(tc, changed_contents, 0, BIGALLOC + 1);
	tcase_add_loop_test(tc, given_up, 0, BIGALLOC + 1);
	tcase_add_test(tc, small_unit);
	tcase_add_loop_test(tc, changed_by_right, 0, BIGALLOC + 1);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
