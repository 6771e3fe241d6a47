/* SPDX-License-Identifier: MIT */
/*
 * Steps of a session: random edits beside a model, and after them an image in which every block and
 * every inode is counted where it belongs, as the strict readers see it. Steps that fail, for lack
 * of space or because something is there, change nothing.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/xw.h"
#include "base/auto.h"
#include "read/bitmaps.h"
#include "read/dirs.h"
#include "read/file.h"
#include "read/xattrs.h"
#include "unit.h"
#include "update/edit.h"
#include "update/session.h"

#define FILES 40
#define BLOCKS_MAX 40

static char dir[64], path[96];
static struct xw_diag diag;

static const struct {
	const char *block_size, *features, *size;
} kinds[] = {
	{"1024", "none,filetype,sparse_super,large_file,dir_index,ext_attr,resize_inode", "16M"},
	{"1024", NULL, "16M"},
	{"4096", NULL, "24M"},
	{"4096", "inline_data,ea_inode,quota,project", "24M"},
	{"1024", "itree,^has_journal", "16M"},
	{"4096", "bigalloc,ea_inode", "64M"},
};

static void setup(void)
{
	strcpy(dir, "/tmp/xw_t_session.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/image", dir);
	memset(&diag, 0, sizeof(diag));
}

static void teardown(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static void make(int kind)
{
	struct xw_mkfs *m;

	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-b", kinds[kind].block_size), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", kinds[kind].size), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "now", "1700000000"), 0);
	if (kinds[kind].features)
		ck_assert_int_eq(xw_mkfs_set(m, "-O", kinds[kind].features), 0);
	if (xw_mkfs_run(m, path))
		ck_abort_msg("%s", xw_mkfs_error(m));
	xw_mkfs_free(m);
}

static struct xw_edit *begin(struct xw_session *s)
{
	const struct xw_edit_opts opts = {.now = 1700000000};
	struct xw_edit *e;

	if (xw_edit_begin(path, &opts, &diag, &e))
		ck_abort_msg("%s", diag.text);
	xw_session_init(s, xw_edit_dev(e), &diag);
	s->now = 1700000000;
	return e;
}

static void ok(int rc)
{
	if (rc)
		ck_abort_msg("%d: %s", rc, diag.text);
}

/* ---- is everything counted where it belongs? ---- */

static int count_node(void *arg, xw_blk blk, unsigned depth)
{
	(void)blk;
	(void)depth;
	++*(uint64_t *)arg;
	return 0;
}

/* Blocks of an inode, and that i_blocks says so. */
static uint64_t blocks_of(struct xw_image *img, xw_ino ino, const struct xw_inode *in,
			  const uint8_t *raw)
{
	struct xw_xattr_iter xi;
	struct xw_xattr_ref a;
	struct xw_map_iter it;
	struct xw_map_run run;
	uint64_t n = 0, ea = 0;

	if (xw_inode_has_map(in)) {
		ok(xw_map_begin(img, ino, in, 0, &it));
		it.on_node = count_node;
		it.arg = &n;
		while (xw_map_next(&it, &run) == 1)
			n += run.len;
		xw_map_end(&it);
	}
	n += in->file_acl != 0;
	ok(xw_xattr_begin(img, ino, in, raw, &xi));
	while (xw_xattr_next(&xi, &a) == 1)
		if (a.value_ino)
			ea += xw_div_up(a.value_len, img->block_size);
	xw_xattr_end(&xi);
	if (!(in->flags & XW_FL_ITREE) && !(img->sb.feature_ro_compat & XW_RO_BIGALLOC))
		ck_assert_uint_eq(xw_inode_fs_blocks_512(in, &img->sb) * 512 / img->block_size,
				  n + ea);
	else /* nodes of its itree, whole clusters */
		n = xw_inode_fs_blocks_512(in, &img->sb) * 512 / img->block_size;
	return n;
}

