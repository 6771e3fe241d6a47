// SPDX-License-Identifier: MIT
/* Delayed allocation: blocks of files are allocated at writeback, not when their size is set. */
#include "config.h"

#include "age/linux.h"

#include <stdlib.h>

#include "age/linux_internal.h"
#include "base/search.h"
#include "base/auto.h"
#include "edit/edit.h"
#include "update/inode.h"
#include "update/map.h"

#define QUOTA_MORE 4 /* in blocks */
#define PLENTY 256 /* above this many free blocks the writer keeps its preallocation */

/* ---- files whose blocks are not allocated yet ---- */

struct slot {
	xw_ino ino;
	size_t at; /* 1 + position in `dirty`; 0: none */
};

static const struct xw_table_kind slots = XW_TABLE_BY_U32(struct slot);

static struct slot *find(const struct xw_age_linux *l, xw_ino ino)
{
	return xw_table_get(&l->at, &slots, NULL, xw_table_number(&l->at, ino), &ino);
}

static int remember(struct xw_age_linux *l, xw_ino ino)
{
	struct slot *s;

	if (xw_table_room(&l->at, &slots, NULL) || xw_vec_reserve(&l->dirty, l->dirty.n + 1))
		return xw_fail_nomem(l->u->diag, "delayed allocation");
	s = xw_table_slot(&l->at, &slots, NULL, xw_table_number(&l->at, ino), &ino);
	if (!s->ino)
		l->at.n++;
	s->ino = ino;
	if (s->at)
		return 0;
	l->dirty.v[l->dirty.n++] = ino;
	s->at = l->dirty.n;
	return 0;
}

static bool is_dirty(const struct xw_age_linux *l, xw_ino ino)
{
	const struct slot *s = find(l, ino);

	return s && s->at;
}

static void clean(struct xw_age_linux *l, xw_ino ino)
{
	struct slot *s = find(l, ino);

	if (!s || !s->at)
		return;
	l->dirty.v[s->at - 1] = 0;
	s->at = 0;
}

/* ---- a step ---- */

/* Asking costs a system call, about as much as writing a piece. */
static int check_canceled(struct xw_age_linux *l)
{
	if (l->pieces++ % XW_AGE_CHECK)
		return 0;
	return xw_commit_check_canceled(l->watch, l->u->img->dev->name, l->u->diag);
}

/* Quota files are rewritten at the end of a step, and may grow. */
static int size_of_quota(struct xw_age_linux *l)
{
	const struct xw_super *sb = &l->u->img->sb;
	const xw_ino files[] = {sb->usr_quota_inum, sb->grp_quota_inum, sb->prj_quota_inum};

	l->quota = 0;
	for (size_t i = 0; i < XW_ARRAY_SIZE(files) && l->u->quota_types; i++) {
		auto_free uint8_t *raw = NULL;
		struct xw_inode in;
		int rc = files[i] ? xw_update_get(l->u, files[i], &in, &raw) : 0;

		if (rc)
			return rc;
		if (files[i])
			l->quota += xw_div_up(in.size, l->u->img->block_size) + QUOTA_MORE;
	}
	return 0;
}

int xw_age_linux_begin(struct xw_age_linux *l, uint64_t step)
{
	struct xw_space *space = l->u->space;
	int rc = size_of_quota(l);

	if (rc)
		return rc;
	l->cpu = (unsigned)(step % XW_AGE_CPUS);
	l->full = false;
	for (unsigned c = 0; c < XW_AGE_CPUS; c++) {
		struct xw_age_pools *p = &l->mem->pools[c];

		for (uint32_t i = 0; i < p->n;) {
			const struct xw_run *run = &p->run[i];
			rc = xw_space_run_at(space, run->start, run->len) < run->len
				     ? XW_ERR_CORRUPT
				     : xw_space_claim(space, run->start, run->len);

			if (rc && rc != XW_ERR_CORRUPT)
				return rc;
			if (rc) /* the image was changed since the last step */
				xw_age_linux_forget_pool(p, i);
			else
				i++;
		}
	}
	return 0;
}

int xw_age_linux_end(struct xw_age_linux *l)
{
	int rc = 0;

	for (unsigned c = 0; c < XW_AGE_CPUS; c++)
		for (uint32_t i = 0; i < l->mem->pools[c].n && !rc; i++)
			rc = xw_space_release(l->u->space, l->mem->pools[c].run[i].start,
					      l->mem->pools[c].run[i].len);
	return rc;
}

void xw_age_linux_free(struct xw_age_linux *l)
{
	xw_vec_free(&l->dirty);
	xw_table_free(&l->at);
}

