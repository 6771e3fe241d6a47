// SPDX-License-Identifier: MIT
/*
 * Group descriptors: locations of bitmaps and inode tables, checksums and flags.
 *
 * A location is impossible if it is outside the filesystem (without flex_bg: outside its group) or
 * on other metadata. Then the backup descriptor is used, or the location that follows from mke2fs's
 * layout or from neighboring groups; for a table both are accepted only if there are inodes. A
 * location that cannot be found is set to 0, and new blocks are allocated when free blocks are
 * known (relocate.c).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "open.h"

enum { SEARCH_BLOCKS = 1 << 18, SEARCH_ALL = 1 << 19, SEARCH_BYTES = 1 << 20 };

enum part { BLOCK_BITMAP, INODE_BITMAP, INODE_TABLE, PARTS };

struct check {
	struct fsck *f;
	struct xw_blockset *taken; /* blocks of group metadata accepted so far */
	uint64_t backup; /* group with a copy of the descriptors; 0: none */
	uint64_t searched; /* total number of blocks read in search of lost tables */
};

static xw_blk *place(struct xw_group_desc *gd, enum part p)
{
	return p == BLOCK_BITMAP   ? &gd->block_bitmap
	       : p == INODE_BITMAP ? &gd->inode_bitmap
				   : &gd->inode_table;
}

static uint64_t length(const struct xw_image *img, enum part p)
{
	return p == INODE_TABLE ? img->itable_blocks : 1;
}

static bool in_range(const struct xw_image *img, uint64_t group, xw_blk blk, uint64_t len)
{
	const struct xw_super *sb = &img->sb;
	const xw_blk start = sb->first_data_block + group * sb->blocks_per_group;
	const xw_blk end = XW_MIN(start + sb->blocks_per_group, sb->blocks_count);

	if (!xw_image_has_blocks(img, blk, len))
		return false;
	return sb->feature_incompat & XW_INCOMPAT_FLEX_BG || (blk >= start && blk + len <= end);
}

bool fsck_group_has_places(const struct xw_image *img, uint64_t group,
			   const struct xw_group_desc *gd)
{
	return in_range(img, group, gd->block_bitmap, 1) &&
	       in_range(img, group, gd->inode_bitmap, 1) &&
	       in_range(img, group, gd->inode_table, img->itable_blocks);
}

/* ---- descriptors ---- */

