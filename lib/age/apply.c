// SPDX-License-Identifier: MIT
/*
 * Operations on files. Blocks are allocated in requests of at most 8 MiB, as in Linux's delayed
 * allocation, with the end of the previous request as the goal.
 *
 * Free space is checked before an operation starts, since an update that fails half way cannot be
 * committed. Blocks freed in a step can be reused only after its commit; a step ends early if it
 * has freed enough to satisfy the request.
 */
#include "config.h"

#include "age/world.h"

#include <stdlib.h>
#include <string.h>

#include "age/world_internal.h"
#include "base/auto.h"
#include "update/inode.h"

#define PIECE (UINT64_C(8) << 20) /* in bytes */
#define STREAM 16 /* in blocks: files of this size and more are allocated as a stream */
#define KEPT 256 /* blocks reserved for directories and maps, or a 32nd of a small image */

/* ---- space ---- */

static uint64_t kept(const struct xw_age_world *w)
{
	return XW_MIN(KEPT, w->u->img->sb.blocks_count / 32);
}

/* Upper bound of the extent tree or indirect blocks needed to map that many blocks. */
static uint64_t for_map(const struct xw_age_world *w, uint64_t blocks)
{
	return blocks / (w->u->img->block_size / 16) + 4;
}

/* Data blocks available for an operation that needs `want`. */
static uint64_t data_room(const struct xw_age_world *w, uint64_t want)
{
	const uint64_t most = xw_space_free_blocks(w->u->space);
	const uint64_t less = kept(w) + for_map(w, XW_MIN(want, most));
	const uint64_t free = w->kernel ? xw_age_linux_room(w->kernel, want + less) : most;

	return XW_MIN(want, free > less ? free - less : 0);
}

/*
 * Is there space to create a name and write `bytes`? 0: no; XW_AGE_COMMIT_FIRST: after a commit; 2:
 * yes.
 */
static int room_for(const struct xw_age_world *w, uint64_t bytes)
{
	const struct xw_update *u = w->u;
	const uint64_t want = xw_div_up(bytes, u->img->block_size);
	const uint64_t pending = u->stats.freed_blocks;

	/* With delayed allocation, writeback ends the step when it needs a commit. */
	if (!w->kernel && data_room(w, want) < want &&
	    pending >= XW_MAX(u->img->sb.blocks_count / 128, 64))
		return XW_AGE_COMMIT_FIRST;
	if (xw_space_free_blocks(u->space) < kept(w) && w->kernel && pending)
		return XW_AGE_COMMIT_FIRST;
	if (xw_space_free_blocks(u->space) < kept(w) || xw_ispace_free_count(u->inodes) < 64)
		return 0;
	return 2;
}

/* ---- blocks of a file ---- */

static int add_blocks(struct xw_age_world *w, xw_ino ino, struct xw_update_map *m, uint64_t from,
		      uint64_t to)
{
	const uint64_t piece = XW_MAX(PIECE / w->u->img->block_size, 1);
	const struct xw_extent *last = m->e.n ? &m->e.v[m->e.n - 1] : NULL;
	const uint64_t group = (ino - 1) / w->u->img->sb.inodes_per_group;
	struct xw_alloc_req req = {.goal = last ? last->pblk + last->len
						: w->u->img->sb.first_data_block +
							   group * w->u->img->sb.blocks_per_group};

	if (!last && to - from >= STREAM)
		req.flags = XW_ALLOC_STREAM;
	while (from < to) {
		struct xw_run run;
		int rc;

		req.len = XW_MIN(to - from, piece);
		rc = xw_space_alloc(w->u->space, &req, &run);
		if (!rc)
			rc = xw_update_map_add(
				w->u, m,
				(struct xw_map_run){(xw_lblk)from, run.len, run.start, false});
		if (rc)
			return rc;
		from += run.len;
		req.goal = run.start + run.len;
		req.flags = 0;
	}
	return 0;
}

