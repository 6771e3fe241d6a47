/* SPDX-License-Identifier: MIT */
/*
 * Commits that are cut, torn and failed at every step, then recovered: the image is what it was or
 * what it should be, byte for byte.
 */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "base/types.h"
#include "commit/super.h"
#include "commit_world.h"
#include "dev/overlay.h"
#include "disk/jsb.h"
#include "unit.h"

#define V3 XW_JBD2_INCOMPAT_CSUM_V3
#define B64 XW_JBD2_INCOMPAT_64BIT

static const struct world_spec redo_specs[] = {
	{1024, true, true, V3 | B64, 100000, false}, {4096, false, true, B64, -30000, false},
	{4096, true, true, V3 | B64, 3, false},      {1024, true, true, V3 | B64, 0, true},
	{4096, false, true, B64, 0, true},
};

#define RANDOM 1000u /* and above: another seed at every step */

static const struct fault {
	enum crash_mode mode;
	int code;
	uint32_t seed;
} faults[] = {
	{CRASH_POWER, 0, 0},        {CRASH_POWER, 0, 1},
	{CRASH_POWER, 0, 7},        {CRASH_POWER, 0, 123456},
	{CRASH_ONCE, XW_ERR_IO, 1}, {CRASH_ONCE, XW_ERR_HOSTFULL, 1},
	{CRASH_FROM, XW_ERR_IO, 1}, {CRASH_FROM, XW_ERR_HOSTFULL, 0},
};

/* Cut a recovery, too, anywhere. */
static void interrupt_recovery(struct world *w, const struct fault *f)
{
	struct xw_dev *d = crash_dev_dup(w->img);
	uint32_t x = w->crash.seed + 17;

	w->crash.fail_at = w->crash.steps + 1 + (x * 1664525u + 1013904223u) / 65536 % 50;
	(void)xw_recover_dev(&d, &w->store, XW_RECOVER_JOURNAL, &w->diag, NULL);
	xw_dev_close(d);
	if (f->seed >= RANDOM)
		w->crash.seed = x * 69069 + 12345;
	world_revive(w);
}

/* One commit with fault f at step k; true when the step was reached. */
static bool try_fault(const struct world_spec *spec, enum xw_commit_how how, const struct fault *f,
		      uint64_t k, bool seen[2])
{
	const bool log = world_ignores_log(spec, how);
	struct xw_recover_info info;
	struct xw_dev *o, *base;
	struct world w;
	unsigned char *before;
	bool reached;
	char state;
	int rc;

	world_open(&w, spec);
	o = world_change(&w);
	w.crash.mode = f->mode;
	w.crash.code = f->code;
	w.crash.seed = f->seed < RANDOM ? f->seed : f->seed + (uint32_t)k * 2654435761u;
	w.crash.fail_at = k;
	rc = world_commit(&w, o, how, NULL);
	reached = w.crash.steps >= k;
	if (!reached && rc)
		ck_abort_msg("%d: %s", rc, w.diag.text);
	if (rc && f->code)
		ck_assert_int_eq(rc, f->code);
	world_revive(&w);

	/* a reader sees it whole, and changes nothing */
	before = malloc(w.img->size);
	base = crash_dev_dup(w.img);
	ck_assert_int_eq(xw_dev_pread(base, before, base->size, 0), 0);
	state = world_recover(&w, XW_RECOVER_RDONLY, log, &info);
	if (state == '?')
		ck_abort_msg("bs %u how %d step %llu mode %d seed %u: neither old nor new",
			     spec->block_size, how, (unsigned long long)k, f->mode, f->seed);
	ck_assert(rc || state == 'n');
	ck_assert_uint_eq(w.img->size, base->size);
	free(before);
	xw_dev_close(base);

	if (f->mode == CRASH_POWER)
		interrupt_recovery(&w, f);
	ck_assert_int_eq(world_recover(&w, 0, log, &info), state);
	world_check_settled(&w, log, state);
	seen[state == 'n'] = true;
	xw_dev_close(o);
	world_close(&w);
	return reached;
}

static void try_all(const struct world_spec *spec, enum xw_commit_how how)
{
	bool seen[2] = {false, false};

	for (size_t f = 0; f < XW_ARRAY_SIZE(faults); f++)
		for (uint64_t k = 1; try_fault(spec, how, &faults[f], k, seen); k += unit_stride())
			;
	ck_assert(seen[0] && seen[1]);
}

START_TEST(redo_cut_everywhere)
{
	try_all(&world_specs[_i], XW_COMMIT_REDO);
}
END_TEST

START_TEST(inside_cut_everywhere)
{
	try_all(&world_specs[_i], XW_COMMIT_INSIDE);
}
END_TEST

START_TEST(other_inside_cut_everywhere)
{
	try_all(&redo_specs[_i], XW_COMMIT_INSIDE);
}
END_TEST

