/* SPDX-License-Identifier: MIT */
/*
 * The commit through the image's own journal, which Linux and stock e2fsck can complete, too.
 *
 *   step                                        interrupted after it, the image is
 *   is the image unchanged by others?           old, or changed by them
 *   RECOVER in the superblock, flush            old, recovery has nothing to replay
 *   one transaction into the log, flush         old (start is 0: the log is not read)
 *   is the image unchanged by others?           the same
 *   start in the journal superblock, flush      new, once the log is replayed   [commit point]
 *   is it unchanged by others?                  the same
 *   blocks in place, flush                      the same
 *   start 0, flush                              new, recovery has nothing to replay
 *   is the image unchanged by others?           the same
 *   RECOVER cleared, flush                      new
 *
 * Every copy of the superblock that is written while the log may be in use has RECOVER set,
 * including the copy in the transaction: a replay must not clear the flag that requests it.
 *
 * At the end of a recovery with fast commits, the log contains these but no transaction (start is
 * not 0, RECOVER is set): this is then the old state.
 *
 * Any tool which completes the change must find the log with the superblock, descriptors and inode
 * 8 of the partial state: they must be valid in both states and refer to the same blocks.
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/types.h"
#include "commit/commit_internal.h"
#include "commit/super.h"
#include "journal/txn.h"
#include "read/image.h"

/* Properties of an image before or after the change. */
struct side {
	struct xw_diag diag;
	struct xw_image *img;
	struct xw_log *log;
};

struct reason {
	char *text;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static bool no(const struct reason *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->text, r->size, fmt, ap);
	va_end(ap);
	return false;
}

/* What a superblock alone tells. */
static bool has_journal(const struct xw_super *sb, const struct reason *why)
{
	if (!(sb->feature_compat & XW_COMPAT_HAS_JOURNAL) || !sb->journal_inum)
		return no(why, "the image has no internal journal");
	return true;
}

static bool check_supers(const struct xw_change *c, const struct reason *why)
{
	struct xw_super o, n;

	if (!xw_super_bytes_valid(c->old_super))
		return no(why, "the old superblock is not valid");
	(void)xw_super_decode(c->old_super, &o);
	(void)xw_super_decode(c->new_super, &n);
	if (o.feature_ro_compat & XW_RO_ITREE)
		return no(why, "images with itrees are not committed through the journal");
	if (o.feature_incompat & XW_INCOMPAT_PENDING || n.feature_incompat & XW_INCOMPAT_RECOVER)
		return no(why, "a recovery is pending");
	/* At the end of a recovery the log is empty, which check_logs() verifies. */
	o.feature_incompat &= ~XW_INCOMPAT_RECOVER;
	if (o.feature_compat != n.feature_compat || o.feature_incompat != n.feature_incompat ||
	    o.feature_ro_compat != n.feature_ro_compat)
		return no(why, "features change");
	if (!has_journal(&n, why))
		return false;
	if (c->old_size != c->new_size || o.blocks_count != n.blocks_count ||
	    o.log_block_size != n.log_block_size || o.blocks_per_group != n.blocks_per_group ||
	    o.inodes_per_group != n.inodes_per_group || o.inode_size != n.inode_size ||
	    o.desc_size != n.desc_size || o.first_meta_bg != n.first_meta_bg ||
	    o.first_data_block != n.first_data_block)
		return no(why, "the geometry changes");
	if (o.journal_inum != n.journal_inum || o.checksum_seed != n.checksum_seed ||
	    memcmp(o.uuid, n.uuid, sizeof(o.uuid)) != 0)
		return no(why, "the journal or the UUID changes");
	if (xw_super_block_size(&o) != c->block_size)
		return no(why, "the overlay's block size is not the filesystem's");
	return true;
}

