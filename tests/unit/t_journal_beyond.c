/* SPDX-License-Identifier: MIT */
/* What a plan takes from a damaged log: before the damage, past it, behind it. */
#include "config.h"

#include <string.h>

#include "log_fix.h"

/*
 * Four transactions, 7 to 10, one byte damaged, and the versions of blocks 10 to 14 that the three
 * ways to go on would replay. 0: none.
 */
static const struct beyond {
	uint32_t block, byte; /* of the log */
	bool headers, revokes_lost;
	uint32_t salvage[5], beyond[5], rest[5];
} beyonds[] = {
	/* the descriptor of 8 */
	{5, 600, true, false, {1, 1}, {0, 1, 3, 3, 4}, {0, 0, 3, 3, 4}},
	/* its commit block */
	{8, 0x11, true, false, {1, 1}, {0, 2, 3, 3, 4}, {0, 2, 3, 3, 4}},
	/* the revoke block of 9, which revokes block 10 */
	{9, 600, true, true, {1, 2, 2}, {1, 2, 3, 3, 4}, {0, 0, 3, 3, 4}},
	/* the magic of the descriptor of 8: it may have been a revoke block */
	{5, 0, false, true, {1, 1}, {0, 1, 3, 3, 4}, {0, 0, 3, 3, 4}},
	/* data of 8 */
	{6, 0, false, false, {0, 1, 3, 3, 4}, {0, 1, 3, 3, 4}, {0}},
	/* the last descriptor, and the last commit block */
	{14, 600, true, false, {0, 2, 3, 3}, {0, 2, 3, 3}, {0}},
	{16, 0x11, true, false, {0, 2, 3, 3}, {0, 2, 3, 3}, {0}},
};

static void has_versions(struct fixture *f, unsigned flags, const uint32_t want[5],
			 const struct beyond *b)
{
	unsigned char *got = malloc(f->bs);
	struct xw_replay r;
	size_t i, n = 0;

	ck_assert_int_eq(xw_replay_plan(f->log, flags, TARGET, &r), 0);
	for (unsigned k = 0; k < 5; k++) {
		ck_assert_int_eq(xw_replay_find(&r, 10 + k, &i), want[k] != 0);
		if (!want[k])
			continue;
		n++;
		contents(f, 10 + k, want[k], f->buf);
		ck_assert_int_eq(xw_replay_read(f->log, &r, i, got), 0);
		ck_assert_mem_eq(got, f->buf, f->bs);
	}
	ck_assert_uint_eq(r.blocks.n, n);
	if (flags == XW_REPLAY_SALVAGE)
		ck_assert_int_eq(r.headers, b->headers);
	else
		ck_assert_int_eq(r.revokes_lost, b->revokes_lost);
	xw_replay_free(&r);
	free(got);
}

START_TEST(behind_damage)
{
	static const struct format fmt = {1024, XW_JBD2_INCOMPAT_CSUM_V3, 0};
	static const xw_blk first[] = {10, 11}, second[] = {11, 12}, third[] = {12, 13}, last = 14;
	const struct beyond *b = &beyonds[_i];
	struct fixture f;
	unsigned char byte;
	uint64_t off;

	setup_log(&f, &fmt, 7);
	put_descriptor(&f, first, 2, 1);
	put_commit(&f, 100);
	put_descriptor(&f, second, 2, 2);
	put_commit(&f, 100);
	put_revoke(&f, first, 1);
	put_descriptor(&f, third, 2, 3);
	put_commit(&f, 101);
	put_descriptor(&f, &last, 1, 4);
	put_commit(&f, 102);
	ck_assert_int_eq(xw_log_set_start(f.log, 1, 7), 0);
	ck_assert_int_eq(xw_log_where(f.log, b->block, &off), 0);
	ck_assert_int_eq(xw_dev_pread(f.dev, &byte, 1, off + b->byte), 0);
	byte ^= 0x40;
	ck_assert_int_eq(xw_dev_pwrite(f.dev, &byte, 1, off + b->byte), 0);
	has_versions(&f, XW_REPLAY_SALVAGE, b->salvage, b);
	has_versions(&f, XW_REPLAY_SALVAGE | XW_REPLAY_BEYOND, b->beyond, b);
	has_versions(&f, XW_REPLAY_SALVAGE | XW_REPLAY_BEYOND | XW_REPLAY_REST, b->rest, b);
	teardown_log(&f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("journal beyond damage");
	TCase *tc = tcase_create("journal beyond damage");

	unit_add_table(tc, behind_damage, beyonds);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
