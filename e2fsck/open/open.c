// SPDX-License-Identifier: MIT
/*
 * Opening: the superblock, an interrupted change, the journal.
 *
 * First the image is opened as by every tool: an interrupted commit is completed and a valid
 * journal replayed in place, each of which is repeatable. An image refused by that (a lost
 * superblock, a damaged log, a lost redo file) is opened as it is, and repaired in the overlay.
 */
#include "config.h"

#include <string.h>
#include <sys/stat.h>

#include "open/orphans.h"

/*
 * While the root filesystem is read-only, a redo file cannot be created, so a block device uses its
 * journal.
 */
static enum xw_commit_how how_to_commit(const struct fsck *f)
{
	if (f->opts.how != XW_COMMIT_AUTO)
		return f->opts.how;
	if (f->opts.redo_dir && !fsck_can_make_in(f->opts.redo_dir))
		return XW_COMMIT_AUTO;
	return XW_COMMIT_REDO;
}

/* Is the failure caused by the contents of the image, so that opening it as it is may help? */
static bool is_damage(int rc)
{
	return rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM || rc == XW_ERR_UNSUPPORTED ||
	       rc == XW_ERR_STATE || rc == XW_ERR_INPUT || rc == XW_ERR_TRUNCATED ||
	       rc == XW_ERR_NOTFOUND || rc == XW_ERR_IO || rc == XW_ERR_NOSPC ||
	       rc == XW_ERR_LIMIT || rc == XW_ERR_EXISTS || rc == XW_ERR_INTERNAL;
}

static int begin_edit(struct fsck *f)
{
	const bool rdonly = f->opts.mode == FSCK_NO;
	uint32_t mmp_idle = 0;
	struct xw_edit_opts eo = {
		.redo_file = f->opts.redo_file,
		.redo_dir = f->opts.redo_dir,
		.undo_file = f->opts.undo_file,
		.offset = f->opts.offset,
		.how = how_to_commit(f),
		.now = f->opts.now,
		.block_size = f->opts.block_size,
		.watch = f->ses.watch,
		.mmp_idle = &mmp_idle,
		.checked = &f->start.checked_elsewhere,
		.mounted = f->opts.mounted,
	};
	struct stat st;
	int rc;

	if (!rdonly && !f->opts.undo_file && !f->opts.backup && !f->opts.journal) {
		rc = xw_edit_begin(f->opts.image, &eo, &f->ses.diag, &f->ses.edit);
		if (!rc || !is_damage(rc) || stat(f->opts.image, &st))
			return rc;
		xw_diag_clear(&f->ses.diag);
	}
	eo.recover = XW_RECOVER_FORCE | (rdonly ? XW_RECOVER_RDONLY : 0);
	eo.keep_log = true;
	eo.in_use_too = rdonly;
	return xw_edit_begin(f->opts.image, &eo, &f->ses.diag, &f->ses.edit);
}

/* Clear the pending bit of a change that cannot be completed in the superblock on the overlay. */
static int drop_pending(struct fsck *f)
{
	f->ses.full = true;
	if (!FSCK_FOUND(f, REDO_LOST))
		fsck_report_only(f);
	f->ses.renew_backups = true;
	return xw_recover_abandon(f->ses.dev, &f->ses.diag);
}

static void adopt_features(const struct fsck *f, uint32_t words[3])
{
	words[0] = f->ses.img->sb.feature_compat;
	words[1] = f->ses.img->sb.feature_incompat;
	words[2] = f->ses.img->sb.feature_ro_compat;
}

static void note_unreadable(void *arg, uint64_t off)
{
	struct fsck *f = arg;

	if (f->opts.bad_test || f->opts.bad_file)
		return; /* the handling of bad blocks is specified by the user */
	if (off >= XW_SUPER_OFFSET + XW_SUPER_SIZE)
		__atomic_store_n(&f->ses.unreadable, off, __ATOMIC_RELAXED);
}

int fsck_open(struct fsck *f)
{
	int rc = begin_edit(f);

	if (rc)
		return rc;
	f->start.replayed = xw_edit_recovered(f->ses.edit)->journal.needed;
	f->start.replayed_on_disk = f->start.replayed && f->opts.mode != FSCK_NO;
	f->ses.dev = xw_edit_dev(f->ses.edit);
	fsck_name_read(f);
	if (f->start.replayed)
		fsck_tell_replayed(f);
	xw_edit_hold_all(f->ses.edit);
	xw_edit_keep_log(
		f->ses.edit); /* the user may decline to empty a log that cannot be replayed */
	xw_overlay_set_unreadable(f->ses.dev, note_unreadable, f);
	rc = fsck_check_places(f);
	if (!rc && xw_edit_recovered(f->ses.edit)->stuck)
		rc = drop_pending(f);
	if (!rc)
		rc = fsck_choose_super(f);
	if (!rc)
		rc = fsck_reopen(f);
	/* The pending bit of a superblock that was repaired just now was not seen by recovery. */
	if (!rc && f->ses.img->sb.feature_incompat & XW_INCOMPAT_PENDING) {
		rc = drop_pending(f);
		rc = rc ? rc : fsck_reopen(f);
	}
	if (rc)
		return rc;
	fsck_name_read(f); /* the superblock is that of a backup if the primary was lost */
	rc = f->ses.report_only && f->opts.mode != FSCK_NO ? 0 : fsck_replay(f);
	if (!rc)
		rc = fsck_orphans_settle(f);
	if (rc)
		return rc;
	f->start.dirty = !(f->ses.img->sb.state & XW_STATE_VALID);
	f->ses.full = f->ses.full || f->round.changed || f->opts.force || !fsck_is_clean(f);
	adopt_features(f, f->start.features);
	return fsck_opened(f);
}

