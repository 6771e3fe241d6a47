/* SPDX-License-Identifier: MIT */
/*
 * Commits that are cut, torn and failed at every step, then recovered: the image is what it was or
 * what it should be, byte for byte.
 */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "base/types.h"
#include "commit/commit.h"
#include "commit/recover.h"
#include "commit/super.h"
#include "commit_world.h"
#include "dev/overlay.h"
#include "unit.h"

#define V3 XW_JBD2_INCOMPAT_CSUM_V3
#define V2 XW_JBD2_INCOMPAT_CSUM_V2
#define B64 XW_JBD2_INCOMPAT_64BIT

static const struct world_spec specs[] = {
	{1024, true, true, V3 | B64, 0, false}, {4096, true, true, V3 | B64, 0, false},
	{1024, false, false, 0, 0, false},      {4096, false, true, B64, 0, false},
	{2048, true, false, V2, 0, false},
};

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

static int commit(struct world *w, struct xw_dev *o, enum xw_commit_how how,
		  struct xw_commit_info *info)
{
	const struct xw_commit_opts opts = {
		.how = how, .store = &w->store, .now = 1700000000, .nonce = 0x1234567890ABCDEF};

	return xw_commit(o, &opts, &w->diag, info);
}

/* Recover through a second handle, and close it: the state found. */
static char recover(struct world *w, unsigned flags, bool log, struct xw_recover_info *info)
{
	struct xw_dev *d = crash_dev_dup(w->img);
	char state;
	int rc = xw_recover_dev(&d, &w->store, flags | XW_RECOVER_JOURNAL, &w->diag, info);

	if (rc)
		ck_abort_msg("recovery: %d, %s", rc, w->diag.text);
	state = world_state(w, d, log);
	xw_dev_close(d);
	return state;
}

static void check_settled(struct world *w, bool log, char state)
{
	struct xw_recover_info info;
	uint64_t steps = w->crash.steps;

	ck_assert_int_eq(recover(w, XW_RECOVER_RDONLY, log, &info), state);
	ck_assert(!info.redo_applied && !info.super_fixed && !info.journal.needed);
	ck_assert_int_eq(recover(w, 0, log, &info), state);
	ck_assert(!info.redo_applied && !info.redo_dropped && !info.journal.needed);
	ck_assert_ptr_null(w->pub);
	/* nothing but the removal of left-over temporary files */
	ck_assert_uint_le(w->crash.steps - steps, 1);
}

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
	const bool log = how == XW_COMMIT_JOURNAL;
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
	rc = commit(&w, o, how, NULL);
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
	state = recover(&w, XW_RECOVER_RDONLY, log, &info);
	if (state == '?')
		ck_abort_msg("bs %u how %d step %llu mode %d seed %u: neither old nor new",
			     spec->block_size, how, (unsigned long long)k, f->mode, f->seed);
	ck_assert(rc || state == 'n');
	ck_assert_uint_eq(w.img->size, base->size);
	free(before);
	xw_dev_close(base);

	if (f->mode == CRASH_POWER)
		interrupt_recovery(&w, f);
	ck_assert_int_eq(recover(&w, 0, log, &info), state);
	check_settled(&w, log, state);
	seen[state == 'n'] = true;
	xw_dev_close(o);
	world_close(&w);
	return reached;
}

static void try_all(const struct world_spec *spec, enum xw_commit_how how)
{
	bool seen[2] = {false, false};

	for (size_t f = 0; f < XW_ARRAY_SIZE(faults); f++)
		for (uint64_t k = 1; try_fault(spec, how, &faults[f], k, seen); k++)
			;
	ck_assert(seen[0] && seen[1]);
}

START_TEST(redo_cut_everywhere)
{
	try_all(&specs[_i], XW_COMMIT_REDO);
}
END_TEST

START_TEST(journal_cut_everywhere)
{
	try_all(&specs[_i], XW_COMMIT_JOURNAL);
}
END_TEST

/*
 * Around the commit point of a journal what must be lost and what must be kept to do harm is a lot:
 * many throws, without checksums that would tell.
 */
START_TEST(journal_commit_point)
{
	bool seen[2] = {false, false};

	for (uint32_t i = 0; i < 400; i++) {
		const struct fault f = {CRASH_POWER, 0, RANDOM + 31 * i};

		try_fault(&specs[2], XW_COMMIT_JOURNAL, &f, 3 + i % 4, seen);
	}
	ck_assert(seen[0] && seen[1]);
}
END_TEST

