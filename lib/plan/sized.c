/* SPDX-License-Identifier: MIT */
/*
 * Geometry for a known size, as mke2fs 1.47.0 computes it (observed at every branch;
 * tests/oracle/geometry.sh compares).
 *
 * The computation is a loop, because its parts depend on each other: too many inodes per group
 * require smaller groups; a last group too short for its own metadata is dropped, so the remaining
 * groups need more inodes each. Each iteration either shrinks the groups, and starts again with the
 * full size, or drops the last group, so the loop terminates.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/bad.h"
#include "plan/map.h"

#define INODES_MIN 16u /* the reserved ones, lost+found, and the next multiple of 8 */
#define LAST_GROUP_SPARE 50 /* blocks a last group must have beyond its metadata */

struct sizing {
	struct xw_geo *geo;
	const struct xw_mkfs_params *p;
	struct xw_diag *diag;
	uint64_t blocks; /* requested */
	uint64_t inodes; /* requested */
	uint64_t reserved; /* -m, in blocks */
	uint64_t resize_room; /* descriptor blocks to reserve by -E resize=, 0 = default */
};

void xw_geo_start(const struct xw_mkfs_params *p, struct xw_geo *geo)
{
	memset(geo, 0, sizeof(*geo));
	geo->features = p->features;
	geo->block_size = p->block_size;
	while (1024u << geo->log_block_size < p->block_size)
		geo->log_block_size++;
	while (p->block_size << geo->cluster_bits < p->cluster_size)
		geo->cluster_bits++;
	geo->first_data_block = p->block_size == 1024 && !geo->cluster_bits;
	geo->blocks_per_group = p->blocks_per_group
					? p->blocks_per_group
					: xw_group_blocks_max(p->block_size) << geo->cluster_bits;
	geo->inode_size = p->inode_size;
	geo->desc_size =
		xw_has_incompat(&p->features, XW_INCOMPAT_64BIT) ? XW_MAX(p->desc_size, 64) : 32;
	geo->desc_per_block = geo->block_size / geo->desc_size;
	geo->flex_size = p->flex_size;
	geo->stride = p->stride;
	geo->packed_meta =
		p->packed_meta_blocks && xw_has_incompat(&p->features, XW_INCOMPAT_FLEX_BG);
}

uint64_t xw_geo_overhead(const struct xw_geo *geo)
{
	return geo->first_data_block + xw_geo_heads(geo) +
	       (uint64_t)geo->groups * (2 + geo->itable_blocks) + geo->journal_blocks;
}

static int too_large(const struct sizing *s)
{
	return xw_fail(s->diag, XW_ERR_LIMIT,
		       "SIZE: %llu blocks of %u bytes are more than ext4 can describe",
		       (unsigned long long)s->blocks, s->geo->block_size);
}

static int too_small(const struct sizing *s, uint64_t need)
{
	return xw_fail(s->diag, XW_ERR_NOSPC,
		       "SIZE: %llu blocks of %u bytes are too few for a filesystem: %llu needed",
		       (unsigned long long)s->blocks, s->geo->block_size, (unsigned long long)need);
}

static int needed_inodes(struct sizing *s)
{
	const struct xw_mkfs_params *p = s->p;
	uint64_t bytes = s->blocks * s->geo->block_size;

	s->inodes = p->inodes ? p->inodes : XW_MIN(bytes / p->bytes_per_inode, UINT32_MAX);
	if (s->inodes > bytes / p->inode_size)
		return xw_fail(
			s->diag, XW_ERR_USAGE,
			"%s: %llu inodes of %u bytes are too many for %llu blocks of %u bytes",
			p->inodes ? "-N" : "-i", (unsigned long long)s->inodes, p->inode_size,
			(unsigned long long)s->blocks, p->block_size);
	return 0;
}

