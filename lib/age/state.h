/* SPDX-License-Identifier: MIT */
/*
 * What a run needs to continue where a killed one ended: one block of text in the image's file
 * "/.xw-age", changed by the same commit as what it describes.
 */
#ifndef XW_AGE_STATE_H
#define XW_AGE_STATE_H

#include "age/world.h"

struct xw_age_state {
	uint64_t options; /* hash of what decides the stream of operations */
	struct xw_age_base base;
	struct xw_age_counts counts;
	int ended; /* 1 + enum xw_age_reason; 0: not yet */
};

/* What decides the operations and the steps they are done in. */
uint64_t xw_age_options_hash(const struct xw_age_opts *o);
/* XW_ERR_NOTFOUND, without a line: there is no such file. XW_ERR_INPUT: it is something else. */
int xw_age_state_read(struct xw_age_world *w, struct xw_age_state *s);
/* The file is made where there is none. */
int xw_age_state_write(struct xw_age_world *w, const struct xw_age_state *s);
int xw_age_state_remove(struct xw_age_world *w);

#endif
