/* SPDX-License-Identifier: MIT */
/* The scan over directories, one at a time, and properties of directory blocks. */
#ifndef XW_FSCK_FACTS_DIRS_H
#define XW_FSCK_FACTS_DIRS_H

#include "disk/dx_hash.h"
#include "facts/facts.h"
#include "walk/dirblock.h"

/* Recorded for a block of an indexed directory: the range of the hashes of its names. */
struct fsck_leaf {
	uint32_t min, max; /* min > max: no names, or their hashes cannot be computed */
};

struct fsck_dup_slot {
	uint32_t hash;
	uint32_t entry; /* index + 1 in kept[] */
};

struct fsck_dirscan {
	struct fsck *f;
	/* [dirs.n + 1]: index of each directory's first block in f->facts.dirblocks */
	uint32_t *first;
	struct fsck_leaf *leaves; /* [dirblocks.n]; NULL: no directory is indexed */
	uint32_t hash_seed[4];
	bool filetype, csum;
	/* the area being checked */
	struct fsck_dir *d;
	struct fsck_itree *tree; /* of d; NULL: none, or it is dropped */
	uint32_t seed;
	xw_lblk lblk;
	bool encrypted, folded; /* according to the flags of the directory's inode */
	bool hashed; /* names are hashed into `leaf` */
	enum xw_dx_version version;
	struct fsck_leaf leaf;
	bool dirty; /* changed in place */
	bool relayout; /* its entries must be laid out anew */
	bool dot, dotdot; /* "." and ".." were seen */
	struct xw_dirblock walk;
	struct xw_dirent *kept; /* entries to keep, their names point into the area */
	size_t n_kept;
	struct fsck_dup_slot *dups; /* power of two */
	uint32_t dup_mask;
	struct xw_hash_key dup_key;
	uint8_t *copy; /* one block: a copy of the area before it is laid out anew */
};

/* The only encoding that is defined: UTF-8, Unicode 12.1. */
enum { FSCK_ENCODING_UTF8 = 1 };

/* One area: a block, or a part of an inline directory. */
struct fsck_area {
	uint8_t *data;
	uint32_t size; /* in bytes */
	xw_lblk lblk;
	bool has_dots; /* starts with "." and ".." */
	bool tail; /* ends with a checksum */
};

/* Make directory i of f->facts.dirs the current one. */
void fsck_dir_enter(struct fsck_dirscan *s, uint32_t i);
/* The dx hash of a name in the current directory. False: it cannot be computed. */
bool fsck_dir_hash(const struct fsck_dirscan *s, const struct xw_dirent *e, uint32_t *major);
/* Parameters of the walk over the entries of an area in the current directory. */
struct xw_dirblock_area fsck_dir_area_of(const struct fsck_dirscan *s, const struct fsck_area *a);
/* Is this block 0 of an indexed directory a dx_root, judging by its "." and ".."? */
bool fsck_dir_is_root(const void *block, uint32_t block_size);
/* Do inode number and lengths of the directory entry at `entry` look valid? */
bool fsck_may_be_entry(const struct xw_super *sb, const uint8_t *entry);
/* Do such entries fill an area of `size` bytes, less than 64 KiB, exactly? */
bool fsck_are_entries(const struct xw_super *sb, const uint8_t *area, size_t size);
/*
 * Does the first block of the directory begin with "." and its inode number? unknown: the result if
 * the map of the inode needs a tree to find that block.
 */
bool fsck_dir_names_itself(struct xw_dev *dev, const struct xw_image *img, xw_ino ino,
			   const struct xw_inode *in, bool unknown);

#endif
