/* SPDX-License-Identifier: MIT */
/* lib/read on a hand-made image: directories, inline data, extended attributes. */
#include "unit.h"

#include "read_fix.h"

/* ---- directories ---- */

/* Entries the iterator gives, apart from "." and ".."; errors are counted. */
static unsigned count_entries(struct fixture *fx, xw_ino ino, unsigned *errors)
{
	uint8_t raw[INODE_SIZE];
	struct xw_dir_iter it;
	struct xw_inode inode;
	struct xw_dirent e;
	unsigned n = 0;
	int rc;

	*errors = 0;
	ck_assert_int_eq(xw_image_inode(fx->img, ino, &inode, raw), 0);
	ck_assert_int_eq(xw_dir_begin(fx->img, ino, &inode, raw, &it), 0);
	while ((rc = xw_dir_next(&it, &e, NULL))) {
		if (rc < 0)
			++*errors;
		else if (e.name[0] != '.')
			n++;
	}
	ck_assert_int_eq(xw_dir_next(&it, &e, NULL), 0);
	xw_dir_end(&it);
	return n;
}

START_TEST(directories)
{
	static const unsigned counts[] = {0, 1, 50, 3000};
	struct fixture fx;
	unsigned errors;

	for (unsigned c = 0; c < XW_ARRAY_SIZE(counts); c++) {
		make_image(&fx, _i & 1);
		make_dir(&fx, 2, 2, counts[c], NULL, NULL, _i & 2);
		open_it(&fx, 0);
		ck_assert_uint_eq(count_entries(&fx, 2, &errors), counts[c]);
		ck_assert_uint_eq(errors, 0);
		drop(&fx);
	}
}
END_TEST

/* Damage to one block costs the names of this block and nothing else. */
START_TEST(directory_damage)
{
	static const struct {
		uint32_t block, off;
		uint8_t byte;
		bool fix_csum;
	} cases[] = {
		{3, 4, 0, true}, /* rec_len 0 */
		{3, 4, 11, true}, /* unaligned */
		{3, 5, 0xFF, true}, /* beyond the block */
		{3, 6, 0, true}, /* no name */
		{3, 6, 200, true}, /* name longer than the record */
		{3, 3, 0xFF, true}, /* inode number */
		{3, 9, '/', true}, /* name */
		{3, 9, 0, true},       {3, 100, 0x55, false}, /* checksum */
		{3, BS - 5, 0, false}, /* no tail */
		{0, 700, 0x55, false}, /* index checksum is over used entries only: undamaged */
		{0, 41, 0x77, false}, /* an index entry */
	};
	struct fixture fx;
	unsigned errors, lost;
	uint8_t buf[BS];
	xw_blk blk;

	make_image(&fx, true);
	blk = fx.next + cases[_i].block;
	make_dir(&fx, 2, 2, 3000, NULL, NULL, true);
	ck_assert_int_eq(xw_dev_pread(fx.dev, buf, BS, blk * BS), 0);
	buf[cases[_i].off] = cases[_i].byte;
	if (cases[_i].fix_csum)
		xw_dir_block_set_csum(buf, BS, inode_seed(&fx, 2));
	put_block(&fx, blk, buf);
	open_it(&fx, 0);
	lost = 3000 - count_entries(&fx, 2, &errors);
	ck_assert_uint_eq(errors, _i == 10 ? 0 : 1);
	if (cases[_i].block == 3)
		ck_assert(lost > 0 && lost < 70);
	else
		ck_assert_uint_eq(lost, 0);
	drop(&fx);
}
END_TEST

/* A map that names a block again and again: its names come once, and that is said once. */
START_TEST(a_block_more_than_once)
{
	struct xw_inode inode = {.mode = XW_S_IFDIR | 0755, .links = 2, .size = 12 * BS};
	struct fixture fx;
	unsigned errors;
	xw_blk blk;

	make_image(&fx, false);
	blk = fx.next;
	make_dir(&fx, 30, 2, 100, NULL, NULL, false); /* two blocks */
	for (unsigned i = 0; i < 12; i++)
		map_block(&fx, &inode, i, blk + (i + _i) % 2);
	put_inode(&fx, 30, &inode, NULL, 0);
	open_it(&fx, 0);
	ck_assert_uint_eq(count_entries(&fx, 30, &errors), 100);
	/* with "." and "..", which the second block may not have */
	ck_assert_uint_eq(errors, _i ? 3 : 1);
	drop(&fx);
}
END_TEST

