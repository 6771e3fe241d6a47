// SPDX-License-Identifier: MIT
/* Inodes to which only the superblock refers; see hidden.h. */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/endian.h"
#include "disk/orphan.h"
#include "disk/quota.h"
#include "read/map.h"

#include "facts/hidden.h"

static const char *const type_names[] = {"user", "group", "project"};

uint32_t *fsck_quota_inum(struct xw_super *sb, int type)
{
	return type == XW_QUOTA_USER    ? &sb->usr_quota_inum
	       : type == XW_QUOTA_GROUP ? &sb->grp_quota_inum
					: &sb->prj_quota_inum;
}

static bool may_have(const struct xw_super *sb, xw_ino ino)
{
	return ino >= sb->first_ino && ino <= sb->inodes_count;
}

bool fsck_is_hidden(const struct xw_super *sb, xw_ino ino)
{
	if (!may_have(sb, ino))
		return false;
	return (sb->feature_ro_compat & XW_RO_QUOTA && ino == sb->prj_quota_inum) ||
	       (sb->feature_compat & XW_COMPAT_ORPHAN_FILE && ino == sb->orphan_file_inum) ||
	       (sb->feature_compat & XW_COMPAT_HAS_JOURNAL && ino == sb->journal_inum);
}

/* ---- contents ---- */

/* The first block of a file, whatever its mode says; false: it has none that can be read. */
static bool first_block(struct fsck *f, xw_ino ino, const struct xw_inode *in, uint8_t *buf)
{
	struct xw_diag *const diag = f->img->diag;
	struct xw_map_run run = {0};
	struct xw_inode file = *in;
	bool have;

	if (in->flags & XW_FL_INLINE_DATA)
		return false;
	file.mode = XW_S_IFREG;
	f->img->diag = NULL;
	have = !xw_map_lookup(f->img, ino, &file, 0, &run) && run.len && !run.unwritten &&
	       !fsck_read(f, run.pblk, 1, buf);
	f->img->diag = diag;
	xw_diag_clear(&f->diag);
	return have;
}

/* Does it begin as a quota file of that type? Everything else in it can be computed anew. */
static bool has_quota(struct fsck *f, xw_ino ino, const struct xw_inode *in, int type)
{
	auto_free uint8_t *buf = malloc(f->img->block_size);

	return buf && first_block(f, ino, in, buf) &&
	       xw_quota_is_header(buf, (enum xw_quota_type)type);
}

static bool has_orphans(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	const uint32_t bs = f->img->block_size;
	auto_free uint8_t *buf = malloc(bs);

	return buf && first_block(f, ino, in, buf) && peek32(buf + bs - 8) == XW_ORPHAN_MAGIC;
}

bool fsck_is_hidden_file(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	const struct xw_super *sb = &f->img->sb;

	if (!fsck_is_hidden(sb, ino))
		return false;
	return (ino == sb->prj_quota_inum && has_quota(f, ino, in, XW_QUOTA_PROJECT)) ||
	       (ino == sb->orphan_file_inum && has_orphans(f, ino, in));
}

bool fsck_is_quota_file(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	struct xw_super *sb = &f->img->sb;

	if (!(sb->feature_ro_compat & XW_RO_QUOTA))
		return false;
	for (int type = 0; type < XW_QUOTA_TYPES; type++)
		if (ino == *fsck_quota_inum(sb, type) &&
		    (type != XW_QUOTA_PROJECT || may_have(sb, ino)))
			return has_quota(f, ino, in, type);
	return false;
}

int fsck_check_orphan_journal(struct fsck *f)
{
	struct xw_super *sb = &f->img->sb;
	const xw_ino ino = sb->orphan_file_inum;
	struct xw_inode in;
	int rc;

	if (!(sb->feature_compat & XW_COMPAT_ORPHAN_FILE) ||
	    sb->feature_compat & XW_COMPAT_HAS_JOURNAL || f->journal_lost ||
	    sb->feature_ro_compat & XW_RO_ORPHAN_PRESENT ||
	    !FSCK_FOUND(f, ORPHAN_NO_JOURNAL, .ino = ino))
		return 0;
	rc = fsck_inode_read(f, ino, &in, NULL);
	if (!rc && fsck_is_hidden_file(f, ino, &in))
		rc = fsck_inode_clear(f, ino);
	sb->feature_compat &= ~XW_COMPAT_ORPHAN_FILE;
	sb->orphan_file_inum = 0;
	f->renew_backups = true;
	return rc ? rc : fsck_super_write(f);
}

