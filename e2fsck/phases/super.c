// SPDX-License-Identifier: MIT
/*
 * Checks the superblock's fields against each other and the device. Fields that determine the
 * geometry were checked when the superblock was chosen (choose.c).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "disk/dirent.h"
#include "disk/dx_hash.h"
#include "disk/orphan.h"
#include "read/map.h"
#include "phases/super.h"

#define DAY 86400

enum { HURD = 1 };

static bool check_numbers(struct fsck *f, struct xw_super *sb)
{
	const uint64_t descs =
		xw_div_up(f->ses.img->groups, f->ses.img->block_size / f->ses.img->desc_size);
	const uint32_t room = sb->inode_size - XW_INODE_BODY;
	bool fix = false;

	if (sb->r_blocks_count > sb->blocks_count / 2 &&
	    FSCK_FOUND(f, SUPER_RESERVED, .num = sb->r_blocks_count)) {
		sb->r_blocks_count = sb->blocks_count / 20;
		fix = true;
	}
	if (sb->feature_incompat & XW_INCOMPAT_META_BG && sb->first_meta_bg > descs &&
	    FSCK_FOUND(f, SUPER_META_BG, .num = sb->first_meta_bg, .num2 = descs)) {
		sb->first_meta_bg = (uint32_t)descs;
		fix = true;
	}
	if (!(sb->feature_compat & XW_COMPAT_RESIZE_INODE) && sb->reserved_gdt_blocks &&
	    FSCK_FOUND(f, SUPER_GDT, .num = sb->reserved_gdt_blocks)) {
		sb->reserved_gdt_blocks = 0;
		fix = true;
	}
	if (sb->rev_level && (sb->min_extra_isize > room || sb->want_extra_isize > room) &&
	    FSCK_FOUND(f, SUPER_EXTRA, .num = XW_MAX(sb->min_extra_isize, sb->want_extra_isize))) {
		sb->min_extra_isize = sb->want_extra_isize =
			(uint16_t)XW_MIN(room, XW_INODE_EXTRA_WANTED);
		fix = true;
	}
	return fix;
}

static bool clear_feature(struct fsck *f, uint32_t *word, uint32_t bit, const char *why)
{
	if (!(*word & bit) || !FSCK_FOUND(f, SUPER_FEATURES, .name = why))
		return false;
	*word &= ~bit;
	return true;
}

/* Read an inode of this type, 0 for any, and its first block. */
static bool read_first(struct fsck *f, xw_ino ino, uint16_t type, struct xw_inode *in, xw_blk *blk,
		       uint8_t *buf)
{
	struct xw_map_run run = {0};
	const bool ok = !fsck_inode_read(f, ino, in, NULL) &&
			(!type || (in->mode & XW_S_IFMT) == type) &&
			!xw_map_lookup(f->ses.img, ino, in, 0, &run) && run.len &&
			!fsck_read(f, run.pblk, 1, buf);

	xw_diag_clear(&f->ses.diag);
	*blk = run.pblk;
	return ok;
}

/* Does the root directory begin with an entry that has a file type? */
static bool root_has_types(struct fsck *f)
{
	auto_free uint8_t *buf = malloc(f->ses.img->block_size);
	struct xw_dirent dot;
	struct xw_inode in;
	xw_blk blk;

	if (!buf || !read_first(f, XW_INO_ROOT, 0, &in, &blk, buf))
		return false;
	xw_dirent_peek(buf, &dot);
	return dot.ino == XW_INO_ROOT && dot.name_len == 1 && dot.ftype == XW_FT_DIR;
}

/*
 * A filesystem of the Hurd has neither file types in directories nor a journal or extents. If it
 * has any of these, the creator OS is wrong; otherwise the feature `filetype` is.
 */
static bool check_creator(struct fsck *f, struct xw_super *sb)
{
	if (sb->creator_os != HURD || !(sb->feature_incompat & XW_INCOMPAT_FILETYPE))
		return false;
	if (sb->feature_compat & XW_COMPAT_HAS_JOURNAL ||
	    sb->feature_incompat & XW_INCOMPAT_EXTENTS || root_has_types(f)) {
		if (!FSCK_FOUND(f, SUPER_CREATOR))
			return false;
		sb->creator_os = 0;
		return true;
	}
	if (!FSCK_FOUND(f, SUPER_HURD))
		return false;
	sb->feature_incompat &= ~XW_INCOMPAT_FILETYPE;
	return true;
}

