/* SPDX-License-Identifier: MIT */
/*
 * The state of an aging run, from which a killed run is resumed: one block of text in the file
 * "/.xw-age" of the image, written in the same commit as the changes it describes.
 */
#ifndef XW_AGE_STATE_H
#define XW_AGE_STATE_H

#include "age/world.h"

struct xw_age_state {
	uint64_t options; /* hash of the options that determine the stream of operations */
	struct xw_age_base base;
	struct xw_age_counts counts;
	int ended; /* 1 + enum xw_age_reason; 0: not ended */
	/*
	 * XW_AGE_LINUX: writeback continues in the next step, of files changed by the last
	 * `writing` operations. 0: writeback is complete.
	 */
	uint64_t writing;
	struct xw_age_memory memory; /* used with XW_AGE_LINUX */
};

/* Hash of all options that determine the operations and steps. */
uint64_t xw_age_options_hash(const struct xw_age_opts *o);
/*
 * Read the state file. XW_ERR_NOTFOUND, without a message: it does not exist. XW_ERR_INPUT: it was
 * not written by xw-age.
 */
int xw_age_state_read(struct xw_age_world *w, struct xw_age_state *s);
/* Creates the file if it does not exist. */
int xw_age_state_write(struct xw_age_world *w, const struct xw_age_state *s);
int xw_age_state_remove(struct xw_age_world *w);

#endif
