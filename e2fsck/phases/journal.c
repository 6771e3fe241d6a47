// SPDX-License-Identifier: MIT
/*
 * Checks the journal after its replay: its inode, its superblock, and the fields of the
 * filesystem's superblock about both.
 *
 * If the inode cannot be repaired, the journal is dropped, and recreated at the end of the round,
 * when free blocks are known.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "journal/log.h"
#include "open/journal.h"
#include "phases/super.h"
#include "phases/phases.h"
#include "tune/tune.h"

/* ---- inode ---- */

/* Write j->in to the record on the overlay. */
static int store(struct fsck *f, const struct fsck_journal *j)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode was;
	const int rc = fsck_inode_load(f, j->ino, &was, &raw);

	return rc ? rc : fsck_inode_write(f, j->ino, &j->in, raw);
}

/* ---- journal superblock ---- */

/*
 * Is block 0 of the map the first block of the log, although the journal superblock there is
 * invalid? With a damaged map it may be file data, so either the backup of the map must agree, or
 * magic and block size of a journal superblock must be left.
 */
static bool is_block_0(struct fsck *f, const struct fsck_journal *j)
{
	struct fsck_journal saved = *j;
	uint8_t raw[XW_JSB_SIZE];
	uint32_t type, sequence;
	struct xw_jsb jsb;

	if (fsck_journal_from_saved(f, &saved))
		return saved.first == j->first;
	if (xw_dev_pread(f->ses.dev, raw, sizeof(raw), j->first * f->ses.img->block_size))
		return false;
	(void)xw_jsb_decode(raw, &jsb);
	return xw_jblock_header(raw, &type, &sequence) && jsb.blocksize == f->ses.img->block_size;
}

static int clear_recover(struct fsck *f)
{
	f->ses.img->sb.feature_incompat &= ~XW_INCOMPAT_RECOVER;
	return fsck_super_write(f);
}

static int write_super(struct fsck *f, const struct fsck_journal *j, const struct xw_jsb *jsb)
{
	auto_free uint8_t *block = malloc(f->ses.img->block_size);
	int rc = block ? fsck_read(f, j->first, 1, block) : xw_fail_nomem(&f->ses.diag, "journal");

	if (rc)
		return rc;
	xw_jsb_encode(jsb, block);
	return fsck_write(f, FSCK_O_SYSTEM, j->first, block);
}

/* Empty a log that cannot be used: its transactions are lost. */
static int reset(struct fsck *f, const struct fsck_journal *j)
{
	const bool asked = f->ses.img->sb.feature_incompat & XW_INCOMPAT_RECOVER;
	const struct xw_jsb jsb = {
		.blocktype = XW_JBD2_SUPER_V2,
		.blocksize = f->ses.img->block_size,
		.maxlen = (uint32_t)j->blocks,
		.first = 1,
		.sequence = (uint32_t)f->opts.now, /* no stale block of the log has it */
		.nr_users = 1,
	};
	int rc;

	if (!is_block_0(f, j))
		return fsck_journal_drop(f, j, true);
	rc = write_super(f, j, &jsb);
	return rc || !asked ? rc : clear_recover(f);
}

/* Check the fields of a valid journal superblock. */
static int check_log_fields(struct fsck *f, const struct fsck_journal *j, struct xw_log *log)
{
	bool fix = false;

	/* Linux refuses checksums of version 1 together with those of version 2 or 3. */
	if (log->fmt.csum && log->jsb.feature_compat & XW_JBD2_COMPAT_CHECKSUM &&
	    FSCK_FOUND(f, JOURNAL_SUMS)) {
		log->jsb.feature_compat &= ~XW_JBD2_COMPAT_CHECKSUM;
		fix = true;
	}
	if (log->jsb.nr_users > 1 && FSCK_FOUND(f, JOURNAL_SUPER)) {
		/* Only an external journal can have several users. */
		log->jsb.nr_users = 1;
		fix = true;
	}
	if (log->jsb.err && FSCK_FOUND(f, JOURNAL_ERRNO, .num = log->jsb.err)) {
		log->jsb.err = 0;
		fix = true;
	}
	return fix ? write_super(f, j, &log->jsb) : 0;
}

