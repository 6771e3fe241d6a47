// SPDX-License-Identifier: MIT
/*
 * Inode records in fast commits. Such a record is the state of the inode in the memory of Linux:
 * its fields are used, but not its map (whose blocks were never written), nor its link and block
 * counts, which follow from the replayed changes. For a directory the same applies to size and
 * index.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/map.h"
#include "edit/dir.h"
#include "fastcommit/fastcommit_internal.h"

/* Flags for the storage of contents: a directory keeps its own. */
#define KEEPING (XW_FL_INDEX | XW_FL_ITREE | XW_FL_EXTENTS | XW_FL_INLINE_DATA | XW_FL_HUGE_FILE)

uint16_t xw_fast_type(const struct xw_fast_inode *i)
{
	return i->rec ? xw_inode_raw_mode(i->rec) & XW_S_IFMT : 0;
}

/* Copy the record to raw, inode_size bytes. fields: without the attributes after the fields. */
static int apply(struct xw_fast *f, const struct xw_fast_inode *i, bool fields, uint8_t *raw,
		 struct xw_inode *in)
{
	const struct xw_image *img = f->u->img;
	uint32_t len = XW_MIN(i->rec_len, img->inode_size);

	if (fields && len >= XW_INODE_BODY + 2)
		len = XW_MIN(len, XW_INODE_BODY + (uint32_t)xw_inode_raw_extra(i->rec));
	memcpy(raw, i->rec, len);
	if (xw_inode_decode(raw, &img->sb, in))
		return xw_fast_bad(f, i->ino, "its record is damaged");
	return 0;
}

static int set_blocks(struct xw_fast *f, xw_ino ino, struct xw_inode *in, uint64_t blocks)
{
	in->flags &= ~XW_FL_HUGE_FILE;
	return xw_inode_set_blocks(in, &f->u->img->sb, blocks)
		       ? xw_fast_bad(f, ino, "more blocks than a file may have with these features")
		       : 0;
}

/* ---- directories ---- */

static int put_dir_block(void *arg, uint32_t lblk, const void *block)
{
	const struct xw_fast *f = ((void **)arg)[0];
	const xw_blk *blk = ((void **)arg)[1];
	const uint64_t bs = f->u->img->block_size;

	return xw_dev_pwrite(f->u->img->dev, block, bs, (*blk + lblk) * bs);
}

static int write_dir(struct xw_fast *f, const struct xw_fast_inode *i, const struct xw_inode *in,
		     xw_ino parent, xw_blk blk)
{
	const struct xw_dir_self self = {
		.ino = i->ino,
		.parent = parent,
		.generation = in->generation,
		.inode_seed = xw_image_inode_seed(f->u->img, i->ino, in),
	};
	struct xw_dir_shape shape;
	void *arg[] = {f, &blk};
	int rc = xw_dir_shape(&f->u->place.enc.dirfmt, NULL, 0, 1, &shape);

	return rc ? rc
		  : xw_dir_emit(&f->u->place.enc.dirfmt, &shape, NULL, 0, &self, put_dir_block,
				arg);
}

int xw_fast_make_dir(struct xw_fast *f, const struct xw_fast_inode *i, xw_ino parent)
{
	struct xw_update *u = f->u;
	auto_free uint8_t *raw = calloc(1, u->img->inode_size);
	auto_update_map struct xw_update_map m = {0};
	struct xw_inode in;
	int64_t gain;
	int rc = raw ? apply(f, i, true, raw, &in) : xw_fail_nomem(u->diag, "inode");

	if (rc)
		return rc;
	in.flags &= ~KEEPING;
	in.links = 2;
	in.dtime = 0;
	in.size = u->img->block_size;
	if (in.file_acl)
		rc = xw_fast_bad(f, i->ino, "has attributes that its fast commit does not have");
	if (!rc)
		rc = xw_update_map_alloc(u, i->ino, &m, 1);
	if (!rc)
		rc = write_dir(f, i, &in, parent, m.e.v[0].pblk);
	if (!rc)
		rc = xw_update_map_put(u, i->ino, &in, &m, &gain);
	if (!rc)
		rc = set_blocks(f, i->ino, &in, UINT64_C(1) << u->place.enc.cluster_bits);
	if (!rc)
		rc = xw_update_charge(u, &in, 1, (int64_t)xw_update_bytes(u, &in));
	return rc ? rc : xw_update_put(u, i->ino, &in, steal(raw));
}

/* Apply all fields of a record that do not concern the names in the directory. */
static int finish_dir(struct xw_fast *f, const struct xw_fast_inode *i, struct xw_inode *in,
		      uint8_t *raw)
{
	auto_free uint8_t *copy = malloc(f->u->img->inode_size);
	const int64_t bytes = (int64_t)xw_update_bytes(f->u, in);
	struct xw_inode rec;
	int rc = copy ? 0 : xw_fail_nomem(f->u->diag, "inode");

	if (rc)
		return rc;
	memcpy(copy, raw, f->u->img->inode_size);
	rc = apply(f, i, true, copy, &rec);
	if (!rc)
		rc = xw_update_charge(f->u, in, -1, -bytes);
	if (rc)
		return rc;
	in->mode = rec.mode;
	in->uid = rec.uid;
	in->gid = rec.gid;
	in->projid = rec.projid;
	in->flags = (in->flags & KEEPING) | (rec.flags & ~KEEPING);
	in->version = rec.version;
	in->atime = rec.atime;
	in->ctime = rec.ctime;
	in->mtime = rec.mtime;
	in->crtime = rec.crtime;
	return xw_update_charge(f->u, in, 1, bytes);
}

