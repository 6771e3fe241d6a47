/* SPDX-License-Identifier: MIT */
/*
 * Block bitmaps with a small direct-mapped cache: queries come in runs, and an evicted bitmap can
 * be read again, since it does not change before the commit.
 *
 * Invariant: a block is reported as free only if its bitmap passed xw_image_block_bitmap(), or if
 * it is in the unused part of an inode table that was not zeroed either, in a group whose inode
 * bitmap passed xw_image_inode_bitmap(). A killed change leaves undefined contents there, as such a
 * block may have anyway. In a zeroed table they would look like inodes to a tool that reads more of
 * the table than the descriptor says, such as a checker that finds the descriptor damaged.
 */
#include "config.h"

#include <stdlib.h>

#include "base/types.h"
#include "session/freemap.h"
#include "read/bitmaps.h"

#define SLOTS 64
#define NO_GROUP UINT64_MAX

struct xw_freemap {
	struct xw_diag diag; /* damage of a bitmap is not a failure of this tool */
	struct xw_image *img; /* NULL: no block is free */
	struct xw_sysmap *sys;
	uint32_t cluster_bits;
	struct slot {
		uint64_t group;
		bool bad;
		uint8_t *bits;
	} slot[SLOTS];
	struct slot inodes; /* of the last queried group: queries come in table order */
};

int xw_freemap_new(struct xw_dev *base, struct xw_diag *diag, struct xw_freemap **out)
{
	struct xw_freemap *m = calloc(1, sizeof(*m));
	struct xw_diag *devs = base->diag;

	if (!m)
		return xw_fail_nomem(diag, "a map of free blocks");
	for (size_t i = 0; i < SLOTS; i++)
		m->slot[i].group = NO_GROUP;
	m->inodes.group = NO_GROUP;
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
	free(m->inodes.bits);
	xw_sysmap_free(m->sys);
	xw_image_close(m->img);
	free(m);
}

/* The bitmap of a group; NULL: report all of its blocks as in use. */
static const uint8_t *load(struct xw_freemap *m, struct slot *s, uint64_t group)
{
	struct xw_diag *devs = m->img->dev->diag;

	if (!s->bits)
		s->bits = malloc(m->img->block_size);
	if (!s->bits)
		return NULL;
	if (s->group != group) {
		m->img->dev->diag = NULL;
		s->bad = s == &m->inodes
				 ? xw_image_inode_bitmap(m->img, group, s->bits) != 0
				 : xw_image_block_bitmap(m->img, m->sys, group, s->bits) != 0;
		m->img->dev->diag = devs;
		s->group = group;
	}
	return s->bad ? NULL : s->bits;
}

static bool get_bit(const uint8_t *bits, uint64_t i)
{
	return bits[i / 8] >> (i % 8) & 1;
}

/* blk + n must not exceed the group of blk. */
static uint64_t query_group(struct xw_freemap *m, uint64_t group, uint64_t in, uint64_t n,
			    bool *is_free)
{
	const uint8_t *bits = load(m, &m->slot[group % SLOTS], group);
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

uint64_t xw_freemap_query(void *arg, uint64_t blk, uint64_t n, bool *is_free)
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
	n = xw_sysmap_unused_table(m->sys, blk, n, &unused, &group);
	*is_free = unused && load(m, &m->inodes, group);
	if (unused)
		return n;
	group = (blk - sb->first_data_block) / sb->blocks_per_group;
	in = (blk - sb->first_data_block) % sb->blocks_per_group;
	n = XW_MIN(n, sb->blocks_per_group - in);
	n = XW_MIN(n, sb->blocks_count - blk);
	return query_group(m, group, in, n, is_free);
}

struct xw_image *xw_freemap_image(const struct xw_freemap *m, const struct xw_sysmap **sys)
{
	if (m->img)
		*sys = m->sys;
	return m->img;
}