static uint64_t will_be_free(const struct xw_age_linux *l)
{
	const uint64_t free = xw_space_free_blocks(l->u->space) + l->u->stats.freed_blocks;

	return free - XW_MIN(l->delayed, free);
}

uint64_t xw_age_linux_room(struct xw_age_linux *l, uint64_t want)
{
	if (will_be_free(l) < want)
		xw_age_linux_drop_pools(l);
	return will_be_free(l);
}

static void end_writing(struct xw_age_writing *f)
{
	xw_update_map_end(&f->m);
}

int xw_age_linux_write(struct xw_age_linux *l, xw_ino ino, bool open)
{
	struct xw_update *u = l->u;
	auto_end(end_writing) struct xw_age_writing f = {.ino = ino, .open = open};
	auto_free uint8_t *raw = NULL;
	bool keep;
	int rc;

	if (!is_dirty(l, ino))
		return 0;
	if (ino == l->writer)
		f.rest = l->rest;
	rc = xw_update_get(u, ino, &f.in, &raw);
	if (!rc)
		rc = xw_update_map_read(u, ino, &f.in, &f.m);
	if (rc)
		return rc;
	f.from = f.pos = xw_age_allocated(&f.m);
	f.end = xw_div_up(f.in.size, u->img->block_size);
	rc = xw_age_linux_allocate(l, &f);
	if (rc == XW_ERR_NOSPC) { /* a commit would free nothing */
		l->delayed -= XW_MIN(l->delayed, f.end - f.pos);
		f.end = f.pos;
		f.in.size = f.end * u->img->block_size;
		l->shortened++;
	} else if (rc) {
		return rc;
	}
	l->delayed -= XW_MIN(l->delayed, f.pos - f.from);
	if (f.pos >= f.end)
		clean(l, ino);
	else
		l->full = true;
	/* leave blocks for the file's extent tree or indirect blocks */
	keep = ino == l->writer && xw_space_free_blocks(u->space) > PLENTY;
	if (ino == l->writer)
		l->rest = keep ? f.rest : (struct xw_run){0};
	rc = keep || !f.rest.len ? 0 : xw_space_release(u->space, f.rest.start, f.rest.len);
	/*
	 * extent tree blocks are allocated anew: release the preallocations if they have used all
	 * blocks
	 */
	if (!rc && xw_space_free_blocks(u->space) < xw_age_linux_map_blocks(l, &f))
		rc = xw_age_linux_drop_pools(l);
	if (!rc && f.pos > f.from)
		rc = xw_update_map_write(u, ino, &f.in, &f.m);
	return rc ? rc : xw_update_put(u, ino, &f.in, steal(raw));
}

/* Sort the dirty list and remove unused entries. */
static void sort(struct xw_age_linux *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->dirty.n; i++)
		if (l->dirty.v[i])
			l->dirty.v[n++] = l->dirty.v[i];
	l->dirty.n = n;
	if (n)
		qsort(l->dirty.v, n, sizeof(*l->dirty.v), xw_by_u32);
	for (size_t i = 0; i < n; i++)
		find(l, l->dirty.v[i])->at = i + 1;
}

int xw_age_linux_sync(struct xw_age_linux *l)
{
	int rc = 0;

	for (size_t i = 0; i < l->dirty.n && !rc; i++) {
		if (!l->dirty.v[i])
			continue;
		rc = check_canceled(l);
		if (!rc)
			rc = xw_age_linux_write(l, l->dirty.v[i], l->dirty.v[i] == l->writer);
		if (l->full)
			break;
	}
	sort(l);
	return rc;
}

/* ---- sizes ---- */

/* *written: bytes that became dirty. *old: the previous size. */
static int set_size(struct xw_age_linux *l, xw_ino ino, uint64_t bytes, bool anew, uint64_t *old,
		    uint64_t *written)
{
	struct xw_update *u = l->u;
	const uint64_t bs = u->img->block_size, want = xw_div_up(bytes, bs);
	auto_end(xw_update_map_end) struct xw_update_map m = {0};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	uint64_t have, will;
	int rc = xw_update_uninline(u, ino);

	*written = 0;
	if (!rc)
		rc = xw_update_get(u, ino, &in, &raw);
	if (!rc)
		rc = xw_update_map_read(u, ino, &in, &m);
	if (rc)
		return rc;
	have = xw_age_allocated(&m);
	*old = in.size;
	will = is_dirty(l, ino) ? xw_div_up(in.size, bs) : have;
	l->delayed -= XW_MIN(l->delayed, will - XW_MIN(have, will));
	if (anew || want < have) {
		const uint64_t keep = anew ? 0 : want;

		rc = xw_update_map_punch(u, &m, keep, UINT32_MAX);
		have = XW_MIN(have, keep);
		will = XW_MIN(will, keep);
	}
	u->large_file |= bytes > INT32_MAX;
	in.size = bytes;
	in.mtime = in.ctime = (struct xw_time){.sec = u->now};
	if (!rc && (anew || want == have))
		rc = xw_update_map_write(u, ino, &in, &m);
	if (!rc)
		rc = xw_update_put(u, ino, &in, steal(raw));
	if (rc)
		return rc;
	if (want <= have) {
		clean(l, ino);
		return 0;
	}
	l->delayed += want - have;
	*written = want > will ? (want - will) * bs : 0;
	return remember(l, ino);
}

