// SPDX-License-Identifier: MIT
/*
 * The sweep over the blocks of one inode that have checksums: extent tree blocks, directory blocks,
 * itree nodes, the orphan file.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/itree.h"
#include "disk/orphan.h"
#include "read/itree.h"
#include "read/map.h"
#include "tune/dirblock.h"
#include "tune/sweep.h"
#include "walk/itree.h"

/* The current inode. */
struct owner {
	struct xw_sweep *s;
	xw_ino ino;
	const struct xw_inode *in;
	uint32_t old_seed, new_seed;
	XW_VEC(xw_blk) nodes; /* extent tree blocks */
	XW_VEC(struct xw_run) runs; /* blocks of the orphan file */
};

static int bad(const struct owner *o, xw_blk blk, int code, const char *what)
{
	const struct xw_image *img = o->s->img;

	return xw_fail(img->diag, code,
		       "%s: inode %" PRIu32 ": block %" PRIu64 ": %s; run xw-fsck -f",
		       img->dev->name, o->ino, blk, what);
}

/* ---- maps ---- */

static int on_node(void *arg, xw_blk blk, unsigned depth)
{
	struct owner *o = arg;

	(void)depth;
	return xw_vec_push(&o->nodes, blk) ? xw_fail_nomem(o->s->img->diag, "extent tree") : 0;
}

/* Read the map, which verifies it by the old rules; the new checksums are set afterwards. */
static int walk_map(struct owner *o, bool keep_runs)
{
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	int rc = xw_map_begin(o->s->img, o->ino, o->in, 0, &it);

	it.on_node = on_node;
	it.arg = o;
	while (!rc && (rc = xw_map_next(&it, &run)) == 1)
		rc = keep_runs && xw_vec_push(&o->runs, ((struct xw_run){run.pblk, run.len}))
			     ? xw_fail_nomem(o->s->img->diag, "orphan file")
			     : 0;
	return rc;
}

static int seal_nodes(struct owner *o)
{
	for (size_t i = 0; i < o->nodes.n; i++) {
		int rc = xw_sweep_get(o->s, o->nodes.v[i]);

		xw_extent_block_set_csum(o->s->buf, o->s->img->block_size, o->new_seed);
		if (!rc)
			rc = xw_sweep_put(o->s, o->nodes.v[i]);
		if (rc)
			return rc;
	}
	return 0;
}

static int orphan_block(struct owner *o, xw_blk blk)
{
	struct xw_sweep *s = o->s;
	const uint32_t bs = s->img->block_size;
	int rc = xw_sweep_get(s, blk);

	if (!rc && xw_orphan_verify(s->buf, bs, s->old_csum, o->old_seed, blk))
		rc = bad(o, blk, XW_ERR_CHECKSUM, "the orphan file is damaged");
	if (rc)
		return rc;
	xw_orphan_seal(s->buf, bs, s->new_csum, o->new_seed, blk);
	return xw_sweep_put(s, blk);
}

static int orphan_file(struct owner *o)
{
	int rc = 0;

	for (size_t i = 0; i < o->runs.n; i++)
		for (uint64_t k = 0; k < o->runs.v[i].len && !rc; k++)
			rc = orphan_block(o, o->runs.v[i].start + k);
	return rc;
}

/* ---- directories ---- */

static int dir_block(void *arg, xw_blk blk, enum xw_tune_kind kind)
{
	struct owner *o = arg;
	struct xw_sweep *s = o->s;
	const uint32_t bs = s->img->block_size;
	int rc = xw_sweep_get(s, blk);

	if (!rc && s->old_csum && xw_tune_block_verify(s->buf, bs, kind, o->old_seed))
		rc = bad(o, blk, XW_ERR_CHECKSUM, "directory block checksum mismatch");
	if (rc)
		return rc;
	if (s->new_csum && !s->old_csum) {
		rc = xw_tune_block_add_tail(s->buf, bs, kind);
		if (rc) /* dirs.c has already rebuilt directories without room */
			return bad(o, blk, rc == XW_ERR_NOSPC ? XW_ERR_INTERNAL : rc,
				   "no space for a checksum");
	} else if (s->old_csum && !s->new_csum) {
		xw_tune_block_drop_tail(s->buf, bs, kind);
	}
	if (s->retype && kind != XW_TUNE_NODE)
		xw_tune_block_set_types(s->buf, bs, s->types, s->img->sb.inodes_count);
	if (s->new_csum)
		xw_tune_block_seal(s->buf, bs, kind, o->new_seed);
	return xw_sweep_put(s, blk);
}

