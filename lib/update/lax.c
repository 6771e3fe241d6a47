// SPDX-License-Identifier: MIT
/*
 * Space of an image that may contradict itself, for debuggers: bitmaps are believed as they are,
 * checked against nothing. Where a descriptor's counts differ from its bitmaps the difference is
 * remembered, once, and kept: so counts change by what the change takes and frees, and an image
 * that was made wrong on purpose is as wrong afterwards.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "update/edit.h"
#include "update/update_internal.h"

static struct xw_update_bias *find(const struct xw_update *u, uint32_t group)
{
	for (size_t i = 0; i < u->bias.groups.n; i++)
		if (u->bias.groups.v[i].group == group)
			return &u->bias.groups.v[i];
	return NULL;
}

struct xw_update_bias xw_update_bias_of(const struct xw_update *u, uint32_t group)
{
	const struct xw_update_bias *b = find(u, group);

	return b ? *b : (struct xw_update_bias){0};
}

int64_t xw_update_bias_blocks(const struct xw_update *u)
{
	int64_t sum = 0;

	for (size_t i = 0; i < u->bias.groups.n; i++)
		sum += u->bias.groups.v[i].blocks;
	return sum * (INT64_C(1) << u->place.enc.cluster_bits);
}

/* The entry of a group, begun if need be; NULL: out of memory. */
static struct xw_update_bias *entry(struct xw_update *u, uint32_t group)
{
	struct xw_update_bias *b = find(u, group);

	if (b)
		return b;
	if (xw_vec_push(&u->bias.groups, ((struct xw_update_bias){.group = group}))) {
		xw_fail_nomem(u->diag, "group counts");
		return NULL;
	}
	return &u->bias.groups.v[u->bias.groups.n - 1];
}

static uint32_t count_free(const uint8_t *bits, uint32_t n)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < n; i++)
		used += bits[i / 8] >> i % 8 & 1;
	return n - used;
}

/* Ones from bit `from` to the end of the byte that holds bit n - 1. */
static void fill(uint8_t *bits, uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < (n + 7) / 8 * 8; i++)
		bits[i / 8] |= (uint8_t)(1u << i % 8);
}

static int read_bits(struct xw_update *u, uint32_t group, bool inodes,
		     const struct xw_group_desc *gd, uint8_t *bits)
{
	const uint32_t n = inodes ? u->img->sb.inodes_per_group : xw_image_group_bits(u->img);
	const uint32_t csum = inodes ? gd->inode_bitmap_csum : gd->block_bitmap_csum;
	const xw_blk blk = inodes ? gd->inode_bitmap : gd->block_bitmap;
	const uint32_t bytes = (n + 7) / 8;
	int ret;

	if (bytes > u->img->block_size || !xw_image_has_blocks(u->img, blk, 1)) {
		memset(bits, 0xff, bytes); /* nothing can be taken from what cannot be read */
		return 0;
	}
	ret = xw_dev_pread(u->img->dev, bits, bytes, blk * u->img->block_size);
	return ret ? ret : xw_update_check_bitmap(u, group, inodes, csum, bits);
}

/* A bitmap that was never written: what the group's metadata takes. */
static void uninit_blocks(struct xw_update *u, xw_blk start, uint64_t len, uint8_t *bits)
{
	const uint32_t per_bit =
		(uint32_t)(u->img->sb.blocks_per_group / xw_image_group_bits(u->img));
	uint64_t some;

	memset(bits, 0, xw_image_group_bits(u->img) / 8);
	for (uint64_t at = 0; at < len; at += some) {
		bool meta;

		some = xw_sysmap_at(u->sysmap, start + at, len - at, &meta);
		for (uint64_t i = at; meta && i < at + some; i++)
			bits[i / per_bit / 8] |= (uint8_t)(1u << i / per_bit % 8);
	}
}

static bool never_written(const struct xw_update *u, const struct xw_group_desc *gd, uint16_t flag)
{
	return gd->flags & flag &&
	       u->img->sb.feature_ro_compat & (XW_RO_GDT_CSUM | XW_RO_METADATA_CSUM);
}

int xw_update_lax_blocks(struct xw_update *u, uint32_t group, uint8_t *bits)
{
	const struct xw_super *sb = &u->img->sb;
	const uint32_t n = xw_image_group_bits(u->img);
	const xw_blk start = sb->first_data_block + (uint64_t)group * sb->blocks_per_group;
	const uint64_t len = XW_MIN(sb->blocks_per_group, sb->blocks_count - start);
	struct xw_update_bias *b = find(u, group);
	struct xw_group_desc gd;
	int64_t wrong;
	int ret = xw_image_group(u->img, group, &gd);

	if (!ret && never_written(u, &gd, XW_BG_BLOCK_UNINIT))
		uninit_blocks(u, start, len, bits);
	else if (!ret)
		ret = read_bits(u, group, false, &gd, bits);
	if (!ret)
		ret = xw_update_hide_metadata(u, group, start, len, bits);
	if (ret)
		return ret;
	fill(bits, (uint32_t)xw_div_up(len, sb->blocks_per_group / n), n);
	wrong = (int64_t)gd.free_blocks - count_free(bits, n);
	if (!wrong || (b && b->know_blocks))
		return 0;
	b = entry(u, group);
	if (!b)
		return XW_ERR_NOMEM;
	b->blocks = wrong;
	b->know_blocks = true;
	return 0;
}