bool xw_age_linux_is_tight(const struct xw_age_linux *l, uint64_t want)
{
	const uint64_t free = xw_space_free_blocks(l->u->space) + l->u->stats.freed_blocks;

	return !l->full && l->delayed + want > free / 2;
}

/* Extend a file from `at` in pieces, with writeback of all dirty files whenever space is tight. */
static int grow_slowly(struct xw_age_linux *l, xw_ino ino, uint64_t at, uint64_t bytes,
		       uint64_t *written)
{
	while (at < bytes) {
		uint64_t old, n;
		int rc = check_canceled(l);

		if (!rc && xw_age_linux_is_tight(l, xw_age_blocks_of(l->u, XW_AGE_WRITE)))
			rc = xw_age_linux_sync(l);
		at += XW_MIN(XW_AGE_WRITE, bytes - at);
		if (!rc)
			rc = set_size(l, ino, at, false, &old, &n);
		if (rc)
			return rc;
		*written += n;
	}
	return 0;
}

int xw_age_linux_resize(struct xw_age_linux *l, xw_ino ino, uint64_t bytes, bool anew,
			uint64_t *written)
{
	uint64_t old, size;
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(l->u, ino, &in, &raw);

	*written = 0;
	if (rc)
		return rc;
	old = in.size;
	size = anew ? 0 : old;
	l->writer = ino;
	if (bytes > size &&
	    xw_age_linux_is_tight(l, xw_div_up(bytes - size, l->u->img->block_size))) {
		if (anew)
			rc = set_size(l, ino, 0, true, &size, written);
		if (!rc)
			rc = grow_slowly(l, ino, anew ? 0 : size, bytes, written);
	} else {
		rc = set_size(l, ino, bytes, anew, &size, written);
	}
	if (!rc && anew && old)
		rc = xw_age_linux_write(l, ino, true);
	l->writer = 0;
	if (!rc && l->rest.len)
		rc = xw_space_release(l->u->space, l->rest.start, l->rest.len);
	l->rest = (struct xw_run){0};
	return rc;
}

/* *n: unallocated blocks at the end of a regular file; 0 for other inodes. */
static int missing(struct xw_age_linux *l, xw_ino ino, uint64_t *n)
{
	auto_end(xw_update_map_end) struct xw_update_map m = {0};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	uint64_t end;
	int rc = xw_update_get(l->u, ino, &in, &raw);

	*n = 0;
	if (rc || (in.mode & XW_S_IFMT) != XW_S_IFREG)
		return rc;
	rc = xw_update_map_read(l->u, ino, &in, &m);
	if (rc)
		return rc;
	end = xw_div_up(in.size, l->u->img->block_size);
	*n = end - XW_MIN(end, xw_age_allocated(&m));
	return 0;
}

int xw_age_linux_promised(struct xw_age_linux *l, xw_ino ino, uint64_t *blocks)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	uint64_t less = 0;
	int rc = xw_update_get(l->u, ino, &in, &raw);

	if (!rc && !is_dirty(l, ino))
		rc = missing(l, ino, &less);
	*blocks = rc ? 0 : xw_div_up(in.size, l->u->img->block_size) - less;
	return rc;
}

int xw_age_linux_forget(struct xw_age_linux *l, xw_ino ino)
{
	uint64_t n;
	int rc;

	if (!is_dirty(l, ino))
		return 0;
	clean(l, ino);
	rc = missing(l, ino, &n);
	l->delayed -= XW_MIN(l->delayed, n);
	return rc;
}

int xw_age_linux_recall(struct xw_age_linux *l, xw_ino ino)
{
	uint64_t n;
	int rc = is_dirty(l, ino) ? 0 : missing(l, ino, &n);

	if (rc || is_dirty(l, ino) || !n)
		return rc;
	l->delayed += n;
	rc = remember(l, ino);
	sort(l);
	return rc;
}
