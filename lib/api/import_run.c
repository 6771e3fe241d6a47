// SPDX-License-Identifier: MIT
/*
 * One run of an import: open the image, merge the sources into its tree while their contents are
 * written to free space, then write metadata and commit once. A dry run discards contents, holds
 * changed metadata in memory, and does not commit.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/import.h"
#include "api/option.h"
#include "base/auto.h"
#include "edit/edit.h"
#include "tree/image.h"
#include "update/inode.h"

struct run {
	struct xw_import *x;
	const char *path;
	struct xw_edit *edit; /* from the caller, or NULL until path is opened */
	struct xw_update *u;
	struct xw_intake in;
	struct xw_tree_image image;
	struct xw_commit_info info;
	struct xw_dev *nowhere; /* null device used by a dry run */
	struct xw_out contents;
};

/* ---- set-up ---- */

static int old_xattrs(void *u, const struct xw_binode *n, struct xw_xattr_set *set)
{
	return xw_update_xattrs(u, n->ino, set);
}

static int open_fill(struct run *r)
{
	struct xw_fill *f = &r->in.fill;
	const int rc = xw_intake_open(&r->in, &r->u->place);

	if (f->whiteouts == XW_WHITEOUTS_AUTO)
		f->whiteouts = XW_WHITEOUTS_APPLY; /* the image is the lower layer */
	f->existing = r->x->existing;
	f->old_xattrs = old_xattrs;
	f->old_xattrs_arg = r->u;
	return rc;
}

static int open_nowhere(struct run *r)
{
	struct xw_diag *diag = &r->x->m.diag;
	int rc = xw_dev_open_null("nowhere", diag, &r->nowhere);

	if (!rc)
		rc = xw_batch_new(r->nowhere, 0, false, diag, &r->contents.batch);
	r->in.sink.out = &r->contents;
	return rc;
}

static int prepare(struct run *r)
{
	struct xw_mkfs *m = &r->x->m;
	const struct xw_edit_opts eo = {
		.redo_file = r->x->redo_file,
		.redo_dir = r->x->redo_dir,
		.undo_file = r->x->undo_file,
		.offset = m->params.offset,
		.how = r->x->how,
		.now = m->params.now,
		.hold = true,
		.recover = r->x->dry_run ? XW_RECOVER_RDONLY : 0,
	};
	const struct xw_update_opts o = {
		.now = m->params.now,
		.mb = m->params.mb,
		.jobs = m->jobs,
	};
	int rc = xw_run_oci_config_check(m, r->path);

	if (rc)
		return rc;
	if (r->x->dry_run && !r->edit && access(r->path, W_OK)) /* a real run would fail as well */
		return xw_fail_errno(&m->diag, XW_ERR_IO, errno, "%s: cannot open", r->path);
	if (!r->edit)
		rc = xw_edit_begin(r->path, &eo, &m->diag, &r->edit);
	if (!rc)
		rc = xw_update_begin(xw_edit_dev(r->edit), &o, &m->diag, &r->u);
	r->in.edit = rc || r->x->dry_run ? NULL : r->edit;
	if (!rc)
		rc = xw_tree_init(&r->in.tree, m->params.now, &m->diag);
	if (!rc)
		rc = xw_tree_image_init(&r->image, &r->in.tree, r->u->img);
	if (!rc)
		rc = open_fill(r);
	return rc || !r->x->dry_run ? rc : open_nowhere(r);
}

/* ---- the run ---- */

static int fill(struct run *r)
{
	struct stat st = {0};
	const struct xw_file_id skip[2] = {stat(r->path, &st)
						   ? (struct xw_file_id){0}
						   : (struct xw_file_id){st.st_dev, st.st_ino}};

	return xw_intake_read(&r->in, r->x->m.jobs != 1, skip);
}

