// SPDX-License-Identifier: MIT
/*
 * Checks the orphan list and the orphan file. A list that cannot be processed (open/orphans.c) is
 * dropped; the blocks of the file are repaired when the owner map is complete.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/orphan.h"
#include "facts/orphan_blocks.h"
#include "open/orphans.h"
#include "phases/super.h"
#include "read/map.h"

/* ---- the orphan file ---- */

static void orphan_file_end(struct fsck_orphan_file *o)
{
	xw_vec_free(&o->runs);
}

static int check_block(struct fsck *f, xw_lblk lblk, xw_blk blk, uint32_t seed)
{
	const uint32_t bs = f->ses.img->block_size;
	const bool csum = xw_super_has_csum(&f->ses.img->sb);
	auto_free uint8_t *buf = malloc(bs);
	int rc = buf ? fsck_read(f, blk, 1, buf) : xw_fail_nomem(&f->ses.diag, "orphan file");

	if (rc || (!xw_orphan_verify(buf, bs, csum, seed, blk) &&
		   (f->ses.img->sb.feature_ro_compat & XW_RO_ORPHAN_PRESENT ||
		    fsck_orphan_is_clean(buf, xw_orphan_slots(bs)))))
		return rc;
	if (!fsck_owns(f, FSCK_O_SYSTEM, blk, 1) ||
	    !FSCK_FOUND(f, ORPHAN_BLOCK, .ino = f->ses.img->sb.orphan_file_inum, .lblk = lblk))
		return 0;
	memset(buf, 0, bs);
	xw_orphan_seal(buf, bs, csum, seed, blk);
	return fsck_write(f, FSCK_O_SYSTEM, blk, buf);
}

static int check_blocks(struct fsck *f, const struct fsck_orphan_file *o)
{
	int rc = 0;

	for (size_t i = 0; i < o->runs.n && !rc; i++)
		for (uint64_t k = 0; k < o->runs.v[i].len && !rc; k++)
			rc = check_block(f, o->runs.v[i].lblk + k, o->runs.v[i].pblk + k, o->seed);
	return rc;
}

/*
 * Drop the feature and the number of the orphan file. The file itself has no name and is cleared;
 * if the number refers to another inode, that inode is kept.
 */
static int drop_file(struct fsck *f, const struct fsck_orphan_file *o)
{
	struct xw_super *sb = &f->ses.img->sb;
	const xw_ino ino = sb->orphan_file_inum;
	int rc;

	if (!FSCK_FOUND(f, ORPHAN_FILE, .ino = ino))
		return 0;
	sb->feature_compat &= ~XW_COMPAT_ORPHAN_FILE;
	sb->feature_ro_compat &= ~XW_RO_ORPHAN_PRESENT;
	sb->orphan_file_inum = 0;
	f->ses.renew_backups = true;
	f->round.again = f->facts.owners.complete;
	rc = fsck_super_write(f);
	return rc || !fsck_orphan_file_is(o) ? rc : fsck_inode_clear(f, ino);
}

int fsck_check_orphan_file(struct fsck *f)
{
	const struct xw_super *sb = &f->ses.img->sb;
	auto_end(orphan_file_end) struct fsck_orphan_file o = {0};
	int rc;

	if (!(sb->feature_compat & XW_COMPAT_ORPHAN_FILE))
		return 0;
	rc = fsck_orphan_file_read(f, sb->orphan_file_inum, NULL, &o);
	if (rc || !fsck_orphan_file_is(&o))
		return rc;
	return o.valid ? check_blocks(f, &o) : drop_file(f, &o);
}

int fsck_judge_orphan_file(struct fsck *f, bool unnamed, bool *is)
{
	auto_end(orphan_file_end) struct fsck_orphan_file o;
	int rc = fsck_orphan_file_read(f, f->ses.img->sb.orphan_file_inum, NULL, &o);

	*is = !rc && unnamed && o.valid;
	if (rc || fsck_orphan_file_is(&o))
		return rc;
	return *is ? check_blocks(f, &o) : drop_file(f, &o);
}

/* Drop the number of an orphan file without the feature. */
static int drop_stray(struct fsck *f)
{
	auto_end(orphan_file_end) struct fsck_orphan_file o;
	const int rc = fsck_orphan_file_read(f, f->ses.img->sb.orphan_file_inum, NULL, &o);

	return rc ? rc : drop_file(f, &o);
}

/* Process the orphans. A list that is damaged is dropped. */
static int check_list(struct fsck *f)
{
	bool none = false;
	int rc = fsck_orphans_none(f, &none);

	if (rc || none)
		return rc;
	rc = fsck_orphans_process(f);
	if (rc == XW_ERR_NOMEM)
		return xw_fail_nomem(&f->ses.diag, "orphans");
	if (!rc || !f->ses.img->sb.last_orphan ||
	    !FSCK_FOUND(f, ORPHAN_LIST, .ino = f->ses.img->sb.last_orphan))
		return 0;
	f->ses.img->sb.last_orphan = 0;
	return fsck_super_write(f);
}

int fsck_check_orphans(struct fsck *f)
{
	int rc = 0;

	if (f->round.number)
		return 0;
	if (fsck_orphans_listed(&f->ses.img->sb))
		rc = check_list(f);
	if (!rc && f->ses.img->sb.feature_ro_compat & XW_RO_ORPHAN_PRESENT &&
	    FSCK_FOUND(f, ORPHAN_PRESENT)) {
		f->ses.img->sb.feature_ro_compat &= ~XW_RO_ORPHAN_PRESENT;
		rc = fsck_super_write(f);
	}
	if (!rc && !(f->ses.img->sb.feature_compat & XW_COMPAT_ORPHAN_FILE) &&
	    f->ses.img->sb.orphan_file_inum)
		rc = drop_stray(f);
	return rc;
}

/* Zero the rest of the last block. *done: zeroed, or there is nothing past the end of the file. */
static int zero_rest(struct fsck *f, xw_ino ino, bool *done)
{
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *buf = malloc(bs);
	struct xw_map_run run = {0};
	struct xw_inode in;
	uint32_t used;
	int rc = buf ? fsck_inode_read(f, ino, &in, NULL) : xw_fail_nomem(&f->ses.diag, "orphans");

	if (rc)
		return rc;
	used = in.size % bs;
	*done = (in.mode & XW_S_IFMT) != XW_S_IFREG || !xw_inode_has_map(&in) || !used ||
		xw_map_lookup(f->ses.img, ino, &in, in.size / bs, &run) || !run.len ||
		run.unwritten;
	xw_diag_clear(&f->ses.diag);
	if (*done || !fsck_owns(f, FSCK_O_DATA, run.pblk, 1))
		return 0;
	*done = true;
	rc = fsck_read(f, run.pblk, 1, buf);
	if (!rc)
		memset(buf + used, 0, bs - used);
	if (!rc)
		rc = fsck_declare(f, run.pblk);
	return rc ? rc : fsck_write(f, FSCK_O_DATA, run.pblk, buf);
}

int fsck_zero_cut(struct fsck *f)
{
	size_t left = 0;
	int rc = 0;

	if (f->opts.mode == FSCK_NO)
		return 0;
	for (size_t i = 0; i < f->start.cut.n && !rc; i++) {
		const xw_ino ino = f->start.cut.v[i];
		bool done = false;

		rc = zero_rest(f, ino, &done);
		if (!done)
			f->start.cut.v[left++] = ino;
	}
	f->start.cut.n = left;
	return rc;
}
