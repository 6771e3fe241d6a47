// SPDX-License-Identifier: MIT
/*
 * Converts directories when features change: adds or removes indexes, and makes room for checksums.
 *
 * An index is removed in place: its blocks become empty leaves. To add an index, or if a block is
 * too full for a checksum, the directory is rebuilt by the bulk builder: in its own blocks if their
 * number does not change, else in new ones. Blocks with room for a checksum are left to the sweep.
 *
 * Casefolded directories do not get indexes, since hashes of folded names cannot be computed here.
 * If an indexed one must be rebuilt, it loses its index, which lookups do not need.
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
#include "edit/edit.h"

/* Maximum number of blocks that are rebuilt in place, since the commit holds them in memory. */
#define IN_PLACE_MAX 64u

struct job {
	struct xw_tune_run *t;
	struct xw_update *u;
	xw_ino ino;
	struct xw_inode in;
	uint8_t *raw; /* owned */
	struct xw_tune_dirmap map;
	/* used if the directory is rebuilt */
	struct xw_dir_format format;
	struct xw_dir_shape shape;
	XW_VEC(struct xw_dir_entry) entries;
	struct xw_arena names;
	xw_ino parent;
	struct xw_update_map to; /* the map of the rebuilt directory */
	bool rebuilt;
	uint8_t *buf; /* one block */
};

/* ---- in place ---- */

static int unindex_block(void *arg, xw_blk blk, enum xw_tune_kind kind)
{
	struct job *j = arg;
	const uint32_t bs = j->u->img->block_size;
	const bool csum = xw_super_has_csum(&j->u->img->sb);
	int rc;

	if (kind == XW_TUNE_LEAF)
		return 0;
	rc = xw_dev_pread(j->u->img->dev, j->buf, bs, blk * bs);
	if (rc)
		return rc;
	xw_tune_block_unindex(j->buf, bs, csum, kind);
	if (csum)
		xw_tune_block_seal(j->buf, bs, XW_TUNE_LEAF,
				   xw_image_inode_seed(j->u->img, j->ino, &j->in));
	return xw_dev_pwrite(j->u->img->dev, j->buf, bs, blk * bs);
}

static int unindex(struct job *j)
{
	int rc = xw_tune_dirmap_each(&j->map, unindex_block, j);

	if (rc)
		return rc;
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
	const int rc = xw_dev_pread(j->u->img->dev, j->buf, bs, blk * bs);

	return rc ? rc : xw_tune_block_add_tail(j->buf, bs, kind);
}

/* ---- rebuilding ---- */

static int add_entry(struct job *j, const struct xw_dirent *e)
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
	auto_end(xw_dir_end) struct xw_dir_iter it;
	struct xw_dirent e;
	int rc = xw_dir_begin(j->u->img, j->ino, &j->in, j->raw, &it);

	while (!rc && (rc = xw_dir_next(&it, &e, NULL)) == 1)
		rc = add_entry(j, &e);
	if (!rc && !j->parent)
		rc = xw_fail(j->u->diag, XW_ERR_CORRUPT,
			     "%s: directory inode %" PRIu32 ": no \"..\"; run xw-fsck -f",
			     j->u->img->dev->name, j->ino);
	return rc;
}

/* Allocate new blocks, unless the existing ones are reused. */
static int place(struct job *j, bool *in_place)
{
	int rc = xw_update_map_read(j->u, j->ino, &j->in, &j->to);

	*in_place = j->shape.blocks == j->map.blocks && j->shape.blocks <= IN_PLACE_MAX;
	if (rc || *in_place)
		return rc;
	rc = xw_update_map_punch(j->u, &j->to, 0, UINT32_MAX);
	return rc ? rc : xw_update_map_alloc(j->u, j->ino, &j->to, j->shape.blocks);
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
	int rc =
		xw_dir_emit(&j->format, &j->shape, j->entries.v, j->entries.n, &self, put_block, j);

	return rc ? rc : xw_batch_drain(j->u->out.batch);
}

