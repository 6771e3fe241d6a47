// SPDX-License-Identifier: MIT
/*
 * Removes quota files, or creates them from the current usage: first an empty file; then all
 * existing inodes are charged to their owners as if they were new, and the update adds this to the
 * files when it ends.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/auto.h"
#include "disk/quota.h"
#include "tune/tune_internal.h"
#include "update/inode.h"

static uint32_t *quota_inum(struct xw_super *sb, int type)
{
	return type == XW_QUOTA_USER    ? &sb->usr_quota_inum
	       : type == XW_QUOTA_GROUP ? &sb->grp_quota_inum
					: &sb->prj_quota_inum;
}

int xw_tune_quota_off(struct xw_tune_run *t, struct xw_update *u)
{
	int rc = 0;

	for (int type = 0; type < XW_QUOTA_TYPES && !rc; type++) {
		uint32_t *inum = quota_inum(&u->img->sb, type);
		auto_free uint8_t *raw = NULL;
		struct xw_inode in;

		if (!(t->quota_off & 1u << type))
			continue;
		/* a damaged inode number must not cause a user's file to be deleted */
		rc = xw_update_get(u, *inum, &in, &raw);
		if (!rc)
			rc = xw_update_quota_read(u, (enum xw_quota_type)type, *inum, &in, raw,
						  NULL, NULL, NULL);
		if (!rc)
			rc = xw_tune_drop_inode(u, *inum);
		*inum = 0;
		u->quota_types &= ~(1u << type);
	}
	if (!u->quota_types)
		u->img->sb.feature_ro_compat &= ~XW_RO_QUOTA;
	return rc;
}

/* Create an empty file for each new type. */
static int make_quota_files(struct xw_tune_run *t, struct xw_update *u)
{
	struct xw_quota_file files[XW_QUOTA_TYPES] = {0};
	int rc = xw_quota_place(&u->place, files, t->quota_on);

	if (!rc)
		rc = xw_place_check_room(&u->place);
	for (int type = 0; type < XW_QUOTA_TYPES && !rc; type++) {
		struct xw_binode *n = &files[type].node;

		if (!(t->quota_on & 1u << type))
			continue;
		n->ino = type == XW_QUOTA_USER ? XW_INO_USR_QUOTA : XW_INO_GRP_QUOTA;
		if (type == XW_QUOTA_PROJECT)
			rc = xw_tune_alloc_inode(u, &n->ino);
		if (!rc)
			rc = xw_quota_write(&u->place, (enum xw_quota_type)type, &files[type]);
		if (!rc && n->map)
			rc = xw_map_write(&u->place, n);
		if (!rc)
			rc = xw_tune_put_inode(u, n);
		*quota_inum(&u->img->sb, type) = n->ino;
	}
	u->place.items.n = 0; /* which refer to nodes in files[] */
	for (int type = 0; type < XW_QUOTA_TYPES; type++) {
		xw_binode_free_map(&files[type].node);
		free(files[type].entries);
	}
	return rc;
}

static bool is_charged(const struct xw_super *sb, xw_ino ino, const struct xw_inode *in)
{
	if (!in->links || in->flags & XW_FL_EA_INODE)
		return false;
	if (ino < sb->first_ino)
		return ino == XW_INO_ROOT;
	return ino != sb->prj_quota_inum && ino != sb->orphan_file_inum;
}

static int charge(void *arg, xw_ino ino, struct xw_inode *in, const uint8_t *raw)
{
	struct xw_update *u = arg;
	uint64_t ea = 0;
	int rc;

	if (!is_charged(&u->img->sb, ino, in))
		return 0;
	rc = xw_update_count_ea(u, in, raw, &ea);
	return rc ? rc : xw_update_charge(u, in, 1 + (int64_t)ea, (int64_t)xw_update_bytes(u, in));
}

int xw_tune_quota_on(struct xw_tune_run *t, struct xw_update *u)
{
	const unsigned old = u->quota_types;
	int rc = make_quota_files(t, u);

	if (!rc)
		rc = xw_batch_drain(u->out.batch);
	u->quota_types = t->quota_on;
	if (!rc)
		rc = xw_tune_each_inode(u->img, charge, u);
	u->quota_types = old | t->quota_on;
	u->img->sb.feature_ro_compat |= XW_RO_QUOTA;
	return rc;
}
