/* SPDX-License-Identifier: MIT */
/*
 * Journal recovery.
 *
 *   RECOVER set, log in use    -> blocks in place, flush      xw_replay_apply
 *   the same                   -> log empty, flush            xw_replay_finish
 *   RECOVER set, log empty     -> RECOVER clear, flush        xw_journal_set_recover
 *
 * Each step can be interrupted: recovery starts over from the state before it. With UNSETTLED the
 * caller does the last step together with the rest of the recovery. Fast commits change many blocks
 * atomically: with UNSETTLED only the fast commits are left in the log, and the caller's commit
 * empties it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/super.h"
#include "read/bitmaps.h"
#include "read/image.h"
#include "session/journal.h"
#include "fastcommit/fastcommit.h"

/* Open without the warning that the journal needs recovery, since this code recovers it. */
static int open_image(struct xw_dev *dev, unsigned flags, struct xw_diag *diag,
		      struct xw_image **out)
{
	struct xw_diag quiet = {0};
	int rc =
		xw_image_open(dev, flags & XW_REPLAY_TORN_SUPER ? XW_IMAGE_NOCSUM : 0, &quiet, out);

	if (rc)
		return xw_fail(diag, rc, "%s", quiet.text);
	(*out)->diag = diag;
	return 0;
}

static void close_image(struct xw_image **img)
{
	xw_image_close(*img);
}

/* Does the log contain a valid superblock of this filesystem? */
static int check_logged_super(struct xw_log *log, const struct xw_replay *r,
			      const struct xw_super *torn)
{
	const uint32_t bs = log->block_size;
	auto_free uint8_t *buf = malloc(bs);
	const uint8_t *p = buf ? buf + XW_SUPER_OFFSET % bs : NULL;
	struct xw_super sb;
	size_t i;
	int rc = buf ? 0 : xw_fail_nomem(log->diag, "a superblock");

	if (!rc && !xw_replay_find(r, XW_SUPER_OFFSET / bs, &i))
		rc = XW_ERR_CHECKSUM;
	if (!rc)
		rc = xw_replay_read(log, r, i, buf);
	if (!rc && (xw_super_decode(p, &sb) || xw_super_verify(p) ||
		    memcmp(sb.uuid, torn->uuid, sizeof(sb.uuid)) != 0))
		rc = XW_ERR_CHECKSUM;
	if (rc == XW_ERR_CHECKSUM)
		return xw_fail(log->diag, rc, "%s: superblock: checksum mismatch", log->dev->name);
	return rc;
}

int xw_journal_set_recover(struct xw_dev *dev, bool on, bool error, struct xw_diag *diag)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;
	int rc = xw_dev_pread(dev, buf, sizeof(buf), XW_SUPER_OFFSET);

	if (rc)
		return rc;
	if (xw_super_decode(buf, &sb))
		return xw_fail(diag, XW_ERR_CORRUPT,
			       "%s: the journal's copy of the superblock is not valid", dev->name);
	sb.feature_incompat &= ~XW_INCOMPAT_RECOVER;
	if (on)
		sb.feature_incompat |= XW_INCOMPAT_RECOVER;
	if (error)
		sb.state |= XW_STATE_ERROR;
	xw_super_encode(&sb, buf);
	return xw_dev_pwrite(dev, buf, sizeof(buf), XW_SUPER_OFFSET);
}

int xw_journal_apply_external(struct xw_dev *overlay, struct xw_log *log, const struct xw_replay *r,
			      struct xw_diag *diag)
{
	int rc = xw_replay_apply(log, r, UINT64_MAX, overlay);

	if (!rc)
		rc = xw_journal_set_recover(overlay, false, log->jsb.err || r->damaged, diag);
	if (!rc)
		rc = xw_journal_count_free(overlay);
	if (rc >= 0 && r->fast_blocks)
		rc = xw_update_fast(overlay, r->fast, r->fast_blocks, diag);
	if (rc >= 0)
		rc = xw_journal_settle_orphans(overlay);
	return XW_MIN(rc, 0);
}

/*
 * Apply the replay, writing the superblock last: the old one has RECOVER set, and if the journal
 * inode is damaged, it has the only map of the log, which the copy in the log may lack.
 */
static int apply(struct xw_image *img, struct xw_log *log, const struct xw_replay *r)
{
	const uint64_t bs = img->block_size, blk = XW_SUPER_OFFSET / bs;
	auto_free uint8_t *page = NULL;
	size_t i;
	int rc = xw_replay_apply(log, r, blk, img->dev);

	if (rc || !xw_replay_find(r, blk, &i))
		return rc;
	page = malloc(bs);
	if (!page)
		return xw_fail_nomem(log->diag, "a journal");
	rc = xw_dev_flush(img->dev);
	if (!rc)
		rc = xw_replay_read(log, r, i, page);
	return rc ? rc : xw_dev_pwrite(img->dev, page, bs, blk * bs);
}