static uint64_t count_files(struct xw_image *img, uint64_t *inodes)
{
	struct xw_inode_scan s;
	const uint8_t *raw;
	uint64_t n = 0;
	xw_ino ino;

	*inodes = 0;
	ok(xw_inode_scan_begin(img, 0, img->groups, &s));
	while (xw_inode_scan_next(&s, &ino, &raw) == 1) {
		struct xw_inode in;

		ck_assert_int_eq(xw_inode_verify(raw, &img->sb, img->csum_seed, ino), 0);
		ok(xw_inode_decode(raw, &img->sb, &in));
		if (in.mode && in.links) {
			n += blocks_of(img, ino, &in, raw);
			++*inodes;
		}
	}
	xw_inode_scan_end(&s);
	return n;
}

static uint64_t clear_bits(const uint8_t *bits, uint64_t n)
{
	uint64_t c = 0;

	for (uint64_t i = 0; i < n; i++)
		c += !(bits[i / 8] >> i % 8 & 1);
	return c;
}

/* The strict readers take every bitmap, and the sums are right. */
static void check(void)
{
	struct xw_sysmap *sys;
	struct xw_image *img;
	struct xw_dev *dev;
	uint64_t free_blocks = 0, free_inodes = 0, meta = 0, inodes, files, ratio;

	ok(xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &dev));
	ok(xw_image_open(dev, 0, &diag, &img));
	ok(xw_sysmap_new(img, &sys));
	ratio = img->sb.blocks_per_group / xw_image_group_bits(img);
	for (uint64_t g = 0; g < img->groups; g++) {
		uint8_t bits[8192];

		ok(xw_image_block_bitmap(img, sys, g, bits));
		free_blocks += clear_bits(bits, xw_image_group_bits(img)) * ratio;
		ok(xw_image_inode_bitmap(img, g, bits));
		free_inodes += clear_bits(bits, img->sb.inodes_per_group);
	}
	ck_assert_uint_eq(img->sb.free_blocks_count, free_blocks);
	ck_assert_uint_eq(img->sb.free_inodes_count, free_inodes);
	for (xw_blk b = img->sb.first_data_block; b < img->sb.blocks_count; b++) {
		bool is_meta;

		xw_sysmap_at(sys, b, 1, &is_meta);
		meta += is_meta;
	}
	files = count_files(img, &inodes);
	/* the resize inode's blocks are the descriptors' reserve: it is counted there */
	if (img->sb.feature_compat & XW_COMPAT_RESIZE_INODE) {
		struct xw_inode in;

		ok(xw_image_inode(img, XW_INO_RESIZE, &in, NULL));
		files -= xw_inode_fs_blocks_512(&in, &img->sb) * 512 / img->block_size;
		files += 1; /* its map */
	}
	if (ratio == 1) /* else metadata shares clusters */
		ck_assert_uint_eq(img->sb.blocks_count - img->sb.first_data_block - free_blocks,
				  meta + files);
	xw_sysmap_free(sys);
	xw_image_close(img);
	xw_dev_close(dev);
}

/* ---- the model ---- */

struct file {
	char name[32];
	xw_ino ino;
	uint32_t blocks; /* 0: there is none */
	uint8_t fill[BLOCKS_MAX]; /* of each block; 0: a hole */
	uint32_t value_len; /* of user.x; 0: none */
};

struct model {
	struct xw_session s;
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
	ok(xw_session_begin(&m->s, &u));
	ok(xw_update_create(u, &new, &f->ino));
	ok(xw_update_link(u, m->in_dir, f->name, strlen(f->name), f->ino, XW_FT_REG));
	ok(xw_session_keep(&m->s));
}

static void op_remove(struct model *m, struct file *f)
{
	struct xw_update *u;

	ok(xw_session_begin(&m->s, &u));
	ok(xw_update_unlink(u, m->in_dir, f->name, strlen(f->name)));
	ok(xw_update_kill(u, f->ino, true));
	ok(xw_session_keep(&m->s));
	f->blocks = 0;
}

static void op_punch(struct model *m, struct file *f)
{
	const uint32_t first = rnd(m, f->blocks), last = first + rnd(m, 10);
	struct xw_update *u;

	ok(xw_session_begin(&m->s, &u));
	ok(xw_update_punch(u, f->ino, first, last));
	ok(xw_session_keep(&m->s));
	for (uint32_t i = first; i <= last && i < f->blocks; i++)
		f->fill[i] = 0;
}

