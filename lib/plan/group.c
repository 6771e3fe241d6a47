/* SPDX-License-Identifier: MIT */
/*
 * Queries about one group: whether it has a superblock copy, where its bitmaps and inode table are,
 * which of its blocks are metadata. The answers are computed from formulas and a few segments, so
 * that nothing is stored per group.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/search.h"
#include "plan/map.h"

static bool power_of(uint32_t n, uint32_t base)
{
	while (n > 1 && n % base == 0)
		n /= base;
	return n == 1;
}

bool xw_geo_has_super(const struct xw_geo *geo, uint32_t group)
{
	if (group == 0)
		return true;
	if (xw_has_compat(&geo->features, XW_COMPAT_SPARSE_SUPER2))
		return group == geo->backup_bgs[0] || group == geo->backup_bgs[1];
	if (!xw_has_ro(&geo->features, XW_RO_SPARSE_SUPER))
		return true;
	return group == 1 ||
	       (group % 2 && (power_of(group, 3) || power_of(group, 5) || power_of(group, 7)));
}

static uint64_t next_power(uint64_t at_least, uint64_t base)
{
	uint64_t n = 1;

	while (n < at_least)
		n *= base;
	return n;
}

uint32_t xw_geo_next_super(const struct xw_geo *geo, uint32_t group)
{
	uint64_t next = geo->groups;

	if (group >= geo->groups || xw_geo_has_super(geo, group))
		return XW_MIN(group, geo->groups);
	if (xw_has_compat(&geo->features, XW_COMPAT_SPARSE_SUPER2)) {
		for (int i = 0; i < 2; i++) {
			if (geo->backup_bgs[i] >= group)
				next = XW_MIN(next, geo->backup_bgs[i]);
		}
		return (uint32_t)next;
	}
	for (uint64_t base = 3; base <= 7; base += 2)
		next = XW_MIN(next, next_power(group, base));
	return (uint32_t)next;
}

uint64_t xw_geo_growth(const struct xw_geo *geo)
{
	const uint64_t groups =
		((uint64_t)geo->desc_blocks + geo->reserved_gdt) * geo->desc_per_block;
	uint64_t most = geo->desc_size > 32 ? XW_BLK_MAX : UINT32_MAX;

	if (!xw_geo_meta_bg(geo))
		most = XW_MIN(most, geo->first_data_block + groups * geo->blocks_per_group);
	return XW_MAX(most, geo->blocks);
}

/*
 * -N is the number of inodes of the image itself. resize2fs adds groups with the same number of
 * inodes per group, so a small -N also limits the enlarged filesystem.
 */
void xw_geo_warn_few_inodes(const struct xw_geo *geo, const struct xw_mkfs_params *p,
			    struct xw_diag *diag)
{
	const uint64_t blocks = p->grow_bytes / geo->block_size;
	const uint64_t groups = xw_div_up(blocks, geo->blocks_per_group);
	uint64_t usual, made;

	if (!p->inodes || !p->grow_bytes)
		return;
	usual = XW_MIN(p->grow_bytes / p->grow_ratio, UINT32_MAX);
	made = XW_MIN(groups * geo->inodes_per_group, UINT32_MAX);
	if (made < usual)
		xw_log(diag, XW_LOG_WARN,
		       "-N %llu: enlarged to the size of --grow-to, the filesystem has %llu "
		       "inodes; without -N it has %llu",
		       (unsigned long long)p->inodes, (unsigned long long)made,
		       (unsigned long long)usual);
}

bool xw_geo_has_desc(const struct xw_geo *geo, uint32_t group)
{
	uint32_t i = group % geo->desc_per_block;

	if (!xw_geo_meta_bg(geo))
		return xw_geo_has_super(geo, group);
	return i < 2 || i == geo->desc_per_block - 1;
}

xw_blk xw_geo_super_at(const struct xw_geo *geo, uint32_t group)
{
	return group ? xw_geo_group_start(geo, group) : XW_SUPER_OFFSET / geo->block_size;
}

/* With 1 KiB blocks and bigalloc, group 0 contains block 0 before its superblock: 1, else 0. */
static uint32_t boot_block(const struct xw_geo *geo)
{
	return (uint32_t)(xw_geo_super_at(geo, 0) - geo->first_data_block);
}