START_TEST(other_redo_cut_everywhere)
{
	try_all(&redo_specs[_i], XW_COMMIT_REDO);
}
END_TEST

/* ---- the cases of recovery, one by one ---- */

/* The state between commit point and end: half of the blocks in place. */
static void half_done(struct world *w, const struct world_spec *spec)
{
	struct xw_dev *o;
	uint64_t steps;

	world_open(w, spec);
	o = world_change(w);
	ck_assert_int_eq(commit(w, o, XW_COMMIT_REDO, NULL), 0);
	xw_dev_close(o);
	steps = w->crash.steps;
	world_close(w);

	world_open(w, spec);
	o = world_change(w);
	w->crash.fail_at = steps - 12;
	w->crash.seed = 77;
	ck_assert_int_lt(commit(w, o, XW_COMMIT_REDO, NULL), 0);
	xw_dev_close(o);
	world_revive(w);
	ck_assert_ptr_nonnull(w->pub);
}

static void get_super(struct world *w, uint8_t super[XW_SUPER_SIZE])
{
	ck_assert_int_eq(xw_dev_pread(w->img, super, XW_SUPER_SIZE, XW_SUPER_OFFSET), 0);
}

static void put_super(struct world *w, const uint8_t *super)
{
	ck_assert_int_eq(xw_dev_pwrite(w->img, super, XW_SUPER_SIZE, XW_SUPER_OFFSET), 0);
}

static int try_recover(struct world *w, unsigned flags, struct xw_recover_info *info)
{
	struct xw_dev *d = crash_dev_dup(w->img);
	int rc = xw_recover_dev(&d, &w->store, flags, &w->diag, info);

	xw_dev_close(d);
	return rc;
}

START_TEST(half_state_is_refused)
{
	uint8_t super[XW_SUPER_SIZE];
	struct xw_super sb;
	struct world w;

	half_done(&w, &specs[_i]);
	ck_assert_int_eq(world_state(&w, w.img, false), '?');
	get_super(&w, super);
	ck_assert(xw_super_bytes_valid(super));
	ck_assert_int_eq(xw_super_decode(super, &sb), 0);
	ck_assert_uint_eq(sb.feature_incompat & 0x40000000, 0x40000000);
	ck_assert_uint_eq(sb.xw_nonce, 0x1234567890ABCDEF);
	world_close(&w);
}
END_TEST

START_TEST(bit_without_file)
{
	struct xw_recover_info info;
	uint8_t super[XW_SUPER_SIZE];
	struct world w;

	half_done(&w, &specs[_i]);
	xw_dev_close(w.pub);
	w.pub = NULL;
	for (unsigned ro = 0; ro < 2; ro++) {
		ck_assert_int_eq(try_recover(&w, ro ? XW_RECOVER_RDONLY : 0, &info), XW_ERR_STATE);
		ck_assert_ptr_nonnull(strstr(w.diag.text, "missing"));
		ck_assert_ptr_nonnull(strstr(w.diag.text, "xw-fsck -y"));
		xw_diag_clear(&w.diag);
	}
	ck_assert_int_eq(try_recover(&w, XW_RECOVER_FORCE, &info), 0);
	ck_assert(info.stuck);
	ck_assert_int_eq(xw_recover_give_up(w.img, &w.diag), 0);
	ck_assert_int_eq(try_recover(&w, 0, &info), 0);
	get_super(&w, super);
	ck_assert(xw_super_bytes_valid(super));
	ck_assert(!xw_super_bytes_nonce(super));
	world_close(&w);
}
END_TEST

START_TEST(file_of_another_change)
{
	struct xw_recover_info info;
	uint8_t super[XW_SUPER_SIZE];
	struct world w;

	half_done(&w, &specs[0]);
	get_super(&w, super);
	xw_super_bytes_pend(super, 4711, super);
	put_super(&w, super);
	ck_assert_int_eq(try_recover(&w, 0, &info), XW_ERR_STATE);
	ck_assert_ptr_nonnull(strstr(w.diag.text, "another image's"));
	ck_assert_ptr_nonnull(w.pub);
	world_close(&w);
}
END_TEST

