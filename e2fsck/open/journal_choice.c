// SPDX-License-Identifier: MIT
/*
 * Chooses the blocks of a damaged log that are replayed. Linux refuses such a log, and e2fsck
 * replays nothing if the log has checksums. That is right if these blocks were written in place
 * before the crash, since older copies would undo later changes. Otherwise the intact part of the
 * log should be replayed. So each outcome is tried on an overlay of its own, and judged by
 *
 *	versions  blocks in place that equal a copy behind the damage are newer than one before it
 *	times     of inode records: which ones were changed last?
 *	tally     entries that refer to valid inodes, and inconsistencies
 *
 * If the outcomes cannot be distinguished, the blocks before the damage are replayed, since they
 * verify and the log was in use. If only data blocks are damaged, all others are replayed.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "dev/overlay.h"
#include "open/open.h"
#include "read/dirs.h"

#define IMAGE_FLAGS (XW_IMAGE_ANY_FEATURES | XW_IMAGE_SHORT | XW_IMAGE_LENIENT)

struct tally {
	uint64_t names; /* entries that refer to an inode in use of their type */
	uint64_t bad; /* other entries; inconsistent directories, maps and blocks */
};

struct count {
	struct xw_image *img;
	struct tally *t;
	struct xw_blockset *seen; /* inodes */
	struct xw_blockset *blocks; /* of maps */
	uint64_t budget; /* blocks of directories */
	XW_VEC(xw_ino) dirs; /* to be read */
};

static void count_free(struct count *c)
{
	xw_vec_free(&c->dirs);
	xw_blockset_free(c->seen);
	xw_blockset_free(c->blocks);
	xw_image_close(c->img);
}

/* ---- tally ---- */

static int claim_blocks(struct count *c, xw_ino ino, const struct xw_inode *in)
{
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	uint64_t had;
	int rc = 0, more = xw_map_begin(c->img, ino, in, 0, &it);

	while (!rc && !more && (more = xw_map_next(&it, &run)) > 0) {
		rc = xw_blockset_add(c->blocks, run.pblk, run.len, &had);
		c->t->bad += had;
		more = 0;
	}
	c->t->bad += more < 0;
	return rc;
}

static int count_name(struct count *c, const struct xw_dirent *e)
{
	struct xw_inode in;
	uint64_t had;
	int rc = xw_image_inode(c->img, e->ino, &in, NULL);

	if (rc == XW_ERR_NOMEM)
		return rc;
	if (rc || !in.links || in.dtime || (e->ftype && e->ftype != xw_ftype_of_mode(in.mode))) {
		c->t->bad++;
		return 0;
	}
	c->t->names++;
	rc = xw_blockset_add(c->seen, e->ino, 1, &had);
	if (rc || had) {
		c->t->bad += !rc && (in.mode & XW_S_IFMT) == XW_S_IFDIR;
		return rc;
	}
	if ((in.mode & XW_S_IFMT) == XW_S_IFDIR)
		rc = xw_vec_push(&c->dirs, e->ino);
	return rc ? rc : claim_blocks(c, e->ino, &in);
}

static int count_dir(struct count *c, xw_ino ino)
{
	auto_free uint8_t *raw = malloc(c->img->inode_size);
	auto_end(xw_dir_end) struct xw_dir_iter it = {0};
	struct xw_dirent e;
	struct xw_inode in;
	uint64_t blocks;
	int rc = raw ? xw_image_inode(c->img, ino, &in, raw) : XW_ERR_NOMEM, more;

	if (rc)
		return rc == XW_ERR_NOMEM ? rc : (c->t->bad++, 0);
	blocks = xw_div_up(in.size, c->img->block_size);
	if (blocks > c->budget) {
		c->t->bad++;
		return 0;
	}
	c->budget -= blocks;
	more = xw_dir_begin(c->img, ino, &in, raw, &it);
	if (more)
		c->t->bad++;
	while (!more && !rc && (more = xw_dir_next(&it, &e, NULL))) {
		if (more < 0)
			c->t->bad++;
		else if (!xw_name_is_dots(e.name, e.name_len))
			rc = count_name(c, &e);
		more = more == XW_ERR_NOMEM || more == XW_ERR_IO;
	}
	return rc;
}