int xw_age_world_resize(struct xw_age_world *w, xw_ino ino, uint64_t bytes, bool anew)
{
	struct xw_update *u = w->u;
	const uint64_t bs = u->img->block_size;
	auto_end(xw_update_map_end) struct xw_update_map m = {0};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	uint64_t have, want = xw_div_up(bytes, bs), room;
	int rc = xw_update_uninline(u, ino);

	if (!rc)
		rc = xw_update_get(u, ino, &in, &raw);
	if (!rc)
		rc = xw_update_map_read(u, ino, &in, &m);
	if (rc)
		return rc;
	have = xw_age_allocated(&m);
	if (anew || want < have) {
		have = anew ? 0 : want;
		rc = xw_update_map_punch(u, &m, (uint32_t)have, UINT32_MAX);
		if (rc)
			return rc;
	}
	room = data_room(w, want - have);
	if (room < want - have) {
		w->counts->shortened++;
		want = have + room;
		bytes = want * bs;
	}
	rc = add_blocks(w, ino, &m, have, want);
	if (rc)
		return rc;
	w->counts->written += (want - have) * bs;
	u->large_file |= bytes > INT32_MAX;
	in.size = bytes;
	in.mtime = in.ctime = (struct xw_time){.sec = u->now};
	rc = xw_update_map_write(u, ino, &in, &m);
	return rc ? rc : xw_update_put(u, ino, &in, steal(raw));
}

/* Resize a file with the allocator of the run. */
static int resize(struct xw_age_world *w, xw_ino ino, uint64_t bytes, bool anew)
{
	const uint64_t bs = w->u->img->block_size, want = xw_div_up(bytes, bs);
	uint64_t written, room, have = 0;
	int rc;

	if (!w->kernel)
		return xw_age_world_resize(w, ino, bytes, anew);
	rc = anew ? 0 : xw_age_linux_promised(w->kernel, ino, &have);
	if (rc)
		return rc;
	room = want > have ? data_room(w, want - have) : 0;
	if (want > have && room < want - have) {
		w->counts->shortened++;
		bytes = (have + room) * bs;
	}
	w->kernel->reserved = XW_AGE_DIRS;
	if (xw_age_linux_is_tight(w->kernel, want)) {
		/* Write the directories first: writeback may use all blocks. */
		rc = xw_age_world_end(w);
		if (rc)
			return rc;
		w->kernel->reserved = 0;
	}
	rc = xw_age_linux_resize(w->kernel, ino, bytes, anew, &written);
	w->counts->written += written;
	return rc;
}

/* ---- operations; 1: skipped ---- */

static int create(struct xw_age_world *w, const struct xw_age_op *op)
{
	struct xw_age_place p;
	int rc;

	if (op->bytes / w->u->img->block_size >= UINT32_MAX)
		return 1; /* larger than the maximum file size */
	rc = xw_age_world_find(w, op->path, true, &p);
	if (!rc && p.ino)
		return 1;
	if (!rc)
		rc = xw_age_world_make_file(w, &p);
	return rc || !op->bytes ? rc : resize(w, p.ino, op->bytes, false);
}

/* Find an existing directory or an existing inode of another type. 1: there is none. */
static int find_existing(struct xw_age_world *w, const char *path, bool dir, struct xw_age_place *p)
{
	const int rc = xw_age_world_find(w, path, false, p);

	if (rc)
		return rc;
	return !p->ino || xw_age_is_dir(w, p->ino) != dir;
}

static int change(struct xw_age_world *w, const struct xw_age_op *op)
{
	struct xw_age_place p;
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	uint64_t bytes = op->bytes;
	int rc = xw_age_world_find(w, op->path, false, &p);

	if (!rc && !p.ino)
		return 1;
	if (!rc)
		rc = xw_update_get(w->u, p.ino, &in, &raw);
	if (rc)
		return rc;
	if ((in.mode & XW_S_IFMT) != XW_S_IFREG)
		return 1;
	if (op->what == XW_AGE_APPEND)
		bytes = in.size + XW_MIN(op->bytes, UINT64_MAX / 2 - in.size);
	if (bytes / w->u->img->block_size >= UINT32_MAX)
		return 1;
	if (op->what == XW_AGE_TRUNCATE && bytes > in.size)
		return 1; /* it would only add a hole */
	return resize(w, p.ino, bytes, op->what == XW_AGE_OVERWRITE);
}

/* Decrement the link count; the last link frees the inode. */
static int lose_link(struct xw_age_world *w, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(w->u, ino, &in, &raw);

	if (rc)
		return rc;
	if (in.links > 1)
		return xw_update_add_links(w->u, ino, -1);
	if (w->kernel)
		rc = xw_age_linux_forget(w->kernel, ino);
	return rc ? rc : xw_update_drop(w->u, ino);
}

