// SPDX-License-Identifier: MIT
/*
 * Checks group descriptors: locations of bitmaps and inode tables.
 *
 * A location is impossible if it is outside the filesystem (without flex_bg: outside its group) or
 * on other metadata, and wrong if the records there are not those of the group (tables.c). Tables
 * are located before bitmaps, which can be recreated. Tried are the backup descriptor, the location
 * that follows from mke2fs's layout or from neighboring groups, and for tables a search; contents
 * decide. Blocks of the journal cannot be a table: its log has copies of tables. If no location is
 * found, it is set to 0, and new blocks are allocated when free blocks are known (relocate.c).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "disk/extent.h"
#include "phases/super.h"
#include "walk/map.h"

enum {
	SEARCH_BLOCKS = 1 << 18, /* blocks read in search of one table */
	SEARCH_ALL = 1 << 19, /* blocks read in search of all tables */
	SEARCH_BYTES = 1 << 20, /* size of one read */
	LOOK_BLOCKS = 1 << 12, /* blocks of a table that are examined */
	LOG_WEIGHT = 1 << 20, /* penalty in the score of a location in the journal */
};

enum part { BLOCK_BITMAP, INODE_BITMAP, INODE_TABLE, PARTS };

struct check {
	struct fsck *f;
	struct xw_blockset *taken; /* blocks of group metadata accepted so far */
	struct xw_blockset *twice; /* blocks that two descriptors name; NULL: none */
	const struct xw_blockset *duplicates; /* `twice`, when it is complete; NULL until then */
	struct xw_blockset *journal; /* blocks of the journal, according to the superblock */
	uint64_t backup; /* group with a copy of the descriptors; 0: none */
	uint64_t searched; /* total number of blocks read in search of lost tables */
};

static xw_blk *location(struct xw_group_desc *gd, enum part p)
{
	return p == BLOCK_BITMAP   ? &gd->block_bitmap
	       : p == INODE_BITMAP ? &gd->inode_bitmap
				   : &gd->inode_table;
}

static uint64_t length(const struct xw_image *img, enum part p)
{
	return p == INODE_TABLE ? img->itable_blocks : 1;
}

/* ---- descriptors ---- */

static uint64_t desc_at(const struct xw_image *img, uint64_t group, uint64_t copy)
{
	const uint64_t per_block = img->block_size / img->desc_size;
	const bool meta = img->sb.feature_incompat & XW_INCOMPAT_META_BG &&
			  group / per_block >= img->sb.first_meta_bg;
	xw_blk blk = xw_image_desc_block(img, group);

	if (copy && meta) { /* the second and the last group of a meta group have copies */
		const uint64_t second = group / per_block * per_block + 1;

		blk = img->sb.first_data_block + second * img->sb.blocks_per_group +
		      xw_image_has_super(img, second);
	} else if (copy) {
		struct xw_group_head h;

		xw_image_group_head(img, copy, &h);
		blk = h.super + 1 + group / per_block;
	}
	return blk * img->block_size + group % per_block * img->desc_size;
}

static bool read_copy(struct fsck *f, uint64_t group, uint64_t copy, struct xw_group_desc *gd)
{
	const struct xw_image *img = f->ses.img;
	const bool sums = xw_super_has_group_csum(&img->sb);
	const uint64_t at = desc_at(img, group, copy);
	uint8_t raw[XW_DESC_SIZE_MAX];

	if (xw_image_meta(f->ses.img, at / img->block_size, (uint32_t)(at % img->block_size), raw,
			  img->desc_size)) {
		xw_diag_clear(&f->ses.diag); /* unreadable: as if there were no copy */
		return false;
	}
	xw_group_decode(raw, img->desc_size, gd);
	return !sums || !xw_group_verify(raw, &img->sb, img->csum_seed, (uint32_t)group);
}

