// SPDX-License-Identifier: MIT
/* Reads the MMP block, valid or not. */
#include "config.h"

#include "disk/mmp.h"
#include "open/open.h"

bool fsck_mmp_read(struct fsck *f, struct xw_mmp *mmp)
{
	const struct xw_super *sb = &f->ses.img->sb;
	uint8_t raw[XW_MMP_SIZE];

	return !xw_dev_pread(f->ses.dev, raw, sizeof(raw),
			     sb->mmp_block * f->ses.img->block_size) &&
	       !xw_mmp_decode(raw, mmp) &&
	       !(xw_super_has_csum(sb) && xw_mmp_verify(raw, f->ses.img->csum_seed)) &&
	       mmp->check_interval <= XW_MMP_INTERVAL_MAX;
}

bool fsck_mmp_is_valid(struct fsck *f)
{
	struct xw_mmp mmp;

	return !(f->ses.img->sb.feature_incompat & XW_INCOMPAT_MMP) ||
	       (fsck_mmp_read(f, &mmp) && xw_mmp_seq_possible(mmp.seq));
}
