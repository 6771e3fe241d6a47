/* SPDX-License-Identifier: MIT */
/* lib/read on a hand-made image: opening, inodes, geometry, paths, and random damage to everything.
 */
#include "unit.h"

#include "read_fix.h"

/* ---- opening ---- */

START_TEST(open_good)
{
	struct fixture fx;
	struct xw_inode inode;

	make_image(&fx, _i);
	open_it(&fx, 0);
	ck_assert_uint_eq(fx.img->block_size, BS);
	ck_assert_uint_eq(fx.img->groups, 1);
	ck_assert_uint_eq(fx.img->itable_blocks, INODES * INODE_SIZE / BS);
	ck_assert(xw_image_has_blocks(fx.img, 2, BLOCKS - 2));
	ck_assert(!xw_image_has_blocks(fx.img, 2, BLOCKS - 1));
	ck_assert(!xw_image_has_blocks(fx.img, 1, 1));
	ck_assert(!xw_image_has_blocks(fx.img, BLOCKS, 1));
	ck_assert(!xw_image_has_blocks(fx.img, 5, UINT64_MAX));
	ck_assert_int_eq(xw_image_inode(fx.img, 0, &inode, NULL), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_image_inode(fx.img, INODES + 1, &inode, NULL), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_image_inode(fx.img, INODES, &inode, NULL), 0);
	drop(&fx);
}
END_TEST

enum open_case {
	NO_MAGIC,
	SMALL,
	BAD_CSUM,
	UNKNOWN,
	PENDING,
	JOURNAL,
	NO_BLOCKS,
	TOO_LONG,
	N_OPEN
};

START_TEST(open_bad)
{
	static const int codes[N_OPEN] = {
		XW_ERR_INPUT,       XW_ERR_INPUT,       XW_ERR_CHECKSUM, XW_ERR_UNSUPPORTED,
		XW_ERR_UNSUPPORTED, XW_ERR_UNSUPPORTED, XW_ERR_CORRUPT,  XW_ERR_TRUNCATED,
	};
	struct fixture fx;

	make_image(&fx, true);
	switch ((enum open_case)_i) {
	case NO_MAGIC:
		ck_assert_int_eq(xw_dev_zero(fx.dev, 0, 4096), 0);
		break;
	case SMALL:
		ck_assert_int_eq(xw_dev_set_size(fx.dev, 2047), 0);
		break;
	case BAD_CSUM:
		ck_assert_int_eq(xw_dev_pwrite(fx.dev, "x", 1, XW_SUPER_OFFSET + 0x78), 0);
		break;
	case UNKNOWN:
		fx.sb.feature_incompat |= 0x00800000;
		break;
	case PENDING:
		fx.sb.feature_incompat |= 0x40000000;
		break;
	case JOURNAL:
		fx.sb.feature_incompat |= XW_INCOMPAT_JOURNAL_DEV;
		break;
	case NO_BLOCKS:
		fx.sb.blocks_count = 0;
		break;
	case TOO_LONG:
		fx.sb.blocks_count++;
		break;
	case N_OPEN:
		break;
	}
	if (_i >= UNKNOWN)
		put_super(&fx);
	ck_assert_int_eq(xw_image_open(fx.dev, 0, &fx.diag, &fx.img), codes[_i]);
	ck_assert_int_eq(fx.diag.code, codes[_i]);
	ck_assert_ptr_null(fx.img);
	if (_i == BAD_CSUM)
		open_it(&fx, XW_IMAGE_NOCSUM);
	if (_i == TOO_LONG)
		open_it(&fx, XW_IMAGE_SHORT);
	if (_i == UNKNOWN)
		open_it(&fx, XW_IMAGE_ANY_FEATURES);
	drop(&fx);
}
END_TEST

START_TEST(inode_damage)
{
	struct fixture fx;
	struct xw_inode inode = {.mode = XW_S_IFREG};
	struct xw_group_desc gd = {.block_bitmap = 3, .inode_bitmap = 4, .inode_table = TABLE};

	make_image(&fx, true);
	put_inode(&fx, 12, &inode, NULL, 0);
	ck_assert_int_eq(xw_dev_pwrite(fx.dev, "x", 1, TABLE * BS + 11 * INODE_SIZE + 4), 0);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_image_inode(fx.img, 12, &inode, NULL), XW_ERR_CHECKSUM);
	fx.img->flags = XW_IMAGE_NOCSUM;
	ck_assert_int_eq(xw_image_inode(fx.img, 12, &inode, NULL), 0);

	gd.inode_table = BLOCKS - 5;
	put_group(&fx, &gd);
	xw_image_drop_cache(fx.img);
	ck_assert_int_eq(xw_image_inode(fx.img, 12, &inode, NULL), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_dev_pwrite(fx.dev, "\xff\xff\xff", 3, 2 * BS + 8), 0);
	xw_image_drop_cache(fx.img);
	fx.img->flags = 0;
	ck_assert_int_eq(xw_image_inode(fx.img, 12, &inode, NULL), XW_ERR_CHECKSUM);
	drop(&fx);
}
END_TEST

