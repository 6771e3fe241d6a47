/* SPDX-License-Identifier: MIT */
/*
 * An import of 200 files that is cut, torn and failed at its steps: the image is what it was, or
 * what it should become. Where it is what it was, the same import does it then, whatever the first
 * one left in free space.
 *
 * Devices are in memory and lose what was not flushed (crashdev.h). Two images are the same here
 * when every block in use has the same contents, the journal's own left out. What the new state
 * looks like to others is for tests/oracle/import_fault.sh to say.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/import.h"
#include "base/hash.h"
#include "commit/freemap.h"
#include "commit_world.h"
#include "read/map.h"
#include "tarmake.h"
#include "unit.h"

#define NOW "1700000000"
#define WHY sizeof(((struct xw_diag *)0)->text)

static const struct spec {
	const char *type, *features;
	enum xw_commit_how how;
} specs[] = {
	{"ext4", "ext_attr", XW_COMMIT_JOURNAL},
	{"ext4", "ext_attr", XW_COMMIT_REDO},
	{"ext3", "^dir_index", XW_COMMIT_JOURNAL},
	{"ext2", "ext_attr", XW_COMMIT_REDO},
	{"ext4", "quota,project,ea_inode,orphan_file", XW_COMMIT_REDO},
	{"ext4", "quota,uninit_bg,^metadata_csum,^64bit", XW_COMMIT_JOURNAL},
};

static const struct fault {
	enum crash_mode mode;
	int code;
	uint32_t seed;
} faults[] = {
	{CRASH_POWER, 0, 0},
	{CRASH_POWER, 0, 1},
	{CRASH_POWER, 0, 99},
	{CRASH_ONCE, XW_ERR_IO, 1},
	{CRASH_ONCE, XW_ERR_HOSTFULL, 1},
	{CRASH_FROM, XW_ERR_IO, 1},
};

static char dir[64], image_path[96], tar_path[96];
static unsigned char *image; /* the old state */
static size_t image_size;

/* ---- the sources ---- */

static void put_file(struct tm_tar *t, const char *name, unsigned n)
{
	static char data[64 << 10];
	size_t len = n % 7 ? n * 337 % 9000 : n % 35 ? 0 : 50000;

	for (size_t i = 0; i < len; i++)
		data[i] = (char)(i % 251 + n);
	if (n % 3 == 0)
		TM_PAX(t, "SCHILY.xattr.user.small=of a file");
	if (n % 11 == 0) {
		static char big[700] = "SCHILY.xattr.user.big=";

		memset(big + 22, 'x', sizeof(big) - 23);
		TM_PAX(t, big);
	}
	tm_file(t, '0', name, "", data, len);
}

static void put_tree(struct tm_tar *t)
{
	char name[64];

	tm_file(t, '5', "a", "", NULL, 0);
	tm_file(t, '5', "a/b", "", NULL, 0);
	tm_file(t, '5', "gone", "", NULL, 0);
	for (unsigned i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "%s/old-%u", i % 3 ? "a" : i % 2 ? "a/b" : "gone", i);
		put_file(t, name, i);
	}
	tm_file(t, '1', "a/hard", "a/old-1", NULL, 0);
	tm_file(t, '2', "link", "a/b", NULL, 0);
	tm_end(t);
}

/* 200 files, and one of everything that can happen to what is there. */
static void put_update(struct tm_tar *t)
{
	char name[64];

	TM_PAX(t, "SCHILY.xattr.user.dir=new");
	tm_file(t, '5', "a", "", NULL, 0);
	for (unsigned i = 0; i < 200; i++) {
		const char *where = i % 5 == 0 ? "a/old-" : i % 5 == 1 ? "link/" : "new/dir/n";

		snprintf(name, sizeof(name), "%s%u", where, i);
		put_file(t, name, i + 100);
	}
	tm_file(t, '1', "new/hard", "a/old-1", NULL, 0);
	tm_file(t, '1', "new/hard2", "new/dir/n2", NULL, 0);
	tm_file(t, '2', "new/symlink", "somewhere", NULL, 0);
	tm_file(t, '0', ".wh.gone", "", NULL, 0);
	tm_file(t, '0', "a/.wh.old-2", "", NULL, 0);
	tm_file(t, '5', "a/old-4", "", NULL, 0);
	tm_file(t, '0', "a/old-4/in it", "", "x", 1);
	tm_end(t);
}

