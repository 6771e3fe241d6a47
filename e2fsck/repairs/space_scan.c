// SPDX-License-Identifier: MIT
/*
 * Finds the groups that differ from the facts. One thread reads descriptors in waves; several
 * threads compare the groups of a wave, in slabs of neighbors, whose bitmaps are usually
 * contiguous. A healthy group costs the comparison of two blocks, an empty uninitialized group not
 * even that.
 *
 * An uninitialized bitmap represents what Linux initializes it to when the group is first used: the
 * group's own metadata, not that of other groups which flex_bg placed there.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "base/pool.h"
#include "read/bitmaps.h"
#include "repairs/space.h"

enum { SLAB_BYTES = 256 << 10, SLAB_GROUPS = 256, SLABS = 16 };

static bool same_bits(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	const uint8_t rest = (uint8_t)((1u << n % 8) - 1);

	return !memcmp(a, b, n / 8) && (!rest || !((a[n / 8] ^ b[n / 8]) & rest));
}

uint32_t fsck_space_clusters(const struct fsck *f, uint64_t group)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const xw_blk start = sb->first_data_block + group * sb->blocks_per_group;
	const uint32_t bits = xw_image_group_bits(f->ses.img);

	return (uint32_t)XW_MIN(xw_div_up(sb->blocks_count - start,
					  UINT64_C(1) << xw_image_cluster_bits(f->ses.img)),
				bits);
}

/* ---- bitmaps according to the facts ---- */

void fsck_space_block_bits(const struct fsck *f, uint64_t group, uint8_t *bits)
{
	const uint32_t n = fsck_space_clusters(f, group);

	xw_blockset_bits(f->facts.owners.claims, group * xw_image_group_bits(f->ses.img), n, bits);
	memset(bits + (n + 7) / 8, 0, f->ses.img->block_size - (n + 7) / 8);
	xw_set_bits(bits, n, (uint64_t)f->ses.img->block_size * 8);
}

void fsck_space_inode_bits(const struct fsck *f, uint64_t group, uint8_t *bits,
			   struct fsck_space_group *info)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const uint32_t per_group = sb->inodes_per_group;
	const struct fsck_inode *v = f->facts.groups ? f->facts.groups[group] : NULL;
	uint32_t used = 0, dirs = 0, end = 0;

	memset(bits, 0, f->ses.img->block_size);
	for (uint32_t i = 0; i < per_group; i++) {
		const uint64_t ino = group * per_group + i + 1;

		if (!(v && v[i].flags & FSCK_I_USED) && ino >= sb->first_ino)
			continue;
		bits[i / 8] |= (uint8_t)(1u << i % 8);
		used++;
		end = i + 1;
		dirs += v && v[i].flags & FSCK_I_USED && v[i].ftype == XW_FT_DIR;
	}
	xw_set_bits(bits, per_group, (uint64_t)f->ses.img->block_size * 8);
	if (!info)
		return;
	info->free_inodes = per_group - used;
	info->dirs = dirs;
	info->unused = per_group - end;
}

/* ---- bitmaps of the image ---- */

/*
 * Set the blocks [blk, blk + len) that are in the group; NULL bits: only test whether there are
 * any.
 */
static bool put_own(const struct xw_image *img, xw_blk start, uint64_t group_len, xw_blk blk,
		    uint64_t len, uint8_t *bits)
{
	const uint32_t ratio = xw_image_cluster_bits(img);
	const xw_blk from = XW_MAX(blk, start), end = XW_MIN(blk + len, start + group_len);

	if (from >= end)
		return false;
	if (bits)
		xw_set_bits(bits, (from - start) >> ratio, ((end - 1 - start) >> ratio) + 1);
	return true;
}

