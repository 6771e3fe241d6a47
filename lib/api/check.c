/* SPDX-License-Identifier: MIT */
/* The public check handle: options by name, a callback for findings, and a result. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/option.h"
#include "api/tell.h"
#include "api/xw.h"
#include "base/vec.h"
#include "check/changes.h"
#include "check/check.h"

_Static_assert(XW_CHECK_REPAIRED == FSCK_EXIT_FIXED && XW_CHECK_REBOOT == FSCK_EXIT_REBOOT &&
		       XW_CHECK_LEFT == FSCK_EXIT_LEFT && XW_CHECK_FAILED == FSCK_EXIT_ERROR &&
		       XW_CHECK_USAGE == FSCK_EXIT_USAGE && XW_CHECK_CANCELED == FSCK_EXIT_CANCELED,
	       "status");
_Static_assert(XW_FINDING_NOTE == (int)FSCK_NOTE && XW_FINDING_MINOR == (int)FSCK_MINOR &&
		       XW_FINDING_ERROR == (int)FSCK_ERROR && XW_FINDING_FATAL == (int)FSCK_FATAL,
	       "severities");

struct xw_check {
	struct xw_diag diag;
	struct fsck_opts opts; /* its strings are owned by values */
	XW_VEC(char *) values; /* owned */
	struct xw_log_to log;
	xw_progress_cb *progress;
	void *progress_arg;
	xw_finding_cb *finding;
	void *finding_arg;
	struct xw_check_result result;
	XW_VEC(struct xw_check_change) changes; /* their strings are owned */
	struct xw_json json;
};

/* One run. */
struct run {
	struct xw_check *c;
	pthread_t thread; /* of xw_check_run(): only this thread calls callbacks */
	struct timespec began, ticked;
	struct xw_progress last;
	bool canceled; /* read by other threads with atomic loads */
};

static void free_changes(struct xw_check *c)
{
	for (size_t i = 0; i < c->changes.n; i++) {
		free((char *)c->changes.v[i].path);
		free((char *)c->changes.v[i].from);
		free((char *)c->changes.v[i].other_path);
		free((char *)c->changes.v[i].text);
	}
	xw_vec_free(&c->changes);
}

int xw_check_new(struct xw_check **out)
{
	if (!out)
		return XW_ERR_USAGE;
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : XW_ERR_NOMEM;
}

void xw_check_free(struct xw_check *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->values.n; i++)
		free(c->values.v[i]);
	xw_vec_free(&c->values);
	free_changes(c);
	xw_json_free(&c->json);
	free(c);
}

/* Add the option's name to a message without it: the tool's messages equal e2fsck's. */
static int name_option(struct xw_diag *diag, const char *option, const char *value)
{
	const struct xw_diag told = *diag;

	if (!strstr(told.text, option)) {
		xw_diag_clear(diag);
		xw_fail(diag, told.code, "%s %s: %s", option, value ? value : "", told.text);
	}
	return told.code;
}

int xw_check_set(struct xw_check *c, const char *option, const char *value)
{
	int status = xw_option_given(c ? &c->diag : NULL, option, "option");
	char *own;

	if (status)
		return status;
	own = value ? strdup(value) : NULL;
	if (value && (!own || xw_vec_push(&c->values, own))) {
		free(own);
		return xw_fail_nomem(&c->diag, "option");
	}
	status = xw_fsck_set(&c->opts, option, own, &c->diag);
	if (status == XW_ERR_NOTFOUND)
		return xw_fail(&c->diag, XW_ERR_USAGE, "unknown option %s", option);
	return status ? name_option(&c->diag, option, value) : 0;
}

void xw_check_on_log(struct xw_check *c, xw_log_cb *cb, void *arg)
{
	if (c)
		xw_forward_log(&c->diag, &c->log, cb, arg);
}

void xw_check_on_progress(struct xw_check *c, xw_progress_cb *cb, void *arg)
{
	if (!c)
		return;
	c->progress = cb;
	c->progress_arg = arg;
}

