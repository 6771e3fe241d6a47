/* SPDX-License-Identifier: MIT */
/*
 * journal_run: replay the journal.
 *
 * The replay of an internal journal is part of the session's commit. That of an external journal
 * cannot be: its blocks must be in the image before its log is emptied, and until then the image
 * must have RECOVER set, so that the kernel and e2fsck finish an interrupted replay. The session's
 * changes are committed with the blocks, in these steps:
 *
 *	RECOVER set, log in use    -> blocks in place     dbg_close
 *	the same                   -> log empty           xw_replay_finish
 *	RECOVER set, log empty     -> RECOVER clear       clear_recover
 *
 * Then the image is opened again, with the session's settings.
 */
#include "config.h"

#include "cli/device.h"
#include "cli/human.h"
#include "journals.h"
#include "poke.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "session/edit.h"
#include "session/journal.h"

bool dbg_journal_external(const struct xw_super *sb)
{
	return sb->feature_compat & XW_COMPAT_HAS_JOURNAL && !sb->journal_inum;
}

int dbg_journal_device(struct dbg *d, const char *given, char **out)
{
	const struct cli_text uuid = cli_uuid(d->img->sb.journal_uuid);

	if (!given)
		given = d->journal;
	*out = given ? strdup(given) : cli_find_device(uuid.s);
	if (*out)
		return 0;
	if (given)
		return xw_fail_nomem(&d->diag, "name of the journal");
	return xw_fail(&d->diag, XW_ERR_NOTFOUND,
		       "the journal is external, and no device has its UUID, %s; give -f DEVICE",
		       uuid.s);
}

static void print_totals(struct dbg *d, uint32_t transactions, uint64_t blocks)
{
	fprintf(d->out, "%" PRIu32 " transactions, %" PRIu64 " blocks\n", transactions, blocks);
}

/* Write to the edit's device without an update; all or nothing. */
static int write_apart(struct dbg *d, int (*fn)(void *arg, struct xw_dev *dev), void *arg)
{
	int rc;

	xw_edit_doubt(d->edit);
	rc = xw_step_apart(&d->steps, d->img->block_size, fn, arg);
	d->spoiled |= d->steps.torn;
	dbg_wrote(d);
	return rc;
}

/* ---- inside the image ---- */

struct inside {
	struct dbg *d;
	struct xw_journal_info info;
};

static int replay_inside(void *arg, struct xw_dev *dev)
{
	struct inside *r = arg;
	int rc = xw_journal_recover(dev, XW_REPLAY_FAST, &r->d->diag, &r->info);

	if (!rc && r->info.needed)
		rc = xw_journal_count_free(dev);
	return XW_MIN(rc, 0);
}

static int run_inside(struct dbg *d)
{
	struct inside r = {.d = d};
	int rc = write_apart(d, replay_inside, &r);

	if (!rc && r.info.needed)
		print_totals(d, r.info.transactions, r.info.blocks);
	return rc;
}

/* ---- external ---- */

struct outside {
	struct dbg *d;
	struct xw_log *log;
	struct xw_replay plan;
};

static int replay_outside(void *arg, struct xw_dev *dev)
{
	struct outside *r = arg;
	int rc = xw_journal_apply_external(dev, r->log, &r->plan, &r->d->diag);

	return rc ? rc : xw_journal_set_recover(dev, true, false, &r->d->diag);
}

/* Settings of a session that are kept while its image is closed and opened again. */
struct kept {
	struct dbg_how how;
	char *real, *path, *undo, *journal; /* owned */
	xw_ino root, cwd;
};

static void forget(struct kept *k)
{
	free(k->real);
	free(k->path);
	free(k->undo);
	free(k->journal);
}

