/* SPDX-License-Identifier: MIT */
/* The superblock: 1024 bytes at byte 1024 (block 0 or 1), and a copy in each backup group. */
#ifndef XW_DISK_SUPER_H
#define XW_DISK_SUPER_H

#include "base/types.h"

#define XW_SUPER_OFFSET 1024
#define XW_SUPER_SIZE 1024
#define XW_SUPER_MAGIC 0xEF53
#define XW_SUPER_RESERVED 360 /* bytes 0x288 .. 0x3EF */
#define XW_DESC_SIZE_MAX 1024u /* in bytes; fits the smallest block, as in e2fsprogs */
#define XW_LOG_BLOCK_MAX 6u /* 64 KiB */
#define XW_LOG_CLUSTER_MAX 20u /* 1 GiB */

/* Feature bits, by their dumpe2fs names. */
#define XW_COMPAT_DIR_PREALLOC 0x0001u
#define XW_COMPAT_HAS_JOURNAL 0x0004u
#define XW_COMPAT_EXT_ATTR 0x0008u
#define XW_COMPAT_RESIZE_INODE 0x0010u
#define XW_COMPAT_DIR_INDEX 0x0020u
#define XW_COMPAT_SPARSE_SUPER2 0x0200u
#define XW_COMPAT_FAST_COMMIT 0x0400u
#define XW_COMPAT_STABLE_INODES 0x0800u
#define XW_COMPAT_ORPHAN_FILE 0x1000u

#define XW_INCOMPAT_FILETYPE 0x00002u
#define XW_INCOMPAT_RECOVER 0x00004u
#define XW_INCOMPAT_JOURNAL_DEV 0x00008u
#define XW_INCOMPAT_META_BG 0x00010u
#define XW_INCOMPAT_EXTENTS 0x00040u
#define XW_INCOMPAT_64BIT 0x00080u
#define XW_INCOMPAT_MMP 0x00100u
#define XW_INCOMPAT_FLEX_BG 0x00200u
#define XW_INCOMPAT_EA_INODE 0x00400u
#define XW_INCOMPAT_CSUM_SEED 0x02000u
#define XW_INCOMPAT_LARGEDIR 0x04000u
#define XW_INCOMPAT_INLINE_DATA 0x08000u
#define XW_INCOMPAT_ENCRYPT 0x10000u
#define XW_INCOMPAT_CASEFOLD 0x20000u
/* specific to extwright: a commit is incomplete, see room commit */
#define XW_INCOMPAT_PENDING 0x40000000u

#define XW_RO_SPARSE_SUPER 0x0001u
#define XW_RO_LARGE_FILE 0x0002u
#define XW_RO_HUGE_FILE 0x0008u
#define XW_RO_GDT_CSUM 0x0010u /* "uninit_bg" in messages */
#define XW_RO_DIR_NLINK 0x0020u
#define XW_RO_EXTRA_ISIZE 0x0040u
#define XW_RO_QUOTA 0x0100u
#define XW_RO_BIGALLOC 0x0200u
#define XW_RO_METADATA_CSUM 0x0400u
#define XW_RO_READONLY 0x1000u /* set by no tool; Linux mounts such a filesystem read-only */
#define XW_RO_PROJECT 0x2000u
#define XW_RO_SHARED_BLOCKS 0x4000u /* see -E unshare_blocks of e2fsck(8) */
#define XW_RO_VERITY 0x8000u
#define XW_RO_ORPHAN_PRESENT 0x10000u
#define XW_RO_ITREE 0x40000000u

/* s_flags */
#define XW_FLAG_SIGNED_HASH 0x0001u
#define XW_FLAG_UNSIGNED_HASH 0x0002u
#define XW_FLAG_TEST_FS 0x0004u

/* s_state */
#define XW_STATE_VALID 0x0001u
#define XW_STATE_ERROR 0x0002u
#define XW_STATE_ORPHAN 0x0004u

