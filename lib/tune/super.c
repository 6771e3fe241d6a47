// SPDX-License-Identifier: MIT
/*
 * Sets superblock fields, and writes the copies of the superblock and of the descriptors.
 *
 * As libext2fs writes them (observed), copies differ from the primary superblock: s_block_group_nr
 * is their group, and they are not marked valid.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "disk/mmp.h"
#include "read/copies.h"
#include "read/image.h"
#include "tune/tune_internal.h"

int xw_tune_get_super(struct xw_tune_run *t, struct xw_super *sb)
{
	struct xw_dev *dev = xw_edit_dev(t->edit);
	uint8_t buf[XW_SUPER_SIZE];
	int rc;

	if (dev->size < XW_SUPER_OFFSET + XW_SUPER_SIZE)
		return xw_tune_refuse(t, XW_ERR_INPUT, "not an ext2, ext3 or ext4 filesystem");
	rc = xw_dev_pread(dev, buf, sizeof(buf), XW_SUPER_OFFSET);
	if (rc)
		return rc;
	rc = xw_super_decode(buf, sb);
	if (rc)
		return xw_tune_refuse(t, rc, "%s%s",
				      rc == XW_ERR_INPUT ? "not an ext2, ext3 or ext4 filesystem"
							 : "damaged superblock",
				      xw_super_copy_hint(dev).s);
	if (xw_super_verify(buf))
		return xw_tune_refuse(t, XW_ERR_CHECKSUM, "superblock: checksum mismatch%s",
				      xw_super_copy_hint(dev).s);
	return 0;
}

int xw_tune_put_super(struct xw_tune_run *t, const struct xw_super *sb)
{
	uint8_t buf[XW_SUPER_SIZE];

	xw_super_encode(sb, buf);
	return xw_dev_pwrite(xw_edit_dev(t->edit), buf, sizeof(buf), XW_SUPER_OFFSET);
}

/* ---- fields ---- */

static int reserve(struct xw_tune_run *t, struct xw_super *sb)
{
	const struct xw_tune_want *w = t->want;

	if (w->set & XW_TUNE_RESERVED_PERCENT)
		sb->r_blocks_count =
			(uint64_t)(w->reserved_percent * (double)sb->blocks_count / 100.0);
	if (!(w->set & XW_TUNE_RESERVED_BLOCKS))
		return 0;
	if (w->reserved_blocks > sb->blocks_count / 2)
		return xw_tune_refuse(t, XW_ERR_USAGE,
				      "reserved blocks count is too big (%" PRIu64 ")",
				      w->reserved_blocks);
	sb->r_blocks_count = w->reserved_blocks;
	return 0;
}

/* Set the MMP block to "clean", even if it is in use or invalid. */
static int clear_mmp(struct xw_tune_run *t, const struct xw_super *sb)
{
	const uint32_t bs = xw_super_block_size(sb);
	auto_free uint8_t *buf = malloc(bs);
	struct xw_mmp m;
	int rc;

	if (!buf)
		return xw_fail_nomem(t->diag, "MMP block");
	if (!(sb->feature_incompat & XW_INCOMPAT_MMP) || !sb->mmp_block)
		return 0;
	if (sb->mmp_block >= sb->blocks_count)
		return xw_tune_refuse(t, XW_ERR_CORRUPT,
				      "MMP block %" PRIu64 " is outside the filesystem",
				      sb->mmp_block);
	rc = xw_dev_pread(xw_edit_dev(t->edit), buf, bs, sb->mmp_block * bs);
	if (rc)
		return rc;
	if (xw_mmp_decode(buf, &m))
		m = (struct xw_mmp){.check_interval =
					    XW_MAX(sb->mmp_interval, (uint16_t)XW_MMP_INTERVAL)};
	m.seq = XW_MMP_SEQ_CLEAN;
	m.time = t->opts->now;
	xw_mmp_encode(&m, xw_super_has_csum(sb), xw_super_csum_seed(sb), buf);
	return xw_dev_pwrite(xw_edit_dev(t->edit), buf, XW_MMP_SIZE, sb->mmp_block * bs);
}

