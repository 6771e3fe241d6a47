/* SPDX-License-Identifier: MIT */
/* Sets of attributes: names, order, replacement, limits, ACLs. */
#include "unit.h"

#include "base/endian.h"
#include "disk/xattrblk.h"
#include "xattr/set.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *full;
	int code;
	uint8_t index;
	const char *rest;
} splits[] = {
	{"user.comment", 0, XW_XI_USER, "comment"},
	{"user..", 0, XW_XI_USER, "."},
	{"trusted.overlay.opaque", 0, XW_XI_TRUSTED, "overlay.opaque"},
	{"security.selinux", 0, XW_XI_SECURITY, "selinux"},
	{"system.posix_acl_access", 0, XW_XI_ACL_ACCESS, ""},
	{"system.posix_acl_default", 0, XW_XI_ACL_DEFAULT, ""},
	{"system.posix_acl_accessx", 0, XW_XI_SYSTEM, "posix_acl_accessx"},
	{"system.richacl", 0, XW_XI_RICHACL, ""},
	{"system.data", 0, XW_XI_SYSTEM, "data"},
	{"gnu.translator", 0, XW_XI_HURD, "translator"},
	{"user.", XW_ERR_INPUT, 0, NULL},
	{"security.", XW_ERR_INPUT, 0, NULL},
	{"system.", XW_ERR_INPUT, 0, NULL},
	{"", XW_ERR_INPUT, 0, NULL},
	{"user", XW_ERR_UNSUPPORTED, 0, NULL},
	{"User.x", XW_ERR_UNSUPPORTED, 0, NULL},
	{"btrfs.compression", XW_ERR_UNSUPPORTED, 0, NULL},
	{"com.apple.quarantine", XW_ERR_UNSUPPORTED, 0, NULL},
};

START_TEST(split_names)
{
	const char *full = splits[_i].full;
	char back[XW_XATTR_FULL_NAME_MAX];
	uint8_t index = 0;
	size_t rest = 0;

	ck_assert_int_eq(xw_xattr_split_name(full, strlen(full), &index, &rest), splits[_i].code);
	if (splits[_i].code)
		return;
	ck_assert_uint_eq(index, splits[_i].index);
	ck_assert_str_eq(full + rest, splits[_i].rest);
	ck_assert_uint_eq(xw_xattr_full_name(index, full + rest, strlen(full + rest), back),
			  strlen(full));
	ck_assert_str_eq(back, full);
}
END_TEST

START_TEST(full_name_limits)
{
	char name[256], out[XW_XATTR_FULL_NAME_MAX];

	memset(name, 'n', sizeof(name));
	ck_assert_uint_eq(xw_xattr_full_name(XW_XI_ACL_DEFAULT, name, 255, out), 255 + 24);
	ck_assert_uint_eq(strlen(out), 255 + 24);
	ck_assert_uint_eq(xw_xattr_full_name(XW_XI_USER, name, 256, out), 0);
	ck_assert_uint_eq(xw_xattr_full_name(XW_XI_ENCRYPTION, "c", 1, out), 0);
	ck_assert_uint_eq(xw_xattr_full_name(0, "c", 1, out), 0);
	ck_assert_uint_eq(xw_xattr_full_name(5, "c", 1, out), 0);
}
END_TEST

static const struct xw_xattr *get(const struct xw_xattr_set *s, const char *full)
{
	uint8_t index;
	size_t rest;

	ck_assert_int_eq(xw_xattr_split_name(full, strlen(full), &index, &rest), 0);
	return xw_xattr_set_find(s, index, full + rest, strlen(full + rest));
}

static int put(struct xw_xattr_set *s, const char *full, const void *value, size_t len)
{
	return xw_xattr_set_put(s, full, strlen(full), value, len, NULL);
}

