// SPDX-License-Identifier: MIT
/*
 * A run: steps, each opened on the image as the last commit left it and closed again, so that
 * nothing but the image and the state file (state.h) carries over. Hence a killed run that is
 * resumed makes the same image as one that was not.
 *
 *	first step	the state file is made; what the image was is in it
 *	steps		operations until the step is full, or its freed space is needed
 *	last step	the state file is removed
 *
 * Commits are by redo file: the journal of the image, whose sequence numbers depend on how often
 * it was recovered, is not touched.
 */
#include "config.h"

#include <string.h>

#include "age/run_internal.h"
#include "update/fast.h"

#define STEP 8192 /* operations */
/* Times of operations, seconds apart, begin so long before opts->now: none lies in the future. */
#define SPAN (INT64_C(1) << 25)

/* ---- one update ---- */

int xw_age_open(struct xw_age_run *r, struct xw_edit **e, struct xw_update **u)
{
	const struct xw_edit_opts eo = {
		.redo_file = r->o->redo_file,
		.offset = r->o->offset,
		.how = XW_COMMIT_REDO,
		.watch = r->o->watch,
	};
	const struct xw_update_opts uo = {
		.mb = {-1, -1, -1, -1, -1, -1},
		.jobs = r->o->jobs,
	};
	int ret = xw_edit_begin(r->path, &eo, r->diag, e);

	if (ret)
		return ret;
	ret = xw_update_begin(xw_edit_dev(*e), &uo, r->diag, u);
	if (!ret && (*u)->img->sb.feature_ro_compat & XW_RO_BIGALLOC) {
		ret = xw_fail(r->diag, XW_ERR_UNSUPPORTED, "%s: bigalloc images cannot be aged",
			      r->path);
		xw_update_close(*u);
	}
	if (ret)
		xw_edit_end(*e);
	return ret;
}

static void set_time(struct xw_update *u, int64_t now)
{
	u->now = u->place.enc.now = now;
}

/* The time of operation n. */
static int64_t time_of(const struct xw_age_state *s, uint64_t n)
{
	const int64_t begin = s->base.now > 2 * SPAN ? s->base.now - SPAN : s->base.now;

	return XW_MIN(begin + (int64_t)XW_MIN(n, (uint64_t)SPAN), s->base.now);
}

static void add_stats(struct xw_space_stats *sum, const struct xw_space *space)
{
	struct xw_space_stats st;
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)&st;

	static_assert(sizeof(st) % sizeof(uint64_t) == 0, "counters only");
	xw_space_stats(space, &st);
	for (size_t i = 0; i < sizeof(st) / sizeof(uint64_t); i++)
		to[i] += from[i];
}

/* ---- beginning ---- */

static void first_state(struct xw_age_run *r, const struct xw_update *u)
{
	const struct xw_super *sb = &u->img->sb;

	r->state = (struct xw_age_state){
		.options = xw_age_options_hash(r->o),
		.base = {.blocks = sb->blocks_count,
			 .free = xw_space_free_blocks(u->space),
			 .block_size = u->img->block_size,
			 .now = r->o->now >= 0 ? r->o->now : (int64_t)sb->mkfs_time},
	};
}

/* The state of the image, and the operations that were done: asked for again, not done. */
static int begin(struct xw_age_run *r, struct xw_age_world *w)
{
	struct xw_age_op op;
	int ret = xw_age_state_read(w, &r->state);

	if (ret && ret != XW_ERR_NOTFOUND)
		return ret;
	if (!ret && !r->o->resume)
		return xw_fail(r->diag, XW_ERR_STATE,
			       "%s: an aging that did not end is in it; --resume continues it",
			       r->path);
	if (ret && r->o->resume)
		return xw_fail(r->diag, XW_ERR_STATE,
			       "%s: there is no aging to resume: it ended, or never began",
			       r->path);
	if (ret) {
		first_state(r, w->u);
		ret = xw_age_state_write(w, &r->state);
	} else if (r->state.options != xw_age_options_hash(r->o)) {
		ret = xw_fail(r->diag, XW_ERR_USAGE,
			      "%s: the options differ from those that the aging began with",
			      r->path);
	}
	if (ret)
		return ret;
	r->res->resumed = r->state.counts.ops;
	r->begun = true;
	if (r->o->fast)
		return 0;
	ret = xw_age_source_open(r->o, &r->state.base, r->diag, &r->src);
	for (uint64_t i = 0; i < r->state.counts.ops && !ret; i++) {
		const int more = r->src.next(r->src.state, &op);

		if (more <= 0)
			ret = more ? more
				   : xw_fail(r->diag, XW_ERR_INPUT,
					     "the profile has fewer operations than were done");
	}
	return ret;
}

/* ---- steps ---- */

/* The reasons to end that can be told without measuring. */
static bool reached(struct xw_age_run *r, const struct xw_update *u)
{
	const struct xw_age_until *until = &r->o->until;
	const struct xw_age_counts *c = &r->state.counts;
	const uint64_t blocks = u->img->sb.blocks_count;
	const uint64_t free = xw_space_free_blocks(u->space) + u->stats.freed_blocks;

	if (until->util && blocks - free >= xw_age_share(blocks, until->util))
		r->state.ended = 1 + XW_AGE_END_UTIL;
	else if (until->ops && c->ops >= until->ops)
		r->state.ended = 1 + XW_AGE_END_OPS;
	else if (until->overwrites && c->written / u->img->block_size / blocks >= until->overwrites)
		r->state.ended = 1 + XW_AGE_END_OVERWRITES;
	return r->state.ended;
}

