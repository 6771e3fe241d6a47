/* SPDX-License-Identifier: MIT */
/* What the handles that change an existing image have in common: messages, progress, one run. */
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
	/* what it is told beside the phase, counted by the run; NULL: 0 */
	const char *phase;
	const uint64_t *done, *files;
	struct xw_commit_watch watch;
	pthread_t thread; /* of the run: callbacks are called there alone */
	struct timespec began, told;
	bool ran, canceled;
	struct xw_json json;
};

void xw_handle_on_log(struct xw_handle *h, xw_log_cb *cb, void *arg);
void xw_handle_on_progress(struct xw_handle *h, xw_progress_cb *cb, void *arg);
/* Before an option is set. XW_ERR_RAN: the handle was run. */
int xw_handle_may_set(struct xw_handle *h, const char *option);
/*
 * After it: rc as it is. A failure gets a message that names option and value, whatever `text`
 * does; XW_ERR_NOTFOUND is an unknown option: XW_ERR_USAGE.
 */
int xw_handle_was_set(struct xw_handle *h, int rc, const char *option, const char *value,
		      const char *text);
/* A run begins. XW_ERR_RAN: it is not the first. */
int xw_handle_begin(struct xw_handle *h, const char *path);
/* The watch of its changes; NULL without a callback. */
const struct xw_commit_watch *xw_handle_watch(struct xw_handle *h);
/* The run or another call ends: rc as it is, with a message. */
int xw_handle_end(struct xw_handle *h, int rc, const char *path);
double xw_handle_seconds(const struct xw_handle *h); /* since the run began */

#endif
