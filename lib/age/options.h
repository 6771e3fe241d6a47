/* SPDX-License-Identifier: MIT */
/*
 * Options by their names on the command line of xw-age(8), and the report on a run, for the tool
 * and the public handle.
 */
#ifndef XW_AGE_OPTIONS_H
#define XW_AGE_OPTIONS_H

#include "age/age.h"
#include "base/arena.h"
#include "base/json.h"

struct xw_age_options {
	struct xw_age_opts opts;
	bool have_profile;
	struct xw_diag *diag; /* borrowed: messages about options */
	struct xw_arena texts; /* names that opts points to */
};

/* End with xw_age_options_free(). */
void xw_age_options_init(struct xw_age_options *o, struct xw_diag *diag);
void xw_age_options_free(struct xw_age_options *o);
/*
 * Set one option. XW_ERR_NOTFOUND, without a message: not one of these; XW_ERR_USAGE: the message
 * names option and value.
 */
int xw_age_option(struct xw_age_options *o, const char *option, const char *value);
/* All are set: do they go together? measure: no run is wanted. XW_ERR_USAGE. */
int xw_age_options_check(const struct xw_age_options *o, bool measure);

/* What a report is about. */
struct xw_age_told {
	const char *image; /* its name */
	const struct xw_age_opts *opts;
	const struct xw_age_outcome *run; /* NULL: the image was measured only */
	const struct xw_age_measure *before; /* NULL: likewise */
	const struct xw_age_measure *after;
};

/* Takes a report: maps of members. */
struct xw_age_sink {
	void (*open)(void *arg, const char *name);
	void (*close)(void *arg);
	void (*number)(void *arg, const char *name, uint64_t v);
	void (*share)(void *arg, const char *name, uint64_t v); /* in 1/10000 */
	void (*text)(void *arg, const char *name, const char *s);
	void (*yes)(void *arg, const char *name);
	void *arg;
};
void xw_age_report(const struct xw_age_told *t, const struct xw_age_sink *to);
/* The same as an object of JSON. */
void xw_age_report_json(const struct xw_age_told *t, struct xw_json *j);

#endif
