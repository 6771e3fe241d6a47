// SPDX-License-Identifier: MIT
/*
 * One run of an import: the image opened for change, the sources over its tree, new contents to
 * free space as they arrive, metadata behind them, one commit.
 */
#include "config.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "api/import.h"
#include "base/auto.h"
#include "disk/indirect.h"
#include "tree/image.h"
#include "update/update.h"

struct run {
	struct xw_import *x;
	const char *path;
	struct xw_edit *edit; /* given by the caller; NULL: path is opened */
	struct xw_update *u;
	struct xw_tree tree;
	struct xw_tree_image image;
	struct xw_sink sink;
	struct xw_fill fill;
	struct xw_source *source;
	struct xw_commit_info info;
	struct timespec begin, last_tick;
};

static double seconds_since(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - t->tv_sec) + (double)(now.tv_nsec - t->tv_nsec) / 1e9;
}

static int report(struct run *r, const char *phase)
{
	struct xw_mkfs *m = &r->x->m;
	const struct xw_progress p = {
		.phase = phase,
		.done = r->source ? xw_source_consumed(r->source) : m->result.bytes_in,
		.total = r->source ? r->source->total : m->result.bytes_in,
		.files = r->fill.entries,
	};

	clock_gettime(CLOCK_MONOTONIC, &r->last_tick);
	if (m->progress && m->progress(m->progress_arg, &p))
		return xw_fail(&m->diag, XW_ERR_IO, "%s: interrupted; the image is unchanged",
			       r->path);
	return 0;
}

static int tick(void *arg)
{
	struct run *r = arg;

	return r->x->m.progress && seconds_since(&r->last_tick) >= 0.1 ? report(r, "data") : 0;
}

static int tick_entry(void *arg, uint64_t entries)
{
	return entries % 256 ? 0 : tick(arg);
}

/* ---- set-up ---- */

static int old_xattrs(void *u, const struct xw_binode *n, struct xw_xattr_set *set)
{
	return xw_update_xattrs(u, n->ino, set);
}

static int open_xattrs(struct run *r)
{
	const struct xw_image *img = r->u->img;
	const uint32_t extra = XW_MIN(img->inode_size - XW_INODE_BODY, XW_INODE_EXTRA_WANTED);
	const struct xw_xintern_opts o = {
		.ibody = img->inode_size - XW_INODE_BODY - extra,
		.block_size = img->block_size,
		.cluster_size = img->block_size << xw_image_cluster_bits(img),
		.ea_inode = img->sb.feature_incompat & XW_INCOMPAT_EA_INODE,
		.csum_seed = img->csum_seed,
	};
	int ret = xw_share_new(img->block_size, XW_CACHE_BUILD, &r->u->b.share);

	if (!ret)
		ret = xw_xintern_new(&o, &r->u->b.intern);
	r->fill.latest = extra ? (1ll << 34) - (1ll << 31) - 1 : INT32_MAX;
	return ret ? xw_fail_nomem(&r->x->m.diag, "xattr sharing") : 0;
}

static int open_fill(struct run *r)
{
	struct xw_mkfs *m = &r->x->m;
	struct xw_update *u = r->u;
	const bool extents = u->img->sb.feature_incompat & XW_INCOMPAT_EXTENTS;
	int ret = open_xattrs(r);

	if (ret)
		return ret;
	r->sink = (struct xw_sink){
		.space = u->space,
		.out = &u->out,
		.diag = &m->diag,
		.missing = &u->b.missing,
		.block_size = u->img->block_size,
		.cluster_bits = u->b.geo.cluster_bits,
		.max_lblk = extents ? UINT32_MAX : xw_indirect_max_lblk(u->img->block_size),
		.tick = tick,
		.tick_arg = r,
	};
	xw_run_inline(&r->sink, &u->b, &r->tree);
	r->fill.tree = &r->tree;
	r->fill.sink = &r->sink;
	r->fill.share = u->b.share;
	r->fill.intern = u->b.intern;
	r->fill.xattrs_allowed = u->img->sb.feature_compat & XW_COMPAT_EXT_ATTR;
	xw_run_fill_options(m, &r->fill);
	if (m->whiteouts == XW_WHITEOUTS_AUTO)
		r->fill.whiteouts = XW_WHITEOUTS_APPLY; /* there is a layer below: the image */
	r->fill.old_xattrs = old_xattrs;
	r->fill.old_xattrs_arg = u;
	r->fill.tick = tick_entry;
	r->fill.tick_arg = r;
	xw_fill_listen(&r->fill);
	return 0;
}