START_TEST(order_and_replace)
{
	static const char *const names[] = {"user.bb", "security.a", "user.a",   "trusted.zz",
					    "user.ba", "user.ccc",   "system.x", "user.b"};
	static const char *const want[] = {"a", "b", "ba", "bb", "ccc", "zz", "a", "x"};
	struct xw_xattr_set s = {0};

	for (size_t i = 0; i < XW_ARRAY_SIZE(names); i++)
		ck_assert_int_eq(put(&s, names[i], names[i], strlen(names[i])), 0);
	ck_assert_uint_eq(s.a.n, XW_ARRAY_SIZE(want));
	for (size_t i = 0; i < s.a.n; i++) {
		ck_assert_uint_eq(s.a.v[i].name_len, strlen(want[i]));
		ck_assert_mem_eq(s.a.v[i].name, want[i], strlen(want[i]));
	}
	ck_assert_int_eq(put(&s, "user.ba", "new", 3), 0);
	ck_assert_int_eq(put(&s, "user.a", NULL, 0), 0);
	ck_assert_uint_eq(s.a.n, XW_ARRAY_SIZE(want));
	ck_assert_mem_eq(get(&s, "user.ba")->value, "new", 3);
	ck_assert_uint_eq(get(&s, "user.a")->value_len, 0);
	ck_assert_ptr_nonnull(get(&s, "user.a")->value);
	ck_assert(xw_xattr_set_remove(&s, XW_XI_USER, "ba", 2));
	ck_assert(!xw_xattr_set_remove(&s, XW_XI_USER, "ba", 2));
	ck_assert_ptr_null(get(&s, "user.ba"));
	ck_assert_uint_eq(s.a.n, XW_ARRAY_SIZE(want) - 1);
	xw_xattr_set_clear(&s);
	ck_assert_uint_eq(s.a.n, 0);
	ck_assert_int_eq(put(&s, "user.ba", "x", 1), 0);
	ck_assert_uint_eq(s.a.n, 1);
	xw_xattr_set_free(&s);
}
END_TEST

START_TEST(refused)
{
	static char big[XW_XATTR_VALUE_MAX + 1], name[512] = "user.";
	struct xw_xattr_set s = {0};
	struct xw_diag d = {0};

	ck_assert_int_eq(put(&s, "user.x", big, XW_XATTR_VALUE_MAX), 0);
	ck_assert_int_eq(put(&s, "user.x", big, XW_XATTR_VALUE_MAX + 1), XW_ERR_LIMIT);
	ck_assert_uint_eq(get(&s, "user.x")->value_len, XW_XATTR_VALUE_MAX);
	memset(name + 5, 'n', 256);
	ck_assert_int_eq(put(&s, name, "", 0), XW_ERR_LIMIT);
	name[5 + 255] = '\0';
	ck_assert_int_eq(put(&s, name, "", 0), 0);
	ck_assert_int_eq(xw_xattr_set_put(&s, "user.a\0b", 8, "", 0, &d), XW_ERR_INPUT);
	xw_diag_clear(&d);
	ck_assert_int_eq(xw_xattr_set_put(&s, "btrfs.c", 7, "", 0, &d), XW_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(d.text, "btrfs.c"));
	ck_assert_int_eq(put(&s, "system.data", "", 0), XW_ERR_UNSUPPORTED);
	ck_assert_int_eq(put(&s, "user.", "", 0), XW_ERR_INPUT);
	ck_assert_int_eq(put(&s, "system.posix_acl_access", "abc", 3), XW_ERR_INPUT);
	ck_assert_int_eq(xw_xattr_set_put_raw(&s, 0, "", 0, "x", 1, NULL), XW_ERR_INPUT);
	ck_assert_int_eq(xw_xattr_set_put_inum(&s, 0, "", 0, 12, 1, NULL), XW_ERR_INPUT);
	ck_assert_uint_eq(s.a.n, 2);
	xw_xattr_set_free(&s);
}
END_TEST

START_TEST(count_limit)
{
	struct xw_xattr_set s = {0};
	char name[32];

	for (unsigned i = 0; i < XW_XATTR_COUNT_MAX; i++) {
		snprintf(name, sizeof(name), "user.%u", i * 7919u);
		ck_assert_int_eq(put(&s, name, name, strlen(name)), 0);
	}
	ck_assert_int_eq(put(&s, "user.more", "", 0), XW_ERR_LIMIT);
	for (unsigned i = 0; i < XW_XATTR_COUNT_MAX; i++) {
		snprintf(name, sizeof(name), "user.%u", i * 7919u);
		ck_assert_uint_eq(get(&s, name)->value_len, strlen(name));
		ck_assert_mem_eq(get(&s, name)->value, name, strlen(name));
	}
	xw_xattr_set_free(&s);
}
END_TEST

