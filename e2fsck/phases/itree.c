// SPDX-License-Identifier: MIT
/*
 * Checks itrees against the rules of itree(5), with the checker of lib/dir.
 *
 * While blocks are claimed each tree is walked. Repairs that affect a single node are made in
 * place; a tree that needs more is dropped at once, with flag, slot and blocks. When the entries of
 * the directories have been read, trees with other entries are dropped as well, and so are the
 * trees of directories that a repair has changed (rule 16). Dropped trees are rebuilt from the
 * checked directory at the end of the round.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "dir/itree_image.h"
#include "phases/dirs.h"
#include "read/map.h"
#include "edit/dir.h"
#include "edit/edit.h"

struct check {
	struct fsck *f;
	struct fsck_dir *d;
	struct xw_inode in;
	XW_VEC(xw_blk) nodes; /* claimed for this tree */
	bool rebuild, clear, rehash, blocks; /* accepted repairs */
	uint64_t held; /* with `blocks`: the correct number of blocks */
	uint8_t raw[]; /* inode_size bytes */
};

/* ---- callbacks of the checker ---- */

static int read_node(void *arg, xw_blk blk, void *buf)
{
	const struct check *c = arg;
	const int rc = fsck_read(c->f, blk, 1, buf);

	if (rc)
		xw_diag_clear(&c->f->ses.diag);
	return rc;
}

static int write_node(void *arg, xw_blk blk, const void *buf)
{
	const struct check *c = arg;

	return fsck_write(c->f, FSCK_O_ITREE, blk, buf);
}

static int claim_node(void *arg, xw_blk blk)
{
	struct check *c = arg;
	int rc;

	if (fsck_is_metadata(c->f, blk, 1))
		return XW_ITREE_CLAIM_META;
	if (fsck_is_claimed(c->f, blk))
		return XW_ITREE_CLAIM_TAKEN;
	rc = fsck_claim(c->f, FSCK_O_ITREE, blk, 1, NULL);
	if (!rc && xw_vec_push(&c->nodes, blk))
		rc = xw_fail_nomem(&c->f->ses.diag, "itree");
	return rc ? rc : XW_ITREE_CLAIM_OK;
}

static enum fsck_id id_of(const struct xw_itree_finding *t)
{
	switch (t->repair) {
	case XW_ITREE_FIX_CSUM:
		return FSCK_ITREE_CSUM;
	case XW_ITREE_FIX_SEPARATOR:
		return FSCK_ITREE_SEPARATOR;
	case XW_ITREE_FIX_QUARTILE:
		return FSCK_ITREE_QUARTILE;
	case XW_ITREE_FIX_FLAG:
		return FSCK_ITREE_FLAG;
	case XW_ITREE_FIX_BLOCKS:
		return FSCK_ITREE_BLOCKS;
	case XW_ITREE_REHASH:
		return FSCK_ITREE_FULL;
	default:
		break;
	}
	if (t->rule == 5)
		return FSCK_ITREE_ROOT;
	return t->rule == 8 ? FSCK_ITREE_TAKEN : FSCK_ITREE_NODE;
}

static int report(void *arg, const struct xw_itree_finding *t)
{
	struct check *c = arg;
	const bool yes = fsck_found(c->f, &(struct fsck_about){.id = id_of(t),
							       .ino = t->dir,
							       .blk = t->blk,
							       .num = t->found,
							       .num2 = t->wanted,
							       .name = t->what,
							       .name_len = strlen(t->what)});

	if (!yes)
		return 0;
	c->rebuild |= t->repair == XW_ITREE_REBUILD;
	c->rehash |= t->repair == XW_ITREE_REHASH;
	c->clear |= t->repair == XW_ITREE_FIX_FLAG;
	c->blocks |= t->repair == XW_ITREE_FIX_BLOCKS;
	c->held = t->repair == XW_ITREE_FIX_BLOCKS ? t->wanted : c->held;
	return 1;
}

/* ---- dropping ---- */

static int clear_slot(struct check *c)
{
	struct fsck *f = c->f;
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *block = malloc(bs);
	struct xw_map_run run = {0};

	if (!block)
		return xw_fail_nomem(&f->ses.diag, "directory");
	if (!(c->in.flags & XW_FL_INDEX) || c->in.flags & XW_FL_INLINE_DATA ||
	    xw_map_lookup(f->ses.img, c->d->ino, &c->in, 0, &run) || !run.len || run.unwritten ||
	    fsck_read(f, run.pblk, 1, block) || !fsck_dir_is_root(block, bs)) {
		xw_diag_clear(&f->ses.diag);
		return 0;
	}
	/* Checksums of dx_root do not cover the slot while the index does not use it. */
	xw_itree_slot_set(block, bs, xw_super_has_csum(&f->ses.img->sb), 0);
	return fsck_try_write(f, FSCK_O_DIR, run.pblk, block);
}

