/* SPDX-License-Identifier: MIT */
/*
 * Changes of parameters and features: lists of features; what is refused; and changes that are cut,
 * torn and failed at their steps: the image is what it was, or what it should become.
 *
 * Devices are in memory and lose what was not flushed (crashdev.h). What the new state looks like
 * to others is for tests/oracle/tune.sh to say.
 */
#include "config.h"

#include "fault_world.h"
#include "groups.h"
#include "read/bitmaps.h"
#include "tune/tune.h"

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

static struct import_world iw;

static void put_names(struct tm_tar *t)
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

static void setup(void)
{
	import_world_open(&iw);
}

static void teardown(void)
{
	import_world_close(&iw);
}

/* ---- what a run is asked for ---- */

struct change {
	const char *image, *features; /* of the image; the change's list */
	bool uuid;
	uint32_t inode_size; /* 0: stays */
};

static struct xw_tune_want want_of(const struct change *c)
{
	struct xw_tune_want w = {0};

	ck_assert_int_eq(xw_tune_want_features(&w, c->features, NULL), 0);
	if (c->uuid) {
		w.set |= XW_TUNE_UUID;
		memset(w.uuid, 0x5a, sizeof(w.uuid));
	}
	if (c->inode_size) {
		w.set |= XW_TUNE_INODE_SIZE;
		w.inode_size = c->inode_size;
	}
	return w;
}

static int tune(struct world *w, const struct change *c, struct xw_diag *diag)
{
	const struct xw_tune_opts o = {.now = 1700000000, .jobs = 1};
	const struct xw_tune_want want = want_of(c);
	struct xw_tune_outcome res;
	struct xw_edit *e;
	int rc = import_begin(w, XW_COMMIT_AUTO, &e);

	*diag = w->diag;
	return rc ? rc : xw_tune_edit(e, &o, &want, diag, &res);
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
	 "feature filetype cannot be changed with inline_data"},
};

START_TEST(refused)
{
	struct xw_diag diag = {0};
	struct world w;
	char why[256];
	uint64_t old;

	import_world_image(&iw, "ext4", refusals[_i].change.image, put_names);
	world_around(&w, iw.image, iw.image_size);
	old = world_reopen(&w);
	ck_assert_int_eq(tune(&w, &refusals[_i].change, &diag), refusals[_i].code);
	snprintf(why, sizeof(why), "%s%s", *refusals[_i].why ? ": " : "", refusals[_i].why);
	ck_assert_ptr_nonnull(strstr(diag.text, why));
	if (refusals[_i].code)
		ck_assert_uint_eq(world_reopen(&w), old);
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
	{"itree,orphan_file", "", false, .inode_size = 512},
	{"^flex_bg,^metadata_csum", "metadata_csum", false, .inode_size = 1024},
};

static const struct fault faults[] = {
	{CRASH_POWER, 0, 0},
	{CRASH_POWER, 0, 99},
	{CRASH_FROM, XW_ERR_IO, 1},
};

static int tune_as(const struct import_world *w, struct world *on, const void *change,
		   char why[WHY])
{
	struct xw_diag diag = {0};
	const int rc = tune(on, change, &diag);

	(void)w;
	strcpy(why, diag.text);
	return rc;
}

START_TEST(every_step)
{
	const struct change *c = &changes[_i / (int)XW_ARRAY_SIZE(faults)];
	const struct fault *f = &faults[_i % (int)XW_ARRAY_SIZE(faults)];

	import_world_image(&iw, "ext4", c->image, put_names);
	fault_every_step(&iw, tune_as, c, f, 10);
}
END_TEST

/* ---- records that were never used, and never zeroed either ---- */

static const struct {
	const char *image, *features; /* of the image; the change's list */
	uint32_t inode_size; /* 0: stays */
	bool all; /* what was never used is zero then, too: no descriptor tells it any more */
} lazy[] = {
	{"", "^metadata_csum", 0, false}, /* uninit_bg takes its place */
	{"", "^metadata_csum,^uninit_bg", 0, true},
	{"", "^metadata_csum,uninit_bg", 0, false},
	{"^metadata_csum,uninit_bg", "^uninit_bg", 0, true},
	{"^metadata_csum,uninit_bg", "metadata_csum", 0, false},
	{"", "", 512, true},
	{"^metadata_csum,^uninit_bg", "", 512, true},
	{"^metadata_csum", "metadata_csum", 0, true},
};

static void paint_free_blocks(struct xw_image *img)
{
	struct xw_sysmap *sys;
	uint8_t bits[4096], block[4096];

	memset(block, 0xA5, sizeof(block));
	ck_assert_uint_le(img->block_size, sizeof(block));
	ck_assert_int_eq(xw_sysmap_new(img, &sys), 0);
	for (uint64_t g = 0; g < img->groups; g++) {
		ck_assert_int_eq(xw_image_block_bitmap(img, sys, g, bits), 0);
		for (uint64_t i = 0; i < img->sb.blocks_per_group; i++) {
			const xw_blk blk =
				img->sb.first_data_block + g * img->sb.blocks_per_group + i;

			if (blk < img->sb.blocks_count && !(bits[i / 8] >> i % 8 & 1))
				ck_assert_int_eq(xw_dev_pwrite(img->dev, block, img->block_size,
							       blk * img->block_size),
						 0);
		}
	}
	xw_sysmap_free(sys);
}

