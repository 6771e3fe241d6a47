/* SPDX-License-Identifier: MIT */
/* Distributions of the geriatrix profile: published ones, and files in Geriatrix's format. */
#ifndef XW_AGE_TABLES_H
#define XW_AGE_TABLES_H

#include "age/age.h"
#include "base/vec.h"

struct xw_age_row {
	uint64_t value; /* bytes; or age, any unit; or depth */
	uint32_t weight;
	uint32_t subdirs; /* of depths: directories at it */
};

struct xw_age_table {
	XW_VEC(struct xw_age_row) a; /* ascending values */
	uint64_t weight; /* of all rows; above 0 */
};

struct xw_age_tables {
	struct xw_age_table ages, sizes, depths;
};

/* From opts. XW_ERR_USAGE: no such model; XW_ERR_INPUT: a file is none. Free in any case. */
int xw_age_tables_load(const struct xw_age_opts *o, struct xw_diag *diag, struct xw_age_tables *t);
void xw_age_tables_free(struct xw_age_tables *t);
/* The row that the number 0 .. weight - 1 falls into. */
size_t xw_age_table_pick(const struct xw_age_table *t, uint64_t n);

#endif