/* Clear flag and slot, and update i_blocks. The nodes stay claimed. */
static int detach(struct check *c, uint64_t mapped)
{
	struct fsck *f = c->f;
	int rc = c->rehash ? 0 : clear_slot(c);

	if (rc)
		return rc;
	c->in.flags &= ~(XW_FL_ITREE | XW_FL_HUGE_FILE);
	if (mapped != UINT64_MAX)
		(void)xw_inode_set_blocks(&c->in, &f->ses.img->sb, mapped);
	c->d->itree = false;
	return fsck_inode_write(f, c->d->ino, &c->in, c->raw);
}

/* Drop the tree and free its blocks. again: rebuild it later. */
static int drop(struct check *c, uint64_t mapped, bool again)
{
	const int rc = detach(c, mapped);

	if (rc)
		return rc;
	for (size_t i = 0; i < c->nodes.n; i++)
		fsck_unclaim(c->f, FSCK_O_ITREE, c->nodes.v[i], 1);
	c->nodes.n = 0;
	c->d->rebuild |= c->rehash;
	return again ? fsck_push_itree(c->f, c->d->ino) : 0;
}

static int keep_tree(struct check *c, const struct xw_itree_result *res)
{
	struct fsck *f = c->f;
	int rc = 0;

	if (c->blocks) {
		c->in.flags &= ~XW_FL_HUGE_FILE;
		rc = xw_inode_set_blocks(&c->in, &f->ses.img->sb, c->held);
		if (!rc)
			rc = fsck_inode_write(f, c->d->ino, &c->in, c->raw);
	}
	f->facts.counts.itrees++;
	if (!rc && res->complete &&
	    xw_vec_push(&f->facts.itrees,
			((struct fsck_itree){.ino = c->d->ino, .leaves = res->sum})))
		rc = xw_fail_nomem(&f->ses.diag, "itrees");
	return rc;
}

static int check_tree(struct check *c)
{
	struct fsck *f = c->f;
	auto_free uint8_t *block0 = NULL;
	struct xw_itree_result res;
	struct xw_itree_env env;
	struct xw_itree_dir dir;
	int rc = fsck_inode_read(f, c->d->ino, &c->in, c->raw);

	if (!rc)
		rc = xw_itree_dir_read(f->ses.img, c->d->ino, &c->in, c->raw, &dir, &block0);
	if (rc)
		return rc;
	xw_diag_clear(&f->ses.diag);
	xw_itree_env_init(f->ses.img, &env);
	env.arg = c;
	env.read = read_node;
	env.write = write_node;
	env.claim = claim_node;
	env.report = report;
	rc = xw_itree_check(&env, &dir, &res);
	if (rc)
		return rc == XW_ERR_NOMEM ? xw_fail_nomem(&f->ses.diag, "itree") : rc;
	if (c->rebuild || c->rehash || c->clear)
		return drop(c, dir.mapped, !c->clear || (env.feature && c->in.flags & XW_FL_INDEX));
	if (f->opts.itree != FSCK_ITREE_DROP || f->opts.mode == FSCK_NO)
		return keep_tree(c, &res);
	/* This round counts the blocks as used. That they are free in the next one is no error. */
	f->ses.freed_in = f->round.number + 1;
	return detach(c, dir.mapped);
}

static struct check *check_new(struct fsck *f, struct fsck_dir *d)
{
	struct check *c = calloc(1, sizeof(*c) + f->ses.img->inode_size);

	if (c) {
		c->f = f;
		c->d = d;
	}
	return c;
}

static void check_free(struct check **c)
{
	if (*c)
		xw_vec_free(&(*c)->nodes);
	free(*c);
}

int fsck_claim_itrees(struct fsck *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->facts.dirs.n && !rc && !f->ses.stop; i++) {
		auto_end(check_free) struct check *c = NULL;

		if (!f->facts.dirs.v[i].itree)
			continue;
		c = check_new(f, &f->facts.dirs.v[i]);
		rc = c ? check_tree(c) : xw_fail_nomem(&f->ses.diag, "itree");
	}
	if (rc || f->ses.stop || f->opts.itree != FSCK_ITREE_DROP || f->opts.mode == FSCK_NO ||
	    !(f->ses.img->sb.feature_ro_compat & XW_RO_ITREE))
		return rc;
	f->ses.img->sb.feature_ro_compat &= ~XW_RO_ITREE;
	return fsck_super_write(f);
}

/* ---- comparison with the directory ---- */

static int drop_stale(struct fsck *f, struct fsck_dir *d)
{
	auto_end(check_free) struct check *c = check_new(f, d);
	auto_free uint8_t *block0 = NULL;
	struct xw_itree_dir dir;
	int rc;

	if (!c)
		return xw_fail_nomem(&f->ses.diag, "itree");
	rc = fsck_inode_read(f, d->ino, &c->in, c->raw);
	if (!rc)
		rc = xw_itree_dir_read(f->ses.img, d->ino, &c->in, c->raw, &dir, &block0);
	return rc ? rc : drop(c, dir.mapped, true);
}

