/* SPDX-License-Identifier: MIT */
/* The end of a recovery that is a commit of its own; settle.c says what belongs to it. */
#ifndef XW_SESSION_SETTLE_H
#define XW_SESSION_SETTLE_H

#include "commit/commit.h"
#include "session/journal.h"

/* overlay: over the recovered image, and holding nothing. Nothing to do is success. */
int xw_session_settle(struct xw_dev *overlay, const struct xw_commit_opts *opts,
		      const struct xw_journal_info *info, struct xw_diag *diag);

#endif