START_TEST(scan_sees_what_is_used)
{
	struct fixture fx;
	struct xw_group_desc gd = {.inode_table = TABLE, .itable_unused = 28};
	struct xw_inode_scan s;
	const uint8_t *raw;
	xw_ino ino, want = 1;

	make_image(&fx, true);
	put_group(&fx, &gd);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_inode_scan_begin(fx.img, 0, 99, &s), 0);
	while (xw_inode_scan_next(&s, &ino, &raw) == 1)
		ck_assert_uint_eq(ino, want++);
	ck_assert_uint_eq(want, 101);
	xw_inode_scan_end(&s);

	gd.flags = XW_BG_INODE_UNINIT;
	put_group(&fx, &gd);
	xw_image_drop_cache(fx.img);
	ck_assert_int_eq(xw_inode_scan_begin(fx.img, 0, 1, &s), 0);
	ck_assert_int_eq(xw_inode_scan_next(&s, &ino, &raw), 0);
	xw_inode_scan_end(&s);

	gd = (struct xw_group_desc){.inode_table = BLOCKS};
	put_group(&fx, &gd);
	xw_image_drop_cache(fx.img);
	ck_assert_int_eq(xw_inode_scan_begin(fx.img, 0, 1, &s), 0);
	ck_assert_int_eq(xw_inode_scan_next(&s, &ino, &raw), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_inode_scan_next(&s, &ino, &raw), 0);
	xw_inode_scan_end(&s);
	drop(&fx);
}
END_TEST

/* ---- geometry ---- */

START_TEST(backups_and_descriptors)
{
	struct xw_image img = {.block_size = 4096, .desc_size = 64};
	static const uint64_t with[] = {0, 1, 3, 5, 7, 9, 25, 27, 49, 343, 125, 729};
	static const uint64_t without[] = {2, 4, 6, 8, 10, 15, 21, 35, 45, 48};

	img.sb.blocks_per_group = 32768;
	img.sb.feature_ro_compat = XW_RO_SPARSE_SUPER;
	for (unsigned i = 0; i < XW_ARRAY_SIZE(with); i++)
		ck_assert(xw_image_has_super(&img, with[i]));
	for (unsigned i = 0; i < XW_ARRAY_SIZE(without); i++)
		ck_assert(!xw_image_has_super(&img, without[i]));
	ck_assert_uint_eq(xw_image_desc_block(&img, 0), 1);
	ck_assert_uint_eq(xw_image_desc_block(&img, 63), 1);
	ck_assert_uint_eq(xw_image_desc_block(&img, 64), 2);
	img.sb.feature_incompat = XW_INCOMPAT_META_BG;
	img.sb.first_meta_bg = 1;
	ck_assert_uint_eq(xw_image_desc_block(&img, 63), 1);
	ck_assert_uint_eq(xw_image_desc_block(&img, 64), 64 * 32768);
	img.sb.first_meta_bg = 0;
	ck_assert_uint_eq(xw_image_desc_block(&img, 63), 1);
	img.sb.feature_compat = XW_COMPAT_SPARSE_SUPER2;
	img.sb.backup_bgs[0] = 1;
	img.sb.backup_bgs[1] = 64;
	ck_assert(xw_image_has_super(&img, 1) && xw_image_has_super(&img, 64));
	ck_assert(!xw_image_has_super(&img, 3));
	ck_assert_uint_eq(xw_image_desc_block(&img, 70), 64 * 32768 + 1);
	/* 1 KiB blocks: the superblock is block 1, whether the first group begins at 0 or 1 */
	img.block_size = 1024;
	img.sb.blocks_per_group = 8192;
	img.sb.first_data_block = 1;
	img.sb.feature_compat = 0;
	ck_assert_uint_eq(xw_image_desc_block(&img, 0), 2);
	ck_assert_uint_eq(xw_image_desc_block(&img, 16), 1 + 16 * 8192);
	img.sb.first_data_block = 0;
	ck_assert_uint_eq(xw_image_desc_block(&img, 0), 2);
	img.sb.feature_incompat = 0;
	ck_assert_uint_eq(xw_image_desc_block(&img, 0), 2);
}
END_TEST

/* ---- paths ---- */

