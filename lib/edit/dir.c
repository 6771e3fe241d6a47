// SPDX-License-Identifier: MIT
/*
 * The block store of a directory that is being changed: reads and writes go to the edit's device,
 * which holds changes to live blocks until the commit. New blocks are allocated from the update's
 * space, unneeded ones are freed with the commit.
 *
 * The blocks of the file are known from the start; if the file grew, its map is rewritten at the
 * end.
 */
#include "config.h"

#include "edit/dir.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "edit/edit_internal.h"

static int fail(struct xw_update_dir *ud, int code, const char *why)
{
	return xw_update_fail_dir(ud->u, ud->ino, code, why);
}

/* ---- the store ---- */

static int store_read(void *arg, xw_blk blk, void *buf)
{
	const struct xw_image *img = ((struct xw_update_dir *)arg)->u->img;

	if (!xw_image_has_blocks(img, blk, 1))
		return fail(arg, XW_ERR_CORRUPT, "a block outside the filesystem");
	return xw_dev_pread(img->dev, buf, img->block_size, blk * img->block_size);
}

static int store_write(void *arg, xw_blk blk, const void *buf)
{
	const struct xw_image *img = ((struct xw_update_dir *)arg)->u->img;

	return xw_dev_pwrite(img->dev, buf, img->block_size, blk * img->block_size);
}

static int store_map(void *arg, uint32_t lblk, xw_blk *blk)
{
	struct xw_update_dir *ud = arg;

	*blk = xw_dir_runs_at(&ud->runs, lblk);
	if (*blk)
		return 0;
	return fail(ud, XW_ERR_CORRUPT, "a block past its end");
}

/* Number of blocks in a cluster: contents share clusters, each map block has its own. */
static uint32_t cluster(const struct xw_update_dir *ud)
{
	return 1u << ud->u->place.enc.cluster_bits;
}

static int store_alloc(void *arg, xw_blk goal, xw_blk *blk)
{
	struct xw_update_dir *ud = arg;
	const struct xw_alloc_req req = {.goal = goal < ud->u->img->sb.blocks_count ? goal : 0,
					 .len = 1};
	struct xw_run run;
	int rc = xw_space_alloc(ud->u->space, &req, &run);

	if (rc == XW_ERR_NOSPC)
		return fail(ud, rc, "no free block");
	if (rc)
		return rc;
	*blk = run.start;
	ud->blocks += cluster(ud);
	return 0;
}

static int store_release(void *arg, xw_blk blk)
{
	struct xw_update_dir *ud = arg;

	ud->blocks -= cluster(ud);
	return xw_update_free_one(ud->u, blk);
}

static int store_extend(void *arg, uint32_t lblk, xw_blk *blk)
{
	struct xw_update_dir *ud = arg;
	struct xw_map_run *last = ud->runs.a.n ? &ud->runs.a.v[ud->runs.a.n - 1] : NULL;
	int rc = 0;

	*blk = last ? last->pblk + last->len : 0;
	if (lblk % cluster(ud) == 0)
		rc = store_alloc(ud, *blk, blk);
	if (rc)
		return rc;
	ud->extended = true;
	if (last && last->pblk + last->len == *blk) {
		last->len++;
		return 0;
	}
	if (xw_vec_push(&ud->runs.a, ((struct xw_map_run){lblk, 1, *blk, false}))) {
		if (lblk % cluster(ud) == 0)
			store_release(ud, *blk);
		return xw_fail_nomem(ud->u->diag, "directory");
	}
	return 0;
}

static int store_shrink(void *arg, uint32_t lblk, xw_blk blk)
{
	struct xw_update_dir *ud = arg;

	ud->runs.a.n -= !--ud->runs.a.v[ud->runs.a.n - 1].len;
	return lblk % cluster(ud) ? 0 : store_release(ud, blk);
}

/* ---- opening ---- */