int xw_update_lax_inodes(struct xw_update *u, uint32_t group, uint8_t *bits)
{
	const uint32_t n = u->img->sb.inodes_per_group;
	struct xw_update_bias *b = find(u, group);
	struct xw_group_desc gd;
	int64_t wrong;
	int ret = xw_image_group(u->img, group, &gd);

	if (!ret && never_written(u, &gd, XW_BG_INODE_UNINIT))
		memset(bits, 0, (n + 7) / 8);
	else if (!ret)
		ret = read_bits(u, group, true, &gd, bits);
	if (ret || (b && b->know_inodes))
		return ret;
	wrong = (int64_t)gd.free_inodes - count_free(bits, n);
	if (!wrong)
		return 0;
	b = entry(u, group);
	if (!b)
		return XW_ERR_NOMEM;
	b->inodes = wrong;
	b->know_inodes = true;
	return 0;
}

int xw_update_lax_dirs(struct xw_update *u, uint32_t group, uint32_t *dirs)
{
	struct xw_igroup_summary sum;
	struct xw_update_bias *b;
	uint32_t most;

	xw_ispace_group(u->inodes, group, &sum);
	most = u->img->sb.inodes_per_group - sum.free;
	if (*dirs <= most)
		return 0;
	b = entry(u, group);
	if (!b)
		return XW_ERR_NOMEM;
	b->dirs = *dirs - most;
	*dirs = most;
	return 0;
}

int xw_update_lax_end(struct xw_update *u, uint32_t group, uint32_t *end)
{
	auto_free uint8_t *bits = malloc(XW_MAX(u->img->block_size, u->img->sb.inodes_per_group));
	int ret = bits ? xw_update_lax_inodes(u, group, bits)
		       : xw_fail_nomem(u->diag, "inode bitmap");

	*end = u->img->sb.inodes_per_group;
	while (!ret && *end && !(bits[(*end - 1) / 8] >> (*end - 1) % 8 & 1))
		--*end;
	return ret;
}

uint32_t xw_update_lax_unused(const struct xw_update *u, uint32_t group,
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
	int ret = xw_space_release(u->space, r->start, r->len);

	for (uint64_t i = 0; ret == XW_ERR_CORRUPT && i < r->len; i++) {
		const int one = xw_space_release(u->space, r->start + i, 1);

		if (one && one != XW_ERR_CORRUPT)
			return one;
	}
	return ret == XW_ERR_CORRUPT ? 0 : ret;
}

/* Metadata that a damaged inode claims stays in use. */
int xw_update_lax_release(struct xw_update *u, const struct xw_run *r)
{
	uint64_t some;
	int ret = 0;

	for (uint64_t i = 0; i < r->len && !ret; i += some) {
		const bool meta = xw_update_is_metadata(u, r->start + i, r->len - i, &some);

		ret = meta ? 0 : release_run(u, &(struct xw_run){r->start + i, some});
	}
	return ret;
}

/*
 * A bit alone: taken or freed as any, with the difference that this makes to the counts remembered
 * as one that was there.
 */

int xw_update_mark_block(struct xw_update *u, xw_blk blk, bool used)
{
	const struct xw_super *sb = &u->img->sb;
	const uint32_t group = (uint32_t)((blk - sb->first_data_block) / sb->blocks_per_group);
	struct xw_update_bias *b;
	uint64_t some;
	int ret;

	if (xw_update_is_metadata(u, blk, 1, &some))
		return xw_update_mark_metadata(u, blk, used);
	ret = used ? xw_space_claim(u->space, blk, 1) : xw_space_release(u->space, blk, 1);
	if (ret)
		return ret == XW_ERR_CORRUPT ? XW_ERR_EXISTS : ret;
	b = entry(u, group);
	if (!b)
		return XW_ERR_NOMEM;
	b->know_blocks = true;
	b->blocks += used ? 1 : -1;
	return 0;
}

int xw_update_mark_inode(struct xw_update *u, xw_ino ino, bool used)
{
	struct xw_update_bias *b;
	int ret = xw_update_unhide_inode(u, ino);

	if (!ret)
		ret = used ? xw_ispace_claim(u->inodes, ino, false)
			   : xw_ispace_release(u->inodes, ino, false);
	if (ret)
		return ret == XW_ERR_CORRUPT ? XW_ERR_EXISTS : ret;
	b = entry(u, (ino - 1) / u->img->sb.inodes_per_group);
	if (!b)
		return XW_ERR_NOMEM;
	b->know_inodes = true;
	b->inodes += used ? 1 : -1;
	u->bias.inodes += used ? 1 : -1;
	return 0;
}
