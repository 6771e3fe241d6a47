// SPDX-License-Identifier: MIT
/*
 * Which superblock needs no check, what it says after one, and when the copies are renewed:
 * superblocks in, judgments and superblocks out.
 */
#include "config.h"

#include "fsck_bytes.h"
#include "open/open.h"

enum { SECOND = 8193, NOW = 2000000000, WAS = 0x5A /* in copies */ };

/* ---- what is not under test ---- */

void fsck_name_read(struct fsck *of)
{
	(void)of;
}

/* ---- the filesystem ---- */

static void start(void)
{
	uint8_t old[BS];

	open_bytes();
	f.opts = (struct fsck_opts){.mode = FSCK_YES, .now = NOW, .image = "img"};
	f.ses.img->sb.feature_compat &= ~XW_COMPAT_HAS_JOURNAL;
	f.ses.img->sb.journal_inum = 0;
	f.ses.img->sb.state = XW_STATE_VALID;
	ok(fsck_super_write(&f));
	f.round.changed = false;
	memset(old, WAS, sizeof(old));
	put(SECOND, old, sizeof(old));
	put(SECOND + 1, old, sizeof(old));
	f.start.features[0] = f.ses.img->sb.feature_compat;
	f.start.features[1] = f.ses.img->sb.feature_incompat;
	f.start.features[2] = f.ses.img->sb.feature_ro_compat;
	ok(fsck_claim_metadata(&f));
	f.facts.owners.complete = true;
}

/* ---- what is clean ---- */

START_TEST(clean)
{
	start();
	ck_assert(fsck_is_clean(&f));
	ck_assert(f.ses.img->flags & XW_IMAGE_NOCSUM);
	close_bytes();
}
END_TEST

static void spoil(int k)
{
	struct xw_super *sb = &f.ses.img->sb;
	struct xw_group_desc gd = group_of_bytes(1);
	uint8_t byte = 9;

	switch (k) {
	case 0:
		sb->state = 0;
		break;
	case 1:
		sb->state |= XW_STATE_ERROR;
		break;
	case 2:
		sb->feature_incompat |= XW_INCOMPAT_RECOVER;
		break;
	case 3:
		sb->feature_incompat |= XW_INCOMPAT_PENDING;
		break;
	case 4:
		sb->blocks_count = BLOCKS + 1;
		break;
	case 5:
		sb->max_mnt_count = 5;
		sb->mnt_count = 5;
		break;
	case 6:
		sb->checkinterval = 100;
		sb->lastcheck = NOW - 100;
		break;
	case 7:
		sb->def_hash_version = 3;
		break;
	case 8: /* only the checksum of the superblock */
		ok(xw_dev_pwrite(f.ses.dev, &byte, 1, XW_SUPER_OFFSET + 0x300));
		break;
	case 9:
		gd.inode_table = BLOCKS - 3;
		put_group(1, &gd);
		break;
	case 10:
		gd.free_blocks = BLOCKS - 7000 + 1;
		put_group(1, &gd);
		break;
	case 11:
		gd.free_inodes = 128 - 50 + 1;
		put_group(1, &gd);
		break;
	default: /* the checksum of a descriptor */
		ok(xw_dev_pwrite(f.ses.dev, &byte, 1, 2 * BS + 64 + 0x1E));
		xw_image_drop_cache(f.ses.img);
	}
}

START_TEST(not_clean)
{
	start();
	spoil(_i);
	ck_assert(!fsck_is_clean(&f));
	ck_assert(!f.ses.diag.code);
	close_bytes();
}
END_TEST

