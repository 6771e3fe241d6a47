/* SPDX-License-Identifier: MIT */
/* Quota usage according to the inodes, which repairs/quota.c compares with the quota files. */
#ifndef XW_FSCK_USAGE_H
#define XW_FSCK_USAGE_H

#include "disk/quota.h"
#include "facts/facts.h"

/* Usage of one id. */
struct fsck_usage {
	uint64_t key; /* fsck_usage_key(id); 0: unused slot */
	bool seen; /* the quota file contains the id */
	uint64_t inodes, space; /* count, bytes */
};

struct fsck_quota {
	struct xw_table usage[XW_QUOTA_TYPES]; /* of struct fsck_usage */
};

/* Does the superblock name a quota file of that type? */
bool fsck_quota_is_on(struct fsck *f, int type);

extern const struct xw_table_kind fsck_usage_by_id;

/* Not 0, which is the id of root. */
static inline uint64_t fsck_usage_key(uint32_t id)
{
	return UINT64_C(1) << 32 | id;
}

/* The usage of an id; NULL: it owns nothing. */
struct fsck_usage *fsck_usage_get(const struct xw_table *usage, uint32_t id);

#endif
