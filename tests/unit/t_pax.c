/* SPDX-License-Identifier: MIT */
/* pax records, times and numbers; which record wins. */
#include "config.h"

#include "import/pax.h"
#include "tarmake.h"

static struct xw_slice sl(const char *s)
{
	return (struct xw_slice){s, strlen(s)};
}

static const struct {
	const char *body;
	size_t len;
	int rc;
	const char *key, *value;
	size_t pos;
} records[] = {
	{"10 path=x\n", 10, 1, "path", "x", 10},
	{"5 k=\n", 5, 1, "k", "", 5},
	{"8 k=a=b\nmore", 12, 1, "k", "a=b", 8},
	{"7 k=\nb\n", 7, 1, "k", "\nb", 7},
	{"007 k=a\n", 8, XW_ERR_INPUT, "", "", 0}, /* 7 is one short */
	{"", 0, 0, "", "", 0},
	{"\0\0\0", 3, 0, "", "", 0},
	{"5 k=x", 5, XW_ERR_INPUT, "", "", 0},
	{"6 k=\n", 5, XW_ERR_INPUT, "", "", 0},
	{"4 k=\n", 5, XW_ERR_INPUT, "", "", 0},
	{"4 k\n", 4, XW_ERR_INPUT, "", "", 0},
	{"5 =v\n", 5, XW_ERR_INPUT, "", "", 0},
	{"5 kv\n", 5, XW_ERR_INPUT, "", "", 0},
	{" 5 k=\n", 6, XW_ERR_INPUT, "", "", 0},
	{"-5 k=\n", 6, XW_ERR_INPUT, "", "", 0},
	{"5k=v\n", 5, XW_ERR_INPUT, "", "", 0},
	{"5", 1, XW_ERR_INPUT, "", "", 0},
	{"0 k=v\n", 6, XW_ERR_INPUT, "", "", 0},
	{"99999999999999999999999999 k=v\n", 31, XW_ERR_INPUT, "", "", 0},
	{"18446744073709551621 k=v\n", 25, XW_ERR_INPUT, "", "", 0}, /* 2^64 + 5 */
};

START_TEST(record)
{
	struct xw_pax_rec r = {sl(""), sl("")};
	size_t pos = 0;

	ck_assert_msg(xw_pax_next(records[_i].body, records[_i].len, &pos, &r) == records[_i].rc,
		      "record %s", records[_i].body);
	tm_assert_slice(r.key, records[_i].key);
	tm_assert_slice(r.value, records[_i].value);
	ck_assert_uint_eq(pos, records[_i].pos);
}
END_TEST

/* The expectations are verify_image.py's pax_time(), divmod 10^9. */
static const struct {
	const char *text;
	int rc;
	int64_t sec;
	uint32_t nsec;
} times[] = {
	{"0", 0, 0, 0},
	{"1700000000", 0, 1700000000, 0},
	{"1700000000.5", 0, 1700000000, 500000000},
	{"1700000000.123456789", 0, 1700000000, 123456789},
	{"1700000000.1234567899", 0, 1700000000, 123456789},
	{"1700000000.", 0, 1700000000, 0},
	{".5", 0, 0, 500000000},
	{"-.5", 0, -1, 500000000},
	{"-0.5", 0, -1, 500000000},
	{"-1", 0, -1, 0},
	{"-1.0", 0, -1, 0},
	{"-1.25", 0, -2, 750000000},
	{"-1.0000000009", 0, -1, 0}, /* the tenth digit goes before the sign comes */
	{"-2147483648.999999999", 0, -2147483649, 1},
	{"+5.25", 0, 5, 250000000},
	{"9223372036854775806", 0, 9223372036854775806, 0},
	{"-9223372036854775806.5", 0, -9223372036854775807, 500000000},
	{"9223372036854775808", XW_ERR_INPUT, 0, 0},
	{"99999999999999999999999", XW_ERR_INPUT, 0, 0},
	{"", XW_ERR_INPUT, 0, 0},
	{"-", XW_ERR_INPUT, 0, 0},
	{".", XW_ERR_INPUT, 0, 0},
	{"-.", XW_ERR_INPUT, 0, 0},
	{"1e9", XW_ERR_INPUT, 0, 0},
	{"1.5x", XW_ERR_INPUT, 0, 0},
	{"1.0000000005x", XW_ERR_INPUT, 0, 0},
	{"1.5.5", XW_ERR_INPUT, 0, 0},
	{"--1", XW_ERR_INPUT, 0, 0},
	{" 1", XW_ERR_INPUT, 0, 0},
};

