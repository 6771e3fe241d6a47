// SPDX-License-Identifier: MIT
/*
 * Compares bitmaps, counts and flags of descriptors, and the free counts of the superblock, with
 * the facts of the round. The differences of the block bitmap of a group are one finding, those of
 * its inode bitmap another one; each wrong count of a descriptor is a finding. Repairs are written
 * group by group, at the end.
 *
 * fsck_bitmaps_force() makes the same repairs without a question, since an update allocates by
 * these bitmaps.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/bitmaps.h"
#include "repairs/space.h"

/* ---- text of differences: +10 -(20--30) ---- */

enum { TEXT_MAX = 4000, TEXT_RUN = 64 };

struct diff {
	char text[TEXT_MAX + TEXT_RUN];
	size_t len;
	char sign; /* sign of the open run; 0: none */
	uint64_t first, last;
};

static void end_run(struct diff *d)
{
	char *at = d->text + d->len;
	int n = 0;

	if (d->sign && d->len >= TEXT_MAX) {
		if (strcmp(at - 4, " ..."))
			n = snprintf(at, TEXT_RUN, " ...");
	} else if (d->sign && d->first == d->last) {
		n = snprintf(at, TEXT_RUN, "%s%c%" PRIu64, d->len ? " " : "", d->sign, d->first);
	} else if (d->sign) {
		n = snprintf(at, TEXT_RUN, "%s%c(%" PRIu64 "--%" PRIu64 ")", d->len ? " " : "",
			     d->sign, d->first, d->last);
	}
	d->len += (size_t)n;
	d->sign = 0;
}

/* Add numbers from .. from + step - 1. */
static void add_diff(struct diff *d, char sign, uint64_t from, uint64_t step)
{
	if (d->sign != sign || d->last + 1 != from) {
		end_run(d);
		d->sign = sign;
		d->first = from;
	}
	d->last = from + step - 1;
}

/* Bits i of `want` and `have` represent numbers from base + i * step on. */
static void add_diffs(struct diff *d, const uint8_t *want, const uint8_t *have, uint32_t n,
		      uint64_t base, uint64_t step)
{
	for (uint32_t i = 0; i < n; i++) {
		const unsigned x = want[i / 8] ^ have[i / 8];

		if (!x) {
			i |= 7;
			continue;
		}
		if (x >> i % 8 & 1)
			add_diff(d, want[i / 8] >> i % 8 & 1 ? '+' : '-', base + i * step, step);
	}
}

static int get_group(struct fsck *f, uint32_t group, struct xw_group_desc *gd)
{
	const int rc = xw_image_group(f->ses.img, group, gd);

	return rc == XW_ERR_CHECKSUM ? 0 : rc;
}

/* The differences of one group, as text. */
static int collect_diffs(struct fsck *f, uint32_t g, bool inodes, struct diff *d)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *want = malloc(2 * (size_t)bs);
	struct xw_group_desc gd;
	int rc = want ? get_group(f, g, &gd) : xw_fail_nomem(&f->ses.diag, "bitmaps");

	*d = (struct diff){0};
	if (!rc && inodes) {
		fsck_space_inode_bits(f, g, want, NULL);
		rc = fsck_space_inode_bits_read(f, &gd, want + bs);
		add_diffs(d, want, want + bs, sb->inodes_per_group,
			  (uint64_t)g * sb->inodes_per_group + 1, 1);
	} else if (!rc) {
		fsck_space_block_bits(f, g, want);
		rc = fsck_space_block_bits_read(f, g, &gd, want + bs);
		add_diffs(d, want, want + bs, fsck_space_clusters(f, g),
			  sb->first_data_block + (uint64_t)g * sb->blocks_per_group,
			  UINT64_C(1) << xw_image_cluster_bits(f->ses.img));
	}
	end_run(d);
	return rc;
}

/* ---- questions ---- */

/* Number of groups that differ in this way, and the first one. */
static uint64_t count_differences(const struct fsck_space_scan *s, unsigned flag, uint32_t *first)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->odd.n; i++) {
		if (!(s->odd.v[i].odd & flag))
			continue;
		if (!n)
			*first = s->odd.v[i].group;
		n++;
	}
	return n;
}

static void forget_differences(struct fsck_space_scan *s, unsigned flag)
{
	for (size_t i = 0; i < s->odd.n; i++)
		s->odd.v[i].odd &= ~flag;
}

/* Ask about the differences of each group, and forget those that are not to be repaired. */
static int ask_differences(struct fsck *f, struct fsck_space_scan *s, bool inodes)
{
	const unsigned bits = inodes ? FSCK_SP_INODES : FSCK_SP_BLOCKS;
	auto_free struct diff *d = NULL;
	int rc = 0;

	for (size_t i = 0; i < s->odd.n && !rc && !f->ses.stop; i++) {
		struct fsck_space_group *g = &s->odd.v[i];
		struct fsck_about a = {.id = inodes ? FSCK_INODE_BITMAP : FSCK_BLOCK_BITMAP,
				       .group = g->group};

		if (!(g->odd & bits))
			continue;
		if (!d)
			d = malloc(sizeof(*d));
		rc = d ? collect_diffs(f, g->group, inodes, d)
		       : xw_fail_nomem(&f->ses.diag, "bitmaps");
		if (rc)
			break;
		a.name = d->text;
		if (!fsck_found(f, &a))
			g->odd &= ~bits;
	}
	return rc;
}