void xw_check_on_finding(struct xw_check *c, xw_finding_cb *cb, void *arg)
{
	if (!c)
		return;
	c->finding = cb;
	c->finding_arg = arg;
}

/* ---- callbacks of the check ---- */

/*
 * Report progress if the last report is old enough or with `due`. Returns true if the run is
 * canceled.
 */
static bool tick(struct run *r, bool due)
{
	if (r->canceled || !r->c->progress || (!due && xw_seconds_since(&r->ticked) < XW_TELL_EACH))
		return r->canceled;
	clock_gettime(CLOCK_MONOTONIC, &r->ticked);
	if (r->c->progress(r->c->progress_arg, &r->last))
		__atomic_store_n(&r->canceled, true, __ATOMIC_RELAXED);
	return r->canceled;
}

static bool is_ended(void *arg)
{
	struct run *r = arg;

	if (pthread_equal(pthread_self(), r->thread))
		return tick(r, false);
	return __atomic_load_n(&r->canceled, __ATOMIC_RELAXED);
}

static bool forward_progress(void *arg, const struct fsck *f, uint64_t done, uint64_t of)
{
	static const char *const phases[FSCK_PASSES + 1] = {"bad blocks", "pass 1", "pass 2",
							    "pass 3",     "pass 4", "pass 5"};
	struct run *r = arg;
	const double part = of ? (double)XW_MIN(done, of) / (double)of : 1;

	r->last.phase = phases[f->round.pass];
	r->last.total = 1000;
	r->last.done = f->round.number ? 1000 : (uint64_t)(xw_fsck_share(f->round.pass, part) * 10);
	return tick(r, !done);
}

static int64_t number_of(const struct fsck_about *a, char letter)
{
	uint64_t n;

	return xw_fsck_number(a, letter, &n) && n <= INT64_MAX ? (int64_t)n : -1;
}

static void forward_finding(void *arg, const struct fsck *f, const struct fsck_told *t)
{
	struct run *r = arg;
	const struct fsck_about *a = t->about;
	char *const text = r->c->finding ? xw_fsck_text_made(a) : NULL;
	const struct xw_finding finding = {
		.id = t->row->name,
		.severity = (enum xw_finding_severity)t->row->severity,
		.text = text ? text : t->row->name,
		.inode = number_of(a, 'i'),
		.directory = number_of(a, 'd'),
		.group = number_of(a, 'g'),
		.block = number_of(a, 'b'),
		.logical_block = number_of(a, 'l'),
		.repaired = t->repaired,
		.follows = t->follows,
		.round = f->round.number + 1,
		.path = a->path,
		.directory_path = a->dir_path,
		.from = a->from,
		.count = xw_fsck_count(a),
	};

	if (r->c->finding)
		r->c->finding(r->c->finding_arg, &finding);
	free(text);
}

static void forward_line(void *arg, const struct fsck *f, enum fsck_line kind, const char *line)
{
	struct run *r = arg;

	(void)f;
	xw_log(&r->c->diag, kind == FSCK_LINE_WANTED ? XW_LOG_NOTE : XW_LOG_INFO, "%s", line);
}

/* ---- a run ---- */

static void copy_result(struct run *r, const struct fsck *f, const struct fsck_outcome *o)
{
	const struct fsck_tally t = xw_fsck_tally(f, o);
	const struct fsck_summary *s = &o->summary;
	const struct fsck_counts *n = &s->counts;

	r->c->result = (struct xw_check_result){
		.status = o->status,
		.clean = t.clean,
		.modified = t.modified,
		.reboot = f->ses.findings.reboot,
		.skipped = o->skipped,
		.pending = o->pending,
		.completed = o->completed,
		.found = t.found,
		.repaired = t.repaired,
		.left = t.left,
		.later = t.later,
		.notes = t.notes,
		.rounds = t.rounds,
		.block_size = s->block_size,
		.blocks = s->blocks_count,
		.used_blocks = s->blocks,
		.inodes = s->inodes_count,
		.used_inodes = s->inodes,
		.regular_files = n->regular,
		.directories = n->dirs,
		.symlinks = n->symlinks,
		.specials = n->fifos + n->sockets + n->char_devices + n->block_devices,
		.hardlinks = n->links,
		.fragmented_files = n->fragmented,
		.fragmented_directories = n->fragmented_dirs,
		.warnings = f->ses.diag.warnings,
		.seconds = xw_seconds_since(&r->began),
	};
}

