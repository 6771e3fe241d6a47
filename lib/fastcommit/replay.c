// SPDX-License-Identifier: MIT
/*
 * Replays fast commits field by field, in the order in which they were written; between two fields
 * the filesystem was in a consistent state.
 *
 *   1. all ranges that files gain are claimed, before any allocation
 *   2. names are added and removed; a new inode is in use from its first name on (a directory is
 *      created then); an inode that loses its last name is freed, and later fields may reuse its
 *      number
 *   3. maps and records of all inodes then in use are written, in numeric order
 *
 * Linux omits objects that were created and removed again before it wrote the fast commit. So a
 * field is skipped if it cannot be applied: a name in a missing directory, a link to a missing
 * inode, the removal of a missing name. A field that contradicts the image is an error: the image
 * and its log do not belong together.
 *
 * Termination: each field is processed twice, in time bounded by the size of the directory or map
 * that it changes; map.c sorts.
 */
#include "config.h"

#include "fastcommit/fastcommit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/dirent.h"
#include "edit/dir.h"
#include "fastcommit/fastcommit_internal.h"
#include "update/steps.h"

/* ---- inodes by number ---- */

struct slot {
	xw_ino ino;
	uint32_t at; /* index in inodes */
};

static const struct xw_table_kind by_number = XW_TABLE_BY_U32(struct slot);

/* Read an inode at its first occurrence. */
static int read_inode(struct xw_fast *f, struct xw_fast_inode *i)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_ispace_claim(f->u->inodes, i->ino, false);

	if (!rc)
		return xw_ispace_release(f->u->inodes, i->ino, false);
	if (rc != XW_ERR_CORRUPT)
		return rc;
	i->used = true;
	rc = xw_update_get(f->u, i->ino, &in, &raw);
	if (rc)
		return rc;
	i->dir = (in.mode & XW_S_IFMT) == XW_S_IFDIR;
	i->names = i->dir ? 1 : in.links;
	return in.flags & XW_FL_EA_INODE ? xw_fast_bad(f, i->ino, "is an EA inode") : 0;
}

/* Find the inode of a field. *i is valid until the next call. */
static int find(struct xw_fast *f, xw_ino ino, struct xw_fast_inode **i)
{
	const struct xw_super *sb = &f->u->img->sb;
	struct xw_fast_inode fresh = {.ino = ino};
	struct slot *s = xw_table_get(&f->of, &by_number, NULL, xw_table_number(&f->of, ino), &ino);
	int rc;

	if (s) {
		*i = &f->inodes.v[s->at];
		return 0;
	}
	if (!ino || ino > sb->inodes_count || (ino < sb->first_ino && ino != XW_INO_ROOT))
		return xw_fast_bad(f, ino, "is not the inode of a file");
	rc = read_inode(f, &fresh);
	if (rc)
		return rc;
	if (xw_table_room(&f->of, &by_number, NULL) || xw_vec_push(&f->inodes, fresh))
		return xw_fail_nomem(f->u->diag, "fast commits");
	s = xw_table_slot(&f->of, &by_number, NULL, xw_table_number(&f->of, ino), &ino);
	*s = (struct slot){ino, (uint32_t)f->inodes.n - 1};
	f->of.n++;
	*i = &f->inodes.v[s->at];
	return 0;
}

/* ---- creating and deleting inodes ---- */

/* Mark the inode as in use, if there is a record for it. */
static int create_inode(struct xw_fast *f, struct xw_fast_inode *i, xw_ino parent)
{
	int rc;

	if (i->used || !i->rec)
		return 0;
	i->dir = xw_fast_type(i) == XW_S_IFDIR;
	rc = xw_ispace_claim(f->u->inodes, i->ino, i->dir);
	if (rc == XW_ERR_CORRUPT)
		return xw_fast_bad(f, i->ino, "is in use already");
	if (rc)
		return rc;
	i->used = i->fresh = true;
	i->names = 0;
	return i->dir ? xw_fast_make_dir(f, i, parent) : 0;
}

/*
 * Free an inode that lost its last name. An inode on the orphan list is left to orphan processing.
 */
