// SPDX-License-Identifier: MIT
/*
 * Converts every checksum of the image to another seed (UUID) or another kind (metadata_csum,
 * uninit_bg, none), and data that depends on the kind: room for checksums in directories,
 * uninitialized groups. File types in directories are converted here, too, since they are in every
 * directory block.
 *
 * Each block is read and verified by the old rules before it gets a new checksum: an invalid one
 * must not become valid. The order is: data about all inodes (hashes of EA values, file types); the
 * inodes with their blocks, group by group; xattr blocks, which several inodes may share; the MMP
 * block; descriptors, by which all of these were located; the superblock.
 *
 * The unused ends of inode tables (bg_itable_unused) are not read. They are zeroed if the new
 * descriptors do not record them.
 */
#include "config.h"

#include "tune/sweep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "disk/dirent.h"
#include "disk/mmp.h"
#include "read/bitmaps.h"

/* ---- inode tables ---- */

static int sweep_record(struct xw_sweep *s, xw_ino ino, bool in_use, uint8_t *raw)
{
	const struct xw_image *img = s->img;
	struct xw_inode in;
	int rc;

	if (xw_all_zero(raw, img->inode_size))
		return 0;
	rc = xw_inode_decode(raw, &img->sb, &in);
	if (!rc)
		rc = xw_inode_verify(raw, &img->sb, img->csum_seed, ino);
	if (rc) /* an invalid record of an unused inode is left unchanged */
		return in_use ? xw_fail(img->diag, rc, "%s: inode %" PRIu32 ": %s; run xw-fsck -f",
					img->dev->name, ino, xw_err_text(rc))
			      : 0;
	if (in_use)
		rc = xw_sweep_inode(s, ino, &in, raw);
	xw_inode_set_csum(raw, s->to, s->seed, ino);
	return rc;
}

struct table {
	uint64_t group;
	struct xw_group_desc gd;
	uint32_t used; /* number of records without the unused end of the table */
	uint8_t *bits; /* inode bitmap */
	uint8_t *old, *new; /* the current block of the table */
};

static int table_block(struct xw_sweep *s, struct table *t, uint32_t k)
{
	const struct xw_image *img = s->img;
	const uint32_t bs = img->block_size, per = bs / img->inode_size;
	const uint64_t off = (t->gd.inode_table + k) * bs;
	int rc = xw_dev_pread(img->dev, t->old, bs, off);

	memcpy(t->new, t->old, bs);
	for (uint32_t i = 0; i < per && k * per + i < t->used && !rc; i++) {
		const uint32_t at = k * per + i;
		const xw_ino ino = (xw_ino)(t->group * img->sb.inodes_per_group + at + 1);

		rc = sweep_record(s, ino, t->bits[at / 8] >> (at % 8) & 1,
				  t->new + (size_t)i * img->inode_size);
	}
	if (rc || !memcmp(t->old, t->new, bs))
		return rc;
	return xw_dev_pwrite(img->dev, t->new, bs, off);
}

static int sweep_table(struct xw_sweep *s, struct table *t)
{
	const struct xw_image *img = s->img;
	const uint32_t per_group = img->sb.inodes_per_group;
	int rc = xw_image_group(s->img, t->group, &t->gd);

	if (rc)
		return rc;
	t->used = per_group;
	if (xw_tune_tracks_use(&img->sb) && t->gd.flags & XW_BG_INODE_UNINIT)
		return 0;
	if (xw_tune_tracks_use(&img->sb) && t->gd.itable_unused > per_group)
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: group %" PRIu64 ": %" PRIu32 " unused inodes of %" PRIu32,
			       img->dev->name, t->group, t->gd.itable_unused, per_group);
	if (xw_tune_tracks_use(&img->sb))
		t->used = per_group - t->gd.itable_unused;
	if (!xw_image_has_blocks(img, t->gd.inode_table, img->itable_blocks))
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: group %" PRIu64 ": its inode table is outside the filesystem",
			       img->dev->name, t->group);
	rc = xw_image_inode_bitmap(s->img, t->group, t->bits);
	for (uint32_t k = 0; k * (img->block_size / img->inode_size) < t->used && !rc; k++)
		rc = table_block(s, t, k);
	return rc;
}

static int sweep_tables(struct xw_sweep *s)
{
	const uint32_t bs = s->img->block_size;
	auto_free uint8_t *mem = malloc(3 * (size_t)bs);
	struct table t = {.bits = mem, .old = mem + bs, .new = mem + 2 * (size_t)bs};
	int rc = mem ? 0 : xw_fail_nomem(s->t->diag, "inode tables");

	for (; t.group < s->img->groups && !rc; t.group++)
		rc = sweep_table(s, &t);
	return rc;
}