/* ---- itrees ---- */

static int read_node(void *arg, xw_blk blk, void *buf)
{
	struct xw_sweep *s = arg;
	int rc = xw_sweep_get(s, blk);

	if (!rc)
		memcpy(buf, s->buf, s->img->block_size);
	return rc;
}

/* Set new checksums in all nodes. */
static int itree(struct owner *o)
{
	struct xw_sweep *s = o->s;
	const struct xw_walk_itree_env env = {
		.block_size = s->img->block_size,
		.csum = s->old_csum,
		.any_names = true,
		.dir = o->ino,
		.generation = o->in->generation,
		.seed = o->old_seed,
		.first_data_block = s->img->sb.first_data_block,
		.blocks_count = s->img->sb.blocks_count,
		.read = read_node,
		.arg = s,
	};
	struct xw_walk_itree_item item;
	struct xw_walk_itree it;
	xw_blk root;
	int more, rc = xw_itree_root(s->img, o->ino, o->in, &root);

	if (rc)
		return rc;
	rc = xw_walk_itree_begin(&it, &env, root);
	while (!rc && (more = xw_walk_itree_next(&it, &item)) == 1) {
		if (item.kind != XW_WALK_ITREE_NODE)
			continue;
		memcpy(s->buf, item.block, s->img->block_size);
		xw_itree_set_csum(s->buf, s->img->block_size, s->new_csum, o->new_seed);
		rc = xw_sweep_put(s, item.blk);
	}
	if (!rc && more == 2)
		rc = bad(o, item.blk, item.code, item.what);
	else if (rc == XW_ERR_NOMEM || (!rc && more < 0))
		rc = xw_fail_nomem(s->img->diag, "itree");
	xw_walk_itree_end(&it);
	return rc;
}

/* If the kind of checksums changes, itrees have been dropped; here only the seed changes. */
static bool has_itree(const struct owner *o)
{
	const struct xw_super *sb = &o->s->img->sb;

	return sb->feature_ro_compat & XW_RO_ITREE && o->in->flags & XW_FL_ITREE &&
	       o->in->flags & XW_FL_INDEX && !(o->in->flags & XW_FL_INLINE_DATA);
}

static int directory(struct owner *o)
{
	auto_end(xw_tune_dirmap_free) struct xw_tune_dirmap m = {0};
	int rc = has_itree(o) ? itree(o) : 0;

	if (!rc)
		rc = xw_tune_dirmap_read(o->s->img, o->ino, o->in, &m);
	return rc ? rc : xw_tune_dirmap_each(&m, dir_block, o);
}

/* ---- the inode ---- */

static int sweep_map(struct owner *o)
{
	struct xw_sweep *s = o->s;
	const bool is_orphan = s->img->sb.feature_compat & XW_COMPAT_ORPHAN_FILE &&
			       o->ino == s->img->sb.orphan_file_inum;
	const bool nodes = s->new_csum && o->in->flags & XW_FL_EXTENTS;
	int rc = nodes || is_orphan ? walk_map(o, is_orphan) : 0;

	if (!rc && (o->in->mode & XW_S_IFMT) == XW_S_IFDIR)
		rc = directory(o);
	if (!rc && is_orphan)
		rc = orphan_file(o);
	if (!rc && nodes)
		rc = seal_nodes(o);
	xw_vec_free(&o->nodes);
	xw_vec_free(&o->runs);
	return rc;
}

int xw_sweep_inode(struct xw_sweep *s, xw_ino ino, struct xw_inode *in, uint8_t *raw)
{
	struct owner o = {
		.s = s,
		.ino = ino,
		.in = in,
		.old_seed = xw_image_inode_seed(s->img, ino, in),
		.new_seed = xw_inode_seed(s->seed, ino, in->generation),
	};
	int rc = 0;

	if (in->file_acl && (s->new_csum || s->rehash) &&
	    xw_vec_push(&s->xattr_blocks, in->file_acl))
		rc = xw_fail_nomem(s->img->diag, "xattr blocks");
	if (!rc && xw_inode_has_map(in))
		rc = sweep_map(&o);
	if (!rc && s->rehash)
		rc = xw_sweep_ibody(s, in, raw);
	if (!rc && s->rehash && in->flags & XW_FL_EA_INODE)
		xw_sweep_value(s, ino, in, raw);
	return rc;
}
