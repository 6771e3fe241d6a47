// SPDX-License-Identifier: MIT
/*
 * The journal: replayed before anything is checked; then its inode, its superblock, and the fields
 * of the filesystem's superblock about both.
 *
 * A journal whose inode is beyond repair is dropped, and recreated at the end of the round, when
 * free blocks are known.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "journal/log.h"
#include "open.h"
#include "read/map.h"
#include "tool.h"
#include "tune/tune.h"
#include "fastcommit/fastcommit.h"

enum { SAVED_TYPE = 1 };

static bool has_uuid(const struct xw_super *sb)
{
	static const uint8_t none[16];

	return memcmp(sb->journal_uuid, none, sizeof(none)) != 0;
}

static bool is_external(const struct xw_super *sb)
{
	return sb->feature_compat & XW_COMPAT_HAS_JOURNAL && !sb->journal_inum &&
	       (sb->journal_dev || has_uuid(sb));
}

/* Replay on the overlay. 0: done, or nothing to do; 1: the journal is unusable. */
static int replay(struct fsck *f, unsigned flags)
{
	struct xw_journal_info info = {0};
	xw_log_fn *const log = f->diag.log;
	int rc;

	f->diag.log = NULL;
	rc = xw_journal_recover(f->dev, flags | XW_REPLAY_SALVAGE | XW_REPLAY_FAST, &f->diag,
				&info);
	f->diag.log = log;
	if (info.damaged)
		(void)FSCK_FOUND(f, JOURNAL_LOST_DATA);
	if (rc == XW_ERR_NOMEM || rc == XW_ERR_IO)
		return rc;
	xw_diag_clear(&f->diag);
	if (info.needed) {
		f->changed = f->full = true;
		if (!f->replayed)
			fsck_say_replayed(f);
		f->replayed = true;
	}
	if (f->img && info.needed)
		return fsck_reopen(f) ? XW_ERR_CORRUPT : rc != 0;
	return rc != 0;
}

int fsck_replay(struct fsck *f)
{
	const struct xw_super *sb = &f->img->sb;
	int rc;

	if (is_external(sb))
		return fsck_replay_device(f);
	if (!(sb->feature_compat & XW_COMPAT_HAS_JOURNAL) ||
	    (!(sb->feature_incompat & XW_INCOMPAT_RECOVER) && !f->from_backup))
		return 0;
	rc = replay(f, f->from_backup ? XW_REPLAY_UNASKED : 0);
	return rc < 0 ? rc : 0; /* fsck_check_journal() handles the rest */
}

/* ---- inode ---- */

struct journal {
	xw_ino ino;
	struct xw_inode in;
	xw_blk first; /* block 0 of the log */
	uint64_t blocks;
};

/* Is it a regular file of whole blocks, all of them mapped and written? */
static bool map_is_whole(struct fsck *f, struct journal *j)
{
	const uint32_t bs = f->img->block_size;
	struct xw_diag *const diag = f->img->diag;
	struct xw_map_iter it;
	struct xw_map_run run;
	uint64_t next = 0;
	int more = 0;

	j->blocks = j->in.size / bs;
	if ((j->in.mode & XW_S_IFMT) != XW_S_IFREG || !j->in.links ||
	    j->blocks < XW_JBD2_MIN_BLOCKS || j->blocks > f->img->sb.blocks_count)
		return false;
	f->img->diag = NULL;
	if (!xw_map_begin(f->img, j->ino, &j->in, 0, &it)) {
		while ((more = xw_map_next(&it, &run)) > 0) {
			if (run.lblk != next || run.unwritten)
				break;
			j->first = next ? j->first : run.pblk;
			next += run.len;
		}
	}
	xw_map_end(&it);
	f->img->diag = diag;
	return more >= 0 && next >= j->blocks;
}

static int load(struct fsck *f, xw_ino ino, struct journal *j)
{
	j->ino = ino;
	return fsck_inode_read(f, ino, &j->in, NULL);
}

/* Write j->in to the record on the overlay. */
static int store(struct fsck *f, const struct journal *j)
{
	auto_free uint8_t *raw = malloc(f->img->inode_size);
	struct xw_inode was;
	int rc = raw ? fsck_inode_read(f, j->ino, &was, raw) : xw_fail_nomem(&f->diag, "journal");

	return rc ? rc : fsck_inode_write(f, j->ino, &j->in, raw);
}

/* Use the backup of the inode in the superblock. */
static bool from_saved(struct fsck *f, struct journal *j)
{
	const struct xw_super *sb = &f->img->sb;

	if (sb->jnl_backup_type != SAVED_TYPE)
		return false;
	j->in = (struct xw_inode){.mode = XW_S_IFREG | 0600,
				  .links = 1,
				  .generation = j->in.generation,
				  .extra_isize = j->in.extra_isize};
	j->in.size = (uint64_t)sb->jnl_blocks[15] << 32 | sb->jnl_blocks[16];
	for (unsigned i = 0; i < 15; i++)
		poke32(j->in.block + (size_t)4 * i, sb->jnl_blocks[i]);
	if (peek16(j->in.block) == XW_EXT_MAGIC)
		j->in.flags = XW_FL_EXTENTS;
	return map_is_whole(f, j);
}

