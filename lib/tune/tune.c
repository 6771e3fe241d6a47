// SPDX-License-Identifier: MIT
/*
 * One run: the steps that a change needs, each on the edit's device as the one before it left it,
 * then one commit.
 *
 *   before   features that own blocks come and go; directories get indexes, lose them, or get room
 *            for checksums. Under the old checksums.
 *   inodes   larger ones: new tables (inode_size.c)
 *   sweep    every checksum, and what else depends on how checksums are made (sweep.c)
 *   behind   what is built under the new ones: itrees; quota files, which count everything else
 *   super    the fields that stand for themselves, the copies
 *
 * Each step opens the image anew, so that it sees a filesystem that is whole. Blocks that one frees
 * may be taken by the next: the edit's device holds what is written to them, since they were in use
 * in the state on disk.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "read/image.h"
#include "tune/tune_internal.h"
#include "edit/dir.h"
#include "fastcommit/fastcommit.h"

/* ---- steps on an update ---- */

static int before(struct xw_tune_run *t, struct xw_update *u)
{
	int rc = 0;

	if (t->work & XW_TUNE_DO_ITREE_DROP)
		rc = xw_update_itree_drop(u, &t->res->itrees_dropped);
	if (!rc && t->work & XW_TUNE_DO_QUOTA_OFF)
		rc = xw_tune_quota_off(t, u);
	if (!rc && t->work & XW_TUNE_DO_ORPHAN_OFF)
		rc = xw_tune_orphan_off(u);
	if (!rc && t->work & XW_TUNE_DO_JOURNAL_OFF)
		rc = xw_tune_journal_off(t, u);
	if (!rc && t->work & XW_TUNE_DO_MMP_OFF)
		rc = xw_tune_mmp_off(u);
	if (!rc && t->work & XW_TUNE_DO_RESIZE_OFF)
		rc = xw_tune_resize_off(u);
	if (!rc && t->work & XW_TUNE_DO_SPARSE)
		rc = xw_tune_sparse(u);
	if (!rc && t->work & XW_TUNE_DO_JOURNAL_ON)
		rc = xw_tune_journal_on(t, u);
	if (!rc && t->work & XW_TUNE_DO_ORPHAN_ON)
		rc = xw_tune_orphan_on(t, u);
	if (!rc && t->work & XW_TUNE_DO_MMP_ON)
		rc = xw_tune_mmp_on(t, u);
	if (!rc && t->work & (XW_TUNE_DO_INDEX | XW_TUNE_DO_UNINDEX | XW_TUNE_DO_TAILS))
		rc = xw_tune_dirs(t, u);
	return rc;
}

static int build_itrees(struct xw_tune_run *t, struct xw_update *u)
{
	return xw_update_itree_build(u, &t->res->itrees_built);
}

/* Open an update on the edit, let `step` make changes, and write them to the edit's device. */
static int with_update(struct xw_tune_run *t,
		       int (*step)(struct xw_tune_run *t, struct xw_update *u))
{
	const struct xw_update_opts o = {
		.now = t->opts->now,
		.mb = {-1, -1, -1, -1, -1, -1},
		.jobs = t->opts->jobs,
	};
	struct xw_update *u;
	int rc = xw_update_begin(xw_edit_dev(t->edit), &o, t->diag, &u);

	if (rc)
		return rc;
	rc = step(t, u);
	if (!rc)
		rc = xw_batch_drain(u->out.batch);
	if (!rc)
		rc = xw_update_flush(u);
	xw_space_stats_add(&t->res->space, u->space);
	xw_update_close(u);
	return rc ? rc : xw_tune_get_super(t, &t->sb);
}

static int all_steps(struct xw_tune_run *t)
{
	int rc = 0;

	if (t->work & XW_TUNE_DO_CENSUS)
		rc = xw_tune_census(t);
	if (!rc && t->work & XW_TUNE_BEFORE)
		rc = with_update(t, before);
	if (!rc && t->work & XW_TUNE_DO_INODES)
		rc = with_update(t, xw_tune_place_tables);
	if (!rc && t->work & XW_TUNE_DO_INODES)
		rc = xw_tune_move_tables(t);
	if (!rc && t->work & XW_TUNE_DO_SWEEP)
		rc = xw_tune_sweep(t);
	if (!rc && t->work & XW_TUNE_DO_ITREE_BUILD)
		rc = with_update(t, build_itrees);
	if (!rc && t->work & XW_TUNE_DO_QUOTA_ON)
		rc = with_update(t, xw_tune_quota_on);
	return rc;
}

