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
 * Determine the types of p: -t or its default; those of -T, else one selected by the size `bytes`
 * (0: unknown, then none). XW_ERR_USAGE: an undefined type. Close it in any case.
 */
int xw_usage_open(struct xw_mkfs_params *p, uint64_t bytes, struct xw_diag *diag,
		  struct xw_usage *out);
void xw_usage_close(struct xw_usage *u);

/* Apply the "options" of all types, which the user's -E overrides. */
int xw_usage_extended(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag);
/* Compute p->features from the types and -O. */
int xw_usage_features(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag);
/*
 * Set all other parameters that the user did not set, block size first. Without SIZE, the inode
 * ratio and the reserved blocks are set only from types named with -T.
 */
int xw_usage_values(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag);

/* ---- private to usage*.c ---- */

/* The relation `tag` of the last type that has it, else of [defaults]; NULL: none. */
const struct xw_relation *xw_usage_find(const struct xw_usage *u, const char *tag);
/* Record the message "FILE:LINE: TAG: why" and return `code`. */
int xw_usage_blame(const struct xw_usage *u, const struct xw_relation *r, int code, const char *why,
		   struct xw_diag *diag);
/* Set *out to a boolean relation, or to `missing` without it. */
int xw_usage_bool(const struct xw_usage *u, const char *tag, int missing, int *out,
		  struct xw_diag *diag);
/* usage_hugefiles.c */
int xw_usage_hugefiles(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag);
/* Set a command line option from a relation; a message names the relation. */
int xw_usage_set(const struct xw_usage *u, const struct xw_relation *r, struct xw_mkfs_params *p,
		 enum xw_mkfs_option opt, struct xw_diag *diag);

#endif
