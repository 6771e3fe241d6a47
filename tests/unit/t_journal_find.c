// SPDX-License-Identifier: MIT
/*
 * Which journal an image has: inode 8, or its copy in the superblock when the inode is damaged; and
 * what is refused.
 */
#include "config.h"

#include "base/endian.h"
#include "journal/log.h"
#include "steps_world.h"

/* Kinds of steps_world.h that have a journal, and whether it has a block map instead of extents. */
static const struct {
	int kind;
	bool old;
} images[] = {{1, false}, {2, false}, {3, false}, {1, true}};

static struct xw_image *open_image(void)
{
	struct xw_image *img;
	struct xw_dev *dev;

	ok(xw_dev_open_file(path, 0, &diag, &dev));
	ok(xw_image_open(dev, 0, &diag, &img));
	return img;
}

static void close_image(struct xw_image *img)
{
	struct xw_dev *dev = img->dev;

	xw_image_close(img);
	xw_dev_close(dev);
}

static void make_image(int i)
{
	struct xw_mkfs *m;

	if (!images[i].old) {
		make(images[i].kind);
		return;
	}
	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-t", "ext3"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-b", "1024"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", "16M"), 0);
	if (xw_mkfs_run(m, path))
		ck_abort_msg("%s", xw_mkfs_error(m));
	xw_mkfs_free(m);
}

/* Where the log has its blocks: a sum over all of them. */
static uint64_t layout(const struct xw_log *log)
{
	uint64_t sum = log->jsb.maxlen, off;

	for (uint32_t i = 0; i < log->jsb.maxlen; i++) {
		ok(xw_log_where(log, i, &off));
		sum = sum * 31 + off;
	}
	return sum;
}

enum { SOUND, MODE, LINKS, CSUM, MAP, DAMAGES };

/* Damage inode 8, with a checksum that fits, but for CSUM. */
static void damage(struct xw_image *img, int how)
{
	uint8_t raw[1024];
	struct xw_group_desc gd;
	uint64_t off;

	ok(xw_image_group(img, 0, &gd));
	off = gd.inode_table * img->block_size + (uint64_t)7 * img->inode_size;
	ok(xw_dev_pread(img->dev, raw, img->inode_size, off));
	if (how == MODE)
		poke16(raw, XW_S_IFDIR | 0600);
	else if (how == LINKS)
		poke16(raw + 0x1A, 0);
	else if (how == CSUM)
		raw[0x64] ^= 1; /* generation */
	else if (how == MAP)
		memset(raw + 0x28, 0xEE, 60);
	if (how != CSUM)
		xw_inode_set_csum(raw, &img->sb, img->csum_seed, 8);
	ok(xw_dev_pwrite(img->dev, raw, img->inode_size, off));
}

START_TEST(backup)
{
	const int how = _i % DAMAGES, kind = _i / DAMAGES;
	struct xw_image *img;
	struct xw_log *log;
	uint64_t sum;

	make_image(kind);
	img = open_image();
	ok(xw_log_open_image(img, &log));
	sum = layout(log);
	ck_assert_uint_gt(log->jsb.maxlen, 1000);
	xw_log_close(log);
	damage(img, how);
	close_image(img);

	img = open_image();
	ok(xw_log_open_image(img, &log));
	ck_assert_str_eq(diag.text, "");
	ck_assert_uint_eq(layout(log), sum);
	ck_assert_ptr_eq(log->diag, &diag);
	ck_assert_ptr_eq(img->diag, &diag);
	xw_log_close(log);
	img->sb.jnl_backup_type = 0;
	if (how == SOUND || (how == CSUM && !xw_super_has_csum(&img->sb))) {
		ok(xw_log_open_image(img, &log));
		xw_log_close(log);
	} else {
		ck_assert_int_eq(xw_log_open_image(img, &log),
				 how == CSUM ? XW_ERR_CHECKSUM : XW_ERR_CORRUPT);
		ck_assert_str_ne(diag.text, "");
		xw_diag_clear(&diag);
	}
	close_image(img);
}
END_TEST

START_TEST(none)
{
	struct xw_image *img;
	struct xw_log *log;
	const char *text;

	make(1);
	img = open_image();
	for (int i = 0; i < 4; i++) {
		const struct xw_super sb = img->sb;

		img->sb.journal_inum = 0;
		img->sb.jnl_backup_type = i < 3;
		img->sb.feature_compat &= i ? ~0u : ~XW_COMPAT_HAS_JOURNAL;
		img->sb.journal_dev = i == 1 ? 0x801 : 0;
		img->sb.journal_uuid[15] = i == 2;
		ck_assert_int_eq(xw_log_open_image(img, &log), i == 0  ? XW_ERR_NOTFOUND
							       : i < 3 ? XW_ERR_UNSUPPORTED
								       : XW_ERR_CORRUPT);
		text = i == 0 ? "has no journal" : i < 3 ? "external" : "";
		ck_assert_ptr_nonnull(strstr(diag.text, text));
		xw_diag_clear(&diag);
		img->sb = sb;
	}
	close_image(img);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("journal_find");
	TCase *t = tcase_create("journal_find");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, backup, 0, DAMAGES * (int)XW_ARRAY_SIZE(images));
	tcase_add_test(t, none);
	suite_add_tcase(s, t);
	return unit_main(s);
}
