// SPDX-License-Identifier: MIT
/* The public age handle: options by name, one run, and any number of measurements. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "age/options.h"
#include "api/handle.h"
#include "api/option.h"

_Static_assert(XW_AGE_CLASSES == XW_AGE_ORDERS && XW_AGE_CLASSES >= XW_SPACE_ORDERS,
	       "size classes");

struct xw_age {
	struct xw_handle h;
	struct xw_age_options o;
	char *path; /* path of the image that the result describes; owned */
	bool known; /* the result is valid */
	bool measured; /* the result is that of xw_age_measure() */
	struct xw_age_outcome outcome;
	struct xw_age_measure before, after;
	struct xw_age_result result;
};

int xw_age_new(struct xw_age **out)
{
	struct xw_age *a = out ? calloc(1, sizeof(*a)) : NULL;

	if (!out)
		return XW_ERR_USAGE;
	*out = a;
	if (!a)
		return XW_ERR_NOMEM;
	a->h.phase = "aging";
	a->h.done = &a->outcome.total.written;
	a->h.files = &a->outcome.total.ops;
	a->result.ended_by = "";
	xw_age_options_init(&a->o, &a->h.diag);
	return 0;
}

void xw_age_free(struct xw_age *a)
{
	if (!a)
		return;
	xw_age_measure_free(&a->before);
	xw_age_measure_free(&a->after);
	xw_age_options_free(&a->o);
	xw_json_free(&a->h.json);
	free(a->path);
	free(a);
}

int xw_age_set(struct xw_age *a, const char *option, const char *value)
{
	struct xw_diag diag = {0};
	int rc = xw_option_given(a ? &a->h.diag : NULL, option, "option");

	if (!rc)
		rc = xw_option_unused(a->h.ran, option, &a->h.diag);
	if (rc)
		return rc;
	a->o.diag = &diag;
	rc = xw_age_option(&a->o, option, value);
	a->o.diag = &a->h.diag;
	return xw_handle_was_set(&a->h, rc, option, value, diag.text);
}

void xw_age_on_log(struct xw_age *a, xw_log_cb *cb, void *arg)
{
	xw_handle_on_log(a ? &a->h : NULL, cb, arg);
}

void xw_age_on_progress(struct xw_age *a, xw_progress_cb *cb, void *arg)
{
	xw_handle_on_progress(a ? &a->h : NULL, cb, arg);
}

static void describe(struct xw_age_fragmentation *to, const struct xw_age_measure *m)
{
	*to = (struct xw_age_fragmentation){
		.block_size = m->block_size,
		.blocks = m->blocks,
		.used_blocks = m->used,
		.longest_free_run_blocks = m->longest_free,
		.files = m->files,
		.extents = m->extents,
		.layout_score = xw_age_layout(m) / (double)XW_AGE_ONE,
		.dynamic_layout_score = xw_age_walk_layout(m) / (double)XW_AGE_ONE,
		.directories_with_index = m->indexes,
		.directories_with_itree = m->itrees,
	};
	memcpy(to->free_runs, m->free_runs, sizeof(m->free_runs));
	memcpy(to->free_blocks, m->free_blocks, sizeof(m->free_blocks));
	memcpy(to->free_buddies, m->buddies, sizeof(m->buddies));
	memcpy(to->files_by_extents, m->files_of, sizeof(m->files_of));
}

static int measure(struct xw_age *a, const char *path, struct xw_age_measure *m,
		   struct xw_age_fragmentation *to)
{
	int rc;

	xw_age_measure_free(m);
	memset(m, 0, sizeof(*m));
	rc = xw_age_measure_image(path, &a->o.opts, &a->h.diag, m);
	if (!rc)
		describe(to, m);
	return rc;
}

/* Reset the result, which will describe this image. */
static int set_path(struct xw_age *a, const char *path)
{
	a->result = (struct xw_age_result){.ended_by = ""};
	a->known = false;
	free(a->path);
	a->path = strdup(path);
	return a->path ? 0 : xw_fail_nomem(&a->h.diag, "path");
}

static int age(struct xw_age *a, const char *path)
{
	const struct xw_age_outcome *o = &a->outcome;
	struct xw_age_result *r = &a->result;
	int rc;

	a->o.opts.watch = xw_handle_watch(&a->h);
	rc = xw_age_image(path, &a->o.opts, &a->h.diag, &a->outcome);
	r->ended_by = xw_age_reason_text(o->reason);
	r->missed = o->missed;
	r->operations = o->total.ops;
	r->operations_resumed = o->resumed;
	r->created = o->total.created;
	r->removed = o->total.removed;
	r->changed = o->total.changed;
	r->skipped = o->total.skipped;
	r->shortened = o->total.shortened;
	r->bytes_written = o->total.written;
	r->steps = o->total.steps;
	return rc;
}

int xw_age_run(struct xw_age *a, const char *path)
{
	int missed = 0, rc = xw_handle_begin(a ? &a->h : NULL, path);

	if (rc)
		return rc;
	a->measured = false;
	rc = xw_age_options_check(&a->o, false);
	if (!rc)
		rc = set_path(a, path);
	if (!rc)
		rc = measure(a, path, &a->before, &a->result.before);
	if (!rc)
		rc = age(a, path);
	/* measure the image nevertheless: the result has the values reached */
	if (a->outcome.missed) {
		missed = rc;
		rc = 0;
	}
	if (!rc)
		rc = measure(a, path, &a->after, &a->result.after);
	a->known = !rc;
	a->result.seconds = xw_handle_seconds(&a->h);
	return xw_handle_end(&a->h, rc ? rc : missed, path);
}

int xw_age_measure(struct xw_age *a, const char *path)
{
	int rc = xw_option_given(a ? &a->h.diag : NULL, path, "path");

	if (rc)
		return rc;
	clock_gettime(CLOCK_MONOTONIC, &a->h.began);
	a->measured = true;
	rc = xw_age_options_check(&a->o, true);
	if (!rc)
		rc = set_path(a, path);
	if (!rc)
		rc = measure(a, path, &a->after, &a->result.after);
	a->known = !rc;
	a->result.seconds = xw_handle_seconds(&a->h);
	return xw_handle_end(&a->h, rc, path);
}

const struct xw_age_result *xw_age_result(const struct xw_age *a)
{
	return a ? &a->result : NULL;
}

const char *xw_age_json(struct xw_age *a)
{
	struct xw_age_told told;

	if (!a || !a->known)
		return NULL;
	told = (struct xw_age_told){
		.image = a->path,
		.opts = &a->o.opts,
		.run = a->measured ? NULL : &a->outcome,
		.before = a->measured ? NULL : &a->before,
		.after = &a->after,
	};
	xw_json_free(&a->h.json);
	xw_age_report_json(&told, &a->h.json);
	return xw_json_text(&a->h.json);
}

const char *xw_age_error(const struct xw_age *a)
{
	return a ? a->h.diag.text : XW_NO_HANDLE;
}