int fsck_clean_state(struct fsck *f, bool *clean)
{
	int rc;

	*clean = fsck_is_clean(f) && (f->opts.mode == FSCK_NO || !f->start.features_differ);
	if (!*clean || f->opts.mode == FSCK_NO)
		return 0;
	rc = fsck_clear_orphans(f, clean);
	if (!rc && *clean) /* backups must not be rewritten before their source was checked */
		adopt_features(f, f->start.features);
	return rc;
}

/* Set the final state of the superblock. */
static int finish_super(struct fsck *f, bool sound)
{
	struct xw_super *sb = &f->ses.img->sb;

	sb->wtime = f->opts.now;
	if (!sound) {
		sb->state = (uint16_t)((sb->state & ~XW_STATE_VALID) | XW_STATE_ERROR);
		return fsck_super_write(f);
	}
	sb->state = (uint16_t)((sb->state | XW_STATE_VALID) & ~(XW_STATE_ERROR | XW_STATE_ORPHAN));
	sb->lastcheck = f->opts.now;
	sb->mnt_count = 0;
	sb->error_count = 0;
	sb->first_error_time = sb->last_error_time = 0;
	sb->first_error_ino = sb->first_error_line = 0;
	sb->last_error_ino = sb->last_error_line = 0;
	sb->first_error_block = sb->last_error_block = 0;
	sb->first_error_errcode = sb->last_error_errcode = 0;
	memset(sb->first_error_func, 0, sizeof(sb->first_error_func));
	memset(sb->last_error_func, 0, sizeof(sb->last_error_func));
	return fsck_super_write(f);
}

/* The last writes before the commit: superblock and backups. */
static int finish(struct fsck *f)
{
	const int rc = f->ses.full ? finish_super(f, !f->ses.findings.left && !f->ses.stop) : 0;
	uint32_t features[3];

	if (rc ||
	    f->ses.report_only) /* with a wrong geometry the backups would be at other locations */
		return rc;
	adopt_features(f, features);
	if (f->ses.renew_backups || (f->start.stale_backups && f->ses.full) ||
	    memcmp(features, f->start.features, sizeof(features)) != 0)
		return fsck_renew_backups(f);
	return 0;
}

int fsck_close(struct fsck *f, bool commit)
{
	const bool write = commit && f->opts.mode != FSCK_NO;
	struct xw_commit_info info = {0};
	int rc = 0;

	if (f->ses.img) {
		fsck_update_drop(f);
		if (write)
			rc = finish(f);
		if (write && f->ses.full)
			fsck_unused_collect(f);
		fsck_facts_free(f);
	}
	xw_vec_free(&f->start.cut);
	xw_table_free(&f->ses.rehashed);
	xw_blockset_free(f->ses.trees_wanted);
	f->ses.trees_wanted = NULL;
	xw_blockset_free(f->ses.opened);
	f->ses.opened = NULL;
	xw_image_close(f->ses.img);
	f->ses.img = NULL;
	if (!rc && write && f->ses.edit) {
		fsck_unused_offer(f);
		rc = xw_edit_commit(f->ses.edit, &info);
		if (!rc)
			fsck_unused_discard(f);
	}
	f->ses.undecided = info.undecided;
	fsck_unused_free(f);
	xw_edit_end(f->ses.edit);
	f->ses.edit = NULL;
	f->ses.dev = NULL;
	return rc;
}

/* Is a check due, by number of mounts or by time? */
static bool is_due(const struct xw_super *sb, int64_t now)
{
	if (sb->max_mnt_count > 0 && sb->mnt_count >= (uint16_t)sb->max_mnt_count)
		return true;
	return sb->checkinterval && now - sb->lastcheck >= (int64_t)sb->checkinterval;
}

bool fsck_is_clean(struct fsck *f)
{
	const struct xw_super *sb = &f->ses.img->sb;
	struct xw_group_desc gd;
	uint8_t raw[XW_SUPER_SIZE];
	uint64_t blocks = 0, inodes = 0;
	bool sound = true;

	if (!(sb->state & XW_STATE_VALID) || sb->state & XW_STATE_ERROR ||
	    sb->feature_incompat & (XW_INCOMPAT_RECOVER | XW_INCOMPAT_PENDING) ||
	    (sb->feature_ro_compat & XW_RO_ORPHAN_PRESENT &&
	     !(sb->feature_compat & XW_COMPAT_ORPHAN_FILE)) ||
	    sb->blocks_count > f->ses.dev->size / f->ses.img->block_size ||
	    is_due(sb, f->opts.now) || fsck_hash_is_unknown(sb) ||
	    xw_dev_pread(f->ses.dev, raw, sizeof(raw), XW_SUPER_OFFSET) || xw_super_verify(raw) ||
	    !fsck_journal_fields_agree(f) || !fsck_journal_is_empty(f) || !fsck_mmp_is_valid(f))
		return false;
	f->ses.img->flags &= ~XW_IMAGE_NOCSUM;
	for (uint64_t g = 0; g < f->ses.img->groups; g++) {
		if (xw_image_group(f->ses.img, g, &gd))
			break;
		sound &= fsck_group_has_places(f->ses.img, g, &gd);
		blocks += gd.free_blocks;
		inodes += gd.free_inodes;
	}
	f->ses.img->flags |= XW_IMAGE_NOCSUM;
	if (f->ses.diag.code) {
		xw_diag_clear(&f->ses.diag);
		return false;
	}
	return sound && blocks <= sb->blocks_count && inodes <= sb->inodes_count;
}