/* Host form. Low and high halves are joined; names follow the format documentation without s_. */
struct xw_super {
	uint32_t inodes_count;
	uint64_t blocks_count;
	uint64_t r_blocks_count;
	uint64_t free_blocks_count;
	uint32_t free_inodes_count;
	uint32_t first_data_block;
	uint32_t log_block_size; /* block size = 1024 << this */
	uint32_t log_cluster_size;
	uint32_t blocks_per_group;
	uint32_t clusters_per_group;
	uint32_t inodes_per_group;
	int64_t mtime; /* seconds, 40 bits stored */
	int64_t wtime;
	uint16_t mnt_count;
	int16_t max_mnt_count; /* -1 = never */
	uint16_t magic;
	uint16_t state;
	uint16_t errors; /* 1 continue, 2 remount-ro, 3 panic */
	uint16_t minor_rev_level;
	int64_t lastcheck;
	uint32_t checkinterval;
	uint32_t creator_os; /* 0 = Linux, 1 = Hurd */
	uint32_t rev_level; /* 0 or 1 */
	uint32_t def_resuid, def_resgid; /* high halves at 0x284 (Linux 6.18) */
	uint32_t first_ino; /* 11 in revision 0 */
	uint16_t inode_size; /* 128 in revision 0 */
	uint16_t block_group_nr;
	uint32_t feature_compat, feature_incompat, feature_ro_compat;
	uint8_t uuid[16];
	char volume_name[16]; /* not terminated when all 16 bytes are used */
	char last_mounted[64];
	uint32_t algorithm_usage_bitmap;
	uint8_t prealloc_blocks, prealloc_dir_blocks;
	uint16_t reserved_gdt_blocks;
	uint8_t journal_uuid[16];
	uint32_t journal_inum, journal_dev;
	uint32_t last_orphan;
	uint8_t hash_seed[16]; /* as on disk: four le32 words for the dx hashes */
	uint8_t def_hash_version; /* 0 legacy, 1 half_md4, 2 tea */
	uint8_t jnl_backup_type;
	uint16_t desc_size; /* as stored; 0 without 64bit */
	uint32_t default_mount_opts;
	uint32_t first_meta_bg;
	int64_t mkfs_time;
	uint32_t jnl_blocks[17]; /* i_block[15] of inode 8, then size high, size low */
	uint16_t min_extra_isize, want_extra_isize;
	uint32_t flags;
	uint16_t raid_stride;
	uint16_t mmp_interval;
	uint64_t mmp_block;
	uint32_t raid_stripe_width;
	uint8_t log_groups_per_flex;
	uint8_t checksum_type; /* 1 = crc32c */
	uint16_t reserved_pad; /* preserved, like the other reserved bytes */
	uint64_t kbytes_written;
	uint32_t snapshot_inum, snapshot_id;
	uint64_t snapshot_r_blocks;
	uint32_t snapshot_list;
	uint32_t error_count;
	int64_t first_error_time, last_error_time;
	uint32_t first_error_ino, first_error_line, last_error_ino, last_error_line;
	uint64_t first_error_block, last_error_block;
	char first_error_func[32], last_error_func[32];
	uint8_t first_error_errcode, last_error_errcode;
	char mount_opts[64];
	uint32_t usr_quota_inum, grp_quota_inum, prj_quota_inum;
	uint32_t overhead_blocks;
	uint32_t backup_bgs[2];
	uint8_t encrypt_algos[4], encrypt_pw_salt[16];
	uint32_t lpf_ino;
	uint32_t checksum_seed;
	uint16_t encoding, encoding_flags;
	uint32_t orphan_file_inum;
	uint8_t reserved[XW_SUPER_RESERVED];
	uint64_t xw_nonce; /* le64 at 0x3F0: extwright's commit nonce, see room commit */
	uint8_t reserved2[4];
	uint32_t checksum;
};

/*
 * Decode 1024 bytes. Checks only what further decoding relies on: magic (XW_ERR_INPUT if wrong);
 * block size 1k-64k, inode size and (64bit) descriptor size powers of two in range, per-group
 * counts non-zero and fitting a bitmap block (XW_ERR_CORRUPT; an external journal has no groups and
 * passes). *out is filled in any case, for repair and display; after an error it may be passed only
 * to the inline helpers below and xw_super_groups(). Does not verify the checksum.
 */
int xw_super_decode(const void *buf, struct xw_super *out);
/*
 * Encode all 1024 bytes; the checksum is computed when metadata_csum is set, else written
 * unchanged. Times are clamped to 40 bits. Reserved bytes are written from *sb (zero in a new
 * superblock), so that fields of newer tools survive.
 */
void xw_super_encode(const struct xw_super *sb, void *buf);
/* Do these 1024 bytes have the magic number of a superblock? */
bool xw_super_has_magic(const void *buf);
/* The stored checksum, whether the filesystem has checksums or not. */
uint32_t xw_super_stored_csum(const void *buf);
/* 0 when metadata_csum is clear or the stored checksum is correct, else XW_ERR_CHECKSUM. */
int xw_super_verify(const void *buf);
/* crc32c seed of all other checksums: s_checksum_seed, or crc32c(~0, uuid). */
uint32_t xw_super_csum_seed(const struct xw_super *sb);

static inline uint32_t xw_super_block_size(const struct xw_super *sb)
{
	return 1024u << XW_MIN(sb->log_block_size, XW_LOG_BLOCK_MAX);
}

static inline bool xw_super_has_csum(const struct xw_super *sb)
{
	return sb->feature_ro_compat & XW_RO_METADATA_CSUM;
}

/* Do group descriptors have checksums, so that UNINIT flags and bg_itable_unused can be trusted? */
static inline bool xw_super_has_group_csum(const struct xw_super *sb)
{
	return sb->feature_ro_compat & (XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM);
}

/* Size of a group descriptor in bytes: 32, or desc_size (at least 64) with 64bit. */
unsigned xw_super_desc_size(const struct xw_super *sb);
/* Number of groups, including a short last one. */
uint64_t xw_super_groups(const struct xw_super *sb);

#endif
