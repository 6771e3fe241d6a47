// SPDX-License-Identifier: MIT
/*
 * Quota files: removed, or created from the current usage. An empty file comes first; then
 * everything in the image is charged to its owners as if it were new, and the update adds it up at
 * its end.
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

/* An invalid number in the superblock must not turn a user's file into a quota file. */
static int check_file(struct xw_update *u, int type, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	const int rc = xw_update_get(u, ino, &in, &raw);

	return rc ? rc
		  : xw_update_quota_read(u, (enum xw_quota_type)type, ino, &in, raw, NULL, NULL,
					 NULL);
}

int xw_tune_quota_off(struct xw_tune_run *t, struct xw_update *u)
{
	int rc = 0;

	for (int type = 0; type < XW_QUOTA_TYPES && !rc; type++) {
		uint32_t *inum = quota_inum(&u->img->sb, type);

		if (!(t->quota_off & 1u << type))
			continue;
		rc = check_file(u, type, *inum);
		if (!rc)
			rc = xw_tune_drop_inode(u, *inum);
		*inum = 0;
		u->quota_types &= ~(1u << type);
	}
	if (!u->quota_types)
		u->img->sb.feature_ro_compat &= ~XW_RO_QUOTA;
	return rc;
}

/* Create an empty file for each new type: existing usage is added as if it were new. */
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
	u->place.items.n = 0; /* written here */
	for (int type = 0; type < XW_QUOTA_TYPES; type++) {
		xw_binode_free_map(&files[type].node); /* the update rewrites the file */
		free(files[type].entries);
	}
	return rc;
}

static bool counts(const struct xw_super *sb, xw_ino ino, const struct xw_inode *in)
{
	if (!in->links || in->flags & XW_FL_EA_INODE)
		return false;
	if (ino < sb->first_ino)
		return ino == XW_INO_ROOT;
	return ino != sb->prj_quota_inum && ino != sb->orphan_file_inum;
}

static int charge_all(struct xw_update *u)
{
	struct xw_inode_scan s;
	const uint8_t *raw;
	xw_ino ino;
	int rc = xw_inode_scan_begin(u->img, 0, u->img->groups, &s);

	while (!rc && (rc = xw_inode_scan_next(&s, &ino, &raw)) == 1) {
		struct xw_inode in;
		uint64_t ea = 0;

		rc = 0;
		if (xw_inode_decode(raw, &u->img->sb, &in) || !counts(&u->img->sb, ino, &in))
			continue;
		rc = xw_update_count_ea(u, &in, raw, &ea);
		if (!rc)
			rc = xw_update_charge(u, &in, 1 + (int64_t)ea,
					      (int64_t)xw_update_bytes(u, &in));
	}
	xw_inode_scan_end(&s);
	return rc;
}

int xw_tune_quota_on(struct xw_tune_run *t, struct xw_update *u)
{
	const unsigned old = u->quota_types;
	int rc = make_quota_files(t, u);

	if (!rc)
		rc = xw_batch_drain(u->out.batch);
	u->quota_types = t->quota_on;
	if (!rc)
		rc = charge_all(u);
	u->quota_types = old | t->quota_on;
	u->img->sb.feature_ro_compat |= XW_RO_QUOTA;
	return rc;
}