static bool has_log(struct fsck *f, const struct journal *j)
{
	uint8_t raw[XW_JSB_SIZE];
	struct xw_jsb jsb;

	if (xw_dev_pread(f->dev, raw, sizeof(raw), j->first * f->img->block_size))
		return false;
	(void)xw_jsb_decode(raw, &jsb);
	return jsb.blocksize == f->img->block_size && jsb.maxlen <= j->blocks;
}

static int drop(struct fsck *f, const struct journal *j, bool again)
{
	struct xw_super *sb = &f->img->sb;
	int rc = 0;

	if (j->ino == XW_INO_JOURNAL && (j->in.mode || j->in.links || j->in.size))
		rc = fsck_inode_clear(f, j->ino);
	sb->feature_compat &= ~XW_COMPAT_HAS_JOURNAL;
	sb->feature_incompat &= ~XW_INCOMPAT_RECOVER;
	sb->journal_inum = sb->journal_dev = 0;
	memset(sb->journal_uuid, 0, sizeof(sb->journal_uuid));
	memset(sb->jnl_blocks, 0, sizeof(sb->jnl_blocks));
	sb->jnl_backup_type = 0;
	f->journal_lost = again;
	f->renew_backups = true;
	return rc ? rc : fsck_super_write(f);
}

int fsck_drop_external(struct fsck *f)
{
	const struct journal none = {0};

	return drop(f, &none, true);
}

/* ---- journal superblock ---- */

/* Write a log without transactions, with a sequence number that no stale block in it has. */
static int write_fresh(struct fsck *f, const struct journal *j)
{
	const struct xw_jsb jsb = {
		.blocktype = XW_JBD2_SUPER_V2,
		.blocksize = f->img->block_size,
		.maxlen = (uint32_t)j->blocks,
		.first = 1,
		.sequence = (uint32_t)f->opts.now,
		.nr_users = 1,
	};
	uint8_t raw[XW_JSB_SIZE];

	xw_jsb_encode(&jsb, raw);
	f->changed = true;
	return xw_dev_pwrite(f->dev, raw, sizeof(raw), j->first * f->img->block_size);
}

static int clear_recover(struct fsck *f)
{
	f->img->sb.feature_incompat &= ~XW_INCOMPAT_RECOVER;
	return fsck_super_write(f);
}

static int open_log(struct fsck *f, struct xw_log **log)
{
	xw_log_fn *const fn = f->diag.log;
	int rc;

	f->diag.log = NULL;
	rc = xw_log_open_image(f->img, log);
	f->diag.log = fn;
	if (rc != XW_ERR_IO)
		xw_diag_clear(&f->diag);
	return rc;
}

static int check_log(struct fsck *f, const struct journal *j)
{
	const bool asked = f->img->sb.feature_incompat & XW_INCOMPAT_RECOVER;
	struct xw_log *log = NULL;
	uint32_t start;
	int rc = open_log(f, &log);

	if (rc == XW_ERR_NOMEM || rc == XW_ERR_IO)
		return rc;
	if (rc) {
		if (!FSCK_FOUND(f, JOURNAL_SUPER))
			return 0;
		rc = write_fresh(f, j);
		return rc || !asked ? rc : clear_recover(f);
	}
	start = log->jsb.start;
	if (!start && log->fc_blocks && log->last < XW_JBD2_MIN_BLOCKS &&
	    FSCK_FOUND(f, JOURNAL_SUPER)) {
		/* no journal is created with so little room beside the fast commit area */
		xw_log_close(log);
		rc = write_fresh(f, j);
		return rc || !asked ? rc : clear_recover(f);
	}
	if (log->jsb.nr_users > 1 && FSCK_FOUND(f, JOURNAL_SUPER)) {
		/* several users are for journals shared by several filesystems */
		log->jsb.nr_users = 1;
		f->changed = true;
		rc = xw_log_set_start(log, start, log->jsb.sequence);
	}
	if (!rc && log->jsb.err && FSCK_FOUND(f, JOURNAL_ERRNO, .num = log->jsb.err)) {
		log->jsb.err = 0;
		f->changed = true;
		rc = xw_log_set_start(log, start, log->jsb.sequence);
	}
	xw_log_close(log);
	if (rc || (!start && !asked))
		return rc;
	if (!asked && !FSCK_FOUND(f, JOURNAL_DATA))
		return 0;
	rc = replay(f, XW_REPLAY_UNASKED);
	if (rc <= 0)
		return rc;
	/* it cannot be replayed, not even partially */
	if (!FSCK_FOUND(f, JOURNAL_SUPER))
		return 0;
	rc = write_fresh(f, j);
	return rc ? rc : clear_recover(f);
}