static int check_log(struct fsck *f, const struct fsck_journal *j)
{
	const bool asked = f->ses.img->sb.feature_incompat & XW_INCOMPAT_RECOVER;
	struct xw_log *log = NULL;
	bool small;
	uint32_t start;
	int rc = fsck_log_open(f, &log);

	if (rc == XW_ERR_NOMEM || rc == XW_ERR_IO)
		return rc;
	if (rc)
		return FSCK_FOUND(f, JOURNAL_SUPER) ? reset(f, j) : 0;
	start = log->jsb.start;
	/* No journal is created with so few blocks before the fast commit area. */
	small = !start && log->fc_blocks && log->last < XW_JBD2_MIN_BLOCKS;
	if (!small)
		rc = check_log_fields(f, j, log);
	xw_log_close(log);
	if (small && FSCK_FOUND(f, JOURNAL_SUPER))
		return reset(f, j);
	if (rc || (!start && !asked))
		return rc;
	if (!asked && !FSCK_FOUND(f, JOURNAL_DATA))
		return 0;
	rc = fsck_log_replay(f, XW_REPLAY_UNASKED);
	if (rc <= 0)
		return rc;
	/* The log cannot be replayed, not even partially. */
	return FSCK_FOUND(f, JOURNAL_SUPER) ? reset(f, j) : 0;
}

/* ---- fields of the superblock ---- */

/* Check the backup of the journal's map and size in the superblock. */
static int check_saved(struct fsck *f, const struct fsck_journal *j)
{
	struct xw_super *sb = &f->ses.img->sb;
	uint32_t saved[17];

	for (unsigned i = 0; i < 15; i++)
		saved[i] = xw_inode_slot(&j->in, i);
	saved[15] = (uint32_t)(j->in.size >> 32);
	saved[16] = (uint32_t)j->in.size;
	if (sb->jnl_backup_type == FSCK_JOURNAL_SAVED_TYPE &&
	    !memcmp(saved, sb->jnl_blocks, sizeof(saved)))
		return 0;
	if (!FSCK_FOUND(f, JOURNAL_SAVED))
		return 0;
	sb->jnl_backup_type = FSCK_JOURNAL_SAVED_TYPE;
	memcpy(sb->jnl_blocks, saved, sizeof(saved));
	return fsck_super_write(f);
}

/*
 * Check a filesystem without a journal according to its superblock. That inode 8 is in use does not
 * prove the opposite: a user may have cleared the feature to be rid of the log, and have written
 * to the filesystem since. So a journal is dropped, and its log never replayed.
 */
static int check_absent(struct fsck *f)
{
	struct xw_super *sb = &f->ses.img->sb;
	struct fsck_journal j = {0};
	int rc = fsck_journal_load(f, XW_INO_JOURNAL, &j);
	const bool stray = !rc && j.in.mode != 0;

	if (rc)
		return rc;
	if ((stray || sb->journal_inum || sb->journal_dev || fsck_journal_has_uuid(sb)) &&
	    FSCK_FOUND(f, JOURNAL_STRAY))
		return fsck_journal_drop(f, &j, false);
	if (sb->feature_incompat & XW_INCOMPAT_RECOVER && FSCK_FOUND(f, JOURNAL_RECOVER))
		return clear_recover(f);
	return 0;
}

/* Load the journal inode that the superblock names, or inode 8, which is the default. */
static int load_named(struct fsck *f, struct fsck_journal *j)
{
	const struct xw_super *sb = &f->ses.img->sb;
	int rc = fsck_journal_load(
		f, fsck_journal_may_be(sb, sb->journal_inum) ? sb->journal_inum : XW_INO_JOURNAL,
		j);

	/* A file of a user must not be turned into a journal. */
	if (!rc && j->ino != XW_INO_JOURNAL &&
	    (!fsck_journal_is_intact(f, j) || !fsck_journal_has_log(f, j)))
		rc = fsck_journal_load(f, XW_INO_JOURNAL, j);
	return rc;
}

/*
 * Linux refuses a superblock with both a journal inode and a journal device. internal: the inode
 * holds a journal, so it is kept; otherwise the device is.
 */
