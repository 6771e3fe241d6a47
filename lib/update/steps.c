// SPDX-License-Identifier: MIT
/*
 * The update stays open between steps, so that a script with a thousand names reads the bitmaps
 * once.
 *
 * Invariant: between steps `top` has no dirty blocks, and `u` matches the state of `dev`.
 */
#include "config.h"

#include "update/steps.h"

#include <stdlib.h>

#include "base/auto.h"
#include "dev/overlay.h"
#include "journal/log.h"

void xw_steps_init(struct xw_steps *s, struct xw_dev *dev, struct xw_diag *diag)
{
	*s = (struct xw_steps){.dev = dev, .diag = diag, .held_max = XW_STEPS_HELD_MAX};
}

/* An empty journal needs no recovery, even if the superblock asks for it. */
static int check_journal(struct xw_steps *s, struct xw_image *img)
{
	auto_log struct xw_log *log = NULL;
	int rc;

	if (!(img->sb.feature_incompat & XW_INCOMPAT_RECOVER))
		return 0;
	rc = xw_log_open_image(img, &log);
	if (rc == XW_ERR_UNSUPPORTED)
		xw_diag_clear(s->diag);
	if (rc == XW_ERR_UNSUPPORTED)
		return xw_fail(s->diag, XW_ERR_STATE,
			       "%s: its journal cannot be replayed here, and may hold changes that "
			       "would overwrite this one; xw-fsck replays it",
			       s->dev->name);
	if (rc || !log->jsb.start)
		return 0;
	return xw_fail(s->diag, XW_ERR_STATE,
		       "%s: its journal holds changes that would overwrite this one; "
		       "replay it first (journal_run)",
		       s->dev->name);
}

static int open_update(struct xw_steps *s)
{
	const struct xw_update_opts opts = {
		.now = s->now,
		.mb = {-1, -1, -1, -1, -1, -1},
		.jobs = 1,
		.unchecked = true,
		.protect = true,
		.image_flags = s->image_flags,
	};
	struct xw_image *img;
	uint32_t bs;
	int rc = xw_image_open(s->dev, s->image_flags, s->diag, &img);

	if (rc)
		return rc;
	bs = img->block_size;
	rc = check_journal(s, img);
	xw_image_close(img);
	if (!rc)
		rc = xw_overlay_open(s->dev, bs, s->diag, &s->top);
	if (!rc)
		rc = xw_update_begin(s->top, &opts, s->diag, &s->u);
	if (rc)
		return rc;
	s->u->data = s->dev;
	s->u->held_max = s->held_max;
	s->u->leave_quota = s->leave_quota;
	return 0;
}

void xw_step_drop(struct xw_steps *s)
{
	if (s->u)
		xw_space_stats_add(&s->space, s->u->space);
	xw_update_close(s->u);
	s->u = NULL;
	if (s->top)
		(void)xw_overlay_detach(s->top);
	s->top = NULL;
}

int xw_step_begin(struct xw_steps *s, struct xw_update **out)
{
	int rc = s->u ? 0 : open_update(s);

	if (rc) {
		xw_step_drop(s);
		return rc;
	}
	s->u->now = s->u->place.enc.now = s->now;
	*out = s->u;
	return 0;
}

static int ask(struct xw_steps *s, const uint64_t *blocks, size_t n)
{
	for (size_t i = 0; i < n && s->may_write; i++)
		if (!s->may_write(s->may_write_arg, blocks[i]))
			return xw_fail(
				s->diag, XW_ERR_INTERNAL,
				"%s: refused to write block %llu: it belongs to another file",
				s->dev->name, (unsigned long long)blocks[i]);
	return 0;
}

/* Copy the blocks that the step wrote to the device below. */
static int copy_down(struct xw_steps *s)
{
	const uint64_t bs = xw_overlay_block_size(s->top);
	auto_free uint64_t *blocks = NULL;
	size_t n = 0;
	int rc = xw_overlay_dirty(s->top, &blocks, &n);

	if (!rc)
		rc = ask(s, blocks, n);
	for (size_t i = 0; i < n && !rc; i++) {
		const void *data;

		xw_overlay_block(s->top, blocks[i], &data);
		rc = data ? xw_dev_pwrite(s->dev, data, bs, blocks[i] * bs)
			  : xw_dev_zero(s->dev, blocks[i] * bs, bs);
	}
	s->torn |= rc && rc != XW_ERR_INTERNAL;
	return rc;
}

int xw_step_apart(struct xw_steps *s, uint32_t block_size, int (*fn)(void *arg, struct xw_dev *dev),
		  void *arg)
{
	int rc;

	xw_step_drop(s);
	rc = xw_overlay_open(s->dev, block_size, s->diag, &s->top);
	if (!rc)
		rc = fn(arg, s->top);
	if (!rc)
		rc = copy_down(s);
	xw_step_drop(s);
	return rc;
}

int xw_step_keep(struct xw_steps *s)
{
	int rc = xw_update_flush(s->u);

	if (!rc)
		rc = copy_down(s);
	if (rc)
		xw_step_drop(s);
	else
		xw_overlay_discard(s->top);
	return rc;
}