START_TEST(pax_time)
{
	struct xw_time t = {0, 0};

	ck_assert_msg(xw_pax_time(sl(times[_i].text), &t) == times[_i].rc, "%s", times[_i].text);
	ck_assert_msg(t.sec == times[_i].sec && t.nsec == times[_i].nsec, "%s", times[_i].text);
}
END_TEST

static const struct {
	const char *text;
	uint64_t max;
	int rc;
	uint64_t v;
} numbers[] = {
	{"0", 10, 0, 0},
	{"0010", 10, 0, 10},
	{"11", 10, XW_ERR_INPUT, 0},
	{"4294967295", UINT32_MAX, 0, UINT32_MAX},
	{"4294967296", UINT32_MAX, XW_ERR_INPUT, 0},
	{"18446744073709551615", UINT64_MAX, 0, UINT64_MAX},
	{"18446744073709551616", UINT64_MAX, XW_ERR_INPUT, 0},
	{"99999999999999999999", UINT64_MAX, XW_ERR_INPUT, 0},
	{"7", 5, XW_ERR_INPUT, 0},
	{"", 5, XW_ERR_INPUT, 0},
	{"-1", 5, XW_ERR_INPUT, 0},
	{"1 ", 5, XW_ERR_INPUT, 0},
};

START_TEST(number)
{
	uint64_t v = 0;

	ck_assert_msg(xw_pax_number(sl(numbers[_i].text), numbers[_i].max, &v) == numbers[_i].rc &&
			      v == numbers[_i].v,
		      "%s", numbers[_i].text);
}
END_TEST

/* Records in order, and what the one xattr is worth in the end. */
static const struct {
	const char *kv[6];
	const char *name, *value;
} wins[] = {
	{{"SCHILY.xattr.user.a=1", "SCHILY.xattr.user.a=2"}, "user.a", "2"},
	{{"SCHILY.xattr.user.a=1", "LIBARCHIVE.xattr.user.a=Mg=="}, "user.a", "1"},
	{{"LIBARCHIVE.xattr.user.a=Mg==", "SCHILY.xattr.user.a=1"}, "user.a", "1"},
	{{"LIBARCHIVE.xattr.user.a=Mg"}, "user.a", "2"},
	{{"LIBARCHIVE.xattr.user.a=M\ng=\n="}, "user.a", "2"},
	{{"LIBARCHIVE.xattr.user.a="}, "user.a", ""},
	{{"LIBARCHIVE.xattr.user.%c3%A9%2"}, "user.\xc3\xa9%2", ""},
	{{"LIBARCHIVE.xattr.user.%zz=/+9hYmM="},
	 "user.%zz",
	 "\xff\xef"
	 "abc"},
	{{"RHT.security.selinux=r", "LIBARCHIVE.xattr.security.selinux=bA=="},
	 "security.selinux",
	 "l"},
	{{"SCHILY.xattr.security.selinux=s", "RHT.security.selinux=r"}, "security.selinux", "s"},
	{{"RHT.security.selinux=r"}, "security.selinux", "r"},
	{{"SCHILY.xattr.user.a=x=y"}, "user.a", "x=y"},
};

START_TEST(xattr)
{
	struct xw_pax p = {0};
	const char *why;

	for (const char *const *kv = wins[_i].kv; *kv; kv++) {
		const char *eq = strchr(*kv, '=') ? strchr(*kv, '=') : strchr(*kv, '\0');
		struct xw_pax_rec r = {{*kv, (size_t)(eq - *kv)}, sl(*eq ? eq + 1 : eq)};

		ck_assert_int_eq(xw_pax_apply(&p, &r, &why), 0);
	}
	ck_assert_uint_eq(p.xattrs.n, 1);
	tm_assert_slice(p.xattrs.v[0].name, wins[_i].name);
	tm_assert_slice(p.xattrs.v[0].value, wins[_i].value);
	xw_pax_reset(&p);
	ck_assert_uint_eq(p.xattrs.n, 0);
	xw_pax_free(&p);
}
END_TEST