static int delete (struct xw_age_world *w, const struct xw_age_op *op)
{
	struct xw_age_place p;
	int rc = find_existing(w, op->path, false, &p);

	if (!rc)
		rc = xw_age_world_unlink(w, &p);
	return rc ? rc : lose_link(w, p.ino);
}

static int rename_file(struct xw_age_world *w, const struct xw_age_op *op)
{
	struct xw_age_place from, to;
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_age_world_find(w, op->to, true, &to);

	if (!rc && to.ino && xw_age_is_dir(w, to.ino))
		return 1;
	if (!rc)
		rc = find_existing(w, op->path, false, &from);
	if (!rc && from.ino == to.ino)
		return 1;
	if (!rc)
		rc = xw_update_get(w->u, from.ino, &in, &raw);
	if (!rc)
		rc = xw_age_world_unlink(w, &from);
	if (!rc)
		rc = xw_age_world_find(w, op->to, true, &to);
	if (rc)
		return rc;
	if (to.ino) {
		rc = xw_age_world_unlink(w, &to);
		if (!rc)
			rc = lose_link(w, to.ino);
		if (!rc && w->kernel)
			rc = xw_age_linux_write(w->kernel, from.ino, false);
		if (rc)
			return rc;
	}
	return xw_age_world_link(w, &to, from.ino, (uint8_t)xw_ftype_of_mode(in.mode));
}

static int make_dir(struct xw_age_world *w, const struct xw_age_op *op)
{
	struct xw_age_place p;
	int rc = xw_age_world_find(w, op->path, true, &p);

	if (rc)
		return rc;
	return p.ino ? 1 : xw_age_world_make_dir(w, &p);
}

static int remove_dir(struct xw_age_world *w, const struct xw_age_op *op)
{
	struct xw_age_place p;
	const int rc = find_existing(w, op->path, true, &p);

	return rc ? rc : xw_age_world_remove_dir(w, &p);
}

static int set_xattr(struct xw_age_world *w, const struct xw_age_op *op)
{
	const struct xw_update_xattr x = {
		.name = op->to, .value = op->value, .len = strlen(op->value)};
	struct xw_age_place p;
	const int rc = find_existing(w, op->path, false, &p);

	return rc ? rc : xw_update_set_xattr(w->u, p.ino, &x);
}

/* Does the operation need free space, and for how many bytes of data? */
static bool needs_room(const struct xw_age_op *op, uint64_t *bytes)
{
	*bytes = 0;
	switch (op->what) {
	case XW_AGE_DELETE:
	case XW_AGE_RMDIR:
	case XW_AGE_TRUNCATE:
		return false;
	case XW_AGE_CREATE:
	case XW_AGE_APPEND:
	case XW_AGE_OVERWRITE:
		*bytes = op->bytes;
		return true;
	default:
		return true;
	}
}

int xw_age_world_apply(struct xw_age_world *w, const struct xw_age_op *op)
{
	struct xw_age_counts *const c = w->counts;
	const struct {
		int (*apply)(struct xw_age_world *w, const struct xw_age_op *op);
		uint64_t *count;
	} kinds[] = {
		[XW_AGE_CREATE] = {create, &c->created},
		[XW_AGE_APPEND] = {change, &c->changed},
		[XW_AGE_TRUNCATE] = {change, &c->changed},
		[XW_AGE_OVERWRITE] = {change, &c->changed},
		[XW_AGE_DELETE] = {delete, &c->removed},
		[XW_AGE_RENAME] = {rename_file, &c->changed},
		[XW_AGE_MKDIR] = {make_dir, &c->created},
		[XW_AGE_RMDIR] = {remove_dir, &c->removed},
		[XW_AGE_SETXATTR] = {set_xattr, &c->changed},
	};
	uint64_t bytes;
	int room = needs_room(op, &bytes) ? room_for(w, bytes) : 2;
	int rc = 1;

	if (room == XW_AGE_COMMIT_FIRST)
		return room;
	if (room)
		rc = kinds[op->what].apply(w, op);
	if (rc < 0)
		return rc;
	*kinds[op->what].count += !rc;
	c->skipped += rc;
	c->ops++;
	return 0;
}
