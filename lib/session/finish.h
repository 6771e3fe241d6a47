/* SPDX-License-Identifier: MIT */
/* The part of a recovery that is a separate commit; see finish.c. */
#ifndef XW_SESSION_FINISH_H
#define XW_SESSION_FINISH_H

#include "commit/commit.h"
#include "session/journal.h"

/* overlay: over the recovered image, without dirty blocks. Having nothing to do is success. */
int xw_recover_finish(struct xw_dev *overlay, const struct xw_commit_opts *opts,
		      struct xw_journal_info *info, struct xw_diag *diag);

#endif
