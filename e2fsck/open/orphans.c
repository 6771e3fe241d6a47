// SPDX-License-Identifier: MIT
/*
 * Orphans: inodes that Linux deletes or truncates when it mounts the filesystem. Here the functions
 * of all tools do so, in one step. If the list or an inode in it is damaged, the step is rolled
 * back, and the inodes are checked like all others.
 *
 * The rest of the last block of a truncated file is zeroed when the owner map shows that the file
 * owns the block, so a full check follows. The step clears the blocks of an orphan file, so all of
 * these must be valid blocks of an orphan file. Damaged ones are repaired when the owner map is
 * complete (phases/orphan_file.c).
 */
#include "config.h"

#include "facts/orphan_blocks.h"
#include "open/orphans.h"

bool fsck_orphans_listed(const struct xw_super *sb)
{
	return sb->last_orphan || (sb->feature_compat & XW_COMPAT_ORPHAN_FILE &&
				   sb->feature_ro_compat & XW_RO_ORPHAN_PRESENT);
}

/* An update refuses a filesystem with errors: hide them for this step. */
static int set_state(struct xw_dev *dev, uint16_t *state, uint32_t *errors)
{
	uint8_t raw[XW_SUPER_SIZE];
	struct xw_super sb;
	uint16_t was;
	uint32_t had;
	int rc = xw_dev_pread(dev, raw, sizeof(raw), XW_SUPER_OFFSET);

	if (rc || xw_super_decode(raw, &sb))
		return rc ? rc : XW_ERR_CORRUPT;
	was = sb.state;
	had = sb.error_count;
	sb.state = *state;
	sb.error_count = *errors;
	*state = was;
	*errors = had;
	xw_super_encode(&sb, raw);
	return xw_dev_pwrite(dev, raw, sizeof(raw), XW_SUPER_OFFSET);
}

static int note_cut(void *arg, xw_ino ino)
{
	struct fsck *f = arg;

	return xw_vec_push(&f->start.cut, ino) ? XW_ERR_NOMEM : 0;
}

static int finish_orphans(void *arg, struct xw_dev *dev)
{
	struct fsck *f = arg;
	const struct xw_update_opts opts = {
		.now = f->opts.now, .jobs = 1, .cut = note_cut, .cut_arg = f};
	struct xw_diag quiet = {0};
	struct xw_update *u = NULL;
	uint16_t state = XW_STATE_VALID;
	uint32_t errors = 0;
	int rc = set_state(dev, &state, &errors);

	if (rc)
		return rc;
	rc = xw_update_begin(dev, &opts, &quiet, &u);
	if (!rc)
		rc = xw_update_flush(u);
	f->start.orphans = rc ? 0 : u->stats.orphans;
	xw_update_close(u);
	return rc ? rc : set_state(dev, &state, &errors);
}

/*
 * As in e2fsck, an orphan file in use is reported and affects the exit status, but an orphan list
 * does not.
 */
static void report(struct fsck *f, uint64_t in_use)
{
	if (f->start.orphans)
		(void)FSCK_FOUND(f, ORPHAN_CLEARED, .num = f->start.orphans);
	if (in_use != UINT64_MAX && (f->opts.mode == FSCK_PREEN || f->opts.mode == FSCK_YES))
		(void)FSCK_FOUND(f, ORPHAN_BLOCK, .ino = f->ses.img->sb.orphan_file_inum,
				 .lblk = in_use);
}

int fsck_orphans_process(struct fsck *f)
{
	const struct xw_super *sb = &f->ses.img->sb;
	uint64_t in_use = UINT64_MAX;
	struct fsck_orphan_file o;
	struct xw_steps s;
	int rc = 0;

	if (sb->feature_compat & XW_COMPAT_ORPHAN_FILE) {
		rc = fsck_orphan_file_read(f, sb->orphan_file_inum, NULL, &o);
		xw_vec_free(&o.runs);
		if (rc || !fsck_orphan_file_is_valid(&o))
			return rc ? rc : XW_ERR_CORRUPT;
		if (sb->feature_ro_compat & XW_RO_ORPHAN_PRESENT)
			in_use = o.in_use;
	}
	xw_steps_init(&s, f->ses.dev, &f->ses.diag);
	s.now = f->opts.now;
	rc = xw_step_apart(&s, f->ses.img->block_size, finish_orphans, f);
	xw_step_drop(&s);
	xw_diag_clear(&f->ses.diag);
	if (rc) {
		xw_vec_free(&f->start.cut);
		return rc;
	}
	f->round.changed = f->ses.full = true;
	report(f, in_use);
	rc = fsck_reopen(f);
	return rc ? rc : fsck_opened(f); /* the rest of a last block may have been zeroed */
}

int fsck_orphans_none(struct fsck *f, bool *none)
{
	const struct xw_super *sb = &f->ses.img->sb;
	struct fsck_orphan_file o;
	int rc;

	*none = false;
	if (sb->last_orphan || !(sb->feature_compat & XW_COMPAT_ORPHAN_FILE))
		return 0;
	rc = fsck_orphan_file_read(f, sb->orphan_file_inum, NULL, &o);
	*none = !rc && fsck_orphan_file_is_valid(&o) && o.in_use == UINT64_MAX;
	xw_vec_free(&o.runs);
	return rc;
}

int fsck_orphans_settle(struct fsck *f)
{
	struct xw_super *sb = &f->ses.img->sb;
	const bool changed = f->round.changed;
	bool none = false;
	int rc = 0;

	if (f->start.replayed && sb->feature_ro_compat & XW_RO_ORPHAN_PRESENT)
		rc = fsck_orphans_none(f, &none);
	if (rc || !none)
		return rc;
	sb->feature_ro_compat &= ~XW_RO_ORPHAN_PRESENT;
	rc = fsck_super_write(f);
	f->round.changed = changed; /* part of the replay, which may be one in memory alone */
	return rc;
}

int fsck_clear_orphans(struct fsck *f, bool *done)
{
	int rc;

	*done = true;
	if (!fsck_orphans_listed(&f->ses.img->sb))
		return 0;
	rc = fsck_orphans_process(f);
	*done = !rc && !f->ses.img->sb.last_orphan && !f->start.cut.n &&
		!(f->ses.img->sb.feature_ro_compat & XW_RO_ORPHAN_PRESENT);
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(&f->ses.diag, "orphans") : 0;
}