/* The first group with a valid copy of the descriptors; 0: none. */
static uint64_t find_backup(struct fsck *f)
{
	struct xw_group_desc gd;

	if (f->ses.img->sb.feature_incompat & XW_INCOMPAT_META_BG && !f->ses.img->sb.first_meta_bg)
		return f->ses.img->groups > 1;
	if (f->start.backup_group && f->start.backup_group < f->ses.img->groups)
		return f->start.backup_group;
	for (uint64_t g = 1; g < f->ses.img->groups; g++)
		if (xw_image_has_super(f->ses.img, g) && read_copy(f, 0, g, &gd) &&
		    fsck_group_has(f->ses.img, 0, gd.block_bitmap, 1) &&
		    fsck_group_has(f->ses.img, 0, gd.inode_table, f->ses.img->itable_blocks))
			return g;
	return 0;
}

/* ---- locations ---- */

/* Mark the metadata at the start of every group. */
static int accept_heads(struct check *c)
{
	const struct xw_image *img = c->f->ses.img;
	int rc = xw_blockset_new(img->sb.blocks_count, &c->taken);

	for (uint64_t g = 0; g < img->groups && !rc; g++) {
		const xw_blk start =
			img->sb.first_data_block + g * (uint64_t)img->sb.blocks_per_group;
		struct xw_group_head h;
		uint64_t len;

		xw_image_group_head(img, g, &h);
		len = h.boot + h.has_super + h.desc_len + h.reserved_len;
		len = XW_MIN(len, img->sb.blocks_count - start);
		if (len)
			rc = xw_blockset_add(c->taken, start, len, NULL);
	}
	return rc ? xw_fail_nomem(&c->f->ses.diag, "group metadata") : 0;
}

static bool fits(const struct check *c, uint64_t group, enum part p, xw_blk blk)
{
	const uint64_t len = length(c->f->ses.img, p);

	return fsck_group_has(c->f->ses.img, group, blk, len) &&
	       !xw_blockset_count(c->taken, blk, len);
}

static int accept(struct check *c, enum part p, xw_blk blk)
{
	return xw_blockset_add(c->taken, blk, length(c->f->ses.img, p), NULL)
		       ? xw_fail_nomem(&c->f->ses.diag, "group metadata")
		       : 0;
}

/* ---- evidence ---- */

/* The first block of the group after superblock and descriptors. */
static xw_blk after_head(const struct xw_image *img, uint64_t group)
{
	struct xw_group_head h;

	xw_image_group_head(img, group, &h);
	return img->sb.first_data_block + group * (uint64_t)img->sb.blocks_per_group + h.boot +
	       h.has_super + h.desc_len + h.reserved_len;
}

/* The location that follows from a neighboring group, or from mke2fs's layout. */
static xw_blk suggest(struct check *c, uint64_t group, enum part p)
{
	struct xw_image *img = c->f->ses.img;
	const uint64_t len = length(img, p);
	struct xw_group_desc gd;

	if (img->sb.feature_incompat & XW_INCOMPAT_FLEX_BG) {
		if (group + 1 < img->groups && !xw_image_group(img, group + 1, &gd) &&
		    *location(&gd, p) > len && fits(c, group, p, *location(&gd, p) - len))
			return *location(&gd, p) - len;
		if (group && !xw_image_group(img, group - 1, &gd) &&
		    fits(c, group, p, *location(&gd, p) + len))
			return *location(&gd, p) + len;
		return p == INODE_BITMAP && !xw_image_group(img, group, &gd)
			       ? gd.block_bitmap + (1u << img->sb.log_groups_per_flex % 32)
			       : 0; /* no evidence: the default location may belong to a file */
	}
	return after_head(img, group) + (unsigned)p;
}

/* Read the group's inode bitmap into buf, one block. NULL: none that is valid was found. */
static const uint8_t *inode_bits(struct check *c, uint64_t group, const struct xw_group_desc *gd,
				 uint8_t *buf)
{
	struct xw_group_desc copy;

	if (fsck_inode_bitmap_is_valid(c->f, gd, gd->inode_bitmap, buf))
		return buf;
	if (c->backup && read_copy(c->f, group, c->backup, &copy) &&
	    fsck_inode_bitmap_is_valid(c->f, gd, copy.inode_bitmap, buf))
		return buf;
	return fsck_inode_bitmap_is_valid(c->f, gd, suggest(c, group, INODE_BITMAP), buf) ? buf
											  : NULL;
}

