/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <string.h>
#include <time.h>

#include "base/types.h"
#include "disk/mmp.h"
#include "disk/super.h"
#include "session/mmp.h"

#define TICKS 10u /* calls of the watch per second */
#define ANNOUNCE 15u /* seconds between two messages about a long wait */

struct place {
	struct xw_super sb;
	uint64_t off;
};

/* Returns false if there is no MMP block, or an invalid one, which a checker repairs. */
static bool read_block(struct xw_dev *dev, struct place *p, struct xw_mmp *mmp)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_diag *devs = dev->diag;
	const struct xw_super *sb = &p->sb;
	bool ok;

	dev->diag = NULL;
	ok = dev->size >= XW_SUPER_OFFSET + XW_SUPER_SIZE &&
	     !xw_dev_pread(dev, buf, sizeof(buf), XW_SUPER_OFFSET) &&
	     !xw_super_decode(buf, &p->sb) && sb->feature_incompat & XW_INCOMPAT_MMP &&
	     sb->mmp_block < sb->blocks_count;
	if (ok) {
		p->off = sb->mmp_block * xw_super_block_size(sb);
		ok = !xw_dev_pread_fresh(dev, buf, XW_MMP_SIZE, p->off) &&
		     !xw_mmp_decode(buf, mmp) &&
		     !(xw_super_has_csum(sb) && xw_mmp_verify(buf, xw_super_csum_seed(sb)));
	}
	dev->diag = devs;
	return ok;
}

unsigned xw_mmp_wait_seconds(unsigned check_interval)
{
	const unsigned interval = XW_MIN(XW_MAX(check_interval, XW_MMP_INTERVAL), //
					 XW_MMP_INTERVAL_MAX);

	return XW_MIN(2 * interval + 1, interval + 60);
}

static int wait_for(unsigned seconds, const struct xw_commit_watch *watch, struct xw_dev *dev,
		    struct xw_diag *diag)
{
	const struct timespec tick = {.tv_nsec = 1000000000L / TICKS};
	int rc = 0;

	for (unsigned n = 0; n < seconds * TICKS && !rc; n++) {
		if (n && n % (ANNOUNCE * TICKS) == 0)
			xw_log(diag, XW_LOG_WARN, "%s: MMP: %u more seconds to wait", dev->name,
			       seconds - n / TICKS);
		(void)nanosleep(&tick, NULL);
		rc = xw_commit_check_canceled(watch, dev->name, diag);
	}
	return rc;
}

static int in_use(struct xw_dev *dev, const struct xw_mmp *mmp, const char *how,
		  struct xw_diag *diag)
{
	return xw_fail(diag, XW_ERR_BUSY,
		       "%s: in use %s, by node %s (%s), according to its MMP "
		       "block; if it is not, run xw-tune -f -E clear_mmp",
		       dev->name, how, mmp->node, mmp->device);
}

int xw_mmp_check(struct xw_dev *dev, const struct xw_commit_watch *watch, struct xw_diag *diag,
		 uint32_t *idle)
{
	const uint32_t known = *idle;
	struct place p;
	struct xw_mmp was, now;
	unsigned seconds;
	int rc;

	*idle = 0;
	if (!read_block(dev, &p, &was) || was.seq == XW_MMP_SEQ_CLEAN)
		return 0;
	if (was.seq == XW_MMP_SEQ_FSCK)
		return in_use(dev, &was, "by a checker", diag);
	if (was.seq != known) {
		seconds = xw_mmp_wait_seconds(was.check_interval);
		xw_log(diag, XW_LOG_WARN,
		       "%s: MMP: node %s (%s) has not unmounted it; waiting %u seconds to see "
		       "whether it is in use",
		       dev->name, was.node, was.device, seconds);
		rc = wait_for(seconds, watch, dev, diag);
		if (rc)
			return rc;
		if (!read_block(dev, &p, &now) || now.seq != was.seq)
			return in_use(dev, &was, "by a mount", diag);
	}
	*idle = was.seq;
	return 0;
}

bool xw_mmp_is_checked(struct xw_dev *dev)
{
	struct place p;
	struct xw_mmp mmp;

	return read_block(dev, &p, &mmp) && mmp.seq == XW_MMP_SEQ_FSCK;
}

bool xw_mmp_waits(struct xw_dev *dev, uint32_t idle)
{
	struct place p;
	struct xw_mmp mmp;

	return read_block(dev, &p, &mmp) && mmp.seq != XW_MMP_SEQ_CLEAN &&
	       mmp.seq != XW_MMP_SEQ_FSCK && mmp.seq != idle;
}

int xw_mmp_release(struct xw_dev *dev)
{
	uint8_t buf[XW_MMP_SIZE];
	struct xw_mmp mmp;
	struct place p;

	if (!read_block(dev, &p, &mmp) || mmp.seq == XW_MMP_SEQ_CLEAN)
		return 0;
	mmp.seq = XW_MMP_SEQ_CLEAN;
	xw_mmp_encode(&mmp, xw_super_has_csum(&p.sb), xw_super_csum_seed(&p.sb), buf);
	return xw_dev_pwrite(dev, buf, sizeof(buf), p.off);
}
