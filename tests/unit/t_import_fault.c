/* SPDX-License-Identifier: MIT */
/*
 * An import of 200 files that is cut, torn and failed at its steps: the image is what it was, or
 * what it should become. Where it is what it was, the same import does it then, whatever the first
 * one left in free space.
 *
 * Devices are in memory and lose what was not flushed (crashdev.h). Two images are the same here
 * when every block in use has the same contents, the journal's own left out; inode tables are in
 * use to their ends, unless nobody zeroed them. What the new state looks like to others is for
 * tests/oracle/import_fault.sh to say.
 */
#include "config.h"

#include "import_world.h"
#include "unit.h"

static const struct spec {
	const char *type, *features;
	enum xw_commit_how how;
	bool lazy;
} specs[] = {
	{"ext4", "ext_attr", XW_COMMIT_JOURNAL},
	{"ext4", "ext_attr", XW_COMMIT_JOURNAL, .lazy = true},
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

/* ---- runs ---- */

static uint64_t undisturbed(const struct spec *spec, uint64_t *old, uint64_t *steps)
{
	struct world w;
	uint64_t sum;
	char why[WHY];

	world_around(&w, iw.image, iw.image_size);
	*old = world_reopen(&w);
	w.crash.steps = 0;
	if (import(&iw, &w, spec->how, why))
		ck_abort_msg("%s", why);
	*steps = w.crash.steps;
	sum = world_reopen(&w);
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
	sum = world_reopen(&w);
	if ((sum != old && sum != new) || (!rc && sum != new))
		ck_abort_msg("step %llu: %d (%s), and the image is %s", (unsigned long long)k, rc,
			     why, sum == old ? "old" : "neither old nor new");
	seen[sum == new]++;
	if (sum == old) {
		if (import(&iw, &w, spec->how, why))
			ck_abort_msg("step %llu, done again: %s", (unsigned long long)k, why);
		if (world_reopen(&w) != new)
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
	if (spec->lazy)
		import_world_lazy(&iw);
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