/* ---- when names are known ---- */

/* Is it an inode without a name, which may be a hidden file? */
static bool is_unnamed(const struct fsck_inode *in)
{
	return in && in->flags & FSCK_I_USED && in->ftype == XW_FT_REG && !in->names &&
	       !(in->flags & (FSCK_I_SYSTEM | FSCK_I_EA | FSCK_I_ORPHAN));
}

/* An inode that was checked as an ordinary file is a hidden one: it needs no name. */
static int hide(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	fsck_inode(f, ino)->flags |= FSCK_I_SYSTEM;
	return fsck_quota_remove(f, in);
}

static int set_number(struct fsck *f, int type, xw_ino ino)
{
	*fsck_quota_inum(&f->img->sb, type) = ino;
	f->renew_backups = true;
	return fsck_super_write(f);
}

/* The feature is missing: the number means nothing. An inode left over from it is deleted. */
static int clear_unused(struct fsck *f, int type)
{
	const xw_ino ino = *fsck_quota_inum(&f->img->sb, type);
	struct xw_inode in;
	int rc;

	if (ino >= f->img->sb.first_ino && is_unnamed(fsck_inode(f, ino))) {
		rc = fsck_inode_read(f, ino, &in, NULL);
		if (!rc && has_quota(f, ino, &in, type))
			rc = FSCK_FOUND(f, QUOTA_STRAY, .ino = ino) ? fsck_inode_clear(f, ino)
								    : hide(f, ino, &in);
		if (rc)
			return rc;
	}
	if (!FSCK_FOUND(f, SUPER_QUOTA, .ino = ino, .name = type_names[type]))
		return 0;
	return set_number(f, type, 0);
}

/* A file without a name that begins as a project quota file; 0: none. */
static int find_project_quota(struct fsck *f, xw_ino *out, struct xw_inode *in)
{
	const uint32_t per_group = f->img->sb.inodes_per_group;

	*out = 0;
	for (uint64_t g = 0; f->groups && g < f->img->groups; g++)
		for (uint32_t i = 0; f->groups[g] && i < per_group; i++) {
			const xw_ino ino = (xw_ino)(g * per_group + i + 1);
			int rc;

			if (!may_have(&f->img->sb, ino) || !is_unnamed(&f->groups[g][i]))
				continue;
			rc = fsck_inode_read(f, ino, in, NULL);
			if (rc)
				return rc;
			if (has_quota(f, ino, in, XW_QUOTA_PROJECT)) {
				*out = ino;
				return 0;
			}
		}
	return 0;
}

static int settle_project_quota(struct fsck *f)
{
	const struct xw_super *sb = &f->img->sb;
	const xw_ino ino = sb->prj_quota_inum;
	const struct fsck_inode *facts = fsck_inode(f, ino);
	const bool hidden = may_have(sb, ino) && ino != sb->orphan_file_inum && facts &&
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
	/* a damaged quota file, since nothing else refers to it */
	if (ino != sb->journal_inum && is_unnamed(facts)) {
		rc = fsck_inode_read(f, ino, &in, NULL);
		return rc ? rc : hide(f, ino, &in);
	}
	if (!ino || !FSCK_FOUND(f, QUOTA_INUM, .ino = ino, .num = XW_QUOTA_PROJECT))
		return 0;
	return set_number(f, XW_QUOTA_PROJECT, 0);
}

int fsck_settle_hidden(struct fsck *f)
{
	static const xw_ino usual[] = {XW_INO_USR_QUOTA, XW_INO_GRP_QUOTA, 0};
	struct xw_super *sb = &f->img->sb;
	int rc = 0;

	if (sb->feature_ro_compat & XW_RO_QUOTA)
		return settle_project_quota(f);
	for (int type = 0; type < XW_QUOTA_TYPES && !rc && !f->stop; type++)
		if (*fsck_quota_inum(sb, type) != usual[type] && *fsck_quota_inum(sb, type))
			rc = clear_unused(f, type);
	return rc;
}