static bool in_journal(const struct check *c, xw_blk blk, uint64_t len)
{
	return c->journal && xw_blockset_count(c->journal, blk, len);
}

/* Is this the location that follows from a neighboring group or from mke2fs's layout? */
static bool is_usual(struct check *c, uint64_t group, enum part p, const struct xw_group_desc *gd)
{
	struct xw_image *img = c->f->ses.img;
	const struct xw_super *sb = &img->sb;
	const bool flex = sb->feature_incompat & XW_INCOMPAT_FLEX_BG;
	const uint64_t step = flex ? length(img, p) : sb->blocks_per_group;
	const xw_blk blk = *location((struct xw_group_desc *)gd, p);
	struct xw_group_desc other;

	if ((group && !xw_image_group(img, group - 1, &other) &&
	     *location(&other, p) + step == blk) ||
	    (group + 1 < img->groups && !xw_image_group(img, group + 1, &other) &&
	     blk + step == *location(&other, p)))
		return true;
	return blk ==
	       after_head(img, group) + ((unsigned)p << (flex ? sb->log_groups_per_flex % 32 : 0));
}

/*
 * Does the descriptor point to blocks that cannot be the inode table? The records in the first
 * block and their checksums usually decide; otherwise the table is compared with the inode bitmap.
 */
static bool is_no_table(struct check *c, uint64_t group, const struct xw_group_desc *gd)
{
	const struct xw_image *img = c->f->ses.img;
	const bool csum = xw_super_has_csum(&img->sb);
	struct fsck_evidence e = {0};
	auto_free uint8_t *bits = NULL;

	if (in_journal(c, gd->inode_table, img->itable_blocks))
		return true;
	if (!group && fsck_is_root_table(c->f->ses.dev, img, gd->inode_table))
		return false;
	if (group && gd->flags & XW_BG_INODE_UNINIT && is_usual(c, group, INODE_TABLE, gd))
		return false;
	if (csum && !fsck_table_evidence(c->f, group, gd->inode_table, 1, &e) &&
	    fsck_table_is_plausible(&e))
		return false;
	bits = malloc(img->block_size);
	e = (struct fsck_evidence){.bits = bits ? inode_bits(c, group, gd, bits) : NULL};
	if (fsck_table_evidence(c->f, group, gd->inode_table, csum ? LOOK_BLOCKS : 1, &e))
		return false;
	/* Zeros may be a table, unless the descriptor counts inodes in use. */
	return !group || fsck_table_is_unlikely(&e) ||
	       (csum && !e.good && !is_usual(c, group, INODE_TABLE, gd) &&
		(gd->free_inodes < img->sb.inodes_per_group ||
		 fsck_group_sum_is_wrong(c->f, group)));
}

/* Collect the evidence for this location of the table. Returns its score. */
static int64_t look_at_table(struct check *c, uint64_t group, xw_blk blk, struct fsck_evidence *e)
{
	int64_t score = in_journal(c, blk, c->f->ses.img->itable_blocks) ? -LOG_WEIGHT : 0;

	e->prove = true;
	if (fsck_table_evidence(c->f, group, blk, LOOK_BLOCKS, e))
		return INT64_MIN;
	return score + fsck_table_score(e);
}

/* ---- search ---- */

struct search {
	uint64_t group;
	const uint8_t *bits; /* the inode bitmap; NULL: unknown */
	uint64_t k, end; /* the blocks of the table to look for, from k to end - 1 */
	xw_blk best; /* the best location so far; 0: none */
	int64_t score; /* of `best` */
};

/*
 * Choose blocks of the table that must have inodes in use. In group 0 these are the blocks of the
 * reserved inodes. In other groups two blocks are chosen, since a record may be damaged.
 */
static void choose_blocks(const struct xw_image *img, struct search *s)
{
	const uint32_t per_block = img->block_size / img->inode_size;
	const uint64_t samples = s->group ? 2 : (img->sb.first_ino - 1) / per_block + 1;

	for (uint32_t i = 0; s->group && s->bits && i < img->sb.inodes_per_group; i++)
		if (s->bits[i / 8] >> i % 8 & 1) {
			s->k = i / per_block;
			break;
		}
	s->end = XW_MIN(s->k + samples, img->itable_blocks);
}

