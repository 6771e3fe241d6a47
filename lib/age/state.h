/* SPDX-License-Identifier: MIT */
/*
 * The file "/.xw-age" with the state of an aging run (disk/age_state.h), written in the same commit
 * as the changes it describes.
 */
#ifndef XW_AGE_STATE_H
#define XW_AGE_STATE_H

#include "age/world.h"
#include "disk/age_state.h"

/* Hash of all options that determine the operations and steps. */
uint64_t xw_age_options_hash(const struct xw_age_opts *o);
/*
 * Read the state file. XW_ERR_NOTFOUND, without a message: it does not exist. XW_ERR_INPUT: it was
 * not written by xw-age, or is damaged; XW_ERR_UNSUPPORTED: of another version; XW_ERR_STATE: the
 * filesystem was resized.
 */
int xw_age_state_read(struct xw_age_world *w, struct xw_age_state *s);
/* Find the state file, or create it. *blk: its block, for xw_age_state_write(). */
int xw_age_state_place(struct xw_age_world *w, xw_blk *blk);
/*
 * Write the state, and with it what the superblock says. Called after xw_update_flush(), before the
 * commit.
 */
int xw_age_state_write(struct xw_update *u, struct xw_age_state *s, xw_blk blk);
int xw_age_state_remove(struct xw_age_world *w);
/* Log a warning if others have changed the image since the state was written. */
void xw_age_state_compare(const struct xw_update *u, const struct xw_age_state *s);

#endif