static char *copy_of(const char *s)
{
	return s ? strdup(s) : NULL;
}

/* Without memory the rest of the list is missing: the result of the run is what it is. */
static void copy_changes(struct xw_check *c, const struct fsck *f, const struct fsck_outcome *o)
{
	const struct fsck_changes *const all = xw_fsck_changes(f);

	for (size_t i = 0; xw_fsck_tells_changes(f, o) && i < all->v.n; i++) {
		const struct fsck_change *const from = &all->v.v[i];

		if (from->undone)
			continue;
		if (xw_vec_reserve(&c->changes, c->changes.n + 1))
			break;
		c->changes.v[c->changes.n++] = (struct xw_check_change){
			.kind = xw_fsck_change_name(from->kind),
			.inode = from->ino ? (int64_t)from->ino : -1,
			.other_inode = from->other ? (int64_t)from->other : -1,
			.path = copy_of(from->path),
			.from = copy_of(from->from),
			.other_path = copy_of(from->other_path),
			.text = copy_of(from->text),
		};
	}
	c->result.changes = c->changes.v;
	c->result.n_changes = c->changes.n;
}

/* The return code of a run. Findings are not failures. */
static int judge(struct xw_check *c, const struct fsck *f, const struct fsck_outcome *o)
{
	const char *const why = xw_fsck_why(f, o);

	xw_diag_clear(&c->diag);
	if (f->ses.findings.canceled)
		return xw_fail(&c->diag, XW_ERR_CANCELED, "%s: interrupted", f->opts.image);
	if (!o->rc || f->ses.findings.ended)
		return 0;
	return xw_fail(&c->diag, o->rc, "%s", why);
}

int xw_check_run(struct xw_check *c, const char *path)
{
	static const struct fsck_reporter reporter = {
		.finding = forward_finding,
		.progress = forward_progress,
		.line = forward_line,
	};
	struct run r = {.c = c, .thread = pthread_self(), .last = {.phase = "open"}};
	const struct xw_commit_watch watch = {.ended = is_ended, .arg = &r};
	struct fsck f = {.ses.watch = &watch, .ses.to = &reporter, .ses.to_arg = &r};
	struct fsck_outcome o = {0};
	int rc = xw_option_given(c ? &c->diag : NULL, path, "path");

	if (rc)
		return rc;
	f.opts = c->opts;
	clock_gettime(CLOCK_MONOTONIC, &r.began);
	r.ticked = r.began;
	xw_json_free(&c->json);
	free_changes(c);
	xw_diag_clear(&c->diag);
	c->diag.warnings = 0;
	f.ses.diag = c->diag;
	f.opts.image = path;
	f.opts.all_told = true;
	if (f.opts.mode == FSCK_ASK) /* there is no terminal to ask questions */
		f.opts.mode = FSCK_NO;
	o.status = xw_fsck_check_options(&f.opts, &f.ses.diag);
	if (!o.status)
		o.status = xw_fsck_check_undo(&f.opts, &f.ses.diag);
	if (o.status)
		o.rc = f.ses.diag.code;
	else
		xw_fsck_check(&f, &o);
	copy_result(&r, &f, &o);
	copy_changes(c, &f, &o);
	xw_fsck_json(&f, &o, &c->json);
	rc = judge(c, &f, &o);
	xw_fsck_end(&f);
	return rc;
}

const struct xw_check_result *xw_check_result(const struct xw_check *c)
{
	return c ? &c->result : NULL;
}

const char *xw_check_json(struct xw_check *c)
{
	return c && c->json.buf ? xw_json_text(&c->json) : NULL;
}

const char *xw_check_error(const struct xw_check *c)
{
	return c ? c->diag.text : XW_NO_HANDLE;
}