static bool check_features(struct fsck *f, struct xw_super *sb)
{
	const bool csum = sb->feature_ro_compat & XW_RO_METADATA_CSUM;
	bool fix = check_creator(f, sb);

	if (sb->feature_incompat & XW_INCOMPAT_META_BG)
		fix |= clear_feature(f, &sb->feature_compat, XW_COMPAT_RESIZE_INODE,
				     "resize_inode and meta_bg");
	if (csum) {
		fix |= clear_feature(f, &sb->feature_ro_compat, XW_RO_GDT_CSUM,
				     "metadata_csum and uninit_bg");
	} else if (sb->feature_incompat & XW_INCOMPAT_CSUM_SEED && FSCK_FOUND(f, SUPER_SEED)) {
		sb->feature_incompat &= ~XW_INCOMPAT_CSUM_SEED;
		fix = true;
	}
	if (sb->feature_incompat & XW_INCOMPAT_64BIT &&
	    !(sb->feature_incompat & XW_INCOMPAT_EXTENTS) && sb->blocks_count >> 32 &&
	    FSCK_FOUND(f, SUPER_FEATURES, .name = "64bit without extent")) {
		sb->feature_incompat |= XW_INCOMPAT_EXTENTS;
		fix = true;
	}
	if (!(sb->feature_incompat & XW_INCOMPAT_EXTENTS) && !xw_image_cluster_bits(f->ses.img))
		fix |= clear_feature(f, &sb->feature_ro_compat, XW_RO_BIGALLOC,
				     "bigalloc without extent");
	return fix;
}

/* Set the missing feature if its inode number refers to a file whose first block is valid. */
static bool check_orphan_feature(struct fsck *f, struct xw_super *sb)
{
	const xw_ino ino = sb->orphan_file_inum;
	auto_free uint8_t *buf = malloc(f->ses.img->block_size);
	struct xw_inode in;
	xw_blk blk;

	if (sb->feature_compat & XW_COMPAT_ORPHAN_FILE || ino < sb->first_ino ||
	    ino > sb->inodes_count || !buf || !read_first(f, ino, XW_S_IFREG, &in, &blk, buf) ||
	    xw_orphan_verify(buf, f->ses.img->block_size, xw_super_has_csum(sb),
			     xw_inode_seed(f->ses.img->csum_seed, ino, in.generation), blk) ||
	    !FSCK_FOUND(f, ORPHAN_FEATURE, .ino = ino))
		return false;
	sb->feature_compat |= XW_COMPAT_ORPHAN_FILE;
	return true;
}

static bool check_hash(struct fsck *f, struct xw_super *sb)
{
	const uint32_t signs = XW_FLAG_SIGNED_HASH | XW_FLAG_UNSIGNED_HASH;
	bool fix = false;

	if (!(sb->feature_compat & XW_COMPAT_DIR_INDEX))
		return false;
	if (fsck_hash_is_unknown(sb) && FSCK_FOUND(f, SUPER_HASH, .num = sb->def_hash_version)) {
		sb->def_hash_version = 1;
		fix = true;
	}
	if ((!(sb->flags & signs) || (sb->flags & signs) == signs) &&
	    FSCK_FOUND(f, SUPER_HASH_SIGN)) {
		sb->flags = (sb->flags & ~signs) | XW_FLAG_SIGNED_HASH;
		fix = true;
	}
	return fix;
}

/*
 * Without 64bit descriptors have 32 bytes, whatever the field says, but e2fsck(8) refuses an
 * impossible size.
 */
static bool check_desc_size(struct fsck *f, struct xw_super *sb)
{
	const uint16_t size = sb->desc_size;

	if (sb->feature_incompat & XW_INCOMPAT_64BIT ||
	    (!(size & (size - 1)) && size <= XW_DESC_SIZE_MAX) ||
	    !FSCK_FOUND(f, SUPER_FIELD, .name = "desc_size", .num = size))
		return false;
	sb->desc_size = 0;
	return true;
}

static bool is_future(struct fsck *f, int64_t *time, const char *what)
{
	if (*time <= f->opts.latest + DAY ||
	    !FSCK_FOUND(f, SUPER_TIME, .name = what, .num = (uint64_t)*time))
		return false;
	*time = f->opts.now;
	return true;
}

/*
 * Correct times in the future, set by a wrong clock. As in e2fsck(8) they are not counted as
 * errors, and their correction not as a repair.
 */
static int check_times(struct fsck *f, struct xw_super *sb)
{
	const bool mount = is_future(f, &sb->mtime, "mount");
	const bool write = is_future(f, &sb->wtime, "write");
	const bool changed = f->round.changed;
	int rc = mount || write ? fsck_super_write(f) : 0;

	f->round.changed = changed;
	return rc;
}

