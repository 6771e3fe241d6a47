/* SPDX-License-Identifier: MIT */
/* Options that several handles have. */
#ifndef XW_API_OPTION_H
#define XW_API_OPTION_H

#include "base/err.h"
#include "base/types.h"

/* Parse -E offset=BYTES, for handles without other extended options. */
int xw_option_offset(const char *value, uint64_t *offset, struct xw_diag *diag);
/* Replace the owned string *where by a copy of value. NULL is a missing value. */
int xw_option_text(const char *option, const char *value, char **where, struct xw_diag *diag);

/*
 * Fail if `option` is in flags, a NULL-terminated list of options without a value, and has one:
 * "-F" "0" must not set -F.
 */
int xw_option_alone(const char *const *flags, const char *option, const char *value,
		    struct xw_diag *diag);

/* Boolean options. Returns true if `option` is one of the n flags, which is then set. */
struct xw_option_flag {
	const char *name;
	bool *flag;
};
bool xw_option_flag(const struct xw_option_flag *flags, size_t n, const char *option);

/*
 * Called first in each public function: clears *diag. XW_ERR_USAGE: `given` is false, that is, the
 * argument called `what` is NULL; or diag is NULL because the caller passed no handle.
 */
int xw_option_given(struct xw_diag *diag, bool given, const char *what);
/* What xw_*_error() returns without a handle. */
#define XW_NO_HANDLE "there is no handle"

/*
 * Called before an option, a source or a run: clears *diag. XW_ERR_RAN: the handle, which runs
 * once, was run; `what` is named in the message.
 */
int xw_option_unused(bool ran, const char *what, struct xw_diag *diag);

#endif