/* Set the bits of the group's own metadata; NULL bits: only test whether there is any. */
static bool own_metadata(const struct xw_image *img, uint64_t group, const struct xw_group_desc *gd,
			 uint8_t *bits)
{
	const struct xw_super *sb = &img->sb;
	const xw_blk start = sb->first_data_block + group * sb->blocks_per_group;
	const uint64_t len = XW_MIN(sb->blocks_per_group, sb->blocks_count - start);
	struct xw_group_head h;
	bool any;

	xw_image_group_head(img, group, &h);
	any = put_own(img, start, len, start, h.boot + h.has_super + h.desc_len + h.reserved_len,
		      bits);
	any |= put_own(img, start, len, gd->block_bitmap, 1, bits);
	any |= put_own(img, start, len, gd->inode_bitmap, 1, bits);
	any |= put_own(img, start, len, gd->inode_table, img->itable_blocks, bits);
	return any;
}

static void uninit_block_bits(const struct fsck *f, uint64_t group, const struct xw_group_desc *gd,
			      uint8_t *bits)
{
	memset(bits, 0, f->ses.img->block_size);
	own_metadata(f->ses.img, group, gd, bits);
	xw_set_bits(bits, fsck_space_clusters(f, group), (uint64_t)f->ses.img->block_size * 8);
}

static int read_bits(struct fsck *f, xw_blk blk, uint8_t *bits)
{
	if (!xw_image_has_blocks(f->ses.img, blk, 1))
		return XW_ERR_CORRUPT;
	return fsck_read(f, blk, 1, bits);
}

int fsck_space_block_bits_read(struct fsck *f, uint64_t group, const struct xw_group_desc *gd,
			       uint8_t *bits)
{
	if (!xw_image_block_uninit(f->ses.img, gd))
		return read_bits(f, gd->block_bitmap, bits);
	uninit_block_bits(f, group, gd, bits);
	return 0;
}

int fsck_space_inode_bits_read(struct fsck *f, const struct xw_group_desc *gd, uint8_t *bits)
{
	if (!xw_image_inode_uninit(f->ses.img, gd))
		return read_bits(f, gd->inode_bitmap, bits);
	memset(bits, 0, f->ses.img->block_size);
	xw_set_bits(bits, f->ses.img->sb.inodes_per_group, (uint64_t)f->ses.img->block_size * 8);
	return 0;
}

/* ---- a slab ---- */

struct slab {
	struct fsck *f;
	uint64_t first;
	uint32_t n;
	struct fsck_space_group *group;
	struct xw_group_desc *gd;
	uint8_t *disk; /* one block per group */
	uint8_t *want, *own; /* one block */
};

/* Location of the bitmap; 0: it is not read. */
static xw_blk place(const struct slab *s, uint32_t i, bool inodes)
{
	const struct xw_group_desc *gd = &s->gd[i];
	const xw_blk blk = inodes ? gd->inode_bitmap : gd->block_bitmap;
	const bool uninit = inodes ? xw_image_inode_uninit(s->f->ses.img, gd)
				   : xw_image_block_uninit(s->f->ses.img, gd);

	return uninit || !xw_image_has_blocks(s->f->ses.img, blk, 1) ? 0 : blk;
}

static void read_slab(struct slab *s, bool inodes)
{
	const uint32_t bs = s->f->ses.img->block_size;
	uint32_t end;

	for (uint32_t i = 0; i < s->n; i = end) {
		const xw_blk blk = place(s, i, inodes);

		end = i + 1;
		if (!blk)
			continue;
		while (end < s->n && place(s, end, inodes) == blk + (end - i))
			end++;
		if (!xw_dev_pread(s->f->ses.dev, s->disk + (size_t)i * bs, (size_t)(end - i) * bs,
				  blk * bs))
			continue;
		for (uint32_t k = i; k < end; k++)
			if (xw_dev_pread(s->f->ses.dev, s->disk + (size_t)k * bs, bs,
					 (blk + (k - i)) * bs))
				s->group[k].odd |= inodes ? FSCK_SP_INODE_IO : FSCK_SP_BLOCK_IO;
	}
}

