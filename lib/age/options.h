/* SPDX-License-Identifier: MIT */
/*
 * Options by their names in xw-age(8), and the report on a run: shared by the tool and the public
 * handle.
 */
#ifndef XW_AGE_OPTIONS_H
#define XW_AGE_OPTIONS_H

#include "age/age.h"
#include "base/arena.h"
#include "base/json.h"

struct xw_age_options {
	struct xw_age_opts opts;
	bool have_profile;
	struct xw_diag *diag; /* for messages about options; borrowed */
	struct xw_arena texts; /* owns the strings of opts */
};

/* End with xw_age_options_free(). */
void xw_age_options_init(struct xw_age_options *o, struct xw_diag *diag);
void xw_age_options_free(struct xw_age_options *o);
/*
 * Set one option. XW_ERR_NOTFOUND, without a message: unknown option; XW_ERR_USAGE: the message
 * names option and value.
 */
int xw_age_option(struct xw_age_options *o, const char *option, const char *value);
/*
 * Check the combination of all options before a run or, with `measure`, a measurement.
 * XW_ERR_USAGE.
 */
int xw_age_options_check(const struct xw_age_options *o, bool measure);

/* Contents of a report. */
struct xw_age_told {
	const char *image; /* its name */
	const struct xw_age_opts *opts;
	const struct xw_age_outcome *run; /* NULL: the image was measured only */
	const struct xw_age_measure *before; /* NULL: likewise */
	const struct xw_age_measure *after;
};

/* Receives a report as nested maps. */
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
/* Write the report as a JSON object. */
void xw_age_report_json(const struct xw_age_told *t, struct xw_json *j);

#endif