static int replay(struct xw_image *img, struct xw_log *log, const struct xw_replay *r,
		  const struct xw_journal_info *info)
{
	int rc = apply(img, log, r);

	if (!rc && r->blocks.n)
		rc = xw_dev_flush(img->dev);
	if (rc)
		return rc;
	/* The fast commits are still needed: move the log's start to the end of transactions. */
	if (r->fast_blocks && info->unsettled) {
		if (r->transactions)
			rc = xw_log_set_start(log, r->end_at, r->end_sequence);
		return rc || !r->transactions ? rc : xw_dev_flush(img->dev);
	}
	if (log->jsb.start || log->jsb.err) {
		log->jsb.err = 0;
		rc = xw_replay_finish(log, r);
		if (!rc)
			rc = xw_dev_flush(img->dev);
	}
	if (rc || info->unsettled)
		return rc;
	rc = xw_journal_set_recover(img->dev, false, info->err || info->damaged, img->diag);
	if (!rc)
		rc = xw_dev_flush(img->dev);
	if (rc || !r->fast_blocks)
		return rc;
	rc = xw_journal_count_free(img->dev);
	return rc < 0 ? rc : xw_update_fast(img->dev, r->fast, r->fast_blocks, img->diag);
}

/*
 * Is the log's copy of the superblock one? Otherwise its replay would destroy the filesystem. With
 * SALVAGE that copy is left out, as a damaged one.
 */
static int check_super_copy(struct xw_image *img, struct xw_log *log, unsigned flags,
			    struct xw_replay *r)
{
	const uint32_t bs = img->block_size;
	auto_free uint8_t *page = NULL;
	const uint8_t *p;
	struct xw_super sb;
	size_t i;
	int rc;

	if (!xw_replay_find(r, XW_SUPER_OFFSET / bs, &i))
		return 0;
	page = malloc(bs);
	if (!page)
		return xw_fail_nomem(log->diag, "a superblock");
	rc = xw_replay_read(log, r, i, page);
	p = page + XW_SUPER_OFFSET % bs;
	if (rc || (!xw_super_decode(p, &sb) && !xw_super_verify(p)))
		return rc;
	if (!(flags & XW_REPLAY_SALVAGE))
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: journal: its copy of the superblock is not valid, and is not "
			       "replayed; run xw-fsck -f",
			       img->dev->name);
	memmove(r->blocks.v + i, r->blocks.v + i + 1, (--r->blocks.n - i) * sizeof(*r->blocks.v));
	r->bad++;
	r->damaged = true;
	return 0;
}

static int recover(struct xw_image *img, struct xw_log *log, unsigned flags,
		   struct xw_journal_info *info)
{
	struct xw_replay r;
	int rc = xw_replay_plan(log, flags, img->sb.blocks_count, &r);

	if (!rc && (flags & XW_REPLAY_NOTHING))
		r.blocks.n = r.transactions = 0;
	if (!rc && (flags & XW_REPLAY_TORN_SUPER))
		rc = check_logged_super(log, &r, &img->sb);
	else if (!rc)
		rc = check_super_copy(img, log, flags, &r);
	*info = (struct xw_journal_info){
		.needed = true,
		.damaged = r.damaged,
		.fast_blocks = r.fast_blocks,
		.transactions = r.transactions,
		.blocks = r.blocks.n,
		.revoked = r.revoked,
		.bad = r.bad,
		.err = (int32_t)log->jsb.err,
	};
	info->unsettled =
		flags & XW_REPLAY_UNSETTLED && (r.fast_blocks || (!info->err && !info->damaged));
	if (!rc && r.fast_blocks && !info->unsettled && !(flags & XW_REPLAY_FAST))
		rc = xw_fail(img->diag, XW_ERR_UNSUPPORTED,
			     "%s: journal: it contains fast commits, which are not replayed here; "
			     "mount the image with Linux once, or run xw-fsck -p",
			     img->dev->name);
	if (!rc)
		rc = replay(img, log, &r, info);
	xw_replay_free(&r);
	return rc;
}

int xw_journal_recover(struct xw_dev *dev, unsigned flags, struct xw_diag *diag,
		       struct xw_journal_info *info)
{
	struct xw_journal_info own;
	auto_end(close_image) struct xw_image *img = NULL;
	auto_log struct xw_log *log = NULL;
	bool asked;
	int rc = open_image(dev, flags, diag, &img);