/* Compare s->want with the bitmap on disk. Flags are those of block bitmaps. */
static unsigned compare(const struct slab *s, const uint8_t *disk, uint32_t n, uint32_t csum_bits,
			uint32_t csum)
{
	const struct xw_image *img = s->f->ses.img;
	const bool same = !memcmp(s->want, disk, img->block_size);
	unsigned odd = 0;

	if (!same)
		odd = same_bits(s->want, disk, n) ? FSCK_SP_BLOCK_PADDING : FSCK_SP_BLOCKS;
	if (xw_super_has_csum(&img->sb) &&
	    xw_bitmap_csum(&img->sb, img->csum_seed, disk, csum_bits / 8) != csum)
		odd |= FSCK_SP_BLOCK_CSUM;
	return odd;
}

static unsigned implausible_flags(const struct fsck *f, uint64_t group,
				  const struct xw_group_desc *gd)
{
	const uint16_t uninit = XW_BG_BLOCK_UNINIT | XW_BG_INODE_UNINIT;

	if (!xw_super_has_group_csum(&f->ses.img->sb))
		return gd->flags & uninit || gd->itable_unused ? FSCK_SP_STRAY_UNINIT : 0;
	return gd->flags & XW_BG_BLOCK_UNINIT && group + 1 == f->ses.img->groups
		       ? FSCK_SP_LAST_UNINIT
		       : 0;
}

static void check_blocks(struct slab *s, uint32_t i)
{
	struct fsck *f = s->f;
	const uint64_t group = s->first + i;
	const uint32_t n = fsck_space_clusters(f, group), bits = xw_image_group_bits(f->ses.img);
	const struct xw_group_desc *gd = &s->gd[i];
	struct fsck_space_group *g = &s->group[i];
	const uint64_t used = xw_blockset_count(f->facts.owners.claims, group * bits, n);

	g->free_blocks = n - (uint32_t)used;
	g->odd |= implausible_flags(f, group, gd);
	if (g->free_blocks != gd->free_blocks)
		g->odd |= FSCK_SP_COUNTS;
	if (xw_image_block_uninit(f->ses.img, gd)) {
		if (!used && !own_metadata(f->ses.img, group, gd, NULL))
			return;
		fsck_space_block_bits(f, group, s->want);
		uninit_block_bits(f, group, gd, s->own);
		if (memcmp(s->want, s->own, f->ses.img->block_size))
			g->odd |= FSCK_SP_BLOCKS;
	} else if (place(s, i, false) && !(g->odd & FSCK_SP_BLOCK_IO)) {
		fsck_space_block_bits(f, group, s->want);
		g->odd |= compare(s, s->disk + (size_t)i * f->ses.img->block_size, n, bits,
				  gd->block_bitmap_csum);
	}
}

static void check_inodes(struct slab *s, uint32_t i)
{
	struct fsck *f = s->f;
	const struct xw_super *sb = &f->ses.img->sb;
	const uint64_t group = s->first + i;
	const struct xw_group_desc *gd = &s->gd[i];
	const bool uninit = xw_image_inode_uninit(f->ses.img, gd);
	const bool tracks_use = xw_super_has_group_csum(sb);
	struct fsck_space_group *g = &s->group[i];

	if (uninit && group && !(f->facts.groups && f->facts.groups[group])) {
		g->free_inodes = g->unused = sb->inodes_per_group;
	} else {
		fsck_space_inode_bits(f, group, s->want, g);
		if (uninit && g->free_inodes != sb->inodes_per_group)
			g->odd |= FSCK_SP_INODES;
		if (place(s, i, true) && !(g->odd & FSCK_SP_INODE_IO))
			g->odd |= compare(s, s->disk + (size_t)i * f->ses.img->block_size,
					  sb->inodes_per_group, sb->inodes_per_group,
					  gd->inode_bitmap_csum)
				  << 1;
	}
	if (tracks_use && gd->itable_unused > g->unused)
		g->odd |= FSCK_SP_UNUSED;
	if (g->free_inodes != gd->free_inodes || g->dirs != gd->used_dirs)
		g->odd |= FSCK_SP_COUNTS;
}