START_TEST(directory_is_none)
{
	struct xw_inode inode = {.mode = XW_S_IFREG};
	struct xw_dir_iter it;
	struct fixture fx;

	make_image(&fx, true);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_dir_begin(fx.img, 12, &inode, NULL, &it), XW_ERR_INPUT);
	xw_dir_end(&it);
	drop(&fx);
}
END_TEST

static void put_dirent(uint8_t *area, uint32_t size, uint32_t off, uint32_t rec_len,
		       const char *name)
{
	const struct xw_dirent e = {.ino = 11,
				    .rec_len = rec_len,
				    .name_len = (uint8_t)strlen(name),
				    .ftype = XW_FT_REG,
				    .name = name};

	xw_dirent_encode(area, size, off, &e);
}

START_TEST(inline_directory)
{
	struct xw_inode inode = {
		.mode = XW_S_IFDIR | 0755, .flags = XW_FL_INLINE_DATA, .size = 60 + 24, .links = 2};
	uint8_t area[96], more[24] = {0}, raw[INODE_SIZE];
	struct fixture fx;
	struct xw_dir_iter it;
	struct xw_dirent e;
	static const char *const want[] = {".", "..", "one", "two", "three"};

	make_image(&fx, true);
	poke32(inode.block, 2);
	put_dirent(inode.block + 4, 56, 0, 12, "one");
	put_dirent(inode.block + 4, 56, 12, 44, "two");
	put_dirent(more, 24, 0, 24, "three");
	make_ibody(area, XW_XI_SYSTEM, "data", more, sizeof(more));
	put_inode(&fx, 12, &inode, area, sizeof(area));
	open_it(&fx, 0);
	ck_assert_int_eq(xw_image_inode(fx.img, 12, &inode, raw), 0);
	ck_assert_int_eq(xw_dir_begin(fx.img, 12, &inode, raw, &it), 0);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(want); i++) {
		ck_assert_int_eq(xw_dir_next(&it, &e, NULL), 1);
		ck_assert_uint_eq(e.name_len, strlen(want[i]));
		ck_assert_mem_eq(e.name, want[i], e.name_len);
		ck_assert_uint_eq(e.ino, i == 0 ? 12 : i == 1 ? 2 : 11);
	}
	ck_assert_int_eq(xw_dir_next(&it, &e, NULL), 0);
	xw_dir_end(&it);
	drop(&fx);
}
END_TEST

START_TEST(inline_file)
{
	struct xw_inode inode = {.mode = XW_S_IFREG, .flags = XW_FL_INLINE_DATA, .size = 90};
	char text[91] = "", got[200];
	uint8_t area[96], raw[INODE_SIZE];
	struct fixture fx;
	size_t n;

	make_image(&fx, true);
	for (unsigned i = 0; i < 90; i++)
		text[i] = (char)('!' + i);
	memcpy(inode.block, text, 60);
	make_ibody(area, XW_XI_SYSTEM, "data", text + 60, 30);
	put_inode(&fx, 12, &inode, area, sizeof(area));
	open_it(&fx, 0);
	ck_assert_int_eq(xw_image_inode(fx.img, 12, &inode, raw), 0);
	for (unsigned off = 0; off < 100; off++) {
		for (unsigned len = 0; len < 100; len += 7) {
			unsigned expect = off >= 90 ? 0 : XW_MIN(len, 90 - off);

			ck_assert_int_eq(xw_file_pread(fx.img, 12, &inode, raw, off, got, len, &n),
					 0);
			ck_assert_uint_eq(n, expect);
			ck_assert_mem_eq(got, text + off, n);
		}
	}
	drop(&fx);
}
END_TEST

/* ---- attributes ---- */

