/* SPDX-License-Identifier: MIT */
/*
 * Groups as the facts of a round have them, compared with their descriptors and bitmaps. Between
 * space.c, which reports and repairs, and space_scan.c, which finds the groups that differ.
 */
#ifndef XW_FSCK_SPACE_H
#define XW_FSCK_SPACE_H

#include "fsck.h"

/* How a group differs from the facts. */
#define FSCK_SP_BLOCKS 0x01 /* bits of its block bitmap, padding aside */
#define FSCK_SP_INODES 0x02
#define FSCK_SP_BLOCK_PADDING 0x04
#define FSCK_SP_INODE_PADDING 0x08
#define FSCK_SP_BLOCK_CSUM 0x10 /* the checksum of a bitmap that is otherwise right */
#define FSCK_SP_INODE_CSUM 0x20
#define FSCK_SP_BLOCK_IO 0x40 /* the bitmap cannot be read */
#define FSCK_SP_INODE_IO 0x80
#define FSCK_SP_COUNTS 0x100 /* free blocks, free inodes or directories */
#define FSCK_SP_UNUSED 0x200 /* an inode is in use that the descriptor says never was */
#define FSCK_SP_STRAY_UNINIT 0x400 /* "uninitialized" although no feature defines that */
#define FSCK_SP_LAST_UNINIT 0x800 /* the last group's block bitmap is uninitialized */

#define FSCK_SP_BLOCK_BITMAP                                                                       \
	(FSCK_SP_BLOCKS | FSCK_SP_BLOCK_PADDING | FSCK_SP_BLOCK_CSUM | FSCK_SP_BLOCK_IO)
#define FSCK_SP_INODE_BITMAP                                                                       \
	(FSCK_SP_INODES | FSCK_SP_INODE_PADDING | FSCK_SP_INODE_CSUM | FSCK_SP_INODE_IO)

/* A group that differs. */
struct fsck_space_group {
	uint32_t group;
	uint32_t free_blocks; /* clusters; these are as the facts have them */
	uint32_t free_inodes, dirs;
	uint32_t unused; /* inodes behind the last one in use */
	uint32_t odd; /* FSCK_SP_* */
};

struct fsck_space_scan {
	XW_VEC(struct fsck_space_group) odd; /* ascending */
	uint64_t free_clusters, free_inodes, dirs; /* of all groups, as the facts have them */
};

/*
 * Look at all groups: bitmaps in large runs, on several threads, with a few MiB of buffers. Nothing
 * is reported here. *s is the caller's to free (its vector).
 */
int fsck_space_look(struct fsck *f, struct fsck_space_scan *s);

/* Bits of the group's block bitmap that stand for clusters of the filesystem. */
uint32_t fsck_space_clusters(const struct fsck *f, uint64_t group);
/*
 * One block each: bitmaps as the facts have them, padding set; and as the image has them. The
 * latter are worked out where the descriptor says "uninitialized". XW_ERR_CORRUPT: the bitmap's
 * place is impossible; else what reading it reports. *info may be NULL.
 */
void fsck_space_block_bits(const struct fsck *f, uint64_t group, uint8_t *bits);
void fsck_space_inode_bits(const struct fsck *f, uint64_t group, uint8_t *bits,
			   struct fsck_space_group *info);
int fsck_space_block_bits_read(struct fsck *f, uint64_t group, const struct xw_group_desc *gd,
			       uint8_t *bits);
int fsck_space_inode_bits_read(struct fsck *f, uint64_t group, const struct xw_group_desc *gd,
			       uint8_t *bits);

/* quota.c: quota files against the usage that was summed up. */
int fsck_check_quota(struct fsck *f);

#endif