static int ask_bitmaps(struct fsck *f, struct fsck_space_scan *s, bool inodes)
{
	const unsigned padding = inodes ? FSCK_SP_INODE_PADDING : FSCK_SP_BLOCK_PADDING;
	struct fsck_about a = {.id = inodes ? FSCK_INODE_PADDING : FSCK_BLOCK_PADDING};
	uint32_t first = 0;

	a.num = count_differences(s, padding, &first);
	a.group = first;
	if (a.num && !fsck_found(f, &a))
		forget_differences(s, padding);
	return f->ses.stop ? 0 : ask_differences(f, s, inodes);
}

/* Report a difference of the group, and forget it if it is not to be repaired. */
static void ask_about_differences(struct fsck *f, struct fsck_space_group *g, unsigned odd,
				  enum fsck_id id, xw_blk blk)
{
	const struct fsck_about a = {.id = id, .group = g->group, .blk = blk};

	if (g->odd & odd && !fsck_found(f, &a))
		g->odd &= ~odd;
}

/* If the bits of a bitmap are wrong, a wrong checksum is their consequence. */
static void ask_bitmap(struct fsck *f, struct fsck_space_group *g, bool inodes, xw_blk blk)
{
	const unsigned bits = (FSCK_SP_BLOCKS | FSCK_SP_BLOCK_PADDING) << inodes;

	ask_about_differences(f, g, FSCK_SP_BLOCK_IO << inodes,
			      inodes ? FSCK_INODE_BITMAP_IO : FSCK_BLOCK_BITMAP_IO, blk);
	if (!(g->odd & bits))
		ask_about_differences(f, g, FSCK_SP_BLOCK_CSUM << inodes,
				      inodes ? FSCK_INODE_BITMAP_CSUM : FSCK_BLOCK_BITMAP_CSUM,
				      blk);
}

static bool ask_count(struct fsck *f, enum fsck_id id, uint32_t group, uint64_t have, uint64_t want)
{
	const struct fsck_about a = {.id = id, .group = group, .num = have, .num2 = want};

	return have != want && !f->ses.stop && fsck_found(f, &a);
}

/* Set a count of a descriptor if that is to be repaired. */
static bool mend_count(struct fsck *f, enum fsck_id id, uint32_t group, uint32_t *have,
		       uint32_t want)
{
	if (!ask_count(f, id, group, *have, want))
		return false;
	*have = want;
	return true;
}

static bool mend_counts(struct fsck *f, const struct fsck_space_group *g, struct xw_group_desc *gd)
{
	bool any =
		mend_count(f, FSCK_GROUP_FREE_BLOCKS, g->group, &gd->free_blocks, g->free_blocks);

	any |= mend_count(f, FSCK_GROUP_FREE_INODES, g->group, &gd->free_inodes, g->free_inodes);
	any |= mend_count(f, FSCK_GROUP_DIRS, g->group, &gd->used_dirs, g->dirs);
	if (g->odd & FSCK_SP_UNUSED)
		any |= mend_count(f, FSCK_ITABLE_UNUSED, g->group, &gd->itable_unused, g->unused);
	return any;
}

/* ---- writing ---- */

/*
 * Write the bitmaps that differ according to g->odd, and set the descriptor's fields about them in
 * *gd.
 */
static int put_bitmaps(struct fsck *f, const struct fsck_space_group *g, struct xw_group_desc *gd,
		       uint8_t *bits)
{
	const struct xw_image *img = f->ses.img;
	const struct xw_super *sb = &img->sb;
	int rc = 0;

	if (g->odd & (FSCK_SP_BLOCK_BITMAP | FSCK_SP_LAST_UNINIT) &&
	    fsck_owns(f, FSCK_O_GROUP, gd->block_bitmap, 1)) {
		fsck_space_block_bits(f, g->group, bits);
		gd->flags &= (uint16_t)~XW_BG_BLOCK_UNINIT;
		gd->block_bitmap_csum =
			xw_bitmap_csum(sb, img->csum_seed, bits, xw_image_group_bits(img) / 8);
		rc = fsck_write(f, FSCK_O_GROUP, gd->block_bitmap, bits);
	}
	if (!rc && g->odd & FSCK_SP_INODE_BITMAP &&
	    fsck_owns(f, FSCK_O_GROUP, gd->inode_bitmap, 1)) {
		fsck_space_inode_bits(f, g->group, bits, NULL);
		if (xw_image_inode_uninit(img, gd))
			gd->itable_unused = g->unused;
		gd->flags &= (uint16_t)~XW_BG_INODE_UNINIT;
		gd->inode_bitmap_csum =
			xw_bitmap_csum(sb, img->csum_seed, bits, sb->inodes_per_group / 8);
		rc = fsck_write(f, FSCK_O_GROUP, gd->inode_bitmap, bits);
	}
	return rc;
}

