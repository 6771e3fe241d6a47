// SPDX-License-Identifier: MIT
/* Changes single entries of a directory in place, after all of its blocks have been checked. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "facts/dirs.h"
#include "repairs/repairs.h"
#include "read/map.h"

/* Returns true where the entry was changed. */
typedef bool edit_fn(void *arg, struct xw_dirent *e);

struct edit {
	struct fsck *f;
	struct fsck_dir *d;
	struct xw_inode in;
	uint8_t *raw; /* inode_size bytes */
	edit_fn *fn;
	void *arg;
	bool first_only; /* edit only the first block */
};

/* 1: entries were changed, 0: none. XW_ERR_NOMEM. */
static int edit_area(struct edit *x, uint8_t *data, uint32_t size)
{
	const struct xw_dirblock_area area = {.data = data,
					      .size = size,
					      .inodes_count = x->f->ses.img->sb.inodes_count,
					      .filetype = true,
					      .any_names = true};
	auto_free struct xw_dirblock *it = malloc(sizeof(*it));
	struct xw_dirblock_item item;
	int changed = 0;

	if (!it)
		return xw_fail_nomem(&x->f->ses.diag, "directory");
	xw_dirblock_begin(it, &area);
	while (xw_dirblock_next(it, &item)) {
		if (!item.e.name_len || !x->fn(x->arg, &item.e))
			continue;
		xw_dirent_encode(data, size, item.off, &item.e);
		changed = 1;
	}
	return changed;
}

static int edit_block(struct edit *x, xw_lblk lblk, xw_blk pblk, uint8_t *buf)
{
	struct fsck *f = x->f;
	const uint32_t bs = f->ses.img->block_size;
	const uint32_t seed = xw_inode_seed(f->ses.img->csum_seed, x->d->ino, x->in.generation);
	const bool indexed = x->in.flags & XW_FL_INDEX, csum = xw_super_has_csum(&f->ses.img->sb);
	bool root;
	int rc = fsck_read(f, pblk, 1, buf);

	if (rc)
		return rc;
	root = indexed && !lblk && fsck_dir_is_root(buf, bs);
	if (indexed && lblk && xw_dirblock_is_node(buf, bs))
		return 0;
	rc = edit_area(x, buf, csum && !root && xw_dir_has_tail(buf, bs) ? bs - XW_DIR_TAIL : bs);
	if (rc <= 0)
		return rc;
	if (csum && root)
		xw_dx_block_set_csum(buf, bs, XW_DX_ROOT_ENTRIES, seed);
	else if (csum && xw_dir_has_tail(buf, bs))
		xw_dir_block_set_csum(buf, bs, seed);
	return fsck_try_write(f, FSCK_O_DIR, pblk, buf);
}

static int edit_blocks(struct edit *x)
{
	struct fsck *f = x->f;
	auto_free uint8_t *buf = malloc(f->ses.img->block_size);
	const uint64_t end = xw_div_up(x->in.size, f->ses.img->block_size);
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	int rc = xw_map_begin(f->ses.img, x->d->ino, &x->in, 0, &it);

	if (!buf)
		return xw_fail_nomem(&f->ses.diag, "directory");
	while (!rc && (rc = xw_map_next(&it, &run)) == 1) {
		rc = 0;
		for (uint64_t i = 0; i < run.len && run.lblk + i < end && !run.unwritten; i++) {
			rc = edit_block(x, run.lblk + i, run.pblk + i, buf);
			if (rc || x->first_only)
				return rc;
		}
		if (x->first_only)
			return 0;
	}
	if (rc != XW_ERR_CORRUPT)
		return rc;
	xw_diag_clear(&f->ses.diag); /* the rest of the map is damaged */
	return 0;
}

static int edit_inline(struct edit *x)
{
	uint32_t len;
	size_t off = fsck_inline_value(x->f, &x->in, x->raw, &len);
	int changed = edit_area(x, x->in.block + 4, sizeof(x->in.block) - 4);
	int more = changed >= 0 && len ? edit_area(x, x->raw + off, len) : 0;

	if (changed < 0 || more < 0)
		return XW_ERR_NOMEM;
	if (!changed && !more)
		return 0;
	fsck_inline_seal(x->f, &x->in, x->raw);
	return fsck_inode_write(x->f, x->d->ino, &x->in, x->raw);
}