static void write_tar(void (*put)(struct tm_tar *t))
{
	struct tm_tar t = {0};
	FILE *f = fopen(tar_path, "wb");

	put(&t);
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(t.p, 1, t.n, f), t.n);
	ck_assert_int_eq(fclose(f), 0);
	free(t.p);
}

/* ---- the image ---- */

static void make_image(const struct spec *spec)
{
	const struct {
		const char *option, *value;
	} options[] = {
		{"-t", spec->type},
		{"-b", "1024"},
		{"-O", spec->features},
		{"SIZE", "7M"},
		{"-N", "1024"},
		{"-F", NULL},
		{"now", NOW},
		{"-d", tar_path},
		{"-E", "hash_seed=01234567-89ab-cdef-0123-456789abcdef"},
		{"-U", "01234567-89ab-cdef-0123-456789abcdef"},
	};
	struct xw_mkfs *m;
	FILE *f;

	write_tar(put_tree);
	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	for (size_t i = 0; i < XW_ARRAY_SIZE(options); i++)
		ck_assert_int_eq(xw_mkfs_set(m, options[i].option, options[i].value), 0);
	if (xw_mkfs_run(m, image_path))
		ck_abort_msg("%s", xw_mkfs_error(m));
	image_size = xw_mkfs_result(m)->size_bytes;
	xw_mkfs_free(m);
	image = malloc(image_size);
	f = fopen(image_path, "rb");
	ck_assert(image && f);
	ck_assert_uint_eq(fread(image, 1, image_size, f), image_size);
	fclose(f);
	write_tar(put_update);
}