#define MENDED                                                                                     \
	(FSCK_SP_BLOCK_BITMAP | FSCK_SP_INODE_BITMAP | FSCK_SP_STRAY_UNINIT | FSCK_SP_LAST_UNINIT)

/* The findings about a group are reported before it is written. */
static int mend_group(struct fsck *f, struct fsck_space_group *g, uint8_t *bits)
{
	struct xw_group_desc gd;
	bool any;
	int rc = get_group(f, g->group, &gd);

	if (rc)
		return rc;
	ask_about_differences(f, g, FSCK_SP_STRAY_UNINIT, FSCK_STRAY_UNINIT, 0);
	/* Stock tools and Linux require the bitmap of the last group on disk: it may be short. */
	ask_about_differences(f, g, FSCK_SP_LAST_UNINIT, FSCK_LAST_UNINIT, 0);
	ask_bitmap(f, g, false, gd.block_bitmap);
	ask_bitmap(f, g, true, gd.inode_bitmap);
	any = mend_counts(f, g, &gd);
	if (f->ses.stop || !(any || g->odd & MENDED))
		return 0;
	if (g->odd & FSCK_SP_STRAY_UNINIT) {
		gd.flags &= (uint16_t) ~(XW_BG_BLOCK_UNINIT | XW_BG_INODE_UNINIT);
		gd.itable_unused = 0;
	}
	rc = put_bitmaps(f, g, &gd, bits);
	return rc ? rc : fsck_group_write(f, g->group, &gd);
}

static int mend_groups(struct fsck *f, struct fsck_space_scan *s)
{
	auto_free uint8_t *bits = malloc(f->ses.img->block_size);
	int rc = bits ? 0 : xw_fail_nomem(&f->ses.diag, "bitmaps");

	for (size_t i = 0; i < s->odd.n && !rc && !f->ses.stop; i++)
		rc = mend_group(f, &s->odd.v[i], bits);
	return rc;
}

static int mend_super(struct fsck *f, const struct fsck_space_scan *s)
{
	struct xw_super *sb = &f->ses.img->sb;
	const uint64_t blocks = s->free_clusters << xw_image_cluster_bits(f->ses.img);
	const struct xw_super old = *sb;

	if (ask_count(f, FSCK_FREE_BLOCKS, 0, sb->free_blocks_count, blocks))
		sb->free_blocks_count = blocks;
	if (ask_count(f, FSCK_FREE_INODES, 0, sb->free_inodes_count, s->free_inodes))
		sb->free_inodes_count = (uint32_t)s->free_inodes;
	f->facts.counts.free_known = true; /* the summary is about the state that was checked */
	f->facts.counts.free_blocks = blocks;
	f->facts.counts.free_inodes = s->free_inodes;
	if (sb->free_blocks_count == old.free_blocks_count &&
	    sb->free_inodes_count == old.free_inodes_count)
		return 0;
	return fsck_super_write(f);
}

/* Drop findings about bitmaps whose block has another owner, too: these are not written. */
static int pass_over(struct fsck *f, struct fsck_space_scan *s)
{
	int rc = 0;

	for (size_t i = 0; f->facts.owners.contested && i < s->odd.n && !rc; i++) {
		struct fsck_space_group *g = &s->odd.v[i];
		struct xw_group_desc gd;

		rc = get_group(f, g->group, &gd);
		if (!rc && !fsck_owns(f, FSCK_O_GROUP, gd.block_bitmap, 1))
			g->odd &= ~(uint32_t)(FSCK_SP_BLOCK_BITMAP | FSCK_SP_LAST_UNINIT);
		if (!rc && !fsck_owns(f, FSCK_O_GROUP, gd.inode_bitmap, 1))
			g->odd &= ~(uint32_t)FSCK_SP_INODE_BITMAP;
	}
	return rc;
}

static int mend(struct fsck *f, struct fsck_space_scan *s)
{
	int rc = fsck_scan_space(f, s);

	if (!rc && f->opts.mode != FSCK_NO)
		rc = pass_over(f, s);
	if (!rc)
		rc = ask_bitmaps(f, s, false);
	if (rc || f->ses.stop)
		return rc;
	rc = ask_bitmaps(f, s, true);
	if (rc || f->ses.stop)
		return rc;
	rc = mend_groups(f, s);
	return rc || f->ses.stop ? rc : mend_super(f, s);
}

int fsck_bitmaps_repair(struct fsck *f)
{
	struct fsck_space_scan s = {0};
	const int rc = mend(f, &s);

	xw_vec_free(&s.odd);
	fsck_looked(f, FSCK_PART_SPACE);
	return rc;
}

int fsck_bitmaps_force(struct fsck *f)
{
	int rc;

	f->round.must = true;
	rc = fsck_bitmaps_repair(f);
	f->round.must = false;
	return rc;
}
