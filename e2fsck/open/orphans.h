/* SPDX-License-Identifier: MIT */
/* Orphans, and the inode that can be an orphan file. */
#ifndef XW_FSCK_ORPHANS_H
#define XW_FSCK_ORPHANS_H

#include "open/open.h"

/* Is anything said to be in the list or in the file? */
bool fsck_orphans_listed(const struct xw_super *sb);
/* Put them away. XW_ERR_CORRUPT and the like: nothing was changed. */
int fsck_orphans_put_away(struct fsck *f);
/* The first block of the orphan file that contains inodes; UINT64_MAX: none. */
uint64_t fsck_orphans_first(struct fsck *f);
/* Is the inode an orphan file, of which every block is intact? */
int fsck_orphans_sound(struct fsck *f, bool *sound);

/* The blocks of an inode that can be an orphan file. */
struct fsck_orphan_blocks {
	XW_VEC(struct xw_map_run) runs;
	uint32_t seed; /* of their checksums */
};

/* *valid: all of them are mapped, in order. The caller frees b->runs. XW_ERR_NOMEM. */
int fsck_orphan_blocks(struct fsck *f, xw_ino ino, struct fsck_orphan_blocks *b, bool *valid);
/* How many of its blocks are those of an orphan file: by their magic, or checksums as well. */
int fsck_orphan_count(struct fsck *f, const struct fsck_orphan_blocks *b, bool csum, uint64_t *good,
		      uint64_t *all);
/* Are the slots of this block all free? */
bool fsck_orphan_is_clean(const uint8_t *buf, uint32_t slots);

#endif
