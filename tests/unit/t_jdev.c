/* SPDX-License-Identifier: MIT */
/* External journals: made as mke2fs makes them, refused when they are none, taken over once. */
#include <check.h>
#include <string.h>

#include "base/endian.h"
#include "base/err.h"
#include "fill/jdev.h"
#include "memdev.h"
#include "unit.h"

static const uint8_t one[16] = "filesystem one.", two[16] = "filesystem two.";

static void make(struct xw_jdev *j, uint32_t bs, bool csum)
{
	struct xw_mkfs_params p;
	struct xw_super sb;

	memset(j, 0, sizeof(*j));
	xw_params_init(&p);
	p.block_size = bs;
	p.inode_size = 256;
	p.revision = 1;
	p.size_bytes = 4096ull * bs;
	p.now = 1700000000;
	p.features.w[XW_FW_INCOMPAT] = XW_INCOMPAT_JOURNAL_DEV;
	p.features.w[XW_FW_RO_COMPAT] = csum ? XW_RO_METADATA_CSUM : 0;
	memset(p.uuid, 0x11, sizeof(p.uuid));
	ck_assert_int_eq(xw_dev_open_mem(0, NULL, &j->dev), 0);
	ck_assert_int_eq(xw_jdev_make(j->dev, &p, NULL, &sb), 0);
	ck_assert_uint_eq(j->dev->size, p.size_bytes);
	xw_params_free(&p);
}

START_TEST(made)
{
	uint32_t bs = 1024u << _i % 3;
	struct xw_jdev j;

	make(&j, bs, _i >= 3);
	ck_assert_int_eq(xw_jdev_read(&j, NULL), 0);
	ck_assert_uint_eq(j.sb.blocks_count, 4096);
	ck_assert_uint_eq(j.sb.inodes_count, 0);
	ck_assert_uint_eq(j.sb.first_data_block, bs == 1024);
	ck_assert_uint_eq(j.sb.blocks_per_group, 8 * bs);
	ck_assert_uint_eq(j.at, bs == 1024 ? 2048 : bs);
	ck_assert_uint_eq(j.jsb.maxlen, 4096);
	ck_assert_uint_eq(j.jsb.first, bs == 1024 ? 3 : 2);
	ck_assert_uint_eq(j.jsb.sequence, 1);
	ck_assert_uint_eq(j.jsb.start, 0);
	ck_assert_uint_eq(j.jsb.nr_users, 0);
	ck_assert_mem_eq(j.jsb.uuid, j.sb.uuid, 16);
	xw_dev_close(j.dev);
}
END_TEST

START_TEST(users)
{
	struct xw_diag diag = {0};
	struct xw_jdev j;

	make(&j, 4096, true);
	ck_assert_int_eq(xw_jdev_read(&j, NULL), 0);
	ck_assert_int_eq(xw_jdev_check(&j, one, false, NULL), 0);
	ck_assert_int_eq(xw_jdev_attach(&j, one), 0);
	ck_assert_int_eq(xw_jdev_read(&j, NULL), 0);
	ck_assert_uint_eq(j.jsb.nr_users, 1);
	ck_assert_mem_eq(j.jsb.users, one, 16);
	ck_assert_int_eq(xw_jdev_check(&j, one, false, NULL), 0);
	ck_assert_int_eq(xw_jdev_check(&j, two, false, &diag), XW_ERR_EXISTS);
	ck_assert_ptr_nonnull(strstr(diag.text, "another filesystem"));
	ck_assert_int_eq(xw_jdev_check(&j, two, true, NULL), 0);
	ck_assert_int_eq(xw_jdev_attach(&j, two), 0);
	ck_assert_int_eq(xw_jdev_read(&j, NULL), 0);
	ck_assert_uint_eq(j.jsb.nr_users, 1);
	ck_assert_mem_eq(j.jsb.users, two, 16);
	xw_dev_close(j.dev);
}
END_TEST

/* A log that was never replayed; what is left of it must not follow on the new one. */
START_TEST(dirty_log)
{
	uint8_t log[XW_JSB_SIZE];
	struct xw_diag diag = {0};
	struct xw_jdev j;

	make(&j, 4096, false);
	ck_assert_int_eq(xw_jdev_read(&j, NULL), 0);
	j.jsb.start = 7;
	j.jsb.sequence = 90;
	xw_jsb_encode(&j.jsb, log);
	ck_assert_int_eq(xw_dev_pwrite(j.dev, log, sizeof(log), j.at), 0);
	ck_assert_int_eq(xw_jdev_read(&j, NULL), 0);
	ck_assert_int_eq(xw_jdev_check(&j, one, false, &diag), XW_ERR_EXISTS);
	ck_assert_int_eq(xw_jdev_attach(&j, one), 0);
	ck_assert_int_eq(xw_jdev_read(&j, NULL), 0);
	ck_assert_uint_eq(j.jsb.start, 0);
	ck_assert_uint_ge(j.jsb.sequence, 90 + 4096);
	xw_dev_close(j.dev);
}
END_TEST

/* One changed 32-bit word, at a byte from the start: no journal, or a damaged one. */
static const struct {
	unsigned off;
	uint32_t value;
	const char *said;
} damages[] = {
	{1024 + 0x38, 0x0001EF54, "not an external journal"}, /* magic */
	{1024 + 0x60, 0x00000002, "not an external journal"}, /* features */
	{1024 + 0x68, 0x99999999, "damaged"}, /* UUID of the one, not of the other */
	{4096, 0, "damaged"}, /* the log's magic */
	{4096 + 0x0C, 0x00040000, "damaged"}, /* block size 1024 */
	{4096 + 0x10, 0x00200000, "shorter"}, /* 8192 blocks, big-endian */
};

START_TEST(refused)
{
	struct xw_diag diag = {0};
	uint8_t word[4];
	struct xw_jdev j;

	make(&j, 4096, false);
	poke32(word, damages[_i].value);
	ck_assert_int_eq(xw_dev_pwrite(j.dev, word, 4, damages[_i].off), 0);
	ck_assert_int_eq(xw_jdev_read(&j, &diag), XW_ERR_USAGE);
	ck_assert_msg(strstr(diag.text, damages[_i].said), "%s", diag.text);
	xw_dev_close(j.dev);
}
END_TEST

START_TEST(checksum_counts)
{
	struct xw_diag diag = {0};
	struct xw_jdev j;

	make(&j, 4096, true);
	ck_assert_int_eq(xw_dev_pwrite(j.dev, "x", 1, 1024 + 0x78), 0);
	ck_assert_int_eq(xw_jdev_read(&j, &diag), XW_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(diag.text, "checksum"));
	xw_dev_close(j.dev);
}
END_TEST

START_TEST(short_devices)
{
	static const uint64_t sizes[] = {0, 1000, 2047, 2048, 4096, 5119};
	struct xw_jdev j;

	make(&j, 4096, false);
	ck_assert_int_eq(xw_dev_set_size(j.dev, sizes[_i]), 0);
	ck_assert_int_eq(xw_jdev_read(&j, NULL), XW_ERR_USAGE);
	xw_dev_close(j.dev);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("jdev");
	TCase *t = tcase_create("jdev");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, made, 0, 6);
	tcase_add_test(t, users);
	tcase_add_test(t, dirty_log);
	unit_add_rows(t, refused, damages, said);
	tcase_add_test(t, checksum_counts);
	tcase_add_loop_test(t, short_devices, 0, 6);
	suite_add_tcase(s, t);
	return unit_main(s);
}