/* As mke2fs leaves tables to the kernel, on a disk that had other contents before. */
static void leave_garbage(struct xw_dev *dev)
{
	struct xw_diag diag = {0};
	struct xw_group_desc gd;
	struct xw_image *img;

	leave_lazy(dev, 0);
	ck_assert_int_eq(xw_image_open(dev, 0, &diag, &img), 0);
	for (uint64_t g = 0; g < img->groups; g++) {
		const uint64_t size = (uint64_t)img->itable_blocks * img->block_size;
		uint8_t *table = malloc(size);
		uint64_t used;

		ck_assert_int_eq(xw_image_group(img, g, &gd), 0);
		used = gd.flags & XW_BG_INODE_UNINIT
			       ? 0
			       : (img->sb.inodes_per_group - gd.itable_unused) * img->inode_size;
		ck_assert_uint_le(used, size);
		memset(table, 0xA5, size);
		if (used < size)
			ck_assert_int_eq(xw_dev_pwrite(dev, table, size - used,
						       gd.inode_table * img->block_size + used),
					 0);
		free(table);
	}
	paint_free_blocks(img);
	xw_image_close(img);
}

/*
 * Records without an inode that are not zero, among those that a descriptor does not exclude; a
 * table that is said to be zeroed has no others.
 */
static unsigned count_garbage(struct xw_dev *dev, unsigned *looked_at)
{
	struct xw_diag diag = {0};
	struct xw_image *img;
	unsigned n = 0;

	*looked_at = 0;
	ck_assert_int_eq(xw_image_open(dev, 0, &diag, &img), 0);
	for (uint64_t g = 0; g < img->groups; g++) {
		uint8_t bits[4096], raw[1024];
		struct xw_group_desc gd;
		uint32_t end = img->sb.inodes_per_group;

		ck_assert_int_eq(xw_image_group(img, g, &gd), 0);
		ck_assert_int_eq(xw_image_inode_bitmap(img, g, bits), 0);
		if (!(gd.flags & XW_BG_INODE_ZEROED))
			end = gd.flags & XW_BG_INODE_UNINIT ? 0 : end - gd.itable_unused;
		for (uint32_t i = 0; i < end; i++) {
			bool zero = true;

			if (bits[i / 8] >> i % 8 & 1)
				continue;
			++*looked_at;
			ck_assert_int_eq(xw_dev_pread(dev, raw, img->inode_size,
						      gd.inode_table * img->block_size +
							      (uint64_t)i * img->inode_size),
					 0);
			for (uint32_t k = 0; k < img->inode_size; k++)
				zero &= !raw[k];
			n += !zero;
		}
	}
	xw_image_close(img);
	return n;
}

START_TEST(never_used)
{
	const struct xw_tune_opts o = {.now = 1700000001, .jobs = 1};
	struct xw_tune_want want = {0};
	struct xw_tune_outcome res;
	struct xw_diag diag;
	struct xw_edit *e;
	struct world w;
	unsigned looked_at;

	ck_assert_int_eq(xw_tune_want_features(&want, lazy[_i].features, NULL), 0);
	if (lazy[_i].inode_size) {
		want.set = XW_TUNE_INODE_SIZE;
		want.inode_size = lazy[_i].inode_size;
	}
	import_world_image(&iw, "ext4", *lazy[_i].image ? lazy[_i].image : "ext_attr", put_names);
	world_around(&w, iw.image, iw.image_size);
	leave_garbage(w.img);
	ck_assert_int_eq(xw_dev_flush(w.img), 0);
	ck_assert_int_eq(import_begin(&w, XW_COMMIT_AUTO, &e), 0);
	diag = w.diag;
	if (xw_tune_edit(e, &o, &want, &diag, &res))
		ck_abort_msg("%s", diag.text);
	(void)world_reopen(&w);
	ck_assert_uint_eq(count_garbage(w.img, &looked_at), 0);
	ck_assert_uint_ge(looked_at, lazy[_i].all ? res.after.free_inodes_count : 0);
	world_close(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tune");
	TCase *t = tcase_create("tune");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	unit_add_rows(t, features, lists, why);
	unit_add_rows(t, refused, refusals, why);
	tcase_add_loop_test(t, every_step, 0, XW_ARRAY_SIZE(changes) * XW_ARRAY_SIZE(faults));
	unit_add_rows(t, never_used, lazy, image);
	suite_add_tcase(s, t);
	return unit_main(s);
}