/*
 * Examine the location blk of the table, if buf may be block k of it according to the records
 * there.
 */
static void try_table(struct check *c, struct search *s, xw_blk blk, uint64_t k, const uint8_t *buf)
{
	const struct xw_image *img = c->f->ses.img;
	struct fsck_evidence one = {.bits = s->bits, .prove = true}, e = {.bits = s->bits};
	int64_t score;

	if (!fits(c, s->group, INODE_TABLE, blk) || in_journal(c, blk, img->itable_blocks))
		return;
	fsck_table_block(c->f, s->group, k * (img->block_size / img->inode_size), buf, &one);
	if (!one.proven && (!s->group || one.bad || one.misses || !one.good) &&
	    (s->group || k || !fsck_is_root_table(c->f->ses.dev, img, blk)))
		return;
	score = look_at_table(c, s->group, blk, &e);
	if (fsck_table_is_plausible(&e) && score > s->score) {
		s->score = score;
		s->best = blk;
	}
}

/*
 * Search for a table by its contents. Checksums tell to which inodes the records belong; without
 * checksums the inode bitmap tells which inodes are in use, and directories that name themselves
 * prove their numbers. At most SEARCH_BLOCKS are read for one group, and SEARCH_ALL in total.
 * Returns `best`, the best location known before, if the search finds none that is better.
 */
static xw_blk search_table(struct check *c, uint64_t group, const uint8_t *bits, xw_blk best,
			   int64_t score)
{
	const struct xw_image *img = c->f->ses.img;
	const struct xw_super *sb = &img->sb;
	const uint64_t flex =
		sb->feature_incompat & XW_INCOMPAT_FLEX_BG && sb->log_groups_per_flex < 32
			? UINT64_C(1) << sb->log_groups_per_flex
			: 1;
	const xw_blk from = sb->first_data_block + group / flex * flex * sb->blocks_per_group;
	const xw_blk end = XW_MIN(from + SEARCH_BLOCKS, sb->blocks_count);
	const bool known = !group || bits; /* it is known which table blocks have inodes in use */
	struct search s = {.group = group, .bits = bits, .best = best, .score = score};
	auto_free uint8_t *buf = malloc(SEARCH_BYTES);
	uint64_t n;

	if (!buf || (group && !bits && !xw_super_has_csum(sb)))
		return best;
	choose_blocks(img, &s);
	for (xw_blk blk = from; blk < end; blk += n) {
		n = XW_MIN((uint64_t)SEARCH_BYTES / img->block_size, end - blk);
		if (c->f->ses.stop || c->searched + n > SEARCH_ALL)
			return s.best;
		c->searched += n;
		if (fsck_read(c->f, blk, n, buf)) {
			n = 1; /* the others may be readable */
			if (fsck_read(c->f, blk, n, buf))
				continue;
		}
		for (uint64_t i = 0; i < n; i++) {
			const uint8_t *const block = buf + i * img->block_size;

			if (!known)
				s.end = fsck_table_index(c->f, group, block, &s.k) ? s.k + 1 : 0;
			for (uint64_t k = s.k; k < s.end && blk + i >= from + k; k++)
				try_table(c, &s, blk + i - k, k, block);
		}
	}
	return s.best;
}

/* ---- other locations ---- */

/* Does a valid copy of the descriptor have another location? */
static bool backup_differs(struct check *c, uint64_t group, enum part p, xw_blk blk, xw_blk *copy)
{
	struct xw_group_desc gd;

	if (!c->backup || !read_copy(c->f, group, c->backup, &gd))
		return false;
	*copy = *location(&gd, p);
	return *copy != blk;
}

/* Prefer the primary descriptor's location to that of the copy, if contents do not decide? */
static bool prefer_primary(struct check *c, uint64_t group, enum part p, xw_blk copy)
{
	const uint32_t sums = XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM;

	if (suggest(c, group, p) == copy)
		return false;
	return !(c->f->ses.img->sb.feature_ro_compat & sums) ||
	       !fsck_group_sum_is_wrong(c->f, group);
}