/* As far as it may go. */
START_TEST(just_clean)
{
	struct xw_super *sb = (start(), &f.ses.img->sb);
	struct xw_group_desc gd = group_of_bytes(1);

	sb->state |= XW_STATE_ORPHAN;
	sb->blocks_count = BLOCKS;
	sb->max_mnt_count = 5;
	sb->mnt_count = 4;
	sb->checkinterval = 100;
	sb->lastcheck = NOW - 99;
	sb->def_hash_version = 2;
	gd.free_blocks = BLOCKS - 7000;
	gd.free_inodes = 128 - 50;
	put_group(1, &gd);
	ck_assert(fsck_is_clean(&f));
	sb->max_mnt_count = -1; /* never */
	sb->mnt_count = 60000;
	sb->checkinterval = 0;
	sb->lastcheck = 0;
	ck_assert(fsck_is_clean(&f));
	sb->max_mnt_count = 0;
	ck_assert(fsck_is_clean(&f));
	close_bytes();
}
END_TEST

/* ---- after the check ---- */

static struct xw_super closed(bool commit)
{
	struct xw_dev *const dev = f.ses.dev;
	uint8_t raw[XW_SUPER_SIZE];
	struct xw_super sb;

	ok(fsck_close(&f, commit));
	ck_assert(!f.ses.img && !f.ses.dev);
	f.ses.dev = dev;
	ok(xw_dev_pread(dev, raw, sizeof(raw), XW_SUPER_OFFSET));
	ck_assert_int_eq(xw_super_verify(raw), 0);
	ok(xw_super_decode(raw, &sb));
	return sb;
}

static const struct {
	bool full, commit, no, left, stop, written, sound;
} ends[] = {
	{true, true, false, false, false, true, true},
	{true, true, false, true, false, true, false},
	{true, true, false, false, true, true, false},
	{false, true, false, false, false, false, false},
	{true, false, false, false, false, false, false},
	{true, true, true, false, false, false, false},
};

START_TEST(final_state)
{
	const bool sound = ends[_i].sound, written = ends[_i].written;
	const uint16_t was = XW_STATE_VALID | XW_STATE_ERROR | XW_STATE_ORPHAN;
	struct xw_super sb;

	start();
	f.ses.img->sb.state = was;
	f.ses.img->sb.wtime = f.ses.img->sb.lastcheck = 5;
	f.ses.img->sb.mnt_count = 6;
	f.ses.img->sb.error_count = f.ses.img->sb.first_error_ino = f.ses.img->sb.last_error_line =
		7;
	f.ses.img->sb.first_error_time = f.ses.img->sb.last_error_time = 8;
	f.ses.img->sb.first_error_block = f.ses.img->sb.last_error_block = 9;
	f.ses.img->sb.first_error_line = f.ses.img->sb.last_error_ino = 9;
	f.ses.img->sb.first_error_errcode = f.ses.img->sb.last_error_errcode = 9;
	f.ses.img->sb.first_error_func[0] = f.ses.img->sb.last_error_func[0] = 'x';
	ok(fsck_super_write(&f));
	f.ses.full = ends[_i].full;
	f.opts.mode = ends[_i].no ? FSCK_NO : FSCK_YES;
	f.ses.findings.left = ends[_i].left;
	f.ses.stop = ends[_i].stop;
	sb = closed(ends[_i].commit);
	ck_assert_int_eq(sb.wtime, written ? NOW : 5);
	ck_assert_int_eq(sb.lastcheck, sound ? NOW : 5);
	ck_assert_uint_eq(sb.mnt_count, sound ? 0 : 6);
	ck_assert_uint_eq(sb.state, sound     ? XW_STATE_VALID
				    : written ? XW_STATE_ERROR | XW_STATE_ORPHAN
					      : was);
	ck_assert_uint_eq(sb.error_count + sb.first_error_ino + sb.last_error_line, sound ? 0 : 21);
	ck_assert_uint_eq(sb.first_error_line + sb.last_error_ino + sb.first_error_errcode +
				  sb.last_error_errcode,
			  sound ? 0 : 36);
	ck_assert_int_eq(sb.first_error_time + sb.last_error_time, sound ? 0 : 16);
	ck_assert_uint_eq(sb.first_error_block + sb.last_error_block, sound ? 0 : 18);
	ck_assert(sound ? !sb.first_error_func[0] && !sb.last_error_func[0]
			: sb.first_error_func[0] == 'x' && sb.last_error_func[0] == 'x');
	xw_dev_close(f.ses.dev);
}
END_TEST

