/* SPDX-License-Identifier: MIT */
/*
 * The owner map: to whom every block of the filesystem belongs, as a round has found out.
 *
 * Clusters are claimed while inodes are read, group metadata first. A cluster that is claimed again
 * is contested: it has several owners until one of them has got a copy (contested.c). When all
 * claims are known the map is settled. From then on fsck_write() writes only what belongs to the
 * owner it names, and to nobody else; until then it keeps what it is given.
 */
#ifndef XW_FSCK_OWNERS_H
#define XW_FSCK_OWNERS_H

#include "base/blockset.h"
#include "base/table.h"
#include "read/bitmaps.h"

enum fsck_owner {
	FSCK_O_GROUP, /* superblocks, descriptors, bitmaps, inode tables */
	FSCK_O_RESIZE, /* the block of the resize inode outside of them */
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
	/* clusters of each owner; FSCK_O_GROUP is sysmap, FSCK_O_DATA are claims of nobody else */
	struct xw_blockset *of[FSCK_OWNERS];
	struct xw_sysmap *sysmap; /* location of group metadata */
	struct xw_table kept; /* writes waiting for the map to be settled; read.c */
	uint64_t searched; /* group in which free.c has found the last cluster */
	bool settled; /* all claims are known */
	bool copied; /* contested.c has a copy of what group metadata has been put on */
};

struct fsck;

void fsck_owners_free(struct fsck_owners *o);
/* Of an owner, for messages: "a directory", "the MMP block" ... */
const char *fsck_owner_name(enum fsck_owner owner);

/*
 * Claim the clusters of [blk, blk + len). *again (may be NULL) is set to how many of them were
 * claimed before: these are contested from then on. XW_ERR_NOMEM.
 */
int fsck_claim(struct fsck *f, enum fsck_owner owner, xw_blk blk, uint64_t len, uint64_t *again);
/* Undo claims of an owner (those of a map that is cleared). Contested clusters stay claimed. */
void fsck_unclaim(struct fsck *f, enum fsck_owner owner, xw_blk blk, uint64_t len);
/* What was claimed as contents of a file is that owner's. XW_ERR_NOMEM. */
int fsck_give(struct fsck *f, enum fsck_owner owner, xw_blk blk, uint64_t len);
/* Claim all metadata of groups: the first claims of a round. */
int fsck_claim_metadata(struct fsck *f);
/* Descriptors have changed: read the places of group metadata again. */
int fsck_places_changed(struct fsck *f);

/* The cluster of a block, counted from the first data block on; how many there are. */
uint64_t fsck_cluster(const struct fsck *f, xw_blk blk);
uint64_t fsck_clusters(const struct fsck *f);

bool fsck_is_claimed(const struct fsck *f, xw_blk blk);
bool fsck_is_contested(const struct fsck *f, xw_blk blk);
/* Is any of these blocks metadata of a group? */
bool fsck_is_metadata(const struct fsck *f, xw_blk blk, uint64_t len);
/* Do all these blocks belong to the owner, and to nobody else? */
bool fsck_owns(const struct fsck *f, enum fsck_owner owner, xw_blk blk, uint64_t len);

/*
 * May an update change the block? One that nobody claims is free, or it could not have taken it;
 * contents of files are not changed by updates, but written to free blocks.
 */
bool fsck_may_change(const struct fsck *f, xw_blk blk);
/* Has group metadata a block that belongs to somebody else as well? */
bool fsck_metadata_is_shared(const struct fsck *f);

/*
 * free.c: claim a cluster that nobody claims, as near to `goal` as possible, for one block. If
 * possible it is free by its bitmap as well: the records of its owner may not have been seen.
 * XW_ERR_NOSPC, without a message.
 */
int fsck_claim_free(struct fsck *f, enum fsck_owner owner, xw_blk goal, xw_blk *blk);

#endif
