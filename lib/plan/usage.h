/* SPDX-License-Identifier: MIT */
/*
 * Filesystem and usage types: the parameters that mke2fs.conf(5), or the built-in table, defines
 * for a list of types. Options given on the command line are never overridden.
 */
#ifndef XW_PLAN_USAGE_H
#define XW_PLAN_USAGE_H

#include "base/vec.h"
#include "plan/params.h"
#include "plan/profile.h"

struct xw_usage_type {
	const char *name; /* not terminated */
	size_t len;
	const struct xw_relation *stanza; /* NULL: it has no stanza */
	bool by_size; /* selected by size, not named by the user */
	bool named; /* named with -T */
};

struct xw_usage {
	const struct xw_profile *profile;
	struct xw_profile *builtin; /* owned; used when the user gave no profile */
	XW_VEC(struct xw_usage_type) types; /* later ones take precedence */
};

/*
 * Determine the types of p: -t, or its default; those of -T, else one selected for filesystems of
 * `bytes` (0: unknown, then none). XW_ERR_USAGE: an undefined type.
 */
int xw_usage_open(struct xw_mkfs_params *p, uint64_t bytes, struct xw_diag *diag,
		  struct xw_usage *out);
void xw_usage_close(struct xw_usage *u);

/* The "options" of all types, which come before the user's -E. */
int xw_usage_extended(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag);
/* p->features: those of the types, then -O. */
int xw_usage_features(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag);
/*
 * Everything else that p leaves open, block size first. The inode ratio and the reserved blocks of
 * an image without SIZE are not affected, unless a type named with -T sets them.
 */
int xw_usage_values(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag);

/* ---- between the two files ---- */

/* The relation of the last type that has it, else of the defaults; NULL: none. */
const struct xw_relation *xw_usage_find(const struct xw_usage *u, const char *tag);
/* Record the message "FILE:LINE: TAG: why" and return `code`. */
int xw_usage_blame(const struct xw_usage *u, const struct xw_relation *r, int code, const char *why,
		   struct xw_diag *diag);
/* A relation that is yes or no; `missing` where there is none. */
int xw_usage_bool(const struct xw_usage *u, const char *tag, int missing, int *out,
		  struct xw_diag *diag);
/* usage_hugefiles.c */
int xw_usage_hugefiles(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag);
/* Set a command line option from a relation, which the message names on failure. */
int xw_usage_set(const struct xw_usage *u, const struct xw_relation *r, struct xw_mkfs_params *p,
		 enum xw_mkfs_option opt, struct xw_diag *diag);

#endif
