/* SPDX-License-Identifier: MIT */
/* Selection: stripping, exclusion as tar does it, modes, owners, clamped times. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/select.h"
#include "tmp.h"
#include "unit.h"

static struct xw_select sel;
static struct xw_diag diag;

static void setup(void)
{
	memset(&sel, 0, sizeof(sel));
	memset(&diag, 0, sizeof(diag));
}

static void teardown(void)
{
	xw_select_free(&sel);
}

static const struct {
	const char *n, *path, *left; /* left NULL: skipped */
} strips[] = {
	{"0", "./a/b", "./a/b"}, {"1", "a/b/c", "b/c"},   {"1", "./a/b", "b"},
	{"1", "/a/b", "b"},      {"1", "a", NULL},        {"1", "./a/", NULL},
	{"2", "a//b/./c", "c"},  {"3", "a/b/c/d/", "d/"}, {"1", "./", NULL},
	{"1", "..a/b", "b"},
};

START_TEST(strip)
{
	struct xw_slice out;
	bool take;

	ck_assert_int_eq(xw_select_set(&sel, "--strip-components", strips[_i].n, &diag), 0);
	take = xw_select_strip(&sel, xw_slice_of(strips[_i].path), &out);
	ck_assert_msg(strips[_i].left ? take && xw_slice_is(out, strips[_i].left) : !take,
		      "%s of %s", strips[_i].n, strips[_i].path);
}
END_TEST

static const struct {
	const char *pattern, *path;
	bool hit;
} excludes[] = {
	{"*.o", "a/b.o", true},    {"*.o", "b.o", true},
	{"*.o", "b.oo", false},    {"proc", "proc/1/maps", true},
	{"proc", "a/proc", true},  {"proc", "process", false},
	{"a/b", "./a/b/c", true},  {"a/b", "x/a/b", true},
	{"a/b", "a/bc", false},    {"a*z", "a/q/z", true},
	{"[ab]c", "x/bc/y", true}, {"*", "anything", true},
	{"./a", "a", true},        {"d", "d/", true},
	{"./a", "./a/b", true},    {"./a", "x/a", false},
	{"a/", "x/a", true},       {"a//", "a/b", true},
	{"./a/", "/a", true},      {".//./a", "a", true},
	{"./a/b", "./a/b", true},  {"./a/b", "x/a/b", false},
	{"./*", "a", true},        {"./*.o", "a/b.o", true},
	{"./*.o", "a/b.c", false}, {".a", "a", false},
	{"./.a", ".a", true},      {"./", "a", false},
	{"/", "a", false},         {"a\\/", "a", false},
	{"./", "./", false},       {"./a", "./", false},
	{"../a", "a", false},
};

START_TEST(exclude)
{
	ck_assert_int_eq(xw_select_set(&sel, "--exclude", "never-there", &diag), 0);
	ck_assert_int_eq(xw_select_set(&sel, "--exclude", excludes[_i].pattern, &diag), 0);
	ck_assert_msg(xw_select_excluded(&sel, xw_slice_of(excludes[_i].path)) == excludes[_i].hit,
		      "%s on %s", excludes[_i].pattern, excludes[_i].path);
}
END_TEST

static const struct {
	const char *spec;
	uint32_t mode, file, dir;
} modes[] = {
	{"644", 04755, 0644, 04644},      {"u=rw,go=r", 0777, 0644, 0644},
	{"a+X", 0644, 0644, 0755},        {"a+X", 0744, 0755, 0755},
	{"go-w", 0666, 0644, 0644},       {"+t", 0755, 01755, 01755},
	{"g=u", 0640, 0660, 0660},        {"u=g,o=g", 0751, 0555, 0555},
	{"o+u", 0750, 0757, 0757},        {"a-g", 0770, 0, 0},
	{"u+s,g-s", 02755, 04755, 04755}, {"=", 0777, 0, 0},
	{"ug=rwX,o=", 0640, 0660, 0770},
};

START_TEST(mode)
{
	ck_assert_int_eq(xw_select_set(&sel, "--mode", modes[_i].spec, &diag), 0);
	ck_assert_msg(xw_select_mode(&sel, modes[_i].mode, false) == modes[_i].file &&
			      xw_select_mode(&sel, modes[_i].mode, true) == modes[_i].dir,
		      "%s of %o", modes[_i].spec, modes[_i].mode);
}
END_TEST

