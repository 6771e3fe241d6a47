/* SPDX-License-Identifier: MIT */
/* Many names and whole directories removed together: what is left, and that nothing leaks. */
#include "config.h"

#include "steps_world.h"

#include "dev/overlay.h"
#include "faultdev.h"
#include "read/itree.h"

#define FILES 500u

static const struct xw_update_new new_dir = {.mode = XW_S_IFDIR | 0755, .parent = XW_INO_ROOT};
static const struct xw_update_new new_file = {.mode = XW_S_IFREG | 0600, .parent = XW_INO_ROOT};
static const struct xw_update_new new_link = {.mode = XW_S_IFLNK | 0777,
					      .parent = XW_INO_ROOT,
					      .target = "/somewhere/that/has/more/than/"
							"sixty/bytes/so/that/it/needs/a/block"};

struct world {
	struct xw_steps s;
	struct xw_edit *e;
	struct xw_update *u;
	xw_ino dir, sub, one, both; /* /d, /d/sub; inodes named in /d and /, in /d and /d/sub */
	uint64_t free_blocks, free_inodes; /* before there was anything */
};

static void name_of(char *buf, unsigned i)
{
	snprintf(buf, 64, "%s-%u", i % 3 ? "a-name-of-some-length" : "another", i);
}

static void link_in(struct world *w, xw_ino dir_ino, const char *name, xw_ino ino, uint8_t ft)
{
	ok(xw_update_link(w->u, dir_ino, name, strlen(name), ino, ft));
}

static xw_ino make_in(struct world *w, const struct xw_update_new *new, xw_ino dir_ino,
		      const char *name)
{
	xw_ino ino;

	ok(xw_update_create(w->u, new, &ino));
	link_in(w, dir_ino, name, ino, xw_ftype_of_mode(new->mode));
	if ((new->mode &XW_S_IFMT) == XW_S_IFDIR)
		ok(xw_update_add_links(w->u, dir_ino, 1));
	return ino;
}

static void counts(struct world *w)
{
	w->free_blocks = w->u->img->sb.free_blocks_count;
	w->free_inodes = w->u->img->sb.free_inodes_count;
}

/* /d with many files, a symlink, a subdirectory, and names that are elsewhere as well. */
static void open_world(struct world *w, int kind)
{
	struct xw_update_xattr x = {.name = "user.x", .value = "value", .len = 5};
	char name[64];

	make(kind);
	memset(w, 0, sizeof(*w));
	w->e = begin(&w->s);
	ok(xw_step_begin(&w->s, &w->u));
	counts(w);
	w->dir = make_in(w, &new_dir, XW_INO_ROOT, "d");
	w->sub = make_in(w, &new_dir, w->dir, "sub");
	for (unsigned i = 0; i < FILES; i++) {
		name_of(name, i);
		make_in(w, i % 50 ? &new_file : &new_link, w->dir, name);
	}
	w->one = make_in(w, &new_file, XW_INO_ROOT, "outside");
	link_in(w, w->dir, "inside", w->one, XW_FT_REG);
	ok(xw_update_add_links(w->u, w->one, 1));
	ok(xw_update_set_xattr(w->u, w->one, &x));
	w->both = make_in(w, &new_file, w->dir, "both");
	link_in(w, w->sub, "both", w->both, XW_FT_REG);
	ok(xw_update_add_links(w->u, w->both, 1));
	ok(xw_step_keep(&w->s));
}

static void close_world(struct world *w)
{
	xw_step_drop(&w->s);
	xw_edit_end(w->e);
}

static void commit_world(struct world *w)
{
	xw_step_drop(&w->s);
	ok(xw_edit_commit(w->e, NULL));
	xw_edit_end(w->e);
	check();
}

static struct xw_removal gone_begin(struct world *w)
{
	ok(xw_step_begin(&w->s, &w->u));
	return (struct xw_removal){.u = w->u, .recursive = true, .keep_records = true};
}

static int gone_end(struct world *w, struct xw_removal *g, int rc)
{
	if (!rc)
		rc = xw_removal_run(g);
	xw_removal_free(g);
	if (rc)
		xw_step_drop(&w->s);
	else
		ok(xw_step_keep(&w->s));
	return rc;
}

