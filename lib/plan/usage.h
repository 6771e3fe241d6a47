/* SPDX-License-Identifier: MIT */
/*
 * Filesystem and usage types: what mke2fs.conf(5), or the table that is built in, says for a list
 * of types, as parameters. What an option on the command line says is never touched.
 */
#ifndef XW_PLAN_USAGE_H
#define XW_PLAN_USAGE_H

#include "base/vec.h"
#include "plan/params.h"
#include "plan/profile.h"

struct xw_usage_type {
	const char *name; /* not terminated */
	size_t len;
	const struct xw_relation *stanza; /* NULL: nothing is said about it */
	bool by_size; /* nobody named it */
	bool named; /* by -T */
};

struct xw_usage {
	const struct xw_profile *profile;
	struct xw_profile *builtin; /* owned; the profile when the user gave none */
	XW_VEC(struct xw_usage_type) types; /* the later one wins */
};

/*
 * The types of p: -t, or its default; those of -T, else by itself one for filesystems of `bytes`
 * (0: not known, then none). XW_ERR_USAGE: a type that nobody defines.
 */
int xw_usage_open(struct xw_mkfs_params *p, uint64_t bytes, struct xw_diag *diag,
		  struct xw_usage *out);
void xw_usage_close(struct xw_usage *u);

/* "options" of all types, which stand before the user's -E. */
int xw_usage_extended(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag);
/* p->features: those of the types, then -O. */
int xw_usage_features(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag);
/*
 * Everything else that p leaves open, block size first. The inode ratio and the reserved blocks of
 * an image without SIZE are its own matter, unless -T names a type that says something about them.
 */
int xw_usage_values(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag);

/* ---- between the two files ---- */

/* The relation of the last type that has it, else of the defaults; NULL: nobody says. */
const struct xw_relation *xw_usage_find(const struct xw_usage *u, const char *tag);
/* "FILE:LINE: TAG: why"; `code`. */
int xw_usage_blame(const struct xw_usage *u, const struct xw_relation *r, int code, const char *why,
		   struct xw_diag *diag);
/* An option of the command line, from a relation, which is to blame when it fails. */
int xw_usage_set(const struct xw_usage *u, const struct xw_relation *r, struct xw_mkfs_params *p,
		 enum xw_mkfs_option opt, struct xw_diag *diag);

#endif
