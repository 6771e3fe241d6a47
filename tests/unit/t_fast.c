/* SPDX-License-Identifier: MIT */
/*
 * Fast commits carried out: what becomes of names, maps and counts, cut at every step, through the
 * journal and the redo file; and what is refused.
 */
#include "config.h"

#include "commit_world.h"
#include "fast_world.h"
#include "fastcommit/fastcommit.h"
#include "update/update_internal.h"

static const struct {
	const char *block_size, *features;
	uint32_t err; /* of the journal, which keeps the commit out of it */
} worlds[] = {
	{"1024", "fast_commit", 0},
	{"4096", "fast_commit", 0},
	{"1024", "fast_commit,^metadata_csum,^64bit", 0},
	{"1024", "fast_commit,^extent,^64bit", 0},
	{"1024", "fast_commit,quota", 5},
	{"4096", "fast_commit,bigalloc", 5},
};

/* ---- one scenario ---- */

/*
 * /old goes, its number is a new /dir/new of 7 blocks, one of them gone again; /keep loses blocks
 * 2 .. 3, gains 20 and is /sub/kept as well; /sub/inside is renamed; a file comes and goes.
 */
static void tell(const struct fast_image *f, struct fast_area *a)
{
	const uint32_t tid = fast_tid(f);
	struct xw_inode file, folder, kept;

	fast_record(f, f->old, &file);
	fast_record(f, f->sub, &folder);
	fast_record(f, f->keep, &kept);
	file.size = 7 * f->bs;
	file.generation = 77;
	kept.mode = XW_S_IFREG | 0600;
	kept.size = 21 * f->bs;
	kept.links = 2;
	fast_begin(a, f->bs, tid);
	fast_name(a, XW_FAST_UNLINK, XW_INO_ROOT, "old", f->old);
	fast_name(a, XW_FAST_UNLINK, XW_INO_ROOT, "never written", f->next + 3);
	fast_inode(a, f, f->next, &folder);
	fast_name(a, XW_FAST_CREAT, XW_INO_ROOT, "dir", f->next);
	fast_inode(a, f, f->old, &file);
	fast_range(a, XW_FAST_ADD_RANGE, f->old, 0, 7, FAST_FREE);
	fast_name(a, XW_FAST_CREAT, f->next, "new", f->old);
	fast_end(a, tid);
	fast_range(a, XW_FAST_DEL_RANGE, f->old, 5, 1, 0);
	fast_range(a, XW_FAST_DEL_RANGE, f->keep, 2, 2, 0);
	fast_range(a, XW_FAST_ADD_RANGE, f->keep, 20, 1, FAST_FREE + 36);
	fast_inode(a, f, f->keep, &kept);
	fast_name(a, XW_FAST_LINK, f->sub, "kept", f->keep);
	fast_inode(a, f, f->next + 1, &file);
	fast_range(a, XW_FAST_ADD_RANGE, f->next + 1, 0, 7, FAST_FREE + 64);
	fast_name(a, XW_FAST_CREAT, XW_INO_ROOT, "comes", f->next + 1);
	fast_end(a, tid);
	fast_name(a, XW_FAST_LINK, f->sub, "in", f->keep);
	fast_name(a, XW_FAST_UNLINK, f->sub, "in", f->keep);
	fast_name(a, XW_FAST_UNLINK, XW_INO_ROOT, "comes", f->next + 1);
	fast_end(a, tid);
}

static bool is_there(struct xw_image *img, const char *name, xw_ino want, struct xw_inode *in)
{
	xw_ino ino;

	if (xw_path_resolve(img, XW_INO_ROOT, name, false, &ino)) {
		xw_diag_clear(img->diag);
		return false;
	}
	ck_assert_uint_eq(ino, want);
	ok(xw_image_inode(img, ino, in, NULL));
	return true;
}

