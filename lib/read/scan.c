/* SPDX-License-Identifier: MIT */
/*
 * All inode records in order, read in runs of RUN_BYTES. Each scan has its own buffer, so that
 * parts of an image can be scanned in parallel.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "read/image.h"

#define RUN_BYTES (256u << 10)

int xw_inode_scan_begin(struct xw_image *img, uint64_t group, uint64_t end_group,
			struct xw_inode_scan *s)
{
	*s = (struct xw_inode_scan){
		.img = img,
		.group = group,
		.end_group = XW_MIN(end_group, img->groups),
		.buf = malloc(XW_MAX(RUN_BYTES, img->inode_size)),
	};
	return s->buf ? 0 : xw_fail_nomem(img->diag, "inode scan");
}

/* Start with s->group: determine its table and the number of records to visit. */
static int enter_group(struct xw_inode_scan *s)
{
	struct xw_image *img = s->img;
	const bool tracks_use = xw_super_has_group_csum(&img->sb);
	const uint32_t per_group = img->sb.inodes_per_group;
	const uint64_t before = s->group * per_group;
	struct xw_group_desc gd;
	int rc = xw_image_group(img, s->group, &gd);

	if (rc)
		return rc;
	s->count = 0;
	s->index = s->buf_first = s->buf_count = 0;
	if (before >= img->sb.inodes_count || (tracks_use && gd.flags & XW_BG_INODE_UNINIT))
		return 0;
	if (!xw_image_has_blocks(img, gd.inode_table, img->itable_blocks))
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: group %" PRIu64 ": inode table at block %" PRIu64
			       " is outside the filesystem",
			       img->dev->name, s->group, gd.inode_table);
	if (tracks_use && gd.itable_unused > per_group)
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: group %" PRIu64 ": %" PRIu32 " unused inodes of %" PRIu32,
			       img->dev->name, s->group, gd.itable_unused, per_group);
	s->table = gd.inode_table;
	s->count = per_group - (tracks_use ? gd.itable_unused : 0);
	s->count = (uint32_t)XW_MIN(s->count, img->sb.inodes_count - before);
	return 0;
}

static int fill(struct xw_inode_scan *s)
{
	struct xw_image *img = s->img;
	uint32_t n = XW_MAX(RUN_BYTES / img->inode_size, 1u);
	int rc;

	n = XW_MIN(n, s->count - s->index);
	rc = xw_dev_pread(img->dev, s->buf, (size_t)n * img->inode_size,
			  s->table * img->block_size + (uint64_t)s->index * img->inode_size);
	if (rc)
		return xw_fail(img->diag, rc, "%s: cannot read the inode table of group %" PRIu64,
			       img->dev->name, s->group);
	s->buf_first = s->index;
	s->buf_count = n;
	return 0;
}

int xw_inode_scan_next(struct xw_inode_scan *s, xw_ino *ino, const uint8_t **raw)
{
	const struct xw_image_pending *p = &s->img->pending;
	uint8_t *record;
	bool found;
	int rc;

	for (; s->group < s->end_group; s->group++, s->count = s->index = 0, s->table = 0) {
		/* table is 0 until enter_group() */
		rc = s->table || s->index ? 0 : enter_group(s);
		if (!rc && s->index == s->count)
			continue;
		if (!rc && s->index == s->buf_first + s->buf_count)
			rc = fill(s);
		if (rc) {
			s->group++;
			s->count = s->index = 0;
			s->table = 0;
			return rc;
		}
		*ino = (xw_ino)(s->group * s->img->sb.inodes_per_group + s->index + 1);
		record = s->buf + (size_t)(s->index - s->buf_first) * s->img->inode_size;
		*raw = record;
		s->index++;
		rc = p->record ? p->record(p->arg, *ino, record, &found) : 0;
		return rc ? rc : 1;
	}
	return 0;
}

void xw_inode_scan_end(struct xw_inode_scan *s)
{
	free(s->buf);
	s->buf = NULL;
}