/* Behind the end of the image, which has its old or new size afterwards. */
START_TEST(behind_cut_everywhere)
{
	struct world_spec spec = _i < 5 ? world_specs[_i] : redo_specs[_i - 5];

	spec.behind = true;
	try_all(&spec, XW_COMMIT_INSIDE);
}
END_TEST

START_TEST(journal_cut_everywhere)
{
	try_all(&world_specs[_i], XW_COMMIT_JOURNAL);
}
END_TEST

/*
 * Around the commit point of a journal what must be lost and what must be kept to do harm is a lot:
 * many throws, without checksums that would tell.
 */
START_TEST(journal_commit_point)
{
	bool seen[2] = {false, false};

	for (uint32_t i = 0; i < 800; i++) {
		const struct fault f = {CRASH_POWER, 0, RANDOM + 31 * i};

		try_fault(&world_specs[2], XW_COMMIT_JOURNAL, &f, 3 + i % 8, seen);
	}
	ck_assert(seen[0] && seen[1]);
}
END_TEST

START_TEST(other_redo_cut_everywhere)
{
	try_all(&redo_specs[_i], XW_COMMIT_REDO);
}
END_TEST

/* ---- commits ---- */

START_TEST(nothing_to_do)
{
	struct xw_commit_info info;
	struct xw_dev *o;
	struct world w;
	char c;

	world_open(&w, &world_specs[0]);
	ck_assert_int_eq(xw_overlay_open(crash_dev_dup(w.img), 1024, &w.diag, &o), 0);
	ck_assert_int_eq(xw_dev_pread(o, &c, 1, 5000), 0);
	ck_assert_int_eq(xw_dev_pwrite(o, &c, 1, 5000), 0);
	ck_assert_int_eq(world_commit(&w, o, XW_COMMIT_AUTO, &info), 0);
	ck_assert_int_eq(info.how, XW_COMMIT_AUTO);
	ck_assert_uint_eq(w.crash.steps, 0);
	xw_dev_close(o);
	world_close(&w);
}
END_TEST

static uint64_t free_blocks(void *arg, uint64_t blk, uint64_t n, bool *is_free)
{
	const uint64_t from = WORLD_LOG_FIRST + WORLD_LOG_BLOCKS;

	(void)arg;
	*is_free = blk >= from;
	return blk >= from ? n : XW_MIN(n, from - blk);
}

/* Shadow writes are flushed before anything else, and are not in the commit. */
START_TEST(shadow)
{
	struct xw_commit_info info;
	struct xw_dev *o;
	struct world w;

	world_open(&w, &world_specs[_i]);
	o = world_change(&w);
	xw_overlay_discard(o);
	xw_overlay_set_shadow(o, free_blocks, NULL);
	memset(w.new_img, 0x5A, w.new_size);
	ck_assert_int_eq(xw_dev_pwrite(o, w.new_img, 20 * world_specs[_i].block_size,
				       (uint64_t)(WORLD_LOG_FIRST + WORLD_LOG_BLOCKS) *
					       world_specs[_i].block_size),
			 0);
	ck_assert_int_eq(xw_dev_pwrite(o, "live", 4, 20 * world_specs[_i].block_size), 0);
	ck_assert_int_eq(xw_dev_pread(o, w.new_img, w.new_size, 0), 0);
	/* the change does not touch the superblock; its commit counts */
	xw_super_bytes_count(w.new_img + XW_SUPER_OFFSET, w.old_img + XW_SUPER_OFFSET,
			     2 * world_specs[_i].block_size / 1024, false);
	ck_assert_mem_ne(w.new_img + XW_SUPER_OFFSET, w.old_img + XW_SUPER_OFFSET, XW_SUPER_SIZE);
	ck_assert_int_eq(world_commit(&w, o, XW_COMMIT_AUTO, &info), 0);
	ck_assert_int_eq(info.how, XW_COMMIT_JOURNAL);
	ck_assert_uint_eq(info.blocks, 2); /* the superblock's is always there */
	world_revive(&w); /* all that was written had been flushed */
	ck_assert_int_eq(world_state(&w, w.img, true), 'n');
	xw_dev_close(o);
	world_close(&w);
}
END_TEST

static const struct reason {
	unsigned off; /* of the superblock; 0: see below */
	uint8_t flip;
	bool before; /* in the old state as well */
	const char *why;
} reasons[] = {
	{0x5C, 0x10, false, "features change"},
	{0x60, 0x40, false, "features change"},
	{0x67, 0x40, true, "itrees"},
	{0x04, 0x01, false, "geometry"},
	{0x68, 0x01, false, "UUID changes"},
	{0x5C, 0x04, true, "no internal journal"},
	{0, 1, false, "journal itself is changed"},
	{0, 2, false, "after the change"},
	{0, 3, false, "not empty"},
	{0, 4, false, "before the change"},
	{0, 5, false, "of 39 blocks"},
};

