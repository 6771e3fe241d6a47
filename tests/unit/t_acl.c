/* SPDX-License-Identifier: MIT */
/* ACL text, the kernel's encoding, ext4's encoding. */
#include "unit.h"

#include "base/endian.h"
#include "xattr/acl.h"

#include <stdio.h>
#include <string.h>

static int lookup(void *arg, bool group, const char *name, uint32_t *id)
{
	(void)arg;
	if (!strcmp(name, group ? "staff" : "lisa"))
		*id = group ? 50 : 1001;
	else if (!group && !strcmp(name, "DOM\\joe x"))
		*id = 7;
	else
		return -1;
	return 0;
}

static const struct xw_acl_names names = {lookup, NULL};

/* Text that is accepted, and what it means in our own writing. */
static const struct {
	const char *text, *means;
	bool is_default, resolver;
} good[] = {
	{"user::rwx,group::r-x,other::---", "user::rwx,group::r-x,other::---", false, false},
	{"user::rwx,user:lisa:r--:1001,group::r-x,mask::r--,other::---",
	 "user::rwx,user:1001:r--,group::r-x,mask::r--,other::---", false, false},
	{"user::rwx,user:lisa:r--,group:staff:rw-,group::r-x,mask::r--,other::---",
	 "user::rwx,user:1001:r--,group::r-x,group:50:rw-,mask::r--,other::---", false, true},
	{"u::rwx\nu:12:r--\ng::r-x\ng:9:--x\nm::r--\no::---\n",
	 "user::rwx,user:12:r--,group::r-x,group:9:--x,mask::r--,other::---", false, false},
	{"user::rwx,group::r-x,mask:rwx,other:r--", "user::rwx,group::r-x,mask::rwx,other::r--",
	 false, false},
	{"# file: x\nuser::rwx # owner\n  group:: r-x , mask:: rw- \n\n,other::---#effective:r--",
	 "user::rwx,group::r-x,mask::rw-,other::---", false, false},
	{"default:user::rwx,default:group::r-x,d:other::r--", "user::rwx,group::r-x,other::r--",
	 true, false},
	{"user::rwx,d:mask:r--,default:user:5:r--:6,group::r-x,d:other:---",
	 "user::rwx,user:6:r--,group::r-x,mask::r--,other::---", true, false},
	{"other::r--,mask::rw-,group:3:r--,group:2:r--,group::---,user:9:rwx,user:10:r--,user::r--",
	 "user::r--,user:9:rwx,user:10:r--,group::---,group:2:r--,group:3:r--,mask::rw-,other::r--",
	 false, false},
	{"user::rwx,user:4294967294:rwx,group::---,mask::rwx,other::---",
	 "user::rwx,user:4294967294:rwx,group::---,mask::rwx,other::---", false, false},
	{"user::RWX,group::-,other::x", "user::rwx,group::---,other::--x", false, false},
	{"user::rwx,user:DOM\\134joe\\040x:r--,group::---,mask::r--,other::---",
	 "user::rwx,user:7:r--,group::---,mask::r--,other::---", false, true},
	{"user::rwx:0,user:lisa:r--:,group::---,mask::r--,other::---",
	 "user::rwx,user:1001:r--,group::---,mask::r--,other::---", false, true},
	/* one id twice: the kernel takes it, and the first wins */
	{"user::rwx,user:5:r--,user:5:rwx,group::---,mask::r--,other::---",
	 "user::rwx,user:5:r--,user:5:rwx,group::---,mask::r--,other::---", false, false},
	{"", "", false, false},
	{" \n,,# nothing\n", "", true, false},
};

