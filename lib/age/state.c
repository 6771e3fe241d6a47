// SPDX-License-Identifier: MIT
#include "config.h"

#include "age/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "age/place.h"
#include "base/auto.h"
#include "base/hash.h"
#include "read/bitmaps.h"
#include "read/map.h"
#include "update/inode.h"

#define NAME XW_AGE_STATE_NAME
#define NAME_LEN (sizeof(NAME) - 1)

uint64_t xw_age_options_hash(const struct xw_age_opts *o)
{
	const char *const model = o->model ? o->model : "";
	char text[512];
	const int n = snprintf(
		text, sizeof(text),
		"%" PRIu64 " %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %" PRIu64 " %" PRIu64 " %" PRIu32 " %d%d%d %d%d %" PRIu64 " %d",
		o->seed, (int)o->profile, o->ops, o->files, o->dirs, o->size_min, o->size_max,
		o->used, o->free, o->util, o->ages != NULL, o->sizes != NULL, o->depths != NULL,
		o->fast, xw_age_until_any(&o->until), o->step, o->fast ? 0 : (int)o->allocator);
	uint64_t h = xw_hash_fixed(text, (size_t)n, 1);

	h = xw_hash_fixed(model, strlen(model), h);
	return xw_hash_fixed(o->dir, strlen(o->dir), h);
}

/* What the superblock says. */
static struct xw_age_seen seen_in(const struct xw_update *u)
{
	const struct xw_super *sb = &u->img->sb;

	return (struct xw_age_seen){
		.free_blocks = sb->free_blocks_count,
		.free_inodes = sb->free_inodes_count,
		.dirs = (uint32_t)u->dirs,
		.mnt_count = sb->mnt_count,
		.mtime = sb->mtime,
		.wtime = sb->wtime,
	};
}

/* ---- the file ---- */

#define HOW_TO_REMOVE                                                                              \
	"remove it (xw-debugfs -w -R 'rm /" NAME "' IMAGE) to begin a new run on the image as it " \
	"is"

static int bad(struct xw_age_world *w, int code, const char *why)
{
	return xw_fail(w->u->diag, code, "%s: /" NAME ": %s; " HOW_TO_REMOVE, w->u->img->dev->name,
		       why);
}

static int find(struct xw_age_world *w, struct xw_age_dir **root, xw_ino *ino)
{
	const int rc = xw_age_world_root(w, root);

	return rc ? rc : xw_dir_find(&(*root)->ud.d, NAME, NAME_LEN, ino, NULL);
}

/* What make() creates: a file of one block with one name. The block is not one of metadata. */
static bool is_own(const struct xw_update *u, const struct xw_inode *in,
		   const struct xw_update_map *m)
{
	const struct xw_extent *e = m->e.v;
	bool is_meta;

	if ((in->mode & XW_S_IFMT) != XW_S_IFREG || in->links != 1 ||
	    in->size != u->img->block_size || m->e.n != 1 || e->lblk || e->len != 1 || e->unwritten)
		return false;
	xw_sysmap_at(u->sysmap, e->pblk, 1, &is_meta);
	return !is_meta;
}

static int block_of(struct xw_age_world *w, xw_ino ino, xw_blk *blk)
{
	auto_end(xw_update_map_end) struct xw_update_map m = {0};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(w->u, ino, &in, &raw);

	if (!rc && (in.mode & XW_S_IFMT) == XW_S_IFREG && xw_inode_has_map(&in))
		rc = xw_update_map_read(w->u, ino, &in, &m);
	if (!rc && !is_own(w->u, &in, &m))
		rc = bad(w, XW_ERR_INPUT, "not a file of xw-age");
	*blk = rc ? 0 : m.e.v[0].pblk;
	return rc;
}

static int decode(struct xw_age_world *w, const void *buf, struct xw_age_state *s)
{
	const struct xw_image *img = w->u->img;
	const struct xw_age_bounds fs = {
		.blocks = img->sb.blocks_count,
		.first_data_block = img->sb.first_data_block,
		.inodes = img->sb.inodes_count,
		.groups = img->groups,
		.block_size = img->block_size,
	};
	unsigned format;

	switch (xw_age_state_decode(buf, &fs, s, &format)) {
	case 0:
		return 0;
	case XW_ERR_UNSUPPORTED:
		return xw_fail(w->u->diag, XW_ERR_UNSUPPORTED,
			       "%s: /" NAME ": has format %u, of another version of xw-age; finish "
			       "the run with that version, or " HOW_TO_REMOVE,
			       img->dev->name, format);
	case XW_ERR_STATE:
		return bad(w, XW_ERR_STATE,
			   "of a filesystem of another size, so that the run cannot be resumed");
	case XW_ERR_CHECKSUM:
	case XW_ERR_CORRUPT:
		return bad(w, XW_ERR_INPUT, "damaged, so that the run cannot be resumed");
	default:
		return bad(w, XW_ERR_INPUT, "not a file of xw-age");
	}
}

