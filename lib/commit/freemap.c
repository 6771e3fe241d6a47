/* SPDX-License-Identifier: MIT */
/*
 * Block bitmaps behind a small direct-mapped cache: questions come in runs, and a bitmap that was
 * dropped can be read again, since nobody changes it before the commit.
 *
 * Invariant: "free" is said only of a block whose bitmap passed xw_image_block_bitmap(), or which
 * the descriptors put into the never used part of an inode table.
 */
#include "config.h"

#include <stdlib.h>

#include "base/types.h"
#include "commit/freemap.h"
#include "read/bitmaps.h"

#define SLOTS 64
#define NO_GROUP UINT64_MAX

struct xw_freemap {
	struct xw_diag diag; /* what is wrong with a bitmap is not this tool's failure */
	struct xw_image *img; /* NULL: nothing is free */
	struct xw_sysmap *sys;
	uint32_t cluster_bits;
	struct {
		uint64_t group;
		bool bad;
		uint8_t *bits;
	} slot[SLOTS];
};

int xw_freemap_new(struct xw_dev *base, struct xw_diag *diag, struct xw_freemap **out)
{
	struct xw_freemap *m = calloc(1, sizeof(*m));
	struct xw_diag *devs = base->diag;

	if (!m)
		return xw_fail_nomem(diag, "a map of free blocks");
	for (size_t i = 0; i < SLOTS; i++)
		m->slot[i].group = NO_GROUP;
	base->diag = NULL;
	if (!xw_image_open(base, 0, &m->diag, &m->img) && xw_sysmap_new(m->img, &m->sys)) {
		xw_image_close(m->img);
		m->img = NULL;
	}
	base->diag = devs;
	m->cluster_bits = m->img ? xw_image_cluster_bits(m->img) : 0;
	*out = m;
	return 0;
}

void xw_freemap_free(struct xw_freemap *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		free(m->slot[i].bits);
	xw_sysmap_free(m->sys);
	xw_image_close(m->img);
	free(m);
}

/* Bitmap of a group, or NULL: nothing in it counts as free. */
static const uint8_t *load(struct xw_freemap *m, uint64_t group)
{
	const size_t i = group % SLOTS;
	struct xw_diag *devs = m->img->dev->diag;

	if (!m->slot[i].bits)
		m->slot[i].bits = malloc(m->img->block_size);
	if (!m->slot[i].bits)
		return NULL;
	if (m->slot[i].group != group) {
		m->img->dev->diag = NULL;
		m->slot[i].bad = xw_image_block_bitmap(m->img, m->sys, group, m->slot[i].bits) != 0;
		m->img->dev->diag = devs;
		m->slot[i].group = group;
	}
	return m->slot[i].bad ? NULL : m->slot[i].bits;
}

static bool get_bit(const uint8_t *bits, uint64_t i)
{
	return bits[i / 8] >> (i % 8) & 1;
}

/* n does not reach beyond the group of blk. */
static uint64_t ask_group(struct xw_freemap *m, uint64_t group, uint64_t in, uint64_t n,
			  bool *is_free)
{
	const uint8_t *bits = load(m, group);
	uint64_t c = in >> m->cluster_bits;
	bool used;

	*is_free = false;
	if (!bits)
		return n;
	used = get_bit(bits, c);
	while (c <= (in + n - 1) >> m->cluster_bits && get_bit(bits, c) == used)
		c++;
	*is_free = !used;
	return XW_MIN(n, (c << m->cluster_bits) - in);
}

uint64_t xw_freemap_ask(void *arg, uint64_t blk, uint64_t n, bool *is_free)
{
	struct xw_freemap *m = arg;
	const struct xw_super *sb = m->img ? &m->img->sb : NULL;
	uint64_t group, in;
	bool unused;

	*is_free = false;
	if (!sb || blk >= sb->blocks_count)
		return n;
	if (blk < sb->first_data_block)
		return XW_MIN(n, sb->first_data_block - blk);
	n = xw_sysmap_unused_table(m->sys, blk, n, &unused);
	*is_free = unused;
	if (unused)
		return n;
	group = (blk - sb->first_data_block) / sb->blocks_per_group;
	in = (blk - sb->first_data_block) % sb->blocks_per_group;
	n = XW_MIN(n, sb->blocks_per_group - in);
	n = XW_MIN(n, sb->blocks_count - blk);
	return ask_group(m, group, in, n, is_free);
}
