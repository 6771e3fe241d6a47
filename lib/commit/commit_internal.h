/* SPDX-License-Identifier: MIT */
#ifndef XW_COMMIT_INTERNAL_H
#define XW_COMMIT_INTERNAL_H

#include "commit/change.h"
#include "commit/commit.h"

/* xw_commit_put_super() on the image being changed; updates its guard. */
int xw_commit_step_super(struct xw_change *c, const uint8_t super[XW_SUPER_SIZE]);
/*
 * Called before each write of a superblock in a commit, and after the last one. XW_ERR_BUSY:
 * another process has changed the image or uses it; c->foreign is set, and nothing may be written.
 */
int xw_commit_check_image(struct xw_change *c, const char *then);
#define XW_COMMIT_HALFWAY "the change had begun to be written: run xw-fsck -f"

/*
 * After a failure past the commit point: add to the message where the complete change is, and what
 * finishes it. If others have changed the image, which has its own message, this is a warning.
 */
void xw_commit_explain_half(struct xw_change *c, const char *where, const char *next);

/*
 * Commit through the journal. 1: the journal cannot be used, nothing was written, *why (of `size`
 * bytes) has the reason; 0: done; negative: failed.
 */
int xw_commit_journal(struct xw_change *c, const struct xw_commit_opts *opts, char *why,
		      size_t size, bool *undecided);

#endif
