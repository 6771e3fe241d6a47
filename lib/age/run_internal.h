/* SPDX-License-Identifier: MIT */
/* Shared by the run (run.c), the bulk mode (fast.c) and the measuring (measure.c). */
#ifndef XW_AGE_RUN_INTERNAL_H
#define XW_AGE_RUN_INTERNAL_H

#include "age/state.h"
#include "session/edit.h"

#define XW_AGE_STEP 8192 /* in operations */
#define XW_AGE_STEP_LINUX 512 /* a writeback each */

/* The best that was reached of what --until asks for, and when. */
struct xw_age_best {
	bool known;
	uint32_t util, layout;
	uint64_t longest_free, written; /* bytes; written in 1/10000 of the image */
	uint64_t ops, bytes; /* when one of them last improved */
};

struct xw_age_run {
	const char *path;
	const struct xw_age_opts *o;
	struct xw_diag *diag;
	struct xw_age_outcome *res;
	struct xw_age_source src;
	struct xw_age_state state;
	struct xw_age_op op; /* have_op: the next one, not applied yet */
	bool have_op, begun, resuming, finishing;
	bool stalled; /* no limit of --until came closer any more */
	bool committed; /* at least one step of this run */
	uint64_t free; /* blocks, after the last step */
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
/* One step of the bulk mode; sets r->state.ended at the end. */
int xw_age_fast_step(struct xw_age_run *r, struct xw_age_world *w);
/* Are limits that require a scan of the image checked behind this step? */
bool xw_age_until_due(const struct xw_age_run *r);
/*
 * Between two steps: sets r->state.ended when a limit of --until is reached. XW_ERR_MISSED: none
 * came closer for long; sets r->stalled.
 */
int xw_age_until_check(struct xw_age_run *r);
/* At the end of the run. XW_ERR_MISSED: the goal of --until was not reached. */
int xw_age_until_end(struct xw_age_run *r);
/* Measure free space, and with `files` the maps of files; does not walk the tree. */
int xw_age_measure_some(const char *path, const struct xw_age_opts *o, bool files,
			struct xw_diag *diag, struct xw_age_measure *m);

#endif
