// SPDX-License-Identifier: MIT
/*
 * A run consists of steps. Each opens the image, changes it, commits and closes it again, so that
 * only the image and its state file (state.h) carry over: a killed and resumed run makes the same
 * image as an uninterrupted one.
 *
 *	first step	creates the state file, which describes the image before aging
 *	further steps	apply operations up to a limit, or until blocks they freed are needed
 *	last step	removes the state file
 *
 * Commits use a redo file. The journal is not used, since its sequence numbers depend on the number
 * of recoveries.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "age/run_internal.h"
#include "age/world_internal.h"
#include "base/auto.h"
#include "fastcommit/fastcommit.h"

/* Timestamps of operations begin this many seconds before opts->now, and never exceed it. */
#define SPAN (INT64_C(1) << 25)
/* Repeated operations between two reports of progress: some take a thousandth of a second. */
#define REPORT 256

/* ---- one update ---- */

int xw_age_open(struct xw_age_run *r, struct xw_edit **e, struct xw_update **u)
{
	const struct xw_edit_opts eo = {
		.redo_file = r->o->redo_file,
		.redo_dir = r->o->redo_dir,
		.offset = r->o->offset,
		.how = r->o->how == XW_COMMIT_AUTO ? XW_COMMIT_REDO : r->o->how,
		.watch = r->o->watch,
	};
	const struct xw_update_opts uo = {
		.mb = {-1, -1, -1, -1, -1, -1},
		.jobs = r->o->jobs,
	};
	int rc = xw_edit_begin(r->path, &eo, r->diag, e);

	if (rc)
		return rc;
	rc = xw_update_begin(xw_edit_dev(*e), &uo, r->diag, u);
	if (!rc && !r->o->fast && (*u)->img->sb.feature_ro_compat & XW_RO_BIGALLOC) {
		rc = xw_fail(r->diag, XW_ERR_UNSUPPORTED,
			     "%s: bigalloc images can be aged with --fast only", r->path);
		xw_update_close(*u);
	}
	if (rc)
		xw_edit_end(*e);
	return rc;
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

/* ---- start ---- */

/* The earliest known timestamp of the superblock; some tools do not set s_mkfs_time. */
static int64_t time_made(const struct xw_super *sb)
{
	const int64_t times[] = {sb->mkfs_time, sb->lastcheck, sb->wtime, sb->mtime};

	for (size_t i = 0; i < XW_ARRAY_SIZE(times); i++)
		if (times[i] > 0)
			return times[i];
	return 0;
}

static void first_state(struct xw_age_run *r, const struct xw_update *u)
{
	const struct xw_super *sb = &u->img->sb;

	r->state = (struct xw_age_state){
		.options = xw_age_options_hash(r->o),
		.base = {.blocks = sb->blocks_count,
			 .free = xw_space_free_blocks(u->space),
			 .block_size = u->img->block_size,
			 .now = r->o->now >= 0 ? r->o->now : time_made(sb)},
	};
}

/* Resume an interrupted writeback: mark the file as dirty if it was not written back. */
static int recall(struct xw_age_world *w, const char *path)
{
	struct xw_age_place p;
	const int rc = w->kernel ? xw_age_world_find(w, path, false, &p) : 1;

	if (rc || !p.ino)
		return rc < 0 ? rc : 0;
	return xw_age_linux_recall(w->kernel, p.ino);
}

/* Generate the operations of earlier steps again, without applying them. */
static int repeat(struct xw_age_run *r, struct xw_age_world *w)
{
	const uint64_t ops = r->state.counts.ops;
	struct xw_age_op op;
	int rc = 0;

	for (uint64_t i = 0; i < ops && !rc; i++) {
		const bool recalled = ops - i <= r->state.writing;
		const int more = r->src.next(r->src.state, &op);

		r->res->repeated = i;
		if (more <= 0)
			return more ? more
				    : xw_fail(r->diag, XW_ERR_INPUT,
					      "%s: the profile has fewer operations than were "
					      "applied already",
					      r->path);
		if (recalled)
			rc = recall(w, op.what == XW_AGE_RENAME ? op.to : op.path);
		if (!rc && (recalled || i % REPORT == 0))
			rc = xw_commit_check_canceled(r->o->watch, r->path, r->diag);
		if (!rc && i % REPORT == 0 && r->o->progress)
			rc = r->o->progress(r->o->arg, r->res);
	}
	return rc;
}

/* Read or prepare the state, and find where the profile continues. */
static int begin(struct xw_age_run *r, struct xw_age_world *w)
{
	xw_blk blk;
	int rc = xw_age_state_read(w, &r->state);

	if (rc && rc != XW_ERR_NOTFOUND)
		return rc;
	if (!rc && !r->o->resume)
		return xw_fail(r->diag, XW_ERR_STATE,
			       "%s: an earlier aging run was interrupted; --resume continues it",
			       r->path);
	if (rc && r->o->resume)
		return xw_fail(r->diag, XW_ERR_STATE, "%s: no interrupted aging run to resume",
			       r->path);
	if (rc) {
		first_state(r, w->u);
		rc = xw_age_state_place(w, &blk); /* before files of the run take the place */
	} else if (r->state.options != xw_age_options_hash(r->o)) {
		return xw_fail(r->diag, XW_ERR_USAGE,
			       "%s: the options differ from those of the interrupted run", r->path);
	} else {
		xw_age_state_compare(w->u, &r->state);
	}
	r->res->total = r->state.counts;
	r->res->resumed = r->state.counts.ops;
	r->begun = !rc;
	if (!rc && !r->o->fast)
		rc = xw_age_source_open(r->o, &r->state.base, r->diag, &r->src);
	if (!rc && !r->o->fast)
		rc = repeat(r, w);
	r->res->repeated = r->res->resumed;
	return rc;
}

/* ---- steps ---- */

/* Check the limits that need no measurement. */
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
	const uint64_t most = r->o->step ? r->o->step : w->kernel ? XW_AGE_STEP_LINUX : XW_AGE_STEP;
	const uint64_t skipped = r->state.counts.skipped;
	uint64_t done = 0;
	int rc = 0;

	while (done < most && !reached(r, w->u)) {
		rc = done % XW_AGE_CHECK == 0
			     ? xw_commit_check_canceled(r->o->watch, r->path, r->diag)
			     : 0;
		if (rc)
			return rc;
		if (r->state.counts.ops >= XW_AGE_OPS_MAX)
			return xw_fail(r->diag, XW_ERR_LIMIT,
				       "%s: a run has at most %" PRIu64 " operations", r->path,
				       XW_AGE_OPS_MAX);
		if (!r->have_op) {
			rc = r->src.next(r->src.state, &r->op);
			if (rc < 0)
				return rc;
			if (!rc) {
				r->state.ended = 1 + XW_AGE_END_PROFILE;
				break;
			}
			r->have_op = true;
		}
		set_time(w->u, time_of(&r->state, r->state.counts.ops));
		rc = xw_age_world_apply(w, &r->op);
		if (rc < 0)
			return rc;
		if (rc)
			break;
		r->have_op = false;
		done++;
		if (w->kernel && w->kernel->full)
			break;
	}
	/* recorded histories may refer to many missing files */
	if (r->o->profile == XW_AGE_TRACE || r->o->profile == XW_AGE_GIT)
		return 0;
	if (done >= 1024 && r->state.counts.skipped - skipped > done / 4 * 3 && !r->state.ended)
		return xw_fail(r->diag, XW_ERR_NOSPC, "%s: the image is full before %s", r->path,
			       xw_age_until_any(&r->o->until) ? "the limit of --until was reached"
							      : "the profile ended");
	return 0;
}

