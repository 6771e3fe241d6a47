/* SPDX-License-Identifier: MIT */
/* The order of archives: whatever the keys and the windows, a directory is complete once left. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "export/order.h"
#include "export/paths.h"
#include "unit.h"

#define ITEMS 400u
#define PATH 200u

struct tree {
	char path[ITEMS][PATH];
	xw_blk key[ITEMS];
	unsigned n, seed;
};

static unsigned roll(struct tree *t, unsigned n)
{
	t->seed = t->seed * 1103515245u + 12345u;
	return (t->seed >> 16) % n;
}

/* A walk: a directory, then what is in it. */
static void grow(struct tree *t, const char *dir, unsigned depth)
{
	const unsigned names = 1 + roll(t, 6);

	for (unsigned i = 0; i < names && t->n < ITEMS; i++) {
		const unsigned at = t->n++;

		snprintf(t->path[at], PATH, "%.180s%s%c", dir, *dir ? "/" : "", 'a' + (char)i);
		t->key[at] = 1 + roll(t, 1000);
		if (depth < 9 && roll(t, 3))
			grow(t, t->path[at], depth + 1);
	}
}

static uint32_t depth_of(const char *path)
{
	uint32_t n = *path != '\0';

	for (; *path; path++)
		n += *path == '/';
	return n;
}

static bool is_in(const char *path, const char *dir)
{
	const size_t n = strlen(dir);

	return !n || (!strncmp(path, dir, n) && (path[n] == '/' || !path[n]));
}

/* Has everything after `path` left it for good once it is left? */
static void judge(const struct tree *t, const unsigned *out)
{
	for (unsigned i = 0; i < t->n; i++) {
		const char *dir = t->path[out[i]];
		bool left = false;

		for (unsigned k = 0; k < i; k++)
			ck_assert_msg(!*dir || strcmp(t->path[out[k]], dir), "%s twice", dir);
		for (unsigned k = 0; k < i; k++)
			ck_assert_msg(!is_in(t->path[out[k]], dir) || !*dir, "%s before %s",
				      t->path[out[k]], dir);
		for (unsigned k = i + 1; k < t->n; k++) {
			const bool in = is_in(t->path[out[k]], dir);

			ck_assert_msg(!in || !left, "%s after %s was left", t->path[out[k]], dir);
			left |= !in;
		}
	}
}

START_TEST(windows)
{
	struct tree t = {.n = 1, .seed = (unsigned)_i};
	const unsigned window = 1 + (unsigned)_i % 37;
	struct xw_order_item v[ITEMS];
	uint32_t order[ITEMS];
	unsigned out[ITEMS];

	while (t.n < ITEMS) {
		t.n = 1;
		grow(&t, "", 0);
		if (t.n > ITEMS / 2)
			break;
	}
	for (unsigned from = 0; from < t.n; from += window) {
		const unsigned n = XW_MIN(window, t.n - from);

		for (unsigned i = 0; i < n; i++)
			v[i] = (struct xw_order_item){t.path[from + i], strlen(t.path[from + i]),
						      depth_of(t.path[from + i]), t.key[from + i]};
		ck_assert_int_eq(xw_order_tree(v, n, from + n < t.n, order), 0);
		for (unsigned i = 0; i < n; i++)
			out[from + i] = from + order[i];
	}
	judge(&t, out);
}
END_TEST

/* Entries of one directory go by their data. */
START_TEST(siblings)
{
	static const struct xw_order_item v[] = {
		{"", 0, 0, 9},    {"a", 1, 1, 9},   {"b", 1, 1, 8},
		{"b/x", 3, 2, 3}, {"b/y", 3, 2, 1}, {"c", 1, 1, 2},
	};
	static const uint32_t want[] = {0, 2, 4, 3, 5, 1};
	uint32_t order[XW_ARRAY_SIZE(v)];

	ck_assert_int_eq(xw_order_tree(v, XW_ARRAY_SIZE(v), false, order), 0);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(v); i++)
		ck_assert_uint_eq(order[i], want[i]);
}
END_TEST

START_TEST(below)
{
	static const struct {
		const char *name, *path, *dir;
		bool want;
	} rows[] = {
		{"the top", "a/b", "", true},
		{"the top itself", "", "", true},
		{"an entry", "a/b", "a", true},
		{"deeper", "a/b/c", "a", true},
		{"the directory itself", "a", "a", true},
		{"a longer name", "ab", "a", false},
		{"another directory", "b/a", "a", false},
		{"a parent", "a", "a/b", false},
		{"the top in a directory", "", "a", false},
	};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++)
		ck_assert_msg(xw_path_is_below(rows[i].path, strlen(rows[i].path), rows[i].dir,
					       strlen(rows[i].dir)) == rows[i].want,
			      "%s", rows[i].name);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("order");
	TCase *tc = tcase_create("order");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, windows, 0, 120);
	tcase_add_test(tc, siblings);
	tcase_add_test(tc, below);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