static bool check_uuid(struct fsck *f, struct xw_super *sb)
{
	static const uint8_t none[16];
	const uint32_t sums = XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM;

	if (memcmp(sb->uuid, none, sizeof(none)) != 0 || sb->feature_ro_compat & sums ||
	    !FSCK_FOUND(f, SUPER_UUID))
		return false;
	if (getrandom(sb->uuid, sizeof(sb->uuid), 0) != sizeof(sb->uuid))
		return false;
	sb->uuid[6] = (sb->uuid[6] & 0x0F) | 0x40;
	sb->uuid[8] = (sb->uuid[8] & 0x3F) | 0x80;
	return true;
}

/* Is ino a regular file in use? */
static bool is_file(struct fsck *f, xw_ino ino)
{
	struct xw_inode in;

	return ino && !fsck_inode_read(f, ino, &in, NULL) && in.links &&
	       (in.mode & XW_S_IFMT) == XW_S_IFREG;
}

/*
 * Check the inode number of user or group quota: it must be the reserved one. The number of project
 * quota, and numbers without the feature, are checked when names are known: fsck_repair_hidden().
 */
static bool check_quota_inode(struct fsck *f, uint32_t *ino, xw_ino usual, const char *what)
{
	if (!*ino && is_file(f, usual) && FSCK_FOUND(f, SUPER_QUOTA, .ino = *ino, .name = what)) {
		*ino = usual;
		return true;
	}
	if (!*ino || *ino == usual || !FSCK_FOUND(f, SUPER_QUOTA, .ino = *ino, .name = what))
		return false;
	*ino = is_file(f, usual) ? usual : 0;
	return true;
}

/* The MMP block must be in the filesystem, after the descriptors. special.c checks its contents. */
static bool check_mmp_block(struct fsck *f, struct xw_super *sb)
{
	struct xw_group_head h;

	if (!(sb->feature_incompat & XW_INCOMPAT_MMP))
		return false;
	xw_image_group_head(f->ses.img, 0, &h);
	if ((xw_image_has_blocks(f->ses.img, sb->mmp_block, 1) &&
	     sb->mmp_block >= h.super + h.has_super + h.desc_len + h.reserved_len) ||
	    !FSCK_FOUND(f, MMP_BLOCK, .blk = sb->mmp_block))
		return false;
	sb->feature_incompat &= ~XW_INCOMPAT_MMP;
	sb->mmp_block = 0;
	return true;
}

/*
 * Report a filesystem that is longer than its device. It is not repaired; who declines to end the
 * check sees the rest of the damage inside the device.
 */
static int check_size(struct fsck *f)
{
	const uint64_t have = f->ses.dev->size / f->ses.img->block_size;

	if (f->ses.img->sb.blocks_count <= have)
		return 0;
	/* The size was not corrected: findings past the end of the device would be meaningless. */
	f->round.again = f->ses.report_only;
	if (!FSCK_FOUND(f, SUPER_SIZE, .num = f->ses.img->sb.blocks_count, .num2 = have)) {
		if (!f->ses.stop)
			fsck_report_only(f);
		return 0;
	}
	return xw_fail(&f->ses.diag, XW_ERR_TRUNCATED,
		       "%s: the filesystem has %llu blocks, the device %llu; resize one of them",
		       f->opts.image, (unsigned long long)f->ses.img->sb.blocks_count,
		       (unsigned long long)have);
}

int fsck_check_fields(struct fsck *f)
{
	struct xw_super *sb = &f->ses.img->sb;
	bool fix = check_numbers(f, sb);
	int rc = check_size(f);

	if (!rc)
		rc = check_times(f, sb);
	fix |= check_orphan_feature(f, sb);
	fix |= check_features(f, sb);
	fix |= check_hash(f, sb);
	fix |= check_desc_size(f, sb);
	fix |= check_uuid(f, sb);
	if (sb->feature_ro_compat & XW_RO_QUOTA) {
		fix |= check_quota_inode(f, &sb->usr_quota_inum, XW_INO_USR_QUOTA, "user");
		fix |= check_quota_inode(f, &sb->grp_quota_inum, XW_INO_GRP_QUOTA, "group");
	}
	fix |= check_mmp_block(f, sb);
	if (rc || !fix)
		return rc;
	rc = fsck_super_renew(f);
	return rc ? rc : fsck_reopen(f);
}

int fsck_check_super(struct fsck *f)
{
	int rc = fsck_check_fields(f);

	if (rc || f->round.again)
		return rc;
	rc = fsck_check_groups(f);
	if (!rc)
		rc = fsck_check_journal(f);
	if (!rc)
		rc = fsck_check_orphans(f);
	if (!rc)
		rc = fsck_check_orphan_journal(f);
	if (!rc)
		rc = fsck_check_bad_inode(f);
	return rc;
}
