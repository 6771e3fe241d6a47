/* SPDX-License-Identifier: MIT */
/*
 * Many small changes to one image, each atomic, all committed as one: what an interactive editor
 * needs. A second overlay on top of the device that collects the steps (an edit's overlay) collects
 * the current step:
 *
 *   xw_step_begin(s, &u)   the update to make the step with
 *   ... xw_update_*(u)     edit/edit.h
 *   xw_step_keep(s)        writes counts, bitmaps and records; the step is on the device
 *   xw_step_drop(s)        or: drops the step
 *
 * So a step that fails, for lack of space or because of a damaged structure, changes nothing: only
 * contents of files are written to the lower device at once, to blocks that are free until the step
 * is kept. Between steps other code may read and write that device; after writing it calls
 * xw_step_drop().
 */
#ifndef XW_UPDATE_STEPS_H
#define XW_UPDATE_STEPS_H

#include "update/update.h"

#define XW_STEPS_HELD_MAX (UINT64_C(64) << 20)

struct xw_steps {
	struct xw_dev *dev; /* borrowed, an overlay; receives the steps */
	struct xw_diag *diag;
	int64_t now; /* time set by steps; may be changed between them */
	unsigned image_flags; /* XW_IMAGE_* */
	/*
	 * In bytes: when dev uses that much memory, contents of files are no longer written to
	 * blocks that were in use when dev was opened; XW_ERR_NOSPC if there are no other blocks.
	 */
	uint64_t held_max;
	/*
	 * May be NULL. Called for each block before any is written to dev; false refuses the step.
	 */
	bool (*may_write)(void *arg, uint64_t blk);
	void *may_write_arg;
	/*
	 * for checkers, which rebuild quota files: a damaged one is left unchanged and is no error
	 */
	bool leave_quota;
	/* a step could not be written to dev completely: dev must not be committed */
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
 * A step by code that does not use updates: the writes of fn to its device, in blocks of
 * block_size, are copied to s->dev if it returns 0, otherwise dropped. All of them are held in
 * memory.
 */
int xw_step_apart(struct xw_steps *s, uint32_t block_size, int (*fn)(void *arg, struct xw_dev *dev),
		  void *arg);
/* Drop the current step, if any, and all state read from the device. Also called at the end. */
void xw_step_drop(struct xw_steps *s);

#endif