/* How many entries dir has beside its dots; `named`: that this one is there. */
static unsigned entries(struct xw_dev *dev, xw_ino dir_ino, const char *named, bool *there)
{
	uint8_t raw[1024];
	struct xw_image *img;
	struct xw_dir_iter it;
	struct xw_dirent e;
	struct xw_inode in;
	unsigned n = 0;

	ok(xw_image_open(dev, 0, &diag, &img));
	ok(xw_image_inode(img, dir_ino, &in, raw));
	ok(xw_dir_begin(img, dir_ino, &in, raw, &it));
	while (xw_dir_next(&it, &e, NULL) == 1) {
		n += e.name[0] != '.';
		if (named && e.name_len == strlen(named) && !memcmp(e.name, named, e.name_len))
			*there = true;
	}
	xw_dir_end(&it);
	xw_image_close(img);
	return n;
}

static unsigned links_of(struct world *w, xw_ino ino)
{
	struct xw_inode in;
	uint8_t *raw;
	unsigned n;

	ok(xw_step_begin(&w->s, &w->u));
	ok(xw_update_get(w->u, ino, &in, &raw));
	n = in.links;
	free(raw);
	xw_step_drop(&w->s);
	return n;
}

/* v: names first, first + step, ... of the files; returns how many. */
static size_t some_names(struct xw_dir_victim *v, char (*buf)[64], unsigned first, unsigned step)
{
	size_t n = 0;

	memset(v, 0, FILES * sizeof(*v));
	for (unsigned i = first; i < FILES; i += step, n++) {
		name_of(buf[n], i);
		v[n].name = buf[n];
		v[n].len = (uint8_t)strlen(buf[n]);
	}
	return n;
}

START_TEST(names_of_a_directory_that_stays)
{
	static struct xw_dir_victim v[FILES];
	static char buf[FILES][64];
	struct xw_removal g;
	struct world w;
	bool there = false;
	size_t n;

	open_world(&w, _i);
	for (unsigned step = 3; step > 0; step--) {
		g = gone_begin(&w);
		n = some_names(v, buf, step == 3 ? 0 : step == 2 ? 1 : 2, 3);
		ck_assert_int_eq(gone_end(&w, &g, xw_removal_from(&g, w.dir, v, n)), 0);
		for (size_t i = 1; i < n; i++)
			ck_assert_uint_lt(v[i - 1].ino, v[i].ino);
	}
	/* "sub", "inside", "both" */
	ck_assert_uint_eq(entries(w.s.dev, w.dir, "inside", &there), 3);
	ck_assert(there);
	ck_assert_uint_eq(links_of(&w, w.one), 2);
	ck_assert_uint_eq(links_of(&w, w.dir), 3);
	commit_world(&w);
}
END_TEST

START_TEST(whole_directory)
{
	struct xw_dir_victim v = {.name = "d", .len = 1};
	struct xw_removal g;
	struct world w;

	open_world(&w, _i);
	g = gone_begin(&w);
	ck_assert_int_eq(gone_end(&w, &g, xw_removal_from(&g, XW_INO_ROOT, &v, 1)), 0);
	ck_assert_uint_eq(links_of(&w, w.one), 1);
	ck_assert_uint_eq(links_of(&w, w.both), 0);
	ck_assert_uint_eq(links_of(&w, XW_INO_ROOT), 3);
	ck_assert_uint_eq(entries(w.s.dev, XW_INO_ROOT, NULL, NULL), 2); /* lost+found, outside */
	g = gone_begin(&w);
	v = (struct xw_dir_victim){.name = "outside", .len = 7};
	ck_assert_int_eq(gone_end(&w, &g, xw_removal_from(&g, XW_INO_ROOT, &v, 1)), 0);
	ok(xw_step_begin(&w.s, &w.u));
	ck_assert_uint_eq(w.u->img->sb.free_inodes_count, w.free_inodes);
	/* the root's names may have left its inode for a block */
	ck_assert_uint_ge(w.u->img->sb.free_blocks_count + (_i == 3), w.free_blocks);
	commit_world(&w);
}
END_TEST

/* In which the itree is read, whether it is believed or not: the same goes. */
START_TEST(with_an_itree)
{
	struct xw_dir_victim v = {.name = "d", .len = 1};
	struct xw_removal g;
	struct xw_inode in;
	struct world w;
	uint8_t *raw;

	open_world(&w, 4);
	ok(xw_step_begin(&w.s, &w.u));
	if (_i)
		w.u->img->sb.mtime = 1;
	ck_assert_int_eq(xw_itree_is_trusted(w.u->img), !_i);
	ok(xw_update_get(w.u, w.dir, &in, &raw));
	ck_assert_uint_ne(in.flags & XW_FL_ITREE, 0);
	free(raw);
	g = gone_begin(&w);
	ck_assert_int_eq(gone_end(&w, &g, xw_removal_from(&g, XW_INO_ROOT, &v, 1)), 0);
	ck_assert_uint_eq(links_of(&w, w.both), 0);
	commit_world(&w);
}
END_TEST