static int check_both(struct fsck *f, const struct fsck_journal *j, bool internal)
{
	struct xw_super *sb = &f->ses.img->sb;

	if ((!sb->journal_dev && !fsck_journal_has_uuid(sb)) || !sb->journal_inum ||
	    !FSCK_FOUND(f, JOURNAL_BOTH, .ino = j->ino))
		return 0;
	if (internal) {
		sb->journal_dev = 0;
		memset(sb->journal_uuid, 0, sizeof(sb->journal_uuid));
	} else {
		sb->journal_inum = 0;
	}
	return fsck_super_renew(f);
}

/* The superblock names a journal device: use inode 8 instead if it holds a journal. */
static int prefer_internal(struct fsck *f)
{
	struct xw_super *sb = &f->ses.img->sb;

	if (!fsck_journal_is_inside(f) || !FSCK_FOUND(f, JOURNAL_BOTH, .ino = XW_INO_JOURNAL))
		return 0;
	sb->journal_inum = XW_INO_JOURNAL;
	sb->journal_dev = 0;
	memset(sb->journal_uuid, 0, sizeof(sb->journal_uuid));
	return fsck_super_renew(f);
}

int fsck_check_journal(struct fsck *f)
{
	struct xw_super *sb = &f->ses.img->sb;
	struct fsck_journal j = {0}, saved;
	bool whole, usable, restore;
	xw_ino was;
	int rc;

	if (!(sb->feature_compat & XW_COMPAT_HAS_JOURNAL))
		return check_absent(f);
	rc = fsck_journal_is_external(sb) ? prefer_internal(f) : 0;
	if (rc || fsck_journal_is_external(sb))
		return rc; /* its contents were handled by fsck_replay() */
	was = sb->journal_inum;
	rc = load_named(f, &j);
	if (rc)
		return rc;
	saved = j;
	whole = fsck_journal_is_intact(f, &j);
	usable = whole && fsck_journal_has_log(f, &j);
	restore = !usable && fsck_journal_from_saved(f, &saved) && fsck_journal_has_log(f, &saved);
	rc = check_both(f, &j, usable || restore || j.in.mode);
	if (rc || fsck_journal_is_external(sb))
		return rc;
	if (whole && !restore && j.ino == was) {
		rc = check_log(f, &j);
		return rc || !(f->ses.img->sb.feature_compat & XW_COMPAT_HAS_JOURNAL)
			       ? rc
			       : check_saved(f, &j);
	}
	if (usable || restore) {
		if (!FSCK_FOUND(f, JOURNAL_BACKUP, .ino = was))
			return 0;
		if (restore && memcmp(saved.in.block, j.in.block, sizeof(j.in.block)))
			xw_inode_set_blocks(&saved.in, sb, saved.blocks);
		j = restore ? saved : j;
		sb->journal_inum = j.ino;
		rc = store(f, &j);
		if (!rc)
			rc = fsck_super_write(f);
		return rc ? rc : check_log(f, &j);
	}
	if (!FSCK_FOUND(f, JOURNAL_INODE, .ino = was))
		return 0;
	rc = fsck_journal_load(f, XW_INO_JOURNAL, &j);
	return rc ? rc : fsck_journal_drop(f, &j, true);
}

/* ---- recreating ---- */

int fsck_recreate(struct fsck *f)
{
	struct xw_update *u;
	int rc;

	if (!f->start.journal_lost || f->opts.mode == FSCK_NO)
		return 0;
	f->start.journal_lost = false;
	rc = fsck_update(f, &u);
	if (rc)
		return rc;
	/* Create it before asking, so that nothing is asked if there is no space. */
	rc = xw_tune_make_journal(u);
	if (!rc && FSCK_FOUND(f, JOURNAL_MADE))
		return fsck_update_keep(f);
	fsck_update_drop(f);
	if (rc == XW_ERR_NOSPC) { /* the filesystem is consistent without one */
		xw_diag_clear(&f->ses.diag);
		(void)FSCK_FOUND(f, JOURNAL_NO_SPACE);
		rc = 0;
	}
	return rc;
}