/* ---- groups ---- */

/* Verify the checksum of a bitmap by the old rules, and compute the new one. */
static int bitmap_csum(struct xw_sweep *s, uint64_t group, xw_blk blk, size_t bytes, uint32_t old,
		       uint32_t *csum)
{
	const struct xw_image *img = s->img;
	int rc = xw_image_has_blocks(img, blk, 1) ? xw_sweep_get(s, blk) : XW_ERR_CORRUPT;

	if (rc == XW_ERR_CORRUPT)
		return xw_fail(img->diag, rc,
			       "%s: group %" PRIu64 ": a bitmap is outside the filesystem",
			       img->dev->name, group);
	if (!rc && s->old_csum && xw_bitmap_csum(&img->sb, img->csum_seed, s->buf, bytes) != old)
		rc = xw_fail(img->diag, XW_ERR_CHECKSUM,
			     "%s: group %" PRIu64 ": bitmap checksum mismatch; run xw-fsck -f",
			     img->dev->name, group);
	*csum = xw_bitmap_csum(s->to, s->seed, s->buf, bytes);
	return rc;
}

static int bitmap_csums(struct xw_sweep *s, uint64_t group, struct xw_group_desc *gd)
{
	const struct xw_super *sb = &s->img->sb;
	const bool tracked = xw_tune_tracks_use(sb);
	const bool any = s->old_csum || s->new_csum;
	int rc = 0;

	if (any && (!tracked || !(gd->flags & XW_BG_BLOCK_UNINIT)))
		rc = bitmap_csum(s, group, gd->block_bitmap, xw_image_group_bits(s->img) / 8,
				 gd->block_bitmap_csum, &gd->block_bitmap_csum);
	if (!rc && any && (!tracked || !(gd->flags & XW_BG_INODE_UNINIT)))
		rc = bitmap_csum(s, group, gd->inode_bitmap, sb->inodes_per_group / 8,
				 gd->inode_bitmap_csum, &gd->inode_bitmap_csum);
	if (!s->new_csum)
		gd->block_bitmap_csum = gd->inode_bitmap_csum = 0;
	return rc;
}

/* Write bitmaps and zero table blocks that are uninitialized, before the flags are cleared. */
static int initialize(struct xw_sweep *s, struct xw_sysmap *map, uint64_t group,
		      struct xw_group_desc *gd)
{
	struct xw_image *img = s->img;
	const uint32_t per_group = img->sb.inodes_per_group;
	const uint64_t start = gd->inode_table * img->block_size;
	const uint64_t unused = gd->flags & XW_BG_INODE_UNINIT ? per_group : gd->itable_unused;
	int rc = 0;

	if (gd->flags & XW_BG_BLOCK_UNINIT) {
		memset(s->buf, 0xff, img->block_size);
		rc = xw_image_block_bitmap(img, map, group, s->buf);
		if (!rc)
			rc = xw_sweep_put(s, gd->block_bitmap);
	}
	if (!rc && gd->flags & XW_BG_INODE_UNINIT) {
		memset(s->buf, 0xff, img->block_size);
		rc = xw_image_inode_bitmap(img, group, s->buf);
		if (!rc)
			rc = xw_sweep_put(s, gd->inode_bitmap);
	}
	if (!rc && unused && !(gd->flags & XW_BG_INODE_ZEROED)) {
		const uint64_t from = start + (per_group - unused) * img->inode_size;

		rc = xw_dev_zero(img->dev, from,
				 start + (uint64_t)img->itable_blocks * img->block_size - from);
	}
	gd->flags = 0;
	gd->itable_unused = 0;
	return rc;
}

static int sweep_group(struct xw_sweep *s, struct xw_sysmap *map, uint64_t group)
{
	struct xw_image *img = s->img;
	const uint32_t size = img->desc_size, per = img->block_size / size;
	const uint64_t off = xw_image_desc_block(img, group) * img->block_size + group % per * size;
	struct xw_group_desc gd;
	int rc = xw_image_group(img, group, &gd);

	if (!rc)
		rc = bitmap_csums(s, group, &gd);
	if (!rc && xw_tune_tracks_use(&img->sb) && !xw_tune_tracks_use(s->to))
		rc = initialize(s, map, group, &gd);
	if (rc)
		return rc;
	if (!xw_tune_tracks_use(&img->sb) && xw_tune_tracks_use(s->to)) {
		gd.flags = XW_BG_INODE_ZEROED;
		gd.itable_unused = 0;
	}
	if (!xw_tune_tracks_use(s->to))
		gd.checksum = 0;
	rc = xw_dev_pread(img->dev, s->buf, size, off);
	if (rc)
		return rc;
	xw_group_encode(&gd, s->to, s->seed, (uint32_t)group, s->buf);
	return xw_dev_pwrite(img->dev, s->buf, size, off);
}

