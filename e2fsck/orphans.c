// SPDX-License-Identifier: MIT
/*
 * Orphans: inodes that Linux deletes or truncates when it mounts the filesystem. That is done here
 * with the functions of all tools, as one step; if the list or an inode in it is damaged, that step
 * is rolled back, the list is dropped, and the inodes are checked like all others.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/orphan.h"
#include "open.h"
#include "read/map.h"
#include "update/update.h"

static bool listed(const struct xw_super *sb)
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

static int finish_orphans(void *arg, struct xw_dev *dev)
{
	struct fsck *f = arg;
	const struct xw_update_opts opts = {.now = f->opts.now, .jobs = 1};
	struct xw_diag quiet = {0};
	struct xw_update *u = NULL;
	uint16_t state = XW_STATE_VALID;
	uint32_t errors = 0;
	int rc = set_state(dev, &state, &errors);

	if (!rc)
		rc = xw_update_begin(dev, &opts, &quiet, &u);
	if (!rc)
		rc = xw_update_flush(u);
	f->orphans = rc ? 0 : u->stats.orphans;
	xw_update_close(u);
	return rc ? rc : set_state(dev, &state, &errors);
}

static bool is_clean(const uint8_t *buf, uint32_t slots)
{
	for (uint32_t i = 0; i < slots; i++)
		if (xw_orphan_slot(buf, i))
			return false;
	return true;
}

/* The first block of the orphan file that contains inodes; UINT64_MAX: none. */
static uint64_t first_in_use(struct fsck *f)
{
	const struct xw_super *sb = &f->img->sb;
	const uint32_t bs = f->img->block_size;
	struct xw_diag *const diag = f->img->diag;
	auto_free uint8_t *buf = malloc(bs);
	uint64_t first = UINT64_MAX;
	struct xw_map_iter it;
	struct xw_map_run run;
	struct xw_inode in;

	if (!buf || !(sb->feature_compat & XW_COMPAT_ORPHAN_FILE) ||
	    !(sb->feature_ro_compat & XW_RO_ORPHAN_PRESENT))
		return first;
	f->img->diag = NULL;
	if (!xw_image_inode(f->img, sb->orphan_file_inum, &in, NULL)) {
		if (!xw_map_begin(f->img, sb->orphan_file_inum, &in, 0, &it))
			while (first == UINT64_MAX && xw_map_next(&it, &run) > 0)
				for (uint64_t k = 0; k < run.len && first == UINT64_MAX; k++)
					if (!fsck_read(f, run.pblk + k, 1, buf) &&
					    !is_clean(buf, xw_orphan_slots(bs)))
						first = run.lblk + k;
		xw_map_end(&it);
	}
	f->img->diag = diag;
	xw_diag_clear(&f->diag);
	return first;
}

/* Stock e2fsck reports an orphan file in use, and its exit status shows that; not so for a list. */
static void tell(struct fsck *f, uint64_t in_use)
{
	if (f->orphans)
		(void)FSCK_FOUND(f, ORPHAN_CLEARED, .num = f->orphans);
	if (in_use != UINT64_MAX && (f->opts.mode == FSCK_PREEN || f->opts.mode == FSCK_YES))
		(void)FSCK_FOUND(f, ORPHAN_BLOCK, .ino = f->img->sb.orphan_file_inum,
				 .lblk = in_use);
}

static int put_away(struct fsck *f)
{
	const uint64_t in_use = first_in_use(f);
	struct xw_steps s;
	int rc;

	xw_steps_init(&s, f->dev, &f->diag);
	s.now = f->opts.now;
	rc = xw_step_apart(&s, f->img->block_size, finish_orphans, f);
	xw_step_forget(&s);
	xw_diag_clear(&f->diag);
	if (rc)
		return rc;
	f->changed = f->full = true;
	tell(f, in_use);
	return fsck_reopen(f);
}

static int drop_list(struct fsck *f)
{
	if (!FSCK_FOUND(f, ORPHAN_LIST, .ino = f->img->sb.last_orphan))
		return 0;
	f->img->sb.last_orphan = 0;
	return fsck_super_write(f);
}

/* ---- the orphan file ---- */

static int check_block(struct fsck *f, xw_lblk lblk, xw_blk blk, uint32_t seed)
{
	const uint32_t bs = f->img->block_size;
	const bool csum = xw_super_has_csum(&f->img->sb);
	auto_free uint8_t *buf = malloc(bs);
	int rc = buf ? fsck_read(f, blk, 1, buf) : xw_fail_nomem(&f->diag, "orphan file");

	if (rc || (!xw_orphan_verify(buf, bs, csum, seed, blk) &&
		   (f->img->sb.feature_ro_compat & XW_RO_ORPHAN_PRESENT ||
		    is_clean(buf, xw_orphan_slots(bs)))))
		return rc;
	if (!FSCK_FOUND(f, ORPHAN_BLOCK, .ino = f->img->sb.orphan_file_inum, .lblk = lblk))
		return 0;
	memset(buf, 0, bs);
	xw_orphan_seal(buf, bs, csum, seed, blk);
	return fsck_write(f, blk, 1, buf);
}

