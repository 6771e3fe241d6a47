/* SPDX-License-Identifier: MIT */
/* What an exported archive is made of: headers at their limits, records of attributes, the table of
 * hard links. */
#include "unit.h"

#include "export/header.h"
#include "export/links.h"
#include "export/records.h"
#include "tarread.h"

static void put_one(const struct xw_tar_member *in, struct xw_tar_records *r, struct member *out)
{
	struct xw_tar_records none = {0};
	struct sink s = {0};
	struct xw_output o;
	size_t at = 0;

	ck_assert_int_eq(xw_output_init(&o, to_sink, &s), 0);
	ck_assert_int_eq(xw_tar_put_member(&o, in, r ? r : &none), 0);
	ck_assert_int_eq(xw_tar_put_end(&o), 0);
	ck_assert_int_eq(xw_output_flush(&o), 0);
	ck_assert_uint_eq(s.n % 10240, 0);
	ck_assert(next_member(&s, &at, out));
	xw_vec_free(&none.v);
	xw_output_free(&o);
	free(s.v);
}

/* ---- headers ---- */

/* Paths of each length, in components of up to 50 bytes: whole, and only in a record when ustar
 * cannot. */
START_TEST(path_lengths)
{
	struct member out;
	char path[4200];

	for (unsigned len = 1; len <= 4100; len += len < 300 ? 1 : 379) {
		struct xw_tar_member m = {.type = _i ? XW_TAR_DIR : XW_TAR_REG};
		size_t n;

		memset(path, 'p', len);
		for (unsigned i = 50; i + 1 < len; i += 51)
			path[i] = '/';
		path[len] = '\0';
		m.path = path;
		put_one(&m, NULL, &out);
		ck_assert_uint_eq(strlen(out.path), len + _i);
		ck_assert_mem_eq(out.path, path, len);
		ck_assert(!_i || out.path[len] == '/');
		if (len + _i <= 200)
			ck_assert_ptr_null(find_record(&out, "path", &n));
		if (len > 256)
			ck_assert_ptr_nonnull(find_record(&out, "path", &n));
	}
}
END_TEST

START_TEST(one_long_component)
{
	struct xw_tar_member m = {.type = XW_TAR_REG};
	struct member out;
	char path[300];

	for (unsigned len = 99; len <= 255; len++) {
		memset(path, 'x', len);
		path[len] = '\0';
		m.path = path;
		put_one(&m, NULL, &out);
		ck_assert_str_eq(out.path, path);
	}
	/* nothing before the only slash that could be a cut, nothing behind it */
	memset(path, 'x', 120);
	path[120] = '\0';
	path[0] = '/';
	put_one(&m, NULL, &out);
	ck_assert_str_eq(out.path, path);
	m.type = XW_TAR_DIR;
	m.path = "";
	put_one(&m, NULL, &out);
	ck_assert_str_eq(out.path, "./");
}
END_TEST

START_TEST(numbers)
{
	static const struct {
		uint32_t uid, gid;
		uint64_t size;
		struct xw_time mtime;
		const char *text;
		bool records;
	} cases[] = {
		{0, 0, 0, {0, 0}, "0", false},
		{1000, 100, 12345, {1700000000, 0}, "1700000000", false},
		{07777777, 07777777, 077777777777, {077777777777, 0}, "8589934591", false},
		{010000000, 0, 0, {0, 0}, "0", true},
		{0, UINT32_MAX, 0, {0, 0}, "0", true},
		{0, 0, 0100000000000, {0, 0}, "0", true},
		{0, 0, UINT64_MAX, {0, 0}, "0", true},
		{0, 0, 0, {0100000000000, 0}, "8589934592", true},
		{0, 0, 0, {1, 500000000}, "1.5", true},
		{0, 0, 0, {1, 1}, "1.000000001", true},
		{0, 0, 0, {1, 999999999}, "1.999999999", true},
		{0, 0, 0, {-1, 0}, "-1", true},
		{0, 0, 0, {-2, 750000000}, "-1.25", true},
		{0, 0, 0, {-1, 999999999}, "-0.000000001", true},
		{0, 0, 0, {-(INT64_C(1) << 31), 1}, "-2147483647.999999999", true},
		{0, 0, 0, {(INT64_C(1) << 34) - 1, 123000000}, "17179869183.123", true},
	};
	struct xw_tar_member m = {.path = "f", .type = XW_TAR_REG, .mode = 0107755};
	struct member out;

	m.uid = cases[_i].uid;
	m.gid = cases[_i].gid;
	m.size = cases[_i].size;
	m.mtime = m.atime = cases[_i].mtime;
	put_one(&m, NULL, &out);
	ck_assert_uint_eq(out.uid, m.uid);
	ck_assert_uint_eq(out.gid, m.gid);
	ck_assert_uint_eq(out.size, m.size);
	ck_assert_uint_eq(out.mode, 07755);
	ck_assert_str_eq(out.mtime, cases[_i].text);
	ck_assert_str_eq(out.atime, "");
	ck_assert_int_eq(out.records_len != 0, cases[_i].records);
	m.has_atime = true;
	put_one(&m, NULL, &out);
	ck_assert_str_eq(out.atime, cases[_i].text);
}
END_TEST

