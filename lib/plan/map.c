/* SPDX-License-Identifier: MIT */
/* Run-length coded placement of group metadata; see map.h. */
#include "plan/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

void xw_map_init(struct xw_geo_map *map, const struct xw_geo *geo, uint32_t first_group)
{
	memset(map, 0, sizeof(*map));
	map->first_group = first_group;
	map->unit[XW_META_BLOCK_BITMAP] = 1;
	map->unit[XW_META_INODE_BITMAP] = 1;
	map->unit[XW_META_INODE_TABLE] = geo->itable_blocks;
}

void xw_map_free(struct xw_geo_map *map)
{
	for (int k = 0; k < XW_META_KINDS; k++)
		xw_vec_free(&map->segs[k]);
	xw_vec_free(&map->runs);
}

int xw_map_add(struct xw_geo_map *map, enum xw_meta_kind kind, uint32_t group, uint32_t count,
	       uint64_t start)
{
	struct xw_seg *last = map->segs[kind].n ? &map->segs[kind].v[map->segs[kind].n - 1] : NULL;
	struct xw_seg seg = {.start = start, .first = group, .count = count};

	if (last && last->start + (uint64_t)last->count * map->unit[kind] == start) {
		last->count += count;
		return 0;
	}
	return xw_vec_push(&map->segs[kind], seg);
}

int xw_map_seal(struct xw_geo_map *map)
{
	size_t out = 0;

	for (int k = 0; k < XW_META_KINDS; k++) {
		for (size_t i = 0; i < map->segs[k].n; i++) {
			const struct xw_seg *seg = &map->segs[k].v[i];
			struct xw_run run = {seg->start, (uint64_t)seg->count * map->unit[k]};

			if (xw_vec_push(&map->runs, run))
				return XW_ERR_NOMEM;
		}
	}
	if (!map->runs.n)
		return 0;
	qsort(map->runs.v, map->runs.n, sizeof(*map->runs.v), xw_by_u64);
	for (size_t i = 1; i < map->runs.n; i++) {
		struct xw_run *prev = &map->runs.v[out];

		if (prev->start + prev->len == map->runs.v[i].start)
			prev->len += map->runs.v[i].len;
		else
			map->runs.v[++out] = map->runs.v[i];
	}
	map->runs.n = out + 1;
	return 0;
}

uint64_t xw_map_find(const struct xw_geo_map *map, enum xw_meta_kind kind, uint32_t group)
{
	const struct xw_seg *segs = map->segs[kind].v, *seg;

	seg = segs + XW_LOWER_BOUND(i, map->segs[kind].n, segs[i].first > group) - 1;
	return seg->start + (uint64_t)(group - seg->first) * map->unit[kind];
}
