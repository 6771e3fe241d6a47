/* SPDX-License-Identifier: MIT */
/*
 * Walks the entries of a directory, including removed ones: its map by dbg_walk(), each block by
 * walk/dirblock.h. Findings of both are reported.
 */
#include "config.h"

#include "walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/xattrblk.h"
#include "read/xattrs.h"
#include "walk/dirblock.h"

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
	struct xw_dirblock it;
};

/* Report a finding. 1: its entry is passed to the caller. */
static int complain(const struct dirwalk *w, const struct xw_dirblock_item *f)
{
	switch (f->rule) {
	case XW_DIRBLOCK_NO_TAIL:
	case XW_DIRBLOCK_CSUM:
		dbg_complain(w->d,
			     "directory inode %" PRIu32 ": block %" PRIu64 ": checksum mismatch",
			     w->ino, w->at.lblk);
		return 0;
	case XW_DIRBLOCK_REC_LEN:
	case XW_DIRBLOCK_NAME_LEN:
		dbg_complain(w->d,
			     "directory inode %" PRIu32 ": block %" PRIu64
			     ": damaged entry at %" PRIu32,
			     w->ino, w->at.lblk, f->off);
		return f->keep;
	default: /* the entry is shown as it is stored */
		return 1;
	}
}

/* Pass on the entries of a block, or of one part of an inline directory. */
static int entries(struct dirwalk *w, struct xw_dirblock_area *area, bool removed)
{
	struct xw_dirblock_item item;
	unsigned nth = 0; /* number of entries so far, including unused ones */
	int more, rc = 0;

	area->inodes_count = w->d->img->sb.inodes_count;
	area->filetype = w->d->img->sb.feature_incompat & XW_INCOMPAT_FILETYPE;
	area->removed = removed;
	xw_dirblock_begin(&w->it, area);
	while (!rc && (more = xw_dirblock_next(&w->it, &item)) != 0) {
		struct dbg_entry e = w->at;

		if (more == 2 && !complain(w, &item))
			continue;
		nth += !item.removed;
		e.e = item.e;
		e.dots = !w->at.lblk && w->at.pblk && nth == item.e.name_len &&
			 xw_name_is_dots(item.e.name, item.e.name_len);
		e.off = item.off;
		e.removed = item.removed;
		rc = w->fn(w->arg, &e);
	}
	return rc;
}

static int dir_block(struct dirwalk *w)
{
	struct xw_image *img = w->d->img;
	const uint32_t bs = img->block_size;
	const bool csum = xw_super_has_csum(&img->sb), verify = csum && !w->d->how.no_csum;
	struct xw_dirblock_area area = {.data = w->buf, .size = bs, .seed = w->seed};
	int rc = xw_dev_pread(img->dev, w->buf, bs, w->at.pblk * bs);
	bool index, tail;

	if (rc) {
		dbg_complain_diag(w->d, rc);
		return 0;
	}
	index = w->in->flags & XW_FL_INDEX && (!w->at.lblk || xw_dirblock_is_node(w->buf, bs));
	if (index && verify &&
	    xw_dx_block_verify(w->buf, bs, w->at.lblk ? XW_DX_NODE_ENTRIES : XW_DX_ROOT_ENTRIES,
			       w->seed))
		(void)complain(w, &(struct xw_dirblock_item){.rule = XW_DIRBLOCK_CSUM});
	tail = !index && csum && xw_dir_has_tail(w->buf, bs);
	area.csum = verify && !index;
	if (tail && !verify)
		area.size = bs - XW_DIR_TAIL;
	rc = entries(w, &area, w->all && !index);
	if (!rc && tail && w->all) {
		struct dbg_entry e = w->at;

		e.off = bs - XW_DIR_TAIL;
		e.is_csum = true;
		e.csum = xw_dir_tail_csum(w->buf, bs);
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

static int emit_dot(struct dirwalk *w, const char *name, xw_ino ino)
{
	const struct dbg_entry e = {
		.e = {.ino = ino, .rec_len = 12, .name_len = (uint8_t)strlen(name), .name = name},
		.dots = true,
	};

	return w->fn(w->arg, &e);
}

static int inline_dir(struct dirwalk *w, const uint8_t *raw)
{
	auto_free uint8_t *value = NULL;
	uint32_t len = 0;
	int rc = xw_xattr_get(w->d->img, w->ino, w->in, raw, XW_XI_SYSTEM, "data", &value, &len);

	if (rc && rc != XW_ERR_NOTFOUND)
		dbg_complain_diag(w->d, rc);
	rc = emit_dot(w, ".", w->ino);
	if (!rc)
		rc = emit_dot(w, "..", xw_inode_slot(w->in, 0));
	if (!rc)
		rc = entries(w,
			     &(struct xw_dirblock_area){.data = w->in->block + 4,
							.size = sizeof(w->in->block) - 4},
			     w->all);
	if (!rc && len)
		rc = entries(w, &(struct xw_dirblock_area){.data = value, .size = len}, w->all);
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
