/* SPDX-License-Identifier: MIT */
/*
 * Which blocks and inodes of an opened image are in use: the effective bitmaps. Uninitialized
 * bitmaps are computed, bits past the end are set, and a bitmap that is read must agree with its
 * checksum, with the free count of its descriptor and with the location of the metadata.
 */
#ifndef XW_READ_BITMAPS_H
#define XW_READ_BITMAPS_H

#include "read/image.h"

/*
 * The location of all group metadata: copies of the superblock and descriptors with their reserved
 * blocks, bitmaps, inode tables.
 */
struct xw_sysmap;

/*
 * One pass over all descriptors. With flex_bg memory grows with the number of contiguous areas, not
 * of groups. img is not needed afterwards. XW_ERR_CORRUPT: a descriptor points outside the
 * filesystem. With XW_IMAGE_LENIENT locations outside are skipped, and checksums of descriptors are
 * ignored.
 */
int xw_sysmap_new(struct xw_image *img, struct xw_sysmap **out);
void xw_sysmap_free(struct xw_sysmap *m); /* m may be NULL */

/* Are the blocks from blk on metadata? Returns for how many of the n blocks (1 .. n) that holds. */
uint64_t xw_sysmap_at(const struct xw_sysmap *m, xw_blk blk, uint64_t n, bool *is_meta);
/*
 * The same for whole blocks of inode tables that hold only inodes which the descriptors call never
 * used, in tables not yet zeroed: their contents are undefined. *group is the group of the whole
 * answer; whether its bitmap agrees is checked by xw_image_inode_bitmap(). Always false where
 * descriptors have no checksums.
 */
uint64_t xw_sysmap_unused_table(const struct xw_sysmap *m, xw_blk blk, uint64_t n, bool *is_unused,
				uint64_t *group);

/* Number of bits in the block bitmap of a group: its clusters (blocks without bigalloc). */
uint32_t xw_image_group_bits(const struct xw_image *img);
/* log2 of the number of blocks in a cluster; 0 without bigalloc. */
uint32_t xw_image_cluster_bits(const struct xw_image *img);
/*
 * Is the bitmap of the group uninitialized, so that it follows from the location of the metadata?
 */
bool xw_image_block_uninit(const struct xw_image *img, const struct xw_group_desc *gd);
bool xw_image_inode_uninit(const struct xw_image *img, const struct xw_group_desc *gd);
/*
 * Block bitmap of a group, xw_image_group_bits() / 8 bytes, 1 = in use. XW_ERR_CHECKSUM,
 * XW_ERR_CORRUPT: it contradicts its checksum (unless XW_IMAGE_NOCSUM), the count of free clusters
 * or the metadata. After these errors bits still holds what was read, and ones where nothing could
 * be read.
 */
int xw_image_block_bitmap(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
			  uint8_t *bits);
/*
 * The same checks for a bitmap that was already read, of a group that is not UNINIT: 0,
 * XW_ERR_CHECKSUM or XW_ERR_CORRUPT. Bits past the end of the filesystem are set. Modifies nothing
 * of *img but the diag.
 */
int xw_image_block_bits_check(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
			      const struct xw_group_desc *gd, uint8_t *bits);
/*
 * Inode bitmap, inodes_per_group rounded up to a multiple of 8 bits; errors likewise. It also
 * contradicts the descriptor if that calls an inode in use never used.
 */
int xw_image_inode_bitmap(struct xw_image *img, uint64_t group, uint8_t *bits);

/*
 * The free runs of a group, ascending, in clusters from its start. Checks and errors are those of
 * xw_image_block_bitmap(); after an error fn has seen the runs of the bitmap as read. Where the
 * bitmap is UNINIT none is built, so such groups are cheap. scratch: block_size bytes, aligned as
 * by malloc(). A non-zero code from fn ends it.
 */
typedef int xw_free_run_fn(void *arg, uint32_t at, uint32_t len);
int xw_image_free_runs(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
		       void *scratch, xw_free_run_fn *fn, void *arg);

#endif
