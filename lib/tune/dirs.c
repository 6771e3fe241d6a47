// SPDX-License-Identifier: MIT
/*
 * Directories as features change, one after the other: indexed, rid of their index, given room for
 * checksums.
 *
 * An index goes in place: its blocks become leaves without names. Where one comes, or where a block
 * is too full for a checksum, the directory is built anew by the bulk builder; into the blocks it
 * has if it needs as many, else into new ones. What is too full is only found out here: blocks with
 * room are changed by the sweep.
 *
 * Directories that ignore case are never indexed anew: the hash of a folded name is not known here.
 * One that has an index and must be built anew loses it; lookups work without.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/auto.h"
#include "read/dirs.h"
#include "tune/dirblock.h"
#include "tune/tune_internal.h"
#include "update/edit.h"

/* Blocks of a directory that are held for the commit at most, when it is built where it is. */
#define IN_PLACE_MAX 64u

struct job {
	struct xw_tune *t;
	struct xw_update *u;
	xw_ino ino;
	struct xw_inode in;
	uint8_t *raw; /* owned */
	struct xw_tune_dirmap map;
	/* built anew */
	struct xw_dir_format format;
	struct xw_dir_shape shape;
	XW_VEC(struct xw_dir_entry) entries;
	struct xw_arena names;
	xw_ino parent;
	struct xw_update_map to; /* where */
	bool rebuilt;
	uint8_t *buf; /* a block */
};

/* ---- in place ---- */

static int unindex_block(void *arg, xw_blk blk, enum xw_tune_kind kind)
{
	struct job *j = arg;
	const uint32_t bs = j->u->img->block_size;
	const bool csum = xw_super_has_csum(&j->u->img->sb);
	int ret;

	if (kind == XW_TUNE_LEAF)
		return 0;
	ret = xw_dev_pread(j->u->img->dev, j->buf, bs, blk * bs);
	if (ret)
		return ret;
	xw_tune_block_unindex(j->buf, bs, csum, kind);
	if (csum)
		xw_tune_block_seal(j->buf, bs, XW_TUNE_LEAF,
				   xw_image_inode_seed(j->u->img, j->ino, &j->in));
	return xw_dev_pwrite(j->u->img->dev, j->buf, bs, blk * bs);
}

static int unindex(struct job *j)
{
	int ret = xw_tune_dirmap_each(&j->map, unindex_block, j);

	if (ret)
		return ret;
	free(j->map.kinds);
	j->map.kinds = NULL;
	j->in.flags &= ~XW_FL_INDEX;
	j->t->res->indexes_dropped++;
	return 0;
}

static int fits_tail(void *arg, xw_blk blk, enum xw_tune_kind kind)
{
	struct job *j = arg;
	const uint32_t bs = j->u->img->block_size;
	const int ret = xw_dev_pread(j->u->img->dev, j->buf, bs, blk * bs);

	return ret ? ret : xw_tune_block_add_tail(j->buf, bs, kind);
}

/* ---- built anew ---- */

static int take(struct job *j, const struct xw_dirent *e)
{
	struct xw_dir_entry to = {.name_len = e->name_len, .ftype = e->ftype, .ino = e->ino};

	if (xw_name_is_dots(e->name, e->name_len)) {
		if (e->name_len == 2)
			j->parent = e->ino;
		return 0;
	}
	to.name = xw_arena_dup(&j->names, e->name, e->name_len);
	if (!to.name || xw_vec_push(&j->entries, to))
		return xw_fail_nomem(j->u->diag, "directory");
	return 0;
}

static int read_entries(struct job *j)
{
	struct xw_dir_iter it;
	struct xw_dirent e;
	int ret = xw_dir_begin(j->u->img, j->ino, &j->in, j->raw, &it);

	while (!ret && (ret = xw_dir_next(&it, &e, NULL)) == 1)
		ret = take(j, &e);
	xw_dir_end(&it);
	if (!ret && !j->parent)
		ret = xw_fail(j->u->diag, XW_ERR_CORRUPT,
			      "%s: directory inode %" PRIu32 ": no \"..\"; run xw-fsck -f",
			      j->u->img->dev->name, j->ino);
	return ret;
}

/* The blocks it has serve where they are as many, and can be held; else there are new ones. */
static int place(struct job *j, bool *in_place)
{
	int ret = xw_update_map_read(j->u, j->ino, &j->in, &j->to);

	*in_place = j->shape.blocks == j->map.blocks && j->shape.blocks <= IN_PLACE_MAX;
	if (ret || *in_place)
		return ret;
	ret = xw_update_map_punch(j->u, &j->to, 0, UINT32_MAX);
	return ret ? ret : xw_update_map_alloc(j->u, j->ino, &j->to, j->shape.blocks);
}

static int put_block(void *arg, uint32_t lblk, const void *block)
{
	struct job *j = arg;
	const struct xw_extent *e = j->to.e.v;
	const uint64_t bs = j->u->img->block_size;

	while (lblk >= (uint64_t)e->lblk + e->len)
		e++;
	return xw_out_write(&j->u->out, (e->pblk + lblk - e->lblk) * bs, block, bs);
}