/* ---- waves of slabs ---- */

struct wave {
	struct fsck *f;
	uint32_t per_slab, slabs;
	uint64_t first;
	uint32_t n; /* groups */
	struct fsck_space_group *group;
	struct xw_group_desc *gd;
	uint8_t *buf;
};

static int do_slab(void *arg, size_t i)
{
	struct wave *w = arg;
	const uint32_t bs = w->f->ses.img->block_size, from = (uint32_t)i * w->per_slab;
	struct slab s = {
		.f = w->f,
		.first = w->first + from,
		.n = XW_MIN(w->per_slab, w->n - from),
		.group = w->group + from,
		.gd = w->gd + from,
		.disk = w->buf + i * (w->per_slab + 2) * bs,
	};

	s.want = s.disk + (size_t)w->per_slab * bs;
	s.own = s.want + bs;
	read_slab(&s, false);
	for (uint32_t k = 0; k < s.n; k++)
		check_blocks(&s, k);
	read_slab(&s, true);
	for (uint32_t k = 0; k < s.n; k++)
		check_inodes(&s, k);
	return 0;
}

static int do_wave(struct wave *w, struct xw_pool *pool, struct fsck_space_scan *out)
{
	int rc = 0;

	for (uint32_t i = 0; i < w->n && !rc; i++) {
		w->group[i] = (struct fsck_space_group){.group = (uint32_t)(w->first + i)};
		rc = xw_image_group(w->f->ses.img, w->first + i, &w->gd[i]);
		rc = rc == XW_ERR_CHECKSUM ? 0 : rc;
	}
	if (!rc)
		rc = xw_pool_for(pool, xw_div_up(w->n, w->per_slab), 1, do_slab, w);
	for (uint32_t i = 0; i < w->n && !rc; i++) {
		const struct fsck_space_group *g = &w->group[i];

		out->free_clusters += g->free_blocks;
		out->free_inodes += g->free_inodes;
		out->dirs += g->dirs;
		if (g->odd && xw_vec_push(&out->odd, *g))
			rc = xw_fail_nomem(&w->f->ses.diag, "groups");
	}
	return rc;
}

static void pool_free(struct xw_pool **pool)
{
	xw_pool_free(*pool);
}

int fsck_scan_space(struct fsck *f, struct fsck_space_scan *s)
{
	const uint32_t bs = f->ses.img->block_size;
	const uint32_t groups = (uint32_t)XW_MIN(f->ses.img->groups, SLAB_GROUPS * SLABS);
	struct wave w = {.f = f, .per_slab = XW_MIN(SLAB_BYTES / bs, SLAB_GROUPS)};
	auto_end(pool_free) struct xw_pool *pool = xw_pool_new(fsck_jobs(f));
	const uint32_t most = XW_MIN(w.per_slab * SLABS, groups);
	auto_free struct fsck_space_group *group = malloc(most * sizeof(*group));
	auto_free struct xw_group_desc *gd = malloc(most * sizeof(*gd));
	auto_free uint8_t *buf = NULL;
	int rc = 0;

	w.per_slab = XW_MIN(w.per_slab, most); /* small filesystems: small buffers */
	w.group = group;
	w.gd = gd;
	w.buf = buf = malloc(xw_div_up(most, w.per_slab) * (w.per_slab + 2) * bs);
	if (!pool || !group || !gd || !buf)
		return xw_fail_nomem(&f->ses.diag, "bitmaps");
	for (; !rc && w.first < f->ses.img->groups && !f->ses.stop; w.first += w.n) {
		w.n = (uint32_t)XW_MIN(most, f->ses.img->groups - w.first);
		rc = do_wave(&w, pool, s);
	}
	if (!rc) /* result of a failed read */
		xw_diag_clear(&f->ses.diag);
	return rc;
}
