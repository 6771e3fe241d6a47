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

#endif
