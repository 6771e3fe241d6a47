// SPDX-License-Identifier: MIT
/*
 * Orphans: inodes that Linux deletes or truncates when it mounts the filesystem. That is done here
 * with the functions of all tools, as one step; if the list or an inode in it is damaged, that step
 * is rolled back, the list is dropped, and the inodes are checked like all others.
 *
 * The step clears the blocks of an orphan file, so all of these must be blocks of one. They are
 * repaired when the owner map is settled.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/orphan.h"
#include "open/open.h"
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
	if (!fsck_owns(f, FSCK_O_SYSTEM, blk, 1) ||
	    !FSCK_FOUND(f, ORPHAN_BLOCK, .ino = f->img->sb.orphan_file_inum, .lblk = lblk))
		return 0;
	memset(buf, 0, bs);
	xw_orphan_seal(buf, bs, csum, seed, blk);
	return fsck_write(f, FSCK_O_SYSTEM, blk, buf);
}

/* The blocks of an inode that can be an orphan file. */
struct blocks {
	XW_VEC(struct xw_map_run) runs;
	uint32_t seed; /* of their checksums */
};

static int list_blocks(struct fsck *f, xw_ino ino, struct blocks *b, bool *valid)
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
static int count_blocks(struct fsck *f, const struct blocks *b, bool csum, uint64_t *good,
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
static int is_sound(struct fsck *f, bool *sound)
{
	struct blocks b = {0};
	uint64_t good = 0, all = 0;
	int rc = list_blocks(f, f->img->sb.orphan_file_inum, &b, sound);

	if (!rc && *sound)
		rc = count_blocks(f, &b, xw_super_has_csum(&f->img->sb), &good, &all);
	*sound = *sound && good == all;
	xw_vec_free(&b.runs);
	return rc;
}

/*
 * The feature is lost, or dropped. The file has no name, and nobody would know what it was; but
 * another inode, to which a wrong number refers, is left to its names.
 */
static int drop_file(struct fsck *f)
{
	struct xw_super *sb = &f->img->sb;
	const xw_ino ino = sb->orphan_file_inum;
	struct blocks b = {0};
	uint64_t good = 0, all = 0;
	bool valid;
	int rc = list_blocks(f, ino, &b, &valid);

	if (!rc && valid)
		rc = count_blocks(f, &b, false, &good, &all);
	xw_vec_free(&b.runs);
	if (rc || !FSCK_FOUND(f, ORPHAN_FILE, .ino = ino))
		return rc;
	sb->feature_compat &= ~XW_COMPAT_ORPHAN_FILE;
	sb->feature_ro_compat &= ~XW_RO_ORPHAN_PRESENT;
	sb->orphan_file_inum = 0;
	f->renew_backups = true;
	f->again = f->owners.settled;
	rc = fsck_super_write(f);
	return rc || !good || good < all ? rc : fsck_inode_clear(f, ino);
}

int fsck_check_orphan_file(struct fsck *f)
{
	const struct xw_super *sb = &f->img->sb;
	struct blocks b = {0};
	uint64_t good = 0, all = 0;
	bool valid;
	int rc;

	if (!(sb->feature_compat & XW_COMPAT_ORPHAN_FILE))
		return 0;
	rc = list_blocks(f, sb->orphan_file_inum, &b, &valid);
	if (!rc && valid)
		rc = count_blocks(f, &b, false, &good, &all);
	if (!rc && !good)
		rc = drop_file(f);
	else
		for (size_t i = 0; i < b.runs.n && !rc; i++)
			for (uint64_t k = 0; k < b.runs.v[i].len && !rc; k++)
				rc = check_block(f, b.runs.v[i].lblk + k, b.runs.v[i].pblk + k,
						 b.seed);
	xw_vec_free(&b.runs);
	return rc;
}

static int put_away(struct fsck *f)
{
	const uint64_t in_use = first_in_use(f);
	struct xw_steps s;
	bool sound = true;
	int rc = 0;

	if (f->img->sb.feature_compat & XW_COMPAT_ORPHAN_FILE)
		rc = is_sound(f, &sound);
	if (rc || !sound)
		return rc ? rc : XW_ERR_CORRUPT;
	xw_steps_init(&s, f->dev, &f->diag);
	s.now = f->opts.now;
	rc = xw_step_apart(&s, f->img->block_size, finish_orphans, f);
	xw_step_forget(&s);
	xw_diag_clear(&f->diag);
	if (rc)
		return rc;
	f->changed = f->full = true;
	tell(f, in_use);
	rc = fsck_reopen(f);
	return rc ? rc : fsck_opened(f); /* a truncated file's last block was zeroed at its end */
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

/* The orphan file alone is said to have orphans, and it is sound and has none. */
static int has_none(struct fsck *f, bool *none)
{
	const struct xw_super *sb = &f->img->sb;

	*none = false;
	if (sb->last_orphan || !(sb->feature_compat & XW_COMPAT_ORPHAN_FILE) ||
	    first_in_use(f) != UINT64_MAX)
		return 0;
	return is_sound(f, none);
}

int fsck_check_orphans(struct fsck *f)
{
	bool none = false;
	int rc = 0;

	if (f->round)
		return 0;
	if (listed(&f->img->sb))
		rc = has_none(f, &none);
	if (rc)
		return rc;
	if (listed(&f->img->sb) && !none) {
		rc = put_away(f);
		if (rc == XW_ERR_NOMEM)
			return xw_fail_nomem(&f->diag, "orphans");
		rc = rc && f->img->sb.last_orphan ? drop_list(f) : 0;
	}
	if (!rc && f->img->sb.feature_ro_compat & XW_RO_ORPHAN_PRESENT)
		rc = clear_present(f);
	if (!rc && !(f->img->sb.feature_compat & XW_COMPAT_ORPHAN_FILE) &&
	    f->img->sb.orphan_file_inum)
		rc = drop_file(f);
	return rc;
}
