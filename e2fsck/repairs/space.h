/* SPDX-License-Identifier: MIT */
/*
 * The comparison of groups with the facts of a round. Shared by bitmaps.c, which reports and
 * repairs, and space_scan.c, which finds the groups that differ.
 */
#ifndef XW_FSCK_SPACE_H
#define XW_FSCK_SPACE_H

#include "repairs/repairs.h"

/* How a group differs from the facts. */
#define FSCK_SP_BLOCKS 0x01 /* bits of its block bitmap, except padding */
#define FSCK_SP_INODES 0x02
#define FSCK_SP_BLOCK_PADDING 0x04
#define FSCK_SP_INODE_PADDING 0x08
#define FSCK_SP_BLOCK_CSUM 0x10 /* the checksum of an otherwise correct bitmap */
#define FSCK_SP_INODE_CSUM 0x20
#define FSCK_SP_BLOCK_IO 0x40 /* the bitmap cannot be read */
#define FSCK_SP_INODE_IO 0x80
#define FSCK_SP_COUNTS 0x100 /* free blocks, free inodes or directories */
#define FSCK_SP_UNUSED 0x200 /* an inode is in use that the descriptor calls never used */
#define FSCK_SP_STRAY_UNINIT 0x400 /* "uninitialized" although no feature defines that */
#define FSCK_SP_LAST_UNINIT 0x800 /* the last group's block bitmap is uninitialized */

#define FSCK_SP_BLOCK_BITMAP                                                                       \
	(FSCK_SP_BLOCKS | FSCK_SP_BLOCK_PADDING | FSCK_SP_BLOCK_CSUM | FSCK_SP_BLOCK_IO)
#define FSCK_SP_INODE_BITMAP                                                                       \
	(FSCK_SP_INODES | FSCK_SP_INODE_PADDING | FSCK_SP_INODE_CSUM | FSCK_SP_INODE_IO)

/* A group that differs. */
struct fsck_space_group {
	uint32_t group;
	uint32_t free_blocks; /* in clusters; according to the facts */
	uint32_t free_inodes, dirs;
	uint32_t unused; /* inodes after the last one in use */
	uint32_t odd; /* FSCK_SP_* */
};

struct fsck_space_scan {
	XW_VEC(struct fsck_space_group) odd; /* ascending */
	uint64_t free_clusters, free_inodes, dirs; /* of all groups, according to the facts */
};

/*
 * Examine all groups: bitmaps in large runs, on several threads, with a few MiB of buffers. Reports
 * nothing. The caller frees the vector of *s.
 */
int fsck_scan_space(struct fsck *f, struct fsck_space_scan *s);

/* Number of bits of the group's block bitmap that represent clusters of the filesystem. */
uint32_t fsck_space_clusters(const struct fsck *f, uint64_t group);
/*
 * One block each: bitmaps according to the facts, padding set; and those of the image. The latter
 * are computed if the descriptor says "uninitialized". XW_ERR_CORRUPT: the location of the bitmap
 * is impossible; otherwise errors of reading it. *info may be NULL.
 */
void fsck_space_block_bits(const struct fsck *f, uint64_t group, uint8_t *bits);
void fsck_space_inode_bits(const struct fsck *f, uint64_t group, uint8_t *bits,
			   struct fsck_space_group *info);
int fsck_space_block_bits_read(struct fsck *f, uint64_t group, const struct xw_group_desc *gd,
			       uint8_t *bits);
int fsck_space_inode_bits_read(struct fsck *f, const struct xw_group_desc *gd, uint8_t *bits);

/*
 * bitmaps.c: compare with the facts, and repair differences: by the usual policy, or without a
 * question.
 */
int fsck_bitmaps_repair(struct fsck *f);
int fsck_bitmaps_force(struct fsck *f);
/* quota.c: compare quota files with the collected usage. */
int fsck_check_quota(struct fsck *f);

#endif
