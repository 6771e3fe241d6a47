/* SPDX-License-Identifier: MIT */
/*
 * Options by their names on the command line of xw-tune(8), for the tool and the public handle.
 * Names, numbers, ranges and messages are those of tune2fs(8).
 */
#ifndef XW_TUNE_OPTIONS_H
#define XW_TUNE_OPTIONS_H

#include "base/arena.h"
#include "tune/tune.h"

struct xw_tune_options {
	struct xw_tune_want want;
	struct xw_tune_opts opts;
	bool clear_pending;
	const char *hash_name, *encoding_name; /* names as given by the user; constants, or NULL */
	/* a value is malformed: tune2fs prints its synopsis after the message */
	bool malformed;
	/* Resolves the name of a user (group: of a group): 0 and *id. NULL: only numbers. */
	int (*names)(void *arg, int group, const char *name, uint32_t *id);
	void *names_arg;
	struct xw_diag *diag; /* borrowed: messages about options */
	struct xw_arena texts; /* names of files */
};

/* opts.now is the time of the clock. End with xw_tune_options_free(). */
void xw_tune_options_init(struct xw_tune_options *o, struct xw_diag *diag);
void xw_tune_options_free(struct xw_tune_options *o);
/*
 * Set one option. XW_ERR_NOTFOUND, without a message: not one of these; XW_ERR_USAGE and
 * XW_ERR_UNSUPPORTED: the message names the value, not always the option.
 */
int xw_tune_option(struct xw_tune_options *o, const char *option, const char *value);
/* Is there anything to change? */
bool xw_tune_options_change(const struct xw_tune_options *o);
/* Check all options against each other and the image's path. XW_ERR_USAGE. */
int xw_tune_options_check(struct xw_tune_options *o, const char *image);

/* Write the outcome as a JSON object. */
void xw_tune_outcome_json(const struct xw_tune_outcome *r, struct xw_json *j);
/* Write the result of xw_tune_clear_pending() as a JSON object. */
void xw_tune_pending_json(enum xw_tune_pending was, struct xw_json *j);
/* "none", "completed", "given up", "cleared" */
const char *xw_tune_pending_name(enum xw_tune_pending was);

#endif