/* A record's length counts its own digits, also where adding them makes one more. */
START_TEST(record_lengths)
{
	struct xw_tar_records r = {0};
	char value[2000];

	memset(value, 'v', sizeof(value));
	for (unsigned len = 0; len <= sizeof(value); len++) {
		char *end;

		r.v.n = 0;
		ck_assert_int_eq(xw_tar_record(&r, "k", 1, value, len), 0);
		ck_assert_uint_eq(strtoul(r.v.v, &end, 10), r.v.n);
		ck_assert_uint_eq((size_t)(end - r.v.v) + 4 + len, r.v.n);
	}
	xw_vec_free(&r.v);
}
END_TEST

/* hdrcharset exactly where a path that is not UTF-8 is in a record. */
START_TEST(charsets)
{
	static const struct {
		const char *lead;
		bool utf8;
	} cases[] = {
		{"plain", true},
		{"gr\xc3\xb6\xc3\x9f"
		 "e",
		 true},
		{"\xe6\x97\xa5", true},
		{"\xf0\x9f\xa6\x80", true},
		{"\xe4", false},
		{"\xc0\x80", false}, /* overlong */
		{"\xe0\x80\x80", false},
		{"\xed\xa0\x80", false}, /* a surrogate */
		{"\xf4\x90\x80\x80", false}, /* above U+10FFFF */
		{"\xff", false},
		{"\x80", false},
	};
	struct xw_tar_member m = {.type = XW_TAR_SYMLINK, .path = "l"};
	struct member out;
	char text[400];

	snprintf(text, sizeof(text), "%s", cases[_i].lead);
	m.link = text;
	put_one(&m, NULL, &out);
	ck_assert(!out.binary && !out.records_len);
	snprintf(text, sizeof(text), "%s%0300d", cases[_i].lead, 0);
	put_one(&m, NULL, &out);
	ck_assert_str_eq(out.link, text);
	ck_assert_int_eq(out.binary, !cases[_i].utf8);
	if (out.binary)
		ck_assert_mem_eq(out.records, "21 hdrcharset=BINARY\n", 21);
}
END_TEST

/* ---- attributes ---- */

static struct xw_xattr_ref attr(uint8_t index, const char *name, const void *value, uint32_t len)
{
	return (struct xw_xattr_ref){.index = index,
				     .name = name,
				     .name_len = (uint8_t)strlen(name),
				     .value = value,
				     .value_len = len};
}

START_TEST(attribute_records)
{
	static const uint8_t acl[] = {1, 0, 0, 0, 1, 0, 7,  0, 2, 0, 5,  0, 0xe8, 3,
				      0, 0, 4, 0, 5, 0, 16, 0, 7, 0, 32, 0, 0,    0};
	/* the same as Linux hands it out: every entry has an id */
	static const uint8_t raw[] = {
		2,   0,   0,   0, /* version */
		1,   0,   7,   0,   255, 255, 255, 255, 2,   0,   5,   0,   0xe8, 3,
		0,   0,   4,   0,   5,   0,   255, 255, 255, 255, 16,  0,   7,    0,
		255, 255, 255, 255, 32,  0,   0,   0,   255, 255, 255, 255,
	};
	static const struct {
		uint8_t index;
		const char *name, *key, *value;
		uint32_t len;
		const char *stored;
	} cases[] = {
		{XW_XI_USER, "a", "SCHILY.xattr.user.a", "x\0=\ny", 5, NULL},
		{XW_XI_USER, "empty", "SCHILY.xattr.user.empty", "", 0, NULL},
		{XW_XI_SECURITY, "capability", "SCHILY.xattr.security.capability", "\1\0\0\2", 4,
		 NULL},
		{XW_XI_TRUSTED, "t", "SCHILY.xattr.trusted.t", "v", 1, NULL},
		{XW_XI_SYSTEM, "other", "SCHILY.xattr.system.other", "v", 1, NULL},
		{XW_XI_USER, "a=b%", "LIBARCHIVE.xattr.user.a%3Db%25", "abcd", 4, "YWJjZA"},
		{XW_XI_USER, "=", "LIBARCHIVE.xattr.user.%3D", "abc", 3, "YWJj"},
		{XW_XI_USER, "=\xff", "LIBARCHIVE.xattr.user.%3D%FF", "", 0, ""},
		{XW_XI_ACL_ACCESS, "", "SCHILY.acl.access", (const char *)acl, sizeof(acl),
		 "user::rwx,user:1000:r-x,group::r-x,mask::rwx,other::---"},
		{XW_XI_ACL_DEFAULT, "", "SCHILY.acl.default", (const char *)acl, sizeof(acl),
		 "user::rwx,user:1000:r-x,group::r-x,mask::rwx,other::---"},
		{XW_XI_ACL_ACCESS, "", "SCHILY.xattr.system.posix_acl_access", (const char *)acl,
		 sizeof(acl), (const char *)raw},
		{XW_XI_ACL_DEFAULT, "", "SCHILY.xattr.system.posix_acl_default", (const char *)acl,
		 sizeof(acl), (const char *)raw},
	};
	struct xw_xattr_ref a =
		attr(cases[_i].index, cases[_i].name, cases[_i].value, cases[_i].len);
	const char *stored = cases[_i].stored ? cases[_i].stored : cases[_i].value;
	size_t len = stored == (const char *)raw ? sizeof(raw)
		     : cases[_i].stored          ? strlen(cases[_i].stored)
						 : cases[_i].len;
	size_t got;
	struct xw_record_counts counts = {0};
	struct xw_tar_member m = {.path = "f", .type = XW_TAR_REG};
	struct xw_tar_records r = {0};
	struct xw_diag diag = {0};
	struct member out;
	const char *v;

	ck_assert_int_eq(xw_records_add(&r, &a, &diag, &counts), 0);
	put_one(&m, &r, &out);
	v = find_record(&out, cases[_i].key, &got);
	ck_assert_ptr_nonnull(v);
	ck_assert_uint_eq(got, len);
	ck_assert_mem_eq(v, stored, len);
	xw_vec_free(&r.v);
}
END_TEST