/* Linux checks all descriptors before it replays a log. */
static int check_groups(struct side *s)
{
	struct xw_group_desc gd;
	int rc = 0;

	for (uint64_t g = 0; g < s->img->groups && !rc; g++) {
		rc = xw_image_group(s->img, g, &gd);
		if (!rc && (!xw_image_has_blocks(s->img, gd.block_bitmap, 1) ||
			    !xw_image_has_blocks(s->img, gd.inode_bitmap, 1) ||
			    !xw_image_has_blocks(s->img, gd.inode_table, s->img->itable_blocks)))
			rc = xw_fail(&s->diag, XW_ERR_CORRUPT,
				     "descriptor of group %" PRIu64 " is not valid", g);
	}
	return rc;
}

static bool open_side(struct side *s, struct xw_dev *dev, const char *which,
		      const struct reason *why)
{
	int rc = xw_image_open(dev, 0, &s->diag, &s->img);

	if (!rc)
		rc = check_groups(s);
	if (!rc)
		rc = xw_log_open_image(s->img, &s->log);
	return rc ? no(why, "%s: %s", which, s->diag.text) : true;
}

static void close_side(struct side *s)
{
	xw_log_close(s->log);
	xw_image_close(s->img);
}

static bool check_logs(const struct xw_change *c, const struct xw_commit_opts *opts,
		       const struct side *before, const struct side *after,
		       const struct reason *why)
{
	const struct xw_log *log = before->log;
	const uint64_t need = xw_txn_blocks(log, c->n);
	const uint64_t room = log->last - log->first - (log->jsb.start != 0);

	if ((log->jsb.start && !opts->fast_commits) || log->jsb.err)
		return no(why, "the journal is not empty");
	if (!xw_log_same_place(log, after->log))
		return no(why, "the journal moves");
	if (need > room)
		return no(why, "it takes %" PRIu64 " of %" PRIu64 " blocks of the journal", need,
			  room);
	if (!log->fmt.is64 && c->blocks[c->n - 1] > UINT32_MAX)
		return no(why, "the journal has 32-bit block numbers");
	for (size_t i = 0; i < c->n; i++)
		if (xw_log_owns(log, c->blocks[i]))
			return no(why, "the journal itself is changed");
	return true;
}

int xw_commit_journal_check(struct xw_dev *dev, struct xw_diag *diag)
{
	char text[sizeof(((struct xw_commit_info *)0)->why_no_journal)] = "";
	const struct reason why = {text, sizeof(text)};
	struct side now = {0};
	uint8_t super[XW_SUPER_SIZE];
	struct xw_super sb;
	int rc = xw_dev_pread(dev, super, sizeof(super), XW_SUPER_OFFSET);
	bool can;

	if (rc)
		return rc;
	can = xw_super_bytes_valid(super) ? true : no(&why, "the superblock is not valid");
	(void)xw_super_decode(super, &sb);
	if (can && sb.feature_ro_compat & XW_RO_ITREE)
		can = no(&why, "images with itrees are not committed through the journal");
	if (can)
		can = has_journal(&sb, &why) && open_side(&now, dev, "image", &why);
	if (can && now.log->jsb.err)
		can = no(&why, "the journal is not empty");
	close_side(&now);
	return can ? 0
		   : xw_fail(diag, XW_ERR_STATE, "%s: cannot commit through the journal: %s",
			     dev->name, text);
}

/*
 * Return to the old state. Its superblock is written only if `start` on the medium is known to be
 * the old one (was->start). Returns whether it is known.
 */
static bool roll_back(struct xw_change *c, struct xw_log *log, const struct xw_jsb *was,
		      bool start_touched)
{
	struct xw_diag *diag = c->base->diag;
	int rc = 0;

	c->base->diag = NULL;
	if (start_touched)
		rc = xw_log_set_start(log, was->start, was->sequence);
	if (!rc && start_touched)
		rc = xw_dev_flush(c->base);
	if (!rc)
		(void)xw_commit_step_super(c, c->old_super);
	c->base->diag = diag;
	return !rc;
}

