/* SPDX-License-Identifier: MIT */
/*
 * Is the primary superblock good enough to be copied over its backups?
 *
 * Without checksums, a tool that only changes a label would not notice a flipped bit in the primary
 * superblock, and by copying it over the backups would destroy the data from which e2fsck(8) could
 * repair it. Therefore the fields must be consistent, as stock tools and Linux require, and fields
 * that only a tool can change must be equal in one of the first valid backups.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/auto.h"
#include "read/image.h"
#include "tune/tune_internal.h"

#define BACKUPS_MAX 3u /* number of valid backups to compare */
#define LOOKED_AT_MAX 64u /* number of backups to read */
#define FLEX_LOG_MAX 31u

/* Features that Linux or e2fsck set only in the primary superblock. */
#define COMPAT_LATER XW_COMPAT_EXT_ATTR
#define INCOMPAT_LATER                                                                             \
	(XW_INCOMPAT_RECOVER | XW_INCOMPAT_FILETYPE | XW_INCOMPAT_EXTENTS | XW_INCOMPAT_ENCRYPT)
#define RO_LATER                                                                                   \
	(XW_RO_LARGE_FILE | XW_RO_HUGE_FILE | XW_RO_DIR_NLINK | XW_RO_EXTRA_ISIZE | XW_RO_VERITY | \
	 XW_RO_ORPHAN_PRESENT)

static int invalid(struct xw_tune_run *t, const char *field, uint64_t value)
{
	return xw_tune_refuse(t, XW_ERR_CORRUPT,
			      "damaged superblock: %s is %" PRIu64 "; run xw-fsck -f", field,
			      value);
}

static int check_clusters(struct xw_tune_run *t, const struct xw_super *sb)
{
	const bool bigalloc = sb->feature_ro_compat & XW_RO_BIGALLOC;
	const uint32_t first = sb->log_block_size || bigalloc ? 0 : 1;
	const unsigned bits = bigalloc ? sb->log_cluster_size - sb->log_block_size : 0;

	if (!bigalloc && sb->log_cluster_size != sb->log_block_size)
		return invalid(t, "the cluster size (log)", sb->log_cluster_size);
	if ((uint64_t)sb->clusters_per_group << bits != sb->blocks_per_group)
		return invalid(t, "the number of clusters per group", sb->clusters_per_group);
	if (sb->blocks_per_group % 8)
		return invalid(t, "the number of blocks per group", sb->blocks_per_group);
	if (sb->first_data_block != first)
		return invalid(t, "the first data block", sb->first_data_block);
	return 0;
}

static int check_numbers(struct xw_tune_run *t, const struct xw_super *sb)
{
	const uint32_t bs = xw_super_block_size(sb);
	const uint64_t groups = xw_super_groups(sb), per = bs / xw_super_desc_size(sb);

	if (sb->rev_level > 1)
		return invalid(t, "the revision", sb->rev_level);
	if (sb->inodes_per_group % 8)
		return invalid(t, "the number of inodes per group", sb->inodes_per_group);
	if (sb->inodes_count != groups * sb->inodes_per_group)
		return invalid(t, "the number of inodes", sb->inodes_count);
	if (sb->first_ino > sb->inodes_count)
		return invalid(t, "the first inode", sb->first_ino);
	if (sb->reserved_gdt_blocks > bs / 4)
		return invalid(t, "the number of reserved descriptor blocks",
			       sb->reserved_gdt_blocks);
	if (sb->log_groups_per_flex > FLEX_LOG_MAX)
		return invalid(t, "the size of flex groups (log)", sb->log_groups_per_flex);
	if (sb->feature_incompat & XW_INCOMPAT_META_BG &&
	    sb->first_meta_bg > xw_div_up(groups, per))
		return invalid(t, "the first meta group", sb->first_meta_bg);
	if (sb->feature_incompat & XW_INCOMPAT_MMP && !(t->want->set & XW_TUNE_CLEAR_MMP) &&
	    (sb->mmp_block <= sb->first_data_block || sb->mmp_block >= sb->blocks_count))
		return invalid(t, "the MMP block", sb->mmp_block);
	return check_clusters(t, sb);
}

