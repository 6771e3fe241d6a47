// SPDX-License-Identifier: MIT
/*
 * Blocks claimed by more than one owner.
 *
 * The owner map tells which clusters these are; a second pass over the maps finds the owners. Group
 * metadata, the MMP block and xattr blocks keep their places. Inodes get copies of their shared
 * blocks, one after the other, until the last owner is left alone with the original; inodes of the
 * filesystem itself come last. An inode for which there is no space is cleared if the user agrees.
 */
#include "config.h"

#include <stdlib.h>

#include "phases/contested.h"
#include "phases/inodes.h"
#include "phases/super.h"

/* With RO_SHARED_BLOCKS sharing is legal, unless -E unshare_blocks is given. */
static bool may_share(const struct fsck *f)
{
	return f->img->sb.feature_ro_compat & FSCK_RO_SHARED_BLOCKS;
}

/*
 * Give up -E unshare_blocks, because copies need too many clusters: while files may share blocks,
 * no file is lost for lack of space. This is reported in later rounds, too.
 */
static void refuse_unshare(struct fsck_contest *c, uint64_t needed, uint64_t free)
{
	struct fsck *f = c->f;
	const uint64_t blocks = needed << c->bits;

	f->opts.unshare_blocks = false;
	(void)FSCK_FOUND(f, UNSHARE_NOSPC, .num = blocks, .num2 = free);
	if (f->round && f->opts.mode != FSCK_NO && !f->opts.all_told)
		xw_log(&f->diag, XW_LOG_WARN,
		       "files go on sharing blocks: copies need at least %llu blocks, and %llu are "
		       "free",
		       (unsigned long long)blocks, (unsigned long long)free);
}

/* There is no space for copies. Such inodes are cleared after all others have theirs. */
static int no_space(struct fsck_contest *c, xw_ino ino, uint64_t shared)
{
	if (may_share(c->f)) {
		refuse_unshare(c, XW_MAX(shared, (c->free >> c->bits) + 1), c->free);
		return 0;
	}
	if (!FSCK_FOUND(c->f, CONTESTED_NOSPC, .ino = ino))
		return 0;
	fsck_contest_drop(c, ino, true);
	return xw_vec_push(&c->doomed, ino) ? xw_fail_nomem(&c->f->diag, "contested blocks") : 0;
}

/* Copy the shared clusters of one inode, in a step of its own. */
static int clone(struct fsck_contest *c, xw_ino ino, uint64_t shared)
{
	struct fsck *f = c->f;
	struct xw_update *u;
	int rc;

	if (shared > c->free >> c->bits)
		return no_space(c, ino, shared);
	rc = fsck_update(f, &u);
	if (!rc) {
		c->free = xw_space_free_blocks(u->space);
		rc = shared > c->free >> c->bits ? XW_ERR_NOSPC : fsck_contest_move(c, u, ino);
	}
	if (!rc)
		rc = fsck_update_step(f);
	if (!rc) {
		fsck_contest_drop(c, ino, false);
		xw_image_forget(f->img);
		return 0;
	}
	fsck_update_drop(f);
	if (rc == XW_ERR_NOMEM || rc == XW_ERR_IO || rc == XW_ERR_INTERNAL)
		return rc;
	xw_diag_clear(&f->diag);
	/* a map with other damage: the next round may succeed */
	return rc == XW_ERR_NOSPC ? no_space(c, ino, shared) : 0;
}

/* Is there space for copies of everything shared? Also returns the blocks of both. */
static bool has_space(const struct fsck_contest *c, uint64_t *needed, uint64_t *free)
{
	const struct fsck *f = c->f;
	const uint64_t all = fsck_contest_cluster(c, f->img->sb.blocks_count - 1) + 1;

	*free = all - xw_blockset_count(f->owners.claims, 0, all);
	*needed = 0;
	for (size_t i = 0; i + 1 < c->firsts.n; i++)
		if (c->counts.v[i] > 1)
			*needed += (c->counts.v[i] - 1) * (c->firsts.v[i + 1] - c->firsts.v[i]);
	return *needed <= *free;
}

/* Checked before the first file is changed. */
static bool may_unshare(struct fsck_contest *c)
{
	uint64_t needed, free;

	if (has_space(c, &needed, &free))
		return true;
	refuse_unshare(c, needed, free << c->bits);
	return false;
}