	if (!info)
		info = &own;
	memset(info, 0, sizeof(*info));
	if (rc)
		return rc;
	asked = img->sb.feature_incompat & XW_INCOMPAT_RECOVER;
	if (asked ||
	    ((flags & XW_REPLAY_UNASKED) && (img->sb.feature_compat & XW_COMPAT_HAS_JOURNAL)))
		rc = xw_log_open_image(img, &log);
	if (!rc && log && (asked || log->jsb.start))
		rc = recover(img, log, flags, info);
	return rc;
}

/* Sum the free counts of the descriptors; false if they cannot be trusted. */
static bool sum_free(struct xw_image *img, struct xw_super *sb)
{
	struct xw_group_desc gd;
	uint64_t clusters = 0, inodes = 0;

	for (uint64_t g = 0; g < img->groups; g++) {
		if (xw_image_group(img, g, &gd))
			return false;
		clusters += gd.free_blocks;
		inodes += gd.free_inodes;
	}
	sb->free_blocks_count = clusters << xw_image_cluster_bits(img);
	sb->free_inodes_count = (uint32_t)inodes;
	return sb->free_blocks_count <= sb->blocks_count && inodes <= sb->inodes_count;
}

int xw_journal_count_free(struct xw_dev *dev)
{
	struct xw_diag quiet = {0};
	uint8_t old[XW_SUPER_SIZE], now[XW_SUPER_SIZE];
	struct xw_image *img;
	struct xw_super sb;
	bool known;
	int rc;

	if (xw_image_open(dev, 0, &quiet, &img))
		return 0;
	sb = img->sb;
	known = sum_free(img, &sb);
	xw_image_close(img);
	rc = known ? xw_dev_pread(dev, old, sizeof(old), XW_SUPER_OFFSET) : 0;
	if (!known || rc)
		return rc;
	memcpy(now, old, sizeof(now));
	xw_super_encode(&sb, now);
	if (!memcmp(old, now, sizeof(now)))
		return 0;
	rc = xw_dev_pwrite(dev, now, sizeof(now), XW_SUPER_OFFSET);
	return rc ? rc : 1;
}

/* Replay the fast commits that recover() left in the log. */
static int replay_fast(struct xw_dev *overlay, struct xw_diag *diag)
{
	struct xw_image *img = NULL;
	struct xw_log *log = NULL;
	struct xw_replay r = {0};
	int rc = open_image(overlay, 0, diag, &img);

	if (!rc)
		rc = xw_log_open_image(img, &log);
	if (!rc)
		rc = xw_replay_plan(log, 0, img->sb.blocks_count, &r);
	xw_log_close(log);
	xw_image_close(img);
	if (!rc && r.fast_blocks)
		rc = xw_update_fast(overlay, r.fast, r.fast_blocks, diag);
	xw_replay_free(&r);
	return rc;
}

int xw_journal_finish(struct xw_dev *overlay, struct xw_journal_info *info, struct xw_diag *diag)
{
	uint8_t super[XW_SUPER_SIZE];
	struct xw_super sb;
	int rc, settled, counted = xw_journal_count_free(overlay);

	if (counted < 0)
		return counted;
	info->recounted = counted;
	rc = xw_dev_pread(overlay, super, sizeof(super), XW_SUPER_OFFSET);
	if (rc || xw_super_decode(super, &sb))
		return rc; /* the next function that reads the superblock reports it */
	sb.feature_incompat &= ~XW_INCOMPAT_RECOVER;
	if (info->err || info->damaged)
		sb.state |= XW_STATE_ERROR;
	xw_super_encode(&sb, super);
	rc = xw_dev_pwrite(overlay, super, sizeof(super), XW_SUPER_OFFSET);
	if (!rc && info->fast_blocks)
		rc = replay_fast(overlay, diag);
	if (rc)
		return rc;
	settled = xw_journal_settle_orphans(overlay);
	if (settled < 0)
		return settled;
	return counted || settled || info->fast_blocks || info->err || info->damaged;
}

int xw_journal_empty(struct xw_dev *overlay, struct xw_diag *diag)
{
	auto_end(close_image) struct xw_image *img = NULL;
	auto_log struct xw_log *log = NULL;
	int rc = open_image(overlay, 0, diag, &img);

	if (!rc)
		rc = xw_log_open_image(img, &log);
	if (rc || (!log->jsb.start && !log->jsb.err))
		return rc;
	log->jsb.err = 0;
	return xw_log_set_start(log, 0, log->jsb.sequence + 1);
}