static void set_numbers(const struct xw_tune_want *w, struct xw_super *sb)
{
	if (w->set & XW_TUNE_ERRORS)
		sb->errors = w->errors;
	if (w->set & XW_TUNE_MAX_MNT_COUNT)
		sb->max_mnt_count = w->max_mnt_count;
	if (w->set & XW_TUNE_MNT_COUNT)
		sb->mnt_count = (uint16_t)w->mnt_count;
	if (w->set & XW_TUNE_INTERVAL)
		sb->checkinterval = w->interval;
	if (w->set & XW_TUNE_LASTCHECK)
		sb->lastcheck = w->lastcheck;
	if (w->set & XW_TUNE_RESUID)
		sb->def_resuid = w->resuid;
	if (w->set & XW_TUNE_RESGID)
		sb->def_resgid = w->resgid;
	if (w->set & XW_TUNE_STRIDE)
		sb->raid_stride = (uint16_t)w->stride;
	if (w->set & XW_TUNE_STRIPE_WIDTH)
		sb->raid_stripe_width = w->stripe_width;
	if (w->set & XW_TUNE_HASH_ALG)
		sb->def_hash_version = w->hash_version;
	if (w->set & XW_TUNE_MMP_INTERVAL)
		sb->mmp_interval = w->mmp_interval ? w->mmp_interval : (uint16_t)XW_MMP_INTERVAL;
}

int xw_tune_fields(struct xw_tune_run *t, struct xw_super *sb)
{
	const struct xw_tune_want *w = t->want;
	int rc = reserve(t, sb);

	set_numbers(w, sb);
	if (w->set & XW_TUNE_LABEL)
		memcpy(sb->volume_name, w->label, sizeof(sb->volume_name));
	if (w->set & XW_TUNE_LAST_MOUNTED)
		memcpy(sb->last_mounted, w->last_mounted, sizeof(sb->last_mounted));
	if (w->set & XW_TUNE_MOUNT_OPTS)
		memcpy(sb->mount_opts, w->mount_opts, sizeof(sb->mount_opts));
	sb->default_mount_opts &= ~w->default_opts_off;
	sb->default_mount_opts |= w->default_opts_on;
	if (w->set & XW_TUNE_FORCE_FSCK)
		sb->state |= XW_STATE_ERROR;
	if (w->set & XW_TUNE_TEST_FS)
		sb->flags = (sb->flags & ~XW_FLAG_TEST_FS) | (w->test_fs ? XW_FLAG_TEST_FS : 0);
	memcpy(sb->uuid, t->to.uuid, sizeof(sb->uuid));
	memcpy(sb->encrypt_algos, t->to.encrypt_algos, sizeof(sb->encrypt_algos));
	sb->checksum_type = t->to.checksum_type;
	sb->checksum_seed = t->to.checksum_seed;
	sb->encoding = t->to.encoding;
	sb->encoding_flags = t->to.encoding_flags;
	sb->wtime = t->opts->now;
	if (!rc && w->set & XW_TUNE_CLEAR_MMP)
		rc = clear_mmp(t, sb);
	return rc;
}

/* ---- copies ---- */

/*
 * Every commit counts its writes in the primary superblock. A copy in which only this number is
 * older is left, or a change of nothing would have something to write.
 */
static int copy_super(struct xw_image *img, uint64_t group)
{
	const uint64_t at = xw_tune_group_start(img, group) * img->block_size;
	struct xw_super sb = img->sb, was;
	uint8_t buf[XW_SUPER_SIZE], had[XW_SUPER_SIZE];
	const int rc = xw_dev_pread(img->dev, had, sizeof(had), at);

	if (rc)
		return rc;
	sb.block_group_nr = (uint16_t)group;
	sb.state &= (uint16_t)~XW_STATE_VALID;
	if (!xw_super_decode(had, &was)) {
		sb.kbytes_written = was.kbytes_written;
		xw_super_encode(&sb, buf);
		if (!memcmp(buf, had, sizeof(buf)))
			return 0;
		sb.kbytes_written = img->sb.kbytes_written;
	}
	xw_super_encode(&sb, buf);
	return xw_dev_pwrite(img->dev, buf, sizeof(buf), at);
}

