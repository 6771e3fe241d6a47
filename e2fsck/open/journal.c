// SPDX-License-Identifier: MIT
/*
 * The inode of the journal: validity, the backup in the superblock, and dropping a journal that is
 * beyond repair.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "base/endian.h"
#include "open/journal.h"

bool fsck_journal_has_uuid(const struct xw_super *sb)
{
	return !xw_all_zero(sb->journal_uuid, sizeof(sb->journal_uuid));
}

/* A journal device has a UUID; a device number alone is ignored, as in e2fsck(8). */
bool fsck_journal_is_external(const struct xw_super *sb)
{
	return sb->feature_compat & XW_COMPAT_HAS_JOURNAL && !sb->journal_inum &&
	       fsck_journal_has_uuid(sb);
}

struct runs {
	XW_VEC(struct xw_map_run) v;
	uint64_t mapped; /* logical blocks from 0 on */
};

static void runs_free(struct runs *r)
{
	xw_vec_free(&r->v);
}

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
static bool read_runs(struct fsck *f, struct fsck_journal *j, struct runs *r)
{
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	int more;

	if (xw_map_begin(f->ses.img, j->ino, &j->in, 0, &it))
		return true; /* no blocks: too short for a journal */
	while ((more = xw_map_next(&it, &run)) > 0) {
		if (run.lblk != r->mapped || run.unwritten || xw_vec_push(&r->v, run))
			return false;
		j->first = r->mapped ? j->first : run.pblk;
		r->mapped += run.len;
	}
	return !more;
}

/*
 * Is the journal a regular file whose blocks are all mapped once and written, and none beyond its
 * size?
 */
bool fsck_journal_is_intact(struct fsck *f, struct fsck_journal *j)
{
	const uint32_t bs = f->ses.img->block_size;
	auto_quiet quiet = fsck_quiet(&f->ses.img->diag);
	auto_end(runs_free) struct runs runs = {0};

	j->blocks = j->in.size / bs;
	if ((j->in.mode & XW_S_IFMT) != XW_S_IFREG || !j->in.links || j->in.size % bs ||
	    j->blocks < XW_JBD2_MIN_BLOCKS || j->blocks > f->ses.img->sb.blocks_count)
		return false;
	return read_runs(f, j, &runs) && runs.mapped == j->blocks && !overlap(&runs);
}

int fsck_journal_load(struct fsck *f, xw_ino ino, struct fsck_journal *j)
{
	j->ino = ino;
	return fsck_inode_read(f, ino, &j->in, NULL);
}

/* Use the backup of the inode in the superblock. */
bool fsck_journal_from_saved(struct fsck *f, struct fsck_journal *j)
{
	const struct xw_super *sb = &f->ses.img->sb;

	if (sb->jnl_backup_type != FSCK_JOURNAL_SAVED_TYPE)
		return false;
	j->in = (struct xw_inode){.mode = XW_S_IFREG | 0600,
				  .links = 1,
				  .generation = j->in.generation,
				  .extra_isize = j->in.extra_isize};
	j->in.size = (uint64_t)sb->jnl_blocks[15] << 32 | sb->jnl_blocks[16];
	for (unsigned i = 0; i < 15; i++)
		poke32(j->in.block + (size_t)4 * i, sb->jnl_blocks[i]);
	if (xw_extent_has_magic(j->in.block))
		j->in.flags = XW_FL_EXTENTS;
	return fsck_journal_is_intact(f, j);
}

/*
 * Does block 0 hold a journal superblock that fits the inode? An internal journal has no more than
 * one user, and may be shorter than its inode.
 */
bool fsck_journal_has_log(struct fsck *f, const struct fsck_journal *j)
{
	uint8_t raw[XW_JSB_SIZE];
	struct xw_jsb jsb;

	return !xw_dev_pread(f->ses.dev, raw, sizeof(raw), j->first * f->ses.img->block_size) &&
	       !xw_jsb_decode(raw, &jsb) && jsb.blocksize == f->ses.img->block_size &&
	       jsb.maxlen <= j->blocks && jsb.nr_users <= 1;
}

bool fsck_journal_is_inside(struct fsck *f)
{
	struct fsck_journal j = {0};

	return !f->opts.journal && !fsck_journal_load(f, XW_INO_JOURNAL, &j) &&
	       fsck_journal_is_intact(f, &j) && fsck_journal_has_log(f, &j);
}

bool fsck_journal_fields_agree(struct fsck *f)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const bool device = sb->journal_dev || fsck_journal_has_uuid(sb);

	if (!(sb->feature_compat & XW_COMPAT_HAS_JOURNAL))
		return !sb->journal_inum && !device;
	if (sb->journal_inum)
		return !device;
	return fsck_journal_is_external(sb) && !fsck_journal_is_inside(f);
}

bool fsck_journal_may_be(const struct xw_super *sb, xw_ino ino)
{
	return ino == XW_INO_JOURNAL || (ino >= sb->first_ino && ino <= sb->inodes_count);
}

int fsck_journal_drop(struct fsck *f, const struct fsck_journal *j, bool again)
{
	struct xw_super *sb = &f->ses.img->sb;
	int rc = 0;

	if (j->ino == XW_INO_JOURNAL && (j->in.mode || j->in.links || j->in.size))
		rc = fsck_inode_clear(f, j->ino);
	sb->feature_compat &= ~XW_COMPAT_HAS_JOURNAL;
	sb->feature_incompat &= ~XW_INCOMPAT_RECOVER;
	sb->journal_inum = sb->journal_dev = 0;
	memset(sb->journal_uuid, 0, sizeof(sb->journal_uuid));
	memset(sb->jnl_blocks, 0, sizeof(sb->jnl_blocks));
	sb->jnl_backup_type = 0;
	f->start.journal_lost = again;
	f->ses.renew_backups = true;
	return rc ? rc : fsck_super_write(f);
}

int fsck_drop_external(struct fsck *f)
{
	const struct fsck_journal none = {0};

	return fsck_journal_drop(f, &none, true);
}

int fsck_drop_journal(struct fsck *f)
{
	struct fsck_journal j = {0};
	int rc = fsck_journal_load(f, f->ses.img->sb.journal_inum, &j);

	return rc ? rc : fsck_journal_drop(f, &j, true);
}

bool fsck_journal_is_empty(struct fsck *f)
{
	const struct xw_super *sb = &f->ses.img->sb;
	struct fsck_journal j = {.ino = sb->journal_inum};
	uint8_t raw[XW_JSB_SIZE];
	struct xw_jsb jsb;

	if (!(sb->feature_compat & XW_COMPAT_HAS_JOURNAL) || fsck_journal_is_external(sb))
		return true;
	return fsck_journal_may_be(sb, j.ino) && !fsck_journal_load(f, j.ino, &j) &&
	       fsck_journal_is_intact(f, &j) && fsck_journal_has_log(f, &j) &&
	       !xw_dev_pread(f->ses.dev, raw, sizeof(raw), j.first * f->ses.img->block_size) &&
	       !xw_jsb_decode(raw, &jsb) && !xw_jsb_verify(raw) && !jsb.start && !jsb.err;
}
