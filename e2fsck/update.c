// SPDX-License-Identifier: MIT
/* Repairs that allocate blocks or inodes: one open update over the overlay. */
#include "config.h"

#include "fsck.h"

int fsck_update(struct fsck *f, struct xw_update **out)
{
	int rc;

	*out = f->session.u;
	if (f->session.u)
		return 0;
	if (!f->allocated) {
		rc = fsck_space_settle(f);
		if (rc)
			return rc;
	}
	xw_session_init(&f->session, f->dev, &f->diag);
	f->session.now = f->opts.now;
	f->session.image_flags = f->img->flags;
	return xw_session_begin(&f->session, out);
}

int fsck_update_step(struct fsck *f)
{
	const int rc = f->session.u ? xw_session_keep(&f->session) : 0;

	/* A change that failed is none: it must not make for another round. */
	if (!rc)
		f->allocated = f->changed = true;
	return rc;
}

int fsck_update_keep(struct fsck *f)
{
	uint8_t raw[XW_SUPER_SIZE];
	int rc = fsck_update_step(f);

	fsck_update_drop(f);
	if (!rc) /* the update has a superblock of its own, and has changed it */
		rc = xw_dev_pread(f->dev, raw, sizeof(raw), XW_SUPER_OFFSET);
	if (!rc)
		rc = xw_super_decode(raw, &f->img->sb);
	return rc;
}

void fsck_update_drop(struct fsck *f)
{
	xw_session_forget(&f->session);
	xw_image_forget(f->img);
}
