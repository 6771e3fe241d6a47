// SPDX-License-Identifier: MIT
/*
 * Usage by owner: a change collects the gains and losses of each owner for the quota files
 * (quota.c).
 */
#include "config.h"

#include "update/update.h"

#include "update/update_internal.h"

uint64_t xw_update_bytes(const struct xw_update *u, const struct xw_inode *in)
{
	return 512 * xw_inode_fs_blocks_512(in, &u->img->sb);
}

static bool usage_used(const void *slot)
{
	return ((const struct xw_usage *)slot)->used;
}

static bool usage_same(const void *arg, const void *slot, const void *id)
{
	(void)arg;
	return ((const struct xw_usage *)slot)->id == *(const uint32_t *)id;
}

static uint64_t usage_hash(const void *arg, const void *slot)
{
	(void)arg;
	return xw_table_number(((const struct xw_usage *)slot)->id);
}

static const struct xw_table_kind by_owner = {sizeof(struct xw_usage), usage_used, usage_same,
					      usage_hash};

int xw_update_charge(struct xw_update *u, const struct xw_inode *in, int64_t inodes, int64_t bytes)
{
	const uint32_t id[XW_QUOTA_TYPES] = {
		[XW_QUOTA_USER] = in->uid,
		[XW_QUOTA_GROUP] = in->gid,
		[XW_QUOTA_PROJECT] = in->projid,
	};

	for (int t = 0; t < XW_QUOTA_TYPES; t++) {
		struct xw_usage *s;

		if (!(u->quota_types & 1u << t))
			continue;
		if (xw_table_room(&u->usage[t], &by_owner, NULL))
			return xw_fail_nomem(u->diag, "quota usage");
		s = xw_table_slot(&u->usage[t], &by_owner, NULL, xw_table_number(id[t]), &id[t]);
		u->usage[t].n += !s->used;
		s->used = true;
		s->id = id[t];
		s->inodes += inodes;
		s->space += bytes;
	}
	return 0;
}

struct xw_usage *xw_usage_get(const struct xw_table *usage, uint32_t id)
{
	return xw_table_get(usage, &by_owner, NULL, xw_table_number(id), &id);
}