/* ---- what is refused, and changes nothing ---- */

static void refused(struct world *w, const char *name, bool recursive, xw_ino keep, int code,
		    const char *said)
{
	struct xw_dir_victim v = {.name = name, .len = (uint8_t)strlen(name)};
	struct xw_removal g = gone_begin(w);

	g.recursive = recursive;
	g.keep[1] = keep;
	ck_assert_int_eq(gone_end(w, &g, xw_removal_from(&g, XW_INO_ROOT, &v, 1)), code);
	ck_assert_msg(strstr(diag.text, said), "%s", diag.text);
	xw_diag_clear(&diag);
}

/* The itree calls /d/sub "..", and its checksum is right: nothing above /d goes with it. */
START_TEST(itree_that_leads_up)
{
	struct xw_inode in;
	struct world w;
	uint32_t seed;
	bool found = false;

	open_world(&w, 4);
	ok(xw_step_begin(&w.s, &w.u));
	ok(xw_image_inode(w.u->img, w.dir, &in, NULL));
	seed = xw_image_inode_seed(w.u->img, w.dir, &in);
	for (xw_blk blk = 1; blk < w.u->img->sb.blocks_count; blk++) {
		uint8_t b[1024], *name;

		ok(xw_dev_pread(w.s.dev, b, sizeof(b), blk * sizeof(b)));
		if (peek32(b) != XW_ITREE_MAGIC || b[5])
			continue;
		name = memmem(b, sizeof(b), "\3\2sub", 5);
		if (!name)
			continue;
		memcpy(name, "\2\2..", 5);
		xw_itree_set_csum(b, sizeof(b), true, seed);
		ok(xw_dev_pwrite(w.s.dev, b, sizeof(b), blk * sizeof(b)));
		found = true;
	}
	ck_assert(found);
	xw_step_drop(&w.s);
	refused(&w, "d", true, 0, XW_ERR_CORRUPT, "impossible name");
	ck_assert_uint_eq(links_of(&w, w.sub), 2);
	close_world(&w);
}
END_TEST

START_TEST(refusals)
{
	struct world w;

	open_world(&w, _i);
	refused(&w, "d", false, 0, XW_ERR_INPUT, "is a directory");
	refused(&w, "d", true, w.sub, XW_ERR_BUSY, "current directory of this session");
	refused(&w, "nothing", true, 0, XW_ERR_NOTFOUND, "'nothing': not found");
	refused(&w, "..", true, 0, XW_ERR_INPUT, "cannot be removed");
	refused(&w, "a/b", true, 0, XW_ERR_INPUT, "an invalid name");
	/* a directory that is in itself */
	ok(xw_step_begin(&w.s, &w.u));
	link_in(&w, w.sub, "loop", w.dir, XW_FT_DIR);
	ok(xw_step_keep(&w.s));
	refused(&w, "d", true, 0, XW_ERR_CORRUPT, "more than one name");
	/* a file that says to be a directory, and the other way round */
	ok(xw_step_begin(&w.s, &w.u));
	link_in(&w, XW_INO_ROOT, "file", w.sub, XW_FT_REG);
	link_in(&w, XW_INO_ROOT, "dir", w.one, XW_FT_DIR);
	ok(xw_step_keep(&w.s));
	if (_i) { /* where entries have types */
		refused(&w, "file", true, 0, XW_ERR_CORRUPT, "its entry says otherwise");
		refused(&w, "dir", true, 0, XW_ERR_CORRUPT, "is not a directory");
	}
	/* what the filesystem is made of */
	ok(xw_step_begin(&w.s, &w.u));
	link_in(&w, XW_INO_ROOT, "inode7", XW_INO_RESIZE, XW_FT_REG);
	ok(xw_step_keep(&w.s));
	refused(&w, "inode7", true, 0, XW_ERR_CORRUPT, "reserved");
	ck_assert_uint_eq(entries(w.s.dev, w.dir, NULL, NULL), FILES + 3);
	close_world(&w);
}
END_TEST

/* ---- failures half way ---- */

