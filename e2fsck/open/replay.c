// SPDX-License-Identifier: MIT
/* Replay of the journal in the filesystem, before anything is checked. */
#include "config.h"

#include "journal/log.h"
#include "session/journal.h"
#include "fastcommit/fastcommit.h"
#include "open/journal.h"

int fsck_log_open(struct fsck *f, struct xw_log **log)
{
	xw_log_fn *const fn = f->ses.diag.log;
	int rc;

	f->ses.diag.log = NULL;
	rc = xw_log_open_image(f->ses.img, log);
	f->ses.diag.log = fn;
	if (rc != XW_ERR_IO)
		xw_diag_clear(&f->ses.diag);
	return rc;
}

/* Flags for xw_journal_recover(), which reports a log that cannot be opened. */
static int choose_replay(struct fsck *f, unsigned *how)
{
	struct xw_log *log = NULL;
	int rc = 0;

	*how = XW_REPLAY_SALVAGE;
	if (f->ses.img && !fsck_log_open(f, &log))
		rc = fsck_choose_replay(f, log, how);
	xw_log_close(log);
	return rc;
}

int fsck_log_replay(struct fsck *f, unsigned flags)
{
	struct xw_journal_info info = {0};
	xw_log_fn *const log = f->ses.diag.log;
	unsigned how;
	int rc = choose_replay(f, &how);

	if (rc)
		return rc;
	f->ses.diag.log = NULL;
	rc = xw_journal_recover(f->ses.dev, flags | how | XW_REPLAY_FAST, &f->ses.diag, &info);
	f->ses.diag.log = log;
	if (info.damaged)
		fsck_found_replay(f, how);
	if (rc == XW_ERR_NOMEM || rc == XW_ERR_IO)
		return rc;
	xw_diag_clear(&f->ses.diag);
	if (info.needed) {
		f->round.changed = f->ses.full = true;
		if (!f->start.replayed)
			fsck_tell_replayed(f);
		f->start.replayed = true;
	}
	if (f->ses.img && info.needed && fsck_reopen(f))
		return XW_ERR_CORRUPT;
	if (f->ses.img && info.needed && !f->round.number) {
		const int noted = fsck_opened(f);

		if (noted)
			return noted;
	}
	return rc != 0;
}

int fsck_replay(struct fsck *f)
{
	const struct xw_super *sb = &f->ses.img->sb;
	int rc;

	if (fsck_journal_is_external(
		    sb)) /* unless its fields are wrong, which fsck_check_journal() repairs */
		return fsck_journal_is_inside(f) ? 0 : fsck_replay_device(f);
	if (!(sb->feature_compat & XW_COMPAT_HAS_JOURNAL) ||
	    (!(sb->feature_incompat & XW_INCOMPAT_RECOVER) && !f->start.log_unknown))
		return 0;
	rc = fsck_log_replay(f, f->start.log_unknown ? XW_REPLAY_UNASKED : 0);
	return rc < 0 ? rc : 0; /* fsck_check_journal() handles the rest */
}