static int emit(struct job *j)
{
	const struct xw_dir_self self = {
		.ino = j->ino,
		.parent = j->parent,
		.generation = j->in.generation,
		.inode_seed = xw_image_inode_seed(j->u->img, j->ino, &j->in),
	};
	int ret =
		xw_dir_emit(&j->format, &j->shape, j->entries.v, j->entries.n, &self, put_block, j);

	return ret ? ret : xw_batch_drain(j->u->out.batch);
}

/* index: only for that, so not where the names need none. */
static int rebuild(struct job *j, bool index)
{
	bool in_place;
	int ret = read_entries(j);

	if (j->in.flags & XW_FL_CASEFOLD)
		j->format.dir_index = false;
	if (!ret && xw_dir_shape(&j->format, j->entries.v, j->entries.n, 0, &j->shape))
		ret = xw_fail(j->u->diag, XW_ERR_LIMIT,
			      "%s: directory inode %" PRIu32 ": cannot be built anew: too large",
			      j->u->img->dev->name, j->ino);
	if (!ret && index && !j->shape.indexed)
		return 0;
	if (!ret)
		ret = place(j, &in_place);
	if (!ret)
		ret = emit(j);
	if (!ret && !in_place) {
		j->in.size = (uint64_t)j->shape.blocks * j->u->img->block_size;
		ret = xw_update_map_write(j->u, j->ino, &j->in, &j->to);
	}
	j->rebuilt = true;
	j->in.flags &= ~XW_FL_INDEX;
	j->in.flags |= j->shape.indexed ? XW_FL_INDEX : 0;
	j->t->res->directories_rebuilt++;
	return ret;
}

/* ---- one directory ---- */

static int decide(struct job *j)
{
	const unsigned work = j->t->work;
	const bool indexed = j->in.flags & XW_FL_INDEX;
	const bool folds = j->in.flags & XW_FL_CASEFOLD;
	int ret = 0;

	if (work & XW_TUNE_DO_UNINDEX && indexed)
		ret = unindex(j);
	if (!ret && work & XW_TUNE_DO_INDEX && !indexed && !folds && j->map.blocks > 1)
		ret = rebuild(j, true);
	if (ret || j->rebuilt || !(work & XW_TUNE_DO_TAILS))
		return ret;
	ret = xw_tune_dirmap_each(&j->map, fits_tail, j);
	if (ret != XW_ERR_NOSPC)
		return ret;
	j->entries.n = 0;
	return rebuild(j, false);
}

static int one(struct xw_tune *t, struct xw_update *u, xw_ino ino)
{
	struct job j = {.t = t, .u = u, .ino = ino, .format = u->place.enc.dirfmt};
	uint32_t flags;
	uint64_t size;
	int ret = xw_update_get(u, ino, &j.in, &j.raw);

	flags = j.in.flags;
	size = j.in.size;
	j.buf = malloc(u->img->block_size);
	if (!ret && !j.buf)
		ret = xw_fail_nomem(u->diag, "directory");
	if (!ret)
		ret = xw_tune_dirmap_read(u->img, ino, &j.in, &j.map);
	if (!ret)
		ret = decide(&j);
	if (!ret && (j.in.flags != flags || j.in.size != size || j.rebuilt))
		ret = xw_update_put(u, ino, &j.in, steal(j.raw));
	xw_tune_dirmap_free(&j.map);
	xw_update_map_end(&j.to);
	xw_vec_free(&j.entries);
	xw_arena_free(&j.names);
	free(j.raw);
	free(j.buf);
	return ret;
}

int xw_tune_dirs(struct xw_tune *t, struct xw_update *u)
{
	struct xw_inode_scan s;
	const uint8_t *raw;
	xw_ino ino;
	int ret = xw_inode_scan_begin(u->img, 0, u->img->groups, &s);

	/* The sweep takes the room for checksums away again, but cannot make it. */
	u->place.enc.dirfmt.csum = xw_super_has_csum(&t->sb) || xw_super_has_csum(&t->to);
	u->place.enc.dirfmt.dir_index = t->to.feature_compat & XW_COMPAT_DIR_INDEX;
	u->place.enc.dirfmt.itree = false;
	while (!ret && (ret = xw_inode_scan_next(&s, &ino, &raw)) == 1) {
		struct xw_inode in;

		ret = 0;
		if (xw_inode_decode(raw, &u->img->sb, &in) || !in.links ||
		    (in.mode & XW_S_IFMT) != XW_S_IFDIR || in.flags & XW_FL_INLINE_DATA)
			continue;
		ret = one(t, u, ino);
	}
	xw_inode_scan_end(&s);
	u->img->sb.feature_compat = (u->img->sb.feature_compat & ~XW_COMPAT_DIR_INDEX) |
				    (t->to.feature_compat & XW_COMPAT_DIR_INDEX);
	return ret;
}
