// SPDX-License-Identifier: MIT
/*
 * Blocks claimed by more than one owner.
 *
 * The owner map tells which clusters are contested; a second pass over the maps finds their owners.
 * Group metadata, the MMP block and xattr blocks stay where they are. The shared blocks of inodes
 * are cloned, one inode after the other, until the last owner keeps the original. Inodes of the
 * filesystem itself are cloned last. Clones are written to free blocks of the image at once
 * (contested_write.c). An inode for whose clone there is no space goes on sharing its blocks, which
 * no repair changes then.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "phases/contested.h"
#include "phases/inodes.h"
#include "phases/super.h"

/* With RO_SHARED_BLOCKS files may share blocks, unless -E unshare_blocks is given. */
static bool may_share(const struct fsck *f)
{
	return f->ses.img->sb.feature_ro_compat & XW_RO_SHARED_BLOCKS;
}

/*
 * Give up -E unshare_blocks because there is no space for all clones: as long as files may share
 * blocks, no file is lost for lack of space. Reported in later rounds as well.
 */
static void refuse_unshare(struct fsck_contest *c, uint64_t needed, uint64_t free)
{
	struct fsck *f = c->f;
	const uint64_t blocks = needed << c->bits;

	f->opts.unshare_blocks = false;
	(void)FSCK_FOUND(f, UNSHARE_NOSPC, .num = blocks, .num2 = free);
	if (f->round.number && f->opts.mode != FSCK_NO && !f->opts.all_told)
		xw_log(&f->ses.diag, XW_LOG_WARN,
		       "files still share blocks: clones need at least %llu blocks, %llu are free",
		       (unsigned long long)blocks, (unsigned long long)free);
}

/* There is no space to clone the inode: it goes on sharing its blocks. */
static int no_space(struct fsck_contest *c, xw_ino ino, uint64_t shared)
{
	if (may_share(c->f))
		refuse_unshare(c, XW_MAX(shared, (c->free >> c->bits) + 1), c->free);
	else
		(void)FSCK_FOUND(c->f, CONTESTED_NOSPC, .ino = ino, .num = shared << c->bits);
	return 0;
}

/* Clone the shared clusters of one inode, as one step of the update. */
static int clone(struct fsck_contest *c, xw_ino ino, uint64_t shared)
{
	struct fsck *f = c->f;
	const size_t written = c->written.n;
	struct xw_update *u;
	int rc;

	rc = fsck_update(f, &u);
	if (!rc) {
		c->free = xw_space_free_blocks(u->space);
		rc = shared > c->free >> c->bits ? XW_ERR_NOSPC : fsck_contest_move(c, u, ino);
	}
	if (!rc)
		rc = fsck_update_step(f);
	if (!rc) {
		fsck_contest_drop(c, ino, false);
		xw_image_drop_cache(f->ses.img);
		return 0;
	}
	c->written.n = written; /* these blocks are free again */
	fsck_update_drop(f);
	if (rc == XW_ERR_NOMEM || rc == XW_ERR_IO || rc == XW_ERR_INTERNAL)
		return rc;
	xw_diag_clear(&f->ses.diag);
	/* The map has other damage: the next round may succeed. */
	return rc == XW_ERR_NOSPC ? no_space(c, ino, shared) : 0;
}

/* Is there space to clone all shared clusters? *needed and *free are in clusters. */
static bool has_space(const struct fsck_contest *c, uint64_t *needed, uint64_t *free)
{
	const struct fsck *f = c->f;
	const uint64_t all = fsck_contest_cluster(c, f->ses.img->sb.blocks_count - 1) + 1;

	*free = all - xw_blockset_count(f->facts.owners.claims, 0, all);
	*needed = 0;
	for (size_t i = 0; i + 1 < c->firsts.n; i++)
		if (c->counts.v[i] > 1)
			*needed += (c->counts.v[i] - 1) * (c->firsts.v[i + 1] - c->firsts.v[i]);
	return *needed <= *free;
}

/* May the check go on although there is no space for all clones? Asked once, before any is made. */
static bool may_go_on(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	uint64_t needed, free;
	const bool enough = has_space(c, &needed, &free);

	if (c->forecast)
		return true;
	c->free = free << c->bits;
	if (enough || f->ses.full_told)
		return true;
	f->ses.full_told = true;
	if (FSCK_FOUND(f, CONTESTED_FULL, .num = needed << c->bits, .num2 = c->free) ||
	    f->opts.mode == FSCK_NO)
		return true;
	if (!f->ses.stop)
		fsck_report_only(f);
	return false;
}

