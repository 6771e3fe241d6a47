/* SPDX-License-Identifier: MIT */
/*
 * Summaries come from one pass over the descriptors. A descriptor does not contain the number of
 * free runs of its group, so the allocator gets an upper bound and reads the bitmap when it
 * considers the group. For groups with an uninitialized bitmap the runs between the metadata are
 * exact.
 */
#include "config.h"

#include "read/space.h"

#include <inttypes.h>
#include <stdlib.h>

static int report_damage(const struct xw_space_view *v, uint64_t group, int rc)
{
	if (!rc || !v->damaged || rc == XW_ERR_NOMEM)
		return rc;
	v->damaged(v->arg, group);
	if (v->img->diag)
		xw_diag_clear(v->img->diag);
	return 0;
}

static int add_run(void *arg, uint32_t at, uint32_t len)
{
	struct xw_group_summary *sum = arg;

	if (!sum->fragments)
		sum->first_free = at;
	sum->fragments++;
	sum->free += len;
	sum->longest = XW_MAX(sum->longest, len);
	return 0;
}

/*
 * Summarize the free runs between the metadata of a group. False: they contradict the descriptor,
 * which is reported when the bitmap is loaded.
 */
static bool between_metadata(const struct xw_space_view *v, uint32_t group,
			     struct xw_group_summary *out)
{
	struct xw_group_summary sum = {0};
	struct xw_diag *diag = v->img->diag;
	int rc;

	v->img->diag = NULL;
	rc = xw_image_free_runs(v->img, v->sysmap, group, v->scratch, add_run, &sum);
	v->img->diag = diag;
	if (!rc)
		*out = sum;
	return !rc;
}

static int group_summary(void *arg, uint32_t group, struct xw_group_summary *out, bool *known)
{
	const struct xw_space_view *v = arg;
	const uint32_t size = out->free;
	struct xw_group_desc gd;
	int rc = xw_image_group(v->img, group, &gd);

	*known = false;
	if (rc && !v->damaged)
		return rc;
	if (rc) { /* reported when the bitmap is loaded */
		out->free = size;
		return 0;
	}
	if (xw_image_block_uninit(v->img, &gd) && between_metadata(v, group, out)) {
		*known = true;
		return 0;
	}
	if (gd.free_blocks > size && !v->damaged && !v->bitmap)
		return xw_fail(v->img->diag, XW_ERR_CORRUPT,
			       "%s: group %" PRIu32
			       ": free block count exceeds the group; run xw-fsck -f",
			       v->img->dev->name, group);
	out->free = XW_MIN(gd.free_blocks, size);
	return 0;
}

/*
 * A long search reads bitmaps in ascending order but one at a time, and only the bitmaps of a flex
 * group are contiguous. The read-ahead window doubles as the search continues.
 */
static void read_ahead(struct xw_space_view *v, uint32_t group)
{
	enum { NEAR = 16, SURE = 4, LEAST = 16, MOST = 256 };
	struct xw_image *img = v->img;
	struct xw_diag *diag = img->diag;
	const uint32_t bs = img->block_size;
	xw_blk start = 0, len = 0;

	v->in_order = group > v->last && group - v->last <= NEAR ? v->in_order + 1 : 0;
	v->last = group;
	if (!v->in_order)
		v->ahead = v->window = 0;
	if (v->in_order < SURE || group < v->ahead)
		return;
	v->window = v->window ? XW_MIN(2 * v->window, MOST) : LEAST;
	v->ahead = (uint32_t)XW_MIN((uint64_t)group + v->window, img->groups);
	img->diag = NULL;
	for (uint32_t g = group; g < v->ahead; g++) {
		struct xw_group_desc gd;

		if (xw_image_group(img, g, &gd) || xw_image_block_uninit(img, &gd) ||
		    !xw_image_has_blocks(img, gd.block_bitmap, 1))
			continue;
		if (gd.block_bitmap != start + len) {
			xw_dev_ahead(img->dev, start * bs, len * bs);
			start = gd.block_bitmap;
			len = 0;
		}
		len++;
		v->prefetched += g > group;
	}
	xw_dev_ahead(img->dev, start * bs, len * bs);
	img->diag = diag;
}

static int group_bitmap(void *arg, uint32_t group, uint8_t *bits)
{
	struct xw_space_view *v = arg;

	read_ahead(v, group);
	if (v->bitmap)
		return v->bitmap(v->arg, group, bits);
	return report_damage(v, group, xw_image_block_bitmap(v->img, v->sysmap, group, bits));
}

int xw_space_view_open(struct xw_space_view *v, const struct xw_space_params *tunables,
		       struct xw_space **out)
{
	const struct xw_super *sb = &v->img->sb;
	const struct xw_space_source src = {.summary = group_summary,
					    .bitmap = group_bitmap,
					    .arg = v,
					    .prefetched = &v->prefetched};
	struct xw_space_params p = *tunables;
	int rc;

	if (v->img->groups > INT32_MAX)
		return xw_fail(v->img->diag, XW_ERR_CORRUPT, "%s: %" PRIu64 " groups",
			       v->img->dev->name, v->img->groups);
	p.blocks = sb->blocks_count;
	p.first_data_block = sb->first_data_block;
	p.blocks_per_group = sb->blocks_per_group;
	p.groups = (uint32_t)v->img->groups;
	p.cluster_bits = xw_image_cluster_bits(v->img);
	if (xw_image_desc_block(v->img, v->img->groups - 1) >=
	    v->img->dev->size / v->img->block_size)
		return xw_fail(v->img->diag, XW_ERR_CORRUPT,
			       "%s: the group descriptors reach beyond the end of the image",
			       v->img->dev->name);
	v->last = v->in_order = v->ahead = v->window = 0;
	v->prefetched = 0;
	v->scratch = malloc(v->img->block_size);
	if (!v->scratch)
		return xw_fail_nomem(v->img->diag, "bitmap");
	rc = xw_space_new(&p, &src, v->img->diag, out);
	if (rc)
		xw_space_view_close(v);
	return rc;
}

void xw_space_view_close(struct xw_space_view *v)
{
	free(v->scratch);
	v->scratch = NULL;
}