/* ---- fields of the superblock ---- */

static int check_saved(struct fsck *f, const struct journal *j)
{
	struct xw_super *sb = &f->img->sb;
	uint32_t saved[17];

	for (unsigned i = 0; i < 15; i++)
		saved[i] = peek32(j->in.block + (size_t)4 * i);
	saved[15] = (uint32_t)(j->in.size >> 32);
	saved[16] = (uint32_t)j->in.size;
	if (sb->jnl_backup_type == SAVED_TYPE && !memcmp(saved, sb->jnl_blocks, sizeof(saved)))
		return 0;
	if (!FSCK_FOUND(f, JOURNAL_SAVED))
		return 0;
	sb->jnl_backup_type = SAVED_TYPE;
	memcpy(sb->jnl_blocks, saved, sizeof(saved));
	return fsck_super_write(f);
}

/* The superblock says that there is no journal. */
static int check_absent(struct fsck *f)
{
	struct xw_super *sb = &f->img->sb;
	struct journal j = {0};
	int rc = load(f, XW_INO_JOURNAL, &j);
	const bool stray = !rc && j.in.mode != 0;

	if (rc)
		return rc;
	if ((stray || sb->journal_inum || sb->journal_dev || has_uuid(sb)) &&
	    FSCK_FOUND(f, JOURNAL_STRAY)) {
		if (!map_is_whole(f, &j) || !has_log(f, &j))
			return drop(f, &j, false);
		sb->feature_compat |= XW_COMPAT_HAS_JOURNAL;
		sb->journal_inum = XW_INO_JOURNAL;
		f->renew_backups = true;
		rc = fsck_super_write(f);
		return rc ? rc : fsck_check_journal(f);
	}
	if (sb->feature_incompat & XW_INCOMPAT_RECOVER && FSCK_FOUND(f, JOURNAL_RECOVER))
		return clear_recover(f);
	return 0;
}

static bool may_be_journal(const struct xw_super *sb, xw_ino ino)
{
	return ino == XW_INO_JOURNAL || (ino >= sb->first_ino && ino <= sb->inodes_count);
}

int fsck_check_journal(struct fsck *f)
{
	struct xw_super *sb = &f->img->sb;
	struct journal j = {0};
	const xw_ino was = sb->journal_inum;
	int rc;

	if (!(sb->feature_compat & XW_COMPAT_HAS_JOURNAL))
		return check_absent(f);
	if (is_external(sb))
		return 0; /* nothing in it is needed here: fsck_replay() */
	rc = load(f, may_be_journal(sb, was) ? was : XW_INO_JOURNAL, &j);
	/* a file that is not a journal must not become one */
	if (!rc && j.ino != XW_INO_JOURNAL && (!map_is_whole(f, &j) || !has_log(f, &j)))
		rc = load(f, XW_INO_JOURNAL, &j);
	if (rc)
		return rc;
	if (map_is_whole(f, &j) && j.ino == was) {
		rc = check_log(f, &j);
		return rc || !(f->img->sb.feature_compat & XW_COMPAT_HAS_JOURNAL)
			       ? rc
			       : check_saved(f, &j);
	}
	if ((map_is_whole(f, &j) || from_saved(f, &j)) && has_log(f, &j)) {
		if (!FSCK_FOUND(f, JOURNAL_BACKUP, .ino = was))
			return 0;
		xw_inode_set_blocks(&j.in, sb, j.blocks);
		sb->journal_inum = j.ino;
		rc = store(f, &j);
		if (!rc)
			rc = fsck_super_write(f);
		return rc ? rc : check_log(f, &j);
	}
	if (!FSCK_FOUND(f, JOURNAL_INODE, .ino = was))
		return 0;
	rc = load(f, XW_INO_JOURNAL, &j);
	return rc ? rc : drop(f, &j, true);
}

/* ---- recreating ---- */

int fsck_recreate(struct fsck *f)
{
	struct xw_update *u;
	int rc;

	if (!f->journal_lost || f->opts.mode == FSCK_NO)
		return 0;
	f->journal_lost = false;
	if (!FSCK_FOUND(f, JOURNAL_MADE))
		return 0;
	rc = fsck_update(f, &u);
	if (rc)
		return rc;
	rc = xw_tune_make_journal(u);
	if (!rc)
		return fsck_update_keep(f);
	fsck_update_drop(f);
	if (rc == XW_ERR_NOSPC) { /* the filesystem is consistent without one */
		xw_diag_clear(&f->diag);
		rc = 0;
	}
	return rc;
}
