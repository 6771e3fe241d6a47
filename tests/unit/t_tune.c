/* SPDX-License-Identifier: MIT */
/*
 * Changes of parameters and features: lists of features; what is refused; and changes that are cut,
 * torn and failed at their steps: the image is what it was, or what it should become.
 *
 * Devices are in memory and lose what was not flushed (crashdev.h). What the new state looks like
 * to others is for tests/oracle/tune.sh to say.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/run.h"
#include "base/hash.h"
#include "commit/freemap.h"
#include "commit_world.h"
#include "read/bitmaps.h"
#include "tarmake.h"
#include "tune/tune.h"
#include "unit.h"

#define NOW "1700000000"

/* ---- lists of features ---- */

static const struct {
	const char *list;
	int code;
	uint32_t on[XW_FW_COUNT], off[XW_FW_COUNT];
	const char *why;
} lists[] = {
	{"", 0, {0}, {0}, ""},
	{"has_journal", 0, {XW_COMPAT_HAS_JOURNAL}, {0}, ""},
	{"^has_journal", 0, {0}, {XW_COMPAT_HAS_JOURNAL}, ""},
	{"+dir_index,itree", 0, {XW_COMPAT_DIR_INDEX, 0, XW_RO_ITREE}, {0}, ""},
	{"mmp,^mmp", 0, {0}, {0, XW_INCOMPAT_MMP}, ""},
	{"^mmp mmp", 0, {0, XW_INCOMPAT_MMP}, {0}, ""},
	{"gdt_csum", 0, {0, 0, XW_RO_GDT_CSUM}, {0}, ""},
	{"bogus", XW_ERR_USAGE, {0}, {0}, "Invalid filesystem option set: bogus"},
	{"bigalloc",
	 XW_ERR_UNSUPPORTED,
	 {0},
	 {0},
	 "Setting filesystem feature 'bigalloc' not supported."},
	{"mmp,^extent",
	 XW_ERR_UNSUPPORTED,
	 {0, XW_INCOMPAT_MMP},
	 {0},
	 "Clearing filesystem feature 'extent' not supported."},
	{"needs_recovery",
	 XW_ERR_UNSUPPORTED,
	 {0},
	 {0},
	 "Setting filesystem feature 'needs_recovery' not supported."},
};

START_TEST(features)
{
	struct xw_tune_want w = {0};
	struct xw_diag diag = {0};

	ck_assert_int_eq(xw_tune_want_features(&w, lists[_i].list, &diag), lists[_i].code);
	ck_assert_str_eq(diag.text, lists[_i].why);
	ck_assert_mem_eq(w.on.w, lists[_i].on, sizeof(w.on.w));
	ck_assert_mem_eq(w.off.w, lists[_i].off, sizeof(w.off.w));
}
END_TEST

/* ---- images ---- */

static char dir[64], image_path[96], tar_path[96];
static unsigned char *image; /* the old state */
static size_t image_size;

static void put_tree(struct tm_tar *t)
{
	static char big[700] = "SCHILY.xattr.user.big=";
	char name[64];

	memset(big + 22, 'x', sizeof(big) - 23);
	tm_file(t, '5', "d", "", NULL, 0);
	for (unsigned i = 0; i < 150; i++) {
		snprintf(name, sizeof(name), "d/a-name-of-some-length-%u", i);
		if (i % 20 == 0)
			TM_PAX(t, big);
		tm_file(t, '0', name, "", name, i % 3 ? strlen(name) : 0);
	}
	tm_file(t, '2', "link", "d", NULL, 0);
	tm_end(t);
}

static void make_image(const char *list)
{
	const struct {
		const char *option, *value;
	} options[] = {
		{"-t", "ext4"},
		{"-b", "1024"},
		{"-O", list},
		{"SIZE", "6M"},
		{"-N", "256"},
		{"-F", NULL},
		{"now", NOW},
		{"-d", tar_path},
		{"-E", "hash_seed=01234567-89ab-cdef-0123-456789abcdef"},
		{"-U", "01234567-89ab-cdef-0123-456789abcdef"},
	};
	struct tm_tar t = {0};
	struct xw_mkfs *m;
	FILE *f = fopen(tar_path, "wb");

	put_tree(&t);
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(t.p, 1, t.n, f), t.n);
	ck_assert_int_eq(fclose(f), 0);
	free(t.p);
	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	for (size_t i = 0; i < XW_ARRAY_SIZE(options); i++)
		ck_assert_int_eq(xw_mkfs_set(m, options[i].option, options[i].value), 0);
	if (xw_mkfs_run(m, image_path))
		ck_abort_msg("%s", xw_mkfs_error(m));
	image_size = xw_mkfs_result(m)->size_bytes;
	xw_mkfs_free(m);
	free(image);
	image = malloc(image_size);
	f = fopen(image_path, "rb");
	ck_assert(image && f);
	ck_assert_uint_eq(fread(image, 1, image_size, f), image_size);
	fclose(f);
}

