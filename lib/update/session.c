// SPDX-License-Identifier: MIT
/*
 * Steps of a session. The update stays open from one to the next, so that a script of a thousand
 * names reads the bitmaps once.
 *
 * Invariant: between steps `top` holds nothing, and `u` knows the state of `dev`.
 */
#include "config.h"

#include "update/session.h"

#include <stdlib.h>

#include "dev/overlay.h"
#include "journal/log.h"

void xw_session_init(struct xw_session *s, struct xw_dev *dev, struct xw_diag *diag)
{
	*s = (struct xw_session){.dev = dev, .diag = diag, .held_max = XW_SESSION_HELD_MAX};
}

/* A journal that asks for recovery and is empty is none. */
static int check_journal(struct xw_session *s, struct xw_image *img)
{
	struct xw_log *log;
	uint32_t start;

	if (!(img->sb.feature_incompat & XW_INCOMPAT_RECOVER) || xw_log_open_image(img, &log))
		return 0;
	start = log->jsb.start;
	xw_log_close(log);
	return start ? xw_fail(s->diag, XW_ERR_STATE,
			       "%s: its journal holds changes that would overwrite this one; "
			       "replay it first (journal_run)",
			       s->dev->name)
		     : 0;
}

static int open_update(struct xw_session *s)
{
	const struct xw_update_opts opts = {
		.now = s->now,
		.mb = {-1, -1, -1, -1, -1, -1},
		.jobs = 1,
		.lax = true,
		.protect = true,
		.image_flags = s->image_flags,
	};
	struct xw_image *img;
	uint32_t bs;
	int ret = xw_image_open(s->dev, s->image_flags, s->diag, &img);

	if (ret)
		return ret;
	bs = img->block_size;
	ret = check_journal(s, img);
	xw_image_close(img);
	if (!ret)
		ret = xw_overlay_open(s->dev, bs, s->diag, &s->top);
	if (!ret)
		ret = xw_update_begin(s->top, &opts, s->diag, &s->u);
	if (!ret) {
		s->u->data = s->dev;
		s->u->held_max = s->held_max;
	}
	return ret;
}

void xw_session_forget(struct xw_session *s)
{
	xw_update_close(s->u);
	s->u = NULL;
	if (s->top)
		(void)xw_overlay_detach(s->top);
	s->top = NULL;
}

int xw_session_begin(struct xw_session *s, struct xw_update **out)
{
	int ret = s->u ? 0 : open_update(s);

	if (ret) {
		xw_session_forget(s);
		return ret;
	}
	s->u->now = s->u->place.enc.now = s->now;
	*out = s->u;
	return 0;
}

/* What the step wrote, to where the session is. */
static int carry_over(struct xw_session *s)
{
	const uint64_t bs = xw_overlay_block_size(s->top);
	uint64_t *blocks;
	size_t n;
	int ret = xw_overlay_dirty(s->top, &blocks, &n);

	for (size_t i = 0; i < n && !ret; i++) {
		const void *data;

		xw_overlay_block(s->top, blocks[i], &data);
		ret = data ? xw_dev_pwrite(s->dev, data, bs, blocks[i] * bs)
			   : xw_dev_zero(s->dev, blocks[i] * bs, bs);
	}
	free(blocks);
	return ret;
}

int xw_session_apart(struct xw_session *s, uint32_t block_size,
		     int (*fn)(void *arg, struct xw_dev *dev), void *arg)
{
	int ret;

	xw_session_forget(s);
	ret = xw_overlay_open(s->dev, block_size, s->diag, &s->top);
	if (!ret)
		ret = fn(arg, s->top);
	if (!ret) {
		ret = carry_over(s);
		s->torn |= ret != 0;
	}
	xw_session_forget(s);
	return ret;
}

int xw_session_keep(struct xw_session *s)
{
	int ret = xw_update_flush(s->u);

	if (!ret) {
		ret = carry_over(s);
		s->torn |= ret != 0;
	}
	if (ret)
		xw_session_forget(s);
	else
		xw_overlay_discard(s->top);
	return ret;
}