int fsck_itree_compare(struct fsck *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->facts.dirs.n && !rc && !f->ses.stop; i++) {
		struct fsck_dir *d = &f->facts.dirs.v[i];
		const struct fsck_itree *t = d->itree ? fsck_itree(f, d->ino) : NULL;

		if (!d->itree)
			continue;
		if (d->itree_stale || d->rebuild)
			rc = drop_stale(f, d);
		else if (t && !xw_itree_sum_equal(&t->entries, &t->leaves) &&
			 FSCK_FOUND(f, ITREE_ENTRIES, .ino = d->ino, .num = t->leaves.n,
				    .num2 = t->entries.n))
			rc = drop_stale(f, d);
	}
	return rc;
}

/* ---- building ---- */

static int build_all(struct fsck *f)
{
	struct xw_update *u;
	uint64_t built;
	int rc = fsck_update(f, &u);

	if (!rc)
		rc = xw_update_itree_build(u, &built);
	if (!rc)
		rc = fsck_update_keep(f);
	fsck_update_drop(f);
	return rc;
}

int fsck_itree_build(struct fsck *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->facts.dirs.n && !rc && !f->ses.stop; i++) {
		struct fsck_dir *d = &f->facts.dirs.v[i];
		struct xw_update *u;

		if (d->itree && d->itree_stale) /* changed by the phase `tree` */
			rc = drop_stale(f, d);
		if (rc || f->opts.itree == FSCK_ITREE_DROP || !fsck_pop_itree(f, d->ino))
			continue;
		rc = fsck_update(f, &u);
		if (!rc)
			rc = xw_update_build_itree(u, d->ino);
		if (!rc)
			rc = fsck_update_step(f);
		if (!rc)
			continue;
		fsck_update_drop(f);
		if (rc != XW_ERR_LIMIT && rc != XW_ERR_NOSPC && rc != XW_ERR_UNSUPPORTED &&
		    rc != XW_ERR_CORRUPT)
			return rc;
		xw_diag_clear(&f->ses.diag);
		xw_log(&f->ses.diag, XW_LOG_WARN,
		       "directory inode %u: cannot rebuild the itree; the directory has no itree "
		       "now",
		       d->ino);
		rc = 0;
	}
	fsck_update_drop(f);
	if (!rc && !f->ses.stop && !f->round.number && f->opts.itree == FSCK_ITREE_BUILD &&
	    f->opts.mode != FSCK_NO)
		rc = build_all(f);
	return rc;
}

/* ---- the feature ---- */

/* Does the slot in the directory's first block refer to a root node that names the directory? */
static bool owns_tree(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *block = malloc(bs);
	struct xw_map_run run = {0};
	struct xw_itree_hdr h;
	xw_blk root;
	bool own;

	if (!block || f->ses.img->sb.feature_ro_compat & XW_RO_BIGALLOC ||
	    in->flags & XW_FL_INLINE_DATA || in->size <= bs)
		return false;
	own = !xw_map_lookup(f->ses.img, ino, in, 0, &run) && run.len && !run.unwritten &&
	      !fsck_read(f, run.pblk, 1, block) && fsck_dir_is_root(block, bs) &&
	      !xw_itree_slot_get(block, bs, xw_super_has_csum(&f->ses.img->sb), &root) &&
	      xw_image_has_blocks(f->ses.img, root, 1) && !fsck_read(f, root, 1, block) &&
	      !xw_itree_hdr_decode(block, bs, &h, &(struct xw_itree_flaw){0}) &&
	      !xw_itree_hdr_belongs(&h, ino, in->generation, root, &(struct xw_itree_flaw){0});
	xw_diag_clear(&f->ses.diag);
	return own;
}

bool fsck_itree_feature(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	if (f->opts.itree == FSCK_ITREE_DROP || !(in->flags & XW_FL_INDEX) ||
	    !owns_tree(f, ino, in) || !FSCK_FOUND(f, ITREE_FEATURE, .ino = ino))
		return false;
	f->ses.img->sb.feature_ro_compat |= XW_RO_ITREE;
	return !fsck_super_write(f);
}

bool fsck_itree_flags(struct fsck *f, xw_ino ino, struct xw_inode *in)
{
	const uint32_t both = XW_FL_INDEX | XW_FL_ITREE;

	if (!(f->ses.img->sb.feature_ro_compat & XW_RO_ITREE) || (in->flags & both) == both ||
	    !owns_tree(f, ino, in) ||
	    !FSCK_FOUND(f, ITREE_FLAG_LOST, .ino = ino, .num = both & ~in->flags))
		return false;
	in->flags |= both;
	return true;
}
