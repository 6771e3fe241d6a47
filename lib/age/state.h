/* SPDX-License-Identifier: MIT */
/*
 * The state from which a killed run is resumed: one block of text in the image's file "/.xw-age",
 * updated in the same commit as the changes it describes.
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
	 * XW_AGE_LINUX: a writeback continues in the next step. Its files are among those of the
	 * last so many operations. 0: none.
	 */
	uint64_t writing;
	struct xw_age_memory memory; /* of XW_AGE_LINUX */
};

/* Hash of everything that determines the operations and their steps. */
uint64_t xw_age_options_hash(const struct xw_age_opts *o);
/*
 * XW_ERR_NOTFOUND, without a message: the file does not exist. XW_ERR_INPUT: it is another kind of
 * file.
 */
int xw_age_state_read(struct xw_age_world *w, struct xw_age_state *s);
/* Creates the file if it does not exist. */
int xw_age_state_write(struct xw_age_world *w, const struct xw_age_state *s);
int xw_age_state_remove(struct xw_age_world *w);

#endif