START_TEST(paths)
{
	static const char *const root[] = {"dir", "file", "abs", "rel", "loop", "up"};
	static const xw_ino root_to[] = {20, 21, 22, 23, 24, 25};
	static const char *const sub[] = {"leaf", "back"};
	static const xw_ino sub_to[] = {30, 31};
	static const struct {
		const char *path;
		bool follow;
		int rc;
		xw_ino ino;
	} cases[] = {
		{"/", false, 0, 2},
		{"", false, 0, 2},
		{"dir", false, 0, 20},
		{"//dir//leaf", false, 0, 30},
		{"/dir/", false, 0, 20},
		{"/dir/..", false, 0, 2},
		{"/../../dir/./leaf", false, 0, 30},
		{"/file", false, 0, 21},
		{"/file/", false, XW_ERR_INPUT, 0},
		{"/file/x", false, XW_ERR_INPUT, 0},
		{"/none", false, XW_ERR_NOTFOUND, 0},
		{"/abs", false, 0, 22},
		{"/abs", true, 0, 30},
		{"/rel", true, 0, 30},
		{"/rel/", false, XW_ERR_INPUT, 0},
		{"/up", true, 0, 20},
		{"/up/leaf", false, 0, 30},
		{"/dir/back/file", false, 0, 21},
		{"/dir/back/dir/back/dir/back/dir/leaf", false, 0, 30},
		{"/loop", false, 0, 24},
		{"/loop", true, XW_ERR_LIMIT, 0},
		{"/loop/x", false, XW_ERR_LIMIT, 0},
	};
	struct xw_inode inode = {.mode = XW_S_IFREG};
	struct fixture fx;
	xw_ino ino;

	make_image(&fx, true);
	make_dir(&fx, 2, 2, 6, root, root_to, true);
	make_dir(&fx, 20, 2, 2, sub, sub_to, true);
	put_inode(&fx, 21, &inode, NULL, 0);
	put_inode(&fx, 30, &inode, NULL, 0);
	put_link(&fx, 22, "/dir/leaf");
	put_link(&fx, 23, "dir/leaf");
	put_link(&fx, 24, "loop");
	put_link(&fx, 25, "../../dir");
	put_link(&fx, 31, "..");
	open_it(&fx, 0);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		ino = 0;
		ck_assert_int_eq(
			xw_path_resolve(fx.img, XW_INO_ROOT, cases[i].path, cases[i].follow, &ino),
			cases[i].rc);
		ck_assert_uint_eq(cases[i].rc ? 0 : ino, cases[i].ino);
	}
	drop(&fx);
}
END_TEST

/* ---- random damage ---- */

/* Bytes of metadata changed at random: the walk ends, and touches nothing that is not its own. */
START_TEST(random_damage)
{
	uint64_t state = (uint64_t)_i * 7919 + 1;
	struct walk_stats st;
	struct fixture fx;
	xw_blk end;

	make_rich_image(&fx, _i & 1);
	end = fx.next;
	for (unsigned round = 0; round < 40; round++) {
		for (unsigned i = 0; i < 1 + round; i++) {
			static const uint8_t bytes[] = {0, 1, 0x7F, 0x80, 0xFF, 4, 12};
			uint64_t off;
			uint8_t byte;

			state = state * 6364136223846793005u + 1442695040888963407u;
			byte = state & 1 << 20 ? bytes[(state >> 21) % sizeof(bytes)]
					       : (uint8_t)(state >> 24);
			/* inode table, mapped blocks, xattr block; seldom the superblock and
			 * descriptor */
			switch ((state >> 33) % 16) {
			case 0:
				off = XW_SUPER_OFFSET + (state >> 40) % 400;
				break;
			case 1:
				off = 2 * BS + (state >> 40) % 64;
				break;
			case 2:
			case 3:
				off = 4010 * BS + (state >> 40) % 80;
				break;
			case 4:
			case 5:
			case 6:
			case 7:
			case 8:
				off = TABLE * BS + (state >> 40) % (44 * INODE_SIZE);
				break;
			default:
				off = DATA * BS + (state >> 40) % ((end - DATA) * BS);
				break;
			}
			ck_assert_int_eq(xw_dev_pwrite(fx.dev, &byte, 1, off), 0);
		}
		if (xw_image_open(fx.dev, XW_IMAGE_NOCSUM | XW_IMAGE_ANY_FEATURES, &fx.diag,
				  &fx.img)) {
			put_super(&fx);
			open_it(&fx, XW_IMAGE_NOCSUM);
		}
		walk_image(fx.img, &st);
		xw_image_close(fx.img);
		fx.img = NULL;
		put_super(&fx);
	}
	drop(&fx);
}
END_TEST

START_TEST(whole_walk)
{
	struct walk_stats st;
	struct fixture fx;

	make_rich_image(&fx, _i);
	open_it(&fx, 0);
	walk_image(fx.img, &st);
	ck_assert_uint_eq(st.errors, 1); /* the path that is not there */
	ck_assert_uint_eq(st.inodes, 9);
	ck_assert_uint_eq(st.entries, 3000 + 300 + 4);
	ck_assert_uint_eq(st.xattrs, 3);
	ck_assert_uint_eq(st.map_nodes, (4 + 16 + 64) + 4 + (1 + 2 + 3));
	drop(&fx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("read");
	TCase *tc = tcase_create("read");

	tcase_set_timeout(tc, 300);
	unit_add_cases(tc, open_good, "no checksums", "checksums");
	tcase_add_loop_test(tc, open_bad, 0, N_OPEN);
	tcase_add_test(tc, inode_damage);
	tcase_add_test(tc, scan_sees_what_is_used);
	tcase_add_test(tc, paths);
	unit_add_cases(tc, whole_walk, "no checksums", "checksums");
	tcase_add_loop_test(tc, random_damage, 0, 20);
	tcase_add_test(tc, backups_and_descriptors);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