static int prepare(struct run *r)
{
	struct xw_mkfs *m = &r->x->m;
	const struct xw_update_opts o = {
		.redo_file = r->x->redo_file,
		.offset = m->params.offset,
		.how = r->x->how,
		.now = m->params.now,
		.mb = m->params.mb,
		.jobs = m->jobs,
	};
	int ret = r->edit ? xw_update_begin(steal(r->edit), &o, &m->diag, &r->u)
			  : xw_update_open(r->path, &o, &m->diag, &r->u);

	if (!ret)
		ret = xw_tree_init(&r->tree, m->params.now, &m->diag);
	if (!ret)
		ret = xw_tree_image_init(&r->image, &r->tree, r->u->img);
	return ret ? ret : open_fill(r);
}

/* ---- the run ---- */

static int fill(struct run *r)
{
	struct stat st = {0};
	const struct xw_run_sources s = {
		.m = &r->x->m,
		.fill = &r->fill,
		.current = &r->source,
		.tick = {tick, r},
		.threaded = r->x->m.jobs != 1,
		.skip = {stat(r->path, &st) ? (struct xw_file_id){0}
					    : (struct xw_file_id){st.st_dev, st.st_ino}},
	};

	return xw_run_fill(&s);
}

static int build(struct run *r)
{
	int ret = report(r, "metadata");

	r->u->b.goal = r->sink.goal;
	r->u->b.sources = r->x->m.sources.v;
	r->u->large_file = r->fill.large_file;
	if (!ret)
		ret = xw_update_tree(r->u, &r->tree);
	if (!ret)
		ret = report(r, "flush");
	return ret ? ret : xw_update_commit(r->u, &r->info);
}

static void summarise(struct run *r)
{
	struct xw_import_result *res = &r->x->result;
	const struct xw_update *u = r->u;
	struct xw_batch_stats st;
	struct xw_run_count c;

	xw_run_count(r->tree.first, &c);
	xw_run_statistics(&r->x->m, u->space, u->b.share);
	xw_batch_stats(u->out.batch, &st);
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
		.data_blocks = r->sink.data_blocks,
		.extents = c.extents,
		.inline_inodes = c.in_inodes,
		.files_with_data = c.files_with_data,
		.replaced_blocks = r->sink.replaced_blocks,
		.block_size = u->img->block_size,
		.free_blocks = u->img->sb.free_blocks_count,
		.free_inodes = u->img->sb.free_inodes_count,
		.commit_blocks = r->info.blocks,
		.bytes_in = r->x->m.result.bytes_in,
		.bytes_written = st.bytes,
		.warnings = r->x->m.diag.warnings,
		.by_journal = r->info.how == XW_COMMIT_JOURNAL,
		.replayed = xw_edit_recovered(u->edit)->journal.needed,
		.seconds = seconds_since(&r->begin),
	};
}

static void cleanup(struct run *r)
{
	struct xw_share *share = r->u ? r->u->b.share : NULL;
	struct xw_xintern *intern = r->u ? r->u->b.intern : NULL;

	xw_source_close(r->source);
	xw_sink_free(&r->sink);
	xw_fill_free(&r->fill);
	xw_update_close(r->u);
	xw_share_free(share);
	xw_xintern_free(intern);
	xw_tree_image_free(&r->image);
	xw_tree_free(&r->tree);
}

int xw_import_run_edit(struct xw_import *x, const char *path, struct xw_edit *e)
{
	struct run *r;
	int ret;

	x->m.ran = true;
	r = calloc(1, sizeof(*r));
	if (!r) {
		xw_edit_end(e);
		return xw_fail_nomem(&x->m.diag, "run");
	}
	r->x = x;
	r->path = path;
	r->edit = e;
	clock_gettime(CLOCK_MONOTONIC, &r->begin);
	r->last_tick = r->begin;
	ret = prepare(r);
	if (!ret)
		ret = fill(r);
	if (!ret)
		ret = build(r);
	if (!ret)
		summarise(r);
	else if (!x->m.diag.code)
		xw_fail(&x->m.diag, ret, "%s: %s", path, xw_err_text(ret));
	cleanup(r);
	free(r);
	return ret;
}

int xw_import_run(struct xw_import *x, const char *path)
{
	xw_diag_clear(&x->m.diag);
	if (x->m.ran)
		return xw_fail(&x->m.diag, XW_ERR_STATE, "%s: the handle has run", path);
	return xw_import_run_edit(x, path, NULL);
}
