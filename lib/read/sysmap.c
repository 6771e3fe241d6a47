/* SPDX-License-Identifier: MIT */
/*
 * The location of the metadata of all groups, as sorted runs.
 *
 * Bitmaps and tables of a group may be anywhere (flex_bg), so a query for a block needs all
 * descriptors, which are read once. Each kind of metadata usually continues at the end of that of
 * the previous group, so runs are collected by kind, and sorted and merged at the end.
 *
 * Invariant: runs are ascending, do not touch, and lie inside the filesystem.
 *
 * Source: kernel documentation "ext4 Data Structures", Layout, Flexible Block Groups, Meta Block
 * Groups; images made by mke2fs 1.47.0.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "read/bitmaps.h"

struct runs {
	struct xw_run *v;
	size_t n, cap;
};

/* Unused ends of the inode tables of consecutive groups. */
struct tails {
	struct tail {
		xw_blk start;
		uint64_t len;
		uint64_t group; /* the first group */
		xw_blk table; /* start of its table */
	} * v;
	size_t n, cap;
};

struct xw_sysmap {
	struct runs meta;
	struct tails unused;
	uint32_t itable_blocks;
};

enum { HEAD, BLOCK_BITMAP, INODE_BITMAP, TABLE, KINDS };

struct collector {
	struct xw_image *img;
	struct runs kind[KINDS];
	struct tails unused;
	bool ends;
};

static int add(struct collector *c, struct runs *to, xw_blk start, uint64_t len)
{
	struct xw_run *last = to->n ? &to->v[to->n - 1] : NULL;
	const struct xw_run run = {start, len};

	if (!len)
		return 0;
	if (last && last->start + last->len == start) {
		last->len += len;
		return 0;
	}
	return xw_vec_push(to, run) ? xw_fail_nomem(c->img->diag, "the places of metadata") : 0;
}

/* Add a location unless it is outside the filesystem, which is possible only in a lenient scan. */
static int add_inside(struct collector *c, int kind, xw_blk start, uint64_t len)
{
	if (!xw_image_has_blocks(c->img, start, len))
		return 0;
	return add(c, &c->kind[kind], start, len);
}

/*
 * Add the table blocks after the last inode that was ever used. Zeroed tables are left out, since
 * they must stay zero: a checker without a valid descriptor reads the whole table.
 */
static int add_unused(struct collector *c, const struct xw_group_desc *gd, uint64_t group)
{
	const struct xw_image *img = c->img;
	const uint32_t per_group = img->sb.inodes_per_group;
	const uint32_t unused = gd->flags & XW_BG_INODE_UNINIT ? per_group : gd->itable_unused;
	struct tail *last = c->unused.n ? &c->unused.v[c->unused.n - 1] : NULL;
	struct tail tail = {.group = group, .table = gd->inode_table};
	uint64_t used;

	if (!xw_super_has_group_csum(&img->sb))
		return 0;
	if (unused > per_group)
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: group %" PRIu64 ": %" PRIu32 " unused inodes of %" PRIu32,
			       img->dev->name, group, unused, per_group);
	used = xw_div_up((uint64_t)(per_group - unused) * img->inode_size, img->block_size);
	tail.start = gd->inode_table + used;
	tail.len = img->itable_blocks - used;
	if (!tail.len || gd->flags & XW_BG_INODE_ZEROED)
		return 0;
	if (last && last->start + last->len == tail.start &&
	    last->table + (group - last->group) * img->itable_blocks == tail.table) {
		last->len += tail.len;
		return 0;
	}
	return xw_vec_push(&c->unused, tail) ? xw_fail_nomem(img->diag, "the places of metadata")
					     : 0;
}

static int collect_group(struct collector *c, uint64_t group)
{
	struct xw_image *img = c->img;
	const xw_blk start = img->sb.first_data_block + group * img->sb.blocks_per_group;
	const bool lenient = img->flags & XW_IMAGE_LENIENT;
	struct xw_group_desc gd;
	struct xw_group_head h;
	int rc = xw_image_group(img, group, &gd);

	if (rc && lenient && rc != XW_ERR_CHECKSUM && rc != XW_ERR_NOMEM) {
		c->ends = true; /* ignore all groups after an unreadable descriptor */
		return 0;
	}
	if (rc && !(lenient && rc == XW_ERR_CHECKSUM))
		return rc;
	if (!lenient && (!xw_image_has_blocks(img, gd.block_bitmap, 1) ||
			 !xw_image_has_blocks(img, gd.inode_bitmap, 1) ||
			 !xw_image_has_blocks(img, gd.inode_table, img->itable_blocks)))
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: descriptor of group %" PRIu64 " points outside the filesystem",
			       img->dev->name, group);
	xw_image_group_head(img, group, &h);
	rc = add(c, &c->kind[HEAD], start,
		 XW_MIN(h.boot + h.has_super + h.desc_len + h.reserved_len,
			img->sb.blocks_count - start));
	if (!rc)
		rc = add_inside(c, BLOCK_BITMAP, gd.block_bitmap, 1);
	if (!rc)
		rc = add_inside(c, INODE_BITMAP, gd.inode_bitmap, 1);
	if (!rc)
		rc = add_inside(c, TABLE, gd.inode_table, img->itable_blocks);
	return rc || lenient ? rc : add_unused(c, &gd, group);
}

