/* SPDX-License-Identifier: MIT */
/*
 * Profiles of aging as streams of operations: the same on every machine (the hashes below were
 * made once and are never to change), possible, and with the distributions that were asked for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "age/source.h"
#include "age/tables.h"
#include "base/hash.h"
#include "unit.h"

static struct xw_diag diag;
static struct xw_age_source src;

static const struct xw_age_base base = {
	.blocks = 65536, .free = 60000, .block_size = 4096, .now = 1700000000};

static void setup(void)
{
	memset(&diag, 0, sizeof(diag));
	memset(&src, 0, sizeof(src));
}

static void teardown(void)
{
	if (src.close)
		src.close(src.state);
}

START_TEST(random_numbers)
{
	struct xw_age_rng r = {.state = 1};

	ck_assert_uint_eq(xw_age_random(&r), UINT64_C(0x910a2dec89025cc1));
	for (int i = 0; i < 10000; i++) {
		ck_assert_uint_lt(xw_age_below(&r, 7), 7);
		const uint64_t n = xw_age_log_uniform(&r, 100, 70000);

		ck_assert_uint_ge(n, 100);
		ck_assert_uint_le(n, 70000);
		ck_assert_uint_le(xw_age_log_uniform(&r, 0, 3), 3);
	}
	ck_assert_uint_eq(xw_age_log_uniform(&r, 5, 5), 5);
	ck_assert_uint_eq(xw_age_log_uniform(&r, 0, 0), 0);
}
END_TEST

static const struct {
	struct xw_age_opts o;
	uint64_t ops, hash;
} streams[] = {
	{{.profile = XW_AGE_PAZDERA, .seed = 1, .files = 500, .size_max = 65536},
	 0,
	 UINT64_C(16331449574304454319)},
	{{.profile = XW_AGE_PAZDERA, .seed = 2, .ops = 5000, .files = 50, .size_max = 9},
	 5000,
	 UINT64_C(4390225623519626842)},
	{{.profile = XW_AGE_GERIATRIX, .seed = 3, .ops = 20000},
	 20000,
	 UINT64_C(14367158234549870595)},
	{{.profile = XW_AGE_GERIATRIX, .seed = 4, .ops = 9000, .model = "douceur"},
	 9000,
	 UINT64_C(1691709647133106445)},
	{{.profile = XW_AGE_GERIATRIX, .seed = 5, .model = "dayal", .util = 5000},
	 0,
	 UINT64_C(4752787827430020935)},
	{{.profile = XW_AGE_ALTERNATE, .used = 65536, .free = 32768},
	 0,
	 UINT64_C(5076474735305898105)},
};

/* Each file is created before it is deleted, once; two runs are the same. */
START_TEST(stream)
{
	const struct xw_age_opts *o = &streams[_i].o;
	uint64_t hash[2] = {0}, n[2] = {0};

	for (int round = 0; round < 2; round++) {
		int64_t live = 0;
		struct xw_age_op op;
		int more;

		ck_assert_int_eq(xw_age_source_open(o, &base, &diag, &src), 0);
		while ((more = src.next(src.state, &op)) > 0) {
			live += op.what == XW_AGE_CREATE ? 1 : -1;
			ck_assert_int_ge(live, 0);
			hash[round] =
				xw_hash_fixed(op.path, strlen(op.path), hash[round] + op.what);
			hash[round] += op.bytes;
			n[round]++;
			ck_assert_uint_lt(n[round], 1000000);
		}
		ck_assert_int_eq(more, 0);
		src.close(src.state);
		src.close = NULL;
	}
	ck_assert_uint_eq(n[0], n[1]);
	ck_assert_uint_eq(hash[0], hash[1]);
	if (streams[_i].ops)
		ck_assert_uint_eq(n[0], streams[_i].ops);
	ck_assert_uint_eq(hash[0], streams[_i].hash);
}
END_TEST

