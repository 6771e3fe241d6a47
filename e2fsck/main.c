// SPDX-License-Identifier: MIT
/* xw-fsck: check and repair an image. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "cli/env.h"
#include "cli/partition.h"
#include "cli/term.h"
#include "dev/mounted.h"
#include "session/recover.h"

#include "report/progress.h"
#include "open/open.h"
#include "phases/phases.h"
#include "tool.h"

static void log_line(void *arg, enum xw_log_level level, const char *line)
{
	struct fsck *f = arg;

	if (level == XW_LOG_WARN) {
		fsck_progress_wipe(f);
		fflush(stdout);
		cli_warning("%s", line);
	} else if (level == XW_LOG_NOTE ? !f->opts.quiet : f->opts.debug) {
		fsck_progress_wipe(f);
		fflush(stdout);
		cli_note("%s", line);
	}
}

static bool ended(void *arg)
{
	(void)arg;
	return cli_interrupted();
}

static void deciding(void *arg, bool on)
{
	(void)arg;
	cli_hold_interrupts(on);
}

/* -n also checks an image in use, which may be in the middle of a change. */
static void warn_if_in_use(const struct fsck *f, enum xw_mounted how)
{
	auto_fd int fd = -1, alone = -1;
	struct stat st;
	char loop[64];

	if (how == XW_MOUNTED)
		cli_warning("%s is mounted; what is found may be a change in progress",
			    f->opts.image);
	else if (how == XW_MOUNTED_RDONLY)
		cli_warning("%s is mounted read-only", f->opts.image);
	if (how != XW_NOT_MOUNTED)
		return;
	fd = open(f->opts.image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		return;
	if (S_ISREG(st.st_mode) && xw_dev_backs_loop(fd, loop, sizeof(loop))) {
		cli_warning("%s is in use by %s; what is found may be a change in progress",
			    f->opts.image, loop);
	} else if (S_ISREG(st.st_mode) && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK) {
		cli_warning("%s is in use by another process; what is found may be a change in "
			    "progress",
			    f->opts.image);
	} else if (S_ISBLK(st.st_mode)) {
		alone = open(f->opts.image, O_RDONLY | O_CLOEXEC | O_EXCL);
		if (alone < 0 && errno == EBUSY)
			cli_warning("%s is in use by another program; what is found may be a "
				    "change in progress",
				    f->opts.image);
	}
}

/* -F: make reads come from the disk. Best effort. */
static void drop_caches(const struct fsck *f)
{
	auto_fd int fd = -1;
	struct stat st;

	if (!f->opts.flush)
		return;
	fd = open(f->opts.image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		return;
	(void)fsync(fd);
	if (S_ISBLK(st.st_mode))
		(void)ioctl(fd, BLKFLSBUF, 0);
	else
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/*
 * A device that is mounted read-only is repaired if it is the root filesystem, as a boot script has
 * it, or with -f. *root: it is the root filesystem, which is in use when this has ended.
 */
static int check_mounted(struct fsck *f, bool *root)
{
	const enum xw_mounted how = xw_dev_mounted(f->opts.image);

	*root = how == XW_MOUNTED_RDONLY_ROOT;
	if (f->opts.mode == FSCK_NO) {
		warn_if_in_use(f, how);
		return 0;
	}
	f->opts.mounted = *root || (how == XW_MOUNTED_RDONLY && f->opts.force);
	/* the root filesystem at boot: nothing unusual, and e2fsck is silent as well */
	if (f->opts.mounted && !*root)
		cli_warning("%s is mounted read-only", f->opts.image);
	if (how == XW_NOT_MOUNTED || f->opts.mounted)
		return 0;
	return xw_fail(&f->diag, XW_ERR_BUSY, "%s is mounted; cannot continue", f->opts.image);
}

struct outcome {
	struct fsck_summary summary;
	bool skipped; /* nothing was checked: clean, or only the journal was to be replayed */
	bool committed;
	/* opening completed an interrupted change of the root filesystem, which is mounted */
	bool root_completed;
	bool recounted; /* a replay had to correct the free counts of the superblock */
};

/*
 * With the feature read-only a filesystem is repaired, but nothing else: options that rewrite what
 * is no damage are skipped.
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

	if (!(f->img->sb.feature_ro_compat & XW_RO_READONLY))
		return;
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		if (!*rows[i].flag)
			continue;
		cli_warning("%s: has the feature read-only: %s is skipped; xw-tune -O ^read-only "
			    "clears it",
			    fsck_name(f), rows[i].option);
		*rows[i].flag = false;
	}
	if (o->itree == FSCK_ITREE_KEEP)
		return;
	cli_warning("%s: has the feature read-only: -E itree is skipped; xw-tune -O ^read-only "
		    "clears it",
		    fsck_name(f));
	o->itree = FSCK_ITREE_KEEP;
}

/*
 * Without a terminal, and without an option that answers the questions, nothing is checked, as in
 * e2fsck. Completing an interrupted change needs no answer.
 */
static int need_terminal(struct fsck *f)
{
	return xw_fail(&f->diag, XW_ERR_USAGE, "need terminal for interactive repairs");
}

/* Can a pending change be completed? Looks in memory. */
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

/* Everything between opening and closing. */
static int check(struct fsck *f, struct outcome *o)
{
	int rc = 0;

	if (!f->img || f->stop)
		return 0;
	skip_rewriting(f);
	f->findings.modified = f->changed;
	o->skipped = f->opts.journal_only;
	if (!o->skipped && !f->opts.force && !f->findings.found)
		rc = fsck_settle_clean(f, &o->skipped);
	if (o->skipped) {
		f->findings.modified = f->changed;
		f->full = false; /* no check, so its time is not set */
	} else if (!rc && f->opts.no_terminal) {
		rc = need_terminal(f);
	} else if (!rc) {
		if (!f->opts.force && !f->opts.json && !f->opts.quiet)
			fsck_say_forced(f);
		rc = fsck_find_bad(f);
		if (!rc && !f->stop)
			rc = fsck_run(f);
		fsck_pass_end(f);
	}
	if (!rc && !o->skipped)
		rc = fsck_last_look(f);
	fsck_summary_take(f, &o->summary);
	return rc;
}

static int exit_status(const struct fsck *f, const struct outcome *o, int rc)
{
	const struct fsck_findings *all = &f->findings;
	const bool any = all->found || all->followed;
	/* as e2fsck when asked "Abort?", or when a feature is unknown */
	const bool aborted = rc == XW_ERR_TRUNCATED || rc == XW_ERR_UNSUPPORTED;
	int status = 0;

	if (all->canceled)
		return FSCK_EXIT_CANCELED;
	if (rc && !all->ended) /* with -p a question ends the check, which is no failure */
		status |= FSCK_EXIT_ERROR;
	if (all->reboot)
		status |= FSCK_EXIT_REBOOT;
	if (f->checked_elsewhere) /* as e2fsck; of a mount it says only that it failed */
		status |= FSCK_EXIT_LEFT;
	if (!aborted && (all->left || all->ended || (any && !o->committed && !o->skipped)))
		status |= FSCK_EXIT_LEFT;
	if (o->committed && all->modified && (all->recounted || fsck_repaired(all)))
		status |= FSCK_EXIT_FIXED;
	if (o->committed && o->recounted && !o->skipped)
		status |= FSCK_EXIT_FIXED;
	if (o->root_completed) /* as after the repair that was interrupted */
		status |= FSCK_EXIT_FIXED;
	/* It is marked clean now: scripts that e2fsck has taught take that for a repair. */
	if (o->committed && f->was_dirty && !o->skipped)
		status |= FSCK_EXIT_FIXED;
	/* as e2fsck, whatever is repaired beside what is left */
	return status & FSCK_EXIT_LEFT ? status & ~FSCK_EXIT_FIXED : status;
}

/* The report for a person, on standard output. */
static void say_outcome(const struct fsck *f, struct outcome *o, bool failed)
{
	if (f->findings.canceled)
		printf("%s: xw-fsck canceled; nothing was changed.\n", fsck_name(f));
	else if (o->skipped && o->summary.valid && !f->opts.journal_only && !f->opts.quiet &&
		 !failed)
		fsck_say_clean(f, &o->summary);
	if (o->skipped && f->findings.reboot && !f->opts.quiet)
		fsck_say_reboot(f);
	if (failed)
		o->summary.valid = false; /* the counts belong to a state that was not written */
	if (f->findings.ended && f->findings.fixed)
		printf("%s: nothing was repaired: the check ended before anything was written.\n",
		       fsck_name(f));
	if (!o->skipped && !f->opts.quiet)
		fsck_say_end(f, &o->summary,
			     o->committed && (f->findings.modified || o->recounted));
}

static int run(const struct fsck_opts *opts)
{
	static const struct xw_commit_watch watch = {.ended = ended, .deciding = deciding};
	struct fsck f = {.opts = *opts, .watch = &watch};
	struct outcome o = {0};
	int rc, closed, status;
	bool root = false;

	f.diag = (struct xw_diag){.log = log_line, .log_arg = &f};
	fsck_progress_init(&f);
	cli_catch_interrupts();
	rc = opts->no_terminal && !can_complete(&f) ? need_terminal(&f) : 0;
	if (!rc)
		rc = check_mounted(&f, &root);
	drop_caches(&f);
	if (!rc)
		rc = fsck_open(&f);
	if (!rc)
		rc = check(&f, &o);
	if (f.dev && (!rc || rc == XW_ERR_IO) && fsck_check_readable(&f))
		rc = XW_ERR_IO;
	if (cli_interrupted())
		f.findings.canceled = true;
	o.recounted = f.edit && xw_edit_recovered(f.edit)->journal.recounted;
	o.root_completed =
		root && f.edit && f.opts.mode != FSCK_NO && xw_edit_recovered(f.edit)->redo_applied;
	o.committed = !rc && !f.stop && !f.findings.canceled && f.opts.mode != FSCK_NO;
	f.findings.modified |= f.findings.fixed > 0; /* includes repairs made by opening alone */
	closed = fsck_close(&f, o.committed);
	if (closed)
		o.committed = false;
	f.findings.reboot = o.root_completed || (root && o.committed && f.findings.modified);
	rc = rc ? rc : closed;
	if (cli_interrupted() && rc && !f.undecided)
		f.findings.canceled = true;
	status = exit_status(&f, &o, f.findings.canceled ? 0 : rc);
	fsck_progress_wipe(&f);
	fflush(stdout);
	if (rc && !f.findings.canceled && !f.findings.ended && !f.opts.json)
		cli_error("%s", f.diag.code ? f.diag.text : xw_err_text(rc));
	if (rc && !f.img && !f.opts.offset)
		cli_partition_hint(f.opts.image);
	if (f.opts.json)
		fsck_json_end(&f, rc ? (f.diag.code ? f.diag.text : xw_err_text(rc)) : NULL,
			      status);
	else
		say_outcome(&f, &o, rc != 0);
	fsck_findings_free(&f);
	xw_vec_free(&f.bad);
	return status;
}

int main(int argc, char **argv)
{
	struct fsck_args args;
	int status, closed;

	cli_guard_streams();
	status = fsck_args_parse(&args, argc, argv);
	if (status < 0)
		status = run(&args.opts);
	fsck_args_free(&args);
	closed = cli_close_stdout(status);
	return closed == status ? status : status | FSCK_EXIT_ERROR;
}
