// SPDX-License-Identifier: MIT
/*
 * A journal on another device: found by its UUID or given with -j, and replayed into the image.
 *
 *	RECOVER set, log in use    -> blocks in place, by redo file    xw_edit_commit
 *	the same                   -> log empty                        xw_log_set_start
 *	RECOVER set, log empty     -> RECOVER clear, with the repairs  fsck_close
 *
 * Each state is one that this, stock tools and the kernel continue from. With -n all of it is done
 * in memory, and the device is only read.
 */
#include "config.h"

#include <stdlib.h>
#include <uuid/uuid.h>

#include "base/auto.h"
#include "journal/replay.h"
#include "open/open.h"
#include "session/journal.h"

static int open_device(struct fsck *f, struct xw_dev **dev)
{
	const unsigned flags = f->opts.mode == FSCK_NO ? XW_DEV_RDONLY | XW_DEV_SHARED : 0;
	auto_free char *found = NULL;
	char uuid[UUID_STR_LEN];

	if (f->opts.journal)
		return xw_dev_open_file(f->opts.journal, flags, &f->ses.diag, dev);
	uuid_unparse_lower(f->ses.img->sb.journal_uuid, uuid);
	if (f->ses.to && f->ses.to->find_device)
		found = f->ses.to->find_device(f->ses.to_arg, uuid);
	if (found)
		return xw_dev_open_file(found, flags, &f->ses.diag, dev);
	return xw_fail(&f->ses.diag, XW_ERR_NOTFOUND,
		       "%s: the journal needs to be recovered, and no device has its UUID, %s; "
		       "-j DEVICE names it",
		       f->opts.image, uuid);
}

/* Commit the replayed blocks to the image, then empty the log. */
static int commit_replay(struct fsck *f, struct xw_log *log, const struct xw_replay *r)
{
	struct xw_commit_info info = {0};
	int rc = xw_journal_set_recover(f->ses.dev, true, false, &f->ses.diag);

	if (!rc)
		rc = xw_edit_commit(f->ses.edit, &info);
	f->ses.undecided = info.undecided;
	if (rc)
		return rc;
	xw_edit_hold_all(f->ses.edit);
	f->start.replayed_on_disk = true;
	log->jsb.err = 0;
	rc = xw_replay_finish(log, r);
	if (!rc)
		rc = xw_dev_flush(log->dev);
	return rc ? rc : xw_journal_set_recover(f->ses.dev, false, false, &f->ses.diag);
}

static int replay(struct fsck *f, struct xw_log *log)
{
	auto_end(xw_replay_free) struct xw_replay r = {0};
	unsigned how;
	int rc = fsck_choose_replay(f, log, &how);

	if (!rc)
		rc = xw_replay_plan(log, how, f->ses.img->sb.blocks_count, &r);
	if (rc)
		return rc;
	if (how & XW_REPLAY_NOTHING)
		r.blocks.n = 0;
	f->start.replayed = true;
	fsck_tell_replayed(f);
	rc = xw_journal_apply_external(f->ses.dev, log, &r, &f->ses.diag);
	if (rc)
		return rc;
	if (r.damaged) {
		fsck_found_replay(f, how);
		f->ses.full = true;
	}
	rc = f->ses.stop || f->opts.mode == FSCK_NO ? 0 : commit_replay(f, log, &r);
	return rc ? rc : fsck_reopen(f);
}

/*
 * The journal superblock is damaged, so the transactions in the log are lost. If that is declined
 * the rest is repaired without them, as with a journal in the filesystem.
 */
static int drop_damaged(struct fsck *f)
{
	xw_diag_clear(&f->ses.diag);
	f->ses.full = true;
	return FSCK_FOUND(f, JOURNAL_SUPER) ? fsck_drop_external(f) : 0;
}

int fsck_replay_device(struct fsck *f)
{
	const bool asked = f->ses.img->sb.feature_incompat & XW_INCOMPAT_RECOVER;
	struct xw_dev *dev = NULL;
	struct xw_log *log = NULL;
	bool bad_sum = false;
	int rc;

	if (!asked && !f->opts.journal)
		return 0;
	rc = open_device(f, &dev);
	if (!rc)
		rc = xw_log_open_external(dev, &f->ses.img->sb, &bad_sum, &f->ses.diag, &log);
	/* as with stock tools this changes neither the filesystem nor the exit status */
	if (bad_sum && rc != XW_ERR_INPUT && FSCK_FOUND(f, JOURNAL_DEVICE)) {
		const int sealed = xw_log_seal_external(dev);

		if (sealed)
			rc = sealed;
	}
	if (rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM)
		rc = drop_damaged(f);
	else if (!rc && (asked || (log->jsb.start && FSCK_FOUND(f, JOURNAL_DATA))))
		rc = replay(f, log);
	xw_log_close(log);
	if (dev)
		xw_dev_close(dev);
	return rc;
}
