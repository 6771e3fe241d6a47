// SPDX-License-Identifier: MIT
/* Allocates space for metadata. */
#include "config.h"

#include "place/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

#define LARGE_BYTES (10u << 20) /* from this size on, missing space is reported in MiB */

void xw_binode_free_map(struct xw_binode *n)
{
	if (n->n_ext > 1)
		free(n->exts);
	if (n->map)
		free(n->map->runs);
	free(n->map);
}

int xw_place_item(struct xw_placer *p, unsigned kind, xw_blk blk, uint64_t ref)
{
	struct xw_item it = {.blk = blk, .ref = ref, .kind = kind};

	return xw_vec_push(&p->items, it) ? xw_fail_nomem(p->enc.diag, "metadata list") : 0;
}

int xw_place_write(struct xw_placer *p, xw_blk blk, const void *buf, size_t len)
{
	return xw_out_write(p->out, blk * p->enc.block_size, buf, len);
}

/*
 * Allocate in the first gap that can hold len blocks. Returns 1, 0 if there is none, or an error.
 * The first gap is abandoned if it cannot hold a request and little of it is left, so that related
 * blocks stay together.
 */
static int alloc_in_gap(struct xw_placer *p, uint64_t len, struct xw_run *run)
{
	xw_blk at = p->gap = xw_space_next_free(p->space, p->gap);

	for (; at < p->gaps_end; at = xw_space_next_free(p->space, at)) {
		uint64_t have = xw_space_run_at(p->space, at, XW_MAX(len, XW_PLACE_GAP));
		int rc;

		if (have >= len) {
			rc = xw_space_claim(p->space, at, len);
			*run = (struct xw_run){at, len};
			return rc ? rc : 1;
		}
		if (at == p->gap && have < XW_PLACE_GAP)
			p->gap = at + have;
		at += have;
	}
	return 0;
}

int xw_place_alloc(struct xw_placer *p, uint64_t len, struct xw_run **runs, size_t *n)
{
	struct xw_run one;
	int rc;

	*runs = NULL;
	*n = 0;
	if (p->missing) {
		p->missing += len;
		return 0;
	}
	rc = p->gap < p->gaps_end ? alloc_in_gap(p, len, &one) : 0;
	if (rc > 0) {
		*runs = malloc(sizeof(**runs));
		if (!*runs)
			return xw_fail_nomem(p->enc.diag, "metadata runs");
		**runs = one;
		*n = 1;
	}
	if (rc)
		return rc < 0 ? rc : 0;
	if (p->existing) {
		const struct xw_alloc_req req = {.goal = p->goal, .len = len};

		rc = xw_space_alloc_all(p->space, &req, runs, n);
		if (!rc)
			p->goal = (*runs)[*n - 1].start + (*runs)[*n - 1].len;
	} else {
		rc = xw_stream_alloc(p->space, &p->stream, len, runs, n);
	}
	if (rc == XW_ERR_NOSPC) {
		uint64_t left = xw_space_free_blocks(p->space);

		p->missing = len > left ? len - left : 1;
		xw_diag_clear(p->enc.diag);
		return 0;
	}
	return rc;
}

/* An extent is at most 32,768 blocks: longer runs are split. */
int xw_binode_set_runs(struct xw_binode *n, const struct xw_run *runs, size_t n_runs)
{
	struct xw_extent *e;
	uint64_t lblk = 0;
	size_t count = 0, k = 0;

	for (size_t i = 0; i < n_runs; i++)
		count += xw_div_up(runs[i].len, XW_EXT_MAX_LEN);
	n->n_ext = (uint32_t)count;
	e = &n->ext;
	if (count > 1) {
		e = n->exts = malloc(count * sizeof(*e));
		if (!e) {
			n->n_ext = 0;
			return XW_ERR_NOMEM;
		}
	}
	for (size_t i = 0; i < n_runs; i++) {
		for (uint64_t done = 0; done < runs[i].len; k++) {
			uint32_t len = (uint32_t)XW_MIN(runs[i].len - done, XW_EXT_MAX_LEN);

			e[k] = (struct xw_extent){(uint32_t)lblk, len, runs[i].start + done, false};
			lblk += len;
			done += len;
		}
	}
	return 0;
}

int xw_place_map(struct xw_placer *p, struct xw_binode *n)
{
	uint64_t blocks = xw_map_blocks(&p->enc, n);
	struct xw_bmap *map;
	int rc;

	if (!blocks)
		return 0;
	map = calloc(1, sizeof(*map));
	if (!map)
		return xw_fail_nomem(p->enc.diag, "extent map");
	n->map = map;
	map->blocks = (uint32_t)blocks;
	rc = xw_place_alloc(p, blocks << p->enc.cluster_bits, &map->runs, &map->n_runs);
	if (rc || !map->n_runs)
		return rc;
	return xw_place_item(p, XW_ITEM_MAP, map->runs[0].start, (uintptr_t)n);
}

int xw_place_alloc_node(struct xw_placer *p, struct xw_binode *n, uint64_t len)
{
	auto_free struct xw_run *runs = NULL;
	size_t n_runs;
	int rc = xw_place_alloc(p, len, &runs, &n_runs);

	if (!rc && xw_binode_set_runs(n, runs, n_runs))
		rc = xw_fail_nomem(p->enc.diag, "extent list");
	return rc;
}

int xw_place_symlink(struct xw_placer *p, struct xw_binode *n)
{
	int rc;

	if (n->size < 60)
		return 0;
	rc = xw_place_alloc_node(p, n, 1);
	if (rc || !n->n_ext)
		return rc;
	return xw_place_item(p, XW_ITEM_SYMLINK, n->ext.pblk, (uintptr_t)n);
}

/* ---- writing ---- */

int xw_map_write(struct xw_placer *q, const struct xw_binode *n)
{
	size_t bs = q->enc.block_size;
	auto_free uint8_t *buf = calloc(n->map->blocks, bs);
	uint8_t *p = buf;
	int rc = 0;

	if (!buf)
		return xw_fail_nomem(q->enc.diag, "extent map");
	xw_map_encode_blocks(&q->enc, n, buf);
	for (uint32_t i = 0; q->enc.cluster_bits && i < n->map->blocks && !rc; i++)
		rc = xw_place_write(q, xw_map_block(n->map, i, q->enc.cluster_bits), buf + i * bs,
				    bs);
	for (size_t i = 0; !q->enc.cluster_bits && i < n->map->n_runs && !rc; i++) {
		rc = xw_place_write(q, n->map->runs[i].start, p, n->map->runs[i].len * bs);
		p += n->map->runs[i].len * bs;
	}
	return rc;
}

/* ---- missing space ---- */

int xw_place_check_room(const struct xw_placer *p)
{
	char missing[XW_PLACE_ROOM_MAX];

	if (!p->missing)
		return 0;
	return xw_fail(p->enc.diag, XW_ERR_NOSPC,
		       "%s: %llu more free blocks needed (%s; blocks of replaced files are freed "
		       "after the commit only); nothing was changed",
		       p->enc.name, (unsigned long long)p->missing,
		       xw_place_missing(p, missing, sizeof(missing)));
}

const char *xw_place_missing(const struct xw_placer *p, char *buf, size_t size)
{
	const uint64_t bytes = p->missing * p->enc.block_size;
	const bool large = bytes >= LARGE_BYTES;
	const uint64_t unit = large ? 1 << 20 : 1 << 10;

	snprintf(buf, size, "%llu %s", (unsigned long long)((bytes + unit - 1) / unit),
		 large ? "MiB" : "KiB");
	return buf;
}
