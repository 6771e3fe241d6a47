/* SPDX-License-Identifier: MIT */
/* Distributions of the profile geriatrix: built-in models, and files in Geriatrix's format. */
#ifndef XW_AGE_TABLES_H
#define XW_AGE_TABLES_H

#include "age/age.h"
#include "base/vec.h"

struct xw_age_row {
	uint64_t value; /* size in bytes, age in any unit, or depth */
	uint32_t weight;
	uint32_t subdirs; /* for depths: number of directories */
};

struct xw_age_table {
	XW_VEC(struct xw_age_row) a; /* sorted by value */
	uint64_t weight; /* sum of all rows; above 0 */
};

struct xw_age_tables {
	struct xw_age_table ages, sizes, depths;
};

/*
 * Load the distributions that the options name. XW_ERR_USAGE: unknown model; XW_ERR_INPUT: an
 * invalid file. *t must be freed, also after a failure.
 */
int xw_age_tables_load(const struct xw_age_opts *o, struct xw_diag *diag, struct xw_age_tables *t);
void xw_age_tables_free(struct xw_age_tables *t);
/* The row that contains n, a number in [0, weight). */
size_t xw_age_table_pick(const struct xw_age_table *t, uint64_t n);

#endif
