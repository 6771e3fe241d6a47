/* SPDX-License-Identifier: MIT */
/*
 * The walk over a directory's entries, removed ones among them.
 *
 * Removing an entry gives its room to the one before it, whose rec_len then reaches over it: what
 * was there can be seen until something new is put there. In the slack of an entry, what decodes as
 * an entry with a number that could be one is taken for a removed one.
 */
#include "config.h"

#include "walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "disk/xattrblk.h"
#include "read/xattrs.h"

struct dirwalk {
	struct dbg *d;
	xw_ino ino;
	const struct xw_inode *in;
	uint32_t seed;
	bool all;
	dbg_entry_fn *fn;
	void *arg;
	uint8_t *buf;
	struct dbg_entry at;
};

static bool plausible(const struct dirwalk *w, const struct xw_dirent *e)
{
	/* Linux wipes number and name of what it removes, and leaves the length */
	return e->ino <= w->d->img->sb.inodes_count && e->ftype < XW_FT_CSUM_TAIL &&
	       !memchr(e->name, '\0', e->name_len);
}

/* What was removed between the end of an entry and that of its room. */
static int slack(struct dirwalk *w, const uint8_t *area, uint32_t off, uint32_t end)
{
	int rc = 0;

	while (!rc && off + XW_DIRENT_HDR + 4 <= end) {
		struct dbg_entry e = w->at;

		if (xw_dirent_decode(area, end, off, &e.e) || !plausible(w, &e.e)) {
			off += 4;
			continue;
		}
		e.off = off;
		e.removed = true;
		rc = w->fn(w->arg, &e);
		off += xw_dirent_size(e.e.name_len);
	}
	return rc;
}

/* The entries of a block, or of one part of an inline directory. */
static int entries(struct dirwalk *w, const uint8_t *area, uint32_t size, bool index)
{
	const bool typed = w->d->img->sb.feature_incompat & XW_INCOMPAT_FILETYPE;
	uint32_t off = 0;
	int rc = 0;

	while (off < size && !rc) {
		struct dbg_entry e = w->at;

		if (xw_dirent_decode(area, size, off, &e.e)) {
			dbg_complain(w->d,
				     "directory inode %" PRIu32 ": block %" PRIu64
				     ": damaged entry at %" PRIu32,
				     w->ino, w->at.lblk, off);
			return 0;
		}
		e.off = off;
		if (!typed)
			e.e.ftype = XW_FT_UNKNOWN;
		rc = w->fn(w->arg, &e);
		if (!rc && w->all && !index)
			rc = slack(w, area, off + xw_dirent_size(e.e.name_len), off + e.e.rec_len);
		off += e.e.rec_len;
	}
	return rc;
}

/* Is the block in buf dx_root or dx_node? */
static bool is_index(const struct dirwalk *w)
{
	struct xw_dirent first;

	if (!(w->in->flags & XW_FL_INDEX))
		return false;
	return !w->at.lblk || (!xw_dirent_decode(w->buf, w->d->img->block_size, 0, &first) &&
			       !first.ino && first.rec_len == w->d->img->block_size);
}

static void verify(const struct dirwalk *w, bool index)
{
	const uint32_t bs = w->d->img->block_size;
	const unsigned dx = w->at.lblk ? XW_DX_NODE_ENTRIES : XW_DX_ROOT_ENTRIES;

	if (!xw_super_has_csum(&w->d->img->sb) || w->d->how.no_csum)
		return;
	if (index ? xw_dx_block_verify(w->buf, bs, dx, w->seed)
		  : xw_dir_block_verify(w->buf, bs, w->seed))
		dbg_complain(w->d,
			     "directory inode %" PRIu32 ": block %" PRIu64 ": checksum mismatch",
			     w->ino, w->at.lblk);
}

static int dir_block(struct dirwalk *w)
{
	const uint32_t bs = w->d->img->block_size;
	int rc = xw_dev_pread(w->d->img->dev, w->buf, bs, w->at.pblk * bs);
	bool index, tail;

	if (rc) {
		dbg_complain_diag(w->d, rc);
		return 0;
	}
	index = is_index(w);
	verify(w, index);
	tail = !index && xw_super_has_csum(&w->d->img->sb) && xw_dir_has_tail(w->buf, bs);
	rc = entries(w, w->buf, tail ? bs - XW_DIR_TAIL : bs, index);
	if (!rc && tail && w->all) {
		struct dbg_entry e = w->at;

		e.off = bs - XW_DIR_TAIL;
		e.is_csum = true;
		e.csum = peek32(w->buf + bs - 4);
		rc = w->fn(w->arg, &e);
	}
	return rc;
}

static int on_piece(void *arg, const struct dbg_piece *p)
{
	struct dirwalk *w = arg;
	int rc = 0;

	if (p->kind != DBG_DATA)
		return 0;
	for (uint64_t i = 0; i < p->len && !rc; i++) {
		w->at = (struct dbg_entry){.lblk = p->lblk + i, .pblk = p->pblk + i};
		rc = dir_block(w);
	}
	return rc;
}

static int dot(struct dirwalk *w, const char *name, xw_ino ino)
{
	const struct dbg_entry e = {
		.e = {.ino = ino, .rec_len = 12, .name_len = (uint8_t)strlen(name), .name = name}};

	return w->fn(w->arg, &e);
}

static int inline_dir(struct dirwalk *w, const uint8_t *raw)
{
	auto_free uint8_t *value = NULL;
	uint32_t len = 0;
	int rc = xw_xattr_get(w->d->img, w->ino, w->in, raw, XW_XI_SYSTEM, "data", &value, &len);

	if (rc && rc != XW_ERR_NOTFOUND)
		dbg_complain_diag(w->d, rc);
	rc = dot(w, ".", w->ino);
	if (!rc)
		rc = dot(w, "..", peek32(w->in->block));
	if (!rc)
		rc = entries(w, w->in->block + 4, sizeof(w->in->block) - 4, false);
	if (!rc && len)
		rc = entries(w, value, len, false);
	return rc;
}

int dbg_walk_dir(struct dbg *d, xw_ino ino, const struct xw_inode *in, const uint8_t *raw, bool all,
		 dbg_entry_fn *fn, void *arg)
{
	struct dirwalk w = {.d = d, .ino = ino, .in = in, .all = all, .fn = fn, .arg = arg};
	auto_free uint8_t *buf = NULL;

	if (in->flags & XW_FL_INLINE_DATA)
		return inline_dir(&w, raw);
	buf = malloc(d->img->block_size);
	if (!buf)
		return xw_fail_nomem(&d->diag, "directory block");
	w.buf = buf;
	w.seed = xw_image_inode_seed(d->img, ino, in);
	return dbg_walk(d, ino, in, on_piece, &w);
}
