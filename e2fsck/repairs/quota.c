// SPDX-License-Identifier: MIT
/*
 * Compares quota files with the usage that was added up (facts/usage.c), and rewrites those that
 * differ, with all limits and grace times that could be read.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/table.h"
#include "disk/quota.h"
#include "read/file.h"
#include "read/map.h"
#include "facts/hidden.h"
#include "facts/usage.h"
#include "repairs/space.h"

enum { HOLES_MAX = 16 };

/* ---- a file ---- */

struct file {
	struct xw_table *usage;
	XW_VEC(struct xw_quota_entry) e; /* the correct entries */
	struct xw_table unused; /* a set: 1 + each id in e that owns nothing */
	struct xw_quota_info info; /* grace times; zeros: the defaults */
	uint64_t wrong; /* number of wrong ids */
	uint32_t first; /* the first wrong id */
};

static void file_free(struct file *q)
{
	xw_vec_free(&q->e);
	xw_table_free(&q->unused);
}

static void count_wrong(struct file *q, uint32_t id)
{
	if (!q->wrong++)
		q->first = id;
}

static bool has_limits(const struct xw_quota_entry *e)
{
	return e->inode_hard || e->inode_soft || e->block_hard || e->block_soft;
}

static int take(void *arg, const struct xw_quota_entry *old)
{
	struct file *q = arg;
	struct xw_quota_entry e = *old;
	struct fsck_usage *u = fsck_usage_get(q->usage, e.id);

	e.inodes = u ? u->inodes : 0;
	e.space = u ? u->space : 0;
	if (e.inodes != old->inodes || e.space != old->space)
		count_wrong(q, e.id);
	if (u) {
		u->seen = true;
	} else {
		if (!has_limits(&e))
			return 0;
		if (xw_numbers_add(&q->unused, 1 + (uint64_t)e.id) < 0)
			return XW_ERR_NOMEM;
	}
	return xw_vec_push(&q->e, e);
}

/* Does the quota file lack this owner? */
static bool is_missing(const struct fsck_usage *u)
{
	return u->key && !u->seen && (u->inodes || u->space);
}

static int add_missing(struct file *q)
{
	const bool any = q->wrong;

	for (size_t i = 0; i < q->usage->size; i++) {
		const struct fsck_usage *u = xw_table_at(q->usage, &fsck_usage_by_id, i);
		const struct xw_quota_entry e = {
			.id = (uint32_t)u->key, .inodes = u->inodes, .space = u->space};

		if (!is_missing(u))
			continue;
		count_wrong(q, e.id);
		if (!any) /* the table has no order */
			q->first = XW_MIN(q->first, e.id);
		if (xw_vec_push(&q->e, e))
			return XW_ERR_NOMEM;
	}
	xw_quota_sort(q->e.v, q->e.n);
	return 0;
}

/* Use the limits of an entry in a block that the tree does not reach. */
static int take_lost(void *arg, const struct xw_quota_entry *old)
{
	struct file *q = arg;
	struct fsck_usage *u = fsck_usage_get(q->usage, old->id);

	if (u ? u->seen : xw_numbers_has(&q->unused, 1 + (uint64_t)old->id))
		return 0;
	count_wrong(q, old->id);
	return take(arg, old);
}

static bool misses_any(const struct file *q)
{
	for (size_t i = 0; i < q->usage->size; i++)
		if (is_missing(xw_table_at(q->usage, &fsck_usage_by_id, i)))
			return true;
	return false;
}

/*
 * Length of the file by its map, since i_size may be damaged as well. A quota file has no holes:
 * blocks behind long holes are not read.
 */
static uint64_t mapped_bytes(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	uint64_t n = 0, end = 0;

	if (!xw_map_begin(f->ses.img, ino, in, 0, &it))
		while (xw_map_next(&it, &run) == 1) {
			n += run.len;
			end = run.lblk + run.len;
		}
	xw_diag_clear(&f->ses.diag);
	return XW_MIN(end, n + HOLES_MAX) * f->ses.img->block_size;
}

/*
 * Limits are stored nowhere else. If the tree is damaged, they are searched for in every block of
 * the file.
 */
static int salvage(struct fsck *f, xw_ino ino, const struct xw_inode *in, struct file *q)
{
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *buf = malloc(bs);
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	int rc = xw_map_begin(f->ses.img, ino, in, 0, &it);

	if (!buf)
		return xw_fail_nomem(&f->ses.diag, "quota file");
	while (!rc && xw_map_next(&it, &run) == 1)
		for (uint64_t i = 0; i < run.len && !rc; i++)
			if (!fsck_read(f, run.pblk + i, 1, buf))
				rc = xw_quota_salvage(buf, bs, take_lost, q);
	xw_diag_clear(&f->ses.diag);
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(&f->ses.diag, "quota file") : 0;
}