static void sort_and_merge(struct runs *r)
{
	size_t n = 0;

	if (!r->n)
		return;
	qsort(r->v, r->n, sizeof(*r->v), xw_by_u64);
	for (size_t i = 1; i < r->n; i++) {
		const uint64_t end = r->v[n].start + r->v[n].len;

		if (r->v[i].start <= end)
			r->v[n].len = XW_MAX(end, r->v[i].start + r->v[i].len) - r->v[n].start;
		else
			r->v[++n] = r->v[i];
	}
	r->n = n + 1;
}

static uint64_t total(const struct runs *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->n; i++)
		sum += r->v[i].len;
	return sum;
}

/* Merge all kinds. If metadata overlaps, no part of a table counts as unused. */
static int join(struct collector *c, struct runs *out)
{
	uint64_t sum = 0;
	size_t n = 0;

	for (int k = 0; k < KINDS; k++) {
		n += c->kind[k].n;
		sum += total(&c->kind[k]);
	}
	if (xw_vec_reserve(out, n))
		return xw_fail_nomem(c->img->diag, "the places of metadata");
	for (int k = 0; k < KINDS; k++) {
		if (!c->kind[k].n)
			continue;
		memcpy(out->v + out->n, c->kind[k].v, c->kind[k].n * sizeof(*out->v));
		out->n += c->kind[k].n;
	}
	sort_and_merge(out);
	if (total(out) != sum)
		c->unused.n = 0;
	return 0;
}

int xw_sysmap_new(struct xw_image *img, struct xw_sysmap **out)
{
	struct collector c = {.img = img};
	struct xw_sysmap *m = calloc(1, sizeof(*m));
	int rc = m ? 0 : xw_fail_nomem(img->diag, "the places of metadata");

	for (uint64_t g = 0; g < img->groups && !rc && !c.ends; g++)
		rc = collect_group(&c, g);
	if (!rc)
		rc = join(&c, &m->meta);
	for (int k = 0; k < KINDS; k++)
		xw_vec_free(&c.kind[k]);
	if (rc) {
		xw_vec_free(&c.unused);
		xw_sysmap_free(m);
		return rc;
	}
	m->unused = c.unused;
	m->itable_blocks = img->itable_blocks;
	if (m->unused.n)
		qsort(m->unused.v, m->unused.n, sizeof(*m->unused.v), xw_by_u64);
	*out = m;
	return 0;
}

void xw_sysmap_free(struct xw_sysmap *m)
{
	if (!m)
		return;
	xw_vec_free(&m->meta);
	xw_vec_free(&m->unused);
	free(m);
}

uint64_t xw_sysmap_at(const struct xw_sysmap *m, xw_blk blk, uint64_t n, bool *is_meta)
{
	const struct xw_run *v = m->meta.v;
	const size_t at = XW_LOWER_BOUND(i, m->meta.n, v[i].start + v[i].len > blk);

	*is_meta = at < m->meta.n && v[at].start <= blk;
	if (at == m->meta.n)
		return n;
	return XW_MIN(n, (*is_meta ? v[at].start + v[at].len : v[at].start) - blk);
}

uint64_t xw_sysmap_unused_table(const struct xw_sysmap *m, xw_blk blk, uint64_t n, bool *is_unused,
				uint64_t *group)
{
	const struct tail *t = m->unused.v;
	const size_t at = XW_LOWER_BOUND(i, m->unused.n, t[i].start + t[i].len > blk);
	uint64_t nth;

	*is_unused = at < m->unused.n && t[at].start <= blk;
	if (!*is_unused)
		return at < m->unused.n ? XW_MIN(n, t[at].start - blk) : n;
	t += at;
	nth = (blk - t->table) / m->itable_blocks;
	*group = t->group + nth;
	return XW_MIN(n, t->table + (nth + 1) * m->itable_blocks - blk);
}