START_TEST(text_good)
{
	struct xw_acl acl = {0};
	struct xw_diag d = {0};
	char out[1024];

	ck_assert_int_eq(xw_acl_from_text(&acl, good[_i].text, strlen(good[_i].text),
					  good[_i].is_default, good[_i].resolver ? &names : NULL,
					  "acl", &d),
			 0);
	ck_assert_uint_eq(xw_acl_to_text(&acl, out), strlen(good[_i].means));
	ck_assert_str_eq(out, good[_i].means);
	ck_assert_uint_le(strlen(out) + 1, XW_ACL_TEXT_MAX(acl.e.n));
	ck_assert_int_eq(d.code, 0);
	xw_acl_free(&acl);
}
END_TEST

/* Text that is refused, and a word of the reason. */
static const struct {
	const char *text, *reason;
} bad[] = {
	{"user::rwx", "owning group"},
	{"user::rwx,group::r-x", "others"},
	{"group::r-x,other::---", "owner"},
	{"user::rwx,user::r--,group::r-x,other::---", "owner"},
	{"user::rwx,group::r-x,other::---,other::---", "others"},
	{"user::rwx,group::r-x,mask::rwx,mask::rwx,other::---", "mask"},
	{"user::rwx,user:5:r--,group::r-x,other::---", "mask"},
	{"user::rwx,group:5:r--,group::r-x,other::---", "mask"},
	{"user::rwq,group::r-x,other::---", "permissions"},
	{"user::,group::r-x,other::---", "permissions"},
	{"user::7,group::r-x,other::---", "permissions"},
	{"other,user::rwx,group::r-x", "permissions"},
	{"mask:,user::rwx,group::r-x,other::---", "permissions"},
	{"user:rwx,group::r-x,other::---", "malformed"},
	{"user::rwx:1:2:3,group::r-x,other::---", "malformed"},
	{"user::rwx:1:2:3:4:5:6,group::r-x,other::---", "malformed"},
	{"owner@:rwx", "unknown tag"},
	{"users::rwx", "unknown tag"},
	{"::", "unknown tag"},
	{":", "unknown tag"},
	{"default", "unknown tag"},
	{"default:user::rwx,group::r-x,other::---", "default entry"},
	{"user::rwx,mask:joe:rwx,group::r-x,other::---", "no name"},
	{"user::rwx,other:joe:rwx,group::r-x", "no name"},
	{"user::rwx,user:lisa:r--,group::r-x,mask::rwx,other::---", "no numeric id"},
	{"user::rwx,user:4294967295:r--,group::r-x,mask::rwx,other::---", "out of range"},
	{"user::rwx,user:99999999999999999999999:r--,group::r-x,mask::rwx,other::---",
	 "out of range"},
	{"user::rwx,user:x:r--:4294967295,group::r-x,mask::rwx,other::---", "id"},
	{"user::rwx,user:x:r--:12a,group::r-x,mask::rwx,other::---", "id"},
	{"user::rwx,user:a\\000b:r--,group::r-x,mask::rwx,other::---", "not a name"},
};

START_TEST(text_bad)
{
	struct xw_acl acl = {0};
	struct xw_diag d = {0};

	ck_assert_int_eq(xw_acl_from_text(&acl, bad[_i].text, strlen(bad[_i].text), false, NULL,
					  "the acl", &d),
			 XW_ERR_INPUT);
	ck_assert_uint_eq(acl.e.n, 0);
	ck_assert_int_eq(d.code, XW_ERR_INPUT);
	ck_assert_msg(strstr(d.text, bad[_i].reason) != NULL, "\"%s\" does not say \"%s\"", d.text,
		      bad[_i].reason);
	ck_assert_ptr_eq(strstr(d.text, "the acl"), d.text);
	xw_acl_free(&acl);
}
END_TEST