static uint64_t desc_at(const struct xw_image *img, uint64_t group, uint64_t copy)
{
	const uint64_t per_block = img->block_size / img->desc_size;
	const bool meta = img->sb.feature_incompat & XW_INCOMPAT_META_BG &&
			  group / per_block >= img->sb.first_meta_bg;
	xw_blk blk = xw_image_desc_block(img, group);

	if (copy && meta) { /* the second and the last group of a meta group have a copy, too */
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
	const struct xw_image *img = f->img;
	const bool sums = img->sb.feature_ro_compat & (XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM);
	const uint64_t at = desc_at(img, group, copy);
	uint8_t raw[XW_DESC_SIZE_MAX];

	if (xw_image_meta(f->img, at / img->block_size, (uint32_t)(at % img->block_size), raw,
			  img->desc_size)) {
		xw_diag_clear(&f->diag); /* in that case there is no copy */
		return false;
	}
	xw_group_decode(raw, img->desc_size, gd);
	return !sums || !xw_group_verify(raw, &img->sb, img->csum_seed, (uint32_t)group);
}

int fsck_group_write(struct fsck *f, uint64_t group, const struct xw_group_desc *gd)
{
	const struct xw_image *img = f->img;
	const uint64_t at = desc_at(img, group, 0);
	struct xw_diag *const diag = f->dev->diag;
	uint8_t raw[XW_DESC_SIZE_MAX] = {0};

	f->dev->diag = NULL;
	if (xw_dev_pread(f->dev, raw, img->desc_size, at))
		memset(raw, 0, sizeof(raw));
	f->dev->diag = diag;
	xw_group_encode(gd, &img->sb, img->csum_seed, (uint32_t)group, raw);
	f->changed = f->renew_backups = true;
	xw_image_forget(f->img);
	return xw_dev_pwrite(f->dev, raw, img->desc_size, at);
}

/* A group with a valid copy of the descriptors. */
static uint64_t find_backup(struct fsck *f)
{
	struct xw_group_desc gd;

	if (f->img->sb.feature_incompat & XW_INCOMPAT_META_BG && !f->img->sb.first_meta_bg)
		return f->img->groups > 1;
	if (f->backup_group && f->backup_group < f->img->groups)
		return f->backup_group;
	for (uint64_t g = 1; g < f->img->groups; g++)
		if (xw_image_has_super(f->img, g) && read_copy(f, 0, g, &gd) &&
		    in_range(f->img, 0, gd.block_bitmap, 1) &&
		    in_range(f->img, 0, gd.inode_table, f->img->itable_blocks))
			return g;
	return 0;
}

/* ---- places ---- */

/* Mark the metadata at the start of every group. */
static int take_heads(struct check *c)
{
	const struct xw_image *img = c->f->img;
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
	return rc ? xw_fail_nomem(&c->f->diag, "group metadata") : 0;
}

static bool fits(const struct check *c, uint64_t group, enum part p, xw_blk blk)
{
	const uint64_t len = length(c->f->img, p);

	return in_range(c->f->img, group, blk, len) && !xw_blockset_count(c->taken, blk, len);
}

static int accept(struct check *c, enum part p, xw_blk blk)
{
	return xw_blockset_add(c->taken, blk, length(c->f->img, p), NULL)
		       ? xw_fail_nomem(&c->f->diag, "group metadata")
		       : 0;
}

struct evidence {
	unsigned good, bad; /* records in use that can belong to this group; records that cannot */
};

/*
 * Evidence from the first block of a table, in buf, for and against its being that of this group.
 */
static void look_at_block(struct check *c, uint64_t group, const uint8_t *buf, struct evidence *e)
{
	const struct xw_image *img = c->f->img;
	const uint32_t n = img->block_size / img->inode_size;

	*e = (struct evidence){0};
	for (uint32_t i = 0; i < XW_MIN(n, img->sb.inodes_per_group); i++) {
		const uint8_t *raw = buf + (size_t)i * img->inode_size;
		const xw_ino ino = (xw_ino)(group * img->sb.inodes_per_group + i + 1);
		struct xw_inode in;

		if (xw_inode_decode(raw, &img->sb, &in) ||
		    xw_inode_verify(raw, &img->sb, img->csum_seed, ino))
			e->bad++;
		else if (in.mode && (in.links > 60000 || !(in.mode & XW_S_IFMT)))
			e->bad++;
		else
			e->good += in.mode != 0;
	}
}

/* Does an inode table start there, judging by its first block? */
static bool looks_like_table(struct check *c, uint64_t group, xw_blk blk)
{
	auto_free uint8_t *buf = malloc(c->f->img->block_size);
	struct evidence e;

	if (!buf || fsck_read(c->f, blk, 1, buf))
		return false;
	look_at_block(c, group, buf, &e);
	return e.good > e.bad || (!e.bad && group);
}

/*
 * Search for a table, to which no descriptor and no neighbor leads, by its contents: checksums tell
 * which inodes the records are; without them only the table with the root directory can be
 * identified. At most SEARCH_BLOCKS are read for one group, and SEARCH_ALL in total. 0: not found.
 */
static xw_blk search_table(struct check *c, uint64_t group)
{
	const struct xw_image *img = c->f->img;
	const struct xw_super *sb = &img->sb;
	const uint64_t flex =
		sb->feature_incompat & XW_INCOMPAT_FLEX_BG && sb->log_groups_per_flex < 32
			? UINT64_C(1) << sb->log_groups_per_flex
			: 1;
	const xw_blk from = sb->first_data_block + group / flex * flex * sb->blocks_per_group;
	const xw_blk end = XW_MIN(from + SEARCH_BLOCKS, sb->blocks_count);
	auto_free uint8_t *buf = malloc(SEARCH_BYTES);
	struct evidence e;
	uint64_t n;

	if (!buf || (group && !xw_super_has_csum(sb)))
		return 0;
	for (xw_blk blk = from; blk < end; blk += n) {
		n = XW_MIN((uint64_t)SEARCH_BYTES / img->block_size, end - blk);
		if (c->f->stop || c->searched + n > SEARCH_ALL)
			return 0;
		c->searched += n;
		if (fsck_read(c->f, blk, n, buf)) {
			n = 1; /* the others may be readable */
			if (fsck_read(c->f, blk, n, buf))
				continue;
		}
		for (uint64_t i = 0; i < n; i++) {
			if (!fits(c, group, INODE_TABLE, blk + i))
				continue;
			if (group)
				look_at_block(c, group, buf + i * img->block_size, &e);
			if (group ? e.good && !e.bad : fsck_is_root_table(c->f->dev, img, blk + i))
				return blk + i;
		}
	}
	return 0;
}

/* The location that follows from a neighbor, or from mke2fs's layout. */
static xw_blk suggest(struct check *c, uint64_t group, enum part p)
{
	struct xw_image *img = c->f->img;
	const uint64_t len = length(img, p);
	struct xw_group_desc gd;
	struct xw_group_head h;

	if (img->sb.feature_incompat & XW_INCOMPAT_FLEX_BG) {
		if (group + 1 < img->groups && !xw_image_group(img, group + 1, &gd) &&
		    *place(&gd, p) > len && fits(c, group, p, *place(&gd, p) - len))
			return *place(&gd, p) - len;
		if (group && !xw_image_group(img, group - 1, &gd) &&
		    fits(c, group, p, *place(&gd, p) + len))
			return *place(&gd, p) + len;
		return p == INODE_BITMAP && !xw_image_group(img, group, &gd)
			       ? gd.block_bitmap + (1u << img->sb.log_groups_per_flex % 32)
			       : 0; /* none: the standard place may belong to a file */
	}
	xw_image_group_head(img, group, &h);
	return img->sb.first_data_block + group * (uint64_t)img->sb.blocks_per_group + h.boot +
	       h.has_super + h.desc_len + h.reserved_len + (unsigned)p;
}

/* A better location than the one in *gd; 0: none known. */
static xw_blk find_place(struct check *c, uint64_t group, enum part p)
{
	struct xw_group_desc copy;
	xw_blk blk;

	if (c->backup && read_copy(c->f, group, c->backup, &copy) &&
	    fits(c, group, p, *place(&copy, p)))
		return *place(&copy, p);
	blk = suggest(c, group, p);
	if (fits(c, group, p, blk) && (p != INODE_TABLE || looks_like_table(c, group, blk)))
		return blk;
	return p == INODE_TABLE ? search_table(c, group) : 0;
}

static bool report_place(struct fsck *f, uint64_t group, enum part p, xw_blk was, xw_blk to)
{
	if (p == BLOCK_BITMAP)
		return FSCK_FOUND(f, GROUP_BLOCK_BITMAP, .group = group, .blk = was, .num = to);
	if (p == INODE_BITMAP)
		return FSCK_FOUND(f, GROUP_INODE_BITMAP, .group = group, .blk = was, .num = to);
	return FSCK_FOUND(f, GROUP_INODE_TABLE, .group = group, .blk = was, .num = to);
}

/* Does a valid copy of the descriptor have another location? */
static bool backup_differs(struct check *c, uint64_t group, enum part p, xw_blk blk, xw_blk *copy)
{
	struct xw_group_desc gd;

	if (!c->backup || !read_copy(c->f, group, c->backup, &gd))
		return false;
	*copy = *place(&gd, p);
	return *copy != blk;
}

static bool sum_is_wrong(struct fsck *f, uint64_t group)
{
	const struct xw_image *img = f->img;
	const uint64_t per_block = img->block_size / img->desc_size;
	uint8_t raw[XW_DESC_SIZE_MAX];

	return xw_image_meta(f->img, xw_image_desc_block(img, group),
			     (uint32_t)(group % per_block) * img->desc_size, raw, img->desc_size) ||
	       xw_group_verify(raw, &img->sb, img->csum_seed, (uint32_t)group);
}

/* The location in the primary descriptor is possible. Is it trustworthy? */
static bool prefer_primary(struct check *c, uint64_t group, enum part p, xw_blk blk)
{
	const uint32_t sums = XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM;
	xw_blk copy = 0;

	if (!backup_differs(c, group, p, blk, &copy) || !fits(c, group, p, copy))
		return p != INODE_TABLE || !c->backup || looks_like_table(c, group, blk);
	if (p == INODE_TABLE && looks_like_table(c, group, blk) != looks_like_table(c, group, copy))
		return looks_like_table(c, group, blk);
	if (suggest(c, group, p) == copy)
		return false;
	return !(c->f->img->sb.feature_ro_compat & sums) || !sum_is_wrong(c->f, group);
}

/* Is the table that group 0 is said to have another piece of the filesystem, or of that table? */
static bool is_no_table(struct check *c, uint64_t group, enum part p, xw_blk blk)
{
	const struct xw_image *img = c->f->img;

	return !group && p == INODE_TABLE && !fsck_is_root_table(c->f->dev, img, blk) &&
	       !(xw_super_has_csum(&img->sb) && looks_like_table(c, group, blk));
}

/* Accept valid locations that no backup contradicts; the others are marked in bad[]. */
static int take_good(struct check *c, uint8_t *bad, uint64_t *n_bad)
{
	struct xw_image *img = c->f->img;
	struct xw_group_desc gd;
	xw_blk copy;
	int rc = 0;

	for (uint64_t g = 0; g < img->groups && !rc; g++) {
		rc = xw_image_group(img, g, &gd);
		for (int p = 0; p < PARTS && !rc; p++) {
			const xw_blk blk = *place(&gd, p);

			if (fits(c, g, p, blk) && !backup_differs(c, g, p, blk, &copy) &&
			    !is_no_table(c, g, p, blk)) {
				rc = accept(c, p, blk);
			} else {
				bad[g] |= (uint8_t)(1 << p);
				++*n_bad;
			}
		}
	}
	return rc;
}

/* The table with the root directory is replaced only by another such table. */
static bool is_root_table(struct check *c, uint64_t group, enum part p, xw_blk blk)
{
	xw_blk copy = 0;

	if (group || p != INODE_TABLE || !in_range(c->f->img, group, blk, length(c->f->img, p)) ||
	    !fsck_is_root_table(c->f->dev, c->f->img, blk))
		return false;
	return !backup_differs(c, group, p, blk, &copy) || !fits(c, group, p, copy) ||
	       !fsck_is_root_table(c->f->dev, c->f->img, copy);
}

static int mend_places(struct check *c, uint64_t group, uint8_t bad)
{
	struct fsck *f = c->f;
	struct xw_group_desc gd;
	bool write = false;
	int rc = xw_image_group(f->img, group, &gd);

	for (int p = 0; p < PARTS && !rc; p++) {
		const xw_blk was = *place(&gd, p);
		bool possible;
		xw_blk to;

		if (!(bad & 1 << p))
			continue;
		possible = fits(c, group, p, was);
		if ((possible && prefer_primary(c, group, p, was) &&
		     !is_no_table(c, group, p, was)) ||
		    is_root_table(c, group, p, was)) {
			rc = accept(c, p, was);
			continue;
		}
		to = find_place(c, group, p);
		if (to == was || (!to && possible && is_no_table(c, group, p, was))) {
			rc = accept(c, p, was); /* what it holds is damaged, then */
			continue;
		}
		if (to || was) { /* both 0: known to be lost, and left to relocate.c */
			if (!report_place(f, group, p, was, to))
				continue;
			write = true;
		}
		*place(&gd, p) = to;
		f->relocate = f->relocate || !to;
		if (to)
			rc = accept(c, p, to);
	}
	return rc || !write ? rc : fsck_group_write(f, group, &gd);
}

static int check_places(struct fsck *f)
{
	struct check c = {.f = f};
	const uint64_t groups = f->img->groups;
	auto_free uint8_t *bad = calloc(groups, 1);
	uint64_t n_bad = 0;
	int rc = bad ? take_heads(&c) : xw_fail_nomem(&f->diag, "groups");

	if (!rc)
		c.backup = find_backup(f);
	if (!rc)
		rc = take_good(&c, bad, &n_bad);
	for (uint64_t g = 0; n_bad && g < groups && !rc; g++)
		rc = bad[g] ? mend_places(&c, g, bad[g]) : 0;
	xw_blockset_free(c.taken);
	return rc;
}

/* ---- checksums, flags, counts of unused inodes ---- */

static int check_one(struct fsck *f, uint64_t group, bool sums)
{
	const uint32_t per_group = f->img->sb.inodes_per_group;
	const uint16_t uninit = XW_BG_INODE_UNINIT | XW_BG_BLOCK_UNINIT;
	struct xw_group_desc gd;
	bool write = false;
	int rc = xw_image_group(f->img, group, &gd);

	if (rc)
		return rc;
	if (!sums && gd.flags & uninit && FSCK_FOUND(f, GROUP_UNINIT, .group = group)) {
		gd.flags &= (uint16_t)~uninit;
		write = true;
	}
	if (sums && sum_is_wrong(f, group) && FSCK_FOUND(f, GROUP_CSUM, .group = group)) {
		/* nothing in it is certain: read the whole table */
		gd.flags &= (uint16_t)~uninit;
		gd.itable_unused = 0;
		write = true;
	}
	if (sums && gd.itable_unused > per_group &&
	    FSCK_FOUND(f, GROUP_UNUSED, .group = group, .num = gd.itable_unused)) {
		gd.itable_unused = 0;
		write = true;
	}
	if (sums && !group && gd.flags & XW_BG_INODE_UNINIT &&
	    FSCK_FOUND(f, GROUP_UNINIT, .group = group)) {
		gd.flags &= (uint16_t)~XW_BG_INODE_UNINIT;
		write = true;
	}
	return write ? fsck_group_write(f, group, &gd) : 0;
}

int fsck_check_groups(struct fsck *f)
{
	const bool sums = f->img->sb.feature_ro_compat & (XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM);
	int rc = check_places(f);

	for (uint64_t g = 0; g < f->img->groups && !rc; g++)
		rc = check_one(f, g, sums);
	return rc;
}

bool fsck_group_expose(struct fsck *f, xw_ino ino, const char *name, size_t len)
{
	const uint32_t per_group = f->img->sb.inodes_per_group;
	const uint64_t group = (ino - 1) / per_group;
	struct xw_group_desc gd;
	struct xw_inode in;
	auto_free uint8_t *raw = malloc(f->img->inode_size);

	if (!(f->img->sb.feature_ro_compat & (XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM)) || !raw ||
	    xw_image_group(f->img, group, &gd))
		return false;
	if (!f->again && !(gd.flags & XW_BG_INODE_UNINIT) &&
	    (ino - 1) % per_group < per_group - XW_MIN(gd.itable_unused, per_group))
		return false;
	if (fsck_inode_read(f, ino, &in, raw) || !in.links || !(in.mode & XW_S_IFMT) ||
	    xw_inode_verify(raw, &f->img->sb, f->img->csum_seed, ino))
		return false;
	if (f->again && !(gd.flags & XW_BG_INODE_UNINIT) && !gd.itable_unused)
		return true; /* a consequence of the repair, found in the next round */
	if (!FSCK_FOUND(f, GROUP_UNUSED_REF, .ino = ino, .group = group, .name = name,
			.name_len = len))
		return true; /* its meaning stays unknown */
	gd.flags &= (uint16_t)~XW_BG_INODE_UNINIT;
	gd.itable_unused = 0;
	f->again = f->hidden = true;
	f->looked = 0;
	return !fsck_group_write(f, group, &gd);
}
