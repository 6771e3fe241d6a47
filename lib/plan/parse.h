/* SPDX-License-Identifier: MIT */
/*
 * Private to plan/: number parsing that all option setters share, and the setters kept in files of
 * their own.
 */
#ifndef XW_PLAN_PARSE_H
#define XW_PLAN_PARSE_H

#include "plan/params.h"

/* Plain decimal, no sign, no blanks. XW_ERR_USAGE, without a line. */
int xw_parse_u64(const char *text, uint64_t *out);
/* As xw_parse_u64, with bounds and a line: "NAME VALUE: must be MIN to MAX". */
int xw_parse_ranged(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out,
		    struct xw_diag *diag);
/* A decimal number with fraction; no exponent, no locale. XW_ERR_USAGE, without a line. */
int xw_parse_decimal(const char *text, size_t len, double *out);
/* Text ends in s k K m M g G t T p P? */
bool xw_size_has_suffix(const char *text);

int xw_params_set_extended(struct xw_mkfs_params *p, const char *list, struct xw_diag *diag);
int xw_params_set_journal(struct xw_mkfs_params *p, const char *list, struct xw_diag *diag);

#endif
