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
	xw_log_fn *const log = f->diag.log;
	const struct xw_space_stats so_far = f->steps.space;
	int rc;

	*out = f->steps.u;
	if (f->steps.u)
		return 0;
	xw_steps_init(&f->steps, f->dev, &f->diag);
	f->steps.space = so_far;
	f->steps.now = f->opts.now;
	f->steps.image_flags = f->img->flags;
	f->steps.may_write = may_write;
	f->steps.may_write_arg = f;
	f->steps.leave_quota = true;
	f->diag.log = NULL; /* that the journal needs recovery is a finding, not a warning */
	rc = xw_step_begin(&f->steps, out);
	f->diag.log = log;
	return rc;
}

int fsck_update_step(struct fsck *f)
{
	const int rc = f->steps.u ? xw_step_keep(&f->steps) : 0;

	/* A failed change changes nothing: it must not cause another round. */
	if (!rc)
		f->allocated = f->changed = true;
	return rc;
}

int fsck_update_keep(struct fsck *f)
{
	uint8_t raw[XW_SUPER_SIZE];
	int rc = fsck_update_step(f);

	fsck_update_drop(f);
	if (!rc) /* the update has its own copy of the superblock, which it has changed */
		rc = xw_dev_pread(f->dev, raw, sizeof(raw), XW_SUPER_OFFSET);
	if (!rc)
		rc = xw_super_decode(raw, &f->img->sb);
	return rc;
}

void fsck_update_drop(struct fsck *f)
{
	xw_step_forget(&f->steps);
	xw_image_forget(f->img);
}