static void sysmap_free(struct xw_sysmap **map)
{
	xw_sysmap_free(*map);
}

/* Count bitmaps that contradict their descriptors, and blocks of files that are free in them. */
static int count_bitmaps(struct count *c)
{
	const struct xw_image *img = c->img;
	const uint32_t n = xw_image_group_bits(img);
	auto_free uint8_t *bits = malloc(n / 8), *used = malloc(n / 8 + 1);
	auto_end(sysmap_free) struct xw_sysmap *map = NULL;
	int rc;

	if (!bits || !used)
		return XW_ERR_NOMEM;
	rc = xw_sysmap_new(c->img, &map);
	if (rc || xw_image_cluster_bits(img))
		return rc == XW_ERR_NOMEM ? rc : 0;
	for (uint64_t g = 0; g < xw_image_groups_here(img); g++) {
		const uint64_t at = img->sb.first_data_block + g * n;
		const uint64_t len =
			at < img->sb.blocks_count ? XW_MIN(n, img->sb.blocks_count - at) : 0;

		rc = xw_image_block_bitmap(c->img, map, g, bits);
		if (rc == XW_ERR_NOMEM)
			return rc;
		c->t->bad += rc != 0;
		xw_blockset_bits(c->blocks, at, len, used);
		for (uint64_t i = 0; i < len / 8; i++)
			c->t->bad += (unsigned)__builtin_popcount(used[i] & ~bits[i] & 0xFF);
	}
	return 0;
}

/* Tally the filesystem on dev. An image that cannot be opened has a tally of zeros. */
static int count_all(struct xw_dev *dev, struct tally *t)
{
	struct xw_diag quiet = {0};
	auto_end(count_free) struct count c = {.t = t};
	int rc;

	*t = (struct tally){0};
	rc = xw_image_open(dev, IMAGE_FLAGS, &quiet, &c.img);
	if (rc)
		return rc == XW_ERR_NOMEM ? rc : 0;
	c.budget = xw_image_blocks_here(c.img);
	if (xw_blockset_new(c.img->sb.blocks_count, &c.blocks) ||
	    fsck_set_add(&c.seen, (uint64_t)c.img->sb.inodes_count + 1, XW_INO_ROOT, 1, NULL) ||
	    xw_vec_push(&c.dirs, XW_INO_ROOT))
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < c.dirs.n; i++) {
		rc = count_dir(&c, c.dirs.v[i]);
		if (rc)
			return rc;
	}
	return count_bitmaps(&c);
}

/* ---- versions and times ---- */

struct tables {
	XW_VEC(xw_blk) v; /* first blocks of inode tables, ascending */
};

static int find_tables(struct xw_image *img, struct tables *all)
{
	struct xw_group_desc gd;
	int rc = 0;

	for (uint64_t g = 0; g < xw_image_groups_here(img) && !rc; g++)
		if (!xw_image_group(img, g, &gd) || gd.inode_table)
			rc = xw_vec_push(&all->v, gd.inode_table);
	if (all->v.n)
		qsort(all->v.v, all->v.n, sizeof(*all->v.v), xw_by_u64);
	return rc;
}

static bool in_table(const struct tables *all, const struct xw_image *img, xw_blk blk)
{
	const size_t after = XW_LOWER_BOUND(i, all->v.n, all->v.v[i] > blk);

	return after && blk - all->v.v[after - 1] < img->itable_blocks;
}

struct age {
	uint64_t home, log; /* inode records that are newer in place, and in the log */
};

static void compare_records(const struct xw_image *img, const uint8_t *home, const uint8_t *log,
			    struct age *age)
{
	struct xw_inode a, b;

	for (uint32_t at = 0; at < img->block_size; at += img->inode_size) {
		if (!memcmp(home + at, log + at, img->inode_size))
			continue;
		(void)xw_inode_decode(home + at, &img->sb, &a);
		(void)xw_inode_decode(log + at, &img->sb, &b);
		if (a.mode && b.mode && a.ctime.sec == b.ctime.sec) {
			age->home += a.ctime.nsec > b.ctime.nsec;
			age->log += a.ctime.nsec < b.ctime.nsec;
		} else {
			age->home += a.mode && (!b.mode || a.ctime.sec > b.ctime.sec);
			age->log += b.mode && (!a.mode || a.ctime.sec < b.ctime.sec);
		}
	}
}

