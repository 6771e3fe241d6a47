// SPDX-License-Identifier: MIT
/* Repairs that allocate blocks or inodes: one open update over the overlay. */
#include "config.h"

#include "repairs/repairs.h"

static bool may_write(void *arg, uint64_t blk)
{
	return fsck_may_change(arg, blk);
}

int fsck_update_begin(struct fsck *f, struct xw_update **out)
{
	xw_log_fn *const log = f->ses.diag.log;
	const struct xw_space_stats so_far = f->ses.steps.space;
	int rc;

	*out = f->ses.steps.u;
	if (f->ses.steps.u)
		return 0;
	xw_steps_init(&f->ses.steps, f->ses.dev, &f->ses.diag);
	f->ses.steps.space = so_far;
	f->ses.steps.now = f->opts.now;
	f->ses.steps.image_flags = f->ses.img->flags;
	f->ses.steps.may_write = may_write;
	f->ses.steps.may_write_arg = f;
	f->ses.steps.leave_quota = true;
	f->ses.diag.log = NULL; /* that the journal needs recovery is a finding, not a warning */
	rc = xw_step_begin(&f->ses.steps, out);
	f->ses.diag.log = log;
	return rc;
}

int fsck_update_step(struct fsck *f)
{
	const int rc = f->ses.steps.u ? xw_step_keep(&f->ses.steps) : 0;

	/* A failed change changes nothing: it must not cause another round. */
	if (!rc)
		f->round.allocated = f->round.changed = true;
	return rc;
}

int fsck_update_keep(struct fsck *f)
{
	uint8_t raw[XW_SUPER_SIZE];
	int rc = fsck_update_step(f);

	fsck_update_drop(f);
	if (!rc) /* the update has its own copy of the superblock, which it has changed */
		rc = xw_dev_pread(f->ses.dev, raw, sizeof(raw), XW_SUPER_OFFSET);
	if (!rc)
		rc = xw_super_decode(raw, &f->ses.img->sb);
	return rc;
}

void fsck_update_drop(struct fsck *f)
{
	xw_step_drop(&f->ses.steps);
	xw_image_drop_cache(f->ses.img);
}