START_TEST(text_unknown_names)
{
	static const char *const texts[] = {
		"user::rwx,user:bart:r--,group::r-x,mask::rwx,other::---",
		"user::rwx,group:lisa:r--,group::r-x,mask::rwx,other::---",
	};
	char longname[400];
	struct xw_acl acl = {0};

	for (size_t i = 0; i < XW_ARRAY_SIZE(texts); i++)
		ck_assert_int_eq(xw_acl_from_text(&acl, texts[i], strlen(texts[i]), false, &names,
						  "a", NULL),
				 XW_ERR_INPUT);
	/* 255 bytes are handed to the resolver, 256 are not a name */
	for (int n = 255; n <= 256; n++) {
		struct xw_diag d = {0};

		memset(longname, 'n', sizeof(longname));
		memcpy(longname, "u:", 2);
		memcpy(longname + 2 + n, ":r", 3);
		ck_assert_int_eq(
			xw_acl_from_text(&acl, longname, strlen(longname), false, &names, "a", &d),
			XW_ERR_INPUT);
		ck_assert_ptr_ne(strstr(d.text, n == 255 ? "no such user" : "not a name"), NULL);
	}
	xw_acl_free(&acl);
}
END_TEST

START_TEST(text_limit)
{
	size_t n = XW_ACL_ENTRIES_MAX - 4, off = 0, cap = (n + 8) * 24;
	char *text = malloc(cap);
	struct xw_acl acl = {0};

	ck_assert_ptr_nonnull(text);
	off += (size_t)snprintf(text, cap, "user::rwx,group::r-x,mask::rwx,other::---");
	for (size_t i = 0; i < n; i++)
		off += (size_t)snprintf(text + off, cap - off, ",user:%zu:r--", n - i);
	ck_assert_int_eq(xw_acl_from_text(&acl, text, off, false, NULL, "a", NULL), 0);
	ck_assert_uint_eq(acl.e.n, XW_ACL_ENTRIES_MAX);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(acl.e.v[1 + i].id, i + 1);
	ck_assert_uint_le(xw_acl_to_xattr(&acl, NULL), 65536);
	snprintf(text + off, cap - off, ",user:1:r--");
	ck_assert_int_eq(xw_acl_from_text(&acl, text, strlen(text), false, NULL, "a", NULL),
			 XW_ERR_LIMIT);
	ck_assert_uint_eq(acl.e.n, 0);
	xw_acl_free(&acl);
	free(text);
}
END_TEST

struct raw {
	unsigned tag, perm;
	uint32_t id;
};

/* What Linux 6.18 said to setxattr of these. */
static const struct {
	struct raw e[8];
	int n, code;
} kernel[] = {
	{{{1, 7, -1u}, {4, 5, -1u}, {32, 4, -1u}}, 3, 0},
	{{{1, 7, -1u}, {4, 5, -1u}, {16, 5, -1u}, {32, 4, -1u}}, 4, 0},
	{{{1, 7, 77}, {4, 5, 0}, {16, 5, 1}, {32, 4, 3}}, 4, 0},
	{{{1, 7, -1u}, {2, 5, 9}, {2, 5, 5}, {4, 5, -1u}, {16, 5, -1u}, {32, 4, -1u}}, 6, 0},
	{{{1, 7, -1u}, {2, 5, 5}, {2, 4, 5}, {4, 5, -1u}, {16, 5, -1u}, {32, 4, -1u}}, 6, 0},
	{{{1, 7, -1u}, {2, 5, 5}, {4, 5, -1u}, {32, 4, -1u}}, 4, XW_ERR_INPUT},
	{{{1, 15, -1u}, {4, 5, -1u}, {16, 5, -1u}, {32, 4, -1u}}, 4, XW_ERR_INPUT},
	{{{1, 7, -1u}, {2, 5, -1u}, {4, 5, -1u}, {16, 5, -1u}, {32, 4, -1u}}, 5, XW_ERR_INPUT},
	{{{1, 7, -1u}, {4, 5, -1u}}, 2, XW_ERR_INPUT},
	{{{1, 7, -1u}, {32, 5, -1u}}, 2, XW_ERR_INPUT},
	{{{1, 7, -1u}, {3, 7, -1u}, {4, 5, -1u}, {32, 5, -1u}}, 4, XW_ERR_INPUT},
	{{{1, 7, -1u}, {0, 7, -1u}, {4, 5, -1u}, {32, 5, -1u}}, 4, XW_ERR_INPUT},
	{{{1, 7, -1u}, {64, 7, -1u}, {4, 5, -1u}, {32, 5, -1u}}, 4, XW_ERR_INPUT},
	{{{1, 7, -1u}, {4, 5, -1u}, {16, 5, -1u}, {16, 5, -1u}, {32, 4, -1u}}, 5, XW_ERR_INPUT},
};

