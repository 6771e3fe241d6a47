/* SPDX-License-Identifier: MIT */
/*
 * Steps: random edits beside a model, and after them an image in which every block and
 * every inode is counted where it belongs, as the strict readers see it. Steps that fail, for lack
 * of space or because something is there, change nothing. XW_MODEL_FACTOR=N in the environment: N
 * times as many.
 */
#include "config.h"

#include "dev/overlay.h"
#include "steps_world.h"

#define FILES 40
#define BLOCKS_MAX 40

/* ---- the model ---- */

struct file {
	char name[32];
	xw_ino ino;
	uint32_t blocks; /* 0: there is none */
	uint8_t fill[BLOCKS_MAX]; /* of each block; 0: a hole */
	uint32_t value_len; /* of user.x; 0: none */
};

struct model {
	struct xw_steps s;
	uint32_t bs;
	uint64_t state;
	struct file files[FILES];
	xw_ino in_dir; /* where they are */
};

static uint32_t rnd(struct model *m, uint32_t below)
{
	m->state = m->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((m->state >> 33) % below);
}

struct source {
	const struct file *f;
	uint32_t bs;
	uint64_t at;
};

static int read_file(void *arg, void *buf, size_t len, size_t *got)
{
	struct source *s = arg;
	const uint64_t size = (uint64_t)s->f->blocks * s->bs;

	*got = XW_MIN(len, size - s->at);
	for (size_t i = 0; i < *got; i++)
		((uint8_t *)buf)[i] = s->f->fill[(s->at + i) / s->bs];
	s->at += *got;
	return 0;
}

static void op_create(struct model *m, struct file *f)
{
	struct source src = {f, m->bs, 0};
	const struct xw_update_new new = {
		.mode = XW_S_IFREG | 0644, .read = read_file, .arg = &src, .parent = m->in_dir};
	struct xw_update *u;

	f->blocks = 1 + rnd(m, BLOCKS_MAX);
	f->value_len = 0;
	for (uint32_t i = 0; i < f->blocks; i++)
		f->fill[i] = (uint8_t)(rnd(m, 3) ? 1 + rnd(m, 255) : 0);
	snprintf(f->name, sizeof(f->name), "file-%u-%u", (unsigned)(f - m->files), rnd(m, 100));
	ok(xw_step_begin(&m->s, &u));
	ok(xw_update_create(u, &new, &f->ino));
	ok(xw_update_link(u, m->in_dir, f->name, strlen(f->name), f->ino, XW_FT_REG));
	ok(xw_step_keep(&m->s));
}

static void op_remove(struct model *m, struct file *f)
{
	struct xw_update *u;

	ok(xw_step_begin(&m->s, &u));
	ok(xw_update_unlink(u, m->in_dir, f->name, strlen(f->name)));
	ok(xw_update_kill(u, f->ino, true));
	ok(xw_step_keep(&m->s));
	f->blocks = 0;
}

static void op_punch(struct model *m, struct file *f)
{
	const uint32_t first = rnd(m, f->blocks), last = first + rnd(m, 10);
	struct xw_update *u;

	ok(xw_step_begin(&m->s, &u));
	ok(xw_update_punch(u, f->ino, first, last));
	ok(xw_step_keep(&m->s));
	for (uint32_t i = first; i <= last && i < f->blocks; i++)
		f->fill[i] = 0;
}

static void op_fallocate(struct model *m, struct file *f)
{
	struct xw_update *u;

	ok(xw_step_begin(&m->s, &u));
	ok(xw_update_fallocate(u, f->ino, rnd(m, f->blocks), f->blocks - 1, false));
	ok(xw_step_keep(&m->s));
}