static void setup(void)
{
	strcpy(dir, "/tmp/xw_t_import_fault.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(image_path, sizeof(image_path), "%s/image", dir);
	snprintf(tar_path, sizeof(tar_path), "%s/tar", dir);
}

static void teardown(void)
{
	unlink(image_path);
	unlink(tar_path);
	rmdir(dir);
	free(image);
	image = NULL;
}

/* ---- what an image is ---- */

static bool in_log(const struct xw_map_run *log, size_t n, xw_blk blk)
{
	for (size_t i = 0; i < n; i++)
		if (blk >= log[i].pblk && blk < log[i].pblk + log[i].len)
			return true;
	return false;
}

static size_t find_log(struct xw_image *img, struct xw_map_run *log, size_t room)
{
	struct xw_map_iter it;
	struct xw_inode in;
	size_t n = 0;

	if (!(img->sb.feature_compat & XW_COMPAT_HAS_JOURNAL))
		return 0;
	ck_assert_int_eq(xw_image_inode(img, XW_INO_JOURNAL, &in, NULL), 0);
	ck_assert_int_eq(xw_map_begin(img, XW_INO_JOURNAL, &in, 0, &it), 0);
	while (n < room && xw_map_next(&it, &log[n]) > 0)
		n++;
	xw_map_end(&it);
	return n;
}

static uint64_t digest(struct xw_dev *dev)
{
	struct xw_diag diag = {0};
	struct xw_map_run log[64];
	struct xw_freemap *map;
	struct xw_image *img;
	uint64_t sum = 0;
	uint8_t buf[1024];
	size_t n_log;

	if (xw_image_open(dev, 0, &diag, &img))
		ck_abort_msg("%s", diag.text);
	ck_assert_int_eq(xw_freemap_new(dev, &diag, &map), 0);
	n_log = find_log(img, log, XW_ARRAY_SIZE(log));
	for (xw_blk blk = 0; blk < img->sb.blocks_count; blk++) {
		bool is_free;

		xw_freemap_ask(map, blk, 1, &is_free);
		if (is_free || in_log(log, n_log, blk))
			continue;
		ck_assert_int_eq(xw_dev_pread(dev, buf, sizeof(buf), blk * sizeof(buf)), 0);
		sum = xw_hash64(buf, sizeof(buf), sum + blk);
	}
	xw_freemap_free(map);
	xw_image_close(img);
	return sum;
}

/* ---- runs ---- */

static int begin(struct world *w, enum xw_commit_how how, struct xw_edit **e)
{
	const struct xw_edit_opts o = {.how = how, .now = 1700000000};
	struct xw_dev *d = crash_dev_dup(w->img);
	int rc = xw_edit_begin_dev(d, &w->store, &o, &w->diag, e);

	if (rc)
		xw_dev_close(d);
	return rc;
}

static int import(struct world *w, enum xw_commit_how how, char why[WHY])
{
	struct xw_import *x;
	struct xw_edit *e;
	int rc = begin(w, how, &e);

	strcpy(why, w->diag.text);
	if (rc)
		return rc;
	ck_assert_int_eq(xw_import_new(&x), 0);
	ck_assert_int_eq(xw_import_set(x, "now", NOW), 0);
	ck_assert_int_eq(xw_import_set(x, "--jobs", "1"), 0);
	ck_assert_int_eq(xw_import_add_source(x, tar_path), 0);
	rc = xw_import_run_edit(x, "image", e);
	ck_assert(!rc == !*xw_import_error(x));
	strcpy(why, xw_import_error(x));
	xw_import_free(x);
	return rc;
}

/* What the next tool makes of it. */
static uint64_t reopen(struct world *w)
{
	struct xw_edit *e;
	uint64_t sum;

	world_revive(w);
	if (begin(w, XW_COMMIT_AUTO, &e))
		ck_abort_msg("opened again: %s", w->diag.text);
	sum = digest(xw_edit_dev(e));
	xw_edit_end(e);
	return sum;
}

static uint64_t undisturbed(const struct spec *spec, uint64_t *old, uint64_t *steps)
{
	struct world w;
	uint64_t sum;
	char why[WHY];

	world_around(&w, image, image_size);
	*old = reopen(&w);
	w.crash.steps = 0;
	if (import(&w, spec->how, why))
		ck_abort_msg("%s", why);
	*steps = w.crash.steps;
	sum = reopen(&w);
	world_close(&w);
	return sum;
}

static void try_step(const struct spec *spec, const struct fault *f, uint64_t k, uint64_t old,
		     uint64_t new, unsigned seen[2])
{
	struct world w;
	uint64_t sum;
	char why[WHY];
	int rc;

	world_around(&w, image, image_size);
	w.crash.mode = f->mode;
	w.crash.code = f->code;
	w.crash.seed = f->seed < 2 ? f->seed : f->seed + (uint32_t)k * 2654435761u;
	w.crash.fail_at = k;
	rc = import(&w, spec->how, why);
	sum = reopen(&w);
	if ((sum != old && sum != new) || (!rc && sum != new))
		ck_abort_msg("step %llu: %d (%s), and the image is %s", (unsigned long long)k, rc,
			     why, sum == old ? "old" : "neither old nor new");
	seen[sum == new]++;
	if (sum == old) {
		if (import(&w, spec->how, why))
			ck_abort_msg("step %llu, done again: %s", (unsigned long long)k, why);
		if (reopen(&w) != new)
			ck_abort_msg("step %llu, done again: not the new state",
				     (unsigned long long)k);
	}
	world_close(&w);
}

START_TEST(every_step)
{
	const struct spec *spec = &specs[_i / (int)XW_ARRAY_SIZE(faults)];
	const struct fault *f = &faults[_i % (int)XW_ARRAY_SIZE(faults)];
	uint64_t old, new, steps;
	unsigned seen[2] = {0};

	make_image(spec);
	new = undisturbed(spec, &old, &steps);
	ck_assert_uint_ne(old, new);
	ck_assert_uint_gt(steps, 20);
	for (uint64_t k = 1; k <= steps; k++)
		try_step(spec, f, k, old, new, seen);
	/* Before the commit point there are many, and behind it some. */
	ck_assert_uint_gt(seen[0], 0);
	ck_assert_uint_gt(seen[1], 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("import_fault");
	TCase *t = tcase_create("import_fault");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, every_step, 0, XW_ARRAY_SIZE(specs) * XW_ARRAY_SIZE(faults));
	suite_add_tcase(s, t);
	return unit_main(s);
}
