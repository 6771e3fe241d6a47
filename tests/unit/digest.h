/* SPDX-License-Identifier: MIT */
/* One number for the contents of an image: of all blocks in use, but those of its log. */
#ifndef XW_TESTS_DIGEST_H
#define XW_TESTS_DIGEST_H

#include "base/hash.h"
#include "read/bitmaps.h"
#include "read/map.h"
#include "unit.h"

static inline bool in_log(const struct xw_map_run *log, size_t n, xw_blk blk)
{
	for (size_t i = 0; i < n; i++)
		if (blk >= log[i].pblk && blk < log[i].pblk + log[i].len)
			return true;
	return false;
}

static inline size_t find_log(struct xw_image *img, struct xw_map_run *log, size_t room)
{
	struct xw_map_iter it;
	struct xw_inode in;
	size_t n = 0;

	if (!(img->sb.feature_compat & XW_COMPAT_HAS_JOURNAL))
		return 0;
	ck_assert_int_eq(xw_image_inode(img, XW_INO_JOURNAL, &in, NULL), 0);
	ck_assert_int_eq(xw_map_begin(img, XW_INO_JOURNAL, &in, 0, &it), 0);
	while (n < room && xw_map_next(&it, &log[n]) > 0)
		n++;
	xw_map_end(&it);
	return n;
}

/* What may hold anything: the end of a table that was never zeroed, behind all used inodes. */
static inline struct xw_run tail_of(struct xw_image *img, uint64_t group)
{
	const uint32_t per = img->block_size / img->inode_size;
	struct xw_group_desc gd;
	uint32_t used = 0;

	ck_assert_int_eq(xw_image_group(img, group, &gd), 0);
	if (!(img->sb.feature_ro_compat & (XW_RO_GDT_CSUM | XW_RO_METADATA_CSUM)) ||
	    gd.flags & XW_BG_INODE_ZEROED)
		return (struct xw_run){0};
	if (!(gd.flags & XW_BG_INODE_UNINIT))
		used = (img->sb.inodes_per_group - gd.itable_unused + per - 1) / per;
	return (struct xw_run){gd.inode_table + used, img->itable_blocks - used};
}

/* Of all that is in use, but the log. */
static inline uint64_t digest(struct xw_dev *dev)
{
	struct xw_diag diag = {0};
	struct xw_map_run log[64];
	struct xw_run tail = {0};
	struct xw_sysmap *sys;
	struct xw_image *img;
	uint64_t sum = 0, group = UINT64_MAX;
	uint8_t buf[4096], bits[4096];
	size_t n_log;

	if (xw_image_open(dev, 0, &diag, &img) || xw_sysmap_new(img, &sys))
		ck_abort_msg("%s", diag.text);
	n_log = find_log(img, log, XW_ARRAY_SIZE(log));
	for (xw_blk blk = img->sb.first_data_block; blk < img->sb.blocks_count; blk++) {
		const uint64_t at = blk - img->sb.first_data_block;
		const uint64_t bit = at % img->sb.blocks_per_group >> xw_image_cluster_bits(img);

		if (group != at / img->sb.blocks_per_group) {
			group = at / img->sb.blocks_per_group;
			ck_assert_int_eq(xw_image_block_bitmap(img, sys, group, bits), 0);
			tail = tail_of(img, group); /* no flex groups here: it lies in it */
		}
		if (!(bits[bit / 8] >> bit % 8 & 1) || in_log(log, n_log, blk) ||
		    (blk >= tail.start && blk < tail.start + tail.len))
			continue;
		ck_assert_int_eq(xw_dev_pread(dev, buf, img->block_size, blk * img->block_size), 0);
		sum = xw_hash_fixed(buf, img->block_size, sum + blk);
	}
	xw_sysmap_free(sys);
	xw_image_close(img);
	return sum;
}

#endif