struct outcome {
	unsigned flags;
	struct xw_replay plan;
	struct tally tally;
	struct age age;
	bool overtaken; /* a block in place equals a later copy than that of the plan */
};

struct chooser {
	struct fsck *f;
	struct xw_log *log;
	struct tables tables;
	uint8_t *home, *copy, *other; /* blocks */
	/* replays of all of the log that verifies, and of the parts before and behind the damage */
	struct outcome beyond, before, rest;
};

/*
 * Is block i of the plan older than the block in place, because that equals a later copy in `all`?
 */
static int is_overtaken(struct chooser *c, const struct outcome *o, size_t i, bool *yes)
{
	const struct xw_replay *all = &c->beyond.plan;
	const struct xw_replay_block *b = &o->plan.blocks.v[i];
	const uint32_t bs = c->log->block_size;
	size_t k;
	int rc;

	*yes = false;
	if (all == &o->plan || !xw_replay_find(all, b->blk, &k) || all->blocks.v[k].at == b->at)
		return 0;
	rc = xw_replay_read(c->log, all, k, c->other);
	*yes = !rc && !memcmp(c->home, c->other, bs) && memcmp(c->home, c->copy, bs) != 0;
	return rc;
}

static int compare_blocks(struct chooser *c, struct outcome *o)
{
	const struct xw_image *img = c->f->ses.img;

	for (size_t i = 0; i < o->plan.blocks.n; i++) {
		const xw_blk blk = o->plan.blocks.v[i].blk;
		int rc = fsck_read(c->f, blk, 1, c->home);
		bool later;

		if (!rc)
			rc = xw_replay_read(c->log, &o->plan, i, c->copy);
		if (!rc)
			rc = is_overtaken(c, o, i, &later);
		if (rc)
			return rc;
		o->overtaken |= later;
		if (in_table(&c->tables, img, blk))
			compare_records(img, c->home, c->copy, &o->age);
	}
	return 0;
}

/* ---- choice ---- */

/* Would the replay undo later changes? */
static bool goes_back(const struct outcome *o)
{
	return o->overtaken || o->age.home > o->age.log;
}

/* The tally requires a walk over the filesystem, so outcomes that undo later changes get none. */
static int try_outcome(struct chooser *c, struct outcome *o)
{
	struct xw_dev *trial;
	int rc = compare_blocks(c, o);

	if (rc || goes_back(o))
		return rc;
	rc = xw_overlay_open(c->f->ses.dev, c->log->block_size, NULL, &trial);
	if (rc)
		return rc;
	rc = xw_replay_apply(c->log, &o->plan, UINT64_MAX, trial);
	if (!rc)
		rc = count_all(trial, &o->tally);
	(void)xw_overlay_detach(trial);
	return rc;
}

/* The value of an outcome: a name makes up for one inconsistency. */
static int64_t worth(const struct tally *t)
{
	return (int64_t)t->names - (int64_t)t->bad;
}

/* Does the evidence say that replaying it is better than leaving the filesystem alone? */
static bool is_better(const struct outcome *o, const struct tally *alone)
{
	if (goes_back(o) || o->tally.names < alone->names)
		return false;
	if (o->age.log > o->age.home)
		return worth(&o->tally) >= worth(alone);
	return o->tally.bad <= alone->bad && worth(&o->tally) > worth(alone);
}

/*
 * If only data blocks of the log are damaged, Linux and e2fsck replay the others. Is the filesystem
 * worse after this replay than without it?
 */
static bool is_worse(const struct outcome *o, const struct tally *alone)
{
	return goes_back(o) || (o->age.home == o->age.log && worth(&o->tally) < worth(alone));
}

static int make_plan(struct chooser *c, struct outcome *o, unsigned flags)
{
	o->flags = flags;
	return xw_replay_plan(c->log, flags, c->f->ses.img->sb.blocks_count, &o->plan);
}