/*
 * The best location of a table by contents; otherwise that of the primary descriptor or of its
 * copy, unless the records there are not inodes. 0: none, an empty table must be allocated.
 */
static xw_blk find_table(struct check *c, uint64_t group, const struct xw_group_desc *gd)
{
	auto_free uint8_t *buf = malloc(c->f->ses.img->block_size);
	const uint8_t *bits = buf ? inode_bits(c, group, gd, buf) : NULL;
	struct candidate {
		xw_blk blk;
		bool named; /* by a descriptor */
		struct fsck_evidence e;
	} all[] = {{gd->inode_table, true, {bits}},
		   {0, true, {bits}},
		   {suggest(c, group, INODE_TABLE), false, {bits}}};
	xw_blk best = 0;
	int64_t most = INT64_MIN;
	bool sure = false;

	if (backup_differs(c, group, INODE_TABLE, gd->inode_table, &all[1].blk) &&
	    !prefer_primary(c, group, INODE_TABLE, all[1].blk)) {
		all[0].blk = all[1].blk;
		all[1].blk = gd->inode_table;
	}
	for (size_t i = 0; i < XW_ARRAY_SIZE(all); i++) {
		struct candidate *const t = &all[i];
		int64_t score;

		if (!fits(c, group, INODE_TABLE, t->blk))
			continue;
		score = look_at_table(c, group, t->blk, &t->e);
		if (fsck_table_is_plausible(&t->e) && score > most) {
			most = score;
			best = t->blk;
			sure = group || t->e.proven;
		}
	}
	if (sure && !in_journal(c, best, c->f->ses.img->itable_blocks))
		return best;
	best = search_table(c, group, bits, best, most);
	if (best)
		return best;
	for (size_t i = 0; i < XW_ARRAY_SIZE(all); i++)
		if (fits(c, group, INODE_TABLE, all[i].blk) &&
		    (all[i].named ? !fsck_table_is_foreign(&all[i].e) : group && !all[i].e.bad))
			return all[i].blk;
	return 0;
}

static bool is_valid(struct check *c, uint64_t group, enum part p, const struct xw_group_desc *gd,
		     xw_blk blk)
{
	auto_free uint8_t *bits = NULL;

	if (p == BLOCK_BITMAP)
		return fsck_block_bitmap_is_valid(c->f, group, gd, blk);
	bits = malloc(c->f->ses.img->block_size);
	return bits && fsck_inode_bitmap_is_valid(c->f, gd, blk, bits);
}

/* Is the location not that of the group's bitmap? An uninitialized bitmap proves nothing. */
static bool is_no_bitmap(struct check *c, uint64_t group, enum part p,
			 const struct xw_group_desc *gd)
{
	const uint16_t unused = p == BLOCK_BITMAP ? XW_BG_BLOCK_UNINIT : XW_BG_INODE_UNINIT;

	return !(gd->flags & unused) && !is_usual(c, group, p, gd) &&
	       !is_valid(c, group, p, gd, *location((struct xw_group_desc *)gd, p));
}

/* A wrong bit or a wrong count does not make a legal location impossible. */
static bool is_plausible(struct check *c, uint64_t group, enum part p,
			 const struct xw_group_desc *gd)
{
	if (p == BLOCK_BITMAP)
		return fsck_block_bitmap_is_plausible(c->f, group, gd, gd->block_bitmap);
	return fsck_inode_bitmap_is_plausible(c->f, group, gd, gd->inode_bitmap);
}

/*
 * The best location of a bitmap. Unlike a table a bitmap can be recreated anywhere, so a location
 * is used only if contents or other descriptors support it.
 */
static xw_blk find_bitmap(struct check *c, uint64_t group, enum part p,
			  const struct xw_group_desc *gd)
{
	const xw_blk was = *location((struct xw_group_desc *)gd, p);
	xw_blk copy = 0;
	const bool differs = backup_differs(c, group, p, was, &copy);
	const xw_blk where[] = {was, copy, suggest(c, group, p)};

	for (size_t i = 0; i < XW_ARRAY_SIZE(where); i++)
		if (fits(c, group, p, where[i]) && is_valid(c, group, p, gd, where[i]))
			return where[i];
	if (fits(c, group, p, was) && !is_no_bitmap(c, group, p, gd) &&
	    (!differs || !fits(c, group, p, copy) || prefer_primary(c, group, p, copy)))
		return was;
	return fits(c, group, p, copy) ? copy : 0;
}