uint32_t xw_geo_head(const struct xw_geo *geo, uint32_t group)
{
	const uint32_t boot = group ? 0 : boot_block(geo);

	if (xw_geo_meta_bg(geo))
		return boot + xw_geo_has_super(geo, group) + xw_geo_has_desc(geo, group);
	return xw_geo_has_super(geo, group) ? boot + geo->head_blocks : 0;
}

uint32_t xw_geo_next_head(const struct xw_geo *geo, uint32_t group)
{
	uint64_t next = group;

	if (!xw_geo_meta_bg(geo) || group >= geo->groups)
		return xw_geo_next_super(geo, group);
	if (!xw_geo_has_desc(geo, group))
		next += geo->desc_per_block - 1 - group % geo->desc_per_block;
	return (uint32_t)XW_MIN(next, xw_geo_next_super(geo, group));
}

uint64_t xw_geo_heads(const struct xw_geo *geo)
{
	uint64_t n = 0;

	if (xw_geo_dense(geo) && !xw_geo_meta_bg(geo))
		return (uint64_t)geo->groups * geo->head_blocks + boot_block(geo);
	for (uint64_t g = 0; g < geo->groups; g++) {
		g = xw_geo_next_head(geo, (uint32_t)g);
		n += g < geo->groups ? xw_geo_head(geo, (uint32_t)g) : 0;
	}
	return n;
}

static uint32_t group_blocks(const struct xw_geo *geo, uint32_t group)
{
	return (uint32_t)XW_MIN(geo->blocks_per_group,
				geo->blocks - xw_geo_group_start(geo, group));
}

/* The map that contains a group, and the first group of the map's range; NULL: use a formula. */
static const struct xw_geo_map *map_of(const struct xw_geo *geo, uint32_t group, uint32_t *first)
{
	const size_t n = geo->n_maps - geo->n_common;
	const struct xw_geo_map *own;
	size_t i;

	*first = 0;
	if (!geo->n_maps || geo->kind != XW_GEO_SIZED || geo->packed_meta)
		return geo->n_maps ? &geo->maps[0] : NULL;
	*first = group & ~(geo->flex_size - 1);
	own = geo->maps + geo->n_common;
	i = XW_LOWER_BOUND(k, n, own[k].first_group >= *first);
	if (i < n && own[i].first_group == *first)
		return &own[i];
	if (geo->n_common)
		return &geo->maps[*first / geo->flex_size % geo->n_common];
	*first = 0;
	return NULL; /* without flex_bg only groups with bad blocks have a map */
}

/*
 * SIZED without flex_bg: the bitmaps directly follow the group's head, then comes the inode table.
 * With a RAID stride mke2fs shifts the bitmaps from group to group by the stride, starting behind
 * the table; an inode bitmap that would be the last block of the group is placed after the head.
 */
static void place_unflexed(const struct xw_geo *geo, struct xw_group_place *out, uint32_t group)
{
	xw_blk body = out->start + out->head, end = out->start + out->blocks;
	xw_blk at = body + geo->itable_blocks;

	if (geo->stride && at < end)
		at += (xw_blk)geo->stride * group % (end - at);
	if (!geo->stride || at + 1 >= end)
		at = body;
	out->block_bitmap = at;
	out->inode_bitmap = at + 1 < end - 1 || at == body ? at + 1 : body;
	out->inode_table = body + (at == body ? 2 : out->inode_bitmap == body ? 1 : 0);
}

/*
 * STREAM and TAIL without flex_bg: bitmaps and inode table are at the end of the group, except in
 * the last group of a TAIL.
 */
static void place_own(const struct xw_geo *geo, struct xw_group_place *out, uint32_t group)
{
	xw_blk at = out->start + out->blocks - 2 - xw_geo_table_blocks(geo, group);

	if (geo->kind == XW_GEO_TAIL && group == geo->groups - 1)
		at = geo->own_last;
	out->block_bitmap = at;
	out->inode_bitmap = at + 1;
	out->inode_table = at + 2;
}