/* Choose between two outcomes that are both better than no replay. */
static const struct outcome *better_of(const struct outcome *a, const struct outcome *b)
{
	if (worth(&a->tally) != worth(&b->tally))
		return worth(&a->tally) > worth(&b->tally) ? a : b;
	return b->age.home < a->age.home ? b : a;
}

static void decide(struct chooser *c, const struct tally *alone, unsigned *flags)
{
	const struct outcome *best = NULL;
	const bool headers = c->before.plan.headers;

	/* with a revoke record lost, an older copy of a block could overwrite file data */
	if (headers && !c->beyond.plan.revokes_lost && is_better(&c->beyond, alone))
		best = &c->beyond;
	if (headers && is_better(&c->rest, alone))
		best = best ? better_of(best, &c->rest) : &c->rest;
	if (headers ? is_better(&c->before, alone) : !is_worse(&c->before, alone))
		best = best ? better_of(best, &c->before) : &c->before;
	/* no evidence distinguishes them, and the blocks before the damage verify */
	if (headers && !best && c->before.plan.blocks.n && !goes_back(&c->before) &&
	    c->before.tally.names == alone->names && c->before.tally.bad == alone->bad)
		best = &c->before;
	*flags = best ? best->flags : XW_REPLAY_SALVAGE | XW_REPLAY_NOTHING;
}

static int choose(struct chooser *c, unsigned *flags)
{
	const unsigned all = XW_REPLAY_SALVAGE | XW_REPLAY_BEYOND;
	struct tally alone;
	int rc = make_plan(c, &c->beyond, all);

	if (!rc)
		rc = make_plan(c, &c->before, XW_REPLAY_SALVAGE);
	if (!rc)
		rc = make_plan(c, &c->rest, all | XW_REPLAY_REST);
	if (!rc)
		rc = find_tables(c->f->ses.img, &c->tables);
	if (rc)
		return rc;
	rc = count_all(c->f->ses.dev, &alone);
	if (!rc)
		rc = try_outcome(c, &c->before);
	if (!rc && c->before.plan.headers)
		rc = try_outcome(c, &c->beyond);
	if (!rc && c->before.plan.headers)
		rc = try_outcome(c, &c->rest);
	if (!rc)
		decide(c, &alone, flags);
	return rc;
}

static void chooser_free(struct chooser *c)
{
	free(c->home);
	free(c->copy);
	free(c->other);
	xw_vec_free(&c->tables.v);
	xw_replay_free(&c->before.plan);
	xw_replay_free(&c->beyond.plan);
	xw_replay_free(&c->rest.plan);
}

/* The log is damaged: try the outcomes. */
static int try_outcomes(struct fsck *f, struct xw_log *log, unsigned *flags)
{
	auto_end(chooser_free) struct chooser c = {.f = f, .log = log};

	c.home = malloc(log->block_size);
	c.copy = malloc(log->block_size);
	c.other = malloc(log->block_size);
	return c.home && c.copy && c.other ? choose(&c, flags) : XW_ERR_NOMEM;
}

int fsck_choose_replay(struct fsck *f, struct xw_log *log, unsigned *flags)
{
	auto_quiet quiet = fsck_quiet(&log->diag);
	struct xw_replay plan;
	int rc;

	*flags = XW_REPLAY_SALVAGE;
	rc = xw_replay_plan(log, 0, f->ses.img->sb.blocks_count, &plan);
	xw_replay_free(&plan);
	/* A sound log that only a backup knows of may be older than the filesystem. */
	if (rc == XW_ERR_CHECKSUM || rc == XW_ERR_CORRUPT ||
	    (!rc && f->start.log_unknown && log->jsb.start))
		rc = try_outcomes(f, log, flags);
	xw_diag_clear(&f->ses.diag);
	return rc == XW_ERR_NOMEM || rc == XW_ERR_IO ? rc : 0;
}

void fsck_found_replay(struct fsck *f, unsigned how)
{
	if (how & XW_REPLAY_NOTHING)
		(void)FSCK_FOUND(f, JOURNAL_STALE);
	else
		(void)FSCK_FOUND(f, JOURNAL_LOST_DATA);
}
