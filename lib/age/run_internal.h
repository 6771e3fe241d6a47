/* SPDX-License-Identifier: MIT */
/* Shared by the run (run.c), its limits (until.c), the bulk mode (fast.c) and measure.c. */
#ifndef XW_AGE_RUN_INTERNAL_H
#define XW_AGE_RUN_INTERNAL_H

#include "age/state.h"
#include "session/edit.h"

#define XW_AGE_STEP 8192 /* operations per step */
#define XW_AGE_STEP_LINUX 512 /* the same with XW_AGE_LINUX, where each step is a writeback */

/* The best values reached for the limits of --until, and when. */
struct xw_age_best {
	bool known;
	uint32_t util, layout;
	uint64_t longest_free, written; /* longest_free in bytes, written in 1/10000 of the image */
	uint64_t ops, bytes; /* operations and bytes written when a value last improved */
};

struct xw_age_run {
	const char *path;
	const struct xw_age_opts *o;
	struct xw_diag *diag;
	struct xw_age_outcome *res;
	struct xw_age_source src;
	struct xw_age_state state;
	struct xw_age_op op; /* next operation, if have_op */
	bool have_op, begun, resuming, finishing;
	bool stalled; /* no progress towards any limit of --until */
	bool committed; /* at least one step was committed */
	uint64_t free; /* free blocks after the last step */
	struct xw_age_best best;
	struct xw_age_linux kernel; /* XW_AGE_LINUX */
};

/* share / 10000 of n, rounded up. */
static inline uint64_t xw_age_share(uint64_t n, uint32_t share)
{
	return n / XW_AGE_ONE * share + xw_div_up(n % XW_AGE_ONE * share, XW_AGE_ONE);
}

/* Open the image for one step; the update must be closed before the edit. */
int xw_age_open(struct xw_age_run *r, struct xw_edit **e, struct xw_update **u);
/* One step of the bulk mode. The last one sets r->state.ended. */
int xw_age_fast_step(struct xw_age_run *r, struct xw_age_world *w);
/* Are limits that require a scan of the image to be checked after this step? */
bool xw_age_until_due(const struct xw_age_run *r);
/*
 * Check the limits of --until between two steps: sets r->state.ended if one is reached.
 * XW_ERR_MISSED: the run has stalled; sets r->stalled.
 */
int xw_age_until_check(struct xw_age_run *r);
/* Check the limits at the end of the run. XW_ERR_MISSED: none was reached. */
int xw_age_until_end(struct xw_age_run *r);
/* Measure free space and, with `files`, the extents of files, without the directory tree walk. */
int xw_age_measure_some(const char *path, const struct xw_age_opts *o, bool files,
			struct xw_diag *diag, struct xw_age_measure *m);

#endif
