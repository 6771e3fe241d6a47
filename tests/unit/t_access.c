/* SPDX-License-Identifier: MIT */
/* ACLs and modes, other ids in ACLs and capabilities. */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "unit.h"
#include "xattr/access.h"

static void parse(struct xw_acl *acl, const char *text)
{
	ck_assert_int_eq(xw_acl_from_text(acl, text, strlen(text), false, NULL, "a", NULL), 0);
}

static void expect(const struct xw_acl *acl, const char *text)
{
	char shown[XW_ACL_TEXT_MAX(16)];

	ck_assert_uint_le(acl->e.n, 16);
	xw_acl_to_text(acl, shown);
	ck_assert_str_eq(shown, text);
}

static const struct {
	const char *acl;
	unsigned mode, to;
	const char *changed;
} modes[] = {
	{"user::rwx,group::r-x,other::---", 0750, 0604, "user::rw-,group::---,other::r--"},
	{"user::rw-,user:5:rwx,group::rwx,mask::r--,other::-w-", 0642, 0711,
	 "user::rwx,user:5:rwx,group::rwx,mask::--x,other::--x"},
	{"user::rw-,group::rwx,mask::r-x,other::---", 0650, 04770,
	 "user::rwx,group::rwx,mask::rwx,other::---"},
	{"user::rw-,group::rwx,mask::r-x,other::---", 0650, 0650, NULL},
};

START_TEST(mode_and_chmod)
{
	struct xw_acl acl = {0};
	const char *changed = modes[_i].changed;

	parse(&acl, modes[_i].acl);
	ck_assert_uint_eq(xw_acl_mode(&acl), modes[_i].mode);
	ck_assert_int_eq(xw_acl_chmod(&acl, modes[_i].to), changed != NULL);
	expect(&acl, changed ? changed : modes[_i].acl);
	ck_assert_uint_eq(xw_acl_mode(&acl), modes[_i].to & 0777);
	xw_acl_free(&acl);
}
END_TEST

/* Users 10 to 19 become 10, groups are doubled, and 99 has no valid id. */
static uint32_t map(const void *arg, bool group, uint32_t id)
{
	(void)arg;
	if (id == 99)
		return XW_ACL_NO_ID;
	return group ? id * 2 : id / 10 == 1 ? 10 : id;
}

static const struct {
	const char *acl;
	bool merged;
	const char *mapped;
} maps[] = {
	/* another order, which the kernel's encoding has */
	{"user::rwx,user:12:r-x,user:5:rwx,group::---,group:3:rw-,mask::rwx,other::---", false,
	 "user::rwx,user:5:rwx,user:10:r-x,group::---,group:6:rw-,mask::rwx,other::---"},
	/* what all of them had */
	{"user::rwx,user:12:r-x,user:13:rw-,user:14:rwx,group::---,mask::rwx,other::---", true,
	 "user::rwx,user:10:r--,group::---,mask::rwx,other::---"},
	/* also with one whose id stays */
	{"user::rwx,user:10:-w-,user:13:rw-,group::---,mask::rwx,other::---", true,
	 "user::rwx,user:10:-w-,group::---,mask::rwx,other::---"},
	/* the group of the file is 8 afterwards, its owner 20 */
	{"user::r--,user:20:rwx,group::r--,group:4:rwx,mask::rwx,other::---", true,
	 "user::r--,user:20:r--,group::r--,group:8:r--,mask::rwx,other::---"},
	/* an entry that was the owner's, or the group's, before is no one else's */
	{"user::r--,user:1:rwx,group::r--,group:3:rwx,mask::rwx,other::---", false,
	 "user::r--,user:1:rwx,group::r--,group:6:rwx,mask::rwx,other::---"},
	{"user::r--,group::r--,other::---", false, "user::r--,group::r--,other::---"},
};

START_TEST(mapped_ids)
{
	const struct xw_acl_ids ids = {map, NULL, 1, 2, 20, 8};
	struct xw_acl acl = {0};
	bool merged;

	parse(&acl, maps[_i].acl);
	ck_assert_int_eq(xw_acl_map(&acl, &ids, &merged, "a", NULL), 0);
	ck_assert_int_eq(merged, maps[_i].merged);
	expect(&acl, maps[_i].mapped);
	xw_acl_free(&acl);
}
END_TEST

START_TEST(no_valid_id)
{
	const struct xw_acl_ids ids = {map, NULL, 1, 2, 20, 8};
	struct xw_acl acl = {0};
	bool merged;

	parse(&acl, "user::r--,user:99:rwx,group::r--,mask::rwx,other::---");
	ck_assert_int_eq(xw_acl_map(&acl, &ids, &merged, "a", NULL), XW_ERR_INPUT);
	xw_acl_free(&acl);
}
END_TEST

START_TEST(capabilities)
{
	uint8_t caps[24] = {0};
	uint32_t id = 7;

	poke32(caps, 0x03000001);
	poke32(caps + XW_CAPS_ROOTID, 100000);
	ck_assert(xw_caps_rootid(caps, 24, &id));
	ck_assert_uint_eq(id, 100000);
	ck_assert(!xw_caps_rootid(caps, 20, &id));
	ck_assert(!xw_caps_rootid(caps, 0, &id));
	poke32(caps, 0x02000001);
	ck_assert(!xw_caps_rootid(caps, 24, &id));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("access");
	TCase *t = tcase_create("access");

	unit_add_rows(t, mode_and_chmod, modes, acl);
	unit_add_rows(t, mapped_ids, maps, acl);
	tcase_add_test(t, no_valid_id);
	tcase_add_test(t, capabilities);
	suite_add_tcase(s, t);
	return unit_main(s);
}
