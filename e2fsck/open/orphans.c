// SPDX-License-Identifier: MIT
/*
 * Orphans: inodes that Linux deletes or truncates when it mounts the filesystem. That is done here
 * with the functions of all tools, as one step; if the list or an inode in it is damaged, that step
 * is rolled back, and the inodes are checked like all others.
 *
 * What is behind the end of a file that was cut short is zeroed when the owner map says that the
 * block is its own, so a full check follows. The step clears the blocks of an orphan file, so all
 * of these must be blocks of one. They are repaired when the owner map is settled
 * (phases/orphan_file.c).
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "disk/orphan.h"
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

	return xw_vec_push(&f->cut, ino) ? XW_ERR_NOMEM : 0;
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

	if (!rc)
		rc = xw_update_begin(dev, &opts, &quiet, &u);
	if (!rc)
		rc = xw_update_flush(u);
	f->orphans = rc ? 0 : u->stats.orphans;
	xw_update_close(u);
	return rc ? rc : set_state(dev, &state, &errors);
}

bool fsck_orphan_is_clean(const uint8_t *buf, uint32_t slots)
{
	for (uint32_t i = 0; i < slots; i++)
		if (xw_orphan_slot(buf, i))
			return false;
	return true;
}

/* The first block of the orphan file that contains inodes; UINT64_MAX: none. */
uint64_t fsck_orphans_first(struct fsck *f)
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
					    !fsck_orphan_is_clean(buf, xw_orphan_slots(bs)))
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

int fsck_orphan_blocks(struct fsck *f, xw_ino ino, struct fsck_orphan_blocks *b, bool *valid)
{
	const struct xw_super *sb = &f->img->sb;
	struct xw_diag *const diag = f->img->diag;
	const uint32_t bs = f->img->block_size;
	struct xw_map_iter it;
	struct xw_map_run run;
	struct xw_inode in;
	uint64_t next = 0;
	int rc = 0, more = -1;

	*valid = false;
	if (ino < sb->first_ino || ino > sb->inodes_count)
		return 0;
	f->img->diag = NULL;
	if (!xw_image_inode(f->img, ino, &in, NULL) && (in.mode & XW_S_IFMT) == XW_S_IFREG &&
	    in.links && in.size && in.size % bs == 0 && xw_inode_has_map(&in)) {
		rc = xw_map_begin(f->img, ino, &in, 0, &it);
		while (!rc && (more = xw_map_next(&it, &run)) > 0 && run.lblk == next) {
			next += run.len;
			rc = xw_vec_push(&b->runs, run) ? XW_ERR_NOMEM : 0;
		}
		xw_map_end(&it);
		b->seed = xw_image_inode_seed(f->img, ino, &in);
		*valid = !rc && !more && next * bs == in.size;
	}
	f->img->diag = diag;
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(&f->diag, "orphan file") : 0;
}

/* How many of its blocks are those of an orphan file: by their magic, or checksums as well. */
int fsck_orphan_count(struct fsck *f, const struct fsck_orphan_blocks *b, bool csum, uint64_t *good,
		      uint64_t *all)
{
	const uint32_t bs = f->img->block_size;
	auto_free uint8_t *buf = malloc(bs);

	*good = *all = 0;
	if (!buf)
		return xw_fail_nomem(&f->diag, "orphan file");
	for (size_t i = 0; i < b->runs.n; i++)
		for (uint64_t k = 0; k < b->runs.v[i].len; k++, ++*all) {
			const xw_blk blk = b->runs.v[i].pblk + k;

			*good += !fsck_read(f, blk, 1, buf) &&
				 !xw_orphan_verify(buf, bs, csum, b->seed, blk);
		}
	xw_diag_clear(&f->diag);
	return 0;
}

/* Is this inode an orphan file, of which every block is intact? */
int fsck_orphans_sound(struct fsck *f, bool *sound)
{
	struct fsck_orphan_blocks b = {0};
	uint64_t good = 0, all = 0;
	int rc = fsck_orphan_blocks(f, f->img->sb.orphan_file_inum, &b, sound);

	if (!rc && *sound)
		rc = fsck_orphan_count(f, &b, xw_super_has_csum(&f->img->sb), &good, &all);
	*sound = *sound && good == all;
	xw_vec_free(&b.runs);
	return rc;
}

int fsck_orphans_put_away(struct fsck *f)
{
	const uint64_t in_use = fsck_orphans_first(f);
	struct xw_steps s;
	bool sound = true;
	int rc = 0;

	if (f->img->sb.feature_compat & XW_COMPAT_ORPHAN_FILE)
		rc = fsck_orphans_sound(f, &sound);
	if (rc || !sound)
		return rc ? rc : XW_ERR_CORRUPT;
	xw_steps_init(&s, f->dev, &f->diag);
	s.now = f->opts.now;
	rc = xw_step_apart(&s, f->img->block_size, finish_orphans, f);
	xw_step_forget(&s);
	xw_diag_clear(&f->diag);
	if (rc) {
		xw_vec_free(&f->cut);
		return rc;
	}
	f->changed = f->full = true;
	tell(f, in_use);
	rc = fsck_reopen(f);
	return rc ? rc : fsck_opened(f); /* the rest of a last block may have been zeroed */
}

int fsck_clear_orphans(struct fsck *f, bool *done)
{
	int rc;

	*done = true;
	if (!fsck_orphans_listed(&f->img->sb))
		return 0;
	rc = fsck_orphans_put_away(f);
	*done = !rc && !f->img->sb.last_orphan && !f->cut.n &&
		!(f->img->sb.feature_ro_compat & XW_RO_ORPHAN_PRESENT);
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(&f->diag, "orphans") : 0;
}