static int edit(struct edit *x)
{
	auto_free uint8_t *raw = malloc(x->f->ses.img->inode_size);
	int rc;

	if (!raw)
		return xw_fail_nomem(&x->f->ses.diag, "directory");
	x->raw = raw;
	xw_image_drop_cache(x->f->ses.img);
	rc = fsck_inode_read(x->f, x->d->ino, &x->in, x->raw);
	if (rc)
		return rc;
	return x->in.flags & XW_FL_INLINE_DATA ? edit_inline(x) : edit_blocks(x);
}

static bool is_dotdot(const struct xw_dirent *e)
{
	return e->name_len == 2 && !memcmp(e->name, "..", 2);
}

static bool set_dotdot(void *arg, struct xw_dirent *e)
{
	if (!is_dotdot(e))
		return false;
	e->ino = *(const xw_ino *)arg;
	return true;
}

/* An inline directory begins with the inode number of its parent. */
static int set_inline_parent(struct fsck *f, const struct fsck_dir *d, xw_ino parent)
{
	auto_free uint8_t *raw = malloc(f->ses.img->inode_size);
	struct xw_inode in;
	int rc = raw ? fsck_inode_read(f, d->ino, &in, raw)
		     : xw_fail_nomem(&f->ses.diag, "directory");

	if (rc)
		return rc;
	poke32(in.block, parent);
	return fsck_inode_write(f, d->ino, &in, raw);
}

int fsck_dir_set_parent(struct fsck *f, struct fsck_dir *d, xw_ino parent)
{
	struct edit x = {.f = f, .d = d, .fn = set_dotdot, .arg = &parent, .first_only = true};
	const int rc = d->is_inline ? set_inline_parent(f, d, parent) : edit(&x);

	if (!rc)
		d->dotdot = parent;
	return rc;
}

static bool get_dotdot(void *arg, struct xw_dirent *e)
{
	if (is_dotdot(e))
		*(xw_ino *)arg = e->ino;
	return false;
}

int fsck_dir_dotdot(struct fsck *f, struct fsck_dir *d, xw_ino *out)
{
	struct edit x = {.f = f, .d = d, .fn = get_dotdot, .arg = out, .first_only = true};
	int rc;

	*out = 0;
	if (!d->is_inline)
		return edit(&x);
	rc = fsck_inode_read(f, d->ino, &x.in, NULL);
	*out = rc ? 0 : xw_dir_inline_parent(x.in.block);
	return rc;
}

struct found {
	xw_ino ino;
	char *name;
	size_t len;
};

static bool get_name(void *arg, struct xw_dirent *e)
{
	struct found *v = arg;

	if (e->ino == v->ino && !v->len && !xw_name_is_dots(e->name, e->name_len)) {
		memcpy(v->name, e->name, e->name_len);
		v->len = e->name_len;
	}
	return false;
}

int fsck_dir_name(struct fsck *f, xw_ino dir, xw_ino ino, char name[XW_NAME_MAX], size_t *len)
{
	struct found v = {ino, name, 0};
	struct edit x = {.f = f, .d = fsck_dir(f, dir), .fn = get_name, .arg = &v};
	const int rc = x.d ? edit(&x) : 0;

	*len = v.len;
	return rc;
}

struct victim {
	xw_ino ino;
	const char *name; /* terminated; NULL: any */
};

static bool clear_name(void *arg, struct xw_dirent *e)
{
	const struct victim *v = arg;

	if (e->ino != v->ino || xw_name_is_dots(e->name, e->name_len))
		return false;
	if (v->name && (strlen(v->name) != e->name_len || memcmp(v->name, e->name, e->name_len)))
		return false;
	e->ino = 0;
	return true;
}

int fsck_dir_clear_names(struct fsck *f, xw_ino dir, xw_ino ino, const char *name)
{
	struct fsck_dir *d = fsck_dir(f, dir);
	struct victim v = {ino, name};
	struct edit x = {.f = f, .d = d, .fn = clear_name, .arg = &v};

	if (!d)
		return 0;
	d->itree_stale = true;
	return edit(&x);
}
