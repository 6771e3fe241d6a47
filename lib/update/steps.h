/* SPDX-License-Identifier: MIT */
/*
 * Many small changes to one image, each a whole of its own, all committed as one: what an
 * interactive editor needs. On top of the device that collects the steps (an edit's overlay) lies a
 * second overlay that collects one step:
 *
 *	xw_step_begin(s, &u)	the update to make the step with
 *	... xw_update_*(u)	edit/edit.h
 *	xw_step_keep(s)		counts, bitmaps, records: the step is on the device
 *	xw_step_forget(s)	or it never was
 *
 * So a step that fails, for lack of space or on a damaged structure, leaves nothing behind: only
 * contents of files go to the lower device at once, to blocks that are free until the step is kept.
 * Between steps others may read and write that device as they like; after writing they call
 * xw_step_forget().
 */
#ifndef XW_UPDATE_STEPS_H
#define XW_UPDATE_STEPS_H

#include "update/update.h"

#define XW_STEPS_HELD_MAX (UINT64_C(64) << 20)

struct xw_steps {
	struct xw_dev *dev; /* borrowed, an overlay; destination of steps */
	struct xw_diag *diag;
	int64_t now; /* time set by steps; may be changed between them */
	unsigned image_flags; /* XW_IMAGE_* */
	/*
	 * In bytes: when dev uses that much memory, contents of files are no longer written to
	 * blocks that were in use when dev was opened: XW_ERR_NOSPC if there are no others.
	 */
	uint64_t held_max;
	/* NULL, or asked about each block before any is written to dev: false refuses the step */
	bool (*may_write)(void *arg, uint64_t blk);
	void *may_write_arg;
	/* for checkers, which rebuild it: a damaged quota file is no error, and left as it is */
	bool leave_quota;
	/* part of a step is on dev, and the rest could not be written: must not be committed */
	bool torn;
	struct xw_space_stats space; /* of all steps that have ended, kept or not */
	/* internal */
	struct xw_dev *top; /* over dev; NULL: no update is open */
	struct xw_update *u;
};

void xw_steps_init(struct xw_steps *s, struct xw_dev *dev, struct xw_diag *diag);
/*
 * XW_ERR_STATE: the journal needs a replay; otherwise errors of xw_update_begin(). Only one step at
 * a time.
 */
int xw_step_begin(struct xw_steps *s, struct xw_update **out);
/*
 * XW_ERR_INTERNAL: may_write() refused. After a failure the step is rolled back; `torn` is set if
 * that was impossible.
 */
int xw_step_keep(struct xw_steps *s);
/*
 * A step of code that does not use updates: what fn writes to its device, in blocks of block_size,
 * is written to s->dev if it returns 0, else dropped. All of it is held in memory.
 */
int xw_step_apart(struct xw_steps *s, uint32_t block_size, int (*fn)(void *arg, struct xw_dev *dev),
		  void *arg);
/*
 * Drop the current step, if any; what is known about the device is read again. Also the end of all.
 */
void xw_step_forget(struct xw_steps *s);

#endif