static int free_unlinked(struct xw_fast *f, struct xw_fast_inode *i)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = 0;

	if (i->ino == XW_INO_ROOT)
		return xw_fast_bad(f, i->ino, "is the root directory");
	if (i->dir)
		rc = xw_update_check_empty(f->u, i->ino);
	if (rc == XW_ERR_STATE) {
		xw_diag_clear(f->u->diag);
		return xw_fast_bad(f, i->ino, "is a removed directory and not empty");
	}
	if (!rc && !i->fresh)
		rc = xw_update_get(f->u, i->ino, &in, &raw);
	if (rc)
		return rc;
	if (!i->fresh && in.dtime && !i->dir)
		return 0;
	rc = i->fresh && !i->dir ? xw_ispace_release(f->u->inodes, i->ino, false)
				 : xw_update_drop(f->u, i->ino);
	xw_vec_free(&i->ranges);
	*i = (struct xw_fast_inode){.ino = i->ino};
	return rc;
}

/* ---- names ---- */

/* Add or remove a name. *done: the directory was changed. */
static int change_name(struct xw_fast *f, const struct xw_fast_field *x, uint8_t ftype, bool *done)
{
	const char *name = (const char *)x->bytes;
	const bool add = x->tag != XW_FAST_UNLINK;
	auto_update_dir struct xw_update_dir ud = {.u = f->u};
	xw_ino there = 0;
	int rc = xw_update_uninline(f->u, x->dir);

	xw_image_drop_cache(f->u->img);
	if (!rc)
		rc = xw_update_dir_begin(f->u, x->dir, &ud);
	if (!rc)
		rc = xw_dir_find(&ud.d, name, x->len, &there, NULL);
	if (rc == XW_ERR_NOTFOUND)
		rc = 0;
	if (!rc && add && there && there != x->ino)
		rc = xw_fast_bad(f, x->dir, "has a name twice");
	*done = !rc && (add ? !there : there == x->ino);
	if (!*done)
		return rc;
	rc = add ? xw_dir_insert(&ud.d, name, x->len, x->ino, ftype)
		 : xw_dir_delete(&ud.d, name, x->len, NULL);
	return rc ? rc : xw_update_dir_put(&ud);
}

/* Set the file type for directory entries of the inode. */
static int type_of(struct xw_fast *f, const struct xw_fast_inode *i, uint8_t *ftype)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in = {.mode = xw_fast_type(i)};
	int rc = i->fresh && i->rec ? 0 : xw_update_get(f->u, i->ino, &in, &raw);

	*ftype = f->u->img->sb.feature_incompat & XW_INCOMPAT_FILETYPE
			 ? (uint8_t)xw_ftype_of_mode(in.mode)
			 : XW_FT_UNKNOWN;
	return rc;
}

static int apply_name(struct xw_fast *f, const struct xw_fast_field *x)
{
	const bool add = x->tag != XW_FAST_UNLINK;
	const char *name = (const char *)x->bytes;
	struct xw_fast_inode *i, *dir;
	bool there, known, done;
	uint8_t ftype;
	int rc = find(f, x->dir, &dir);

	if (rc)
		return rc;
	there = dir->used && dir->dir;
	rc = find(f, x->ino, &i);
	if (rc)
		return rc;
	if (memchr(name, '/', x->len) || memchr(name, '\0', x->len) ||
	    xw_name_is_dots(name, x->len))
		return xw_fast_bad(f, x->dir, "has an invalid name");
	known = i->used;
	if (add)
		rc = create_inode(f, i, x->dir);
	if (rc || !there || !i->used || i->ino == x->dir)
		return rc;
	rc = type_of(f, i, &ftype);
	if (!rc)
		rc = change_name(f, x, ftype, &done);
	if (rc || !done)
		return rc;
	/* Linux does not rename directories in fast commits, so there can be no loops. */
	if (add && i->dir && known)
		return xw_fast_bad(f, i->ino, "is a directory with two names");
	if (i->dir)
		rc = xw_update_add_links(f->u, x->dir, add ? 1 : -1);
	if (add)
		i->names++;
	else
		i->names -= i->names > 0;
	return rc || i->names || add ? rc : free_unlinked(f, i);
}

/* ---- fields ---- */

