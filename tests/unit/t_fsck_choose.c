// SPDX-License-Identifier: MIT
/*
 * Which superblock xw-fsck continues with: a primary of which one field is damaged, with and
 * without a copy, with a right and a wrong checksum. Superblocks in, findings and superblock out.
 */
#include "config.h"

#include "disk/dirent.h"
#include "disk/jsb.h"
#include "fsck_bytes.h"
#include "open/open.h"

enum { SECOND = 8193, MAGIC_AT = 0x38, STATE_AT = 0x3A, SUM_AT = XW_SUPER_SIZE - 4 };

static uint8_t right[XW_SUPER_SIZE], raw[XW_SUPER_SIZE];

/* ---- the device ---- */

static void put_super(uint64_t off, const uint8_t *super)
{
	ok(xw_dev_pwrite(f.ses.dev, super, XW_SUPER_SIZE, off));
}

static void put_root(void)
{
	struct xw_inode in = {.mode = XW_S_IFDIR | 0755, .links = 3, .size = BS, .blocks = 2};
	const uint8_t dot[12] = {2, 0, 0, 0, 12, 0, 1, 2, '.'};

	put(BLOCK, dot, sizeof(dot));
	poke32(in.block, BLOCK);
	put_inode(XW_INO_ROOT, &in);
}

static void start(bool copy)
{
	uint8_t bits[BS] = {0};
	struct xw_super sb;

	open_bytes();
	f.opts = (struct fsck_opts){.image = "img", .mode = FSCK_YES};
	put_root();
	memset(bits + 8, 0xFF, sizeof(bits) - 8); /* of 64 inodes */
	for (uint64_t g = 0; g < 2; g++)
		put(group_of_bytes(g).inode_bitmap, bits, sizeof(bits));
	sb = f.ses.img->sb;
	xw_super_encode(&sb, right);
	put_super(XW_SUPER_OFFSET, right);
	memcpy(raw, right, sizeof(raw));
	sb.block_group_nr = 1;
	xw_super_encode(&sb, raw);
	if (copy)
		put_super(SECOND * BS, raw);
	memcpy(raw, right, sizeof(raw));
}

/* raw as the primary; seal: with a checksum that is right */
static void put_primary(bool seal)
{
	struct xw_super sb;

	if (seal) {
		(void)xw_super_decode(raw, &sb);
		xw_super_encode(&sb, raw);
	}
	put_super(XW_SUPER_OFFSET, raw);
}

static bool is_right(void)
{
	ok(xw_dev_pread(f.ses.dev, raw, sizeof(raw), XW_SUPER_OFFSET));
	return !memcmp(raw, right, sizeof(raw));
}

/* ---- one field ---- */

/* The device contradicts it, also where the checksum is right; or a copy or the checksum does. */
enum by { DEVICE, COPY };

static const struct {
	const char *name;
	uint16_t off, len;
	uint32_t value;
	enum by by;
	bool alone; /* also without a copy */
} fields[] = {
	{"blocks_count", 4, 4, 12000, COPY, true},
	{"blocks_count", 4, 4, 99999, DEVICE, true},
	{"first_data_block", 0x14, 4, 0, DEVICE, true},
	{"first_data_block", 0x14, 4, 77, DEVICE, true},
	{"log_block_size", 0x18, 4, 2, DEVICE, true},
	{"log_block_size", 0x18, 4, 9, DEVICE, true},
	{"log_cluster_size", 0x1C, 4, 3, DEVICE, true},
	{"blocks_per_group", 0x20, 4, 4096, DEVICE, true},
	{"blocks_per_group", 0x20, 4, 0, DEVICE, true},
	{"clusters_per_group", 0x24, 4, 256, DEVICE, true},
	{"inodes_per_group", 0x28, 4, 128, DEVICE, true},
	{"inodes_per_group", 0x28, 4, 0, DEVICE, true},
	{"inodes_count", 0, 4, 64, DEVICE, true},
	{"rev_level", 0x4C, 4, 0, DEVICE, true},
	{"rev_level", 0x4C, 4, 5, DEVICE, true},
	{"first_ino", 0x54, 4, 12, DEVICE, true},
	{"inode_size", 0x58, 2, 512, DEVICE, true},
	{"inode_size", 0x58, 2, 0, DEVICE, true},
	{"feature_incompat", 0x60, 4, 0x642, DEVICE, true}, /* without 64bit */
	{"feature_incompat", 0x60, 4, 0x6CA, COPY, true}, /* a journal device */
	{"feature_ro_compat", 0x64, 4, 0x66B, COPY, true}, /* bigalloc */
	{"desc_size", 0xFE, 2, 128, DEVICE, true},
	{"reserved_gdt_blocks", 0xCE, 2, 300, DEVICE, true},
	{"checksum_type", 0x175, 1, 9, DEVICE, true},
	{"log_groups_per_flex", 0x174, 1, 99, DEVICE, true},
	{"log_groups_per_flex", 0x174, 1, 5, COPY, true},
	{"creator_os", 0x48, 4, 1, COPY, true},
	{"mmp_block", 0x168, 4, 77, COPY, false},
	{"journal_inum", 0xE0, 4, 13, COPY, false},
};

