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

#include "fault_world.h"

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

static const struct fault faults[] = {
	{CRASH_POWER, 0, 0},
	{CRASH_POWER, 0, 1},
	{CRASH_POWER, 0, 99},
	{CRASH_ONCE, XW_ERR_IO, 1},
	{CRASH_ONCE, XW_ERR_HOSTFULL, 1},
	{CRASH_FROM, XW_ERR_IO, 1},
	{CRASH_FULL, 0, 1},
	{CRASH_FULL, XW_ERR_UNSUPPORTED, 1},
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

/* Byte by byte, also what nobody looks at. */
static bool is_as_it_was(struct xw_dev *img)
{
	unsigned char *now = malloc(iw.image_size);
	bool same;

	ck_assert_int_eq(xw_dev_pread(img, now, iw.image_size, 0), 0);
	same = !memcmp(now, iw.image, iw.image_size);
	free(now);
	return same;
}

static int import_as(const struct import_world *w, struct world *on, const void *spec,
		     char why[WHY])
{
	const enum xw_commit_how how = ((const struct spec *)spec)->how;
	const int rc = import(w, on, how, why);

	/* What failed leaves nothing: its room is there again. But a log stays written. */
	if (rc && on->crash.mode == CRASH_FULL && how == XW_COMMIT_REDO)
		ck_assert(is_as_it_was(on->img));
	return rc;
}

START_TEST(every_step)
{
	const struct spec *spec = &specs[_i / (int)XW_ARRAY_SIZE(faults)];
	const struct fault *f = &faults[_i % (int)XW_ARRAY_SIZE(faults)];

	import_world_make(&iw, spec->type, spec->features);
	if (spec->lazy)
		import_world_lazy(&iw);
	fault_every_step(&iw, import_as, spec, f, 20);
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