static int apply_field(struct xw_fast *f, const struct xw_fast_field *x)
{
	struct xw_fast_inode *i;
	int rc;

	switch (x->tag) {
	case XW_FAST_CREAT:
	case XW_FAST_LINK:
	case XW_FAST_UNLINK:
		return apply_name(f, x);
	case XW_FAST_INODE:
		rc = find(f, x->ino, &i);
		if (rc)
			return rc;
		i->rec = x->bytes;
		i->rec_len = x->len;
		return 0;
	case XW_FAST_ADD_RANGE:
	case XW_FAST_DEL_RANGE:
		rc = find(f, x->ino, &i);
		if (!rc && !i->dir &&
		    xw_vec_push(&i->ranges,
				((struct xw_fast_range){x->range, x->tag == XW_FAST_DEL_RANGE})))
			rc = xw_fail_nomem(f->u->diag, "fast commits");
		return rc;
	case XW_FAST_PAD:
	case XW_FAST_TAIL:
	case XW_FAST_HEAD:
		break;
	}
	return 0;
}

static int note_field(struct xw_fast *f, const struct xw_fast_field *x)
{
	return x->tag == XW_FAST_ADD_RANGE ? xw_fast_note(f, &x->range) : 0;
}

static int each_field(struct xw_fast *f, const uint8_t *blocks, size_t n,
		      int (*fn)(struct xw_fast *f, const struct xw_fast_field *x))
{
	const uint32_t bs = f->u->img->block_size;
	int more, rc = 0;

	for (size_t b = 0; b < n && !rc; b++) {
		struct xw_fast_iter it = {.blk = blocks + b * bs, .size = bs};
		struct xw_fast_field x;

		while (!rc && (more = xw_fast_next(&it, &x)) != 0)
			rc = more < 0 ? xw_fast_bad(f, 0, "they are damaged") : fn(f, &x);
	}
	return rc;
}

static int finish(struct xw_fast *f)
{
	int rc = 0;

	xw_table_free(&f->of); /* the positions are stale */
	if (f->inodes.n)
		qsort(f->inodes.v, f->inodes.n, sizeof(*f->inodes.v), xw_update_by_ino);
	for (size_t k = 0; k < f->inodes.n && !rc; k++) {
		struct xw_fast_inode *i = &f->inodes.v[k];

		if (i->used && i->fresh && !i->names) /* never linked */
			rc = free_unlinked(f, i);
		else if (i->used)
			rc = xw_fast_finish(f, i);
	}
	return rc ? rc : xw_fast_release_unused(f);
}

/* ---- entry point ---- */

struct job {
	const void *blocks;
	size_t n;
	struct xw_diag *diag;
};

static int replay(void *arg, struct xw_dev *dev)
{
	const struct xw_update_opts opts = {
		.mb = {-1, -1, -1, -1, -1, -1},
		.jobs = 1,
		.unchecked = true,
	};
	const struct job *job = arg;
	struct xw_fast f = {0};
	int rc = xw_update_begin(dev, &opts, job->diag, &f.u);

	if (rc)
		return rc;
	f.u->now = f.u->place.enc.now = (int64_t)f.u->img->sb.wtime;
	rc = each_field(&f, job->blocks, job->n, note_field);
	if (!rc)
		rc = xw_fast_claim(&f);
	if (!rc)
		rc = each_field(&f, job->blocks, job->n, apply_field);
	if (!rc)
		rc = finish(&f);
	if (!rc)
		rc = xw_update_flush(f.u);
	for (size_t i = 0; i < f.inodes.n; i++)
		xw_vec_free(&f.inodes.v[i].ranges);
	xw_vec_free(&f.inodes);
	xw_table_free(&f.of);
	xw_vec_free(&f.claimed);
	xw_vec_free(&f.added);
	xw_update_close(f.u);
	return rc;
}

int xw_update_fast(struct xw_dev *dev, const void *blocks, size_t n, struct xw_diag *diag)
{
	struct job job = {blocks, n, diag};
	struct xw_steps s;
	struct xw_image *img;
	uint32_t bs;
	int rc = xw_image_open(dev, 0, diag, &img);

	if (rc)
		return rc;
	bs = img->block_size;
	xw_image_close(img);
	xw_steps_init(&s, dev, diag);
	return xw_step_apart(&s, bs, replay, &job);
}