/* ops: number of operations of this step. */
static int write_back(struct xw_age_run *r, struct xw_age_world *w, uint64_t ops)
{
	/* write the directories first: then no blocks have to be reserved for them */
	int rc = xw_age_world_end(w);

	w->kernel->reserved = 0;
	if (!rc)
		rc = xw_age_linux_sync(w->kernel);
	r->state.counts.shortened += w->kernel->shortened;
	if (!w->kernel->dirty.n)
		r->state.writing = 0;
	else if (!r->state.writing)
		r->state.writing = ops;
	return rc;
}

/* Make the changes of a step. *blk: the block for the state, unless it is removed. */
static int change(struct xw_age_run *r, struct xw_age_world *w, xw_blk *blk)
{
	struct xw_age_dir *root;
	uint64_t before;
	/* the root is always the first open directory: a resumed run must behave alike */
	int rc = xw_age_world_root(w, &root);

	if (!rc && !r->begun)
		rc = begin(r, w);
	before = r->state.counts.ops;
	if (!rc && w->kernel)
		rc = xw_age_linux_begin(w->kernel, r->state.counts.steps);
	if (rc)
		return rc;
	if (r->finishing) {
		rc = xw_age_state_remove(w);
	} else if (!r->state.writing && !r->state.ended && !(r->resuming && xw_age_until_due(r))) {
		r->state.counts.steps++;
		rc = r->o->fast ? xw_age_fast_step(r, w) : operations(r, w);
	}
	r->resuming = false;
	if (!rc && w->kernel)
		rc = write_back(r, w, r->state.counts.ops - before);
	set_time(w->u, r->state.base.now);
	if (!rc && !r->finishing)
		rc = xw_age_state_place(w, blk);
	if (!rc)
		rc = xw_age_world_end(w);
	if (!rc && w->kernel)
		rc = xw_age_linux_end(w->kernel);
	return rc;
}