static void spoil(size_t i)
{
	for (unsigned k = 0; k < fields[i].len; k++)
		raw[fields[i].off + k] = (uint8_t)(fields[i].value >> 8 * k);
}

static bool is_usable(void)
{
	struct xw_super sb;

	return !xw_super_decode(raw, &sb) && fsck_super_usable(&sb);
}

START_TEST(one_field)
{
	const bool copy = _i & 1, seal = _i & 2;

	for (size_t i = 0; i < XW_ARRAY_SIZE(fields); i++) {
		bool usable;

		if ((seal && fields[i].by == COPY) || (!copy && !fields[i].alone))
			continue;
		start(copy);
		spoil(i);
		usable = is_usable();
		put_primary(seal);
		ok(fsck_choose_super(&f));
		if (usable) {
			ck_assert_msg(is_right(), "%s 0x%x, copy %d", fields[i].name,
				      fields[i].value, copy);
			if (fields[i].off == 0x4C) { /* in revision 0 other fields mean nothing */
				ck_assert_uint_gt(found[FSCK_SUPER_FIELD], 1);
				close_bytes();
				continue;
			}
			ck_assert_msg(found[FSCK_SUPER_FIELD] == 1, "%s 0x%x", fields[i].name,
				      fields[i].value);
			ck_assert_str_eq(last.name, fields[i].name);
			ck_assert_uint_eq(last.num & ((UINT64_C(1) << 8 * fields[i].len) - 1),
					  fields[i].value);
			ck_assert_int_eq(found[FSCK_SUPER_CSUM], !seal);
			ck_assert_uint_eq(n_found, 1 + !seal);
			ck_assert(f.round.changed && f.ses.renew_backups && !f.start.from_backup);
		} else if (copy) { /* as it may be stale, everything is checked */
			expect(FSCK_SUPER_LOST);
			right[STATE_AT] &= (uint8_t)~XW_STATE_VALID;
			(void)is_right();
			raw[SUM_AT] = right[SUM_AT];
			memcpy(raw + SUM_AT, right + SUM_AT, 4);
			ck_assert_msg(!memcmp(raw, right, sizeof(raw)), "%s 0x%x", fields[i].name,
				      fields[i].value);
			ck_assert(f.start.from_backup && f.start.super_lost &&
				  f.start.backup_group == 1);
		} else {
			ck_assert_msg(is_right(), "%s 0x%x, alone", fields[i].name,
				      fields[i].value);
			ck_assert(f.start.super_lost && !f.start.from_backup);
		}
		close_bytes();
	}
}
END_TEST

/* A sound checksum, and one copy against it: the primary is right, and the copy stale. */
START_TEST(one_vote)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(fields); i++) {
		if (fields[i].by != COPY || fields[i].off == 0x60 || fields[i].off == 0x64)
			continue; /* other features need other rules */
		start(true);
		spoil(i);
		put_primary(true);
		ok(xw_dev_pread(f.ses.dev, right, sizeof(right), XW_SUPER_OFFSET));
		ok(fsck_choose_super(&f));
		ck_assert_msg(is_right() && !n_found, "%s 0x%x", fields[i].name, fields[i].value);
		ck_assert(f.start.stale_backups && !f.round.changed);
		close_bytes();
	}
}
END_TEST

