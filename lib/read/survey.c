// SPDX-License-Identifier: MIT
/*
 * Reads and counts all bitmaps that the allocator has not loaded yet. One thread reads descriptors
 * in waves; several threads examine the groups of a wave in slabs of neighbors, whose bitmaps are
 * usually contiguous. A group with any error is left to xw_space_resolve(), which reports the
 * error.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/pool.h"
#include "read/space.h"

enum { SLAB_GROUPS = 64, SLABS = 16, WAVE = SLAB_GROUPS * SLABS };

struct wave {
	const struct xw_space_view *v;
	const struct xw_space *space;
	uint32_t first, n;
	struct group {
		struct xw_group_desc gd;
		xw_blk place; /* block of the bitmap; 0: not to be read */
		bool seen;
		struct xw_group_survey survey;
	} group[WAVE];
	uint8_t *buf; /* one block per group */
};

static void survey_group(struct wave *w, struct xw_image *img, uint32_t i)
{
	struct group *g = &w->group[i];
	uint8_t *bits = w->buf + (size_t)i * img->block_size;

	if (xw_image_block_bits_check(img, w->v->sysmap, w->first + i, &g->gd, bits))
		return;
	/* Set the bits after the end of the group in its last 64-bit word. */
	memset(bits + xw_image_group_bits(img) / 8, 0xff, -(xw_image_group_bits(img) / 8) % 8);
	xw_space_survey(w->space, w->first + i, bits, &g->survey);
	g->seen = true;
}

static int survey_slab(void *arg, size_t slab)
{
	struct wave *w = arg;
	struct xw_image img = *w->v->img; /* without its cache, which belongs to one thread */
	const uint32_t from = (uint32_t)slab * SLAB_GROUPS, to = XW_MIN(from + SLAB_GROUPS, w->n);
	uint32_t end;

	img.diag = NULL;
	img.cache = NULL;
	for (uint32_t i = from; i < to; i = end) {
		const struct group *g = &w->group[i];

		for (end = i + 1; end < to && g->place; end++)
			if (w->group[end].place != g->place + (end - i))
				break;
		if (!g->place ||
		    xw_dev_pread(img.dev, w->buf + (size_t)i * img.block_size,
				 (size_t)(end - i) * img.block_size, g->place * img.block_size))
			continue;
		for (; i < end; i++)
			survey_group(w, &img, i);
	}
	return 0;
}

/* Select the groups of the wave to be read. */
static bool plan_wave(struct wave *w)
{
	struct xw_image *img = w->v->img;
	bool any = false;

	for (uint32_t i = 0; i < w->n; i++) {
		struct group *g = &w->group[i];

		g->place = 0;
		g->seen = false;
		if (xw_space_known(w->space, w->first + i) ||
		    xw_image_group(img, w->first + i, &g->gd) ||
		    xw_image_block_uninit(img, &g->gd) ||
		    !xw_image_has_blocks(img, g->gd.block_bitmap, 1))
			continue;
		g->place = g->gd.block_bitmap;
		any = true;
	}
	return any;
}

static int survey_all(const struct xw_space_view *v, struct xw_space *space, struct xw_pool *pool,
		      struct wave *w)
{
	int rc = 0;

	w->v = v;
	w->space = space;
	for (w->first = 0; !rc && w->first < v->img->groups; w->first += w->n) {
		w->n = (uint32_t)XW_MIN(WAVE, v->img->groups - w->first);
		if (!plan_wave(w))
			continue;
		rc = xw_pool_for(pool, xw_div_up(w->n, SLAB_GROUPS), 1, survey_slab, w);
		for (uint32_t i = 0; i < w->n && !rc; i++)
			if (w->group[i].seen)
				xw_space_learn(space, w->first + i, &w->group[i].survey);
	}
	return xw_space_learned(space) ? xw_fail_nomem(v->img->diag, "the index of free space")
				       : rc;
}

int xw_space_view_resolve(struct xw_space_view *v, struct xw_space *space, unsigned jobs)
{
	struct xw_image *img = v->img;
	struct xw_pool *pool = xw_pool_new(jobs);
	auto_free struct wave *w = malloc(sizeof(*w));
	auto_free uint8_t *buf = malloc((size_t)WAVE * img->block_size);
	int rc = 0;

	if (!pool || !w || !buf) {
		rc = xw_fail_nomem(img->diag, "bitmaps");
	} else if (!v->bitmap && xw_image_group_bits(img) / 8 <= img->block_size) {
		struct xw_diag *diag = img->diag;

		w->buf = buf;
		img->diag = NULL;
		rc = survey_all(v, space, pool, w);
		img->diag = diag;
		/* xw_space_resolve() finds and reports errors of the device again. */
		if (!rc && img->dev->diag)
			xw_diag_clear(img->dev->diag);
	}
	xw_pool_free(pool);
	return rc ? rc : xw_space_resolve(space);
}