/* sparse_super2: the groups with a backup superblock. */
static void place_backups(struct xw_geo *geo, const struct xw_mkfs_params *p)
{
	int copies = p->num_backup_sb < 0 ? 2 : p->num_backup_sb;
	bool two = xw_has_compat(&geo->features, XW_COMPAT_SPARSE_SUPER2);

	/* a single copy is stored in the second element, as in mke2fs */
	geo->backup_bgs[0] = two && copies > 1 && geo->groups > 2 ? 1 : 0;
	geo->backup_bgs[1] = two && copies > 0 && geo->groups > 1 ? 1 : 0;
	if (geo->backup_bgs[0])
		geo->backup_bgs[1] = geo->groups - 1;
}

/*
 * Number of descriptor blocks to reserve for -E resize=. As in mke2fs, computed with groups of the
 * original size, even if iterate() shrinks them.
 */
static uint64_t resize_room(const struct xw_geo *geo, const struct xw_mkfs_params *p,
			    uint64_t blocks)
{
	uint64_t bpg = p->blocks_per_group
			       ? p->blocks_per_group
			       : xw_group_blocks_max(geo->block_size) << geo->cluster_bits;
	uint64_t want = xw_div_up(xw_div_up(p->resize_blocks, bpg), geo->desc_per_block);
	uint64_t now = xw_div_up(xw_div_up(blocks, bpg), geo->desc_per_block);

	return want > now ? want - now : 0;
}

/* s_reserved_gdt_blocks: for -E resize=, else for 1024 times the size, below 2^32 blocks. */
static uint32_t reserved_gdt(const struct sizing *s)
{
	const struct xw_geo *geo = s->geo;
	uint64_t want = s->resize_room;

	if (!xw_has_compat(&geo->features, XW_COMPAT_RESIZE_INODE))
		return 0;
	if (!want) {
		uint64_t most = geo->blocks < UINT32_MAX / 1024 ? geo->blocks * 1024 : UINT32_MAX;

		want = xw_div_up(xw_div_up(most - geo->first_data_block, geo->blocks_per_group),
				 geo->desc_per_block);
		want = want > geo->desc_blocks ? want - geo->desc_blocks : 0;
	}
	/* limited by the double-indirect block of the resize inode, and by bad blocks */
	want = XW_MIN(want, geo->block_size / 4);
	return (uint32_t)XW_MIN(want, xw_geo_good_after_desc(geo));
}

uint64_t xw_geo_inodes_to_grow(const struct xw_geo *geo, const struct xw_mkfs_params *p)
{
	const uint64_t bytes = (uint64_t)geo->blocks_per_group * geo->block_size;

	return p->grow_ratio && !p->inodes ? XW_MIN(bytes / p->grow_ratio, xw_geo_inodes_max(geo))
					   : 0;
}

/* Inodes per group: whole table blocks, a multiple of 8, and fewer than 2^32 in total. */
static void round_inodes(struct xw_geo *geo, uint64_t per_group)
{
	uint32_t size = geo->inode_size, block = geo->block_size, step = XW_MAX(block / size, 8);

	per_group = xw_div_up(per_group * size, block) * block / size & ~7ull;
	per_group = XW_MAX(XW_MIN(per_group, xw_geo_inodes_max(geo)), 8);
	while (per_group > step && per_group * geo->groups > UINT32_MAX)
		per_group -= step;
	geo->inodes_per_group = (uint32_t)per_group;
	geo->itable_blocks = (uint32_t)xw_div_up(per_group * size, block);
}

/* n * a / b, rounded down */
static uint64_t scale(uint64_t n, uint64_t a, uint64_t b)
{
	return (uint64_t)((unsigned __int128)n * a / b);
}