/* The same with an answer of no: nothing is written, and it goes on as with -n if it must. */
START_TEST(declined)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(fields); i++) {
		uint8_t was[XW_SUPER_SIZE];
		bool usable;
		int rc;

		start(true);
		agreed = false;
		f.opts.mode = _i ? FSCK_NO : FSCK_ASK;
		spoil(i);
		usable = is_usable();
		put_primary(false);
		memcpy(was, raw, sizeof(was));
		rc = fsck_choose_super(&f);
		ck_assert_uint_ge(n_found, 1);
		ok(xw_dev_pread(f.ses.dev, raw, sizeof(raw), XW_SUPER_OFFSET));
		if (usable && fields[i].off != 0x4C && fields[i].value != 99999) {
			ok(rc);
			if (!_i) { /* neither is the checksum made right, nor do copies follow */
				ck_assert_msg(!memcmp(raw, was, sizeof(raw)), "%s 0x%x",
					      fields[i].name, fields[i].value);
				ck_assert(!f.round.changed && !f.ses.renew_backups);
			}
		} else if (!usable) {
			ok(rc);
			ck_assert(memcmp(raw, was, sizeof(was)) != 0); /* on the overlay */
			ck_assert(f.opts.mode == FSCK_NO && f.ses.report_only == !_i);
		}
		close_bytes();
	}
}
END_TEST

START_TEST(sound)
{
	for (int copy = 0; copy < 2; copy++) {
		start(copy);
		ok(fsck_choose_super(&f));
		expect(FSCK_IDS);
		ck_assert(is_right() && !f.round.changed && !f.ses.renew_backups &&
			  !f.start.stale_backups);
		ck_assert_uint_eq(f.start.backup_group, copy);
		close_bytes();
	}
}
END_TEST

/* The same without a copy. */
START_TEST(declined_alone)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(fields); i++) {
		start(false);
		agreed = false;
		f.opts.mode = FSCK_ASK;
		spoil(i);
		if (!is_usable()) {
			put_primary(false);
			ok(fsck_choose_super(&f));
			ck_assert_uint_ge(n_found, 1);
			ck_assert(f.opts.mode == FSCK_NO && f.ses.report_only);
			ok(xw_dev_pread(f.ses.dev, raw, sizeof(raw), XW_SUPER_OFFSET));
			/* on the overlay */
			ck_assert_msg(is_usable(), "%s 0x%x", fields[i].name, fields[i].value);
		}
		close_bytes();
	}
}
END_TEST

/* ---- fields that differ by right ---- */

static const struct {
	uint16_t off;
	uint32_t xor ;
	bool stale; /* the copy is renewed */
} dynamic[] = {
	{0x3A, 2, false}, /* state */
	{0x0C, 77, false}, /* free blocks */
	{0x60, XW_INCOMPAT_RECOVER, false},
	{0x64, XW_RO_LARGE_FILE, false},
	{0x5C, XW_COMPAT_DIR_INDEX, true},
	{0x60, XW_INCOMPAT_LARGEDIR, true}, /* debugfs sets it in the primary */
	{0x64, XW_RO_PROJECT, true},
};

START_TEST(kept)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(dynamic); i++) {
		start(true);
		poke32(raw + (dynamic[i].off & ~3),
		       peek32(raw + (dynamic[i].off & ~3)) ^
			       (dynamic[i].xor << 8 * (dynamic[i].off & 3)));
		put_primary(true);
		memcpy(right, raw, sizeof(raw));
		ok(fsck_choose_super(&f));
		expect(FSCK_IDS);
		ck_assert_msg(is_right(), "0x%x at 0x%x", dynamic[i].xor, dynamic[i].off);
		ck_assert_int_eq(f.start.stale_backups, dynamic[i].stale);
		close_bytes();
	}
}
END_TEST

/* ---- no primary ---- */

START_TEST(no_primary)
{
	const bool copy = _i & 1;

	for (int k = 0; k < 3; k++) {
		start(copy);
		if (k == 0)
			memset(raw, 0, sizeof(raw));
		else if (k == 1)
			memset(raw, 0xA5, sizeof(raw));
		else
			poke16(raw + MAGIC_AT, 0);
		put_primary(false);
		if (!copy && k < 2) {
			ck_assert_int_eq(fsck_choose_super(&f), XW_ERR_INPUT);
			ck_assert_uint_eq(n_found, 0);
		} else if (k < 2) {
			ok(fsck_choose_super(&f));
			expect(FSCK_SUPER_LOST);
			ck_assert_uint_eq(last.blk, SECOND);
			ck_assert(f.start.super_lost && f.start.from_backup &&
				  f.start.backup_group == 1);
			ck_assert(!is_right() && !(raw[STATE_AT] & XW_STATE_VALID));
			ck_assert_uint_eq(peek16(raw + 0x5A), 0); /* its own group */
		} else { /* all but the magic is there */
			ok(fsck_choose_super(&f));
			ck_assert(f.start.super_lost);
			ck_assert_uint_eq(peek16(at(1) + MAGIC_AT), XW_SUPER_MAGIC);
		}
		close_bytes();
	}
}
END_TEST