int xw_age_state_read(struct xw_age_world *w, struct xw_age_state *s)
{
	const uint32_t bs = w->u->img->block_size;
	uint8_t buf[XW_AGE_STATE_SIZE];
	struct xw_age_dir *root;
	xw_ino ino;
	xw_blk blk;
	int rc = find(w, &root, &ino);

	if (!rc)
		rc = block_of(w, ino, &blk);
	if (!rc)
		rc = xw_dev_pread(w->u->img->dev, buf, sizeof(buf), blk * bs);
	return rc ? rc : decode(w, buf, s);
}

static int make(struct xw_age_world *w, struct xw_age_dir *root, xw_ino *ino)
{
	const struct xw_update_new n = {
		.mode = XW_S_IFREG | 0600,
		.parent = XW_INO_ROOT,
		.goal = xw_age_place_file(w->u, XW_INO_ROOT),
	};
	struct xw_age_counts none = {0}, *const counts = w->counts;
	int rc = xw_update_create(w->u, &n, ino);

	w->counts = &none;
	if (!rc)
		rc = xw_age_world_resize(w, *ino, w->u->img->block_size, true);
	w->counts = counts;
	if (!rc && none.shortened)
		rc = xw_fail(w->u->diag, XW_ERR_NOSPC, "%s: no space left", w->u->img->dev->name);
	return rc ? rc : xw_dir_insert(&root->ud.d, NAME, NAME_LEN, *ino, XW_FT_REG);
}

int xw_age_state_place(struct xw_age_world *w, xw_blk *blk)
{
	struct xw_age_dir *root;
	xw_ino ino;
	int rc = find(w, &root, &ino);

	if (rc == XW_ERR_NOTFOUND)
		rc = make(w, root, &ino);
	return rc ? rc : block_of(w, ino, blk);
}

int xw_age_state_write(struct xw_update *u, struct xw_age_state *s, xw_blk blk)
{
	const uint32_t bs = u->img->block_size;
	auto_free uint8_t *buf = calloc(1, bs);

	if (!buf)
		return xw_fail_nomem(u->diag, "state");
	s->seen = seen_in(u);
	xw_age_state_encode(s, buf);
	return xw_dev_pwrite(u->img->dev, buf, bs, blk * bs);
}

int xw_age_state_remove(struct xw_age_world *w)
{
	struct xw_age_dir *root;
	xw_ino ino;
	int rc = find(w, &root, &ino);

	if (rc)
		return rc == XW_ERR_NOTFOUND ? 0 : rc;
	rc = xw_dir_delete(&root->ud.d, NAME, NAME_LEN, NULL);
	return rc ? rc : xw_update_drop(w->u, ino);
}

/*
 * ---- changes by others ----
 *
 * A check that found nothing sets s_wtime and s_lastcheck to the same time and the mount count to
 * 0. That is no change.
 */

void xw_age_state_compare(const struct xw_update *u, const struct xw_age_state *s)
{
	const struct xw_age_seen *then = &s->seen, now = seen_in(u);
	const char *const name = u->img->dev->name;

	if (now.free_blocks != then->free_blocks || now.free_inodes != then->free_inodes ||
	    now.dirs != then->dirs)
		xw_log(u->diag, XW_LOG_WARN,
		       "%s: files were changed since the aging run was interrupted (free blocks: "
		       "%" PRIu64 ", were %" PRIu64 "; free inodes: %" PRIu32 ", were %" PRIu32
		       "); the result will differ from that of an uninterrupted run",
		       name, now.free_blocks, then->free_blocks, now.free_inodes,
		       then->free_inodes);
	else if (now.mtime != then->mtime || now.mnt_count > then->mnt_count ||
		 (now.wtime != then->wtime && now.wtime != u->img->sb.lastcheck))
		xw_log(u->diag, XW_LOG_WARN,
		       "%s: was mounted or changed since the aging run was interrupted; if files "
		       "were changed, the result will differ from that of an uninterrupted run",
		       name);
}
