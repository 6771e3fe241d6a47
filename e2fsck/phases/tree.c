// SPDX-License-Identifier: MIT
/*
 * Checks the directory tree: each directory must be reachable from the root through its parents,
 * and its ".." must refer to the directory with its name.
 *
 * From each directory, parents are followed upwards to one that is known to be attached. If the
 * chain ends before the root, the directory at its top is unconnected. If the chain returns to
 * itself, it is a loop, which is cut by deleting the directory entry that closes it. Unconnected
 * directories are reconnected to lost+found.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "phases/dirs.h"

static uint32_t index_of(const struct fsck *f, const struct fsck_dir *d)
{
	return (uint32_t)(d - f->facts.dirs.v);
}

/* Delete the directory entry that closes the loop. */
static int cut(struct fsck *f, struct fsck_dir *d)
{
	struct fsck_dir *parent = fsck_dir(f, d->parent);
	struct fsck_inode *in = fsck_inode(f, d->ino);
	const int rc = fsck_dir_clear_names(f, d->parent, d->ino, NULL);

	if (parent)
		parent->subdirs -= parent->subdirs != 0;
	if (in && in->names)
		in->names--;
	d->parent = 0;
	return rc;
}

/*
 * Walk upwards from directory i. marks[] has for each directory the last walk that passed it: the
 * index where the walk began, plus 1.
 */
static int attach(struct fsck *f, uint32_t i, uint32_t *marks, struct fsck_lost *lost)
{
	struct fsck_dir *top = &f->facts.dirs.v[i], *up;

	while (!top->attached && top->parent && marks[index_of(f, top)] != i + 1) {
		marks[index_of(f, top)] = i + 1;
		up = fsck_dir(f, top->parent);
		if (!up)
			break;
		top = up;
	}
	if (!top->attached && xw_vec_push(&lost->inos, top->ino))
		return xw_fail_nomem(&f->ses.diag, "unconnected directories");
	top->attached = true; /* it will be connected to lost+found */
	for (struct fsck_dir *d = &f->facts.dirs.v[i]; d && !d->attached;
	     d = fsck_dir(f, d->parent))
		d->attached = true;
	return 0;
}

/* Ask about each unconnected directory, and keep those in the list that are to be reconnected. */
static int choose(struct fsck *f, struct fsck_lost *lost)
{
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < lost->inos.n && !rc; i++) {
		struct fsck_dir *d = fsck_dir(f, lost->inos.v[i]);

		if (!FSCK_FOUND(f, DIR_UNCONNECTED, .ino = d->ino, .dir = d->dotdot) ||
		    !f->facts.lost_found)
			continue;
		if (d->parent)
			rc = cut(f, d);
		lost->inos.v[n++] = d->ino;
	}
	lost->inos.n = n;
	return rc;
}

static int check_dotdot(struct fsck *f, struct fsck_dir *d)
{
	if (!d->parent || d->dotdot == d->parent)
		return 0;
	if (!FSCK_FOUND(f, DIR_DOTDOT, .dir = d->ino, .num = d->dotdot, .num2 = d->parent))
		return 0;
	return fsck_dir_set_parent(f, d, d->parent);
}

/* Correct ".." of lost+found first: a new name would be put into an unused entry in its place. */
static int prepare_lost_found(struct fsck *f)
{
	struct fsck_dir *d;
	int rc = fsck_lost_found(f);

	d = rc || !f->facts.lost_found ? NULL : fsck_dir(f, f->facts.lost_found);
	return d ? check_dotdot(f, d) : rc;
}

static int reconnect(struct fsck *f, struct fsck_lost *lost)
{
	int rc = prepare_lost_found(f);

	if (!rc)
		rc = choose(f, lost);
	/* Change blocks in place before an update is opened. */
	for (size_t i = 0; i < lost->inos.n && !rc; i++)
		rc = fsck_dir_set_parent(f, fsck_dir(f, lost->inos.v[i]), f->facts.lost_found);
	return rc ? rc : fsck_reconnect(f, lost);
}

/*
 * May a missing /lost+found be created? As in e2fsck(8) a repair creates it before it is needed,
 * since space may be short then. With -n its absence is not reported.
 */
static bool may_create_lost_found(const struct fsck *f)
{
	const struct xw_super *sb = &f->ses.img->sb;

	return !f->facts.lost_found && f->opts.mode != FSCK_NO && !f->ses.stop &&
	       sb->free_blocks_count && sb->free_inodes_count &&
	       !(sb->feature_ro_compat & XW_RO_SHARED_BLOCKS);
}

int fsck_check_tree(struct fsck *f)
{
	struct fsck_dir *root = f->facts.names_known ? fsck_dir(f, XW_INO_ROOT) : NULL;
	auto_free uint32_t *marks = NULL;
	struct fsck_lost lost = {0};
	int rc;

	if (!root)
		return 0;
	rc = fsck_lost_found_check(f);
	if (!rc && may_create_lost_found(f))
		rc = fsck_lost_found(f);
	if (rc)
		return rc;
	marks = calloc(f->facts.dirs.n + 1, sizeof(*marks));
	if (!marks)
		return xw_fail_nomem(&f->ses.diag, "directories");
	root = fsck_dir(f, XW_INO_ROOT);
	root->attached = true;
	root->parent = XW_INO_ROOT;
	for (uint32_t i = 0; i < f->facts.dirs.n && !rc && !f->ses.stop; i++)
		rc = attach(f, i, marks, &lost);
	if (!rc && lost.inos.n && !f->ses.stop)
		rc = reconnect(f, &lost);
	for (uint32_t i = 0; i < f->facts.dirs.n && !rc && !f->ses.stop; i++)
		rc = check_dotdot(f, &f->facts.dirs.v[i]);
	xw_vec_free(&lost.inos);
	return rc;
}
