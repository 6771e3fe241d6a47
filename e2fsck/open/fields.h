/* SPDX-License-Identifier: MIT */
/* The fields of a superblock that are compared with its backups. For choose.c. */
#ifndef XW_FSCK_FIELDS_H
#define XW_FSCK_FIELDS_H

#include <stddef.h>

#include "disk/super.h"

struct fsck_field {
	const char *name;
	size_t off, len;
	uint32_t ignore; /* bits that are never taken from a backup */
	bool setting; /* nothing on the device says its value */
};

enum { FSCK_FIELDS = 41 };
extern const struct fsck_field fsck_fields[FSCK_FIELDS];

/* Feature bits that Linux sets by itself, only in the primary. */
#define FSCK_INCOMPAT_DYNAMIC (XW_INCOMPAT_RECOVER | XW_INCOMPAT_PENDING)
/* Differences in these are not those of a stale backup. */
#define FSCK_RO_ALWAYS (XW_RO_LARGE_FILE | XW_RO_DIR_NLINK | XW_RO_ORPHAN_PRESENT)

uint64_t fsck_field_value(const struct xw_super *sb, const struct fsck_field *d);
/* Is it the same, apart from bits that may differ? */
bool fsck_field_same(const struct xw_super *a, const struct xw_super *b,
		     const struct fsck_field *d);
/* Copy the field from another superblock, apart from these bits. */
void fsck_field_take(struct xw_super *to, const struct xw_super *from, const struct fsck_field *d);
/* May the primary have this difference to a copy by right? */
bool fsck_field_may_differ(const struct xw_super *sb, const struct xw_super *copy,
			   const struct fsck_field *d);
/* Are all fields the same that are no settings? */
bool fsck_fields_same(const struct xw_super *a, const struct xw_super *b);
/* How many fields differ? */
unsigned fsck_fields_changed(const struct xw_super *a, const struct xw_super *b);
/* Do both superblocks have the same geometry? */
bool fsck_places_same(const struct xw_super *a, const struct xw_super *b);

#endif