static int sweep_groups(struct xw_sweep *s)
{
	struct xw_sysmap *map;
	int rc = xw_sysmap_new(s->img, &map);

	if (rc)
		return rc;
	for (uint64_t g = 0; g < s->img->groups && !rc; g++)
		rc = sweep_group(s, map, g);
	xw_sysmap_free(map);
	return rc;
}

/* ---- MMP block, file types ---- */

static int sweep_mmp(struct xw_sweep *s)
{
	struct xw_image *img = s->img;
	const xw_blk blk = img->sb.mmp_block;
	struct xw_mmp m;
	int rc;

	if (!(img->sb.feature_incompat & XW_INCOMPAT_MMP) || !blk)
		return 0;
	rc = xw_image_has_blocks(img, blk, 1) ? xw_sweep_get(s, blk) : XW_ERR_CORRUPT;
	if (!rc)
		rc = xw_mmp_decode(s->buf, &m);
	if (!rc && s->old_csum)
		rc = xw_mmp_verify(s->buf, img->csum_seed);
	if (rc)
		return xw_fail(img->diag, rc, "%s: MMP block %" PRIu64 ": %s", img->dev->name, blk,
			       xw_err_text(rc));
	xw_mmp_encode(&m, s->new_csum, s->seed, s->buf);
	return xw_sweep_put(s, blk);
}

static int set_type(void *arg, xw_ino ino, struct xw_inode *in, const uint8_t *raw)
{
	struct xw_sweep *s = arg;

	(void)raw;
	s->types[ino] = (uint8_t)xw_ftype_of_mode(in->mode);
	return 0;
}

/* Read the file types of all inodes, for directory entries without types. */
static int read_types(struct xw_sweep *s)
{
	s->types = calloc((size_t)s->img->sb.inodes_count + 1, 1);
	return s->types ? xw_tune_each_inode(s->img, set_type, s)
			: xw_fail_nomem(s->t->diag, "inode types");
}

static int sweep(struct xw_sweep *s)
{
	const struct xw_super *sb = &s->img->sb;
	int rc = 0;

	if (s->retype && s->to->feature_incompat & XW_INCOMPAT_FILETYPE)
		rc = read_types(s);
	if (!rc && s->rehash)
		rc = xw_sweep_values(s);
	if (!rc && (s->retype || s->rehash || s->old_csum || s->new_csum))
		rc = sweep_tables(s);
	if (!rc)
		rc = xw_sweep_xattr_blocks(s);
	if (!rc)
		rc = sweep_mmp(s);
	if (!rc && (xw_tune_tracks_use(sb) || xw_tune_tracks_use(s->to)))
		rc = sweep_groups(s);
	return rc;
}

int xw_tune_sweep(struct xw_tune_run *t)
{
	struct xw_sweep s = {
		.t = t,
		.to = &t->to,
		.seed = xw_super_csum_seed(&t->to),
		.old_csum = xw_super_has_csum(&t->sb),
		.new_csum = xw_super_has_csum(&t->to),
		.retype = (t->sb.feature_incompat ^ t->to.feature_incompat) & XW_INCOMPAT_FILETYPE,
	};
	struct xw_super sb;
	int rc = xw_image_open(xw_edit_dev(t->edit), 0, t->diag, &s.img);

	if (rc)
		return rc;
	s.rehash = s.img->sb.feature_incompat & XW_INCOMPAT_EA_INODE && s.seed != s.img->csum_seed;
	s.buf = malloc(s.img->block_size);
	rc = s.buf ? sweep(&s) : xw_fail_nomem(t->diag, "a block");
	sb = s.img->sb;
	xw_image_close(s.img);
	xw_vec_free(&s.values);
	xw_vec_free(&s.xattr_blocks);
	free(s.types);
	free(s.buf);
	if (rc)
		return rc;
	/* set the fields by which the rewritten blocks are valid; the others are set at the end */
	memcpy(sb.uuid, t->to.uuid, sizeof(sb.uuid));
	sb.checksum_seed = t->to.checksum_seed;
	sb.checksum_type = t->to.checksum_type;
	sb.feature_incompat &= ~(XW_INCOMPAT_CSUM_SEED | XW_INCOMPAT_FILETYPE);
	sb.feature_incompat |=
		t->to.feature_incompat & (XW_INCOMPAT_CSUM_SEED | XW_INCOMPAT_FILETYPE);
	sb.feature_ro_compat &= ~(XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM);
	sb.feature_ro_compat |= t->to.feature_ro_compat & (XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM);
	t->sb = sb;
	return xw_tune_put_super(t, &sb);
}