/* One iteration. 0: final; 1: blocks or group size changed, repeat; negative: failed. */
static int iterate(struct sizing *s)
{
	struct xw_geo *geo = s->geo;
	uint64_t body = geo->blocks - geo->first_data_block;
	uint64_t groups = xw_div_up(body, geo->blocks_per_group);
	uint64_t inodes, per_group, meta, rest;

	if (groups > UINT32_MAX / 8 || groups > UINT32_MAX - 1)
		return too_large(s);
	geo->groups = (uint32_t)groups;
	geo->desc_blocks = (uint32_t)xw_div_up(groups, geo->desc_per_block);
	/* without inodes, because -i exceeds the filesystem size: one per 4 KiB, as in mke2fs */
	inodes = s->inodes ? s->inodes : geo->blocks * geo->block_size / 4096;
	inodes = XW_MAX(inodes, INODES_MIN);
	per_group = xw_div_up(inodes, groups);
	if (per_group > 8ull * geo->block_size) {
		if (geo->blocks_per_group < 256)
			return xw_fail(s->diag, XW_ERR_USAGE,
				       "-N, -i: %llu inodes are too many for %llu blocks",
				       (unsigned long long)inodes, (unsigned long long)s->blocks);
		geo->blocks_per_group -= 8u << geo->cluster_bits;
		geo->blocks = s->blocks;
		return 1;
	}
	round_inodes(geo, XW_MAX(per_group, xw_geo_inodes_to_grow(geo, s->p)));
	place_backups(geo, s->p);
	geo->reserved_gdt = reserved_gdt(s);
	if (!xw_geo_meta_bg(geo) &&
	    geo->desc_blocks + geo->reserved_gdt > geo->blocks_per_group / 4 * 3) {
		geo->features.w[XW_FW_INCOMPAT] |= XW_INCOMPAT_META_BG;
		geo->features.w[XW_FW_COMPAT] &= ~XW_COMPAT_RESIZE_INODE;
		geo->reserved_gdt = 0;
	}
	geo->head_blocks = xw_geo_meta_bg(geo) ? 2 : 1 + geo->desc_blocks + geo->reserved_gdt;
	meta = 2 + geo->itable_blocks;
	if (meta + geo->head_blocks > geo->blocks_per_group)
		return xw_fail(s->diag, XW_ERR_USAGE,
			       "-N, -i: metadata of %llu blocks does not fit groups of %u",
			       (unsigned long long)meta + geo->head_blocks, geo->blocks_per_group);
	meta += xw_geo_head(geo, geo->groups - 1);
	rest = body % geo->blocks_per_group;
	if (!rest || rest >= meta + LAST_GROUP_SPARE)
		return 0;
	if (groups == 1)
		return too_small(s, geo->first_data_block + meta + LAST_GROUP_SPARE);
	geo->reserved_blocks = scale(s->reserved, geo->blocks - rest, s->blocks);
	geo->blocks -= rest;
	return 1;
}

/* As in mke2fs, limit -J size= to half of the space without heads and, without flex_bg, tables. */
static int check_journal(const struct sizing *s)
{
	const struct xw_geo *geo = s->geo;
	uint64_t used = geo->first_data_block + xw_geo_heads(geo);

	if (!s->p->journal_bytes && !s->p->fast_commit_kib)
		return 0;
	if (!xw_has_incompat(&geo->features, XW_INCOMPAT_FLEX_BG))
		used += (uint64_t)geo->groups * (2 + geo->itable_blocks);
	if (used >= geo->blocks || geo->journal_blocks > (geo->blocks - used) / 2)
		return xw_fail(s->diag, XW_ERR_USAGE,
			       "-J size: %llu blocks are over half of the %llu-block filesystem",
			       (unsigned long long)geo->journal_blocks,
			       (unsigned long long)geo->blocks);
	return 0;
}