static int drop_file(struct fsck *f)
{
	struct xw_super *sb = &f->img->sb;

	if (!FSCK_FOUND(f, ORPHAN_FILE, .ino = sb->orphan_file_inum))
		return 0;
	sb->feature_compat &= ~XW_COMPAT_ORPHAN_FILE;
	sb->feature_ro_compat &= ~XW_RO_ORPHAN_PRESENT;
	sb->orphan_file_inum = 0;
	f->renew_backups = true;
	return fsck_super_write(f);
}

/* Its blocks, all of them or none. */
static int check_file(struct fsck *f)
{
	const struct xw_super *sb = &f->img->sb;
	struct xw_diag *const diag = f->img->diag;
	const xw_ino ino = sb->orphan_file_inum;
	const uint32_t bs = f->img->block_size;
	XW_VEC(struct xw_map_run) runs = {0};
	struct xw_map_iter it;
	struct xw_map_run run;
	struct xw_inode in;
	uint64_t next = 0;
	int rc = 0, more = -1;

	if (ino < sb->first_ino || ino > sb->inodes_count)
		return drop_file(f);
	f->img->diag = NULL;
	if (!xw_image_inode(f->img, ino, &in, NULL) && (in.mode & XW_S_IFMT) == XW_S_IFREG &&
	    in.links && in.size && in.size % bs == 0) {
		rc = xw_map_begin(f->img, ino, &in, 0, &it);
		while (!rc && (more = xw_map_next(&it, &run)) > 0 && run.lblk == next) {
			next += run.len;
			rc = xw_vec_push(&runs, run) ? XW_ERR_NOMEM : 0;
		}
		xw_map_end(&it);
	}
	f->img->diag = diag;
	if (rc == XW_ERR_NOMEM)
		rc = xw_fail_nomem(&f->diag, "orphan file");
	else if (rc || more || next * bs != in.size)
		rc = drop_file(f);
	else
		for (size_t i = 0; i < runs.n && !rc; i++)
			for (uint64_t k = 0; k < runs.v[i].len && !rc; k++)
				rc = check_block(f, runs.v[i].lblk + k, runs.v[i].pblk + k,
						 xw_image_inode_seed(f->img, ino, &in));
	xw_vec_free(&runs);
	return rc;
}

/* Does its first block end as those of orphan files do? */
static bool looks_like_orphan_file(struct fsck *f, xw_ino ino)
{
	const uint32_t bs = f->img->block_size;
	auto_free uint8_t *buf = malloc(bs);
	struct xw_diag *const diag = f->img->diag;
	struct xw_map_iter it;
	struct xw_map_run run;
	struct xw_inode in;
	bool is = false;

	f->img->diag = NULL;
	if (buf && ino >= f->img->sb.first_ino && !xw_image_inode(f->img, ino, &in, NULL) &&
	    (in.mode & XW_S_IFMT) == XW_S_IFREG && !xw_map_begin(f->img, ino, &in, 0, &it)) {
		is = xw_map_next(&it, &run) > 0 && !fsck_read(f, run.pblk, 1, buf) &&
		     !xw_orphan_verify(buf, bs, xw_super_has_csum(&f->img->sb),
				       xw_image_inode_seed(f->img, ino, &in), run.pblk);
		xw_map_end(&it);
	}
	f->img->diag = diag;
	return is;
}

/* The feature was lost. The file has no name, and nobody would know what it was. */
static int check_stray(struct fsck *f)
{
	const xw_ino ino = f->img->sb.orphan_file_inum;
	int rc = drop_file(f);

	if (rc || f->img->sb.orphan_file_inum || !looks_like_orphan_file(f, ino))
		return rc;
	return fsck_inode_clear(f, ino);
}

static int clear_present(struct fsck *f)
{
	if (!FSCK_FOUND(f, ORPHAN_PRESENT))
		return 0;
	f->img->sb.feature_ro_compat &= ~XW_RO_ORPHAN_PRESENT;
	return fsck_super_write(f);
}

int fsck_clear_orphans(struct fsck *f, bool *done)
{
	int rc;

	*done = true;
	if (!listed(&f->img->sb))
		return 0;
	rc = put_away(f);
	*done = !rc && !f->img->sb.last_orphan &&
		!(f->img->sb.feature_ro_compat & XW_RO_ORPHAN_PRESENT);
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(&f->diag, "orphans") : 0;
}

int fsck_check_orphans(struct fsck *f)
{
	int rc = 0;

	if (f->round)
		return 0;
	if (listed(&f->img->sb)) {
		rc = put_away(f);
		if (rc == XW_ERR_NOMEM)
			return xw_fail_nomem(&f->diag, "orphans");
		rc = rc && f->img->sb.last_orphan ? drop_list(f) : 0;
	}
	if (!rc && f->img->sb.feature_ro_compat & XW_RO_ORPHAN_PRESENT)
		rc = clear_present(f);
	if (!rc && f->img->sb.feature_compat & XW_COMPAT_ORPHAN_FILE)
		rc = check_file(f);
	else if (!rc && f->img->sb.orphan_file_inum)
		rc = check_stray(f);
	return rc;
}