/* *damaged: not a quota file, or partly unreadable. */
static int read_file(struct fsck *f, int type, xw_ino ino, const struct xw_inode *in,
		     const uint8_t *raw, struct file *q, bool *damaged)
{
	const uint64_t bytes = mapped_bytes(f, ino, in);
	auto_free uint8_t *buf = malloc(bytes + 1);
	struct xw_inode file = *in;
	size_t got = 0;
	int rc;

	if (!buf)
		return xw_fail_nomem(&f->ses.diag, "quota file");
	file.size = bytes;
	file.mode = XW_S_IFREG;
	rc = xw_file_pread(f->ses.img, ino, &file, raw, 0, buf, bytes, &got);
	if (!rc)
		rc = xw_quota_decode(buf, got, (enum xw_quota_type)type, &q->info, take, q);
	if (rc == XW_ERR_NOMEM)
		return xw_fail_nomem(&f->ses.diag, "quota file");
	if (rc == XW_ERR_IO)
		return rc;
	xw_diag_clear(&f->ses.diag);
	*damaged = rc || q->info.stray || !in->links ||
		   in->size < (uint64_t)q->info.blocks * XW_QUOTA_BLOCK ||
		   in->size > bytes + f->ses.img->block_size;
	return *damaged || q->wrong || misses_any(q) ? salvage(f, ino, in, q) : 0;
}

/* The inode of a quota file, without contents. */
static int fresh_inode(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t *raw)
{
	const struct xw_super *sb = &f->ses.img->sb;
	struct fsck_inode *facts;
	int rc = fsck_inode_make(f, ino, &facts);

	if (rc)
		return rc;
	*facts = (struct fsck_inode){
		.links = 1, .ftype = XW_FT_REG, .flags = FSCK_I_USED | FSCK_I_SYSTEM};
	memset(raw, 0, f->ses.img->inode_size);
	*in = (struct xw_inode){.mode = XW_S_IFREG | 0600, .links = 1};
	if (f->ses.img->inode_size > XW_INODE_BODY)
		in->extra_isize = sb->want_extra_isize <= f->ses.img->inode_size - XW_INODE_BODY
					  ? sb->want_extra_isize
					  : 0;
	in->mtime.sec = in->ctime.sec = in->atime.sec = f->opts.now;
	return fsck_inode_write(f, ino, in, raw);
}

static int rewrite_file(struct fsck *f, int type, xw_ino ino, const struct file *q)
{
	struct xw_update *u;
	int rc = f->round.allocated ? 0 : fsck_bitmaps_force(f);

	if (rc)
		return rc;
	rc = fsck_update_begin(f, &u);
	if (rc)
		return rc;
	rc = xw_update_quota_write(u, (enum xw_quota_type)type, ino, q->e.v, q->e.n, &q->info);
	if (!rc)
		return fsck_update_keep(f);
	fsck_update_drop(f);
	return rc;
}

static int check_file(struct fsck *f, int type, xw_ino ino)
{
	static const char *const names[] = {"user", "group", "project"};
	auto_end(file_free) struct file q = {.usage = &f->facts.quota->usage[type]};
	auto_free uint8_t *raw = malloc(f->ses.img->inode_size);
	struct xw_inode in;
	bool damaged = true, fresh, fix;
	int rc =
		raw ? fsck_inode_read(f, ino, &in, raw) : xw_fail_nomem(&f->ses.diag, "quota file");

	if (rc)
		return rc;
	fresh = (in.mode & XW_S_IFMT) != XW_S_IFREG && !fsck_is_quota_file(f, ino, &in);
	rc = fresh ? 0 : read_file(f, type, ino, &in, raw, &q, &damaged);
	if (rc)
		return rc;
	if (add_missing(&q))
		return xw_fail_nomem(&f->ses.diag, "quota usage");
	if (damaged)
		fix = FSCK_FOUND(f, QUOTA_DAMAGED, .ino = ino, .name = names[type]);
	else
		fix = q.wrong && FSCK_FOUND(f, QUOTA_USAGE, .name = names[type], .num = q.wrong,
					    .num2 = q.first);
	if (!fix)
		return 0;
	if (fresh) {
		rc = fresh_inode(f, ino, &in, raw);
	} else if (!in.links) {
		in.links = fsck_inode(f, ino)->links = 1;
		rc = fsck_inode_write(f, ino, &in, raw);
	}
	return rc ? rc : rewrite_file(f, type, ino, &q);
}

/* Is ino the inode of a quota file? Not if it is a user's file, and the user keeps the number. */
static bool is_quota_file(const struct fsck *f, int type, xw_ino ino)
{
	const struct fsck_inode *facts = fsck_inode(f, ino);

	if (type != XW_QUOTA_PROJECT)
		return facts &&
		       ino == (type == XW_QUOTA_USER ? XW_INO_USR_QUOTA : XW_INO_GRP_QUOTA);
	return facts && facts->flags & FSCK_I_SYSTEM && ino >= f->ses.img->sb.first_ino;
}

int fsck_check_quota(struct fsck *f)
{
	struct xw_super *sb = &f->ses.img->sb;
	int rc = 0;

	for (int type = 0; type < XW_QUOTA_TYPES && !rc && !f->ses.stop; type++) {
		const xw_ino ino = fsck_quota_is_on(f, type) ? *fsck_quota_inum(sb, type) : 0;

		if (f->facts.quota && is_quota_file(f, type, ino))
			rc = check_file(f, type, ino);
	}
	return rc;
}
