// SPDX-License-Identifier: MIT
/* Quota usage per user, group and project, added up while inodes are checked. */
#include "config.h"

#include <stdlib.h>

#include "facts/hidden.h"
#include "facts/usage.h"
#include "facts/xattrs.h"

const struct xw_table_kind fsck_usage_by_id = XW_TABLE_BY_U64(struct fsck_usage);

struct fsck_usage *fsck_usage_get(const struct xw_table *usage, uint32_t id)
{
	const uint64_t key = fsck_usage_key(id);

	return xw_table_get(usage, &fsck_usage_by_id, NULL, xw_table_number(usage, key), &key);
}

bool fsck_quota_is_on(struct fsck *f, int type)
{
	struct xw_super *sb = &f->ses.img->sb;

	return sb->feature_ro_compat & XW_RO_QUOTA && *fsck_quota_inum(sb, type);
}

/*
 * Is usage of that type summed up? Also if the number of the project quota file may be lost:
 * fsck_repair_hidden() finds the file later.
 */
static bool is_collected(struct fsck *f, int type)
{
	const uint32_t both = XW_RO_QUOTA | XW_RO_PROJECT;

	return fsck_quota_is_on(f, type) ||
	       (type == XW_QUOTA_PROJECT && (f->ses.img->sb.feature_ro_compat & both) == both);
}

/* Is the inode included in its owners' usage? Hidden inodes and EA inodes are not. */
static bool counts(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const struct fsck_inode *facts = fsck_inode(f, ino);

	/* Tested without the feature, too: a later inode may prove that the feature is in use. */
	if (!in->links || in->flags & XW_FL_EA_INODE)
		return false;
	return (ino >= sb->first_ino || ino == XW_INO_ROOT) &&
	       !(facts && facts->flags & FSCK_I_SYSTEM) &&
	       !(sb->feature_compat & XW_COMPAT_HAS_JOURNAL && ino == sb->journal_inum);
}

static int add(struct fsck *f, int type, uint32_t id, uint64_t inodes, uint64_t space)
{
	struct xw_table *t = &f->facts.quota->usage[type];
	const uint64_t key = fsck_usage_key(id);
	struct fsck_usage *u;

	if (xw_table_room(t, &fsck_usage_by_id, NULL))
		return xw_fail_nomem(&f->ses.diag, "quota usage");
	u = xw_table_slot(t, &fsck_usage_by_id, NULL, xw_table_number(t, key), &key);
	t->n += !u->key;
	u->key = key;
	u->inodes += inodes;
	u->space += space;
	return 0;
}

/* Add to the usage of the inode's owners. Negative numbers rely on unsigned wraparound. */
static int charge(struct fsck *f, const struct xw_inode *in, uint64_t inodes, uint64_t space)
{
	const uint32_t id[XW_QUOTA_TYPES] = {
		[XW_QUOTA_USER] = in->uid,
		[XW_QUOTA_GROUP] = in->gid,
		[XW_QUOTA_PROJECT] = in->projid,
	};
	int rc = 0;

	for (int type = 0; type < XW_QUOTA_TYPES && !rc; type++)
		if (is_collected(f, type))
			rc = add(f, type, id[type], inodes, space);
	return rc;
}

int fsck_quota_add(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	const uint64_t ea =
		f->facts.xattrs && f->facts.xattrs->last == ino ? f->facts.xattrs->last_ea : 0;

	if (!(f->ses.img->sb.feature_ro_compat & XW_RO_QUOTA) || !counts(f, ino, in))
		return 0;
	if (!f->facts.quota)
		f->facts.quota = calloc(1, sizeof(*f->facts.quota));
	if (!f->facts.quota)
		return xw_fail_nomem(&f->ses.diag, "quota usage");
	return charge(f, in, 1 + ea, 512 * xw_inode_fs_blocks_512(in, &f->ses.img->sb));
}

int fsck_quota_remove(struct fsck *f, const struct xw_inode *in)
{
	if (!f->facts.quota || !in->links)
		return 0;
	return charge(f, in, -UINT64_C(1), -(512 * xw_inode_fs_blocks_512(in, &f->ses.img->sb)));
}

void fsck_quota_free(struct fsck *f)
{
	for (int type = 0; f->facts.quota && type < XW_QUOTA_TYPES; type++)
		xw_table_free(&f->facts.quota->usage[type]);
	free(f->facts.quota);
	f->facts.quota = NULL;
}
