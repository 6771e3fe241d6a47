// SPDX-License-Identifier: MIT
/*
 * One run: the steps that a change needs, each on the state of the edit's device that the previous
 * step left; then one commit.
 *
 *   before   with the old checksums: set or clear features that own blocks; add or remove directory
 *            indexes; make room for checksums in directories
 *   inodes   larger inode tables (inode_size.c)
 *   sweep    convert every checksum, and data that depends on the kind of checksums (sweep.c)
 *   after    with the new checksums: build itrees; create quota files, which count everything else
 *   super    set the other superblock fields, write the backups
 *
 * Each step opens the image again, which is a consistent filesystem at that time. A step may
 * allocate blocks that a previous step has freed: they are in use in the state on disk, so the
 * edit's device holds writes to them in memory until the commit.
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

static int drop_itrees(struct xw_tune_run *t, struct xw_update *u)
{
	return xw_update_itree_drop(u, &t->res->itrees_dropped);
}

static int build_itrees(struct xw_tune_run *t, struct xw_update *u)
{
	return xw_update_itree_build(u, &t->res->itrees_built);
}

typedef int update_step(struct xw_tune_run *t, struct xw_update *u);

static int before_sweep(struct xw_tune_run *t, struct xw_update *u)
{
	static const struct {
		unsigned work;
		update_step *step;
	} rows[] = {
		{XW_TUNE_DO_ITREE_DROP, drop_itrees},
		{XW_TUNE_DO_QUOTA_OFF, xw_tune_quota_off},
		{XW_TUNE_DO_ORPHAN_OFF, xw_tune_orphan_off},
		{XW_TUNE_DO_JOURNAL_OFF, xw_tune_journal_off},
		{XW_TUNE_DO_MMP_OFF, xw_tune_mmp_off},
		{XW_TUNE_DO_RESIZE_OFF, xw_tune_resize_off},
		{XW_TUNE_DO_SPARSE, xw_tune_sparse},
		{XW_TUNE_DO_JOURNAL_ON, xw_tune_journal_on},
		{XW_TUNE_DO_ORPHAN_ON, xw_tune_orphan_on},
		{XW_TUNE_DO_MMP_ON, xw_tune_mmp_on},
		{XW_TUNE_DO_INDEX | XW_TUNE_DO_UNINDEX | XW_TUNE_DO_TAILS, xw_tune_dirs},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		int rc = t->work & rows[i].work ? rows[i].step(t, u) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

/* Open an update on the edit, let `step` make changes, and write them to the edit's device. */
static int with_update(struct xw_tune_run *t, update_step *step)
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
	static const struct {
		unsigned work;
		int (*step)(struct xw_tune_run *t);
		update_step *on_update;
	} rows[] = {
		{XW_TUNE_DO_CENSUS, xw_tune_census, NULL},
		{XW_TUNE_BEFORE, NULL, before_sweep},
		{XW_TUNE_DO_INODES, NULL, xw_tune_place_tables},
		{XW_TUNE_DO_INODES, xw_tune_move_tables, NULL},
		{XW_TUNE_DO_SWEEP, xw_tune_sweep, NULL},
		{XW_TUNE_DO_ITREE_BUILD, NULL, build_itrees},
		{XW_TUNE_DO_QUOTA_ON, NULL, xw_tune_quota_on},
	};
	int rc = 0;

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows) && !rc; i++)
		if (t->work & rows[i].work)
			rc = rows[i].step ? rows[i].step(t) : with_update(t, rows[i].on_update);
	return rc;
}

/* ---- the run ---- */

/*
 * Changes beyond the superblock require a consistent image. The feature read-only, which updates
 * refuse, is cleared during the run.
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
	/* orphan_present is a state that the steps have changed */
	sb.feature_ro_compat = (t->to.feature_ro_compat & ~XW_RO_ORPHAN_PRESENT) |
			       (t->sb.feature_ro_compat & XW_RO_ORPHAN_PRESENT);
	/* revision 0 has no features; the decoder has set other fields of revision 1 */
	if (!sb.rev_level && (sb.feature_compat || sb.feature_incompat || sb.feature_ro_compat))
		sb.rev_level = 1;
	rc = xw_tune_fields(t, &sb);
	if (!rc)
		rc = xw_tune_put_copies(t, &sb);
	t->res->after = sb;
	return rc;
}

/* Known before anything is written, and the commit would refuse it. */
static int check_how(struct xw_tune_run *t)
{
	if (t->opts->how != XW_COMMIT_JOURNAL ||
	    (t->sb.feature_compat == t->to.feature_compat &&
	     t->sb.feature_incompat == t->to.feature_incompat &&
	     t->sb.feature_ro_compat == t->to.feature_ro_compat))
		return 0;
	return xw_tune_refuse(t, XW_ERR_STATE,
			      "cannot commit through the journal: features change");
}

static int run(struct xw_tune_run *t)
{
	struct xw_features unknown = {{0}};
	int rc = xw_tune_get_super(t, &t->sb);

	if (rc)
		return rc;
	if (t->sb.feature_incompat & XW_INCOMPAT_JOURNAL_DEV)
		return xw_tune_refuse(t, XW_ERR_UNSUPPORTED, "Cannot modify a journal device");
	unknown.w[XW_FW_RO_COMPAT] =
		t->sb.feature_ro_compat & ~(XW_UPDATE_RO_KNOWN | XW_RO_READONLY);
	if (unknown.w[XW_FW_RO_COMPAT])
		return xw_features_refuse(t->name, &unknown, t->diag);
	rc = xw_tune_check_super(t);
	if (rc)
		return rc;
	t->res->before = t->sb;
	t->res->replayed = xw_edit_recovered(t->edit)->journal.needed;
	rc = xw_tune_plan(t);
	if (!rc)
		rc = check_how(t);
	if (!rc)
		rc = xw_tune_check_fast_commit(t);
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