/* Against a plain table of what was put last. */
START_TEST(model)
{
	uint64_t seed = (uint64_t)_i * 77 + 5;
	struct xw_xattr_set s = {0};
	int len[40], fill[40];

	memset(len, -1, sizeof(len));
	for (int step = 0; step < 2000; step++) {
		int k, n;
		char name[16];
		uint8_t value[300];

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		k = (int)(seed >> 40) % 40;
		n = (int)(seed >> 20 & 0xffff) % 300;
		snprintf(name, sizeof(name), "%s%d", k % 3 ? "user.n" : "trusted.", k);
		if (step % 7 == 0) {
			uint8_t index;
			size_t rest;

			xw_xattr_split_name(name, strlen(name), &index, &rest);
			ck_assert_int_eq(
				xw_xattr_set_remove(&s, index, name + rest, strlen(name + rest)),
				len[k] >= 0);
			len[k] = -1;
			continue;
		}
		memset(value, step & 0xff, sizeof(value));
		ck_assert_int_eq(put(&s, name, value, (size_t)n), 0);
		len[k] = n;
		fill[k] = step & 0xff;
	}
	for (int k = 0; k < 40; k++) {
		const struct xw_xattr *x;
		char name[16];

		snprintf(name, sizeof(name), "%s%d", k % 3 ? "user.n" : "trusted.", k);
		x = get(&s, name);
		ck_assert_int_eq(x != NULL, len[k] >= 0);
		if (!x)
			continue;
		ck_assert_int_eq((int)x->value_len, len[k]);
		for (int b = 0; b < len[k]; b++)
			ck_assert_uint_eq(x->value[b], (unsigned)fill[k]);
	}
	for (size_t i = 1; i < s.a.n; i++)
		ck_assert_int_lt(xw_xattr_compare(s.a.v[i - 1].index, s.a.v[i - 1].name,
						  s.a.v[i - 1].name_len, s.a.v[i].index,
						  s.a.v[i].name, s.a.v[i].name_len),
				 0);
	/* replaced bytes are given back: nothing near the 2000 values that passed through */
	ck_assert_uint_le(s.bytes.cap, 4 * 40 * 320);
	xw_xattr_set_free(&s);
}
END_TEST

static int put_text(struct xw_xattr_set *s, bool is_default, const char *text)
{
	return xw_xattr_set_put_acl_text(s, is_default, text, strlen(text), NULL, NULL);
}

START_TEST(acls)
{
	static const char minimal[] = "user::rwx,group::r-x,other::---";
	static const char full[] = "user::rwx,user:1:r--,group::r-x,mask::r--,other::---";
	struct xw_xattr_set s = {0};
	uint8_t raw[4 + 8 * 3];

	ck_assert_int_eq(put_text(&s, false, minimal), 0);
	ck_assert_uint_eq(s.a.n, 0);
	ck_assert_int_eq(put_text(&s, true, minimal), 0);
	ck_assert_uint_eq(s.a.n, 1);
	ck_assert_uint_eq(s.a.v[0].index, XW_XI_ACL_DEFAULT);
	ck_assert_uint_eq(s.a.v[0].name_len, 0);
	ck_assert_uint_eq(s.a.v[0].value_len, 4 + 3 * 4);
	ck_assert_int_eq(put_text(&s, false, full), 0);
	ck_assert_uint_eq(s.a.n, 2);
	ck_assert_uint_eq(get(&s, "system.posix_acl_access")->value_len, 4 + 4 * 4 + 8);

	/* the same by value; then a minimal one takes it away again */
	poke32(raw, 2);
	for (unsigned i = 0; i < 3; i++) {
		poke16(raw + 4 + 8 * i, (uint16_t[]){1, 4, 32}[i]);
		poke16(raw + 6 + 8 * i, 5);
		poke32(raw + 8 + 8 * i, UINT32_MAX);
	}
	ck_assert_int_eq(put(&s, "system.posix_acl_default", raw, sizeof(raw)), 0);
	ck_assert_uint_eq(peek16(get(&s, "system.posix_acl_default")->value + 6), 5);
	ck_assert_int_eq(put(&s, "system.posix_acl_access", raw, sizeof(raw)), 0);
	ck_assert_uint_eq(s.a.n, 1);
	ck_assert_int_eq(put(&s, "system.posix_acl_default", raw, 4), 0);
	ck_assert_uint_eq(s.a.n, 0);

	ck_assert_int_eq(put_text(&s, false, full), 0);
	ck_assert_int_eq(put_text(&s, false, "user::rwx"), XW_ERR_INPUT);
	ck_assert_uint_eq(s.a.n, 1);
	xw_xattr_set_free(&s);
}
END_TEST

