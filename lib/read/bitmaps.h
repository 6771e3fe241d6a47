/* SPDX-License-Identifier: MIT */
/*
 * The effective block and inode bitmaps of an opened image. Uninitialized bitmaps are computed,
 * bits past the end are set, and a bitmap that is read must match its checksum, the free count of
 * its descriptor and the location of the metadata.
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
 * filesystem. With XW_IMAGE_LENIENT such locations are skipped, and descriptor checksums ignored.
 */
int xw_sysmap_new(struct xw_image *img, struct xw_sysmap **out);
void xw_sysmap_free(struct xw_sysmap *m); /* m may be NULL */

/* Is blk metadata? Returns the number of blocks from blk on (1 .. n) that are alike. */
uint64_t xw_sysmap_at(const struct xw_sysmap *m, xw_blk blk, uint64_t n, bool *is_meta);
/*
 * The same for whole blocks of inode tables with only never used inodes (bg_itable_unused), in
 * tables that are not yet zeroed: their contents are undefined. *group is the group of all returned
 * blocks; xw_image_inode_bitmap() checks whether its bitmap agrees. Always false without descriptor
 * checksums.
 */
uint64_t xw_sysmap_unused_table(const struct xw_sysmap *m, xw_blk blk, uint64_t n, bool *is_unused,
				uint64_t *group);

/* Number of bits in the block bitmap of a group: its clusters (blocks without bigalloc). */
uint32_t xw_image_group_bits(const struct xw_image *img);
/* log2 of the number of blocks in a cluster; 0 without bigalloc. */
uint32_t xw_image_cluster_bits(const struct xw_image *img);
/* Is the bitmap of the group uninitialized (UNINIT flag, with descriptor checksums)? */
bool xw_image_block_uninit(const struct xw_image *img, const struct xw_group_desc *gd);
bool xw_image_inode_uninit(const struct xw_image *img, const struct xw_group_desc *gd);
/*
 * Get the block bitmap of a group, xw_image_group_bits() / 8 bytes, 1 = in use. XW_ERR_CHECKSUM,
 * XW_ERR_CORRUPT: it contradicts its checksum (unless XW_IMAGE_NOCSUM), the free count of the
 * descriptor or the location of the metadata; bits then holds the bitmap as read, with unreadable
 * parts set.
 */
int xw_image_block_bitmap(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
			  uint8_t *bits);
/*
 * The same checks for a bitmap that was already read, of a group that is not UNINIT: 0,
 * XW_ERR_CHECKSUM or XW_ERR_CORRUPT. Sets bits past the end of the filesystem. Modifies only the
 * diag of *img.
 */
int xw_image_block_bits_check(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
			      const struct xw_group_desc *gd, uint8_t *bits);
/*
 * Get the inode bitmap, inodes_per_group rounded up to a multiple of 8 bits; errors as above. An
 * inode in use among the bg_itable_unused last ones is XW_ERR_CORRUPT, too.
 */
int xw_image_inode_bitmap(struct xw_image *img, uint64_t group, uint8_t *bits);

/*
 * Pass the free runs of a group to fn, ascending, in clusters from its start. Checks and errors as
 * for xw_image_block_bitmap(); after an error fn has received the runs of the bitmap as read. No
 * bitmap is built for UNINIT groups, so they are cheap. scratch: block_size bytes, aligned as by
 * malloc(). A non-zero result of fn ends the walk.
 */
typedef int xw_free_run_fn(void *arg, uint32_t at, uint32_t len);
int xw_image_free_runs(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
		       void *scratch, xw_free_run_fn *fn, void *arg);

#endif