START_TEST(bad_attributes)
{
	struct xw_xattr_ref bad_acl = attr(XW_XI_ACL_ACCESS, "", "\1\0\0\0\1\0", 6);
	struct xw_xattr_ref unknown = attr(99, "x", "v", 1);
	struct xw_record_counts counts = {0};
	struct xw_tar_records r = {0};
	struct xw_diag diag = {0};

	ck_assert_int_eq(xw_records_add(&r, &bad_acl, &diag, &counts), XW_ERR_CORRUPT);
	ck_assert(*diag.text);
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_records_add(&r, &unknown, &diag, &counts), XW_ERR_CORRUPT);
	ck_assert(*diag.text);
	unknown.index = XW_XI_USER;
	unknown.name = "a\0b";
	unknown.name_len = 3;
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_records_add(&r, &unknown, &diag, &counts), XW_ERR_CORRUPT);
	ck_assert_uint_eq(r.v.n, 0);
	ck_assert(!counts.acls && !counts.xattrs);
	xw_vec_free(&r.v);
}
END_TEST

/* ---- hard links ---- */

START_TEST(link_table)
{
	struct xw_links l = {0};
	char path[32];
	int err;

	for (unsigned round = 0; round < 3; round++) {
		for (xw_ino ino = 1; ino <= 2000; ino++) {
			const char *first;

			snprintf(path, sizeof(path), "round%u-%u", round, ino);
			first = xw_links_visit(&l, ino, 2 + ino % 2, path, &err);
			ck_assert_int_eq(err, 0);
			/* even ones have two names, so that the third begins anew */
			if (round == 0 || (round == 2 && ino % 2 == 0)) {
				ck_assert_ptr_null(first);
			} else {
				snprintf(path, sizeof(path), "round0-%u", ino);
				ck_assert_str_eq(first, path);
			}
		}
	}
	ck_assert_ptr_nonnull(xw_links_visit(&l, 2, 2, "x", &err));
	ck_assert_ptr_null(xw_links_visit(&l, 5000, 2, "y", &err));
	xw_links_drop(&l, 5000);
	xw_links_drop(&l, 5001);
	ck_assert_ptr_null(xw_links_visit(&l, 5000, 2, "z", &err));
	ck_assert_str_eq(xw_links_visit(&l, 5000, 2, "y", &err), "z");
	xw_links_free(&l);
	xw_links_drop(&l, 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tar_out");
	TCase *tc = tcase_create("tar_out");

	tcase_set_timeout(tc, 300);
	unit_add_cases(tc, path_lengths, "file", "directory");
	tcase_add_test(tc, one_long_component);
	tcase_add_loop_test(tc, numbers, 0, 16);
	tcase_add_test(tc, record_lengths);
	tcase_add_loop_test(tc, charsets, 0, 11);
	tcase_add_loop_test(tc, attribute_records, 0, 12);
	tcase_add_test(tc, bad_attributes);
	tcase_add_test(tc, link_table);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
