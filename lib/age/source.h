/* SPDX-License-Identifier: MIT */
/*
 * Streams of operations. A stream depends only on the options and on the image before aging, never
 * on the results of operations: so a resumed run finds its position by generating the same number
 * of operations again without applying them.
 */
#ifndef XW_AGE_SOURCE_H
#define XW_AGE_SOURCE_H

#include <stdio.h>

#include "age/age.h"

enum xw_age_what {
	XW_AGE_CREATE, /* create a file of `bytes` and missing parents */
	XW_AGE_APPEND, /* append `bytes` */
	XW_AGE_TRUNCATE, /* truncate to `bytes` */
	XW_AGE_OVERWRITE, /* truncate to 0 and write `bytes` */
	XW_AGE_DELETE,
	XW_AGE_RENAME, /* rename to `to`, replacing a file */
	XW_AGE_MKDIR,
	XW_AGE_RMDIR,
	XW_AGE_SETXATTR, /* set attribute `to` to `value` */
};

#define XW_AGE_DEPTH_MAX 256 /* maximum number of components in a path */

/*
 * Is it a valid relative path? It has at most XW_AGE_DEPTH_MAX components of 1 to 255 bytes. "."
 * and ".." are invalid: open directories are identified by their path.
 */
bool xw_age_path_ok(const char *path);

/* Strings belong to the source and are valid until the next operation. */
struct xw_age_op {
	enum xw_age_what what;
	const char *path, *to; /* relative to opts->dir; no leading slash */
	const char *value;
	uint64_t bytes;
};

/* Is a limit set? Then profiles do not end by themselves. */
static inline bool xw_age_until_any(const struct xw_age_until *u)
{
	return u->util || u->layout || u->no_run || u->ops || u->overwrites;
}

struct xw_age_source {
	void *state;
	/* 1: *op is the next operation; 0: end; or a negative code. */
	int (*next)(void *state, struct xw_age_op *op);
	/* Requested and reached distributions; may be NULL. */
	void (*shares)(const void *state, struct xw_age_outcome *res);
	void (*close)(void *state);
};

/* Close it with src->close(src->state) after success. */
int xw_age_source_open(const struct xw_age_opts *o, const struct xw_age_base *base,
		       struct xw_diag *diag, struct xw_age_source *src);
/* Open a file for reading. XW_ERR_NOTFOUND, XW_ERR_IO. */
int xw_age_fopen(const char *path, struct xw_diag *diag, FILE **f);
int xw_age_pazdera(const struct xw_age_opts *o, struct xw_diag *diag, struct xw_age_source *src);
int xw_age_alternate(const struct xw_age_opts *o, const struct xw_age_base *base,
		     struct xw_diag *diag, struct xw_age_source *src);
int xw_age_geriatrix(const struct xw_age_opts *o, const struct xw_age_base *base,
		     struct xw_diag *diag, struct xw_age_source *src);
int xw_age_git(const struct xw_age_opts *o, struct xw_diag *diag, struct xw_age_source *src);
int xw_age_trace(const struct xw_age_opts *o, struct xw_diag *diag, struct xw_age_source *src);

/* ---- random numbers: integers only, so that they are the same on every machine ---- */

struct xw_age_rng {
	uint64_t state;
};

/* splitmix64 */
static inline uint64_t xw_age_random(struct xw_age_rng *r)
{
	uint64_t z = (r->state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

/* A number in [0, n); n > 0. The bias is below n / 2^64. */
static inline uint64_t xw_age_below(struct xw_age_rng *r, uint64_t n)
{
	return (uint64_t)((unsigned __int128)xw_age_random(r) * n >> 64);
}

/* A number in [min, max]; each power of two has the same probability. */
uint64_t xw_age_log_uniform(struct xw_age_rng *r, uint64_t min, uint64_t max);

#endif