/* Of another filesystem, which was on the device before. */
START_TEST(foreign_copy)
{
	struct xw_super sb;

	start(true);
	sb = f.ses.img->sb;
	memset(sb.uuid, 7, sizeof(sb.uuid));
	sb.mkfs_time++;
	sb.block_group_nr = 1;
	sb.creator_os = 3;
	xw_super_encode(&sb, raw);
	put_super(SECOND * BS, raw);
	ok(fsck_choose_super(&f));
	expect(FSCK_IDS);
	ck_assert(is_right() && !f.start.stale_backups && !f.start.backup_group);
	close_bytes();
}
END_TEST

/* -b: the copy, unless a sound primary agrees. */
START_TEST(named_copy)
{
	start(true);
	f.opts.backup = SECOND;
	ok(fsck_choose_super(&f));
	expect(FSCK_IDS);
	ck_assert(!f.start.from_backup);
	raw[0] ^= 1;
	put_primary(false);
	ok(fsck_choose_super(&f));
	expect(FSCK_SUPER_LOST);
	ck_assert(f.start.from_backup);
	f.opts.backup = 9000;
	ck_assert_int_eq(fsck_choose_super(&f), XW_ERR_INPUT);
	close_bytes();
	start(true);
	f.opts.backup = SECOND;
	raw[0x48] = 3; /* creator_os, with a sound checksum */
	put_primary(true);
	ok(fsck_choose_super(&f));
	expect(FSCK_SUPER_LOST);
	ck_assert_uint_eq(at(1)[0x48], 0);
	close_bytes();
}
END_TEST

/* ---- features ---- */

START_TEST(unknown_features)
{
	static const struct {
		uint16_t off;
		uint32_t bits;
		bool seal, refused;
	} cases[] = {
		{0x5C, 0x8000, true, true},      {0x60, 0x80000, true, true},
		{0x64, 0x2000000, true, true},   {0x60, 0x80000, false, false},
		{0x60, 0x1F000800, true, false}, {0x64, 0x0FA00000, true, false},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		start(true);
		poke32(raw + cases[i].off, peek32(raw + cases[i].off) | cases[i].bits);
		put_primary(cases[i].seal);
		ck_assert_msg(fsck_choose_super(&f) == (cases[i].refused ? XW_ERR_UNSUPPORTED : 0),
			      "0x%x at 0x%x", cases[i].bits, cases[i].off);
		ck_assert_int_eq(is_right(), !cases[i].refused);
		ck_assert_int_eq(n_found > 0, !cases[i].refused);
		close_bytes();
	}
	/* an external journal is no filesystem, if there is a log */
	for (int log = 0; log < 2; log++) {
		const struct xw_jsb jsb = {.blocktype = XW_JBD2_SUPER_V2,
					   .blocksize = BS,
					   .maxlen = BLOCKS,
					   .first = 3,
					   .nr_users = 1};
		uint8_t block[XW_JSB_SIZE] = {0};

		start(!log);
		xw_jsb_encode(&jsb, block);
		if (log)
			put(2, block, sizeof(block));
		poke32(raw + 0x60, (log ? 0 : peek32(raw + 0x60)) | XW_INCOMPAT_JOURNAL_DEV);
		put_primary(true);
		ck_assert_int_eq(fsck_choose_super(&f), log ? XW_ERR_UNSUPPORTED : 0);
		ck_assert_int_eq(n_found > 0, !log);
		close_bytes();
	}
}
END_TEST

/* Checksums in descriptors and inodes prove the feature. */
START_TEST(lost_checksums)
{
	start(_i);
	poke32(raw + 0x64, peek32(raw + 0x64) & ~XW_RO_METADATA_CSUM);
	put_primary(false);
	ok(fsck_choose_super(&f));
	ck_assert_uint_eq(found[FSCK_SUPER_FIELD], 1);
	ck_assert(is_right());
	close_bytes();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_choose");
	TCase *t = tcase_create("fsck_choose");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, one_field, 0, 4);
	tcase_add_test(t, one_vote);
	unit_add_cases(t, declined, "asked", "-n");
	tcase_add_test(t, declined_alone);
	tcase_add_test(t, sound);
	tcase_add_test(t, kept);
	unit_add_cases(t, no_primary, "no copy", "copy");
	tcase_add_test(t, foreign_copy);
	tcase_add_test(t, named_copy);
	tcase_add_test(t, unknown_features);
	unit_add_cases(t, lost_checksums, "no copy", "copy");
	suite_add_tcase(s, t);
	return unit_main(s);
}