START_TEST(deletion)
{
	struct xw_pax p = {0};
	const char *why;

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(xw_pax_apply(&p, &(struct xw_pax_rec){sl("size"), sl("12")}, &why),
				 0);
		ck_assert_uint_eq(p.has, XW_PAX_SIZE);
		ck_assert_uint_eq(p.size, 12);
		ck_assert_int_eq(xw_pax_apply(&p, &(struct xw_pax_rec){sl("path"), sl("p")}, &why),
				 0);
		tm_assert_slice(p.path, "p");
		ck_assert_int_eq(xw_pax_apply(&p, &(struct xw_pax_rec){sl("size"), sl("")}, &why),
				 0);
		ck_assert_int_eq(xw_pax_apply(&p, &(struct xw_pax_rec){sl("path"), sl("")}, &why),
				 0);
		ck_assert_uint_eq(p.has, 0);
		ck_assert_uint_eq(p.path.len, 0);
	}
	/* a key that is another's beginning, or has a NUL inside, is unknown and ignored */
	ck_assert_int_eq(xw_pax_apply(&p, &(struct xw_pax_rec){sl("siz"), sl("1")}, &why), 0);
	ck_assert_int_eq(xw_pax_apply(&p, &(struct xw_pax_rec){{"size\0s", 6}, sl("1")}, &why), 0);
	ck_assert_uint_eq(p.has, 0);
	xw_pax_free(&p);
}
END_TEST

START_TEST(too_many)
{
	struct xw_pax p = {0};
	struct xw_pax_globals g = {0};
	const char *why = "";
	char key[64], body[128];
	int err = 0, i;

	for (i = 0; i <= XW_PAX_XATTRS_MAX && !err; i++) {
		/* names are kept by reference: let them share one buffer, all distinct by length */
		static char names[2 * XW_PAX_XATTRS_MAX + 64] = "SCHILY.xattr.";

		memset(names + 13, 'n', sizeof(names) - 13);
		err = xw_pax_apply(&p, &(struct xw_pax_rec){{names, 14 + (size_t)i}, sl("")}, &why);
	}
	ck_assert_int_eq(err, XW_ERR_INPUT);
	ck_assert_int_eq(i, XW_PAX_XATTRS_MAX + 1);
	ck_assert_str_eq(why, "too many extended attributes");
	for (i = err = 0; i <= XW_PAX_GLOBALS_MAX && !err; i++) {
		snprintf(key, sizeof(key), "vendor.key%d", i);
		err = xw_pax_globals_add(&g, body, tm_rec(body, key, "v", 1), &why);
	}
	ck_assert_int_eq(err, XW_ERR_INPUT);
	ck_assert_int_eq(i, XW_PAX_GLOBALS_MAX + 1);
	/* replacing and deleting still work */
	ck_assert_int_eq(xw_pax_globals_add(&g, body, tm_rec(body, "vendor.key7", "w", 1), &why),
			 0);
	ck_assert_int_eq(xw_pax_globals_add(&g, body, tm_rec(body, "vendor.key8", "", 0), &why), 0);
	ck_assert_uint_eq(g.recs.n, XW_PAX_GLOBALS_MAX - 1);
	ck_assert_int_eq(
		xw_pax_globals_add(&g, body, tm_rec(body, "GNU.sparse.size", "1", 1), &why), 0);
	ck_assert_uint_eq(g.recs.n, XW_PAX_GLOBALS_MAX - 1);
	xw_pax_globals_free(&g);
	xw_pax_free(&p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pax");
	TCase *tc = tcase_create("pax");

	unit_add_rows(tc, record, records, body);
	unit_add_rows(tc, pax_time, times, text);
	unit_add_rows(tc, number, numbers, text);
	unit_add_rows(tc, xattr, wins, name);
	tcase_add_test(tc, deletion);
	tcase_add_test(tc, too_many);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