START_TEST(values_elsewhere)
{
	struct xw_xattr_set s = {0};

	ck_assert_int_eq(xw_xattr_set_put_inum(&s, XW_XI_USER, "big", 3, 17, 20000, NULL), 0);
	ck_assert_int_eq(put(&s, "user.small", "s", 1), 0);
	ck_assert_uint_eq(get(&s, "user.big")->value_inum, 17);
	ck_assert_ptr_null(get(&s, "user.big")->value);
	ck_assert_int_eq(put(&s, "user.big", "fetched", 7), 0);
	ck_assert_uint_eq(get(&s, "user.big")->value_inum, 0);
	ck_assert_mem_eq(get(&s, "user.big")->value, "fetched", 7);
	/* by the set's own name, while its storage moves */
	for (size_t i = 1; i < 200; i++) {
		const struct xw_xattr x = *get(&s, "user.small");
		uint8_t value[2000] = {0};

		ck_assert_int_eq(
			xw_xattr_set_put_raw(&s, x.index, x.name, x.name_len, value, i * 10, NULL),
			0);
		ck_assert_uint_eq(get(&s, "user.small")->value_len, i * 10);
	}
	ck_assert_uint_eq(s.a.n, 2);
	xw_xattr_set_free(&s);
}
END_TEST

/* ---- attributes that Linux never returns ---- */

static const struct {
	const char *name;
	size_t name_len; /* 0: all of it; else padded with 'n' */
	const char *value;
	size_t value_len;
	bool usable;
} kernel[] = {
	{"security.capability", 0, "\0\0\0\1\0\40\0\0\0\0\0", 12, true},
	{"security.capability", 0, "\1\0\0\2\0\40\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, true},
	{"security.capability", 0, "\1\0\0\3\0\40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, true},
	{"security.capability", 0, "", 0, false},
	{"security.capability", 0, "\1\0\0", 3, false},
	{"security.capability", 0, "\1\0\0\2\0\40\0\0\0\0\0\0\0\0\0\0\0\0\0", 19, false},
	{"security.capability", 0, "\1\0\0\2\0\40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, false},
	{"security.capability", 0, "\1\0\0\3\0\40\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, false},
	{"security.capability", 0, "\1\0\0\4\0\40\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, false},
	{"security.capability", 0, "\2\0\0\2\0\40\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, false},
	{"security.capability2", 0, "x", 1, true},
	{"user.capability", 0, "x", 1, true},
	{"user.", 255, "", 0, true},
	{"user.", 256, "", 0, false},
	{"trusted.", 256, "", 0, false},
	{"security.", 300, "", 0, false},
};

START_TEST(usable)
{
	char name[301];
	size_t len = strlen(kernel[_i].name);

	memset(name, 'n', sizeof(name));
	memcpy(name, kernel[_i].name, len);
	len = XW_MAX(len, kernel[_i].name_len);
	ck_assert(!xw_xattr_unusable(name, len, kernel[_i].value, kernel[_i].value_len) ==
		  kernel[_i].usable);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("xattr_set");
	TCase *tc = tcase_create("set");

	tcase_set_timeout(tc, 60);
	unit_add_rows(tc, split_names, splits, full);
	tcase_add_test(tc, full_name_limits);
	tcase_add_test(tc, order_and_replace);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, count_limit);
	tcase_add_loop_test(tc, model, 0, 5);
	tcase_add_test(tc, acls);
	tcase_add_test(tc, values_elsewhere);
	unit_add_table(tc, usable, kernel);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