/* All steps up to and including the commit point. */
static int log_it(struct xw_change *c, struct xw_log *log, const struct xw_commit_opts *opts,
		  bool *undecided)
{
	const struct xw_jsb was = log->jsb;
	/*
	 * After fast commits: skip the block where the log starts, and a sequence number. Then
	 * before the commit point no tool takes the transaction for the continuation of the log,
	 * and after it the fast commits belong to a skipped transaction.
	 */
	const uint32_t at = was.start ? xw_log_next(log, was.start) : log->first;
	const uint32_t sequence = was.sequence + (was.start != 0);
	const struct xw_block_source src = xw_change_source(c);
	const uint64_t now = (uint64_t)XW_MAX(opts->now, 0);
	uint8_t super[XW_SUPER_SIZE];
	bool started;
	int rc;

	rc = xw_commit_check_image(c, XW_COMMIT_NOTHING);
	if (rc)
		return rc;
	memcpy(super, c->old_super, sizeof(super));
	xw_super_bytes_incompat(super, XW_INCOMPAT_RECOVER, 0);
	rc = xw_commit_step_super(c, super);
	if (!rc)
		rc = xw_txn_write(log, at, sequence, &src, now, 0);
	if (!rc)
		rc = xw_dev_flush(c->base);
	if (!rc)
		rc = xw_commit_check_canceled(opts->watch, c->base->name, c->diag);
	if (!rc)
		rc = xw_commit_check_image(c, XW_COMMIT_NOTHING);
	if (c->foreign)
		return rc;
	started = !rc;
	if (!rc)
		rc = xw_log_set_start(log, at, sequence);
	if (!rc)
		rc = xw_dev_flush(c->base);
	*undecided = !rc || !roll_back(c, log, &was, started);
	return rc;
}

static int checkpoint(struct xw_change *c, struct xw_log *log, const uint8_t super[XW_SUPER_SIZE])
{
	int rc = xw_commit_check_image(c, XW_COMMIT_HALFWAY);

	if (!rc)
		rc = xw_change_apply(c);
	if (!rc) {
		xw_guard_set_super(c->guard, super);
		rc = xw_dev_flush(c->base);
	}
	if (!rc) /* like a replay: skip one sequence number */
		rc = xw_log_set_start(log, 0, log->jsb.sequence + 2);
	if (!rc)
		rc = xw_dev_flush(c->base);
	if (!rc)
		rc = xw_commit_check_image(c, XW_COMMIT_HALFWAY);
	if (!rc)
		rc = xw_commit_step_super(c, c->new_super);
	if (!rc)
		rc = xw_commit_check_image(c, XW_COMMIT_HALFWAY);
	if (rc)
		xw_commit_explain_half(
			c, "the journal",
			"a mount or the next tool that recovers the journal finishes it");
	return rc;
}

int xw_commit_journal(struct xw_change *c, const struct xw_commit_opts *opts, char *why,
		      size_t size, bool *undecided)
{
	const struct reason reason = {.text = why, .size = size};
	struct side before = {0}, after = {0};
	uint8_t super[XW_SUPER_SIZE];
	bool serves;
	int rc = 1;

	serves = check_supers(c, &reason) &&
		 open_side(&before, c->base, "before the change", &reason);
	if (serves && !opts->dry_run)
		serves = open_side(&after, c->overlay, "after the change", &reason) &&
			 check_logs(c, opts, &before, &after, &reason);
	if (serves && opts->dry_run) {
		rc = 0;
	} else if (serves) {
		before.log->diag = c->diag;
		memcpy(super, c->new_super, sizeof(super));
		xw_super_bytes_incompat(super, XW_INCOMPAT_RECOVER, 0);
		xw_change_set_super(c, super);
		rc = log_it(c, before.log, opts, undecided);
		if (!rc)
			rc = checkpoint(c, before.log, super);
	}
	close_side(&before);
	close_side(&after);
	return rc;
}
