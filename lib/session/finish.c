/* SPDX-License-Identifier: MIT */
/*
 * The end of a recovery: the counts that belong to the replayed state, and the fast commits, in a
 * separate commit, which no undo file reverts. The commit also clears RECOVER: if it is still set
 * when a tool opens the image, the recovery is incomplete.
 *
 *   RECOVER, log empty             counts must be updated
 *   RECOVER, fast commits in log   and fast commits replayed; they stay in the log until then
 *   neither                        done
 */
#include "config.h"

#include "commit/super.h"
#include "session/finish.h"

/* A superblock that differs only in RECOVER may be torn: recover.c repairs that. */
static int put_bit(struct xw_dev *overlay)
{
	uint8_t super[XW_SUPER_SIZE];
	int rc = xw_dev_pread(overlay, super, sizeof(super), XW_SUPER_OFFSET);

	if (!rc)
		rc = xw_commit_put_super(xw_overlay_base(overlay), super);
	if (!rc)
		xw_overlay_discard(overlay);
	return rc;
}

static int commit_fast(struct xw_dev *overlay, struct xw_commit_opts opts, struct xw_diag *diag)
{
	const struct xw_diag before = diag ? *diag : (struct xw_diag){0};
	const enum xw_commit_how how = opts.how;
	struct xw_commit_info info;
	int rc;

	if (how == XW_COMMIT_AUTO || how == XW_COMMIT_JOURNAL) {
		opts.fast_commits = true;
		opts.how = XW_COMMIT_JOURNAL;
		rc = xw_commit(overlay, &opts, diag, &info);
		if (!rc || !info.why_no_journal[0] || how == XW_COMMIT_JOURNAL)
			return rc;
		if (diag)
			*diag = before;
		opts.how = XW_COMMIT_REDO;
	}
	rc = xw_journal_empty(overlay, diag);
	return rc ? rc : xw_commit(overlay, &opts, diag, NULL);
}

int xw_recover_finish(struct xw_dev *overlay, const struct xw_commit_opts *opts,
		      struct xw_journal_info *info, struct xw_diag *diag)
{
	int rc;

	if (!info->unsettled)
		return 0;
	rc = xw_journal_finish(overlay, info, diag);
	if (!rc)
		return put_bit(overlay);
	if (rc < 0)
		return rc;
	return info->fast_blocks ? commit_fast(overlay, *opts, diag)
				 : xw_commit(overlay, opts, diag, NULL);
}
