/* SPDX-License-Identifier: MIT */
#ifndef XW_COMMIT_INTERNAL_H
#define XW_COMMIT_INTERNAL_H

#include "commit/change.h"
#include "commit/commit.h"
#include "journal/recover.h"

/* Write the 1024 bytes of the primary superblock, and flush. */
int xw_commit_put_super(struct xw_dev *base, const uint8_t super[XW_SUPER_SIZE]);
/* The same of the image that is changed; its guard knows it then. */
int xw_commit_step_super(struct xw_change *c, const uint8_t super[XW_SUPER_SIZE]);
/*
 * Before each superblock that a commit writes, and after the last: XW_ERR_BUSY when somebody else
 * has changed the image or has it in use. Nothing may be written then; c->foreign says so.
 */
int xw_commit_look(struct xw_change *c, const char *then);
#define XW_COMMIT_NOTHING "nothing was committed"
#define XW_COMMIT_HALFWAY "the change had begun to be written: run xw-fsck -f"

/* XW_ERR_IO: whoever watches wants it to end. Nothing may have been decided. */
int xw_commit_ask(const struct xw_commit_watch *watch, const char *name, struct xw_diag *diag);

/* Both: *undecided as in xw_commit_info, false when it is called. */
int xw_commit_redo(struct xw_change *c, const struct xw_commit_opts *opts, bool *undecided);

/*
 * Through the journal. 1: it does not serve, nothing was written, *why (of `size` bytes) says why;
 * 0: done; negative: failed.
 */
int xw_commit_journal(struct xw_change *c, const struct xw_commit_opts *opts, char *why,
		      size_t size, bool *undecided);

/* settle.c: the end of a recovery, if there is one; on an overlay that holds nothing else. */
int xw_commit_settle(struct xw_dev *overlay, const struct xw_commit_opts *opts,
		     const struct xw_journal_info *info, xw_journal_fast_fn *fast,
		     struct xw_diag *diag);

#endif