/* Every byte of the redo file: with the bit set a damaged one is refused, and writes nothing. */
START_TEST(damaged_file)
{
	struct xw_recover_info info;
	unsigned char *before, c, bad;
	uint64_t size, tried = 0, refused = 0;
	struct world w;

	half_done(&w, &specs[_i]);
	before = malloc(w.img->size);
	size = w.pub->size;
	for (uint64_t at = 0; at < size; at += at < 5000 ? 131 : 3989) {
		struct xw_dev *d = crash_dev_dup(w.img);
		int rc;

		tried++;
		ck_assert_int_eq(xw_dev_pread(w.img, before, w.img->size, 0), 0);
		ck_assert_int_eq(xw_dev_pread(w.pub, &c, 1, at), 0);
		bad = c ^ 0x40;
		ck_assert_int_eq(xw_dev_pwrite(w.pub, &bad, 1, at), 0);
		rc = xw_recover_dev(&d, &w.store, XW_RECOVER_RDONLY, &w.diag, &info);
		/* padding of the table and of the journal superblock's block has no meaning */
		if (!rc)
			ck_assert_int_eq(world_state(&w, d, false), 'n');
		else
			ck_assert_str_ne(w.diag.text, "");
		refused += rc != 0;
		xw_dev_close(d);
		xw_diag_clear(&w.diag);
		if (rc) {
			ck_assert_int_ne(try_recover(&w, 0, &info), 0);
			ck_assert_ptr_nonnull(w.pub);
		}
		xw_diag_clear(&w.diag);
		ck_assert_int_eq(xw_dev_pwrite(w.pub, &c, 1, at), 0);
		ck_assert_int_eq(world_state(&w, w.img, false), '?');
	}
	ck_assert_uint_gt(refused, tried * 8 / 10);
	/* too short */
	ck_assert_int_eq(xw_dev_set_size(w.pub, size - 1), 0);
	ck_assert_int_eq(try_recover(&w, 0, &info), XW_ERR_CORRUPT);
	free(before);
	world_close(&w);
}
END_TEST

static void edit_super(struct xw_dev *d, unsigned off, uint8_t flip)
{
	uint8_t super[XW_SUPER_SIZE];

	ck_assert_int_eq(xw_dev_pread(d, super, sizeof(super), XW_SUPER_OFFSET), 0);
	super[off] ^= flip;
	xw_super_bytes_incompat(super, 0, 0);
	ck_assert_int_eq(xw_dev_pwrite(d, super, sizeof(super), XW_SUPER_OFFSET), 0);
}

START_TEST(file_without_bit)
{
	struct xw_recover_info info;
	struct xw_dev *o;
	struct world w, other;

	/* old state and new state: what the store has is dropped, but not by a reader */
	for (int i = 0; i < 3; i++) {
		half_done(&w, &specs[0]);
		if (i == 2) { /* a third state, as by another tool */
			w.new_img[XW_SUPER_OFFSET + 0x34] ^= 1;
			xw_super_bytes_incompat(w.new_img + XW_SUPER_OFFSET, 0, 0);
		}
		ck_assert_int_eq(xw_dev_pwrite(w.img, i ? w.new_img : w.old_img, w.old_size, 0), 0);
		ck_assert_int_eq(recover(&w, XW_RECOVER_RDONLY, false, &info), i ? 'n' : 'o');
		ck_assert_ptr_nonnull(w.pub);
		ck_assert_int_eq(recover(&w, 0, false, &info), i ? 'n' : 'o');
		ck_assert(info.redo_dropped);
		ck_assert_ptr_null(w.pub);
		world_close(&w);
	}
	/* another filesystem's: not touched, not used, and never replaced */
	half_done(&w, &specs[0]);
	world_open(&other, &specs[0]);
	other.old_img[XW_SUPER_OFFSET + 0x68] ^= 1;
	xw_super_bytes_incompat(other.old_img + XW_SUPER_OFFSET, 0, 0);
	ck_assert_int_eq(xw_dev_pwrite(w.img, other.old_img, w.old_size, 0), 0);
	ck_assert_int_eq(try_recover(&w, 0, &info), 0);
	ck_assert(!info.redo_applied && !info.redo_dropped);
	ck_assert_ptr_nonnull(w.pub);
	o = world_change(&w);
	edit_super(o, 0x68, 1);
	ck_assert_int_eq(commit(&w, o, XW_COMMIT_REDO, NULL), XW_ERR_EXISTS);
	xw_diag_clear(&w.diag);
	ck_assert_ptr_nonnull(w.pub);
	memcpy(w.old_img, other.old_img, w.old_size);
	ck_assert_int_eq(world_state(&w, w.img, false), 'o');
	xw_dev_close(o);
	world_close(&other);
	world_close(&w);
}
END_TEST

