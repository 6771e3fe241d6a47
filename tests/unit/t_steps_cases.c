/* SPDX-License-Identifier: MIT */
/* Sessions: inodes and directories that are not as they say, and blocks that were freed in them. */
#include "config.h"

#include "steps_world.h"

/* ---- an inode that lies ---- */

static int read_x(void *arg, void *buf, size_t len, size_t *got)
{
	unsigned *left = arg;

	*got = XW_MIN(len, *left);
	memset(buf, 'x', *got);
	*left -= (unsigned)*got;
	return 0;
}

START_TEST(inline_size)
{
	unsigned six = 6;
	const struct xw_update_new file = {
		.mode = XW_S_IFREG | 0600, .read = read_x, .arg = &six, .parent = XW_INO_ROOT};
	struct xw_steps s;
	struct xw_update *u;
	struct xw_edit *e;
	struct xw_inode in;
	uint8_t *raw;
	xw_ino ino;

	make(3);
	e = begin(&s);
	ok(xw_step_begin(&s, &u));
	ok(xw_update_create(u, &file, &ino));
	ok(xw_update_get(u, ino, &in, &raw));
	ck_assert_uint_ne(in.flags & XW_FL_INLINE_DATA, 0);
	in.size = UINT64_C(1) << 32;
	ok(xw_update_put(u, ino, &in, raw));
	ok(xw_step_keep(&s));
	ok(xw_step_begin(&s, &u));
	ck_assert_int_eq(xw_update_punch(u, ino, 0, 0), XW_ERR_CORRUPT);
	xw_step_drop(&s);
	xw_edit_end(e);
}
END_TEST

/* ---- a directory that has more blocks than its size says ---- */

static void link_many(struct xw_steps *s, xw_ino dir_ino, xw_ino ino)
{
	struct xw_update *u;
	char name[64];

	ok(xw_step_begin(s, &u));
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "a-name-of-some-length-%d", i);
		ok(xw_update_link(u, dir_ino, name, strlen(name), ino, XW_FT_REG));
	}
	ok(xw_update_add_links(u, ino, 99));
	ok(xw_step_keep(s));
}

START_TEST(blocks_behind_the_end)
{
	const struct xw_update_new new_dir = {.mode = XW_S_IFDIR | 0755, .parent = XW_INO_ROOT};
	const struct xw_update_new file = {.mode = XW_S_IFREG | 0600, .parent = XW_INO_ROOT};
	struct xw_steps s;
	struct xw_update *u;
	struct xw_edit *e;
	struct xw_inode in;
	uint8_t *raw;
	xw_ino d, ino;

	make(_i);
	e = begin(&s);
	ok(xw_step_begin(&s, &u));
	ok(xw_update_create(u, &new_dir, &d));
	ok(xw_update_link(u, XW_INO_ROOT, "d", 1, d, XW_FT_DIR));
	ok(xw_update_add_links(u, XW_INO_ROOT, 1));
	ok(xw_update_create(u, &file, &ino));
	ok(xw_update_expand_dir(u, d));
	ok(xw_update_get(u, d, &in, &raw));
	in.size /= 2;
	ok(xw_update_put(u, d, &in, raw));
	ok(xw_step_keep(&s));
	link_many(&s, d, ino);
	xw_step_drop(&s);
	ok(xw_edit_commit(e, NULL));
	xw_edit_end(e);
	check();
}
END_TEST

/* ---- a directory that is taken back has all its blocks again ---- */

START_TEST(revived_directory)
{
	const struct xw_update_new new_dir = {.mode = XW_S_IFDIR | 0755, .parent = XW_INO_ROOT};
	const struct xw_update_new file = {.mode = XW_S_IFREG | 0600, .parent = XW_INO_ROOT};
	struct xw_steps s;
	struct xw_update *u;
	struct xw_edit *e;
	struct xw_inode in;
	uint8_t *raw;
	xw_ino d, ino;

	make(4); /* with itrees */
	e = begin(&s);
	ok(xw_step_begin(&s, &u));
	ok(xw_update_create(u, &new_dir, &d));
	ok(xw_update_create(u, &file, &ino));
	ok(xw_step_keep(&s));
	link_many(&s, d, ino);
	ok(xw_step_begin(&s, &u));
	ok(xw_update_build_itree(u, d));
	ok(xw_step_keep(&s));
	ok(xw_step_begin(&s, &u));
	ok(xw_update_get(u, d, &in, &raw));
	ck_assert_uint_ne(in.flags & XW_FL_ITREE, 0);
	free(raw);
	ok(xw_update_kill(u, d, true));
	ok(xw_step_keep(&s));
	ok(xw_step_begin(&s, &u));
	ok(xw_update_revive(u, d));
	ok(xw_step_keep(&s));
	xw_step_drop(&s);
	ok(xw_edit_commit(e, NULL));
	xw_edit_end(e);
	check();
}
END_TEST