static void op_fallocate(struct model *m, struct file *f)
{
	struct xw_update *u;

	ok(xw_session_begin(&m->s, &u));
	ok(xw_update_fallocate(u, f->ino, rnd(m, f->blocks), f->blocks - 1, false));
	ok(xw_session_keep(&m->s));
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
	ok(xw_session_begin(&m->s, &u));
	ok(xw_update_set_xattr(u, f->ino, &x));
	ok(xw_session_keep(&m->s));
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

	ok(xw_session_begin(&m->s, &u));
	ok(xw_update_unlink(u, m->in_dir, f->name, strlen(f->name)));
	ok(xw_update_kill(u, f->ino, true));
	ck_assert_int_eq(xw_update_create(u, &huge, &ino), XW_ERR_NOSPC);
	xw_session_forget(&m->s);
	xw_diag_clear(&diag);
	ok(xw_session_begin(&m->s, &u));
	ck_assert_int_eq(xw_update_link(u, m->in_dir, f->name, strlen(f->name), f->ino, XW_FT_REG),
			 XW_ERR_EXISTS);
	xw_session_forget(&m->s);
	xw_diag_clear(&diag);
}

static void op_revive(struct model *m, struct file *f)
{
	struct xw_update *u;

	if (f->value_len) /* its block of attributes may be gone */
		return;
	op_punch(m, f);
	ok(xw_session_begin(&m->s, &u));
	ok(xw_update_unlink(u, m->in_dir, f->name, strlen(f->name)));
	ok(xw_update_kill(u, f->ino, true));
	ok(xw_session_keep(&m->s));
	ok(xw_session_begin(&m->s, &u));
	ok(xw_update_revive(u, f->ino));
	ok(xw_update_link(u, m->in_dir, f->name, strlen(f->name), f->ino, XW_FT_REG));
	ok(xw_session_keep(&m->s));
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
	ok(xw_session_begin(&m.s, &u));
	ok(xw_update_create(u, &new, &m.in_dir));
	ok(xw_update_link(u, XW_INO_ROOT, "d", 1, m.in_dir, XW_FT_DIR));
	ok(xw_update_add_links(u, XW_INO_ROOT, 1));
	ok(xw_session_keep(&m.s));
	for (int i = 0; i < 250; i++)
		one(&m);
	xw_session_forget(&m.s);
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
	struct xw_session s;
	struct xw_update *u;
	struct xw_edit *e;
	xw_ino ino;

	make(1);
	e = begin(&s);
	counts(s.dev, &before[0], &before[1]);
	ok(xw_session_begin(&s, &u));
	ok(xw_update_mark_block(u, 6000, true));
	ck_assert_int_eq(xw_update_mark_block(u, 6000, true), XW_ERR_EXISTS);
	ok(xw_update_mark_inode(u, 100, true));
	ck_assert_int_eq(xw_update_mark_inode(u, 101, false), XW_ERR_EXISTS);
	ok(xw_session_keep(&s));
	counts(s.dev, &after[0], &after[1]);
	ck_assert_uint_eq(after[0], before[0]);
	ck_assert_uint_eq(after[1], before[1]);
	/* also for one who reads the image anew, and finds counts and bitmaps at odds */
	xw_session_forget(&s);
	ok(xw_session_begin(&s, &u));
	ok(xw_update_create(u, &file, &ino));
	ok(xw_session_keep(&s));
	counts(s.dev, &after[0], &after[1]);
	ck_assert_uint_eq(after[0], before[0]);
	ck_assert_uint_eq(after[1], before[1] - 1 - (UINT64_C(1) << 32));
	ok(xw_session_begin(&s, &u));
	ok(xw_update_kill(u, ino, true));
	ok(xw_update_mark_block(u, 6000, false));
	ok(xw_update_mark_inode(u, 100, false));
	ok(xw_session_keep(&s));
	xw_session_forget(&s);
	ok(xw_edit_commit(e, NULL));
	xw_edit_end(e);
	check();
}
END_TEST

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
	struct xw_session s;
	struct xw_update *u;
	struct xw_edit *e;
	struct xw_inode in;
	uint8_t *raw;
	xw_ino ino;

	make(3);
	e = begin(&s);
	ok(xw_session_begin(&s, &u));
	ok(xw_update_create(u, &file, &ino));
	ok(xw_update_get(u, ino, &in, &raw));
	ck_assert_uint_ne(in.flags & XW_FL_INLINE_DATA, 0);
	in.size = UINT64_C(1) << 32;
	ok(xw_update_put(u, ino, &in, raw));
	ok(xw_session_keep(&s));
	ok(xw_session_begin(&s, &u));
	ck_assert_int_eq(xw_update_punch(u, ino, 0, 0), XW_ERR_CORRUPT);
	xw_session_forget(&s);
	xw_edit_end(e);
}
END_TEST