static int keep(struct dbg *d, const char *device, struct kept *k)
{
	*k = (struct kept){.how = d->how,
			   .real = strdup(d->real),
			   .path = strdup(d->path),
			   .journal = dbg_absolute(device),
			   .undo = d->how.undo_file ? strdup(d->how.undo_file) : NULL,
			   .root = d->root,
			   .cwd = d->cwd};
	if (!k->real || !k->path || !k->journal || (d->how.undo_file && !k->undo))
		return xw_fail_nomem(&d->diag, "name of the image");
	k->how.undo_file = k->undo;
	return 0;
}

static int reopen(struct dbg *d, struct kept *k, bool replay)
{
	xw_log_fn *const log = d->diag.log;
	struct dbg_how how = k->how;
	int rc;

	how.no_replay |= !replay;
	if (!replay)
		d->diag.log = NULL; /* hide the warning that the journal is not replayed */
	rc = dbg_open(d, k->real, &how);
	d->diag.log = log;
	if (rc)
		return rc;
	d->how.no_replay = k->how.no_replay;
	d->root = k->root;
	d->cwd = k->cwd;
	free(d->path);
	d->path = k->path;
	d->journal = k->journal;
	d->undo = k->undo;
	k->path = k->journal = k->undo = NULL;
	return 0;
}

static int clear_recover(struct dbg *d, struct kept *k)
{
	auto_end(forget) struct kept again = {.real = NULL};
	int rc = reopen(d, k, false);

	if (rc)
		return rc;
	rc = xw_journal_set_recover(xw_edit_dev(d->edit), false, false, &d->diag);
	d->dirty = true;
	if (!rc)
		rc = keep(d, d->journal, &again);
	if (!rc)
		rc = dbg_close(d, true);
	return rc ? rc : reopen(d, &again, true);
}

static int run_outside(struct dbg *d, struct outside *r, const char *device)
{
	auto_end(forget) struct kept k = {.real = NULL};
	int rc;

	if (!(d->img->sb.feature_incompat & XW_INCOMPAT_RECOVER))
		return 0;
	rc = xw_replay_plan(r->log, 0, d->img->sb.blocks_count, &r->plan);
	if (!rc)
		rc = keep(d, device, &k);
	if (!rc)
		rc = write_apart(d, replay_outside, r);
	if (rc)
		return rc;
	d->dirty = true;
	rc = dbg_close(d, true);
	if (rc)
		return rc;
	r->log->jsb.err = 0;
	rc = xw_replay_finish(r->log, &r->plan);
	if (!rc)
		rc = xw_dev_flush(r->log->dev);
	if (!rc)
		rc = clear_recover(d, &k);
	if (!rc)
		print_totals(d, r->plan.transactions, r->plan.blocks.n);
	return rc;
}

static int run_external(struct dbg *d, const char *given)
{
	struct outside r = {.d = d};
	struct xw_dev *dev = NULL;
	auto_free char *device = NULL;
	int rc = dbg_journal_device(d, given, &device);

	if (!rc)
		rc = xw_dev_open_file(device, 0, &d->diag, &dev);
	if (!rc)
		rc = xw_log_open_external(dev, &d->img->sb, NULL, &d->diag, &r.log);
	if (!rc) {
		r.log->diag = &d->diag;
		rc = run_outside(d, &r, device);
		xw_replay_free(&r.plan);
	}
	xw_log_close(r.log);
	xw_dev_close(dev);
	return rc;
}

int dbg_verb_journal_run(struct dbg *d, int argc, char **argv)
{
	const char *device = NULL;
	const struct dbg_option options[] = {{'f', .text = &device}, {0}};

	if (dbg_options(d, argc, argv, options) || optind != argc)
		return DBG_USAGE;
	if (d->log)
		return xw_fail(&d->diag, XW_ERR_STATE, "close the journal first (journal_close)");
	if (dbg_journal_external(&d->img->sb))
		return run_external(d, device);
	if (device)
		return xw_fail(&d->diag, XW_ERR_USAGE, "-f %s: the journal is inside the image",
			       device);
	return run_inside(d);
}
