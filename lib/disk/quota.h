/* SPDX-License-Identifier: MIT */
/*
 * Quota files (vfsv1, "v2r1"): usage and limits of each user, group or project, in a radix tree of
 * 1 KiB blocks over the 32-bit id. ext4 stores one in each hidden quota inode.
 */
#ifndef XW_DISK_QUOTA_H
#define XW_DISK_QUOTA_H

#include "base/types.h"

#define XW_QUOTA_BLOCK 1024u /* independent of the block size of the filesystem */
#define XW_QUOTA_DEPTH 4u /* tree levels: one for each byte of the id, the high byte first */
#define XW_QUOTA_PER_BLOCK 14u /* entries in a data block */
#define XW_QUOTA_GRACE 604800u /* a week: the default of a new file */

enum xw_quota_type { XW_QUOTA_USER, XW_QUOTA_GROUP, XW_QUOTA_PROJECT, XW_QUOTA_TYPES };

/* Usage and limits of one id. */
struct xw_quota_entry {
	uint32_t id;
	uint64_t inodes, space; /* usage: number of inodes, bytes */
	uint64_t inode_hard, inode_soft; /* limits, 0 = none */
	uint64_t block_hard, block_soft; /* in KiB */
	/* end of the grace period of a soft limit; 0 = not exceeded */
	int64_t inode_time, block_time;
};

struct xw_quota_info {
	uint32_t block_grace, inode_grace; /* seconds */
	uint32_t flags;
	uint32_t blocks; /* blocks of the file */
	uint32_t free_block; /* first of the list of unused blocks, 0 = none */
	uint32_t free_entry; /* first of the list of data blocks with free entries, 0 = none */
	bool stray; /* a data block has a wrong count of entries */
};

/* Shape of a new file: the tree level by level, then the data blocks, ids ascending in both. */
struct xw_quota_shape {
	uint32_t level[XW_QUOTA_DEPTH]; /* tree blocks of each level; level[0] is 1, the root */
	uint32_t data; /* data blocks */
	uint32_t blocks; /* total, header included */
	/* grace times, which xw_quota_shape() sets to 0: the default */
	uint32_t block_grace, inode_grace;
};

/* Does this block 0 of a file have the magic and version of a quota file of that type? */
bool xw_quota_is_header(const uint8_t block[XW_QUOTA_BLOCK], enum xw_quota_type type);
/* Sort by id. */
void xw_quota_sort(struct xw_quota_entry *e, size_t n);
/* Entries must be sorted by id without duplicates. XW_ERR_LIMIT: more than 2^32 blocks. */
int xw_quota_shape(const struct xw_quota_entry *e, size_t n, struct xw_quota_shape *out);

typedef int xw_quota_put(void *arg, uint32_t index, const uint8_t block[XW_QUOTA_BLOCK]);
/* Emit all blocks of the file in order. Ends with the first non-zero result of the callback. */
int xw_quota_emit(enum xw_quota_type type, const struct xw_quota_entry *e, size_t n,
		  const struct xw_quota_shape *shape, xw_quota_put *put, void *arg);

typedef int xw_quota_entry_fn(void *arg, const struct xw_quota_entry *e);
/*
 * Read a whole file of `len` bytes: *info (if magic or version is valid), then each entry, ids
 * ascending. XW_ERR_CORRUPT: wrong magic, version or length, a reference outside the file, a tree
 * with a cycle, or an id in the wrong place. The work is bounded by the number of blocks. fn may
 * be NULL; its first non-zero result ends the reading.
 */
int xw_quota_decode(const void *buf, size_t len, enum xw_quota_type type,
		    struct xw_quota_info *info, xw_quota_entry_fn *fn, void *arg);
/*
 * Recover entries with limits from all blocks that look like data blocks, for a file with a damaged
 * tree or header: in block order, ids may repeat.
 */
int xw_quota_salvage(const void *buf, size_t len, xw_quota_entry_fn *fn, void *arg);

#endif
