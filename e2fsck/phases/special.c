// SPDX-License-Identifier: MIT
/*
 * Blocks to which only the superblock refers: the MMP block, and the blocks of the resize inode and
 * of the orphan file. They are claimed like blocks of files, and repaired when the owner map is
 * complete.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "disk/indirect.h"
#include "disk/mmp.h"
#include "phases/super.h"

int fsck_claim_special(struct fsck *f)
{
	const struct xw_super *sb = &f->ses.img->sb;
	struct xw_inode in;
	xw_blk dind = 0;
	int rc = 0;

	if (sb->feature_compat & XW_COMPAT_RESIZE_INODE) {
		rc = fsck_inode_read(f, XW_INO_RESIZE, &in, NULL);
		dind = rc ? 0 : xw_inode_slot(&in, XW_DIND_SLOT);
	}
	if (!rc && xw_image_has_blocks(f->ses.img, dind, 1) && !fsck_is_metadata(f, dind, 1))
		rc = fsck_claim(f, FSCK_O_RESIZE, dind, 1, NULL);
	if (!rc && sb->feature_incompat & XW_INCOMPAT_MMP &&
	    xw_image_has_blocks(f->ses.img, sb->mmp_block, 1))
		rc = fsck_claim(f, FSCK_O_MMP, sb->mmp_block, 1, NULL);
	return rc;
}

/* ---- multiple mount protection; open/ has checked that the filesystem is not in use ---- */

static int write_mmp(struct fsck *f)
{
	const uint32_t bs = f->ses.img->block_size;
	const struct xw_mmp mmp = {
		.seq = XW_MMP_SEQ_CLEAN, .time = f->opts.now, .check_interval = XW_MMP_INTERVAL};
	auto_free uint8_t *block = calloc(1, bs);

	if (!block)
		return xw_fail_nomem(&f->ses.diag, "the MMP block");
	xw_mmp_encode(&mmp, xw_super_has_csum(&f->ses.img->sb), f->ses.img->csum_seed, block);
	return fsck_write(f, FSCK_O_MMP, f->ses.img->sb.mmp_block, block);
}

/* Allocate a new MMP block. If there is no space, clear the feature. */
static int move_mmp(struct fsck *f)
{
	struct xw_super *sb = &f->ses.img->sb;
	int rc;

	if (!FSCK_FOUND(f, MMP_BLOCK, .blk = sb->mmp_block))
		return 0;
	rc = fsck_claim_free(f, FSCK_O_MMP, sb->mmp_block, &sb->mmp_block);
	f->ses.renew_backups = true;
	if (rc == XW_ERR_NOSPC) {
		sb->feature_incompat &= ~XW_INCOMPAT_MMP;
		sb->mmp_block = 0;
		return fsck_super_write(f);
	}
	if (!rc)
		rc = write_mmp(f);
	return rc ? rc : fsck_super_write(f);
}

static int check_mmp(struct fsck *f)
{
	const struct xw_super *sb = &f->ses.img->sb;
	struct xw_mmp mmp;

	if (!(sb->feature_incompat & XW_INCOMPAT_MMP))
		return 0;
	if (!fsck_owns(f, FSCK_O_MMP, sb->mmp_block, 1))
		return move_mmp(f);
	if (!fsck_mmp_read(f, &mmp))
		return FSCK_FOUND(f, MMP_MAGIC, .blk = sb->mmp_block) ? write_mmp(f) : 0;
	if (!xw_mmp_seq_possible(mmp.seq) &&
	    FSCK_FOUND(f, MMP_SEQUENCE, .blk = sb->mmp_block, .num = mmp.seq))
		return write_mmp(f);
	return 0;
}

int fsck_check_special(struct fsck *f)
{
	int rc = fsck_check_resize(f);

	if (!rc)
		rc = fsck_check_orphan_file(f);
	if (!rc)
		rc = fsck_zero_cut(f);
	return rc ? rc : check_mmp(f);
}
