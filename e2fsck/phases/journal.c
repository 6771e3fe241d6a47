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
#include "open/open.h"
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

void fsck_found_replay(struct fsck *f, unsigned how)
{
	if (how & XW_REPLAY_NOTHING)
		(void)FSCK_FOUND(f, JOURNAL_STALE);
	else
		(void)FSCK_FOUND(f, JOURNAL_LOST_DATA);
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

/* Flags for xw_journal_recover(), which reports a log that cannot be opened. */
static int choose_replay(struct fsck *f, unsigned *how)
{
	struct xw_log *log = NULL;
	int rc = 0;

	*how = XW_REPLAY_SALVAGE;
	if (f->img && !open_log(f, &log))
		rc = fsck_choose_replay(f, log, how);
	xw_log_close(log);
	return rc;
}

/* Replay on the overlay. 0: done, or nothing to do; 1: the journal is unusable. */
static int replay(struct fsck *f, unsigned flags)
{
	struct xw_journal_info info = {0};
	xw_log_fn *const log = f->diag.log;
	unsigned how;
	int rc = choose_replay(f, &how);

	if (rc)
		return rc;
	f->diag.log = NULL;
	rc = xw_journal_recover(f->dev, flags | how | XW_REPLAY_FAST, &f->diag, &info);
	f->diag.log = log;
	if (info.damaged)
		fsck_found_replay(f, how);
	if (rc == XW_ERR_NOMEM || rc == XW_ERR_IO)
		return rc;
	xw_diag_clear(&f->diag);
	if (info.needed) {
		f->changed = f->full = true;
		if (!f->replayed)
			fsck_say_replayed(f);
		f->replayed = true;
	}
	if (f->img && info.needed && fsck_reopen(f))
		return XW_ERR_CORRUPT;
	if (f->img && info.needed && !f->round) {
		const int noted = fsck_opened(f);

		if (noted)
			return noted;
	}
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

struct runs {
	XW_VEC(struct xw_map_run) v;
	uint64_t mapped; /* logical blocks from 0 on */
};

static int by_place(const void *a, const void *b)
{
	const struct xw_map_run *x = a, *y = b;

	return (x->pblk > y->pblk) - (x->pblk < y->pblk);
}

/* Does the map have a block twice? */
static bool overlap(struct runs *r)
{
	if (r->v.n)
		qsort(r->v.v, r->v.n, sizeof(*r->v.v), by_place);
	for (size_t i = 1; i < r->v.n; i++)
		if (r->v.v[i - 1].pblk + r->v.v[i - 1].len > r->v.v[i].pblk)
			return true;
	return false;
}

/* Read the runs of a map; false: it has a hole or an unwritten block, or is damaged. */
static bool read_runs(struct fsck *f, struct journal *j, struct runs *r)
{
	struct xw_map_iter it;
	struct xw_map_run run;
	bool whole = true;
	int more = 0;

	if (!xw_map_begin(f->img, j->ino, &j->in, 0, &it)) {
		while (whole && (more = xw_map_next(&it, &run)) > 0) {
			whole = run.lblk == r->mapped && !run.unwritten && !xw_vec_push(&r->v, run);
			j->first = r->mapped ? j->first : run.pblk;
			r->mapped += run.len;
		}
	}
	xw_map_end(&it);
	return whole && more >= 0;
}

/* Is it a regular file whose blocks are all mapped once and written, and none beyond its size? */
static bool map_is_whole(struct fsck *f, struct journal *j)
{
	const uint32_t bs = f->img->block_size;
	struct xw_diag *const diag = f->img->diag;
	struct runs runs = {0};
	bool whole;

	j->blocks = j->in.size / bs;
	if ((j->in.mode & XW_S_IFMT) != XW_S_IFREG || !j->in.links || j->in.size % bs ||
	    j->blocks < XW_JBD2_MIN_BLOCKS || j->blocks > f->img->sb.blocks_count)
		return false;
	f->img->diag = NULL;
	whole = read_runs(f, j, &runs) && runs.mapped == j->blocks && !overlap(&runs);
	f->img->diag = diag;
	xw_vec_free(&runs.v);
	return whole;
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

/*
 * Does block 0 hold a journal superblock that fits the inode? An internal journal has no more than
 * one user, and may be shorter than its inode.
 */
static bool has_log(struct fsck *f, const struct journal *j)
{
	uint8_t raw[XW_JSB_SIZE];
	struct xw_jsb jsb;

	return !xw_dev_pread(f->dev, raw, sizeof(raw), j->first * f->img->block_size) &&
	       !xw_jsb_decode(raw, &jsb) && jsb.blocksize == f->img->block_size &&
	       jsb.maxlen <= j->blocks && jsb.nr_users <= 1;
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

int fsck_drop_journal(struct fsck *f)
{
	struct journal j = {0};
	int rc = load(f, f->img->sb.journal_inum, &j);

	return rc ? rc : drop(f, &j, true);
}

/* ---- journal superblock ---- */

/*
 * Is block 0 of the map that of the log, although it holds no valid journal superblock? It may be
 * file data if the map is damaged, so it must have remains of one, or a backup of the map that
 * agrees.
 */
static bool is_block_0(struct fsck *f, const struct journal *j)
{
	struct journal saved = *j;
	uint8_t raw[XW_JSB_SIZE];
	struct xw_jsb jsb;

	if (from_saved(f, &saved))
		return saved.first == j->first;
	if (xw_dev_pread(f->dev, raw, sizeof(raw), j->first * f->img->block_size))
		return false;
	(void)xw_jsb_decode(raw, &jsb);
	return getbe32(*(const be32 *)raw) == XW_JBD2_MAGIC && jsb.blocksize == f->img->block_size;
}

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
	auto_free uint8_t *block = malloc(f->img->block_size);
	int rc;

	if (!block)
		return xw_fail_nomem(&f->diag, "journal");
	rc = fsck_read(f, j->first, 1, block);
	if (rc)
		return rc;
	xw_jsb_encode(&jsb, block);
	return fsck_write(f, FSCK_O_SYSTEM, j->first, block);
}

static int clear_recover(struct fsck *f)
{
	f->img->sb.feature_incompat &= ~XW_INCOMPAT_RECOVER;
	return fsck_super_write(f);
}

/* Empty a log that cannot be used: its transactions are lost. */
static int reset(struct fsck *f, const struct journal *j)
{
	const bool asked = f->img->sb.feature_incompat & XW_INCOMPAT_RECOVER;
	int rc;

	if (!is_block_0(f, j))
		return drop(f, j, true);
	rc = write_fresh(f, j);
	return rc || !asked ? rc : clear_recover(f);
}

/* Fields of a journal superblock that can be used. */
static int check_log_fields(struct fsck *f, struct xw_log *log)
{
	bool fix = false;

	/* Linux refuses checksums of version 1 beside those of version 2 or 3 */
	if (log->fmt.csum && log->jsb.feature_compat & XW_JBD2_COMPAT_CHECKSUM &&
	    FSCK_FOUND(f, JOURNAL_SUMS)) {
		log->jsb.feature_compat &= ~XW_JBD2_COMPAT_CHECKSUM;
		fix = true;
	}
	if (log->jsb.nr_users > 1 && FSCK_FOUND(f, JOURNAL_SUPER)) {
		/* several users are for journals shared by several filesystems */
		log->jsb.nr_users = 1;
		fix = true;
	}
	if (log->jsb.err && FSCK_FOUND(f, JOURNAL_ERRNO, .num = log->jsb.err)) {
		log->jsb.err = 0;
		fix = true;
	}
	f->changed |= fix;
	return fix ? xw_log_set_start(log, log->jsb.start, log->jsb.sequence) : 0;
}

static int check_log(struct fsck *f, const struct journal *j)
{
	const bool asked = f->img->sb.feature_incompat & XW_INCOMPAT_RECOVER;
	struct xw_log *log = NULL;
	bool small;
	uint32_t start;
	int rc = open_log(f, &log);

	if (rc == XW_ERR_NOMEM || rc == XW_ERR_IO)
		return rc;
	if (rc)
		return FSCK_FOUND(f, JOURNAL_SUPER) ? reset(f, j) : 0;
	start = log->jsb.start;
	/* no journal is created with so little room beside the fast commit area */
	small = !start && log->fc_blocks && log->last < XW_JBD2_MIN_BLOCKS;
	if (!small)
		rc = check_log_fields(f, log);
	xw_log_close(log);
	if (small && FSCK_FOUND(f, JOURNAL_SUPER))
		return reset(f, j);
	if (rc || (!start && !asked))
		return rc;
	if (!asked && !FSCK_FOUND(f, JOURNAL_DATA))
		return 0;
	rc = replay(f, XW_REPLAY_UNASKED);
	if (rc <= 0)
		return rc;
	/* it cannot be replayed, not even partially */
	return FSCK_FOUND(f, JOURNAL_SUPER) ? reset(f, j) : 0;
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

/* The journal that the superblock names, or inode 8, which is the default. */
static int load_named(struct fsck *f, struct journal *j)
{
	const struct xw_super *sb = &f->img->sb;
	int rc = load(f, may_be_journal(sb, sb->journal_inum) ? sb->journal_inum : XW_INO_JOURNAL,
		      j);

	/* a file that is not a journal must not become one */
	if (!rc && j->ino != XW_INO_JOURNAL && (!map_is_whole(f, j) || !has_log(f, j)))
		rc = load(f, XW_INO_JOURNAL, j);
	return rc;
}

/*
 * The superblock names a journal inode and a journal device, and Linux refuses that. The inode
 * decides: does it hold a journal?
 */
static int check_both(struct fsck *f, const struct journal *j, bool internal)
{
	struct xw_super *sb = &f->img->sb;

	if ((!sb->journal_dev && !has_uuid(sb)) || !sb->journal_inum ||
	    !FSCK_FOUND(f, JOURNAL_BOTH, .ino = j->ino))
		return 0;
	if (internal) {
		sb->journal_dev = 0;
		memset(sb->journal_uuid, 0, sizeof(sb->journal_uuid));
	} else {
		sb->journal_inum = 0;
	}
	f->renew_backups = true;
	return fsck_super_write(f);
}

int fsck_check_journal(struct fsck *f)
{
	struct xw_super *sb = &f->img->sb;
	struct journal j = {0}, saved;
	const xw_ino was = sb->journal_inum;
	bool whole, usable, restore;
	int rc;

	if (!(sb->feature_compat & XW_COMPAT_HAS_JOURNAL))
		return check_absent(f);
	if (is_external(sb))
		return 0; /* nothing in it is needed here: fsck_replay() */
	rc = load_named(f, &j);
	if (rc)
		return rc;
	saved = j;
	whole = map_is_whole(f, &j);
	usable = whole && has_log(f, &j);
	restore = !usable && from_saved(f, &saved) && has_log(f, &saved);
	rc = check_both(f, &j, usable || restore || j.in.mode);
	if (rc || is_external(sb))
		return rc;
	if (whole && !restore && j.ino == was) {
		rc = check_log(f, &j);
		return rc || !(f->img->sb.feature_compat & XW_COMPAT_HAS_JOURNAL)
			       ? rc
			       : check_saved(f, &j);
	}
	if (usable || restore) {
		if (!FSCK_FOUND(f, JOURNAL_BACKUP, .ino = was))
			return 0;
		j = restore ? saved : j;
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

bool fsck_journal_is_empty(struct fsck *f)
{
	const struct xw_super *sb = &f->img->sb;
	struct journal j = {.ino = sb->journal_inum};
	uint8_t raw[XW_JSB_SIZE];
	struct xw_jsb jsb;

	if (!(sb->feature_compat & XW_COMPAT_HAS_JOURNAL) || is_external(sb))
		return true;
	return may_be_journal(sb, j.ino) && !load(f, j.ino, &j) && map_is_whole(f, &j) &&
	       has_log(f, &j) &&
	       !xw_dev_pread(f->dev, raw, sizeof(raw), j.first * f->img->block_size) &&
	       !xw_jsb_decode(raw, &jsb) && !xw_jsb_verify(raw) && !jsb.start && !jsb.err;
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