/* ---- all groups ---- */

/* Record the blocks of this location that were accepted for another one. */
static int record_duplicate(struct check *c, enum part p, xw_blk blk)
{
	uint64_t start, n, at = blk;
	const xw_blk end = blk + length(c->f->ses.img, p);
	int rc = c->twice ? 0 : xw_blockset_new(c->f->ses.img->sb.blocks_count, &c->twice);

	while (!rc && xw_blockset_next_in(c->taken, at, end, &start, &n)) {
		rc = xw_blockset_add(c->twice, start, n, NULL);
		at = start + n;
	}
	return rc ? xw_fail_nomem(&c->f->ses.diag, "group metadata") : 0;
}

static bool is_good(struct check *c, uint64_t group, enum part p, const struct xw_group_desc *gd)
{
	const xw_blk blk = *location((struct xw_group_desc *)gd, p);
	xw_blk copy;

	return fits(c, group, p, blk) && !backup_differs(c, group, p, blk, &copy) &&
	       !(c->duplicates &&
		 xw_blockset_count(c->duplicates, blk, length(c->f->ses.img, p))) &&
	       (p == INODE_TABLE ? !is_no_table(c, group, gd)
				 : !is_no_bitmap(c, group, p, gd) || is_plausible(c, group, p, gd));
}

/*
 * Accept valid locations that no backup contradicts; mark the others in bad[]. Overlapping
 * locations are recorded in c->twice.
 */
static int accept_good(struct check *c, uint8_t *bad, uint64_t *n_bad)
{
	struct xw_image *img = c->f->ses.img;
	struct xw_group_desc gd;
	int rc = 0;

	for (uint64_t g = 0; g < img->groups && !rc; g++) {
		rc = xw_image_group(img, g, &gd);
		for (int p = 0; p < PARTS && !rc; p++) {
			const xw_blk blk = *location(&gd, p);

			if (is_good(c, g, p, &gd)) {
				rc = accept(c, p, blk);
				continue;
			}
			bad[g] |= (uint8_t)(1 << p);
			++*n_bad;
			if (!c->duplicates && fsck_group_has(img, g, blk, length(img, p)))
				rc = record_duplicate(c, p, blk);
		}
	}
	return rc;
}

static int repair_location(struct check *c, uint64_t group, enum part p, struct xw_group_desc *gd,
			   bool *write)
{
	static const enum fsck_id ids[] = {
		[BLOCK_BITMAP] = FSCK_GROUP_BLOCK_BITMAP,
		[INODE_BITMAP] = FSCK_GROUP_INODE_BITMAP,
		[INODE_TABLE] = FSCK_GROUP_INODE_TABLE,
	};
	struct fsck *f = c->f;
	const xw_blk was = *location(gd, p);
	const xw_blk to =
		p == INODE_TABLE ? find_table(c, group, gd) : find_bitmap(c, group, p, gd);

	if (to && to == was)
		return accept(c, p, was); /* the location is right, although contents are damaged */
	/* If both are 0 in a later round, this was reported before; relocate.c repairs it. */
	if (to || was || !f->round.number) {
		const struct fsck_about about = {
			.id = ids[p], .group = group, .blk = was, .num = to};

		if (!fsck_found(f, &about)) {
			fsck_report_only(f); /* further repairs might write to any block */
			return 0;
		}
		*write = true;
	}
	*location(gd, p) = to;
	f->ses.relocate = f->ses.relocate || !to;
	return to ? accept(c, p, to) : 0;
}