/* index: rebuild only to add an index, and therefore not if the directory needs none. */
static int rebuild(struct job *j, bool index)
{
	bool in_place;
	int rc = read_entries(j);

	if (j->in.flags & XW_FL_CASEFOLD)
		j->format.dir_index = false;
	if (!rc && xw_dir_shape(&j->format, j->entries.v, j->entries.n, 0, &j->shape))
		rc = xw_fail(j->u->diag, XW_ERR_LIMIT,
			     "%s: directory inode %" PRIu32 ": cannot be rebuilt: too large",
			     j->u->img->dev->name, j->ino);
	if (!rc && index && !j->shape.indexed)
		return 0;
	if (!rc)
		rc = place(j, &in_place);
	if (!rc)
		rc = emit(j);
	if (!rc && !in_place) {
		j->in.size = (uint64_t)j->shape.blocks * j->u->img->block_size;
		rc = xw_update_map_write(j->u, j->ino, &j->in, &j->to);
	}
	j->rebuilt = true;
	j->in.flags &= ~XW_FL_INDEX;
	j->in.flags |= j->shape.indexed ? XW_FL_INDEX : 0;
	j->t->res->directories_rebuilt++;
	return rc;
}

/* ---- one directory ---- */

static int decide(struct job *j)
{
	const unsigned work = j->t->work;
	const bool indexed = j->in.flags & XW_FL_INDEX;
	const bool folds = j->in.flags & XW_FL_CASEFOLD;
	int rc = 0;

	if (work & XW_TUNE_DO_UNINDEX && indexed)
		rc = unindex(j);
	if (!rc && work & XW_TUNE_DO_INDEX && !indexed && !folds && j->map.blocks > 1)
		rc = rebuild(j, true);
	if (rc || j->rebuilt || !(work & XW_TUNE_DO_TAILS))
		return rc;
	rc = xw_tune_dirmap_each(&j->map, fits_tail, j);
	if (rc != XW_ERR_NOSPC)
		return rc;
	j->entries.n = 0;
	return rebuild(j, false);
}

static void job_end(struct job *j)
{
	xw_tune_dirmap_free(&j->map);
	xw_update_map_end(&j->to);
	xw_vec_free(&j->entries);
	xw_arena_free(&j->names);
	free(j->raw);
	free(j->buf);
}

struct dirs {
	struct xw_tune_run *t;
	struct xw_update *u;
};

static int convert(void *arg, xw_ino ino, struct xw_inode *in, const uint8_t *raw)
{
	const struct dirs *d = arg;
	struct xw_update *u = d->u;
	auto_end(job_end) struct job j = {
		.t = d->t, .u = u, .ino = ino, .format = u->place.enc.dirfmt};
	uint32_t flags;
	uint64_t size;
	int rc;

	(void)raw;
	if (!in->links || (in->mode & XW_S_IFMT) != XW_S_IFDIR || in->flags & XW_FL_INLINE_DATA)
		return 0;
	rc = xw_update_get(u, ino, &j.in, &j.raw);
	flags = j.in.flags;
	size = j.in.size;
	j.buf = malloc(u->img->block_size);
	if (!rc && !j.buf)
		rc = xw_fail_nomem(u->diag, "directory");
	if (!rc)
		rc = xw_tune_dirmap_read(u->img, ino, &j.in, &j.map);
	if (!rc)
		rc = decide(&j);
	if (!rc && (j.in.flags != flags || j.in.size != size || j.rebuilt))
		rc = xw_update_put(u, ino, &j.in, steal(j.raw));
	return rc;
}

int xw_tune_dirs(struct xw_tune_run *t, struct xw_update *u)
{
	struct dirs d = {t, u};
	int rc;

	/* with room for checksums if there is one before or after: the sweep can only remove it */
	u->place.enc.dirfmt.csum = xw_super_has_csum(&t->sb) || xw_super_has_csum(&t->to);
	u->place.enc.dirfmt.dir_index = t->to.feature_compat & XW_COMPAT_DIR_INDEX;
	u->place.enc.dirfmt.itree = false;
	rc = xw_tune_each_inode(u->img, convert, &d);
	u->img->sb.feature_compat = (u->img->sb.feature_compat & ~XW_COMPAT_DIR_INDEX) |
				    (t->to.feature_compat & XW_COMPAT_DIR_INDEX);
	return rc;
}
