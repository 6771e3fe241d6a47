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

static const struct xw_table_kind by_owner = XW_TABLE_BY_U64(struct xw_usage);

int xw_update_charge(struct xw_update *u, const struct xw_inode *in, int64_t inodes, int64_t bytes)
{
	const uint32_t id[XW_QUOTA_TYPES] = {
		[XW_QUOTA_USER] = in->uid,
		[XW_QUOTA_GROUP] = in->gid,
		[XW_QUOTA_PROJECT] = in->projid,
	};

	for (int t = 0; t < XW_QUOTA_TYPES; t++) {
		const uint64_t key = (uint64_t)id[t] + 1;
		struct xw_usage *s;

		if (!(u->quota_types & 1u << t))
			continue;
		if (xw_table_room(&u->usage[t], &by_owner, NULL))
			return xw_fail_nomem(u->diag, "quota usage");
		s = xw_table_slot(&u->usage[t], &by_owner, NULL, xw_table_number(&u->usage[t], key),
				  &key);
		u->usage[t].n += !s->key;
		s->key = key;
		s->inodes += inodes;
		s->space += bytes;
	}
	return 0;
}

struct xw_usage *xw_usage_get(const struct xw_table *usage, uint32_t id)
{
	const uint64_t key = (uint64_t)id + 1;

	return xw_table_get(usage, &by_owner, NULL, xw_table_number(usage, key), &key);
}
