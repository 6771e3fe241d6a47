// SPDX-License-Identifier: MIT
/*
 * Groups: bitmaps and descriptors. An empty group is left uninitialized if the features let the
 * kernel compute its bitmaps: then neither bitmap is written.
 */
#include "config.h"

#include "fill/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

static bool has_group_csum(const struct xw_builder *b)
{
	return xw_has_ro(&b->geo.features, XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM);
}

/*
 * Are the only blocks in use the group's own superblock, descriptors, bitmaps and table? Readers
 * infer just these from BLOCK_UNINIT.
 */
static bool only_own(const struct xw_builder *b, const struct xw_group_place *p, uint32_t free)
{
	xw_blk end = p->start + p->blocks;
	uint32_t n = p->head;

	n += p->block_bitmap >= p->start && p->block_bitmap < end;
	n += p->inode_bitmap >= p->start && p->inode_bitmap < end;
	if (p->inode_table >= p->start && p->inode_table < end)
		n += (uint32_t)XW_MIN(b->geo.itable_blocks, end - p->inode_table);
	/* How many clusters n blocks use depends on which blocks share one; zero is unambiguous. */
	if (b->geo.cluster_bits && n)
		return false;
	return free == (p->blocks - n) >> b->geo.cluster_bits;
}

static bool block_uninit(const struct xw_builder *b, uint32_t group)
{
	struct xw_group_summary sum;
	struct xw_group_place p;

	if (!has_group_csum(b) || group == 0 || group == b->geo.groups - 1 ||
	    xw_space_group_touched(b->place.space, group))
		return false;
	xw_geo_group(&b->geo, group, &p);
	if (p.has_super) /* resize2fs would consider its reserved descriptor blocks free */
		return false;
	xw_space_group(b->place.space, group, &sum);
	return only_own(b, &p, sum.free);
}

static bool inode_uninit(const struct xw_builder *b, uint32_t group)
{
	return has_group_csum(b) && (uint64_t)group * b->geo.inodes_per_group >= b->place.last_ino;
}

static bool needs_itable(const struct xw_builder *b, uint32_t group)
{
	/*
	 * An unused table is a hole in a new file; elsewhere it must be zeroed, now or (lazily) by
	 * the kernel.
	 */
	if ((uint64_t)group * b->geo.inodes_per_group < b->place.last_ino)
		return true;
	return !xw_build_on_zeros(b) && !(has_group_csum(b) && b->params->lazy_itable_init == 1);
}

int xw_groups_items(struct xw_builder *b)
{
	int rc = 0;

	b->block_csum = calloc(b->geo.groups, sizeof(*b->block_csum));
	b->inode_csum = calloc(b->geo.groups, sizeof(*b->inode_csum));
	if (!b->block_csum || !b->inode_csum)
		return xw_fail_nomem(b->place.enc.diag, "bitmap checksums");
	for (uint32_t g = 0; g < b->geo.groups && !rc; g++) {
		bool bitmap = !block_uninit(b, g), table = needs_itable(b, g);
		struct xw_group_place p;

		if (!bitmap && !table && inode_uninit(b, g))
			continue;
		xw_geo_group(&b->geo, g, &p);
		if (bitmap)
			rc = xw_place_item(&b->place, XW_ITEM_BLOCK_BITMAP, p.block_bitmap, g);
		if (!rc && !inode_uninit(b, g))
			rc = xw_place_item(&b->place, XW_ITEM_INODE_BITMAP, p.inode_bitmap, g);
		if (!rc && table)
			rc = xw_place_item(&b->place, XW_ITEM_ITABLE, p.inode_table, g);
	}
	return rc;
}

int xw_groups_bitmap(struct xw_builder *b, uint32_t group, bool inodes)
{
	const uint32_t bits = inodes ? b->geo.inodes_per_group : b->place.enc.sb.clusters_per_group;
	auto_free uint8_t *buf = malloc(b->geo.block_size);
	struct xw_group_place p;
	uint32_t csum;
	int rc;

	if (!buf)
		return xw_fail_nomem(b->place.enc.diag, "a bitmap");
	xw_geo_group(&b->geo, group, &p);
	memset(buf, 0xff, b->geo.block_size);
	rc = inodes ? xw_ispace_group_bitmap(b->inodes, group, buf, b->geo.block_size)
		    : xw_space_group_bitmap(b->place.space, group, buf);
	if (rc)
		return rc;
	csum = xw_bitmap_csum(&b->place.enc.sb, b->place.enc.csum_seed, buf, bits / 8);
	(inodes ? b->inode_csum : b->block_csum)[group] = csum;
	return xw_place_write(&b->place, inodes ? p.inode_bitmap : p.block_bitmap, buf,
			      b->geo.block_size);
}

void xw_groups_describe(struct xw_builder *b, uint32_t group, struct xw_group_desc *gd)
{
	struct xw_igroup_summary ino;
	struct xw_group_summary blk;
	struct xw_group_place p;

	xw_geo_group(&b->geo, group, &p);
	xw_space_group(b->place.space, group, &blk);
	xw_ispace_group(b->inodes, group, &ino);
	*gd = (struct xw_group_desc){
		.block_bitmap = p.block_bitmap,
		.inode_bitmap = p.inode_bitmap,
		.inode_table = p.inode_table,
		.free_blocks = blk.free,
		.free_inodes = ino.free,
		.used_dirs = ino.used_dirs,
		.block_bitmap_csum = b->block_csum[group],
		.inode_bitmap_csum = b->inode_csum[group],
	};
	if (!has_group_csum(b) || b->supers_only)
		return;
	gd->itable_unused = ino.unused;
	if (block_uninit(b, group))
		gd->flags |= XW_BG_BLOCK_UNINIT;
	if (inode_uninit(b, group))
		gd->flags |= XW_BG_INODE_UNINIT;
	if (xw_build_on_zeros(b) || b->params->lazy_itable_init != 1)
		gd->flags |= XW_BG_INODE_ZEROED;
}
