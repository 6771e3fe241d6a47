/* SPDX-License-Identifier: MIT */
/* Log callbacks of all handles, and the interval of progress callbacks. */
#ifndef XW_API_TELL_H
#define XW_API_TELL_H

#include <time.h>

#include "api/xw.h"
#include "base/err.h"
#include "base/json.h"

#define XW_TELL_EACH 0.1 /* minimum seconds between two calls of a progress callback */

struct xw_log_to {
	xw_log_cb *cb;
	void *arg;
};

/* Pass the log lines of *diag to cb; NULL: drop them. *to must live as long as *diag. */
void xw_forward_log(struct xw_diag *diag, struct xw_log_to *to, xw_log_cb *cb, void *arg);
/* Seconds since *t, a time of CLOCK_MONOTONIC. */
double xw_seconds_since(const struct timespec *t);
/* Write the member "uuid". */
void xw_put_uuid(struct xw_json *j, const uint8_t uuid[16]);

#endif
