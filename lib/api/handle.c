// SPDX-License-Identifier: MIT
#include "config.h"

#include <string.h>

#include "api/handle.h"
#include "api/option.h"

#define SAME(code) _Static_assert(XW_E_##code == XW_ERR_##code, #code)
SAME(NOMEM);
SAME(USAGE);
SAME(IO);
SAME(NOSPC);
SAME(NOINODES);
SAME(HOSTFULL);
SAME(CORRUPT);
SAME(CHECKSUM);
SAME(UNSUPPORTED);
SAME(INPUT);
SAME(TRUNCATED);
SAME(EXISTS);
SAME(LIMIT);
SAME(NOTFOUND);
SAME(STATE);
SAME(BUSY);
SAME(CANCELED);
SAME(RAN);
SAME(MISSED);

void xw_handle_on_log(struct xw_handle *h, xw_log_cb *cb, void *arg)
{
	if (h)
		xw_forward_log(&h->diag, &h->log, cb, arg);
}

void xw_handle_on_progress(struct xw_handle *h, xw_progress_cb *cb, void *arg)
{
	if (!h)
		return;
	h->progress = cb;
	h->progress_arg = arg;
}

int xw_handle_was_set(struct xw_handle *h, int rc, const char *option, const char *value,
		      const char *text)
{
	if (!rc)
		return 0;
	if (rc == XW_ERR_NOTFOUND)
		return xw_fail(&h->diag, XW_ERR_USAGE, "unknown option %s", option);
	if (!strncmp(text, option, strlen(option)))
		return xw_fail(&h->diag, rc, "%s", text);
	return xw_fail(&h->diag, rc, "%s %s: %s", option, value ? value : "", text);
}

/*
 * Is the run canceled? Called by all threads of a run, for the last time before the commit point.
 */
static bool ended(void *arg)
{
	struct xw_handle *h = arg;

	/* only this thread calls callbacks and updates the counts */
	if (pthread_equal(pthread_self(), h->thread) &&
	    xw_seconds_since(&h->told) >= XW_TELL_EACH) {
		const struct xw_progress p = {
			.phase = h->phase,
			.done = h->done ? *h->done : 0,
			.files = h->files ? *h->files : 0,
		};

		clock_gettime(CLOCK_MONOTONIC, &h->told);
		if (h->progress(h->progress_arg, &p))
			__atomic_store_n(&h->canceled, true, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&h->canceled, __ATOMIC_RELAXED);
}

int xw_handle_begin(struct xw_handle *h, const char *path)
{
	int rc = xw_option_given(h ? &h->diag : NULL, path, "path");

	if (!rc)
		rc = xw_option_unused(h->ran, path, &h->diag);
	if (rc)
		return rc;
	h->ran = true;
	h->thread = pthread_self();
	clock_gettime(CLOCK_MONOTONIC, &h->began);
	return 0;
}

const struct xw_commit_watch *xw_handle_watch(struct xw_handle *h)
{
	h->watch = (struct xw_commit_watch){.ended = ended, .arg = h};
	return h->progress ? &h->watch : NULL;
}

int xw_handle_end(struct xw_handle *h, int rc, const char *path)
{
	if (rc && !h->diag.code)
		xw_fail(&h->diag, rc, "%s: %s", path, xw_err_text(rc));
	if (!rc) /* a failure that the run recovered from */
		xw_diag_clear(&h->diag);
	xw_fail_repair(&h->diag);
	return rc;
}

double xw_handle_seconds(const struct xw_handle *h)
{
	return xw_seconds_since(&h->began);
}
