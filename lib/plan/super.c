/* SPDX-License-Identifier: MIT */
/*
 * The static fields of the superblock, as mke2fs sets them. Fields that depend on the finished
 * image (free counts, kbytes written, the journal backup) are set when it is finished.
 */
#include <string.h>

#include "base/crc.h"
#include "disk/inode.h"
#include "plan/map.h"

#define CHECK_INTERVAL (180u * 24 * 3600) /* for periodic checks: 180 days */
#define CHECK_MOUNTS 20 /* for periodic checks: 20 to 39 mounts */
/* fscrypt modes of contents and names */
#define ENCRYPT_AES_256_XTS 1
#define ENCRYPT_AES_256_CTS 4

static void fill_identity(const struct xw_mkfs_params *p, struct xw_super *sb)
{
	memcpy(sb->uuid, p->uuid, sizeof(sb->uuid));
	memcpy(sb->hash_seed, p->hash_seed, sizeof(sb->hash_seed));
	memcpy(sb->volume_name, p->label, sizeof(sb->volume_name));
	memcpy(sb->last_mounted, p->last_mounted, sizeof(sb->last_mounted));
	sb->creator_os = p->creator_os;
	sb->errors = p->errors;
	sb->def_hash_version = p->hash_version;
	sb->flags = XW_FLAG_SIGNED_HASH;
	sb->raid_stride = (uint16_t)p->stride;
	sb->raid_stripe_width = p->stripe_width;
	sb->mkfs_time = sb->wtime = sb->lastcheck = p->now;
}

static void fill_counts(const struct xw_geo *geo, struct xw_super *sb)
{
	sb->blocks_count = geo->blocks;
	sb->inodes_count = geo->inodes_per_group * geo->groups;
	sb->r_blocks_count = geo->reserved_blocks;
	sb->first_data_block = geo->first_data_block;
	sb->log_block_size = geo->log_block_size;
	sb->log_cluster_size = geo->log_block_size + geo->cluster_bits;
	sb->blocks_per_group = geo->blocks_per_group;
	sb->clusters_per_group = geo->blocks_per_group >> geo->cluster_bits;
	sb->inodes_per_group = geo->inodes_per_group;
	sb->inode_size = (uint16_t)geo->inode_size;
	sb->reserved_gdt_blocks = (uint16_t)geo->reserved_gdt;
	sb->desc_size = geo->desc_size > 32 ? (uint16_t)geo->desc_size : 0;
	/* s_overhead_clusters has 32 bits; if it is 0, the kernel computes the value */
	sb->overhead_blocks = geo->overhead > UINT32_MAX ? 0 : (uint32_t)geo->overhead;
	memcpy(sb->backup_bgs, geo->backup_bgs, sizeof(sb->backup_bgs));
	while (geo->flex_size >> sb->log_groups_per_flex > 1)
		sb->log_groups_per_flex++;
}

/* Set fields that belong to a feature. */
static void fill_features(const struct xw_mkfs_params *p, struct xw_super *sb)
{
	if (sb->feature_incompat & XW_INCOMPAT_CASEFOLD) {
		sb->encoding = p->encoding;
		sb->encoding_flags = p->encoding_flags;
	}
	if (sb->feature_incompat & XW_INCOMPAT_ENCRYPT) {
		sb->encrypt_algos[0] = ENCRYPT_AES_256_XTS;
		sb->encrypt_algos[1] = ENCRYPT_AES_256_CTS;
	}
	if (sb->feature_incompat & XW_INCOMPAT_MMP)
		sb->mmp_interval = (uint16_t)p->mmp_interval;
	if (p->journal_device) {
		memcpy(sb->journal_uuid, p->journal_uuid, sizeof(sb->journal_uuid));
		sb->journal_dev = p->journal_dev;
	}
}

void xw_plan_super(const struct xw_mkfs_params *p, const struct xw_geo *geo, struct xw_super *sb)
{
	memset(sb, 0, sizeof(*sb));
	fill_identity(p, sb);
	fill_counts(geo, sb);
	sb->magic = XW_SUPER_MAGIC;
	sb->state = XW_STATE_VALID;
	sb->max_mnt_count = -1;
	if (p->periodic_fsck) {
		sb->checkinterval = CHECK_INTERVAL;
		sb->max_mnt_count = (int16_t)(CHECK_MOUNTS + p->uuid[0] % CHECK_MOUNTS);
	}
	sb->rev_level = (uint32_t)p->revision;
	sb->first_ino = XW_INO_FIRST;
	sb->feature_compat = geo->features.w[XW_FW_COMPAT];
	sb->feature_incompat = geo->features.w[XW_FW_INCOMPAT];
	sb->feature_ro_compat = geo->features.w[XW_FW_RO_COMPAT];
	if (p->revision)
		sb->default_mount_opts = p->mount_opts;
	if (geo->inode_size > 128)
		sb->min_extra_isize = sb->want_extra_isize = XW_INODE_EXTRA_WANTED;
	if (geo->journal_blocks)
		sb->journal_inum = XW_INO_JOURNAL;
	sb->flags |= p->test_fs ? XW_FLAG_TEST_FS : 0;
	fill_features(p, sb);
	if (sb->feature_ro_compat & XW_RO_METADATA_CSUM)
		sb->checksum_type = 1;
	if (sb->feature_incompat & XW_INCOMPAT_CSUM_SEED)
		sb->checksum_seed = xw_crc32c(~0u, sb->uuid, sizeof(sb->uuid));
}
