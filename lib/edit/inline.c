// SPDX-License-Identifier: MIT
/* Moves inline contents or names of an inode to blocks, for code that changes only blocks. */
#include "config.h"

#include "edit/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/dirs.h"
#include "read/file.h"
#include "edit/edit_internal.h"

struct job {
	struct xw_update *u;
	xw_ino ino;
	struct xw_inode in;
	uint8_t *raw;
	struct xw_update_map m;
	uint8_t *buf; /* contents */
	uint64_t len; /* in bytes, a multiple of the block size */
};

static void free_job(struct job *j)
{
	xw_update_map_end(&j->m);
	free(j->buf);
	free(j->raw);
}

static int contents(struct job *j)
{
	const uint32_t bs = j->u->img->block_size;
	size_t got;

	if (j->in.size > XW_INLINE_MAX)
		return xw_fail(j->u->diag, XW_ERR_CORRUPT,
			       "%s: inode %" PRIu32 ": %" PRIu64 " bytes of inline data",
			       j->u->img->dev->name, j->ino, j->in.size);
	j->len = xw_div_up(j->in.size, bs) * bs;
	j->buf = calloc(1, j->len + 1);
	if (!j->buf)
		return xw_fail_nomem(j->u->diag, "inline data");
	return xw_file_pread(j->u->img, j->ino, &j->in, j->raw, 0, j->buf, j->in.size, &got);
}

static int put_block(void *arg, uint32_t lblk, const void *block)
{
	const struct job *j = arg;
	const uint32_t bs = j->u->img->block_size;

	memcpy(j->buf + (size_t)lblk * bs, block, bs);
	return 0;
}

struct names {
	XW_VEC(struct xw_dir_entry) e;
	struct xw_dir_self self;
};

static int read_names(struct job *j, struct names *l)
{
	auto_end(xw_dir_end) struct xw_dir_iter it;
	struct xw_dirent e;
	int rc = xw_dir_begin(j->u->img, j->ino, &j->in, j->raw, &it);

	while (!rc && (rc = xw_dir_next(&it, &e, NULL)) == 1) {
		struct xw_dir_entry x = {.name_len = e.name_len, .ftype = e.ftype, .ino = e.ino};

		rc = 0;
		if (e.name_len == 2 && !memcmp(e.name, "..", 2))
			l->self.parent = e.ino;
		if (xw_name_is_dots(e.name, e.name_len))
			continue;
		x.name = strndup(e.name, e.name_len);
		if (x.name && !xw_vec_push(&l->e, x))
			continue;
		free((void *)(uintptr_t)x.name);
		return xw_fail_nomem(j->u->diag, "directory");
	}
	return rc;
}

static int names(struct job *j)
{
	const uint32_t bs = j->u->img->block_size;
	struct xw_dir_shape shape = {0};
	struct names l = {0};
	int rc = read_names(j, &l);

	l.self.ino = j->ino;
	l.self.generation = j->in.generation;
	l.self.inode_seed = xw_image_inode_seed(j->u->img, j->ino, &j->in);
	if (!rc)
		rc = xw_dir_shape(&j->u->place.enc.dirfmt, l.e.v, l.e.n, 0, &shape);
	j->len = (uint64_t)shape.blocks * bs;
	j->buf = rc ? NULL : calloc(1, j->len);
	if (!rc && !j->buf)
		rc = xw_fail_nomem(j->u->diag, "directory");
	if (!rc)
		rc = xw_dir_emit(&j->u->place.enc.dirfmt, &shape, l.e.v, l.e.n, &l.self, put_block,
				 j);
	if (shape.indexed)
		j->in.flags |= XW_FL_INDEX;
	j->in.size = j->len;
	for (size_t i = 0; i < l.e.n; i++)
		free((void *)(uintptr_t)l.e.v[i].name);
	xw_vec_free(&l.e);
	return rc;
}

/* Allocate blocks for buf, and write it. */
static int place(struct job *j)
{
	const uint32_t bs = j->u->img->block_size;
	int rc = j->len ? xw_update_map_alloc(j->u, j->ino, &j->m, j->len / bs) : 0;

	for (size_t i = 0; i < j->m.e.n && !rc; i++) {
		const struct xw_extent *e = &j->m.e.v[i];

		rc = xw_dev_pwrite(j->u->img->dev, j->buf + (size_t)e->lblk * bs,
				   (size_t)e->len * bs, e->pblk * bs);
	}
	return rc;
}

static int move_out(struct job *j)
{
	const bool dir = (j->in.mode & XW_S_IFMT) == XW_S_IFDIR;
	int rc = dir ? names(j) : contents(j);

	if (!rc)
		rc = place(j);
	if (!rc)
		rc = xw_update_drop_inline(j->u, j->ino, &j->in, j->raw);
	if (!rc)
		rc = xw_update_map_write(j->u, j->ino, &j->in, &j->m);
	return rc ? rc : xw_update_put(j->u, j->ino, &j->in, steal(j->raw));
}

int xw_update_uninline(struct xw_update *u, xw_ino ino)
{
	auto_end(free_job) struct job j = {.u = u, .ino = ino};
	int rc = xw_update_get(u, ino, &j.in, &j.raw);

	if (rc || !(j.in.flags & XW_FL_INLINE_DATA))
		return rc;
	rc = xw_update_other_blocks(u, ino, &j.in, &j.m.other);
	return rc ? rc : move_out(&j);
}