static void op_xattr(struct model *m, struct file *f)
{
	uint8_t value[800];
	struct xw_update_xattr x = {.name = "user.x"};
	struct xw_update *u;

	memset(value, (int)(f - m->files), sizeof(value));
	if (!f->value_len || rnd(m, 2)) {
		f->value_len = 1 + rnd(m, rnd(m, 2) ? 40 : sizeof(value));
		x.value = value;
		x.len = f->value_len;
	} else {
		f->value_len = 0;
	}
	ok(xw_step_begin(&m->s, &u));
	ok(xw_update_set_xattr(u, f->ino, &x));
	ok(xw_step_keep(&m->s));
}

/* What must fail leaves nothing. */
static int read_endless(void *arg, void *buf, size_t len, size_t *got)
{
	(void)arg;
	memset(buf, 1, len);
	*got = len;
	return 0;
}

static void op_fail(struct model *m, struct file *f)
{
	const struct xw_update_new huge = {
		.mode = XW_S_IFREG | 0644, .read = read_endless, .parent = m->in_dir};
	struct xw_update *u;
	xw_ino ino;

	ok(xw_step_begin(&m->s, &u));
	ok(xw_update_unlink(u, m->in_dir, f->name, strlen(f->name)));
	ok(xw_update_kill(u, f->ino, true));
	ck_assert_int_eq(xw_update_create(u, &huge, &ino), XW_ERR_NOSPC);
	xw_step_drop(&m->s);
	xw_diag_clear(&diag);
	ok(xw_step_begin(&m->s, &u));
	ck_assert_int_eq(xw_update_link(u, m->in_dir, f->name, strlen(f->name), f->ino, XW_FT_REG),
			 XW_ERR_EXISTS);
	xw_step_drop(&m->s);
	xw_diag_clear(&diag);
}

static void op_revive(struct model *m, struct file *f)
{
	struct xw_update *u;

	if (f->value_len) /* its block of attributes may be gone */
		return;
	op_punch(m, f);
	ok(xw_step_begin(&m->s, &u));
	ok(xw_update_unlink(u, m->in_dir, f->name, strlen(f->name)));
	ok(xw_update_kill(u, f->ino, true));
	ok(xw_step_keep(&m->s));
	ok(xw_step_begin(&m->s, &u));
	ok(xw_update_revive(u, f->ino));
	ok(xw_update_link(u, m->in_dir, f->name, strlen(f->name), f->ino, XW_FT_REG));
	ok(xw_step_keep(&m->s));
}

static void one(struct model *m)
{
	struct file *f = &m->files[rnd(m, FILES)];

	if (!f->blocks) {
		op_create(m, f);
		return;
	}
	switch (rnd(m, 8)) {
	case 0:
	case 1:
		op_remove(m, f);
		break;
	case 2:
		op_punch(m, f);
		break;
	case 3:
		op_fallocate(m, f);
		break;
	case 4:
	case 5:
		op_xattr(m, f);
		break;
	case 6:
		op_revive(m, f);
		break;
	default:
		if (!rnd(m, 8))
			op_fail(m, f);
		break;
	}
}

static void check_file(struct xw_image *img, const struct model *m, const struct file *f)
{
	auto_free uint8_t *raw = malloc(img->inode_size), *buf = malloc(m->bs);
	struct xw_inode in;
	uint32_t len;
	xw_ino ino;
	int rc = xw_dir_lookup(img, m->in_dir, f->name, strlen(f->name), &ino, NULL);

	ck_assert_int_eq(rc, f->blocks ? 0 : XW_ERR_NOTFOUND);
	if (!f->blocks)
		return;
	ck_assert_uint_eq(ino, f->ino);
	ok(xw_image_inode(img, ino, &in, raw));
	ck_assert_uint_eq(in.size, (uint64_t)f->blocks * m->bs);
	for (uint32_t i = 0; i < f->blocks; i++) {
		size_t got;

		ok(xw_file_pread(img, ino, &in, raw, (uint64_t)i * m->bs, buf, m->bs, &got));
		for (size_t k = 0; k < got; k++)
			ck_assert_uint_eq(buf[k], f->fill[i]);
	}
	free(buf);
	buf = NULL;
	rc = xw_xattr_get(img, ino, &in, raw, XW_XI_USER, "x", &buf, &len);
	ck_assert_int_eq(rc, f->value_len ? 0 : XW_ERR_NOTFOUND);
	if (f->value_len)
		ck_assert_uint_eq(len, f->value_len);
}

