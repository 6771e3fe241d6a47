// SPDX-License-Identifier: MIT
/* Checks inodes to which only the superblock refers; see facts/hidden.h. */
#include "config.h"

#include "base/auto.h"
#include "disk/quota.h"
#include "read/map.h"

#include "facts/hidden.h"
#include "phases/super.h"

static const char *const type_names[] = {"user", "group", "project"};

int fsck_check_orphan_journal(struct fsck *f)
{
	struct xw_super *sb = &f->ses.img->sb;
	const xw_ino ino = sb->orphan_file_inum;
	struct xw_inode in;
	int rc;

	if (!(sb->feature_compat & XW_COMPAT_ORPHAN_FILE) ||
	    sb->feature_compat & XW_COMPAT_HAS_JOURNAL || f->start.journal_lost ||
	    sb->feature_ro_compat & XW_RO_ORPHAN_PRESENT ||
	    !FSCK_FOUND(f, ORPHAN_NO_JOURNAL, .ino = ino))
		return 0;
	rc = fsck_inode_read(f, ino, &in, NULL);
	if (!rc && fsck_is_hidden_file(f, ino, &in))
		rc = fsck_inode_clear(f, ino);
	sb->feature_compat &= ~XW_COMPAT_ORPHAN_FILE;
	sb->orphan_file_inum = 0;
	return rc ? rc : fsck_super_renew(f);
}

/* ---- after all names were read ---- */

/* May it be a hidden file: a regular file without a name? */
static bool is_unnamed(const struct fsck_inode *in)
{
	return in && in->flags & FSCK_I_USED && in->ftype == XW_FT_REG && !in->names &&
	       !(in->flags & (FSCK_I_SYSTEM | FSCK_I_EA | FSCK_I_ORPHAN));
}

/* Change the facts about an inode that was checked as an ordinary file: it needs no name. */
static int hide(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	int rc = 0;

	fsck_inode(f, ino)->flags |= FSCK_I_SYSTEM;
	if (!xw_map_begin(f->ses.img, ino, in, 0, &it))
		while (!rc && xw_map_next(&it, &run) > 0)
			rc = fsck_reassign(f, FSCK_O_SYSTEM, run.pblk, run.len);
	if (rc)
		return rc;
	xw_diag_clear(&f->ses.diag);
	return fsck_quota_remove(f, in);
}

static int set_number(struct fsck *f, int type, xw_ino ino)
{
	*fsck_quota_inum(&f->ses.img->sb, type) = ino;
	return fsck_super_renew(f);
}

/* Clear a number that has no meaning without the feature. A quota file left over is deleted. */
static int clear_unused(struct fsck *f, int type)
{
	const xw_ino ino = *fsck_quota_inum(&f->ses.img->sb, type);
	struct xw_inode in;
	int rc;

	if (ino >= f->ses.img->sb.first_ino && is_unnamed(fsck_inode(f, ino))) {
		rc = fsck_inode_read(f, ino, &in, NULL);
		if (!rc && fsck_has_quota(f, ino, &in, type))
			rc = FSCK_FOUND(f, QUOTA_STRAY, .ino = ino) ? fsck_inode_clear(f, ino)
								    : hide(f, ino, &in);
		if (rc)
			return rc;
	}
	if (!FSCK_FOUND(f, SUPER_QUOTA, .ino = ino, .name = type_names[type]))
		return 0;
	return set_number(f, type, 0);
}

/* Find a file without a name that begins like a project quota file; 0: none. */
static int find_project_quota(struct fsck *f, xw_ino *out, struct xw_inode *in)
{
	const uint32_t per_group = f->ses.img->sb.inodes_per_group;

	*out = 0;
	for (uint64_t g = 0; f->facts.groups && g < f->ses.img->groups; g++)
		for (uint32_t i = 0; f->facts.groups[g] && i < per_group; i++) {
			const xw_ino ino = (xw_ino)(g * per_group + i + 1);
			int rc;

			if (!fsck_is_user_inode(&f->ses.img->sb, ino) ||
			    !is_unnamed(&f->facts.groups[g][i]))
				continue;
			rc = fsck_inode_read(f, ino, in, NULL);
			if (rc)
				return rc;
			if (fsck_has_quota(f, ino, in, XW_QUOTA_PROJECT)) {
				*out = ino;
				return 0;
			}
		}
	return 0;
}

static int restore_project_quota(struct fsck *f)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const xw_ino ino = sb->prj_quota_inum;
	const struct fsck_inode *facts = fsck_inode(f, ino);
	const bool hidden = fsck_is_user_inode(sb, ino) && ino != sb->orphan_file_inum && facts &&
			    facts->flags & FSCK_I_SYSTEM;
	struct xw_inode in;
	xw_ino lost = 0;
	int rc = 0;

	if (hidden || (!ino && !(sb->feature_ro_compat & XW_RO_PROJECT)))
		return 0;
	if (sb->feature_ro_compat & XW_RO_PROJECT)
		rc = find_project_quota(f, &lost, &in);
	if (rc)
		return rc;
	if (lost) {
		if (FSCK_FOUND(f, QUOTA_LOST, .ino = lost, .num = ino))
			rc = set_number(f, XW_QUOTA_PROJECT, lost);
		return rc ? rc : hide(f, lost, &in);
	}
	/* Nothing else refers to the inode, so it is a damaged quota file. */
	if (ino != sb->journal_inum && is_unnamed(facts)) {
		rc = fsck_inode_read(f, ino, &in, NULL);
		return rc ? rc : hide(f, ino, &in);
	}
	if (!ino || !FSCK_FOUND(f, QUOTA_INUM, .ino = ino, .num = XW_QUOTA_PROJECT))
		return 0;
	return set_number(f, XW_QUOTA_PROJECT, 0);
}

static int repair_orphan_file(struct fsck *f)
{
	const xw_ino ino = f->ses.img->sb.orphan_file_inum;
	struct xw_inode in;
	bool is;
	int rc = fsck_judge_orphan_file(f, is_unnamed(fsck_inode(f, ino)), &is);

	if (rc || !is)
		return rc;
	rc = fsck_inode_read(f, ino, &in, NULL);
	return rc ? rc : hide(f, ino, &in);
}

int fsck_repair_hidden(struct fsck *f)
{
	static const xw_ino usual[] = {XW_INO_USR_QUOTA, XW_INO_GRP_QUOTA, 0};
	struct xw_super *sb = &f->ses.img->sb;
	int rc = 0;

	if (sb->feature_compat & XW_COMPAT_ORPHAN_FILE)
		rc = repair_orphan_file(f);
	if (rc || f->ses.stop)
		return rc;
	if (sb->feature_ro_compat & XW_RO_QUOTA)
		return restore_project_quota(f);
	for (int type = 0; type < XW_QUOTA_TYPES && !rc && !f->ses.stop; type++)
		if (*fsck_quota_inum(sb, type) != usual[type] && *fsck_quota_inum(sb, type))
			rc = clear_unused(f, type);
	return rc;
}