int xw_update_dir_begin(struct xw_update *u, xw_ino ino, struct xw_update_dir *ud)
{
	struct xw_dir_self self = {.ino = ino};
	struct xw_dir_params p = {
		.format = &u->place.enc.dirfmt,
		.self = &self,
		.io = {ud, store_read, store_write, store_map, store_extend, store_shrink,
		       store_alloc, store_release},
		.diag = u->diag,
		.name = u->img->dev->name,
	};
	int rc;

	*ud = (struct xw_update_dir){.u = u, .ino = ino};
	rc = xw_update_get(u, ino, &ud->in, &ud->raw);
	if (!rc && (ud->in.mode & XW_S_IFMT) != XW_S_IFDIR)
		rc = fail(ud, XW_ERR_INPUT, "not a directory");
	if (!rc && ud->in.flags & XW_FL_INLINE_DATA)
		rc = fail(ud, XW_ERR_UNSUPPORTED, "has its names in the inode");
	if (!rc && ud->in.size % u->img->block_size)
		rc = fail(ud, XW_ERR_CORRUPT, "its size is not a multiple of the block size");
	if (!rc)
		rc = xw_dir_runs_read(u->img, ino, &ud->in, &ud->runs);
	if (rc)
		return rc;
	self.generation = ud->in.generation;
	self.inode_seed = xw_image_inode_seed(u->img, ino, &ud->in);
	p.blocks = (uint32_t)(ud->in.size / u->img->block_size);
	p.flags = ud->in.flags;
	return xw_dir_load(&p, &ud->d);
}

void xw_update_dir_end(struct xw_update_dir *ud)
{
	xw_dir_close(&ud->d);
	xw_dir_runs_free(&ud->runs);
	free(ud->raw);
	ud->raw = NULL;
}

/* ---- writing ---- */

/* Blocks mapped past the end of the directory were never accessible: free them. */
static int put_map(struct xw_update_dir *ud)
{
	const uint64_t end = ud->in.size / ud->u->img->block_size;
	const uint64_t freed = ud->u->stats.freed_blocks;
	auto_update_map struct xw_update_map m = {0};
	int64_t gain = 0;
	int rc;

	if (!ud->extended)
		return 0;
	rc = xw_update_map_load(ud->u, ud->ino, &ud->in, &m);
	if (!rc)
		rc = xw_update_map_punch(ud->u, &m, end, UINT32_MAX);
	ud->blocks -= (int64_t)(ud->u->stats.freed_blocks - freed);
	m.e.n = 0;
	for (size_t i = 0; i < ud->runs.a.n && !rc; i++)
		rc = xw_update_map_add(ud->u, &m, ud->runs.a.v[i]);
	ud->in.size = (uint64_t)ud->d.now.blocks * ud->u->img->block_size;
	if (!rc)
		rc = xw_update_map_put(ud->u, ud->ino, &ud->in, &m, &gain);
	ud->blocks += gain;
	return rc;
}

static int put_blocks(struct xw_update_dir *ud)
{
	const uint32_t bs = ud->u->img->block_size;
	const uint64_t was = xw_update_bytes(ud->u, &ud->in) / bs;

	if (!ud->blocks)
		return 0;
	if (ud->blocks < 0 && was < (uint64_t)-ud->blocks)
		return fail(ud, XW_ERR_CORRUPT,
			    "has more blocks than its i_blocks; run xw-fsck -f");
	ud->in.flags &= ~XW_FL_HUGE_FILE;
	if (xw_inode_set_blocks(&ud->in, &ud->u->img->sb, was + (uint64_t)ud->blocks))
		return fail(ud, XW_ERR_LIMIT,
			    "more blocks than a file may have with these features");
	return xw_update_charge(ud->u, &ud->in, 0, ud->blocks * bs);
}

int xw_update_dir_put(struct xw_update_dir *ud)
{
	int rc = xw_dir_flush(&ud->d);

	if (!rc)
		rc = put_map(ud);
	if (!rc)
		rc = put_blocks(ud);
	if (rc)
		return rc;
	ud->in.flags &= ~(XW_FL_INDEX | XW_FL_ITREE);
	ud->in.flags |= ud->d.now.indexed ? XW_FL_INDEX : 0;
	ud->in.flags |= ud->d.now.itree ? XW_FL_ITREE : 0;
	return xw_update_put(ud->u, ud->ino, &ud->in, steal(ud->raw));
}