/* Drop the journal rather than a file: a journal can be recreated. */
static int yield_journal(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	const struct xw_super *sb = &f->img->sb;
	const xw_ino ino = sb->feature_compat & XW_COMPAT_HAS_JOURNAL ? sb->journal_inum : 0;
	uint64_t needed, free;

	if (!ino || !fsck_contest_shared_by(c, ino) || has_space(c, &needed, &free) ||
	    !FSCK_FOUND(f, JOURNAL_YIELDS, .ino = ino))
		return 0;
	fsck_contest_drop(c, ino, true);
	c->agreed = true;
	return fsck_drop_journal(f);
}

/* Inodes of the filesystem itself. Checksums in the orphan file include block numbers. */
static bool is_reserved(const struct xw_super *sb, xw_ino ino)
{
	return ino < sb->first_ino ||
	       (sb->feature_compat & XW_COMPAT_ORPHAN_FILE && ino == sb->orphan_file_inum);
}

/*
 * The order in which inodes are moved: directories that map blocks of other inodes come first,
 * because they drop these; reserved inodes come last, so that they keep their blocks.
 */
enum rank { WRONG, USUAL, RESERVED, RANKS };

static int rank_inodes(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	int rc = 0;

	for (size_t i = 0; i < c->inos.n && !rc; i++) {
		const xw_ino ino = c->inos.v[i];
		const struct fsck_inode *facts = fsck_inode(f, ino);
		uint8_t rank = is_reserved(&f->img->sb, ino) ? RESERVED : USUAL;
		bool foreign = false;

		if (facts && facts->ftype == XW_FT_DIR)
			rc = fsck_contest_foreign(c, ino, &foreign);
		if (foreign)
			rank = WRONG;
		if (xw_vec_push(&c->ranks, rank))
			rc = xw_fail_nomem(&f->diag, "contested blocks");
	}
	return rc;
}

static int resolve(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	const bool sharing = may_share(f);
	int rc = 0;

	if (sharing && !may_unshare(c))
		return 0;
	rc = sharing ? 0 : yield_journal(c);
	if (!rc)
		rc = rank_inodes(c);
	for (int rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < c->inos.n && !rc && !f->stop; i++) {
			const xw_ino ino = c->inos.v[i];
			uint64_t n;

			if (c->ranks.v[i] != rank || (sharing && !f->opts.unshare_blocks))
				continue;
			n = fsck_contest_shared_by(c, ino);
			if ((!n && !fsck_contest_is_misplaced(f, ino)) ||
			    (n && !FSCK_FOUND(f, CONTESTED, .ino = ino, .num = n)))
				continue;
			c->agreed = true;
			rc = clone(c, ino, n);
		}
	if (!rc && f->steps.u)
		rc = fsck_update_keep(f);
	fsck_update_drop(f);
	for (size_t i = 0; i < c->doomed.n && !rc; i++)
		rc = fsck_inode_clear(f, c->doomed.v[i]);
	f->again |= c->agreed && f->changed;
	return rc;
}

/*
 * Cloning was declined although a file claims a block of group metadata: any further repair might
 * overwrite the contents of that file.
 */
static void leave_metadata(struct fsck *f)
{
	if (fsck_metadata_is_shared(f))
		fsck_leave(f);
}

int fsck_check_contested(struct fsck *f)
{
	struct fsck_contest c = {.f = f, .base = f->img->sb.first_data_block, .free = UINT64_MAX};
	int rc = fsck_find_root(f);

	if (rc || f->again || f->stop)
		return rc;
	if ((may_share(f) && !f->opts.unshare_blocks) ||
	    (!f->owners.contested && !f->misplaced.n)) {
		leave_metadata(f);
		return 0;
	}
	c.bits = xw_image_cluster_bits(f->img);
	c.copy = malloc((size_t)f->img->block_size << c.bits);
	xw_walk_map_init(&c.walk, f->img->dev, &f->img->sb);
	if (!c.copy)
		rc = xw_fail_nomem(&f->diag, "contested blocks");
	if (!rc && f->owners.contested)
		rc = fsck_contest_find(&c);
	if (!rc)
		rc = fsck_contest_sort(&c);
	if (!rc)
		rc = resolve(&c);
	f->owners.copied = false;
	xw_walk_map_free(&c.walk);
	xw_vec_free(&c.claims);
	xw_vec_free(&c.firsts);
	xw_vec_free(&c.counts);
	xw_vec_free(&c.inos);
	xw_vec_free(&c.ranks);
	xw_vec_free(&c.doomed);
	fsck_contest_saved_free(&c);
	free(c.copy);
	/* Not all directory entries were read then, so an inode without a name is no finding. */
	f->again = f->again || f->dirs_cut;
	if (!rc && !f->again)
		leave_metadata(f);
	return rc;
}