/* The superblock in every mixture of two neighbouring states. */
START_TEST(torn_super)
{
	uint8_t pending[XW_SUPER_SIZE], torn[XW_SUPER_SIZE];
	struct xw_recover_info info;
	struct world w;
	struct xw_dev *o;

	for (unsigned cut = 0; cut <= XW_SUPER_SIZE; cut += cut > 0x58 && cut < 0x70 ? 1 : 13) {
		const unsigned kind = cut % 4; /* old/pending, pending/new; front or back first */
		const uint8_t *from, *to;

		half_done(&w, &specs[_i]);
		get_super(&w, pending);
		from = kind & 1 ? pending : w.old_img + XW_SUPER_OFFSET;
		to = kind & 1 ? w.new_img + XW_SUPER_OFFSET : pending;
		memcpy(torn, kind & 2 ? to : from, XW_SUPER_SIZE);
		memcpy(torn, kind & 2 ? from : to, cut);
		/* blocks as they are then */
		ck_assert_int_eq(
			xw_dev_pwrite(w.img, kind & 1 ? w.new_img : w.old_img, w.old_size, 0), 0);
		put_super(&w, torn);
		ck_assert_int_ne(recover(&w, XW_RECOVER_RDONLY, false, &info), '?');
		ck_assert_int_ne(recover(&w, 0, false, &info), '?');
		check_settled(&w, false, world_state(&w, w.img, false));
		o = world_change(&w);
		ck_assert_int_eq(commit(&w, o, XW_COMMIT_REDO, NULL), 0);
		xw_dev_close(o);
		world_close(&w);
	}
}
END_TEST

/* Nothing is left of the superblock, or its checksum is wrong. */
START_TEST(lost_super)
{
	uint8_t super[XW_SUPER_SIZE];
	struct xw_recover_info info;
	struct world w;

	/* garbage: recognised by all its blocks */
	half_done(&w, &specs[_i]);
	memset(super, 0xAA, sizeof(super));
	put_super(&w, super);
	ck_assert_int_eq(recover(&w, XW_RECOVER_RDONLY, false, &info), 'n');
	ck_assert_int_eq(recover(&w, 0, false, &info), 'n');
	world_close(&w);

	/* garbage, and a block that has neither old nor new contents */
	half_done(&w, &specs[_i]);
	memset(super, 0xAA, sizeof(super));
	put_super(&w, super);
	ck_assert_int_eq(xw_dev_pwrite(w.img, "someone else's", 14,
				       (uint64_t)11 * specs[_i].block_size + 300),
			 0);
	ck_assert_int_eq(xw_dev_pwrite(w.img, "someone else's", 14, 0), 0);
	ck_assert_int_eq(xw_dev_pwrite(w.img, "someone else's", 14,
				       (uint64_t)(specs[_i].block_size == 1024 ? 2 : 1) *
						       specs[_i].block_size +
					       30),
			 0);
	ck_assert_int_eq(try_recover(&w, 0, &info), 0);
	ck_assert(!info.redo_applied);
	ck_assert_ptr_nonnull(w.pub);
	world_close(&w);

	/* a byte that belongs to no state, but the nonce is there */
	half_done(&w, &specs[_i]);
	get_super(&w, super);
	super[0x38] ^= 0xFF; /* magic */
	put_super(&w, super);
	ck_assert_int_eq(recover(&w, 0, false, &info), 'n');
	ck_assert(info.redo_applied);
	world_close(&w);
}
END_TEST

/* A superblock whose RECOVER bit and checksum did not arrive together. */
START_TEST(torn_recover_bit)
{
	uint8_t super[XW_SUPER_SIZE], other[XW_SUPER_SIZE];
	struct xw_recover_info info;
	struct world w;

	for (int i = 0; i < 4; i++) {
		world_open(&w, &specs[0]);
		get_super(&w, super);
		memcpy(other, super, sizeof(other));
		xw_super_bytes_incompat(other, XW_INCOMPAT_RECOVER, 0);
		memcpy(i & 1 ? super : other, i & 1 ? other : super, 512);
		put_super(&w, i & 1 ? super : other);
		memcpy(w.new_img, w.old_img, w.old_size);
		ck_assert_int_eq(recover(&w, i & 2 ? XW_RECOVER_RDONLY : 0, false, &info), 'o');
		ck_assert(info.super_fixed);
		world_close(&w);
	}
}
END_TEST

/* ---- commits ---- */

