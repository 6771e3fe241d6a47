/* SPDX-License-Identifier: MIT */
/* Between the files that open, and check superblock, groups and journal. */
#ifndef XW_FSCK_OPEN_H
#define XW_FSCK_OPEN_H

#include "fsck.h"

/* open.c: f->img on what the overlay holds now. */
int fsck_reopen(struct fsck *f);

/* ---- evidence.c ---- */

struct fsck_unknown {
	uint32_t compat, incompat, ro;
};

/* Feature bits that neither stock tools nor we know. */
struct fsck_unknown fsck_unknown_features(const struct xw_super *sb);
/* Can the filesystem be opened with it? */
bool fsck_super_usable(const struct xw_super *sb);
/* How much on the device speaks against sb: 0 or less where nothing does. */
int fsck_super_penalty(struct xw_dev *dev, const struct xw_super *sb);

/* ---- copies.c ---- */

enum { FSCK_COPIES_MAX = 8 };

struct fsck_copies {
	size_t n;
	struct fsck_copy {
		uint64_t at; /* byte on the device */
		uint8_t raw[XW_SUPER_SIZE];
		struct xw_super sb;
	} v[FSCK_COPIES_MAX];
};

/* Adds copies in the places that sb's geometry gives them; sb NULL: that any usual geometry does.
 */
void fsck_copies_usual(struct xw_dev *dev, const struct xw_super *sb, struct fsck_copies *all);
/* Adds copies wherever on the device. */
void fsck_copies_search(struct xw_dev *dev, struct fsck_copies *all);
/* The one that -b and -B name. XW_ERR_INPUT. */
int fsck_copies_named(struct fsck *f, struct fsck_copies *all);

/* ---- choose.c ---- */

/*
 * The superblock to go on with, on the overlay: the primary, mended by its copies, or a copy.
 * XW_ERR_INPUT: there is none. XW_ERR_UNSUPPORTED: it has features that nobody knows.
 */
int fsck_choose_super(struct fsck *f);

#endif
