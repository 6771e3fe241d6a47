// SPDX-License-Identifier: MIT
/*
 * Space of an inconsistent image, for debugger, checker and fast commits: bitmaps are used without
 * checks. Differences between a descriptor's counts and its bitmaps are recorded, once, and
 * preserved: counts change only by the blocks and inodes that the change allocates and frees, and
 * an image that was damaged on purpose stays damaged.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "base/popcount.h"
#include "update/update_internal.h"

static uint32_t count_free(const uint8_t *bits, uint32_t n)
{
	uint32_t used = (uint32_t)xw_popcount(bits, n / 8);

	for (uint32_t i = n / 8 * 8; i < n; i++)
		used += bits[i / 8] >> i % 8 & 1;
	return n - used;
}

static int read_bits(struct xw_update *u, uint32_t group, bool inodes,
		     const struct xw_group_desc *gd, uint8_t *bits)
{
	const uint32_t n = inodes ? u->img->sb.inodes_per_group : xw_image_group_bits(u->img);
	const uint32_t csum = inodes ? gd->inode_bitmap_csum : gd->block_bitmap_csum;
	const xw_blk blk = inodes ? gd->inode_bitmap : gd->block_bitmap;
	const uint32_t bytes = (n + 7) / 8;
	int rc;

	if (bytes > u->img->block_size || !xw_image_has_blocks(u->img, blk, 1)) {
		memset(bits, 0xff, bytes); /* nothing can be allocated from an unreadable bitmap */
		return 0;
	}
	rc = xw_dev_pread(u->img->dev, bits, bytes, blk * u->img->block_size);
	return rc ? rc : xw_update_check_bitmap(u, group, inodes, csum, bits);
}

/* The initial bitmap of a BLOCK_UNINIT group: the group's metadata is in use. */
static void uninit_blocks(struct xw_update *u, xw_blk start, uint64_t len, uint8_t *bits)
{
	const uint32_t per_bit =
		(uint32_t)(u->img->sb.blocks_per_group / xw_image_group_bits(u->img));
	uint64_t some;

	memset(bits, 0, xw_image_group_bits(u->img) / 8);
	for (uint64_t at = 0; at < len; at += some) {
		bool meta;

		some = xw_sysmap_at(u->sysmap, start + at, len - at, &meta);
		if (meta)
			xw_set_bits(bits, at / per_bit, (at + some - 1) / per_bit + 1);
	}
}

static bool never_written(const struct xw_update *u, const struct xw_group_desc *gd, uint16_t flag)
{
	return gd->flags & flag && xw_super_has_group_csum(&u->img->sb);
}

int xw_unchecked_blocks(struct xw_update *u, uint32_t group, uint8_t *bits)
{
	const struct xw_super *sb = &u->img->sb;
	const uint32_t n = xw_image_group_bits(u->img);
	const xw_blk start = sb->first_data_block + (uint64_t)group * sb->blocks_per_group;
	const uint64_t len = XW_MIN(sb->blocks_per_group, sb->blocks_count - start);
	struct xw_update_bias *b = xw_update_bias_find(u, group);
	struct xw_group_desc gd;
	int64_t wrong;
	int rc = xw_image_group(u->img, group, &gd);

	if (!rc && never_written(u, &gd, XW_BG_BLOCK_UNINIT))
		uninit_blocks(u, start, len, bits);
	else if (!rc)
		rc = read_bits(u, group, false, &gd, bits);
	if (!rc)
		rc = xw_update_hide_metadata(u, group, start, len, bits);
	if (rc)
		return rc;
	/* to the end of the byte that contains bit n - 1 */
	xw_set_bits(bits, xw_div_up(len, sb->blocks_per_group / n), xw_round_up(n, 8));
	wrong = (int64_t)gd.free_blocks - count_free(bits, n);
	if (!wrong || (b && b->know_blocks))
		return 0;
	b = xw_update_bias_entry(u, group);
	if (!b)
		return XW_ERR_NOMEM;
	b->blocks = wrong;
	b->know_blocks = true;
	return 0;
}

int xw_unchecked_inodes(struct xw_update *u, uint32_t group, uint8_t *bits)
{
	const uint32_t n = u->img->sb.inodes_per_group;
	struct xw_update_bias *b = xw_update_bias_find(u, group);
	struct xw_group_desc gd;
	int64_t wrong;
	int rc = xw_image_group(u->img, group, &gd);

	if (!rc && never_written(u, &gd, XW_BG_INODE_UNINIT))
		memset(bits, 0, (n + 7) / 8);
	else if (!rc)
		rc = read_bits(u, group, true, &gd, bits);
	if (rc || (b && b->know_inodes))
		return rc;
	wrong = (int64_t)gd.free_inodes - count_free(bits, n);
	if (!wrong)
		return 0;
	b = xw_update_bias_entry(u, group);
	if (!b)
		return XW_ERR_NOMEM;
	b->inodes = wrong;
	b->know_inodes = true;
	return 0;
}

int xw_unchecked_dirs(struct xw_update *u, uint32_t group, uint32_t *dirs)
{
	struct xw_igroup_summary sum;
	struct xw_update_bias *b;
	uint32_t most;

	xw_ispace_group(u->inodes, group, &sum);
	most = u->img->sb.inodes_per_group - sum.free;
	if (*dirs <= most)
		return 0;
	b = xw_update_bias_entry(u, group);
	if (!b)
		return XW_ERR_NOMEM;
	b->dirs = *dirs - most;
	*dirs = most;
	return 0;
}

int xw_unchecked_end(struct xw_update *u, uint32_t group, uint32_t *end)
{
	auto_free uint8_t *bits = malloc(XW_MAX(u->img->block_size, u->img->sb.inodes_per_group));
	int rc =
		bits ? xw_unchecked_inodes(u, group, bits) : xw_fail_nomem(u->diag, "inode bitmap");

	*end = u->img->sb.inodes_per_group;
	while (!rc && *end && *end % 8 == 0 && !bits[*end / 8 - 1])
		*end -= 8;
	while (!rc && *end && !(bits[(*end - 1) / 8] >> (*end - 1) % 8 & 1))
		--*end;
	return rc;
}

uint32_t xw_unchecked_unused(const struct xw_update *u, uint32_t group,
			     const struct xw_group_desc *gd)
{
	const uint32_t per = u->img->sb.inodes_per_group;
	uint32_t unused = gd->flags & XW_BG_INODE_UNINIT ? per : gd->itable_unused;

	for (size_t i = 0; i < u->recs.n; i++)
		if ((u->recs.v[i].ino - 1) / per == group)
			unused = XW_MIN(unused, per - 1 - (u->recs.v[i].ino - 1) % per);
	return unused;
}

static int release_run(struct xw_update *u, const struct xw_run *r)
{
	int rc = xw_space_release(u->space, r->start, r->len);

	for (uint64_t i = 0; rc == XW_ERR_CORRUPT && i < r->len; i++) {
		const int one = xw_space_release(u->space, r->start + i, 1);

		if (one && one != XW_ERR_CORRUPT)
			return one;
	}
	return rc == XW_ERR_CORRUPT ? 0 : rc;
}

/* Free a run, except metadata claimed by a damaged inode. */
int xw_unchecked_release(struct xw_update *u, const struct xw_run *r)
{
	uint64_t some;
	int rc = 0;

	for (uint64_t i = 0; i < r->len && !rc; i += some) {
		const bool meta = xw_update_is_metadata(u, r->start + i, r->len - i, &some);

		rc = meta ? 0 : release_run(u, &(struct xw_run){r->start + i, some});
	}
	return rc;
}
