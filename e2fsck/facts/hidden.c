// SPDX-License-Identifier: MIT
/* Identifies inodes to which only the superblock refers, by number and contents; see hidden.h. */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "facts/hidden.h"
#include "facts/orphan_blocks.h"

uint32_t *fsck_quota_inum(struct xw_super *sb, int type)
{
	return type == XW_QUOTA_USER    ? &sb->usr_quota_inum
	       : type == XW_QUOTA_GROUP ? &sb->grp_quota_inum
					: &sb->prj_quota_inum;
}

bool fsck_is_user_inode(const struct xw_super *sb, xw_ino ino)
{
	return ino >= sb->first_ino && ino <= sb->inodes_count;
}

bool fsck_is_hidden(const struct xw_super *sb, xw_ino ino)
{
	if (!fsck_is_user_inode(sb, ino))
		return false;
	return (sb->feature_ro_compat & XW_RO_QUOTA && ino == sb->prj_quota_inum) ||
	       (sb->feature_compat & XW_COMPAT_ORPHAN_FILE && ino == sb->orphan_file_inum) ||
	       (sb->feature_compat & XW_COMPAT_HAS_JOURNAL && ino == sb->journal_inum);
}

/*
 * Read the first block of a file, whatever its mode, and even if its extent is unwritten. False:
 * there is no readable block.
 */
static bool first_block(struct fsck *f, xw_ino ino, const struct xw_inode *in, uint8_t *buf)
{
	auto_quiet quiet = fsck_quiet(&f->ses.img->diag);
	struct xw_map_run run = {0};
	struct xw_inode file = *in;
	bool have;

	if (in->flags & XW_FL_INLINE_DATA)
		return false;
	file.mode = XW_S_IFREG;
	have = !xw_map_lookup(f->ses.img, ino, &file, 0, &run) && run.len &&
	       !fsck_read(f, run.pblk, 1, buf);
	xw_diag_clear(&f->ses.diag);
	return have;
}

/* Does the block begin like a quota file of that type? All other contents can be recomputed. */
bool fsck_has_quota(struct fsck *f, xw_ino ino, const struct xw_inode *in, int type)
{
	auto_free uint8_t *buf = malloc(f->ses.img->block_size);

	return buf && first_block(f, ino, in, buf) &&
	       xw_quota_is_header(buf, (enum xw_quota_type)type);
}

static bool has_orphans(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	struct fsck_orphan_file o;
	const bool is = !fsck_orphan_file_read(f, ino, in, &o) && fsck_orphan_file_is(&o);

	xw_vec_free(&o.runs);
	return is;
}

bool fsck_is_hidden_file(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	const struct xw_super *sb = &f->ses.img->sb;

	if (!fsck_is_hidden(sb, ino))
		return false;
	return (ino == sb->prj_quota_inum && fsck_has_quota(f, ino, in, XW_QUOTA_PROJECT)) ||
	       (ino == sb->orphan_file_inum && has_orphans(f, ino, in));
}

bool fsck_is_quota_file(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	struct xw_super *sb = &f->ses.img->sb;

	if (!(sb->feature_ro_compat & XW_RO_QUOTA))
		return false;
	for (int type = 0; type < XW_QUOTA_TYPES; type++)
		if (ino == *fsck_quota_inum(sb, type) &&
		    (type != XW_QUOTA_PROJECT || fsck_is_user_inode(sb, ino)))
			return fsck_has_quota(f, ino, in, type);
	return false;
}