/* Copies are not touched without a reason. */
static const struct {
	bool renew, stale, full, commit, settled;
	int feature; /* word that has changed; -1: none */
	bool renewed;
} copies[] = {
	{false, false, true, true, true, -1, false}, {true, false, true, true, true, -1, true},
	{true, false, false, true, true, -1, true},  {false, true, true, true, true, -1, true},
	{false, true, false, true, true, -1, false}, {false, false, true, true, true, 0, true},
	{false, false, true, true, true, 1, true},   {false, false, true, true, true, 2, true},
	{true, true, true, false, true, 0, false},   {true, true, true, true, false, 0, false},
};

START_TEST(renewed_copies)
{
	struct xw_super sb;
	uint8_t copy[BS], descs[BS], primary[BS];

	start();
	f.ses.renew_backups = copies[_i].renew;
	f.start.stale_backups = copies[_i].stale;
	f.ses.full = copies[_i].full;
	f.facts.owners.complete = copies[_i].settled;
	if (copies[_i].feature >= 0)
		f.start.features[copies[_i].feature] ^= 0x20;
	sb = closed(copies[_i].commit);
	ok(xw_dev_pread(f.ses.dev, copy, BS, SECOND * BS));
	ok(xw_dev_pread(f.ses.dev, descs, BS, (SECOND + 1) * BS));
	ok(xw_dev_pread(f.ses.dev, primary, BS, 2 * BS));
	if (copies[_i].renewed) {
		sb.block_group_nr = 1;
		xw_super_encode(&sb, primary);
		ck_assert(!memcmp(copy, primary, 0x3A) && !xw_super_verify(copy));
		ck_assert_uint_eq(peek16(copy + 0x5A), 1);
		ok(xw_dev_pread(f.ses.dev, primary, BS, 2 * BS));
		ck_assert_mem_eq(descs, primary, BS);
	} else {
		for (int i = 0; i < BS; i++)
			ck_assert(copy[i] == WAS && descs[i] == WAS);
	}
	xw_dev_close(f.ses.dev);
}
END_TEST

/* Copies of descriptors with the same places are of any age, and stay. */
START_TEST(same_places)
{
	uint8_t descs[BS], now[BS];

	start();
	memcpy(descs, at(2), BS);
	poke16(descs + 0x0C, 99); /* free blocks */
	put(SECOND + 1, descs, BS);
	f.ses.renew_backups = true;
	closed(true);
	ok(xw_dev_pread(f.ses.dev, now, BS, (SECOND + 1) * BS));
	ck_assert_mem_eq(now, descs, BS);
	xw_dev_close(f.ses.dev);
	for (int place = 0; place < 3; place++) {
		start();
		memcpy(descs, at(2), BS);
		descs[64 + 4 * place] ^= 1;
		put(SECOND + 1, descs, BS);
		f.ses.renew_backups = true;
		closed(true);
		ok(xw_dev_pread(f.ses.dev, now, BS, (SECOND + 1) * BS));
		ok(xw_dev_pread(f.ses.dev, descs, BS, 2 * BS));
		ck_assert_mem_eq(now, descs, BS);
		xw_dev_close(f.ses.dev);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_close");
	TCase *t = tcase_create("fsck_close");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, clean);
	tcase_add_loop_test(t, not_clean, 0, 13);
	tcase_add_test(t, just_clean);
	unit_add_table(t, final_state, ends);
	unit_add_table(t, renewed_copies, copies);
	tcase_add_test(t, same_places);
	suite_add_tcase(s, t);
	return unit_main(s);
}
