/* SPDX-License-Identifier: MIT */
/* Common part of the handles that change an existing image: messages, progress, a single run. */
#ifndef XW_API_HANDLE_H
#define XW_API_HANDLE_H

#include <pthread.h>
#include <time.h>

#include "api/tell.h"
#include "api/xw.h"
#include "base/json.h"
#include "commit/commit.h"

struct xw_handle {
	struct xw_diag diag;
	struct xw_log_to log;
	xw_progress_cb *progress;
	void *progress_arg;
	/* counters of the run that are passed with the phase; NULL: 0 */
	const char *phase;
	const uint64_t *done, *files;
	struct xw_commit_watch watch;
	pthread_t thread; /* thread of the run, the only one that calls callbacks */
	struct timespec began, told;
	bool ran, canceled;
	struct xw_json json;
};

/* h may be NULL. */
void xw_handle_on_log(struct xw_handle *h, xw_log_cb *cb, void *arg);
void xw_handle_on_progress(struct xw_handle *h, xw_progress_cb *cb, void *arg);
/*
 * Called after an option was set with result rc and message `text`. Returns rc, with a message that
 * names option and value; XW_ERR_NOTFOUND, an unknown option, becomes XW_ERR_USAGE.
 */
int xw_handle_was_set(struct xw_handle *h, int rc, const char *option, const char *value,
		      const char *text);
/* Begin a run. XW_ERR_USAGE: h or path is NULL. XW_ERR_RAN: it is not the first run. */
int xw_handle_begin(struct xw_handle *h, const char *path);
/* The watch that lets the progress callback cancel a change; NULL without a callback. */
const struct xw_commit_watch *xw_handle_watch(struct xw_handle *h);
/* End a run or measurement with result rc. Returns rc, with a message. */
int xw_handle_end(struct xw_handle *h, int rc, const char *path);
double xw_handle_seconds(const struct xw_handle *h); /* since xw_handle_begin() */

#endif