/* Kinds times seeds. */
START_TEST(model)
{
	struct model m = {.state = (uint64_t)_i + 1};
	const struct xw_update_new new = {.mode = XW_S_IFDIR | 0755, .parent = XW_INO_ROOT};
	struct xw_image *img;
	struct xw_update *u;
	struct xw_edit *e;

	make(_i % (int)XW_ARRAY_SIZE(kinds));
	e = begin(&m.s);
	m.bs = (uint32_t)atoi(kinds[_i % (int)XW_ARRAY_SIZE(kinds)].block_size);
	ok(xw_step_begin(&m.s, &u));
	ok(xw_update_create(u, &new, &m.in_dir));
	ok(xw_update_link(u, XW_INO_ROOT, "d", 1, m.in_dir, XW_FT_DIR));
	ok(xw_update_add_links(u, XW_INO_ROOT, 1));
	ok(xw_step_keep(&m.s));
	for (int i = 0; i < 250; i++)
		one(&m);
	xw_step_drop(&m.s);
	ok(xw_image_open(xw_edit_dev(e), 0, &diag, &img));
	for (size_t i = 0; i < FILES; i++)
		check_file(img, &m, &m.files[i]);
	xw_image_close(img);
	ok(xw_edit_commit(e, NULL));
	xw_edit_end(e);
	check();
}
END_TEST

/* ---- bits alone, and counts that are wrong ---- */

static void counts(struct xw_dev *dev, uint64_t *blocks, uint64_t *inodes)
{
	struct xw_group_desc gd;
	struct xw_image *img;

	ok(xw_image_open(dev, 0, &diag, &img));
	ok(xw_image_group(img, 0, &gd));
	*blocks = img->sb.free_blocks_count + ((uint64_t)gd.free_blocks << 32);
	*inodes = img->sb.free_inodes_count + ((uint64_t)gd.free_inodes << 32);
	xw_image_close(img);
}

START_TEST(bits)
{
	const struct xw_update_new file = {.mode = XW_S_IFIFO, .parent = XW_INO_ROOT};
	uint64_t before[2], after[2];
	struct xw_steps s;
	struct xw_update *u;
	struct xw_edit *e;
	xw_ino ino;

	make(1);
	e = begin(&s);
	counts(s.dev, &before[0], &before[1]);
	ok(xw_step_begin(&s, &u));
	ok(xw_update_mark_block(u, 6000, true));
	ck_assert_int_eq(xw_update_mark_block(u, 6000, true), XW_ERR_EXISTS);
	ok(xw_update_mark_inode(u, 100, true));
	ck_assert_int_eq(xw_update_mark_inode(u, 101, false), XW_ERR_EXISTS);
	ok(xw_step_keep(&s));
	counts(s.dev, &after[0], &after[1]);
	ck_assert_uint_eq(after[0], before[0]);
	ck_assert_uint_eq(after[1], before[1]);
	/* also for one who reads the image anew, and finds counts and bitmaps at odds */
	xw_step_drop(&s);
	ok(xw_step_begin(&s, &u));
	ok(xw_update_create(u, &file, &ino));
	ok(xw_step_keep(&s));
	counts(s.dev, &after[0], &after[1]);
	ck_assert_uint_eq(after[0], before[0]);
	ck_assert_uint_eq(after[1], before[1] - 1 - (UINT64_C(1) << 32));
	ok(xw_step_begin(&s, &u));
	ok(xw_update_kill(u, ino, true));
	ok(xw_update_mark_block(u, 6000, false));
	ok(xw_update_mark_inode(u, 100, false));
	ok(xw_step_keep(&s));
	xw_step_drop(&s);
	ok(xw_edit_commit(e, NULL));
	xw_edit_end(e);
	check();
}
END_TEST