START_TEST(attributes)
{
	static const struct {
		uint8_t index;
		const char *name;
		uint32_t len;
	} want[] = {
		{XW_XI_SECURITY, "selinux", 5}, {XW_XI_USER, "b", 5}, {XW_XI_TRUSTED, "big", 3000}};
	uint8_t raw[INODE_SIZE], *value;
	struct xw_xattr_iter it;
	struct xw_xattr_ref a;
	struct xw_inode inode;
	struct fixture fx;
	uint32_t len;

	make_image(&fx, _i);
	make_xattr_inode(&fx, &inode);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_image_inode(fx.img, 12, &inode, raw), 0);
	ck_assert_int_eq(xw_xattr_begin(fx.img, 12, &inode, raw, &it), 0);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(want); i++) {
		ck_assert_int_eq(xw_xattr_next(&it, &a), 1);
		ck_assert_uint_eq(a.index, want[i].index);
		ck_assert_uint_eq(a.name_len, strlen(want[i].name));
		ck_assert_mem_eq(a.name, want[i].name, a.name_len);
		ck_assert_uint_eq(a.value_len, want[i].len);
		ck_assert_int_eq(a.in_block, i > 0);
		if (i < 2)
			ck_assert_mem_eq(a.value, i ? "value" : "label", 5);
		else
			ck_assert_uint_eq(a.value[2999], (uint8_t)(2999 * 7));
	}
	ck_assert_int_eq(xw_xattr_next(&it, &a), 0);
	xw_xattr_end(&it);
	ck_assert_int_eq(xw_xattr_get(fx.img, 12, &inode, raw, XW_XI_USER, "b", &value, &len), 0);
	ck_assert(len == 5 && !memcmp(value, "value", 5));
	free(value);
	ck_assert_int_eq(xw_xattr_get(fx.img, 12, &inode, raw, XW_XI_USER, "bb", &value, &len),
			 XW_ERR_NOTFOUND);
	ck_assert_int_eq(fx.diag.code, 0);
	drop(&fx);
}
END_TEST

/* Damage in one place costs only what is there. */
START_TEST(attribute_damage)
{
	static const struct {
		uint64_t at;
		uint8_t byte;
		unsigned flags, good, bad;
	} cases[] = {
		{4010 * BS + 2, 0, XW_IMAGE_NOCSUM, 1, 1}, /* magic */
		{4010 * BS + 40, 1, 0, 1, 1}, /* checksum */
		{4010 * BS + 34, 0xFF, XW_IMAGE_NOCSUM, 1, 1}, /* value offset */
		{4010 * BS + 41, 0xFF, XW_IMAGE_NOCSUM, 1, 1}, /* value size */
		{4000 * BS + 9, 1, 0, 2, 1}, /* the value in an inode */
		{TABLE * BS + 19 * INODE_SIZE + 4, 1, XW_IMAGE_NOCSUM, 2, 1}, /* its size */
		{TABLE * BS + 19 * INODE_SIZE + 34, 8, XW_IMAGE_NOCSUM, 2, 1}, /* its flag */
		{TABLE * BS + 11 * INODE_SIZE + 160, 1, XW_IMAGE_NOCSUM, 2, 0}, /* no area */
		{TABLE * BS + 11 * INODE_SIZE + 166, 250, XW_IMAGE_NOCSUM, 2, 1}, /* value offset */
		{TABLE * BS + 11 * INODE_SIZE + 0x6B, 9, XW_IMAGE_NOCSUM, 1, 1}, /* block number */
	};
	unsigned good = 0, bad = 0;
	uint8_t raw[INODE_SIZE];
	struct xw_xattr_iter it;
	struct xw_xattr_ref a;
	struct xw_inode inode;
	struct fixture fx;
	int rc;

	make_image(&fx, true);
	make_xattr_inode(&fx, &inode);
	ck_assert_int_eq(xw_dev_pwrite(fx.dev, &cases[_i].byte, 1, cases[_i].at), 0);
	open_it(&fx, cases[_i].flags);
	ck_assert_int_eq(xw_image_inode(fx.img, 12, &inode, raw), 0);
	ck_assert_int_eq(xw_xattr_begin(fx.img, 12, &inode, raw, &it), 0);
	while ((rc = xw_xattr_next(&it, &a)))
		*(rc > 0 ? &good : &bad) += 1;
	xw_xattr_end(&it);
	ck_assert_uint_eq(good, cases[_i].good);
	ck_assert_uint_eq(bad, cases[_i].bad);
	drop(&fx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("read_dirs");
	TCase *tc = tcase_create("read_dirs");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, directories, 0, 4);
	tcase_add_loop_test(tc, directory_damage, 0, 12);
	tcase_add_test(tc, directory_is_none);
	tcase_add_loop_test(tc, a_block_more_than_once, 0, 2);
	tcase_add_test(tc, inline_directory);
	tcase_add_test(tc, inline_file);
	unit_add_cases(tc, attributes, "no checksums", "checksums");
	tcase_add_loop_test(tc, attribute_damage, 0, 10);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
