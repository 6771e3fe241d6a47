// SPDX-License-Identifier: MIT
/* Quota usage per user, group and project, added up while inodes are checked. */
#include "config.h"

#include <stdlib.h>

#include "facts/hidden.h"
#include "facts/usage.h"
#include "facts/xattrs.h"

static bool usage_used(const void *slot)
{
	return ((const struct fsck_usage *)slot)->used;
}

static bool usage_same(const void *arg, const void *slot, const void *id)
{
	(void)arg;
	return ((const struct fsck_usage *)slot)->id == *(const uint32_t *)id;
}

static uint64_t usage_hash(const void *arg, const void *slot)
{
	(void)arg;
	return xw_table_number(((const struct fsck_usage *)slot)->id);
}

const struct xw_table_kind fsck_usage_by_id = {sizeof(struct fsck_usage), usage_used, usage_same,
					       usage_hash};

bool fsck_quota_is_on(struct fsck *f, int type)
{
	struct xw_super *sb = &f->img->sb;

	return sb->feature_ro_compat & XW_RO_QUOTA && *fsck_quota_inum(sb, type);
}

/*
 * Is usage of that type summed up? Also if the number of the project quota file may be lost:
 * fsck_settle_hidden() finds the file later.
 */
static bool is_collected(struct fsck *f, int type)
{
	const uint32_t both = XW_RO_QUOTA | XW_RO_PROJECT;

	return fsck_quota_is_on(f, type) ||
	       (type == XW_QUOTA_PROJECT && (f->img->sb.feature_ro_compat & both) == both);
}

/* Is the inode included in its owners' usage? Hidden ones and EA inodes are not. */
static bool counts(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	const struct xw_super *sb = &f->img->sb;
	const struct fsck_inode *facts = fsck_inode(f, ino);

	/* also without the feature, which a later inode may prove to be in use */
	if (!in->links || in->flags & XW_FL_EA_INODE)
		return false;
	return (ino >= sb->first_ino || ino == XW_INO_ROOT) &&
	       !(facts && facts->flags & FSCK_I_SYSTEM) &&
	       !(sb->feature_compat & XW_COMPAT_HAS_JOURNAL && ino == sb->journal_inum);
}

static int add(struct fsck *f, int type, uint32_t id, uint64_t inodes, uint64_t space)
{
	struct xw_table *t = &f->quota->usage[type];
	struct fsck_usage *u;

	if (xw_table_room(t, &fsck_usage_by_id, NULL))
		return xw_fail_nomem(&f->diag, "quota usage");
	u = xw_table_slot(t, &fsck_usage_by_id, NULL, xw_table_number(id), &id);
	t->n += !u->used;
	u->used = true;
	u->id = id;
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
	const uint64_t ea = f->xattrs && f->xattrs->last == ino ? f->xattrs->last_ea : 0;

	if (!(f->img->sb.feature_ro_compat & XW_RO_QUOTA) || !counts(f, ino, in))
		return 0;
	if (!f->quota)
		f->quota = calloc(1, sizeof(*f->quota));
	if (!f->quota)
		return xw_fail_nomem(&f->diag, "quota usage");
	return charge(f, in, 1 + ea, 512 * xw_inode_fs_blocks_512(in, &f->img->sb));
}

int fsck_quota_remove(struct fsck *f, const struct xw_inode *in)
{
	if (!f->quota || !in->links)
		return 0;
	return charge(f, in, -UINT64_C(1), -(512 * xw_inode_fs_blocks_512(in, &f->img->sb)));
}

void fsck_quota_free(struct fsck *f)
{
	for (int type = 0; f->quota && type < XW_QUOTA_TYPES; type++)
		xw_table_free(&f->quota->usage[type]);
	free(f->quota);
	f->quota = NULL;
}