/* later: features that may be set in the primary alone; gone: in a backup alone. */
static bool other_features(uint32_t primary, uint32_t backup, uint32_t later, uint32_t gone)
{
	return primary & ~backup & ~later || backup & ~primary & ~gone;
}

/* The first field in which primary and backup differ, or NULL. */
static const char *differs(const struct xw_super *a, const struct xw_super *b)
{
#define SAME(field, name)                                                                          \
	if (a->field != b->field)                                                                  \
		return name;
	SAME(rev_level, "revision")
	SAME(inodes_count, "number of inodes")
	SAME(blocks_count, "number of blocks")
	SAME(first_data_block, "first data block")
	SAME(log_block_size, "block size")
	SAME(log_cluster_size, "cluster size")
	SAME(blocks_per_group, "number of blocks per group")
	SAME(clusters_per_group, "number of clusters per group")
	SAME(inodes_per_group, "number of inodes per group")
	SAME(first_ino, "first inode")
	SAME(inode_size, "inode size")
	SAME(desc_size, "size of descriptors")
	SAME(reserved_gdt_blocks, "number of reserved descriptor blocks")
	SAME(first_meta_bg, "first meta group")
	SAME(log_groups_per_flex, "size of flex groups")
	SAME(backup_bgs[0], "first backup group")
	SAME(backup_bgs[1], "second backup group")
#undef SAME
	/* with a valid checksum, the features may have been changed on purpose with debugfs -w */
	if (xw_super_has_csum(a))
		return NULL;
	if (other_features(a->feature_compat, b->feature_compat, COMPAT_LATER, 0) ||
	    other_features(a->feature_incompat, b->feature_incompat, INCOMPAT_LATER,
			   XW_INCOMPAT_RECOVER) ||
	    other_features(a->feature_ro_compat, b->feature_ro_compat, RO_LATER,
			   XW_RO_ORPHAN_PRESENT))
		return "set of features";
	return NULL;
}

bool xw_tune_backup(struct xw_image *img, uint64_t group, struct xw_super *out)
{
	const uint64_t at = xw_tune_group_start(img, group) * img->block_size;
	struct xw_diag *diag = img->dev->diag;
	uint8_t buf[XW_SUPER_SIZE];
	bool valid;

	img->dev->diag = NULL; /* no message: an unreadable backup counts as missing */
	valid = at <= img->dev->size && img->dev->size - at >= sizeof(buf) &&
		!xw_dev_pread(img->dev, buf, sizeof(buf), at) && !xw_super_decode(buf, out) &&
		!xw_super_verify(buf) && out->block_group_nr == (uint16_t)group;
	img->dev->diag = diag;
	return valid;
}

/* Backups with another UUID belong to an earlier filesystem, and are ignored. */
static int check_backups(struct xw_tune_run *t, struct xw_image *img)
{
	const char *field = NULL;
	struct xw_super other;
	unsigned asked = 0, looked = 0;
	uint64_t at = 0;

	for (uint64_t g = 1; g < img->groups && asked < BACKUPS_MAX && looked < LOOKED_AT_MAX;
	     g++) {
		const char *what;

		if (!xw_image_has_super(img, g))
			continue;
		looked++;
		if (!xw_tune_backup(img, g, &other) ||
		    memcmp(other.uuid, img->sb.uuid, sizeof(other.uuid)) != 0)
			continue;
		what = differs(&img->sb, &other);
		if (!what)
			return 0;
		if (!asked++) {
			field = what;
			at = xw_tune_group_start(img, g);
		}
	}
	if (!asked)
		return 0;
	return xw_tune_refuse(t, XW_ERR_CORRUPT,
			      "damaged superblock: its %s differs from the backup in block "
			      "%" PRIu64 "; run xw-fsck -f",
			      field, at);
}

int xw_tune_check_super(struct xw_tune_run *t)
{
	auto_end(xw_tune_image_end) struct xw_image *img = NULL;
	int rc = check_numbers(t, &t->sb);

	if (!rc)
		rc = xw_image_open(xw_edit_dev(t->edit), 0, t->diag, &img);
	return rc || t->opts->force ? rc : check_backups(t, img);
}
