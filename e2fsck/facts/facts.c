// SPDX-License-Identifier: MIT
/* The facts of a round: inodes by group, directories by number, claimed clusters. */
#include "config.h"

#include <stdlib.h>

#include "base/search.h"
#include "facts/facts.h"

enum { GROUPS_FEW = 64, INODES_FEW = 20000 };

struct fsck_inode *fsck_inode(const struct fsck *f, xw_ino ino)
{
	const uint32_t per_group = f->ses.img->sb.inodes_per_group;
	const uint64_t group = (uint64_t)(ino - 1) / per_group;

	if (!ino || ino > f->ses.img->sb.inodes_count || group >= f->ses.img->groups ||
	    !f->facts.groups || !f->facts.groups[group])
		return NULL;
	return &f->facts.groups[group][(ino - 1) % per_group];
}

int fsck_inode_make(struct fsck *f, xw_ino ino, struct fsck_inode **out)
{
	const uint32_t per_group = f->ses.img->sb.inodes_per_group;
	const uint64_t group = (uint64_t)(ino - 1) / per_group;

	if (!f->facts.groups)
		f->facts.groups = calloc(f->ses.img->groups, sizeof(*f->facts.groups));
	if (!f->facts.groups)
		return xw_fail_nomem(&f->ses.diag, "the inodes");
	if (!f->facts.groups[group])
		f->facts.groups[group] = calloc(per_group, sizeof(**f->facts.groups));
	if (!f->facts.groups[group])
		return xw_fail_nomem(&f->ses.diag, "the inodes of a group");
	*out = &f->facts.groups[group][(ino - 1) % per_group];
	return 0;
}

struct fsck_dir *fsck_dir(const struct fsck *f, xw_ino ino)
{
	const size_t at = XW_LOWER_BOUND(i, f->facts.dirs.n, f->facts.dirs.v[i].ino >= ino);

	return at < f->facts.dirs.n && f->facts.dirs.v[at].ino == ino ? &f->facts.dirs.v[at] : NULL;
}

struct fsck_itree *fsck_itree(const struct fsck *f, xw_ino ino)
{
	const size_t at = XW_LOWER_BOUND(i, f->facts.itrees.n, f->facts.itrees.v[i].ino >= ino);

	return at < f->facts.itrees.n && f->facts.itrees.v[at].ino == ino ? &f->facts.itrees.v[at]
									  : NULL;
}

int fsck_push_itree(struct fsck *f, xw_ino ino)
{
	const uint64_t limit = (uint64_t)f->ses.img->sb.inodes_count + 1;

	return fsck_set_add(&f->ses.trees_wanted, limit, ino, 1, NULL)
		       ? xw_fail_nomem(&f->ses.diag, "itrees")
		       : 0;
}

bool fsck_pop_itree(struct fsck *f, xw_ino ino)
{
	if (!f->ses.trees_wanted || !xw_blockset_has(f->ses.trees_wanted, ino))
		return false;
	xw_blockset_remove(f->ses.trees_wanted, ino, 1);
	return true;
}

unsigned fsck_jobs(const struct fsck *f)
{
	return f->ses.img->groups <= GROUPS_FEW && f->ses.img->sb.inodes_count <= INODES_FEW
		       ? 1
		       : f->opts.jobs;
}