/* ---- what was freed before the commit ---- */

/* A file of so many MiB in the root directory; what came of it. */
static int add_file(struct xw_steps *s, const char *name, unsigned mib, xw_ino *ino)
{
	unsigned left = mib << 20;
	const struct xw_update_new file = {
		.mode = XW_S_IFREG | 0600, .read = read_x, .arg = &left, .parent = XW_INO_ROOT};
	struct xw_update *u;
	int rc;

	ok(xw_step_begin(s, &u));
	rc = xw_update_create(u, &file, ino);
	if (!rc)
		rc = xw_update_link(u, XW_INO_ROOT, name, strlen(name), *ino, XW_FT_REG);
	if (rc)
		xw_step_drop(s);
	else
		ok(xw_step_keep(s));
	return rc;
}

static void remove_file(struct xw_steps *s, const char *name, xw_ino ino)
{
	struct xw_update *u;

	ok(xw_step_begin(s, &u));
	ok(xw_update_unlink(u, XW_INO_ROOT, name, strlen(name)));
	ok(xw_update_kill(u, ino, true));
	ok(xw_step_keep(s));
}

static void commit(struct xw_steps *s, struct xw_edit *e)
{
	xw_step_drop(s);
	ok(xw_edit_commit(e, NULL));
	xw_edit_end(e);
	check();
}

static const struct {
	int kind;
	unsigned old, spare, all; /* MiB: deleted, free beside it, both and a little more */
} spaces[] = {{0, 8, 4, 16}, {1, 8, 4, 16}, {2, 12, 6, 24}, {5, 40, 8, 64}};

START_TEST(freed_in_it)
{
	const unsigned old = spaces[_i].old, spare = spaces[_i].spare;
	struct xw_overlay_stats st;
	struct xw_steps s;
	struct xw_edit *e;
	xw_ino ino, next;

	make(spaces[_i].kind);
	e = begin(&s);
	ok(add_file(&s, "old", old, &ino));
	commit(&s, e);

	/* what is deleted is not overwritten in memory while there is anything else */
	e = begin(&s);
	remove_file(&s, "old", ino);
	ok(add_file(&s, "a", spare - 1, &next));
	xw_overlay_stats(s.dev, &st);
	ck_assert_uint_lt(st.memory, 1 << 20);
	/* nor beyond the limit */
	s.held_max = 3 << 20;
	xw_step_drop(&s);
	ck_assert_int_eq(add_file(&s, "b", old, &next), XW_ERR_NOSPC);
	ck_assert_ptr_nonnull(strstr(diag.text, "used again after the commit"));
	xw_diag_clear(&diag);
	/* up to it, it is */
	s.held_max = 64 << 20;
	ck_assert_int_eq(add_file(&s, "b", spaces[_i].all, &next), XW_ERR_NOSPC);
	ck_assert_ptr_null(strstr(diag.text, "used again"));
	xw_diag_clear(&diag);
	ok(add_file(&s, "b", old - 1, &next));
	xw_overlay_stats(s.dev, &st);
	ck_assert_uint_gt(st.memory, 1 << 20);
	commit(&s, e);

	/* another commit, and no memory at all */
	e = begin(&s);
	remove_file(&s, "b", next);
	commit(&s, e);
	e = begin(&s);
	ok(add_file(&s, "c", old - 1, &next));
	xw_overlay_stats(s.dev, &st);
	ck_assert_uint_lt(st.memory, 1 << 20);
	commit(&s, e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("steps_cases");
	TCase *t = tcase_create("steps");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, inline_size);
	tcase_add_loop_test(t, blocks_behind_the_end, 0, 3);
	tcase_add_test(t, revived_directory);
	unit_add_table(t, freed_in_it, spaces);
	suite_add_tcase(s, t);
	return unit_main(s);
}
