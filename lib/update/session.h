/* SPDX-License-Identifier: MIT */
/*
 * Many small changes to one image, each a whole of its own, all committed as one: what an
 * interactive editor needs. On top of the device that collects the session (an edit's overlay) lies
 * a second overlay that collects one step:
 *
 *	xw_session_begin(s, &u)		the update to make the step with
 *	... xw_update_*(u), edit.h
 *	xw_session_keep(s)		counts, bitmaps, records: the step is on the device
 *	xw_session_forget(s)		or it never was
 *
 * So a step that fails, for lack of space or on a damaged structure, leaves nothing behind: only
 * contents of files go to the session's device at once, to blocks that are free until the step is
 * kept. Between steps others may read and write the device as they like; after writing they call
 * xw_session_forget().
 */
#ifndef XW_UPDATE_SESSION_H
#define XW_UPDATE_SESSION_H

#include "update/update.h"

#pragma GCC visibility push(default)

#define XW_SESSION_HELD_MAX (UINT64_C(64) << 20)

struct xw_session {
	struct xw_dev *dev; /* borrowed, an overlay; where steps go */
	struct xw_diag *diag;
	int64_t now; /* of what steps make; may be changed between steps */
	unsigned image_flags; /* XW_IMAGE_* */
	/*
	 * Bytes: when dev uses so much memory, contents of files no longer go to blocks that were
	 * in use when dev was opened: XW_ERR_NOSPC where there are no others.
	 */
	uint64_t held_max;
	bool torn; /* a part of a step is on dev, the rest could not be written: do not commit */
	/* kept by the session */
	struct xw_dev *top; /* over dev; NULL: no update is open */
	struct xw_update *u;
};

void xw_session_init(struct xw_session *s, struct xw_dev *dev, struct xw_diag *diag);
/*
 * XW_ERR_STATE: the journal holds what was never written to its place; what xw_update_begin()
 * reports. There may be one step at a time.
 */
int xw_session_begin(struct xw_session *s, struct xw_update **out);
/* After a failure the step is undone; `torn` says when it could not be. */
int xw_session_keep(struct xw_session *s);
/*
 * A step of something that knows nothing of updates: what fn writes to the device that it is given,
 * in blocks of block_size, is on s->dev if it returns 0, else it never was. Memory: all of it.
 */
int xw_session_apart(struct xw_session *s, uint32_t block_size,
		     int (*fn)(void *arg, struct xw_dev *dev), void *arg);
/*
 * The step under way, if any, never was; what is known about the device is to be read again. Also
 * the end of a session.
 */
void xw_session_forget(struct xw_session *s);

#pragma GCC visibility pop

#endif