/* Shares of sizes and depths within three hundredths, of ages within five. */
START_TEST(distributions)
{
	const struct xw_age_opts o = {.profile = XW_AGE_GERIATRIX, .seed = 9, .ops = 60000};
	struct xw_age_outcome res = {0};
	const struct xw_age_shares *all[] = {&res.sizes, &res.depths, &res.ages};
	struct xw_age_op op;

	ck_assert_int_eq(xw_age_source_open(&o, &base, &diag, &src), 0);
	while (src.next(src.state, &op) > 0)
		;
	src.shares(src.state, &res);
	for (size_t k = 0; k < XW_ARRAY_SIZE(all); k++) {
		int64_t sum = 0;

		ck_assert_uint_gt(all[k]->n, 3);
		for (size_t i = 0; i < all[k]->n; i++) {
			const int64_t d = (int64_t)all[k]->row[i].achieved - all[k]->row[i].asked;

			ck_assert_int_le(d < 0 ? -d : d, k == 2 ? 500 : 300);
			sum += all[k]->row[i].achieved;
		}
		ck_assert_int_ge(sum, XW_AGE_ONE - (int64_t)all[k]->n);
	}
}
END_TEST

static const char *write_file(const char *text)
{
	static char path[] = "t_age.XXXXXX";
	int fd;

	strcpy(path, "t_age.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq((int)write(fd, text, strlen(text)), (int)strlen(text));
	close(fd);
	return path;
}

static const struct {
	const char *text, *complaint; /* NULL: it is right */
} traces[] = {
	{"# comment\n\ncreate a/b 100\n", NULL},
	{"create a\\ b 100\nsetxattr a\\ b user.x y\n", NULL},
	{"create a", "wrong number of words"},
	{"create a b c d e f", "wrong number of words"},
	{"make a", "unknown operation"},
	{"create /a 1", "paths are relative"},
	{"create a//b 1", "paths are relative"},
	{"create a/ 1", "paths are relative"},
	{"create a x", "number of bytes"},
	{"create a 99999999999999999", "number of bytes"},
	{"setxattr a system.x y", "user.NAME"},
	{"delete a\ncreate", "line 2"},
};

START_TEST(trace)
{
	struct xw_age_opts o = {.profile = XW_AGE_TRACE};
	struct xw_age_op op;
	int more;

	o.trace = write_file(traces[_i].text);
	ck_assert_int_eq(xw_age_source_open(&o, &base, &diag, &src), 0);
	while ((more = src.next(src.state, &op)) > 0)
		;
	unlink(o.trace);
	ck_assert_int_eq(more, traces[_i].complaint ? XW_ERR_INPUT : 0);
	if (traces[_i].complaint)
		ck_assert_ptr_nonnull(strstr(diag.text, traces[_i].complaint));
}
END_TEST

static const struct {
	const char *text, *complaint;
} files[] = {
	{"2\n10.5 3\n20 1\n\nFormat:\n", NULL},
	{"", "ends early"},
	{"x\n1 1\n", "number of rows"},
	{"0\n", "number of rows"},
	{"99999999\n", "number of rows"},
	{"2\n1 1\n", "ends early"},
	{"1\n5\n", "value and a weight"},
	{"1\na b\n", "value and a weight"},
	{"2\n5 1\n5 1\n", "ascend"},
	{"1\n5 0\n", "weights are 0"},
};

START_TEST(distribution_file)
{
	struct xw_age_opts o = {.profile = XW_AGE_GERIATRIX};
	struct xw_age_tables t;
	int rc;

	o.ages = write_file(files[_i].text);
	rc = xw_age_tables_load(&o, &diag, &t);
	unlink(o.ages);
	ck_assert_int_eq(rc, files[_i].complaint ? XW_ERR_USAGE : 0);
	if (files[_i].complaint)
		ck_assert_ptr_nonnull(strstr(diag.text, files[_i].complaint));
	else
		ck_assert_uint_eq(t.ages.weight, 4);
	xw_age_tables_free(&t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("age");
	TCase *tc = tcase_create("age");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, random_numbers);
	unit_add_table(tc, stream, streams);
	tcase_add_test(tc, distributions);
	unit_add_rows(tc, trace, traces, text);
	unit_add_rows(tc, distribution_file, files, text);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