/* ---- other types ---- */

/* An empty map in the format of the image's inodes. */
static void clear_map(struct xw_inode *in)
{
	memset(in->block, 0, sizeof(in->block));
	if (in->flags & XW_FL_EXTENTS)
		xw_extent_hdr_encode(in->block,
				     &(struct xw_extent_hdr){.max = XW_EXT_INODE_ENTRIES});
}

/*
 * Compute the map of *in, which has the record's fields; old: its previous state, or an empty one.
 */
static int finish_map(struct xw_fast *f, const struct xw_fast_inode *i, const struct xw_inode *old,
		      struct xw_inode *in)
{
	struct xw_update *u = f->u;
	auto_update_map struct xw_update_map m = {0};
	const uint32_t flags = in->flags;
	uint64_t other = 0;
	int rc = 0;

	if (old->mode)
		rc = xw_update_other_blocks(u, i->ino, old, &other);
	if (rc)
		return rc;
	if (!i->ranges.n && old->mode && xw_inode_has_map(old)) { /* unchanged */
		memcpy(in->block, old->block, sizeof(in->block));
		in->blocks = old->blocks;
		in->flags = (flags & ~KEEPING) | (old->flags & KEEPING);
		return xw_update_charge(u, in, 1, (int64_t)xw_update_bytes(u, in));
	}
	if (old->mode)
		rc = xw_update_map_load(u, i->ino, old, &m);
	if (!rc)
		rc = xw_fast_remap(f, i, &m);
	clear_map(in);
	m.other = other;
	in->blocks = 0;
	in->flags &= ~XW_FL_HUGE_FILE;
	if (!rc)
		rc = xw_update_map_write(u, i->ino, in, &m);
	return rc ? rc : xw_update_charge(u, in, 1, 0);
}

static int finish_file(struct xw_fast *f, const struct xw_fast_inode *i, struct xw_inode *in,
		       uint8_t *raw)
{
	const struct xw_inode old = *in;
	uint64_t other = 0;
	int rc = 0;

	if (old.mode)
		rc = xw_update_charge(f->u, &old, -1, -(int64_t)xw_update_bytes(f->u, &old));
	if (!rc)
		rc = apply(f, i, false, raw, in);
	if (rc)
		return rc;
	if (old.mode && (old.mode & XW_S_IFMT) != (in->mode & XW_S_IFMT))
		return xw_fast_bad(f, i->ino, "changes its type");
	if (in->file_acl != old.file_acl)
		return xw_fast_bad(f, i->ino, "has attributes that its fast commit does not have");
	in->dtime = old.dtime; /* its link in the orphan list, if it is an orphan */
	/* Contents that moved from the inode to blocks leave an entry in the xattrs. */
	if (old.flags & XW_FL_INLINE_DATA && !(in->flags & XW_FL_INLINE_DATA))
		rc = xw_update_drop_inline(f->u, i->ino, in, raw);
	if (rc)
		return rc;
	if (xw_inode_has_map(in)) {
		f->u->large_file |= in->size > INT32_MAX;
		return finish_map(f, i, &old, in);
	}
	if (old.mode)
		rc = xw_update_other_blocks(f->u, i->ino, &old, &other);
	if (rc)
		return rc;
	if (i->ranges.n)
		return xw_fast_bad(f, i->ino, "has no blocks, and gains some");
	if (old.mode && xw_inode_has_map(&old) && old.blocks)
		return xw_fast_bad(f, i->ino, "loses its map");
	rc = set_blocks(f, i->ino, in, other);
	return rc ? rc : xw_update_charge(f->u, in, 1, (int64_t)xw_update_bytes(f->u, in));
}

int xw_fast_finish(struct xw_fast *f, const struct xw_fast_inode *i)
{
	struct xw_update *u = f->u;
	auto_free uint8_t *raw = NULL;
	struct xw_inode in = {0};
	int rc = 0;

	if (!i->fresh || i->dir)
		rc = xw_update_get(u, i->ino, &in, &raw);
	else if (!(raw = calloc(1, u->img->inode_size)))
		rc = xw_fail_nomem(u->diag, "inode");
	if (rc)
		return rc;
	if (!i->rec && i->ranges.n)
		return xw_fast_bad(f, i->ino, "has new blocks and no record");
	if (i->rec && i->dir && xw_fast_type(i) != XW_S_IFDIR)
		return xw_fast_bad(f, i->ino, "changes its type");
	if (i->rec)
		rc = i->dir ? finish_dir(f, i, &in, raw) : finish_file(f, i, &in, raw);
	if (rc)
		return rc;
	if (!i->dir)
		in.links = (uint16_t)XW_MIN(i->names, UINT16_MAX);
	return xw_update_put(u, i->ino, &in, steal(raw));
}