static int operations(struct xw_age_run *r, struct xw_age_world *w)
{
	const uint64_t most = r->o->step ? r->o->step : STEP;
	const uint64_t skipped = r->state.counts.skipped;
	uint64_t done = 0;
	int ret = 0;

	while (done < most && !reached(r, w->u)) {
		if (!r->have_op) {
			ret = r->src.next(r->src.state, &r->op);
			if (ret < 0)
				return ret;
			if (!ret) {
				r->state.ended = 1 + XW_AGE_END_PROFILE;
				break;
			}
			r->have_op = true;
		}
		set_time(w->u, time_of(&r->state, r->state.counts.ops));
		ret = xw_age_world_apply(w, &r->op);
		if (ret < 0)
			return ret;
		if (ret)
			break;
		r->have_op = false;
		done++;
	}
	if (done >= 1024 && r->state.counts.skipped - skipped > done / 4 * 3 && !r->state.ended)
		return xw_fail(r->diag, XW_ERR_NOSPC,
			       "%s: the image is full, and what --until asks for was not reached",
			       r->path);
	return 0;
}

/* What a step does between opening and commit. */
static int change(struct xw_age_run *r, struct xw_age_world *w)
{
	struct xw_age_dir *root;
	int ret = xw_age_world_root(w, &root); /* in every step, so that all open it first */

	if (!ret && !r->begun)
		ret = begin(r, w);
	if (ret)
		return ret;
	if (r->finishing) {
		ret = xw_age_state_remove(w);
	} else if (!r->state.ended && !(r->resuming && r->o->until.no_run + r->o->until.layout)) {
		r->state.counts.steps++;
		ret = r->o->fast ? xw_age_fast_step(r, w) : operations(r, w);
	}
	r->resuming = false;
	set_time(w->u, r->state.base.now);
	if (!ret && !r->finishing)
		ret = xw_age_state_write(w, &r->state);
	return ret ? ret : xw_age_world_end(w);
}

static int step(struct xw_age_run *r)
{
	struct xw_age_world w = {
		.top = r->o->dir, .counts = &r->state.counts, .itree = &r->res->itree};
	struct xw_edit *e;
	int ret = xw_age_open(r, &e, &w.u);

	if (ret)
		return ret;
	set_time(w.u, r->state.base.now);
	ret = change(r, &w);
	xw_age_world_close(&w);
	if (!ret)
		ret = xw_update_flush(w.u);
	if (!ret)
		ret = xw_edit_commit(e, NULL);
	add_stats(&r->res->space, w.u->space);
	xw_update_close(w.u);
	xw_edit_end(e);
	r->res->total = r->state.counts;
	if (!ret && r->o->progress)
		ret = r->o->progress(r->o->arg, r->res);
	return ret;
}

/* The reasons that need a look at the whole image, between two steps. */
static int measure(struct xw_age_run *r)
{
	const struct xw_age_until *until = &r->o->until;
	struct xw_age_measure m;
	int ret;

	if (r->state.ended || r->o->fast || (!until->no_run && !until->layout))
		return 0;
	ret = xw_age_measure_some(r->path, r->o, until->layout != 0, r->diag, &m);
	if (!ret && until->no_run && m.longest_free * m.block_size < until->no_run)
		r->state.ended = 1 + XW_AGE_END_NO_RUN;
	else if (!ret && until->layout && xw_age_layout(&m) <= until->layout)
		r->state.ended = 1 + XW_AGE_END_LAYOUT;
	xw_age_measure_free(&m);
	return ret;
}

static int check(const struct xw_age_opts *o, struct xw_diag *diag)
{
	uint64_t sum;

	if (!xw_age_path_ok(o->dir))
		return xw_fail(diag, XW_ERR_USAGE, "--dir %s: not a path below the root", o->dir);
	if (o->profile == XW_AGE_ALTERNATE &&
	    (!o->used || !o->free || __builtin_add_overflow(o->used, o->free, &sum)))
		return xw_fail(
			diag, XW_ERR_USAGE,
			"alternate:USED,FREE needs two sizes above 0, together below 16 EiB");
	if (o->fast && o->profile != XW_AGE_ALTERNATE)
		return xw_fail(diag, XW_ERR_USAGE, "--fast works with --profile alternate only");
	if (o->fast && (o->until.layout || o->until.overwrites || o->until.ops || o->until.util))
		return xw_fail(diag, XW_ERR_USAGE,
			       "--fast has no history: of --until it takes no-run only");
	return 0;
}

int xw_age_run(const char *path, const struct xw_age_opts *opts, struct xw_diag *diag,
	       struct xw_age_result *res)
{
	struct xw_age_opts o = *opts;
	struct xw_age_run r = {
		.path = path, .o = &o, .diag = diag, .res = res, .resuming = opts->resume};
	int ret;

	if (!o.dir)
		o.dir = "age";
	*res = (struct xw_age_result){0};
	ret = check(&o, diag);
	while (!ret && !r.state.ended) {
		ret = step(&r);
		if (!ret)
			ret = measure(&r);
	}
	r.finishing = true;
	if (!ret)
		ret = step(&r);
	if (r.src.shares)
		r.src.shares(r.src.state, res);
	if (r.src.close)
		r.src.close(r.src.state);
	res->reason = r.state.ended ? (enum xw_age_reason)(r.state.ended - 1) : XW_AGE_END_PROFILE;
	return ret;
}

const char *xw_age_reason_text(enum xw_age_reason reason)
{
	static const char *const texts[] = {
		[XW_AGE_END_PROFILE] = "profile", [XW_AGE_END_UTIL] = "util",
		[XW_AGE_END_LAYOUT] = "layout",   [XW_AGE_END_NO_RUN] = "no-run",
		[XW_AGE_END_OPS] = "ops",         [XW_AGE_END_OVERWRITES] = "overwrites",
	};

	return texts[reason];
}