static int step(struct xw_age_run *r)
{
	auto_free struct xw_age_world *w = calloc(1, sizeof(*w));
	struct xw_edit *e;
	xw_blk blk = 0;
	int rc = w ? xw_age_open(r, &e, &w->u) : xw_fail_nomem(r->diag, "a step");

	if (rc)
		return rc;
	w->top = r->o->dir;
	w->counts = &r->state.counts;
	w->itree = &r->res->itree;
	r->kernel.u = w->u;
	r->kernel.mem = &r->state.memory;
	r->kernel.watch = r->o->watch;
	r->kernel.reserved = XW_AGE_DIRS;
	r->kernel.shortened = 0;
	if (!r->o->fast && r->o->allocator == XW_AGE_LINUX)
		w->kernel = &r->kernel;
	set_time(w->u, r->state.base.now);
	rc = change(r, w, &blk);
	xw_age_world_close(w);
	if (!rc)
		rc = xw_update_flush(w->u);
	if (!rc && !r->finishing)
		rc = xw_age_state_write(w->u, &r->state, blk);
	if (!rc)
		rc = xw_edit_commit(e, NULL);
	xw_space_stats_add(&r->res->space, w->u->space);
	r->committed |= !rc;
	r->free = xw_space_free_blocks(w->u->space);
	xw_update_close(w->u);
	xw_edit_end(e);
	r->res->total = r->state.counts;
	if (!rc && r->o->progress)
		rc = r->o->progress(r->o->arg, r->res);
	return rc;
}

/*
 * The message of a canceled commit says that the image is unchanged: replace it if steps were
 * committed.
 */
static int log_interrupted(const struct xw_age_run *r, int rc)
{
	if ((!r->committed && !r->o->resume) || !r->diag ||
	    !strstr(r->diag->text, ": interrupted; "))
		return rc;
	xw_diag_clear(r->diag);
	return xw_fail(r->diag, rc, "%s: interrupted; --resume continues", r->path);
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
	if (o->fast && o->until.no_run && o->until.no_run <= o->free)
		return xw_fail(diag, XW_ERR_USAGE,
			       "--until no-run cannot be reached with free runs of that size");
	if (o->fast && (o->until.layout || o->until.overwrites || o->until.ops || o->until.util))
		return xw_fail(diag, XW_ERR_USAGE, "--fast supports only --until no-run=SIZE");
	return 0;
}

/* Warn if geriatrix ended without convergence. */
static void warn_of_ages(const struct xw_age_run *r)
{
	if (r->o->profile == XW_AGE_GERIATRIX && r->res->reason == XW_AGE_END_PROFILE &&
	    !r->o->ops && r->res->age_distance > XW_AGE_CONVERGED)
		xw_log(r->diag, XW_LOG_WARN,
		       "%s: the ages of files are not distributed as they should be: distance "
		       "%.4f; there are too few files",
		       r->path, r->res->age_distance / (double)XW_AGE_ONE);
}

int xw_age_image(const char *path, const struct xw_age_opts *opts, struct xw_diag *diag,
		 struct xw_age_outcome *res)
{
	struct xw_age_opts o = *opts;
	struct xw_age_run r = {
		.path = path, .o = &o, .diag = diag, .res = res, .resuming = opts->resume};
	int rc;

	if (!o.dir)
		o.dir = "age";
	*res = (struct xw_age_outcome){.longest_free = UINT64_MAX};
	rc = check(&o, diag);
	while (!rc && (!r.state.ended || r.state.writing)) {
		rc = step(&r);
		if (!rc)
			rc = xw_age_until_check(&r);
	}
	r.finishing = true;
	if (!rc)
		rc = step(&r);
	if (!rc)
		rc = xw_age_until_end(&r);
	if (rc)
		rc = log_interrupted(&r, rc);
	xw_age_linux_free(&r.kernel);
	if (r.src.shares)
		r.src.shares(r.src.state, res);
	if (r.src.close)
		r.src.close(r.src.state);
	res->reason = r.stalled       ? XW_AGE_END_STALLED
		      : r.state.ended ? (enum xw_age_reason)(r.state.ended - 1)
				      : XW_AGE_END_PROFILE;
	if (!rc || res->missed)
		warn_of_ages(&r);
	return rc;
}

const char *xw_age_allocator_name(enum xw_age_allocator allocator)
{
	return allocator == XW_AGE_LINUX ? "linux" : "own";
}

const char *xw_age_reason_text(enum xw_age_reason reason)
{
	static const char *const texts[] = {
		[XW_AGE_END_PROFILE] = "profile", [XW_AGE_END_UTIL] = "util",
		[XW_AGE_END_LAYOUT] = "layout",   [XW_AGE_END_NO_RUN] = "no-run",
		[XW_AGE_END_OPS] = "ops",         [XW_AGE_END_OVERWRITES] = "overwrites",
		[XW_AGE_END_STALLED] = "stalled",
	};

	return texts[reason];
}