/* One attempt to remove /d; the session is forgotten whatever comes of it. */
static int attempt(struct faultdev *f, bool *torn)
{
	struct xw_removal g = {.recursive = true, .keep_records = true};
	struct xw_dir_victim v = {.name = "d", .len = 1};
	struct xw_steps s;
	int rc;

	xw_steps_init(&s, &f->dev, &diag);
	s.now = 1700000000;
	rc = xw_step_begin(&s, &g.u);
	if (!rc)
		rc = xw_removal_from(&g, XW_INO_ROOT, &v, 1);
	if (!rc)
		rc = xw_removal_run(&g);
	if (!rc)
		rc = xw_step_keep(&s);
	*torn = s.torn;
	xw_removal_free(&g);
	xw_step_drop(&s);
	return rc;
}

/* Reads of the step fail, each in turn: the session is where it was, and the same works then. What
 * cannot be written when the step is kept, is never committed. */
START_TEST(failures)
{
	struct xw_dev *file, *overlay;
	struct faultdev *f;
	struct world w;
	uint64_t k = 1;
	bool torn;
	int rc;

	open_world(&w, 4);
	commit_world(&w);
	ok(xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &file));
	ok(xw_overlay_open(file, 1024, &diag, &overlay));
	f = faultdev_open(overlay);
	f->fail_change = 1;
	ck_assert_int_eq(attempt(f, &torn), XW_ERR_IO);
	ck_assert(torn);
	xw_overlay_discard(overlay);
	f->fail_change = 0;
	for (;; k++) {
		xw_diag_clear(&diag);
		f->reads = 0;
		f->fail_read = k;
		rc = attempt(f, &torn);
		f->fail_read = 0;
		if (!rc)
			break;
		ck_assert_int_eq(rc, XW_ERR_IO);
		ck_assert(!torn);
		ck_assert_uint_eq(entries(&f->dev, w.dir, NULL, NULL), FILES + 3);
	}
	ck_assert_uint_gt(k, 10);
	ck_assert_uint_eq(entries(&f->dev, XW_INO_ROOT, NULL, NULL), 2);
	xw_dev_close(&f->dev);
}
END_TEST

static xw_blk acl_of(struct xw_dev *dev, xw_ino ino)
{
	struct xw_image *img;
	struct xw_inode in;

	ok(xw_image_open(dev, 0, &diag, &img));
	ok(xw_image_inode(img, ino, &in, NULL));
	xw_image_close(img);
	return in.file_acl;
}

/* A block of attributes with all references it may have: one that is dropped can be used again. */
START_TEST(full_xattr_block)
{
	enum { MAX = XW_XATTR_REFCOUNT_MAX };
	static char value[300];
	struct xw_update_xattr x = {.name = "user.x", .value = value, .len = sizeof(value)};
	struct world w = {0};
	xw_ino ino[MAX + 2];
	char name[64];
	xw_blk blk;

	memset(value, 'v', sizeof(value));
	make(2);
	w.e = begin(&w.s);
	ok(xw_step_begin(&w.s, &w.u));
	for (unsigned i = 0; i < MAX + 2; i++) {
		name_of(name, i);
		ino[i] = make_in(&w, &new_file, XW_INO_ROOT, name);
		if (i < MAX)
			ok(xw_update_set_xattr(w.u, ino[i], &x));
	}
	x.value = NULL;
	ok(xw_update_set_xattr(w.u, ino[7], &x));
	x.value = value;
	ok(xw_update_set_xattr(w.u, ino[MAX], &x));
	ok(xw_update_set_xattr(w.u, ino[MAX + 1], &x));
	ok(xw_step_keep(&w.s));
	blk = acl_of(xw_edit_dev(w.e), ino[0]);
	ck_assert_uint_ne(blk, 0);
	for (unsigned i = 0; i <= MAX; i += 64)
		ck_assert_uint_eq(acl_of(xw_edit_dev(w.e), ino[i]), blk);
	ck_assert_uint_eq(acl_of(xw_edit_dev(w.e), ino[7]), 0);
	ck_assert_uint_ne(acl_of(xw_edit_dev(w.e), ino[MAX + 1]), blk);
	ck_assert_uint_ne(acl_of(xw_edit_dev(w.e), ino[MAX + 1]), 0);
	close_world(&w); /* check() does not know shared blocks */
}
END_TEST

int main(void)
{
	Suite *s = suite_create("remove");
	TCase *t = tcase_create("removal");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, teardown);
	unit_add_table(t, names_of_a_directory_that_stays, kinds);
	unit_add_table(t, whole_directory, kinds);
	tcase_add_test(t, itree_that_leads_up);
	tcase_add_loop_test(t, with_an_itree, 0, 2);
	tcase_add_loop_test(t, refusals, 0, 2);
	tcase_add_test(t, failures);
	tcase_add_test(t, full_xattr_block);
	suite_add_tcase(s, t);
	return unit_main(s);
}