/* Not the first block that is asked about, so others would have been written before it. */
static bool refuse_second(void *arg, uint64_t blk)
{
	uint64_t *asked = arg;

	(void)blk;
	return ++*asked != 2;
}

START_TEST(refused)
{
	const struct xw_update_new file = {.mode = XW_S_IFIFO, .parent = XW_INO_ROOT};
	uint64_t before[2], after[2], asked = 0;
	struct xw_steps s;
	struct xw_update *u;
	struct xw_edit *e;
	xw_ino ino;
	size_t n, was;
	uint64_t *dirty;

	make(1);
	e = begin(&s);
	counts(s.dev, &before[0], &before[1]);
	ok(xw_overlay_dirty(s.dev, &dirty, &was));
	free(dirty);
	s.may_write = refuse_second;
	s.may_write_arg = &asked;
	ok(xw_step_begin(&s, &u));
	ok(xw_update_create(u, &file, &ino));
	ck_assert_int_eq(xw_step_keep(&s), XW_ERR_INTERNAL);
	ck_assert_uint_eq(asked, 2);
	ck_assert(!s.torn);
	ok(xw_overlay_dirty(s.dev, &dirty, &n));
	free(dirty);
	ck_assert_uint_eq(n, was);
	/* nothing of it is left, and the next step is a step like any other */
	ok(xw_step_begin(&s, &u));
	ok(xw_update_create(u, &file, &ino));
	ok(xw_update_link(u, XW_INO_ROOT, "fifo", 4, ino, XW_FT_FIFO));
	ok(xw_step_keep(&s));
	ck_assert_uint_gt(asked, 3);
	counts(s.dev, &after[0], &after[1]);
	ck_assert_uint_eq((uint32_t)after[1], (uint32_t)before[1] - 1);
	xw_step_drop(&s);
	ok(xw_edit_commit(e, NULL));
	xw_edit_end(e);
	check();
}
END_TEST

/* ---- as much as there is ---- */

START_TEST(all_of_it)
{
	const struct xw_update_new empty = {.mode = XW_S_IFREG | 0600, .parent = XW_INO_ROOT};
	uint64_t before[2], after[2];
	struct xw_steps s;
	struct xw_update *u;
	struct xw_edit *e;
	xw_ino ino;

	make(_i);
	e = begin(&s);
	counts(s.dev, &before[0], &before[1]);
	ok(xw_step_begin(&s, &u));
	ok(xw_update_create(u, &empty, &ino));
	ok(xw_update_fallocate(u, ino, 0, UINT32_MAX, true));
	ok(xw_step_keep(&s));
	counts(s.dev, &after[0], &after[1]);
	ck_assert_uint_lt((uint32_t)after[0], (uint32_t)before[0] / 20 + 20);
	ok(xw_step_begin(&s, &u));
	ok(xw_update_punch(u, ino, 0, UINT32_MAX));
	ok(xw_step_keep(&s));
	counts(s.dev, &after[0], &after[1]);
	ck_assert_uint_eq(after[0], before[0]);
	xw_step_drop(&s);
	ok(xw_edit_commit(e, NULL));
	xw_edit_end(e);
	check();
}
END_TEST

int main(void)
{
	const char *factor = getenv("XW_MODEL_FACTOR");
	Suite *s = suite_create("steps");
	TCase *t = tcase_create("steps");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, model, 0, (int)XW_ARRAY_SIZE(kinds) * (factor ? atoi(factor) : 1));
	tcase_add_test(t, bits);
	tcase_add_test(t, refused);
	tcase_add_loop_test(t, all_of_it, 0, 3);
	suite_add_tcase(s, t);
	return unit_main(s);
}
