// SPDX-License-Identifier: MIT
/*
 * What of a damaged log is replayed: blocks in place and in the log in, the choice out. The log is
 * beside the filesystem: all that is in the root directory, and two files.
 */
#include "config.h"

#define put put_in_log
#include "log_fix.h"
#undef put
#include "fsck_bytes.h"
#include "disk/dirent.h"
#include "open/open.h"

enum {
	DIR_BLOCK = BLOCK,
	FILE_INO = 17,
	OTHER, /* in the same block of the table */
	FREE, /* not in use */
	SUBDIR = 25,
	RECORDS = TABLE + (FILE_INO - 1) / (BS / SIZE),
	DATA = 700, /* of the first file; the other one has the next block */
	NOWHERE = 5000, /* a free block: what the log has for it says nothing */
};

/* ---- contents of blocks ---- */

static uint8_t block[BS];

/* The root with these names, of one letter: f, o: files, s: a directory, x: no inode, d: a FIFO. */
static const uint8_t *names(const char *text)
{
	struct xw_dirent e = {
		.ino = 2, .rec_len = 12, .name_len = 1, .ftype = XW_FT_DIR, .name = "."};
	unsigned at = 24;

	memset(block, 0, BS);
	xw_dirent_encode(block, BS, 0, &e);
	e.name = "..";
	e.name_len = 2;
	e.rec_len = (uint16_t)(*text ? 12 : BS - 12);
	xw_dirent_encode(block, BS, 12, &e);
	for (const char *s = text; *s; s++, at += 12) {
		e = (struct xw_dirent){.name = s, .name_len = 1, .ftype = XW_FT_REG};
		e.ino = *s == 'o' ? OTHER : *s == 'x' ? FREE : *s == 's' ? SUBDIR : FILE_INO;
		e.ftype = *s == 'd' ? XW_FT_FIFO : *s == 's' ? XW_FT_DIR : XW_FT_REG;
		e.rec_len = (uint16_t)(s[1] ? 12 : BS - at);
		xw_dirent_encode(block, BS, at, &e);
	}
	return block;
}

struct record {
	int64_t sec;
	uint32_t nsec;
	xw_blk data;
	uint16_t type;
};

/* The block of the table with both files. */
static const uint8_t *records(const struct record *r)
{
	memset(block, 0, BS);
	for (unsigned i = 0; i < 2; i++) {
		struct xw_inode in = {
			.mode = (uint16_t)(r[i].type | 0644), .links = 1, .size = BS, .blocks = 2};

		if (!r[i].type)
			continue;
		in.extra_isize = 32;
		in.ctime.sec = r[i].sec;
		in.ctime.nsec = r[i].nsec;
		poke32(in.block, (uint32_t)r[i].data);
		xw_inode_encode(&in, &f.ses.img->sb,
				block + (FILE_INO - 1 + i) % (BS / SIZE) * SIZE);
	}
	return block;
}

static const uint8_t *filled(int byte)
{
	memset(block, byte, BS);
	return block;
}

/* ---- the log ---- */

static struct fixture log_;
static const struct format v3 = {BS, XW_JBD2_INCOMPAT_CSUM_V3 | XW_JBD2_INCOMPAT_64BIT, 0};

enum damage { NONE, DESCRIPTOR, COPY, COMMIT, REVOKE };

/* A transaction of one block. REVOKE: it begins with a damaged block of revoke records. */
static void transaction(xw_blk blk, const uint8_t *data, enum damage damage)
{
	struct xw_jtag tag = {.blk = blk};
	uint8_t copy[BS];

	memcpy(copy, data, BS);
	tag.csum = xw_jtag_csum(&log_.log->fmt, log_.sequence, copy);
	if (damage == REVOKE) {
		const uint32_t at = log_.at;
		uint64_t off;

		put_revoke(&log_, (xw_blk[]){NOWHERE + 1}, 1);
		ok(xw_log_where(log_.log, at, &off));
		ok(xw_dev_pwrite(log_.dev, "?", 1, off + 20));
	}
	xw_jdesc_encode(&log_.log->fmt, log_.sequence, &tag, 1, log_.buf);
	log_.buf[600] ^= damage == DESCRIPTOR;
	put_in_log(&log_, log_.buf);
	copy[BS - 1] ^= damage == COPY;
	put_in_log(&log_, copy);
	if (damage == COMMIT) {
		struct xw_jcommit c = {.sec = 1};

		xw_jcommit_encode(&log_.log->fmt, log_.sequence++, &c, log_.buf);
		log_.buf[60] ^= 1;
		put_in_log(&log_, log_.buf);
		return;
	}
	put_commit(&log_, 1);
}