static void check_told(const struct fast_image *f, struct xw_dev *dev)
{
	struct xw_image *img;
	struct xw_inode in;
	struct xw_update_map m;
	struct xw_update u = {.diag = &diag};

	ok(xw_image_open(dev, 0, &diag, &img));
	u.img = img;
	ck_assert(!is_there(img, "/old", 0, &in));
	ck_assert(!is_there(img, "/comes", 0, &in));
	ck_assert(!is_there(img, "/sub/in", 0, &in));
	ck_assert(is_there(img, "/dir", f->next, &in));
	ck_assert_uint_eq(in.links, 2);
	ck_assert(is_there(img, "/dir/new", f->old, &in));
	ck_assert_uint_eq(in.links, 1);
	ck_assert_uint_eq(in.size, 7 * f->bs);
	ck_assert_uint_eq(in.generation, 77);
	ok(xw_update_map_load(&u, f->old, &in, &m));
	ck_assert_uint_eq(m.e.n, 2);
	ck_assert_uint_eq(m.e.v[0].pblk, FAST_FREE);
	ck_assert_uint_eq(m.e.v[0].len, 5);
	ck_assert_uint_eq(m.e.v[1].pblk, FAST_FREE + 6);
	xw_update_map_end(&m);
	ck_assert(is_there(img, "/sub/kept", f->keep, &in));
	ck_assert(is_there(img, "/keep", f->keep, &in));
	ck_assert_uint_eq(in.links, 2);
	ck_assert_uint_eq(in.mode, XW_S_IFREG | 0600);
	ok(xw_update_map_load(&u, f->keep, &in, &m));
	ck_assert_uint_eq(m.e.n, 3);
	ck_assert_uint_eq(m.e.v[1].lblk, 4);
	ck_assert_uint_eq(m.e.v[2].lblk, 20);
	ck_assert_uint_eq(m.e.v[2].pblk, FAST_FREE + 36);
	xw_update_map_end(&m);
	xw_image_close(img);
	check_dev(dev);
}

static int begin_edit(struct world *w)
{
	/* a redo record in the image would change free blocks, which are compared */
	const struct xw_edit_opts opts = {.now = 1700000000, .redo_file = w->store.name};
	struct xw_dev *d = crash_dev_dup(w->img);
	struct xw_edit *e;
	int rc = xw_edit_begin_dev(d, &w->store, &opts, &w->diag, &e);

	if (rc)
		xw_dev_close(d);
	else
		xw_edit_end(e);
	return rc;
}

/*
 * Apart from the log, and the number of KiB written: only a commit counts, and what it counts
 * depends on what was in place before.
 */
static bool same(const struct fast_image *f, struct xw_dev *d, const unsigned char *want)
{
	unsigned char *got = malloc(f->size);
	const size_t from = f->log * f->bs, to = from + f->log_blocks * f->bs;
	struct xw_super sb, wanted;
	bool equal;

	ck_assert_uint_eq(d->size, f->size);
	ok(xw_dev_pread(d, got, f->size, 0));
	ok(xw_super_decode(got + XW_SUPER_OFFSET, &sb));
	ok(xw_super_decode(want + XW_SUPER_OFFSET, &wanted));
	sb.kbytes_written = wanted.kbytes_written;
	xw_super_encode(&sb, got + XW_SUPER_OFFSET);
	equal = !memcmp(got, want, from) && !memcmp(got + to, want + to, f->size - to);
	free(got);
	return equal;
}

/* What a reader sees: the end, and nothing is written for it. */
static bool reads_as(const struct fast_image *f, struct world *w, const unsigned char *want)
{
	struct xw_dev *d = crash_dev_dup(w->img);
	const uint64_t steps = w->crash.steps;
	bool equal;

	if (xw_recover_dev(&d, &w->store, XW_RECOVER_RDONLY | XW_RECOVER_JOURNAL, &w->diag, NULL))
		ck_abort_msg("%s", w->diag.text);
	equal = same(f, d, want);
	xw_dev_close(d);
	ck_assert_uint_eq(w->crash.steps, steps);
	return equal;
}

static void make_world(struct fast_image *f, int i)
{
	struct fast_area a;

	fast_image_make(f, worlds[i].block_size, worlds[i].features);
	tell(f, &a);
	fast_pend(f, &a, worlds[i].err);
}

START_TEST(cut_everywhere)
{
	static const uint32_t seeds[] = {0, 123456};
	struct fast_image f;
	struct world w;
	unsigned char *want;
	bool reached = true;

	make_world(&f, _i);
	want = malloc(f.size);
	world_around(&w, f.bytes, f.size);
	if (begin_edit(&w))
		ck_abort_msg("%s", w.diag.text);
	check_told(&f, w.img);
	ck_assert_ptr_null(w.pub);
	ok(xw_dev_pread(w.img, want, f.size, 0));
	world_close(&w);
	for (uint64_t k = 1; reached; k += unit_stride()) {
		for (size_t s = 0; s < XW_ARRAY_SIZE(seeds); s++) {
			world_around(&w, f.bytes, f.size);
			w.crash.fail_at = k;
			w.crash.seed = seeds[s];
			(void)begin_edit(&w);
			reached = w.crash.steps >= k;
			world_revive(&w);
			if (!reads_as(&f, &w, want))
				ck_abort_msg("step %u, %u", (unsigned)k, (unsigned)s);
			if (begin_edit(&w))
				ck_abort_msg("step %u: %s", (unsigned)k, w.diag.text);
			ck_assert(same(&f, w.img, want));
			ck_assert(reads_as(&f, &w, want));
			world_close(&w);
		}
	}
	free(want);
	free(f.bytes);
}
END_TEST