START_TEST(nothing_to_do)
{
	struct xw_commit_info info;
	struct xw_dev *o;
	struct world w;
	char c;

	world_open(&w, &specs[0]);
	ck_assert_int_eq(xw_overlay_open(crash_dev_dup(w.img), 1024, &w.diag, &o), 0);
	ck_assert_int_eq(xw_dev_pread(o, &c, 1, 5000), 0);
	ck_assert_int_eq(xw_dev_pwrite(o, &c, 1, 5000), 0);
	ck_assert_int_eq(commit(&w, o, XW_COMMIT_AUTO, &info), 0);
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

	world_open(&w, &specs[_i]);
	o = world_change(&w);
	xw_overlay_discard(o);
	xw_overlay_set_shadow(o, free_blocks, NULL);
	memset(w.new_img, 0x5A, w.new_size);
	ck_assert_int_eq(xw_dev_pwrite(o, w.new_img, 20 * specs[_i].block_size,
				       (uint64_t)(WORLD_LOG_FIRST + WORLD_LOG_BLOCKS) *
					       specs[_i].block_size),
			 0);
	ck_assert_int_eq(xw_dev_pwrite(o, "live", 4, 20 * specs[_i].block_size), 0);
	ck_assert_int_eq(xw_dev_pread(o, w.new_img, w.new_size, 0), 0);
	ck_assert_int_eq(commit(&w, o, XW_COMMIT_AUTO, &info), 0);
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
	{0x5C, 0x04, true, "no journal"},
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
		edit_super(w->img, r->off, r->flip);
	if (r->off)
		edit_super(o, r->off, r->flip);
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

	world_open(&w, &specs[0]);
	o = world_change(&w);
	spoil(&w, o, r);
	w.crash.steps = 0;
	ck_assert_int_eq(commit(&w, o, XW_COMMIT_JOURNAL, &info), XW_ERR_STATE);
	if (!strstr(info.why_no_journal, r->why))
		ck_abort_msg("'%s', not '%s'", info.why_no_journal, r->why);
	ck_assert_uint_eq(w.crash.steps, 0);
	xw_diag_clear(&w.diag);
	/* redo does */
	ck_assert_int_eq(commit(&w, o, XW_COMMIT_AUTO, &info), 0);
	ck_assert_int_eq(info.how, XW_COMMIT_REDO);
	xw_dev_close(o);
	world_close(&w);
}
END_TEST

START_TEST(refused)
{
	struct xw_commit_opts opts = {.how = XW_COMMIT_REDO};
	struct xw_dev *o;
	struct world w;

	world_open(&w, &specs[0]);
	o = world_change(&w);
	ck_assert_int_eq(xw_commit(o, &opts, &w.diag, NULL), XW_ERR_USAGE);
	xw_diag_clear(&w.diag);
	opts.store = &w.store;
	edit_super(o, 0x60, XW_INCOMPAT_RECOVER);
	ck_assert_int_eq(xw_commit(o, &opts, &w.diag, NULL), XW_ERR_STATE);
	xw_diag_clear(&w.diag);
	opts.log_pending = true;
	ck_assert_int_eq(xw_commit(o, &opts, &w.diag, NULL), 0);
	edit_super(o, 0x63, 0x40);
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
	tcase_add_loop_test(cut, redo_cut_everywhere, 0, XW_ARRAY_SIZE(specs));
	tcase_add_loop_test(cut, journal_cut_everywhere, 0, XW_ARRAY_SIZE(specs));
	tcase_add_test(cut, journal_commit_point);
	tcase_add_loop_test(cut, other_redo_cut_everywhere, 0, XW_ARRAY_SIZE(redo_specs));
	suite_add_tcase(s, cut);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, half_state_is_refused, 0, XW_ARRAY_SIZE(specs));
	tcase_add_loop_test(tc, bit_without_file, 0, XW_ARRAY_SIZE(specs));
	tcase_add_test(tc, file_of_another_change);
	tcase_add_loop_test(tc, damaged_file, 0, 2);
	tcase_add_test(tc, file_without_bit);
	tcase_add_loop_test(tc, torn_super, 0, 4);
	tcase_add_loop_test(tc, lost_super, 0, XW_ARRAY_SIZE(specs));
	tcase_add_test(tc, torn_recover_bit);
	tcase_add_test(tc, nothing_to_do);
	tcase_add_loop_test(tc, shadow, 0, 2);
	tcase_add_loop_test(tc, journal_does_not_serve, 0, XW_ARRAY_SIZE(reasons));
	tcase_add_test(tc, refused);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