/* Names, and records of both files, as they are in place. */
static void start(const char *home, const struct record *r)
{
	uint8_t super[XW_SUPER_SIZE], bits[BS];
	struct xw_inode in = {
		.mode = XW_S_IFDIR | 0755, .links = 2, .size = BS, .blocks = 2, .extra_isize = 32};

	open_bytes();
	f.ses.img->sb.feature_ro_compat &= ~(XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM);
	f.ses.img->sb.feature_incompat &= ~XW_INCOMPAT_CSUM_SEED;
	xw_super_encode(&f.ses.img->sb, super);
	ok(xw_dev_pwrite(f.ses.dev, super, sizeof(super), XW_SUPER_OFFSET));
	poke32(in.block, DIR_BLOCK);
	put_inode(XW_INO_ROOT, &in);
	poke32(in.block, DATA + 5);
	put_inode(SUBDIR, &in);
	put(DATA + 5, names(""), BS);
	put(DIR_BLOCK, names(home), BS);
	put(RECORDS, records(r), BS);
	memset(bits, 0xFF, BS);
	for (uint64_t g = 0; g < 2; g++)
		put(group_of_bytes(g).block_bitmap, bits, BS);
	setup_log(&log_, &v3, 7);
}

static void stop(void)
{
	teardown_log(&log_);
	close_bytes();
}

#define S XW_REPLAY_SALVAGE
#define NOTHING (S | XW_REPLAY_NOTHING)
#define BEYOND (S | XW_REPLAY_BEYOND)
#define REST (S | XW_REPLAY_BEYOND | XW_REPLAY_REST)

static void choose(unsigned want)
{
	unsigned flags = 0;

	ok(xw_log_set_start(log_.log, 1, 7));
	reopen(&log_);
	ok(fsck_choose_replay(&f, log_.log, &flags));
	ck_assert_msg(flags == want, "row %zu: %#x, wanted %#x", row, flags, want);
	ck_assert_ptr_eq(log_.log->diag, &diag);
	ck_assert_str_eq(diag.text, ""); /* what cannot be replayed is no error */
}

static const struct record same[2] = {{1000, 5, DATA, XW_S_IFREG}, {1000, 5, DATA + 1, XW_S_IFREG}};

/* ---- names ---- */

static const struct {
	const char *home, *log;
	enum damage damage; /* of the second transaction */
	unsigned want;
} by_names[] = {
	/*
	 * Before a damaged descriptor more names win, fewer lose; nothing is behind it. Where they
	 * tell nothing, what is before the damage is taken.
	 */
	{"fo", "fog", DESCRIPTOR, BEYOND},
	{"fog", "fo", DESCRIPTOR, NOTHING},
	{"fo", "fo", DESCRIPTOR, S},
	{"f", "o", DESCRIPTOR, S},
	/* names that lead nowhere, or to another type, are damage */
	{"fo", "fox", DESCRIPTOR, NOTHING},
	{"fo", "fod", DESCRIPTOR, NOTHING},
	{"fox", "fo", DESCRIPTOR, BEYOND},
	{"fox", "fog", DESCRIPTOR, BEYOND},
	{"fx", "fogx", DESCRIPTOR, BEYOND},
	{"fo", "fogx", DESCRIPTOR, NOTHING},
	/* a second name of a directory, but not of a file */
	{"fs", "fss", DESCRIPTOR, NOTHING},
	{"fs", "ffs", DESCRIPTOR, BEYOND},
	/* where only data is damaged, all else is replayed but for what is worse then */
	{"fo", "fog", COPY, S},
	{"fo", "fo", COPY, S},
	{"fog", "fo", COPY, NOTHING},
	{"fo", "fox", COPY, NOTHING},
	{"fo", "fogx", COPY, S},
	/* no damage: a last transaction without a commit block was not finished */
	{"fo", "fog", COMMIT, S},
	{"fog", "fo", COMMIT, S},
	{"fo", "fog", NONE, S},
	{"fog", "fo", NONE, S},
};

START_TEST(names_before)
{
	for (row = 0; row < XW_ARRAY_SIZE(by_names); row++) {
		start(by_names[row].home, same);
		transaction(DIR_BLOCK, names(by_names[row].log), NONE);
		transaction(NOWHERE, filled(1), by_names[row].damage);
		choose(by_names[row].want);
		stop();
	}
}
END_TEST

/* Behind the damage. */
static const struct {
	const char *home, *before, *behind;
	enum damage damage;
	unsigned want;
} behind[] = {
	{"fo", NULL, "fog", DESCRIPTOR, BEYOND},
	{"fog", NULL, "fo", DESCRIPTOR, NOTHING},
	{"fo", "fog", "foga", DESCRIPTOR, BEYOND},
	{"fo", "foga", "fog", DESCRIPTOR, S},
	{"fo", NULL, "fog", REVOKE, REST},
	{"fo", NULL, "fox", DESCRIPTOR, NOTHING},
	/* in place is what is behind: what is before would undo it */
	{"fog", "fo", "fog", DESCRIPTOR, NOTHING},
	{"fog", "foga", "fog", DESCRIPTOR, NOTHING},
};

START_TEST(names_behind)
{
	for (row = 0; row < XW_ARRAY_SIZE(behind); row++) {
		start(behind[row].home, same);
		if (behind[row].before)
			transaction(DIR_BLOCK, names(behind[row].before), NONE);
		transaction(NOWHERE, filled(1), behind[row].damage);
		transaction(DIR_BLOCK, names(behind[row].behind), NONE);
		choose(behind[row].want);
		stop();
	}
}
END_TEST

