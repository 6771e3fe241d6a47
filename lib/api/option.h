/* SPDX-License-Identifier: MIT */
/* Values of options that several handles have. */
#ifndef XW_API_OPTION_H
#define XW_API_OPTION_H

#include "base/err.h"
#include "base/types.h"

/* -E offset=BYTES, of a handle that has no other extended option. */
int xw_option_offset(const char *value, uint64_t *offset, struct xw_diag *diag);
/* Replace *where, which is owned, by a copy of value; NULL: the value is missing. */
int xw_option_text(const char *option, const char *value, char **where, struct xw_diag *diag);

/*
 * Of an option in flags, a list that NULL ends, a value is refused: "-F" "0" would set -F, which is
 * not what it reads like.
 */
int xw_option_alone(const char *const *flags, const char *option, const char *value,
		    struct xw_diag *diag);

#endif