/* ---- the run ---- */

/*
 * Changes beyond the superblock need a consistent image. The feature read-only is no obstacle for
 * this tool: it is cleared meanwhile.
 */
static int prepare(struct xw_tune_run *t)
{
	struct xw_super sb = t->sb;

	if (t->want->set & XW_TUNE_HASH_ALG)
		sb.def_hash_version = t->want->hash_version; /* for new indexes */
	if (!(t->work & XW_TUNE_DEEP))
		return 0;
	if (!(sb.state & XW_STATE_VALID) || sb.state & XW_STATE_ERROR || sb.error_count)
		return xw_tune_refuse(t, XW_ERR_STATE,
				      "this operation requires a freshly checked filesystem; run "
				      "xw-fsck -f first");
	sb.feature_ro_compat &= ~XW_RO_READONLY;
	t->sb = sb;
	return xw_tune_put_super(t, &sb);
}

static int finish(struct xw_tune_run *t)
{
	struct xw_super sb = t->sb;
	int rc;

	sb.feature_compat = t->to.feature_compat;
	sb.feature_incompat = t->to.feature_incompat;
	/* Whether orphans are left is a state, which the steps have changed. */
	sb.feature_ro_compat = (t->to.feature_ro_compat & ~XW_RO_ORPHAN_PRESENT) |
			       (t->sb.feature_ro_compat & XW_RO_ORPHAN_PRESENT);
	/*
	 * Revision 0 has no features; other fields of revision 1 were filled in when it was read.
	 */
	if (!sb.rev_level && (sb.feature_compat || sb.feature_incompat || sb.feature_ro_compat))
		sb.rev_level = 1;
	rc = xw_tune_fields(t, &sb);
	if (!rc)
		rc = xw_tune_put_copies(t, &sb);
	t->res->after = sb;
	return rc;
}

static int run(struct xw_tune_run *t)
{
	int rc = xw_tune_get_super(t, &t->sb);

	if (rc)
		return rc;
	if (t->sb.feature_ro_compat & ~(XW_UPDATE_RO_KNOWN | XW_RO_READONLY))
		return xw_tune_refuse(
			t, XW_ERR_UNSUPPORTED, "unknown read-only compatible features 0x%" PRIx32,
			t->sb.feature_ro_compat & ~(XW_UPDATE_RO_KNOWN | XW_RO_READONLY));
	rc = xw_tune_trust(t);
	if (rc)
		return rc;
	t->res->before = t->sb;
	t->res->replayed = xw_edit_recovered(t->edit)->journal.needed;
	rc = xw_tune_plan(t);
	if (!rc)
		rc = prepare(t);
	if (!rc)
		rc = all_steps(t);
	if (!rc)
		rc = finish(t);
	return rc ? rc : xw_edit_commit(t->edit, &t->res->commit);
}

int xw_tune_edit(struct xw_edit *e, const struct xw_tune_opts *opts,
		 const struct xw_tune_want *want, struct xw_diag *diag, struct xw_tune_outcome *res)
{
	struct xw_tune_run t = {
		.opts = opts,
		.want = want,
		.diag = diag,
		.edit = e,
		.name = xw_edit_dev(e)->name,
		.res = res,
	};
	int rc;

	*res = (struct xw_tune_outcome){0};
	rc = run(&t);
	free(t.tables);
	xw_edit_end(t.edit);
	return rc;
}

int xw_tune_image(const char *path, const struct xw_tune_opts *opts,
		  const struct xw_tune_want *want, struct xw_diag *diag,
		  struct xw_tune_outcome *res)
{
	const struct xw_edit_opts eo = {
		.redo_file = opts->redo_file,
		.redo_dir = opts->redo_dir,
		.undo_file = opts->undo_file,
		.offset = opts->offset,
		.how = opts->how,
		.now = opts->now,
		.watch = opts->watch,
		.hold = true,
		.in_use_too = want->set & XW_TUNE_CLEAR_MMP,
	};
	struct xw_edit *e;
	int rc = xw_edit_begin(path, &eo, diag, &e);

	return rc ? rc : xw_tune_edit(e, opts, want, diag, res);
}