static const struct {
	const char *option, *value;
} wrong[] = {
	{"--mode", "u+q"},
	{"--mode", ""},
	{"--mode", "10000"},
	{"--mode", "u=r,"},
	{"--owner", "root"},
	{"--owner", ""},
	{"--owner", "4294967296"},
	{"--owner", "1:x"},
	{"--group", "-1"},
	{"--group", "5x"},
	{"--strip-components", "-1"},
	{"--strip-components", ""},
};

START_TEST(wrong_values_are_named)
{
	ck_assert_msg(xw_select_set(&sel, wrong[_i].option, wrong[_i].value, &diag) ==
				      XW_ERR_USAGE &&
			      strstr(diag.text, wrong[_i].option),
		      "%s '%s'", wrong[_i].option, wrong[_i].value);
}
END_TEST

START_TEST(owners_times_xattrs)
{
	struct xw_time late = {2000, 5}, early = {1999, 7};

	ck_assert_int_eq(xw_select_set(&sel, "--owner", "7:4294967295", &diag), 0);
	ck_assert(sel.owner_set && sel.group_set);
	ck_assert_uint_eq(sel.group, UINT32_MAX);
	ck_assert_int_eq(xw_select_time(&sel, late).sec, 2000);
	ck_assert_int_eq(xw_select_set(&sel, "--clamp-mtime", NULL, &diag), 0);
	sel.clamp = 2000;
	ck_assert_uint_eq(xw_select_time(&sel, late).nsec, 0);
	ck_assert_uint_eq(xw_select_time(&sel, early).nsec, 7);
	ck_assert_int_eq(xw_select_set(&sel, "--xattrs-exclude", "user.*", &diag), 0);
	ck_assert(xw_select_xattr_excluded(&sel, xw_slice_of("user.x")));
	ck_assert(!xw_select_xattr_excluded(&sel, xw_slice_of("security.selinux")));
	ck_assert_int_eq(xw_select_set(&sel, "--no-such", "", &diag), XW_ERR_NOTFOUND);
}
END_TEST

/* In any order; the first line for an ID counts, also over several files. */
START_TEST(maps)
{
	static const char *const files[] = {"+3 +30\n+2 +20\n+3 +31\n+1 +10\n",
					    "+2 +21\n+0 +5\n+9 +90\n"};
	static const uint32_t ids[][2] = {
		{0, 5}, {1, 10}, {2, 20}, {3, 30}, {4, 4}, {9, 90}, {UINT32_MAX, UINT32_MAX}};

	for (size_t i = 0; i < XW_ARRAY_SIZE(files); i++) {
		char name[256];
		const int fd = mkstemp(tmp_template(name, sizeof(name), "xw-t-select"));
		const size_t n = strlen(files[i]);

		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(write(fd, files[i], n), (ssize_t)n);
		close(fd);
		ck_assert_int_eq(xw_select_set(&sel, "--owner-map", name, &diag), 0);
		unlink(name);
	}
	for (size_t i = 0; i < XW_ARRAY_SIZE(ids); i++)
		ck_assert_uint_eq(xw_select_owner(&sel, ids[i][0]), ids[i][1]);
}
END_TEST

START_TEST(dotdot)
{
	static const struct {
		const char *path;
		bool has;
	} rows[] = {
		{"", false},        {"..", true},     {"../a", true},    {"a/..", true},
		{"a/../b", true},   {"/..", true},    {"a//../b", true}, {".", false},
		{"...", false},     {"a/...", false}, {"..a/b", false},  {"a../b", false},
		{"a/.../b", false}, {"a/b..", false}, {"./a/.b", false}, {"a.b/..c/../d", true},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++)
		ck_assert_msg(xw_slice_has_dotdot(xw_slice_of(rows[i].path)) == rows[i].has, "%s",
			      rows[i].path);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("select");
	TCase *t = tcase_create("select");

	tcase_add_checked_fixture(t, setup, teardown);
	unit_add_rows(t, strip, strips, n);
	unit_add_rows(t, exclude, excludes, pattern);
	unit_add_rows(t, mode, modes, spec);
	unit_add_rows(t, wrong_values_are_named, wrong, option);
	tcase_add_test(t, dotdot);
	tcase_add_test(t, maps);
	tcase_add_test(t, owners_times_xattrs);
	suite_add_tcase(s, t);
	return unit_main(s);
}