static void spoil(struct world *w, struct xw_dev *o, const struct reason *r)
{
	const uint32_t bs = w->spec.block_size;
	struct xw_jsb jsb;
	uint8_t buf[1024];

	if (r->off && r->before)
		world_edit_super(w->img, r->off, r->flip);
	if (r->off)
		world_edit_super(o, r->off, r->flip);
	if (r->off)
		return;
	ck_assert_int_eq(xw_dev_pread(w->img, buf, 1024, (uint64_t)WORLD_LOG_FIRST * bs), 0);
	ck_assert_int_eq(xw_jsb_decode(buf, &jsb), 0);
	switch (r->flip) {
	case 1:
		ck_assert_int_eq(xw_dev_pwrite(o, "x", 1, (WORLD_LOG_FIRST + 5ull) * bs), 0);
		break;
	case 2: /* a descriptor's checksum */
	case 4:
		ck_assert_int_eq(xw_dev_pwrite(r->flip == 2 ? o : w->img, "x", 1,
					       (bs == 1024 ? 2ull : 1ull) * bs + 0x1E),
				 0);
		break;
	case 3:
		jsb.start = 1;
		break;
	case 5:
		jsb.maxlen = 40;
		break;
	}
	xw_jsb_encode(&jsb, buf);
	ck_assert_int_eq(xw_dev_pwrite(w->img, buf, 1024, (uint64_t)WORLD_LOG_FIRST * bs), 0);
	ck_assert_int_eq(xw_dev_flush(w->img), 0);
}

START_TEST(journal_does_not_serve)
{
	const struct reason *r = &reasons[_i];
	struct xw_commit_info info;
	struct xw_dev *o;
	struct world w;

	world_open(&w, &world_specs[0]);
	o = world_change(&w);
	spoil(&w, o, r);
	w.crash.steps = 0;
	ck_assert_int_eq(world_commit(&w, o, XW_COMMIT_JOURNAL, &info), XW_ERR_STATE);
	if (!strstr(info.why_no_journal, r->why))
		ck_abort_msg("'%s', not '%s'", info.why_no_journal, r->why);
	ck_assert_uint_eq(w.crash.steps, 0);
	xw_diag_clear(&w.diag);
	/* redo does */
	ck_assert_int_eq(world_commit(&w, o, XW_COMMIT_AUTO, &info), 0);
	ck_assert_int_eq(info.how, XW_COMMIT_FILE);
	xw_dev_close(o);
	world_close(&w);
}
END_TEST

START_TEST(refused)
{
	struct xw_commit_opts opts = {.how = XW_COMMIT_REDO};
	struct xw_dev *o;
	struct world w;

	world_open(&w, &world_specs[0]);
	o = world_change(&w);
	ck_assert_int_eq(xw_commit(o, &opts, &w.diag, NULL), XW_ERR_USAGE);
	xw_diag_clear(&w.diag);
	opts.store = &w.store;
	world_edit_super(o, 0x60, XW_INCOMPAT_RECOVER);
	ck_assert_int_eq(xw_commit(o, &opts, &w.diag, NULL), XW_ERR_STATE);
	xw_diag_clear(&w.diag);
	opts.log_pending = true;
	ck_assert_int_eq(xw_commit(o, &opts, &w.diag, NULL), 0);
	world_edit_super(o, 0x63, 0x40);
	ck_assert_int_eq(xw_commit(o, &opts, &w.diag, NULL), XW_ERR_STATE);
	xw_diag_clear(&w.diag);
	ck_assert_int_eq(xw_dev_pwrite(o, "x", 1, XW_SUPER_OFFSET + 0x38), 0);
	ck_assert_int_eq(xw_commit(o, &opts, &w.diag, NULL), XW_ERR_INTERNAL);
	xw_dev_close(o);
	world_close(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("commit");
	TCase *cut = tcase_create("cut"), *tc = tcase_create("cases");

	tcase_set_timeout(cut, 300);
	tcase_add_loop_test(cut, redo_cut_everywhere, 0, WORLD_SPECS);
	tcase_add_loop_test(cut, inside_cut_everywhere, 0, WORLD_SPECS);
	unit_add_table(cut, other_inside_cut_everywhere, redo_specs);
	tcase_add_loop_test(cut, behind_cut_everywhere, 0, 5 + XW_ARRAY_SIZE(redo_specs));
	tcase_add_loop_test(cut, journal_cut_everywhere, 0, WORLD_SPECS);
	tcase_add_test(cut, journal_commit_point);
	unit_add_table(cut, other_redo_cut_everywhere, redo_specs);
	suite_add_tcase(s, cut);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, nothing_to_do);
	tcase_add_loop_test(tc, shadow, 0, 2);
	unit_add_rows(tc, journal_does_not_serve, reasons, why);
	tcase_add_test(tc, refused);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
