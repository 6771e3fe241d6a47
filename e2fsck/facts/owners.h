/* SPDX-License-Identifier: MIT */
/*
 * The owner map: which owner each block of the filesystem has, as found out by a round.
 *
 * Clusters are claimed while inodes are read, group metadata first. A cluster that is claimed again
 * is contested: it has several owners until contested.c has copied it. When all claims are known,
 * the map is complete. From then on fsck_write() writes only blocks that belong to the given owner
 * alone; until then it keeps the blocks in memory.
 */
#ifndef XW_FSCK_OWNERS_H
#define XW_FSCK_OWNERS_H

#include "base/blockset.h"
#include "base/table.h"
#include "read/bitmaps.h"

enum fsck_owner {
	FSCK_O_GROUP, /* superblocks, descriptors, bitmaps, inode tables */
	FSCK_O_RESIZE, /* blocks of the resize inode outside of group metadata */
	FSCK_O_MMP,
	FSCK_O_MAP, /* nodes of extent trees, indirect blocks */
	FSCK_O_DIR,
	FSCK_O_ITREE,
	FSCK_O_XATTR,
	FSCK_O_SYSTEM, /* contents of journal, quota files, orphan file */
	FSCK_O_BAD,
	FSCK_O_DATA, /* contents of files, symlinks and EA inodes */
	FSCK_OWNERS
};

struct fsck_owners {
	struct xw_blockset *claims; /* clusters in use */
	struct xw_blockset *contested; /* clusters claimed more than once; NULL: none */
	/*
	 * clusters of each owner; those of FSCK_O_GROUP are in sysmap, and claims without another
	 * owner are FSCK_O_DATA
	 */
	struct xw_blockset *of[FSCK_OWNERS];
	struct xw_sysmap *sysmap; /* location of group metadata */
	struct xw_table kept; /* writes waiting for the map to be complete; read.c */
	uint64_t searched; /* group where free.c found the last cluster */
	bool complete; /* all claims are known */
	bool copied; /* contested.c has copied the blocks of files that group metadata overlaps */
};

struct fsck;

/*
 * Add [first, first + n) to a set of numbers below `limit`, which is created if it is NULL. *had
 * (may be NULL) is set to how many of them it contained. XW_ERR_NOMEM, without a message.
 */
static inline int fsck_set_add(struct xw_blockset **set, uint64_t limit, uint64_t first, uint64_t n,
			       uint64_t *had)
{
	const int rc = *set ? 0 : xw_blockset_new(limit, set);

	return rc ? rc : xw_blockset_add(*set, first, n, had);
}

void fsck_owners_free(struct fsck_owners *o);
/* The owner's name in messages: "a directory", "the MMP block" ... */
const char *fsck_owner_name(enum fsck_owner owner);

/*
 * Claim the clusters of [blk, blk + len). *again (may be NULL) is set to how many of them were
 * claimed before: these are contested from then on. XW_ERR_NOMEM.
 */
int fsck_claim(struct fsck *f, enum fsck_owner owner, xw_blk blk, uint64_t len, uint64_t *again);
/* Release the claims of an owner whose map is cleared. Contested clusters stay claimed. */
void fsck_unclaim(struct fsck *f, enum fsck_owner owner, xw_blk blk, uint64_t len);
/* Move claims from file contents to that owner. XW_ERR_NOMEM. */
int fsck_reassign(struct fsck *f, enum fsck_owner owner, xw_blk blk, uint64_t len);
/* Claim all metadata of groups: the first claims of a round. */
int fsck_claim_metadata(struct fsck *f);
/* Read the locations of group metadata again, after a change of descriptors. */
int fsck_places_changed(struct fsck *f);

/* The cluster of a block, counted from the first data block; the number of clusters. */
uint64_t fsck_cluster(const struct fsck *f, xw_blk blk);
uint64_t fsck_clusters(const struct fsck *f);

bool fsck_is_claimed(const struct fsck *f, xw_blk blk);
bool fsck_is_contested(const struct fsck *f, xw_blk blk);
/* Is any of these blocks metadata of a group? */
bool fsck_is_metadata(const struct fsck *f, xw_blk blk, uint64_t len);
/* Do all these blocks belong to that owner alone? */
bool fsck_owns(const struct fsck *f, enum fsck_owner owner, xw_blk blk, uint64_t len);

/*
 * May an update change the block? An unclaimed block is free, or the update could not have
 * allocated it. Contents of files are never changed by an update, only written to free blocks.
 */
bool fsck_may_change(const struct fsck *f, xw_blk blk);
/* Does group metadata share a block with another owner? */
bool fsck_metadata_is_shared(const struct fsck *f);

/*
 * free.c: claim an unclaimed cluster near `goal` for one block. A cluster that is also free in the
 * bitmap is preferred: inodes that claim it may not have been found. XW_ERR_NOSPC, without a
 * message.
 */
int fsck_claim_free(struct fsck *f, enum fsck_owner owner, xw_blk goal, xw_blk *blk);

#endif