/* Drop the journal if there is no space to clone all files: a journal can be recreated. */
static int yield_journal(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	const struct xw_super *sb = &f->ses.img->sb;
	const xw_ino ino = sb->feature_compat & XW_COMPAT_HAS_JOURNAL ? sb->journal_inum : 0;
	uint64_t needed, free;

	if (!ino || !fsck_contest_shared_by(c, ino) || has_space(c, &needed, &free))
		return 0;
	if (!FSCK_FOUND(f, JOURNAL_YIELDS, .ino = ino)) {
		c->forecast = f->opts.mode == FSCK_NO;
		return 0;
	}
	fsck_contest_drop(c, ino, true);
	c->agreed = true;
	return fsck_drop_journal(f);
}

/*
 * The order in which inodes are cloned. Directories that map blocks of other inodes come first,
 * because they drop these pointers. Reserved inodes and the orphan file, whose checksums depend on
 * block numbers, come last, so that they keep their blocks.
 */
enum rank { FOREIGN, USUAL, RESERVED, RANKS };

static int rank_inodes(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	const struct xw_super *sb = &f->ses.img->sb;
	int rc = 0;

	for (size_t i = 0; i < c->inos.n && !rc; i++) {
		const xw_ino ino = c->inos.v[i];
		const struct fsck_inode *facts = fsck_inode(f, ino);
		const bool reserved =
			ino < sb->first_ino ||
			(sb->feature_compat & XW_COMPAT_ORPHAN_FILE && ino == sb->orphan_file_inum);
		bool foreign = false;

		if (facts && facts->ftype == XW_FT_DIR)
			rc = fsck_contest_foreign(c, ino, &foreign);
		if (xw_vec_push(&c->ranks, foreign ? FOREIGN : reserved ? RESERVED : USUAL))
			rc = xw_fail_nomem(&f->ses.diag, "contested blocks");
	}
	return rc;
}

static int resolve(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	const bool sharing = may_share(f);
	uint64_t needed, free;
	int rc;

	if (sharing && !has_space(c, &needed, &free)) {
		refuse_unshare(c, needed, free << c->bits);
		return 0;
	}
	rc = sharing ? 0 : yield_journal(c);
	if (rc || !may_go_on(c))
		return rc;
	rc = rank_inodes(c);
	for (int rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < c->inos.n && !rc && !f->ses.stop; i++) {
			const xw_ino ino = c->inos.v[i];
			uint64_t n;

			if (c->ranks.v[i] != rank || (sharing && !f->opts.unshare_blocks))
				continue;
			n = fsck_contest_shared_by(c, ino);
			if (n > c->free >> c->bits) {
				rc = no_space(c, ino, n);
				continue;
			}
			if ((!n && !fsck_contest_is_misplaced(f, ino)) ||
			    (n && !FSCK_FOUND(f, CONTESTED, .ino = ino, .num = n,
					      .other = fsck_contest_other(c, ino))))
				continue;
			c->agreed = true;
			rc = clone(c, ino, n);
		}
	if (!rc && f->ses.steps.u)
		rc = fsck_update_keep(f);
	fsck_update_drop(f);
	if (!rc)
		rc = fsck_contest_verify(c);
	f->round.again |= c->agreed && f->round.changed;
	return rc;
}

static void contest_end(struct fsck_contest *c)
{
	c->f->facts.owners.copied = false;
	xw_walk_map_free(&c->walk);
	xw_vec_free(&c->claims);
	xw_vec_free(&c->firsts);
	xw_vec_free(&c->counts);
	xw_vec_free(&c->inos);
	xw_vec_free(&c->ranks);
	xw_vec_free(&c->written);
	fsck_contest_saved_free(c);
	free(c->copy);
}

static int find_and_resolve(struct fsck *f)
{
	auto_end(contest_end) struct fsck_contest c = {
		.f = f,
		.base = f->ses.img->sb.first_data_block,
		.bits = xw_image_cluster_bits(f->ses.img),
		.free = UINT64_MAX,
	};
	int rc;

	c.copy = malloc((size_t)f->ses.img->block_size << c.bits);
	xw_walk_map_init(&c.walk, f->ses.img->dev, &f->ses.img->sb);
	if (!c.copy)
		return xw_fail_nomem(&f->ses.diag, "contested blocks");
	rc = f->facts.owners.contested ? fsck_contest_find(&c) : 0;
	if (!rc)
		rc = fsck_contest_sort(&c);
	return rc ? rc : resolve(&c);
}

int fsck_check_contested(struct fsck *f)
{
	int rc = fsck_find_root(f);

	if (rc || f->round.again || f->ses.stop)
		return rc;
	if ((f->facts.owners.contested || f->facts.misplaced.n) &&
	    (!may_share(f) || f->opts.unshare_blocks)) {
		rc = find_and_resolve(f);
		/* Names in the skipped directory blocks are unknown: check nothing by names. */
		f->round.again = f->round.again || f->facts.dirs_cut;
		if (rc || f->round.again)
			return rc;
	}
	/* Any further repair might overwrite the contents of a file that claims group metadata. */
	if (fsck_metadata_is_shared(f))
		fsck_report_only(f);
	return 0;
}