/* Repair the bad locations of the kinds `parts`. */
static int repair_group(struct check *c, uint64_t group, uint8_t bad, uint8_t parts)
{
	struct xw_group_desc gd;
	bool write = false;
	int rc = bad & parts ? xw_image_group(c->f->ses.img, group, &gd) : 0;

	for (int p = 0; p < PARTS && !rc; p++)
		if (bad & parts & 1 << p)
			rc = repair_location(c, group, p, &gd, &write);
	if (rc || !write)
		return rc;
	if (fsck_group_sum_is_wrong(c->f, group)) { /* trust no other field either */
		gd.flags &= (uint16_t) ~(XW_BG_INODE_UNINIT | XW_BG_BLOCK_UNINIT);
		gd.itable_unused = 0;
	}
	return fsck_group_renew(c->f, group, &gd);
}

/* List the blocks of the journal, according to the backup of its map in the superblock. */
static int find_journal(struct check *c)
{
	const struct xw_image *img = c->f->ses.img;
	const struct xw_super *sb = &img->sb;
	struct xw_inode in = {.mode = XW_S_IFREG, .links = 1, .size = sb->jnl_blocks[16]};
	auto_end(xw_walk_map_free) struct xw_walk_map walk = {0};
	struct xw_walk_map_item item;
	int more, rc = xw_blockset_new(sb->blocks_count, &c->journal);

	if (rc || sb->jnl_backup_type != 1)
		return rc ? xw_fail_nomem(&c->f->ses.diag, "the journal") : 0;
	for (unsigned i = 0; i < 15; i++)
		poke32(in.block + (size_t)4 * i, sb->jnl_blocks[i]);
	if (xw_extent_has_magic(in.block))
		in.flags = XW_FL_EXTENTS;
	xw_walk_map_init(&walk, c->f->ses.dev, sb);
	walk.csum = false; /* the inode's generation is unknown */
	rc = xw_walk_map_begin(&walk, XW_INO_JOURNAL, &in, -1);
	while (!rc && (more = xw_walk_map_next(&walk, &item)) > 0)
		if (more == 1 && item.kind == XW_WALK_RUN)
			rc = xw_blockset_add(c->journal, item.pblk, item.len, NULL);
	xw_diag_clear(&c->f->ses.diag);
	return rc ? xw_fail_nomem(&c->f->ses.diag, "the journal") : 0;
}

/*
 * Mark the metadata at the start of groups, then accept valid locations. If two descriptors name
 * the same block, start again and accept neither.
 */
static int accept_all(struct check *c, uint8_t *bad, uint64_t *n_bad)
{
	int rc = accept_heads(c);

	if (!rc)
		rc = accept_good(c, bad, n_bad);
	if (rc || !c->twice)
		return rc;
	xw_blockset_free(c->taken);
	c->taken = NULL;
	c->duplicates = c->twice;
	memset(bad, 0, c->f->ses.img->groups);
	*n_bad = 0;
	rc = accept_heads(c);
	return rc ? rc : accept_good(c, bad, n_bad);
}

static void check_end(struct check *c)
{
	xw_blockset_free(c->taken);
	xw_blockset_free(c->twice);
	xw_blockset_free(c->journal);
}

/* Repair tables before bitmaps: a table cannot be recreated. */
static int check_locations(struct fsck *f)
{
	static const uint8_t turns[] = {1 << INODE_TABLE, 1 << BLOCK_BITMAP | 1 << INODE_BITMAP};
	auto_end(check_end) struct check c = {.f = f};
	const uint64_t groups = f->ses.img->groups;
	auto_free uint8_t *bad = calloc(groups, 1);
	uint64_t n_bad = 0;
	int rc = bad ? find_journal(&c) : xw_fail_nomem(&f->ses.diag, "groups");

	if (rc)
		return rc;
	c.backup = find_backup(f);
	rc = accept_all(&c, bad, &n_bad);
	for (size_t turn = 0; turn < XW_ARRAY_SIZE(turns); turn++)
		for (uint64_t g = 0; n_bad && g < groups && !rc; g++)
			rc = repair_group(&c, g, bad[g], turns[turn]);
	return rc;
}

int fsck_check_groups(struct fsck *f)
{
	const bool sums = xw_super_has_group_csum(&f->ses.img->sb);
	int rc = check_locations(f);

	for (uint64_t g = 0; g < f->ses.img->groups && !rc; g++)
		rc = fsck_group_check_flags(f, g, sums);
	return rc;
}