static int build(struct run *r)
{
	int rc = xw_intake_report(&r->in, "metadata");

	r->u->place.goal = r->in.sink.goal;
	r->u->place.enc.sources = r->in.fill.layers.v;
	r->u->large_file = r->in.fill.large_file;
	if (!rc)
		rc = xw_update_tree(r->u, &r->in.tree);
	if (!rc)
		rc = xw_intake_report(&r->in, "flush");
	if (!rc)
		rc = xw_update_flush(r->u);
	if (!rc && r->x->dry_run) {
		rc = xw_edit_preview(r->edit, &r->info);
		r->info.blocks = 0; /* a commit may need another number of blocks */
		return rc;
	}
	if (!rc)
		rc = xw_run_oci_config(&r->x->m);
	return rc ? rc : xw_edit_commit(r->edit, &r->info);
}

static void summarise(struct run *r)
{
	struct xw_import_result *res = &r->x->result;
	const struct xw_update *u = r->u;
	struct xw_batch_stats st;
	struct xw_run_count c;

	xw_run_count(r->in.tree.first, &c);
	xw_run_statistics(&r->x->m, u->space, u->place.share, u->place.intern);
	xw_batch_stats(u->out.batch, &st);
	if (r->x->dry_run)
		st.bytes = 0;
	*res = (struct xw_import_result){
		.files = c.files,
		.directories = c.directories,
		.symlinks = c.symlinks,
		.specials = c.specials,
		.hardlinks = c.hardlinks,
		.new_inodes = u->stats.new_inodes,
		.removed_inodes = u->stats.freed_inodes,
		.freed_blocks = u->stats.freed_blocks,
		.rebuilt_directories = u->stats.rebuilt_directories,
		.orphans = u->stats.orphans,
		.data_blocks = r->in.sink.data_blocks,
		.extents = c.extents,
		.inline_inodes = c.in_inodes,
		.files_with_data = c.files_with_data,
		.replaced_blocks = r->in.sink.replaced_blocks,
		.block_size = u->img->block_size,
		.free_blocks = u->img->sb.free_blocks_count,
		.free_inodes = u->img->sb.free_inodes_count,
		.commit_blocks = r->info.blocks,
		.bytes_in = r->x->m.result.bytes_in,
		.bytes_written = st.bytes,
		.warnings = r->x->m.diag.warnings,
		.commit = xw_commit_how_name(r->info.how),
		.replayed = xw_edit_recovered(r->edit)->journal.needed,
		.seconds = xw_intake_seconds(&r->in),
	};
}

static void cleanup(struct run *r)
{
	struct xw_share *share = r->u ? r->u->place.share : NULL;
	struct xw_xintern *intern = r->u ? r->u->place.intern : NULL;

	xw_intake_close(&r->in);
	xw_batch_free(r->contents.batch);
	if (r->nowhere)
		xw_dev_close(r->nowhere);
	xw_update_close(r->u);
	xw_edit_end(r->edit);
	xw_share_free(share);
	xw_xintern_free(intern);
	xw_tree_image_free(&r->image);
	xw_tree_free(&r->in.tree);
}

int xw_import_run_edit(struct xw_import *x, const char *path, struct xw_edit *e)
{
	struct run *r;
	int rc;

	x->m.ran = true;
	r = calloc(1, sizeof(*r));
	if (!r) {
		xw_edit_end(e);
		return xw_fail_nomem(&x->m.diag, "run");
	}
	r->x = x;
	r->path = path;
	r->edit = e;
	xw_intake_begin(&r->in, &x->m, path);
	r->in.interrupted = "interrupted; the image is unchanged";
	rc = prepare(r);
	if (!rc)
		rc = fill(r);
	if (!rc)
		rc = build(r);
	if (!rc)
		summarise(r);
	else if (!x->m.diag.code)
		xw_fail(&x->m.diag, rc, "%s: %s", path, xw_err_text(rc));
	xw_fail_repair(&x->m.diag);
	cleanup(r);
	free(r);
	return rc || x->dry_run ? rc : xw_run_oci_config_publish(&x->m);
}

int xw_import_run(struct xw_import *x, const char *path)
{
	int rc = xw_option_given(x ? &x->m.diag : NULL, path, "path");

	if (!rc)
		rc = xw_option_unused(x->m.ran, path, &x->m.diag);
	return rc ? rc : xw_import_run_edit(x, path, NULL);
}
