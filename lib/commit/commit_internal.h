/* SPDX-License-Identifier: MIT */
#ifndef XW_COMMIT_INTERNAL_H
#define XW_COMMIT_INTERNAL_H

#include "commit/change.h"
#include "commit/commit.h"

/* xw_commit_put_super() of the image that is changed; its guard knows it then. */
int xw_commit_step_super(struct xw_change *c, const uint8_t super[XW_SUPER_SIZE]);
/*
 * Before each superblock that a commit writes, and after the last: XW_ERR_BUSY when somebody else
 * has changed the image or has it in use. Nothing may be written then; c->foreign says so.
 */
int xw_commit_look(struct xw_change *c, const char *then);
#define XW_COMMIT_HALFWAY "the change had begun to be written: run xw-fsck -f"

/* Both: *undecided as in xw_commit_info, false when it is called. */
int xw_commit_redo(struct xw_change *c, const struct xw_commit_opts *opts, bool *undecided);

/*
 * Through the journal. 1: it does not serve, nothing was written, *why (of `size` bytes) says why;
 * 0: done; negative: failed.
 */
int xw_commit_journal(struct xw_change *c, const struct xw_commit_opts *opts, char *why,
		      size_t size, bool *undecided);

#endif