/* Both: names are in the log before the damage, records behind it. */
START_TEST(names_and_records)
{
	const struct record newer[2] = {{2000, 0, DATA, XW_S_IFREG},
					{1000, 5, DATA + 1, XW_S_IFREG}};

	for (row = 0; row < 2; row++) {
		start("fo", same);
		transaction(DIR_BLOCK, names("fog"), NONE);
		transaction(NOWHERE, filled(1), row ? REVOKE : DESCRIPTOR);
		transaction(RECORDS, records(newer), NONE);
		choose(row ? S : BEYOND);
		stop();
	}
}
END_TEST

/* ---- records ---- */

static const struct {
	struct record log[2];
	unsigned before, data; /* a descriptor and data damaged */
} by_records[] = {
	{{{1000, 5, DATA, XW_S_IFREG}, {1000, 5, DATA + 1, XW_S_IFREG}}, S, S},
	{{{1001, 0, DATA, XW_S_IFREG}, {1000, 5, DATA + 1, XW_S_IFREG}}, BEYOND, S},
	{{{999, 9, DATA, XW_S_IFREG}, {1000, 5, DATA + 1, XW_S_IFREG}}, NOTHING, NOTHING},
	{{{1000, 6, DATA, XW_S_IFREG}, {1000, 5, DATA + 1, XW_S_IFREG}}, BEYOND, S},
	{{{1000, 4, DATA, XW_S_IFREG}, {1000, 5, DATA + 1, XW_S_IFREG}}, NOTHING, NOTHING},
	/* one newer, one older */
	{{{1001, 0, DATA, XW_S_IFREG}, {999, 0, DATA + 1, XW_S_IFREG}}, S, S},
	/* a file that exists in one of the two states only */
	{{{1000, 5, DATA, XW_S_IFREG}, {0}}, NOTHING, NOTHING},
	/* newer, but both have one block then */
	{{{1001, 0, DATA, XW_S_IFREG}, {1000, 5, DATA, XW_S_IFREG}}, NOTHING, S},
	/* newer, but of another type than the name says */
	{{{1001, 0, DATA, XW_S_IFIFO}, {1000, 5, DATA + 1, XW_S_IFREG}}, NOTHING, S},
};

START_TEST(records_before)
{
	for (row = 0; row < 2 * XW_ARRAY_SIZE(by_records); row++) {
		start("fo", same);
		transaction(RECORDS, records(by_records[row / 2].log), NONE);
		transaction(NOWHERE, filled(1), row & 1 ? COPY : DESCRIPTOR);
		choose(row & 1 ? by_records[row / 2].data : by_records[row / 2].before);
		stop();
	}
	start("f", (const struct record[2]){same[0], {0}});
	transaction(RECORDS, records(same), NONE);
	transaction(NOWHERE, filled(1), DESCRIPTOR);
	choose(BEYOND);
	stop();
}
END_TEST

/* A block that looks like records, and is not in a table, says nothing about times. */
START_TEST(no_table)
{
	const struct record older[2] = {{1, 0, DATA, XW_S_IFREG}, {1, 0, DATA + 1, XW_S_IFREG}};
	static const xw_blk blocks[] = {TABLE - 1, TABLE + 16 + 16, NOWHERE};

	for (row = 0; row < XW_ARRAY_SIZE(blocks); row++) {
		start("fo", same);
		put(blocks[row], records(same), BS);
		transaction(blocks[row], records(older), NONE);
		transaction(NOWHERE + 1, filled(1), DESCRIPTOR);
		choose(S);
		stop();
	}
}
END_TEST

/* Blocks in use that the bitmap calls free are damage: one for each. */
START_TEST(bitmaps)
{
	uint8_t bits[BS];

	for (row = 0; row < 4; row++) {
		memset(bits, 0xFF, BS);
		bits[(DATA - 1) / 8] = (uint8_t) ~(row & 1 ? 1u << (DATA - 1) % 8 : 0);
		start("fo", same);
		transaction(group_of_bytes(0).block_bitmap, bits, NONE);
		transaction(NOWHERE, filled(1), row & 2 ? COPY : DESCRIPTOR);
		choose(row & 1 ? NOTHING : S);
		stop();
	}
}
END_TEST

/* The finding says what became of the log. */
START_TEST(findings)
{
	open_bytes();
	fsck_found_replay(&f, S);
	expect(FSCK_JOURNAL_LOST_DATA);
	fsck_found_replay(&f, BEYOND);
	expect(FSCK_JOURNAL_LOST_DATA);
	fsck_found_replay(&f, NOTHING);
	expect(FSCK_JOURNAL_STALE);
	close_bytes();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_replay");
	TCase *t = tcase_create("fsck_replay");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, names_before);
	tcase_add_test(t, names_behind);
	tcase_add_test(t, names_and_records);
	tcase_add_test(t, records_before);
	tcase_add_test(t, no_table);
	tcase_add_test(t, bitmaps);
	tcase_add_test(t, findings);
	suite_add_tcase(s, t);
	return unit_main(s);
}