/* ---- what is refused ---- */

static void spoil(const struct fast_image *f, struct fast_area *a, int which)
{
	struct xw_inode in;

	fast_record(f, f->old, &in);
	fast_begin(a, f->bs, fast_tid(f));
	switch (which) {
	case 0: /* blocks of others */
		fast_range(a, XW_FAST_ADD_RANGE, f->old, 9, 2, f->log);
		break;
	case 1:
		fast_range(a, XW_FAST_ADD_RANGE, f->old, 9, 2, FAST_FREE);
		fast_inode(a, f, f->keep, &in);
		fast_range(a, XW_FAST_ADD_RANGE, f->keep, 9, 2, FAST_FREE + 1);
		break;
	case 2:
		fast_range(a, XW_FAST_ADD_RANGE, f->old, 9, 2, UINT32_MAX);
		break;
	case 3:
		fast_range(a, XW_FAST_ADD_RANGE, f->old, 9, 1, FAST_FREE);
		fast_range(a, XW_FAST_ADD_RANGE, f->old, 19, 1, FAST_FREE);
		break;
	case 4: /* numbers */
		fast_name(a, XW_FAST_LINK, XW_INO_ROOT, "journal", XW_INO_JOURNAL);
		break;
	case 5:
		fast_name(a, XW_FAST_LINK, XW_INO_ROOT, "none", 1 << 30);
		break;
	case 6: /* names */
		fast_name(a, XW_FAST_LINK, XW_INO_ROOT, "keep", f->old);
		break;
	case 7:
		fast_name(a, XW_FAST_LINK, XW_INO_ROOT, "a/b", f->old);
		break;
	case 8:
		fast_name(a, XW_FAST_UNLINK, XW_INO_ROOT, "..", XW_INO_ROOT);
		break;
	case 9: /* a directory that is not empty */
		fast_name(a, XW_FAST_UNLINK, XW_INO_ROOT, "sub", f->sub);
		break;
	case 10: /* one with two names */
		fast_name(a, XW_FAST_LINK, XW_INO_ROOT, "again", f->sub);
		fast_name(a, XW_FAST_LINK, XW_INO_ROOT, "and again", f->sub);
		break;
	case 11: /* a file that becomes a directory */
		in.mode = XW_S_IFDIR | 0755;
		fast_inode(a, f, f->old, &in);
		break;
	case 12: /* attributes from nowhere */
		in.file_acl = FAST_FREE;
		fast_inode(a, f, f->old, &in);
		break;
	case 13:
		in.size = 4;
		in.mode = XW_S_IFIFO | 0644;
		fast_inode(a, f, f->next, &in);
		fast_range(a, XW_FAST_ADD_RANGE, f->next, 0, 2, FAST_FREE);
		fast_name(a, XW_FAST_CREAT, XW_INO_ROOT, "fifo", f->next);
		break;
	}
	if (which < 4 && which != 2)
		fast_inode(a, f, f->old, &in);
	fast_end(a, fast_tid(f));
}
#define SPOILS 14

START_TEST(contradictions)
{
	struct fast_image f;
	struct fast_area a;
	struct world w;

	fast_image_make(&f, "1024", "fast_commit");
	spoil(&f, &a, _i);
	fast_pend(&f, &a, 0);
	world_around(&w, f.bytes, f.size);
	ck_assert_int_eq(begin_edit(&w), XW_ERR_CORRUPT);
	ck_assert_ptr_nonnull(strstr(w.diag.text, "fast commits"));
	world_revive(&w);
	ck_assert(same(&f, w.img, f.bytes));
	world_close(&w);
	free(f.bytes);
}
END_TEST

/* Without an overlay they are refused, and nothing is written. */
START_TEST(refused_in_place)
{
	struct fast_image f;
	struct world w;
	struct xw_dev *d;

	make_world(&f, 0);
	world_around(&w, f.bytes, f.size);
	d = crash_dev_dup(w.img);
	ck_assert_int_eq(xw_recover_dev(&d, &w.store, XW_RECOVER_JOURNAL, &w.diag, NULL),
			 XW_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(w.diag.text, "fast commits"));
	xw_dev_close(d);
	ck_assert(same(&f, w.img, f.bytes));
	world_close(&w);
	free(f.bytes);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fast");
	TCase *tc = tcase_create("replay");

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, setup, teardown);
	unit_add_rows(tc, cut_everywhere, worlds, block_size);
	tcase_add_loop_test(tc, contradictions, 0, SPOILS);
	tcase_add_test(tc, refused_in_place);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