static void setup(void)
{
	strcpy(dir, "/tmp/xw_t_tune.XXXXXX");
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

/* Every block in use, with the superblock as it is. */
static uint64_t digest(struct xw_dev *dev)
{
	struct xw_diag diag = {0};
	struct xw_freemap *map;
	struct xw_image *img;
	uint64_t sum = 0;
	uint8_t buf[1024];

	if (xw_image_open(dev, 0, &diag, &img))
		ck_abort_msg("%s", diag.text);
	ck_assert_int_eq(xw_freemap_new(dev, &diag, &map), 0);
	for (xw_blk blk = 0; blk < img->sb.blocks_count; blk++) {
		bool is_free;

		xw_freemap_ask(map, blk, 1, &is_free);
		if (is_free)
			continue;
		ck_assert_int_eq(xw_dev_pread(dev, buf, sizeof(buf), blk * sizeof(buf)), 0);
		sum = xw_hash64(buf, sizeof(buf), sum + blk);
	}
	xw_freemap_free(map);
	xw_image_close(img);
	return sum;
}

/* ---- what a run is asked for ---- */

struct change {
	const char *image, *features; /* of the image; the change's list */
	bool uuid;
};

static struct xw_tune_want want_of(const struct change *c)
{
	struct xw_tune_want w = {0};

	ck_assert_int_eq(xw_tune_want_features(&w, c->features, NULL), 0);
	if (c->uuid) {
		w.set |= XW_TUNE_UUID;
		memset(w.uuid, 0x5a, sizeof(w.uuid));
	}
	return w;
}

static int begin(struct world *w, struct xw_edit **e)
{
	const struct xw_edit_opts o = {.now = 1700000000};
	struct xw_dev *d = crash_dev_dup(w->img);
	int rc = xw_edit_begin_dev(d, &w->store, &o, &w->diag, e);

	if (rc)
		xw_dev_close(d);
	return rc;
}

static int tune(struct world *w, const struct change *c, struct xw_diag *diag)
{
	const struct xw_tune_opts o = {.now = 1700000000, .jobs = 1};
	const struct xw_tune_want want = want_of(c);
	struct xw_tune_result res;
	struct xw_edit *e;
	int rc = begin(w, &e);

	*diag = w->diag;
	return rc ? rc : xw_tune_run_edit(e, &o, &want, diag, &res);
}

static uint64_t reopen(struct world *w)
{
	struct xw_edit *e;
	uint64_t sum;

	world_revive(w);
	if (begin(w, &e))
		ck_abort_msg("opened again: %s", w->diag.text);
	sum = digest(xw_edit_dev(e));
	xw_edit_end(e);
	return sum;
}

/* ---- refusals: nothing is written ---- */

static const struct {
	struct change change;
	int code;
	const char *why;
} refusals[] = {
	{{"ext_attr", "64bit", false}, 0, ""}, /* it has that */
	{{"^64bit", "64bit", false}, XW_ERR_UNSUPPORTED, "64-bit mode is changed by resize2fs -b"},
	{{"^has_journal", "orphan_file", false},
	 XW_ERR_USAGE,
	 "orphan_file feature can be set only for filesystems with journal."},
	{{"^metadata_csum", "metadata_csum_seed", false},
	 XW_ERR_USAGE,
	 "Setting feature 'metadata_csum_seed' is only supported on filesystems with the "
	 "metadata_csum feature enabled."},
	{{"stable_inodes", "", true},
	 XW_ERR_UNSUPPORTED,
	 "Cannot change the UUID of this filesystem because it has the stable_inodes feature "
	 "flag."},
	{{"^dir_index", "itree", false}, XW_ERR_USAGE, "feature itree needs dir_index"},
	{{"inline_data", "^filetype", false},
	 XW_ERR_UNSUPPORTED,
	 "feature filetype cannot change where inline_data is"},
};

START_TEST(refused)
{
	struct xw_diag diag = {0};
	struct world w;
	char why[256];
	uint64_t old;

	make_image(refusals[_i].change.image);
	world_around(&w, image, image_size);
	old = reopen(&w);
	ck_assert_int_eq(tune(&w, &refusals[_i].change, &diag), refusals[_i].code);
	snprintf(why, sizeof(why), "%s%s", *refusals[_i].why ? ": " : "", refusals[_i].why);
	ck_assert_ptr_nonnull(strstr(diag.text, why));
	if (refusals[_i].code)
		ck_assert_uint_eq(reopen(&w), old);
	world_close(&w);
}
END_TEST

/* ---- faults ---- */

static const struct change changes[] = {
	{"ext_attr", "", true},
	{"ext_attr", "itree", false},
	{"itree,orphan_file,quota,mmp,ea_inode", "^quota", true},
	{"quota", "^metadata_csum,^has_journal,itree", false},
	{"^metadata_csum,uninit_bg", "metadata_csum,orphan_file,^uninit_bg", true},
};

static const struct fault {
	enum crash_mode mode;
	int code;
	uint32_t seed;
} faults[] = {
	{CRASH_POWER, 0, 0},
	{CRASH_POWER, 0, 99},
	{CRASH_FROM, XW_ERR_IO, 1},
};

static uint64_t undisturbed(const struct change *c, uint64_t *old, uint64_t *steps)
{
	struct xw_diag diag = {0};
	struct world w;
	uint64_t sum;

	world_around(&w, image, image_size);
	*old = reopen(&w);
	w.crash.steps = 0;
	if (tune(&w, c, &diag))
		ck_abort_msg("%s", diag.text);
	*steps = w.crash.steps;
	sum = reopen(&w);
	world_close(&w);
	return sum;
}

static void try_step(const struct change *c, const struct fault *f, uint64_t k, uint64_t old,
		     uint64_t new, unsigned seen[2])
{
	struct xw_diag diag = {0};
	struct world w;
	uint64_t sum;
	int rc;

	world_around(&w, image, image_size);
	w.crash.mode = f->mode;
	w.crash.code = f->code;
	w.crash.seed = f->seed < 2 ? f->seed : f->seed + (uint32_t)k * 2654435761u;
	w.crash.fail_at = k;
	rc = tune(&w, c, &diag);
	sum = reopen(&w);
	if ((sum != old && sum != new) || (!rc && sum != new))
		ck_abort_msg("step %llu: %d (%s), and the image is %s", (unsigned long long)k, rc,
			     diag.text, sum == old ? "old" : "neither old nor new");
	seen[sum == new]++;
	if (sum == old) {
		diag = (struct xw_diag){0};
		if (tune(&w, c, &diag))
			ck_abort_msg("step %llu, done again: %s", (unsigned long long)k, diag.text);
		if (reopen(&w) != new)
			ck_abort_msg("step %llu, done again: not the new state",
				     (unsigned long long)k);
	}
	world_close(&w);
}

START_TEST(every_step)
{
	const struct change *c = &changes[_i / (int)XW_ARRAY_SIZE(faults)];
	const struct fault *f = &faults[_i % (int)XW_ARRAY_SIZE(faults)];
	uint64_t old, new, steps;
	unsigned seen[2] = {0};

	make_image(c->image);
	new = undisturbed(c, &old, &steps);
	ck_assert_uint_ne(old, new);
	ck_assert_uint_gt(steps, 10);
	for (uint64_t k = 1; k <= steps; k = k < steps ? XW_MIN(k + unit_stride(), steps) : k + 1)
		try_step(c, f, k, old, new, seen);
	/* Before the commit point there are some, and behind it, too. */
	ck_assert_uint_gt(seen[0], 0);
	ck_assert_uint_gt(seen[1], 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tune");
	TCase *t = tcase_create("tune");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, features, 0, XW_ARRAY_SIZE(lists));
	tcase_add_loop_test(t, refused, 0, XW_ARRAY_SIZE(refusals));
	tcase_add_loop_test(t, every_step, 0, XW_ARRAY_SIZE(changes) * XW_ARRAY_SIZE(faults));
	suite_add_tcase(s, t);
	return unit_main(s);
}