void xw_geo_group(const struct xw_geo *geo, uint32_t group, struct xw_group_place *out)
{
	uint32_t first;
	const struct xw_geo_map *map = map_of(geo, group, &first);
	xw_blk base = xw_geo_group_start(geo, first);

	memset(out, 0, sizeof(*out));
	out->start = xw_geo_group_start(geo, group);
	out->blocks = group_blocks(geo, group);
	out->has_super = xw_geo_has_super(geo, group);
	out->head = XW_MIN(xw_geo_head(geo, group), out->blocks);
	if (geo->kind == XW_GEO_STREAM && !xw_geo_own(geo))
		return;
	if (!map) {
		if (geo->kind == XW_GEO_SIZED)
			place_unflexed(geo, out, group);
		else
			place_own(geo, out, group);
		return;
	}
	out->block_bitmap = base + xw_map_find(map, XW_META_BLOCK_BITMAP, group - first);
	out->inode_bitmap = base + xw_map_find(map, XW_META_INODE_BITMAP, group - first);
	out->inode_table = base + xw_map_find(map, XW_META_INODE_TABLE, group - first);
}

/*
 * Iterates over a group's metadata: disjoint ranges [from, to) of blocks in the group, ascending.
 */
struct used_walk {
	xw_blk start, end; /* the group */
	xw_blk base; /* block to which runs are relative */
	uint32_t head; /* size of the head; 0 once visited */
	const struct xw_run *runs;
	size_t i, n;
	struct xw_run own[3];
};

static void walk_start(struct used_walk *w, const struct xw_geo *geo, uint32_t group)
{
	uint32_t first;
	const struct xw_geo_map *map = map_of(geo, group, &first);
	struct xw_group_place place;

	xw_geo_group(geo, group, &place);
	memset(w, 0, sizeof(*w));
	w->start = place.start;
	w->end = place.start + place.blocks;
	w->head = place.head;
	if (geo->kind == XW_GEO_STREAM && !xw_geo_own(geo))
		return;
	if (!map) {
		w->own[0] = (struct xw_run){place.block_bitmap, 1};
		w->own[1] = (struct xw_run){place.inode_bitmap, 1};
		w->own[2] = (struct xw_run){place.inode_table, xw_geo_table_blocks(geo, group)};
		qsort(w->own, 3, sizeof(*w->own), xw_by_u64);
		w->runs = w->own;
		w->n = 3;
		return;
	}
	w->base = xw_geo_group_start(geo, first);
	w->runs = map->runs.v;
	w->n = map->runs.n;
	w->i = XW_LOWER_BOUND(i, w->n, w->base + w->runs[i].start + w->runs[i].len > w->start);
}

static bool walk_next(struct used_walk *w, uint32_t *from, uint32_t *to)
{
	xw_blk start, end;

	if (w->head) {
		*from = 0;
		*to = w->head;
		w->head = 0;
		return true;
	}
	if (w->i >= w->n || w->base + w->runs[w->i].start >= w->end)
		return false;
	start = w->base + w->runs[w->i].start;
	end = start + w->runs[w->i].len;
	w->i++;
	*from = start > w->start ? (uint32_t)(start - w->start) : 0;
	*to = (uint32_t)(XW_MIN(end, w->end) - w->start);
	return true;
}

/* Number of clusters that hold the first `blocks` blocks of a group. */
static uint32_t to_cluster(const struct xw_geo *geo, uint32_t blocks)
{
	return (uint32_t)xw_div_up(blocks, UINT64_C(1) << geo->cluster_bits);
}

void xw_geo_group_bitmap(const struct xw_geo *geo, uint32_t group, uint8_t *bits)
{
	const uint32_t per_group = geo->blocks_per_group >> geo->cluster_bits;
	struct used_walk w;
	uint32_t from, to;

	walk_start(&w, geo, group);
	memset(bits, 0, per_group / 8);
	while (walk_next(&w, &from, &to))
		xw_set_bits(bits, from >> geo->cluster_bits, to_cluster(geo, to));
	xw_set_bits(bits, to_cluster(geo, (uint32_t)(w.end - w.start)), per_group);
}

void xw_geo_group_summary(const struct xw_geo *geo, uint32_t group, uint32_t *free_blocks,
			  uint32_t *longest, uint32_t *fragments, uint32_t *first_free)
{
	struct used_walk w;
	uint32_t at = 0, from, to;
	bool more = true;

	walk_start(&w, geo, group);
	*free_blocks = *longest = *fragments = *first_free = 0;
	while (more) {
		more = walk_next(&w, &from, &to);
		if (!more)
			from = to = (uint32_t)(w.end - w.start);
		from >>= geo->cluster_bits;
		to = to_cluster(geo, to);
		if (from > at) {
			if (!*fragments)
				*first_free = at;
			*free_blocks += from - at;
			*longest = XW_MAX(*longest, from - at);
			(*fragments)++;
		}
		at = XW_MAX(at, to);
	}
}