/* ---- a directory that has more blocks than its size says ---- */

static void link_many(struct xw_session *s, xw_ino dir_ino, xw_ino ino)
{
	struct xw_update *u;
	char name[64];

	ok(xw_session_begin(s, &u));
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "a-name-of-some-length-%d", i);
		ok(xw_update_link(u, dir_ino, name, strlen(name), ino, XW_FT_REG));
	}
	ok(xw_update_add_links(u, ino, 99));
	ok(xw_session_keep(s));
}

START_TEST(blocks_behind_the_end)
{
	const struct xw_update_new new_dir = {.mode = XW_S_IFDIR | 0755, .parent = XW_INO_ROOT};
	const struct xw_update_new file = {.mode = XW_S_IFREG | 0600, .parent = XW_INO_ROOT};
	struct xw_session s;
	struct xw_update *u;
	struct xw_edit *e;
	struct xw_inode in;
	uint8_t *raw;
	xw_ino d, ino;

	make(_i);
	e = begin(&s);
	ok(xw_session_begin(&s, &u));
	ok(xw_update_create(u, &new_dir, &d));
	ok(xw_update_link(u, XW_INO_ROOT, "d", 1, d, XW_FT_DIR));
	ok(xw_update_add_links(u, XW_INO_ROOT, 1));
	ok(xw_update_create(u, &file, &ino));
	ok(xw_update_expand_dir(u, d));
	ok(xw_update_get(u, d, &in, &raw));
	in.size /= 2;
	ok(xw_update_put(u, d, &in, raw));
	ok(xw_session_keep(&s));
	link_many(&s, d, ino);
	xw_session_forget(&s);
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
	struct xw_session s;
	struct xw_update *u;
	struct xw_edit *e;
	xw_ino ino;

	make(_i);
	e = begin(&s);
	counts(s.dev, &before[0], &before[1]);
	ok(xw_session_begin(&s, &u));
	ok(xw_update_create(u, &empty, &ino));
	ok(xw_update_fallocate(u, ino, 0, UINT32_MAX, true));
	ok(xw_session_keep(&s));
	counts(s.dev, &after[0], &after[1]);
	ck_assert_uint_lt((uint32_t)after[0], (uint32_t)before[0] / 20 + 20);
	ok(xw_session_begin(&s, &u));
	ok(xw_update_punch(u, ino, 0, UINT32_MAX));
	ok(xw_session_keep(&s));
	counts(s.dev, &after[0], &after[1]);
	ck_assert_uint_eq(after[0], before[0]);
	xw_session_forget(&s);
	ok(xw_edit_commit(e, NULL));
	xw_edit_end(e);
	check();
}
END_TEST

int main(void)
{
	const char *seeds = getenv("XW_SEEDS");
	Suite *s = suite_create("session");
	TCase *t = tcase_create("steps");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, model, 0, (int)XW_ARRAY_SIZE(kinds) * (seeds ? atoi(seeds) : 1));
	tcase_add_test(t, bits);
	tcase_add_test(t, inline_size);
	tcase_add_loop_test(t, blocks_behind_the_end, 0, 3);
	tcase_add_loop_test(t, all_of_it, 0, 3);
	suite_add_tcase(s, t);
	return unit_main(s);
}
