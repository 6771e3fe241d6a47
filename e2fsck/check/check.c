// SPDX-License-Identifier: MIT
/* Runs a check from opening to closing, and computes the exit status. */
#include "config.h"

#include "session/recover.h"

#include "open/open.h"
#include "phases/phases.h"
#include "check/changes.h"
#include "check/check.h"

static void warn_skipped(struct fsck *f, const char *option)
{
	xw_log(&f->ses.diag, XW_LOG_WARN,
	       "%s: has the feature read-only: %s is skipped; xw-tune -O ^read-only clears it",
	       xw_fsck_name(f), option);
}

/*
 * A filesystem with the feature read-only is repaired, but options that would rewrite undamaged
 * data are skipped.
 */
static void skip_rewriting(struct fsck *f)
{
	struct fsck_opts *o = &f->opts;
	const struct {
		const char *option;
		bool *flag;
	} rows[] = {
		{"-D", &o->optimize_dirs},
		{"-E bmap2extent", &o->bmap2extent},
		{"-E optimize_extents", &o->optimize_extents},
		{"-E unshare_blocks", &o->unshare_blocks},
		{"-E share_xattrs", &o->share_xattrs},
	};

	if (!(f->ses.img->sb.feature_ro_compat & XW_RO_READONLY))
		return;
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		if (!*rows[i].flag)
			continue;
		warn_skipped(f, rows[i].option);
		*rows[i].flag = false;
	}
	if (o->itree == FSCK_ITREE_KEEP)
		return;
	warn_skipped(f, "-E itree");
	o->itree = FSCK_ITREE_KEEP;
}

/*
 * Without a terminal, and without an option that answers the questions, nothing is checked, as in
 * e2fsck. Completing an interrupted change needs no answer.
 */
static int need_terminal(struct fsck *f)
{
	return xw_fail(&f->ses.diag, XW_ERR_USAGE, "need terminal for interactive repairs");
}

/* Can a pending change be completed? Tries it in memory. */
static bool can_complete(const struct fsck *f)
{
	const struct fsck_opts *o = &f->opts;
	struct xw_recover_info info = {0};
	struct xw_dev *dev = NULL;
	struct xw_diag diag = {0};

	if (xw_recover_open(o->image, o->redo_file ? o->redo_file : o->redo_dir, o->offset,
			    XW_RECOVER_RDONLY | XW_RECOVER_FORCE, &diag, &dev, &info))
		return false;
	xw_dev_close(dev);
	return info.redo_applied;
}

static int full_check(struct fsck *f)
{
	int rc;

	if (f->opts.no_terminal)
		return need_terminal(f);
	if (!f->opts.force)
		fsck_forced(f);
	rc = fsck_find_bad(f);
	if (!rc && !f->ses.stop)
		rc = fsck_run(f);
	fsck_pass_end(f);
	return rc ? rc : fsck_final_check(f);
}

/* Everything between opening and closing. */
static int check(struct fsck *f, struct fsck_outcome *o)
{
	int rc = 0;

	if (!f->ses.img || f->ses.stop)
		return 0;
	skip_rewriting(f);
	f->ses.findings.modified = f->round.changed;
	o->skipped = f->opts.journal_only;
	if (!o->skipped && !f->opts.force && !f->ses.findings.found)
		rc = fsck_clean_state(f, &o->skipped);
	if (o->skipped) {
		f->ses.findings.modified = f->round.changed;
		f->ses.full = false; /* the time of the last check is not set */
	} else if (!rc) {
		rc = full_check(f);
	}
	fsck_summary_fill(f, &o->summary);
	return rc;
}

static int exit_status(const struct fsck *f, const struct fsck_outcome *o)
{
	const struct fsck_findings *all = &f->ses.findings;
	const bool any = all->found || all->followed;
	const int rc = all->canceled ? 0 : o->rc;
	/* as in e2fsck after "Abort?", or for an unknown feature */
	const bool aborted = rc == XW_ERR_TRUNCATED || rc == XW_ERR_UNSUPPORTED;
	int status = 0;

	if (all->canceled)
		return FSCK_EXIT_CANCELED;
	if (rc && !all->ended) /* with -p a question ends the check, which is no failure */
		status |= FSCK_EXIT_ERROR;
	if (all->reboot)
		status |= FSCK_EXIT_REBOOT;
	if (f->start.checked_elsewhere) /* as e2fsck, but not for a mounted device */
		status |= FSCK_EXIT_LEFT;
	if (!aborted && (all->left || all->ended || (any && !o->committed && !o->skipped)))
		status |= FSCK_EXIT_LEFT;
	if (o->committed && all->modified && (all->recounted || fsck_repaired(all)))
		status |= FSCK_EXIT_FIXED;
	if (o->committed && o->recounted && !o->skipped)
		status |= FSCK_EXIT_FIXED;
	if (o->root_completed) /* the interrupted repair would have had the same status */
		status |= FSCK_EXIT_FIXED;
	/* As in e2fsck, marking a filesystem clean counts as a repair. */
	if (o->committed && f->start.dirty && !o->skipped)
		status |= FSCK_EXIT_FIXED;
	/* as in e2fsck: LEFT excludes FIXED */
	return status & FSCK_EXIT_LEFT ? status & ~FSCK_EXIT_FIXED : status;
}

/* Record an interrupted change that opening has found. */
static void note_recovered(const struct fsck *f, struct fsck_outcome *o, bool root)
{
	const struct xw_recover_info *info = f->ses.edit ? xw_edit_recovered(f->ses.edit) : NULL;

	if (!info)
		return;
	o->recounted = info->journal.recounted;
	o->pending = info->redo_applied && f->opts.mode == FSCK_NO;
	o->completed = info->redo_applied && !o->pending;
	o->root_completed = root && o->completed;
}

void xw_fsck_check(struct fsck *f, struct fsck_outcome *o)
{
	bool root = false;
	int rc, closed;

	rc = f->opts.no_terminal && !can_complete(f) ? need_terminal(f) : 0;
	if (!rc)
		rc = fsck_changes_begin(f);
	if (!rc)
		rc = fsck_check_mounted(f, &root);
	fsck_drop_caches(f);
	if (!rc)
		rc = fsck_open(f);
	if (!rc)
		rc = check(f, o);
	if (f->ses.dev && (!rc || rc == XW_ERR_IO) && fsck_check_readable(f))
		rc = XW_ERR_IO;
	if (fsck_is_ended(f))
		f->ses.findings.canceled = true;
	fsck_findings_flush(f);
	note_recovered(f, o, root);
	o->committed = !rc && !f->ses.stop && !f->ses.findings.canceled && f->opts.mode != FSCK_NO;
	f->ses.findings.modified |=
		f->ses.findings.fixed > 0; /* includes repairs made by opening alone */
	closed = fsck_close(f, o->committed);
	if (closed)
		o->committed = false;
	f->ses.findings.reboot =
		o->root_completed || (root && o->committed && f->ses.findings.modified);
	o->rc = rc ? rc : closed;
	if (o->rc && fsck_is_ended(f) && !f->ses.undecided)
		f->ses.findings.canceled = true;
	o->status = exit_status(f, o);
}

const char *xw_fsck_why(const struct fsck *f, const struct fsck_outcome *o)
{
	if (!o->rc)
		return NULL;
	return f->ses.diag.code ? f->ses.diag.text : xw_err_text(o->rc);
}

void xw_fsck_end(struct fsck *f)
{
	fsck_findings_free(f);
	fsck_changes_end(f);
	xw_vec_free(&f->ses.bad);
}