/*
 * Copy descriptor block i to its place in `group` unless the copy is equal already, since written
 * blocks are held in memory and in the redo file. buf holds two blocks.
 */
static int copy_desc(struct xw_image *img, uint64_t i, uint64_t group, uint64_t at, uint8_t *buf)
{
	const uint32_t bs = img->block_size, per = bs / img->desc_size;
	const xw_blk from = xw_image_desc_block(img, i * per),
		     to = xw_tune_group_start(img, group) + at;
	int rc;

	if (to == from || to >= img->sb.blocks_count)
		return 0;
	rc = xw_dev_pread(img->dev, buf, bs, from * bs);
	if (!rc)
		rc = xw_dev_pread(img->dev, buf + bs, bs, to * bs);
	return rc || !memcmp(buf, buf + bs, bs) ? rc : xw_dev_pwrite(img->dev, buf, bs, to * bs);
}

/* Copy the descriptor blocks that follow a superblock copy. */
static int copy_table(struct xw_image *img, uint64_t group, uint64_t blocks, uint8_t *buf)
{
	int rc = 0;

	for (uint64_t i = 0; i < blocks && !rc; i++)
		rc = copy_desc(img, i, group, 1 + i, buf);
	return rc;
}

/* Fill zeroed descriptor blocks after a backup superblock that is about to become valid. */
static int fill_table(struct xw_image *img, uint64_t group, uint64_t blocks, uint8_t *buf)
{
	int rc = 0;

	for (uint64_t i = 0; i < blocks && !rc; i++) {
		const xw_blk to = xw_tune_group_start(img, group) + 1 + i;

		if (to >= img->sb.blocks_count)
			break;
		rc = xw_dev_pread(img->dev, buf, img->block_size, to * img->block_size);
		if (!rc && xw_all_zero(buf, img->block_size))
			rc = copy_desc(img, i, group, 1 + i, buf);
	}
	return rc;
}

/* meta_bg: copy the descriptor block of a meta group to its first, second and last group. */
static int copy_meta(struct xw_image *img, uint64_t i, uint8_t *buf)
{
	const uint64_t per = img->block_size / img->desc_size;
	const uint64_t groups[] = {i * per, i * per + 1, i * per + per - 1};
	int rc = 0;

	for (size_t k = 0; k < XW_ARRAY_SIZE(groups) && !rc; k++)
		if (groups[k] < img->groups)
			rc = copy_desc(img, i, groups[k], xw_image_has_super(img, groups[k]), buf);
	return rc;
}

int xw_tune_copies(struct xw_image *img, bool descs)
{
	const uint64_t all = xw_tune_desc_blocks(img);
	const uint64_t table = img->sb.feature_incompat & XW_INCOMPAT_META_BG
				       ? XW_MIN(img->sb.first_meta_bg, all)
				       : all;
	auto_free uint8_t *buf = malloc(2 * (size_t)img->block_size);
	int rc = buf ? 0 : xw_fail_nomem(img->diag, "group descriptors");

	for (uint64_t g = 1; g < img->groups && !rc; g++) {
		struct xw_super was;

		if (!xw_image_has_super(img, g))
			continue;
		if (descs)
			rc = copy_table(img, g, table, buf);
		else if (!xw_tune_backup(img, g, &was))
			rc = fill_table(img, g, table, buf);
		if (!rc)
			rc = copy_super(img, g);
	}
	for (uint64_t i = table; i < all && descs && !rc; i++)
		rc = copy_meta(img, i, buf);
	return rc;
}

int xw_tune_put_copies(struct xw_tune_run *t, const struct xw_super *sb)
{
	auto_end(xw_tune_image_end) struct xw_image *img = NULL;
	int rc = xw_tune_put_super(t, sb);

	if (!rc)
		rc = xw_image_open(xw_edit_dev(t->edit), 0, t->diag, &img);
	return rc ? rc : xw_tune_copies(img, t->work & XW_TUNE_DEEP);
}
