/* SPDX-License-Identifier: MIT */
/* Quota usage according to the inodes, which repairs/quota.c compares with the quota files. */
#ifndef XW_FSCK_USAGE_H
#define XW_FSCK_USAGE_H

#include "disk/quota.h"
#include "facts/facts.h"

/* Usage of one id. */
struct fsck_usage {
	uint32_t id;
	bool used; /* the slot */
	bool seen; /* the file contains it */
	uint64_t inodes, space; /* count, bytes */
};

struct fsck_quota {
	struct xw_table usage[XW_QUOTA_TYPES]; /* of struct fsck_usage */
};

/* Does the superblock name a quota file of that type? */
bool fsck_quota_is_on(struct fsck *f, int type);

extern const struct xw_table_kind fsck_usage_by_id;

#endif
