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

#include "base/hash.h"
#include "commit/freemap.h"
#include "import_world.h"
#include "read/map.h"
#include "unit.h"

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
	{"ext4", "itree", XW_COMMIT_AUTO},
	{"ext4", "bigalloc,quota,ea_inode", XW_COMMIT_AUTO},
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

static struct import_world iw;

static void setup(void)
{
	import_world_open(&iw);
}

static void teardown(void)
{
	import_world_close(&iw);
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

/* What the next tool makes of it. */
static uint64_t reopen(struct world *w)
{
	struct xw_edit *e;
	uint64_t sum;

	world_revive(w);
	if (import_begin(w, XW_COMMIT_AUTO, &e))
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

	world_around(&w, iw.image, iw.image_size);
	*old = reopen(&w);
	w.crash.steps = 0;
	if (import(&iw, &w, spec->how, why))
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

	world_around(&w, iw.image, iw.image_size);
	w.crash.mode = f->mode;
	w.crash.code = f->code;
	w.crash.seed = f->seed < 2 ? f->seed : f->seed + (uint32_t)k * 2654435761u;
	w.crash.fail_at = k;
	rc = import(&iw, &w, spec->how, why);
	sum = reopen(&w);
	if ((sum != old && sum != new) || (!rc && sum != new))
		ck_abort_msg("step %llu: %d (%s), and the image is %s", (unsigned long long)k, rc,
			     why, sum == old ? "old" : "neither old nor new");
	seen[sum == new]++;
	if (sum == old) {
		if (import(&iw, &w, spec->how, why))
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

	import_world_make(&iw, spec->type, spec->features);
	new = undisturbed(spec, &old, &steps);
	ck_assert_uint_ne(old, new);
	ck_assert_uint_gt(steps, 20);
	for (uint64_t k = 1; k <= steps; k = k < steps ? XW_MIN(k + unit_stride(), steps) : k + 1)
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