static size_t put_xattr(uint8_t *buf, const struct raw *e, int n)
{
	poke32(buf, 2);
	for (int i = 0; i < n; i++) {
		poke16(buf + 4 + 8 * i, (uint16_t)e[i].tag);
		poke16(buf + 6 + 8 * i, (uint16_t)e[i].perm);
		poke32(buf + 8 + 8 * i, e[i].id);
	}
	return 4 + 8 * (size_t)n;
}

START_TEST(xattr_as_kernel)
{
	uint8_t buf[128];
	size_t len = put_xattr(buf, kernel[_i].e, kernel[_i].n);
	struct xw_acl acl = {0};

	ck_assert_int_eq(xw_acl_from_xattr(&acl, buf, len, "a", NULL), kernel[_i].code);
	ck_assert_uint_eq(acl.e.n, kernel[_i].code ? 0 : (size_t)kernel[_i].n);
	for (size_t i = 0; i < acl.e.n; i++) {
		bool named = acl.e.v[i].tag == XW_ACL_USER || acl.e.v[i].tag == XW_ACL_GROUP;

		ck_assert_int_eq(acl.e.v[i].id != XW_ACL_NO_ID, named);
		if (i)
			ck_assert_uint_le(acl.e.v[i - 1].tag, acl.e.v[i].tag);
	}
	xw_acl_free(&acl);
}
END_TEST

START_TEST(xattr_malformed)
{
	uint8_t buf[8 * 8200] = {2};
	struct xw_acl acl = {0};

	ck_assert_int_eq(xw_acl_from_xattr(&acl, buf, 0, "a", NULL), 0);
	ck_assert_int_eq(xw_acl_from_xattr(&acl, buf, 4, "a", NULL), 0);
	ck_assert_uint_eq(acl.e.n, 0);
	for (size_t n = 1; n < 12; n++)
		if (n != 4)
			ck_assert_int_eq(xw_acl_from_xattr(&acl, buf, n, "a", NULL), XW_ERR_INPUT);
	ck_assert_int_eq(xw_acl_from_xattr(&acl, buf, 4 + 8 * 8192, "a", NULL), XW_ERR_LIMIT);
	buf[0] = 1;
	ck_assert_int_eq(xw_acl_from_xattr(&acl, buf, 4, "a", NULL), XW_ERR_INPUT);
	xw_acl_free(&acl);
}
END_TEST

/* An ACL set by setfacl on Linux 6.18, as it stood in the inode. */
static const uint8_t on_disk[44] = {
	1, 0, 0, 0, 1, 0, 6, 0, 2, 0, 7, 0, 0xe8, 3, 0,    0, 2, 0, 5,    0, 0x70, 0x11,
	1, 0, 4, 0, 4, 0, 8, 0, 4, 0, 5, 0, 0,    0, 0x10, 0, 5, 0, 0x20, 0, 4,    0,
};
static const char on_disk_text[] =
	"user::rw-,user:1000:rwx,user:70000:r-x,group::r--,group:5:r--,mask::r-x,other::r--";

START_TEST(disk_as_kernel)
{
	struct xw_acl acl = {0};
	uint8_t buf[sizeof(on_disk)];
	char text[256];

	ck_assert_int_eq(xw_acl_from_disk(&acl, on_disk, sizeof(on_disk), "a", NULL), 0);
	xw_acl_to_text(&acl, text);
	ck_assert_str_eq(text, on_disk_text);
	ck_assert_int_eq(xw_acl_from_text(&acl, text, strlen(text), false, NULL, "a", NULL), 0);
	ck_assert_uint_eq(xw_acl_to_disk(&acl, NULL), sizeof(on_disk));
	ck_assert_uint_eq(xw_acl_to_disk(&acl, buf), sizeof(on_disk));
	ck_assert_mem_eq(buf, on_disk, sizeof(on_disk));
	ck_assert(!xw_acl_is_minimal(&acl));
	xw_acl_free(&acl);
}
END_TEST

