/* SPDX-License-Identifier: MIT */
/*
 * Which blocks and inodes of an opened image are in use: the bitmaps as the filesystem means them.
 * Uninitialised ones are worked out, bits behind the end are set, and what is read must agree with
 * its checksum, its descriptor's count, and the place of the metadata.
 */
#ifndef XW_READ_BITMAPS_H
#define XW_READ_BITMAPS_H

#include "read/image.h"

#pragma GCC visibility push(default)

/* Where the groups' own metadata lies: superblock and descriptor copies with what is reserved for
 * more, bitmaps, inode tables. */
struct xw_sysmap;

/*
 * One pass over all descriptors; memory grows with the number of places, not of groups, where
 * flex_bg keeps them together. img is not needed afterwards. XW_ERR_CORRUPT: a descriptor points
 * outside the filesystem. With XW_IMAGE_LENIENT what is outside is left out, and checksums of
 * descriptors do not matter.
 */
int xw_sysmap_new(struct xw_image *img, struct xw_sysmap **out);
void xw_sysmap_free(struct xw_sysmap *m); /* NULL is fine */

/* Are the blocks from blk on metadata? Returns for how many of the n (1 .. n) the answer holds. */
uint64_t xw_sysmap_at(const struct xw_sysmap *m, xw_blk blk, uint64_t n, bool *is_meta);
/*
 * The same for whole blocks of inode tables that hold only inodes which the descriptors say were
 * never used, in tables that nobody has zeroed yet: what lies there may be anything. *group, one
 * for the whole answer, is theirs: whether its bitmap agrees is for xw_image_inode_bitmap() to say.
 * None where descriptors have no checksums.
 */
uint64_t xw_sysmap_unused_table(const struct xw_sysmap *m, xw_blk blk, uint64_t n, bool *is_unused,
				uint64_t *group);

/* Bits of a group's block bitmap: its clusters, which are blocks but with bigalloc. */
uint32_t xw_image_group_bits(const struct xw_image *img);
/* log2 of the blocks of a cluster; 0 without bigalloc. */
uint32_t xw_image_cluster_bits(const struct xw_image *img);
/* Whether the group's bitmap is what the places of metadata say, whatever the block holds. */
bool xw_image_block_uninit(const struct xw_image *img, const struct xw_group_desc *gd);
bool xw_image_inode_uninit(const struct xw_image *img, const struct xw_group_desc *gd);
/*
 * Block bitmap of a group, xw_image_group_bits() / 8 bytes, 1 = in use. XW_ERR_CHECKSUM,
 * XW_ERR_CORRUPT: it contradicts its checksum (unless XW_IMAGE_NOCSUM), the count of free clusters
 * or the metadata. After these, bits hold what is there all the same, and ones where nothing is.
 */
int xw_image_block_bitmap(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
			  uint8_t *bits);
/*
 * The same tests for a bitmap that was read already, of a group that is not UNINIT: 0,
 * XW_ERR_CHECKSUM or XW_ERR_CORRUPT. Bits behind the filesystem's end are set. Touches nothing of
 * *img but the diag.
 */
int xw_image_block_bits_check(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
			      const struct xw_group_desc *gd, uint8_t *bits);
/*
 * Inode bitmap, inodes_per_group rounded up to a multiple of 8 bits; errors likewise. It also
 * contradicts the descriptor where that says of an inode in use that it never was.
 */
int xw_image_inode_bitmap(struct xw_image *img, uint64_t group, uint8_t *bits);

/*
 * The free runs of a group, ascending, in clusters from its start. Checks and errors are those of
 * xw_image_block_bitmap(), and fn has seen the runs of what is there after them; but where the
 * bitmap is UNINIT none is made, so that such groups cost next to nothing. scratch: block_size
 * bytes, as malloc() aligns them. A code from fn that is not 0 ends it.
 */
typedef int xw_free_run_fn(void *arg, uint32_t at, uint32_t len);
int xw_image_free_runs(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
		       void *scratch, xw_free_run_fn *fn, void *arg);

#pragma GCC visibility pop

#endif