static int compute_size(struct sizing *s)
{
	struct xw_geo *geo = s->geo;
	int rc;

	if (s->blocks <= geo->first_data_block)
		return too_small(s, 64);
	if (s->blocks > XW_BLK_MAX)
		return too_large(s);
	if (s->blocks > UINT32_MAX && geo->desc_size == 32)
		return xw_fail(s->diag, XW_ERR_USAGE, "SIZE: %llu blocks need the feature 64bit",
			       (unsigned long long)s->blocks);
	s->resize_room = resize_room(geo, s->p, s->blocks);
	if (s->resize_room && !xw_has_ro(&geo->features, XW_RO_SPARSE_SUPER))
		return xw_fail(s->diag, XW_ERR_USAGE, "-E resize: needs the feature sparse_super");
	if (s->resize_room && xw_geo_meta_bg(geo))
		return xw_fail(s->diag, XW_ERR_USAGE, "-E resize: not with meta_bg");
	if (s->resize_room)
		geo->features.w[XW_FW_COMPAT] |= XW_COMPAT_RESIZE_INODE;
	if (s->blocks > UINT32_MAX) /* the resize inode has 32-bit block numbers */
		geo->features.w[XW_FW_COMPAT] &= ~XW_COMPAT_RESIZE_INODE;
	rc = needed_inodes(s);
	if (rc)
		return rc;
	s->reserved = geo->reserved_blocks =
		(uint64_t)((double)geo->blocks * s->p->reserved_percent / 100);
	do
		rc = iterate(s);
	while (rc > 0);
	if (rc)
		return rc;
	if ((uint64_t)geo->inodes_per_group * geo->groups < INODES_MIN)
		return xw_fail(
			s->diag, XW_ERR_LIMIT,
			"SIZE: %llu blocks of %u bytes are too few for the minimum of 16 inodes",
			(unsigned long long)geo->blocks, geo->block_size);
	if ((uint64_t)geo->inodes_per_group * geo->groups > UINT32_MAX)
		return xw_fail(s->diag, XW_ERR_LIMIT,
			       "%u groups of %u inodes: must be 2^32-1 inodes at most", geo->groups,
			       geo->inodes_per_group);
	return 0;
}

uint64_t xw_geo_overhead_clusters(const struct xw_geo *geo)
{
	uint64_t used = xw_geo_clusters_up(geo, geo->journal_blocks) >> geo->cluster_bits;

	for (uint32_t g = 0; g < geo->groups; g++) {
		uint32_t free, longest, fragments, first;
		struct xw_group_place at;

		xw_geo_group(geo, g, &at);
		xw_geo_group_summary(geo, g, &free, &longest, &fragments, &first);
		used += (at.blocks >> geo->cluster_bits) - free;
	}
	return used;
}

int xw_geo_plan(const struct xw_mkfs_params *p, uint64_t fs_bytes, struct xw_geo *out,
		struct xw_diag *diag)
{
	struct sizing s = {.geo = out, .p = p, .diag = diag};
	int rc;

	xw_geo_start(p, out);
	out->kind = XW_GEO_SIZED;
	out->bad = p->bad.v;
	out->n_bad = p->bad.n;
	s.blocks = out->blocks = (fs_bytes / p->block_size) >> out->cluster_bits
								       << out->cluster_bits;
	rc = compute_size(&s);
	if (rc)
		return rc;
	out->journal_blocks = xw_geo_journal_blocks(out, p, out->blocks);
	rc = check_journal(&s);
	if (!rc)
		rc = xw_geo_drop_journal(out, p, diag);
	if (rc)
		return rc;
	out->overhead = xw_geo_overhead(out);
	if (out->overhead >= out->blocks)
		return xw_fail(
			diag, XW_ERR_NOSPC,
			"SIZE: %llu blocks of %u bytes are too few for %llu blocks of metadata",
			(unsigned long long)out->blocks, p->block_size,
			(unsigned long long)out->overhead);
	/* bad blocks in a last group that was dropped */
	while (out->n_bad && out->bad[out->n_bad - 1] >= out->blocks)
		out->n_bad--;
	rc = xw_geo_check_bad(out, diag);
	if (!rc)
		rc = out->flex_size > 1 || out->packed_meta ? xw_geo_flex_maps(out, diag)
							    : xw_geo_own_maps(out, diag);
	if (rc) {
		xw_geo_free(out);
		return rc;
	}
	if (out->cluster_bits)
		out->overhead = xw_geo_overhead_clusters(out);
	xw_geo_warn_few_inodes(out, p, diag);
	return 0;
}

void xw_geo_free_maps(struct xw_geo *geo)
{
	for (size_t i = 0; i < geo->n_maps; i++)
		xw_map_free(&geo->maps[i]);
	free(geo->maps);
	geo->maps = NULL;
	geo->n_maps = 0;
}

void xw_geo_free(struct xw_geo *geo)
{
	xw_geo_free_maps(geo);
	free(geo->journal_runs);
	free(geo->journal_map_runs);
	geo->journal_runs = geo->journal_map_runs = NULL;
	geo->n_journal_runs = geo->n_journal_map_runs = 0;
}