START_TEST(disk_cut)
{
	struct xw_acl acl = {0};

	for (size_t n = 0; n < sizeof(on_disk); n++) {
		uint8_t *copy = malloc(n + 1); /* its end is where a sanitizer looks */

		memcpy(copy, on_disk, n);
		ck_assert_int_eq(xw_acl_from_disk(&acl, copy, n, "a", NULL), XW_ERR_CORRUPT);
		ck_assert_uint_eq(acl.e.n, 0);
		free(copy);
	}
	xw_acl_free(&acl);
}
END_TEST

static uint32_t rnd(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*s >> 33);
}

START_TEST(round_trip)
{
	uint64_t seed = (uint64_t)_i + 1;
	struct raw e[40];
	int n = 0, named = (int)(rnd(&seed) % 30);
	uint8_t in[4 + 8 * 40], xattr[sizeof(in)], disk[sizeof(in)];
	struct xw_acl a = {0}, b = {0};
	char text[XW_ACL_TEXT_MAX(40)];
	size_t len;

	for (int i = 0; i < named; i++)
		e[n++] = (struct raw){rnd(&seed) % 2 ? 2 : 8, rnd(&seed) % 8,
				      rnd(&seed) % 20 ? rnd(&seed) : (uint32_t)i};
	e[n++] = (struct raw){32, rnd(&seed) % 8, -1u};
	e[n++] = (struct raw){1, rnd(&seed) % 8, -1u};
	if (named || rnd(&seed) % 2)
		e[n++] = (struct raw){16, rnd(&seed) % 8, -1u};
	e[n++] = (struct raw){4, rnd(&seed) % 8, -1u};
	len = put_xattr(in, e, n);
	ck_assert_int_eq(xw_acl_from_xattr(&a, in, len, "a", NULL), 0);
	ck_assert_uint_eq(a.e.n, (size_t)n);
	ck_assert_int_eq(xw_acl_is_minimal(&a), n == 3);

	ck_assert_int_eq(xw_acl_from_disk(&b, disk, xw_acl_to_disk(&a, disk), "b", NULL), 0);
	ck_assert_uint_eq(b.e.n, a.e.n);
	ck_assert_mem_eq(b.e.v, a.e.v, a.e.n * sizeof(a.e.v[0]));
	ck_assert_uint_eq(xw_acl_to_xattr(&b, xattr), len);
	ck_assert_int_eq(xw_acl_from_xattr(&a, xattr, len, "a", NULL), 0);
	ck_assert_mem_eq(b.e.v, a.e.v, a.e.n * sizeof(a.e.v[0]));
	ck_assert_int_eq(
		xw_acl_from_text(&a, text, xw_acl_to_text(&b, text), false, NULL, "a", NULL), 0);
	ck_assert_uint_eq(b.e.n, a.e.n);
	ck_assert_mem_eq(b.e.v, a.e.v, a.e.n * sizeof(a.e.v[0]));
	xw_acl_free(&a);
	xw_acl_free(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("acl");
	TCase *tc = tcase_create("acl");

	tcase_set_timeout(tc, 60);
	unit_add_rows(tc, text_good, good, text);
	unit_add_rows(tc, text_bad, bad, text);
	tcase_add_test(tc, text_unknown_names);
	tcase_add_test(tc, text_limit);
	unit_add_table(tc, xattr_as_kernel, kernel);
	tcase_add_test(tc, xattr_malformed);
	tcase_add_test(tc, disk_as_kernel);
	tcase_add_test(tc, disk_cut);
	tcase_add_loop_test(tc, round_trip, 0, 50);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
