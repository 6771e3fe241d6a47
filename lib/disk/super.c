/* SPDX-License-Identifier: MIT */
/*
 * The superblock.
 *
 * Invariants:
 * 1. One list (SUPER_FIELDS, SUPER_BYTES) drives the offset asserts, the decoder and the encoder,
 *    so that the three cannot diverge. Fields stored in two halves are handled separately.
 * 2. encode(decode(x)) == x for every superblock that stock tools make, including bytes without a
 *    meaning in this version: fields introduced by a newer tool are preserved.
 * 3. High halves of block counts are significant only with 64bit. Linux 6.18 and e2fsprogs 1.47.0
 *    ignore them otherwise (observed with s_blocks_count_hi = 1), so decoding ignores them and
 *    encoding writes zero.
 *
 * Offsets: kernel documentation "ext4 Data Structures, super block";
 * s_def_resuid_hi/s_def_resgid_hi at 0x284 are those of Linux 6.18 (observed through
 * /proc/fs/ext4/DEV/options).
 */
#include "config.h"

#include "disk/super.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "disk/csum.h"

struct XW_ON_DISK disk_super {
	le32 inodes_count;
	le32 blocks_count_lo;
	le32 r_blocks_count_lo;
	le32 free_blocks_count_lo;
	le32 free_inodes_count;
	le32 first_data_block;
	le32 log_block_size;
	le32 log_cluster_size;
	le32 blocks_per_group;
	le32 clusters_per_group;
	le32 inodes_per_group;
	le32 mtime_lo;
	le32 wtime_lo;
	le16 mnt_count;
	le16 max_mnt_count;
	le16 magic;
	le16 state;
	le16 errors;
	le16 minor_rev_level;
	le32 lastcheck_lo;
	le32 checkinterval;
	le32 creator_os;
	le32 rev_level;
	le16 def_resuid_lo;
	le16 def_resgid_lo;
	le32 first_ino;
	le16 inode_size;
	le16 block_group_nr;
	le32 feature_compat;
	le32 feature_incompat;
	le32 feature_ro_compat;
	uint8_t uuid[16];
	char volume_name[16];
	char last_mounted[64];
	le32 algorithm_usage_bitmap;
	uint8_t prealloc_blocks;
	uint8_t prealloc_dir_blocks;
	le16 reserved_gdt_blocks;
	uint8_t journal_uuid[16];
	le32 journal_inum;
	le32 journal_dev;
	le32 last_orphan;
	uint8_t hash_seed[16];
	uint8_t def_hash_version;
	uint8_t jnl_backup_type;
	le16 desc_size;
	le32 default_mount_opts;
	le32 first_meta_bg;
	le32 mkfs_time_lo;
	le32 jnl_blocks[17];
	le32 blocks_count_hi;
	le32 r_blocks_count_hi;
	le32 free_blocks_count_hi;
	le16 min_extra_isize;
	le16 want_extra_isize;
	le32 flags;
	le16 raid_stride;
	le16 mmp_interval;
	le64 mmp_block;
	le32 raid_stripe_width;
	uint8_t log_groups_per_flex;
	uint8_t checksum_type;
	le16 reserved_pad;
	le64 kbytes_written;
	le32 snapshot_inum;
	le32 snapshot_id;
	le64 snapshot_r_blocks;
	le32 snapshot_list;
	le32 error_count;
	le32 first_error_time_lo;
	le32 first_error_ino;
	le64 first_error_block;
	char first_error_func[32];
	le32 first_error_line;
	le32 last_error_time_lo;
	le32 last_error_ino;
	le32 last_error_line;
	le64 last_error_block;
	char last_error_func[32];
	char mount_opts[64];
	le32 usr_quota_inum;
	le32 grp_quota_inum;
	le32 overhead_blocks;
	le32 backup_bgs[2];
	uint8_t encrypt_algos[4];
	uint8_t encrypt_pw_salt[16];
	le32 lpf_ino;
	le32 prj_quota_inum;
	le32 checksum_seed;
	uint8_t wtime_hi;
	uint8_t mtime_hi;
	uint8_t mkfs_time_hi;
	uint8_t lastcheck_hi;
	uint8_t first_error_time_hi;
	uint8_t last_error_time_hi;
	uint8_t first_error_errcode;
	uint8_t last_error_errcode;
	le16 encoding;
	le16 encoding_flags;
	le32 orphan_file_inum;
	le16 def_resuid_hi;
	le16 def_resgid_hi;
	uint8_t reserved[XW_SUPER_RESERVED];
	le64 xw_nonce;
	uint8_t reserved2[4];
	le32 checksum;
};

/* F(offset, bits, name): the name is the same on disk and in memory. */
#define SUPER_FIELDS(F)                                                                            \
	F(0x000, 32, inodes_count)                                                                 \
	F(0x010, 32, free_inodes_count)                                                            \
	F(0x014, 32, first_data_block)                                                             \
	F(0x018, 32, log_block_size)                                                               \
	F(0x01C, 32, log_cluster_size)                                                             \
	F(0x020, 32, blocks_per_group)                                                             \
	F(0x024, 32, clusters_per_group)                                                           \
	F(0x028, 32, inodes_per_group)                                                             \
	F(0x034, 16, mnt_count)                                                                    \
	F(0x036, 16, max_mnt_count)                                                                \
	F(0x038, 16, magic)                                                                        \
	F(0x03A, 16, state)                                                                        \
	F(0x03C, 16, errors)                                                                       \
	F(0x03E, 16, minor_rev_level)                                                              \
	F(0x044, 32, checkinterval)                                                                \
	F(0x048, 32, creator_os)                                                                   \
	F(0x04C, 32, rev_level)                                                                    \
	F(0x054, 32, first_ino)                                                                    \
	F(0x058, 16, inode_size)                                                                   \
	F(0x05A, 16, block_group_nr)                                                               \
	F(0x05C, 32, feature_compat)                                                               \
	F(0x060, 32, feature_incompat)                                                             \
	F(0x064, 32, feature_ro_compat)                                                            \
	F(0x0C8, 32, algorithm_usage_bitmap)                                                       \
	F(0x0CC, 8, prealloc_blocks)                                                               \
	F(0x0CD, 8, prealloc_dir_blocks)                                                           \
	F(0x0CE, 16, reserved_gdt_blocks)                                                          \
	F(0x0E0, 32, journal_inum)                                                                 \
	F(0x0E4, 32, journal_dev)                                                                  \
	F(0x0E8, 32, last_orphan)                                                                  \
	F(0x0FC, 8, def_hash_version)                                                              \
	F(0x0FD, 8, jnl_backup_type)                                                               \
	F(0x0FE, 16, desc_size)                                                                    \
	F(0x100, 32, default_mount_opts)                                                           \
	F(0x104, 32, first_meta_bg)                                                                \
	F(0x15C, 16, min_extra_isize)                                                              \
	F(0x15E, 16, want_extra_isize)                                                             \
	F(0x160, 32, flags)                                                                        \
	F(0x164, 16, raid_stride)                                                                  \
	F(0x166, 16, mmp_interval)                                                                 \
	F(0x168, 64, mmp_block)                                                                    \
	F(0x170, 32, raid_stripe_width)                                                            \
	F(0x174, 8, log_groups_per_flex)                                                           \
	F(0x175, 8, checksum_type)                                                                 \
	F(0x176, 16, reserved_pad)                                                                 \
	F(0x178, 64, kbytes_written)                                                               \
	F(0x180, 32, snapshot_inum)                                                                \
	F(0x184, 32, snapshot_id)                                                                  \
	F(0x188, 64, snapshot_r_blocks)                                                            \
	F(0x190, 32, snapshot_list)                                                                \
	F(0x194, 32, error_count)                                                                  \
	F(0x19C, 32, first_error_ino)                                                              \
	F(0x1A0, 64, first_error_block)                                                            \
	F(0x1C8, 32, first_error_line)                                                             \
	F(0x1D0, 32, last_error_ino)                                                               \
	F(0x1D4, 32, last_error_line)                                                              \
	F(0x1D8, 64, last_error_block)                                                             \
	F(0x240, 32, usr_quota_inum)                                                               \
	F(0x244, 32, grp_quota_inum)                                                               \
	F(0x248, 32, overhead_blocks)                                                              \
	F(0x268, 32, lpf_ino)                                                                      \
	F(0x26C, 32, prj_quota_inum)                                                               \
	F(0x270, 32, checksum_seed)                                                                \
	F(0x27A, 8, first_error_errcode)                                                           \
	F(0x27B, 8, last_error_errcode)                                                            \
	F(0x27C, 16, encoding)                                                                     \
	F(0x27E, 16, encoding_flags)                                                               \
	F(0x280, 32, orphan_file_inum)                                                             \
	F(0x3F0, 64, xw_nonce)                                                                     \
	F(0x3FC, 32, checksum)

/* B(offset, name): byte strings. */
#define SUPER_BYTES(B)                                                                             \
	B(0x068, uuid)                                                                             \
	B(0x078, volume_name)                                                                      \
	B(0x088, last_mounted)                                                                     \
	B(0x0D0, journal_uuid)                                                                     \
	B(0x0EC, hash_seed)                                                                        \
	B(0x1A8, first_error_func)                                                                 \
	B(0x1E0, last_error_func)                                                                  \
	B(0x200, mount_opts)                                                                       \
	B(0x254, encrypt_algos)                                                                    \
	B(0x258, encrypt_pw_salt)                                                                  \
	B(0x288, reserved)                                                                         \
	B(0x3F8, reserved2)

/* T(offset, offset of the high byte, name): 40-bit times. */
#define SUPER_TIMES(T)                                                                             \
	T(0x02C, 0x275, mtime)                                                                     \
	T(0x030, 0x274, wtime)                                                                     \
	T(0x040, 0x277, lastcheck)                                                                 \
	T(0x108, 0x276, mkfs_time)                                                                 \
	T(0x198, 0x278, first_error_time)                                                          \
	T(0x1CC, 0x279, last_error_time)

#define AT(off, name) static_assert(offsetof(struct disk_super, name) == (off), #name)
#define F(off, bits, name) AT(off, name);
#define B(off, name)                                                                               \
	AT(off, name);                                                                             \
	static_assert(sizeof(((struct disk_super *)0)->name) ==                                    \
			      sizeof(((struct xw_super *)0)->name),                                \
		      #name);
#define T(off, off_hi, name)                                                                       \
	AT(off, name##_lo);                                                                        \
	AT(off_hi, name##_hi);
SUPER_FIELDS(F)
SUPER_BYTES(B)
SUPER_TIMES(T)
#undef F
#undef B
#undef T
AT(0x004, blocks_count_lo);
AT(0x008, r_blocks_count_lo);
AT(0x00C, free_blocks_count_lo);
AT(0x050, def_resuid_lo);
AT(0x052, def_resgid_lo);
AT(0x10C, jnl_blocks);
AT(0x150, blocks_count_hi);
AT(0x154, r_blocks_count_hi);
AT(0x158, free_blocks_count_hi);
AT(0x24C, backup_bgs);
AT(0x284, def_resuid_hi);
AT(0x286, def_resgid_hi);
static_assert(sizeof(struct disk_super) == XW_SUPER_SIZE, "superblock size");

#define TIME_MAX (((int64_t)1 << 40) - 1)

static inline uint8_t get8(uint8_t v)
{
	return v;
}

static inline uint8_t put8(uint8_t v)
{
	return v;
}

static bool is_pow2(uint32_t v)
{
	return v && !(v & (v - 1));
}

static uint64_t join64(const struct xw_super *sb, le32 lo, le32 hi)
{
	return get32(lo) |
	       (sb->feature_incompat & XW_INCOMPAT_64BIT ? (uint64_t)get32(hi) << 32 : 0);
}

static le32 high64(const struct xw_super *sb, uint64_t v)
{
	return put32(sb->feature_incompat & XW_INCOMPAT_64BIT ? (uint32_t)(v >> 32) : 0);
}

/* Checks that the group descriptor decoder and every "x / per_group" rely on. */
static int check_groups(const struct xw_super *sb)
{
	uint32_t bits = 8 * xw_super_block_size(sb);
	uint32_t ratio = 0; /* log2 of the number of blocks in a cluster */

	if (sb->feature_incompat & XW_INCOMPAT_JOURNAL_DEV)
		return 0; /* an external journal has no groups */
	if (!sb->blocks_per_group || !sb->clusters_per_group || !sb->inodes_per_group)
		return XW_ERR_CORRUPT;
	if (sb->feature_ro_compat & XW_RO_BIGALLOC) {
		if (sb->log_cluster_size < sb->log_block_size ||
		    sb->log_cluster_size > XW_LOG_CLUSTER_MAX)
			return XW_ERR_CORRUPT;
		ratio = sb->log_cluster_size - sb->log_block_size;
		if (sb->clusters_per_group > bits)
			return XW_ERR_CORRUPT;
	}
	if (sb->inodes_per_group > bits || (uint64_t)sb->blocks_per_group > (uint64_t)bits << ratio)
		return XW_ERR_CORRUPT;
	return 0;
}

static int check(const struct xw_super *sb)
{
	if (sb->magic != XW_SUPER_MAGIC)
		return XW_ERR_INPUT;
	if (sb->log_block_size > XW_LOG_BLOCK_MAX)
		return XW_ERR_CORRUPT;
	if (!is_pow2(sb->inode_size) || sb->inode_size < 128 ||
	    sb->inode_size > xw_super_block_size(sb))
		return XW_ERR_CORRUPT;
	if (sb->feature_incompat & XW_INCOMPAT_64BIT &&
	    (!is_pow2(sb->desc_size) || sb->desc_size < 64 || sb->desc_size > XW_DESC_SIZE_MAX))
		return XW_ERR_CORRUPT;
	return check_groups(sb);
}

int xw_super_decode(const void *buf, struct xw_super *out)
{
	const struct disk_super *d = buf;

#define F(off, bits, name) out->name = (__typeof__(out->name))get##bits(d->name);
#define B(off, name) memcpy(out->name, d->name, sizeof(out->name));
#define T(off, off_hi, name) out->name = get32(d->name##_lo) | (int64_t)d->name##_hi << 32;
	SUPER_FIELDS(F)
	SUPER_BYTES(B)
	SUPER_TIMES(T)
#undef F
#undef B
#undef T
	out->blocks_count = join64(out, d->blocks_count_lo, d->blocks_count_hi);
	out->r_blocks_count = join64(out, d->r_blocks_count_lo, d->r_blocks_count_hi);
	out->free_blocks_count = join64(out, d->free_blocks_count_lo, d->free_blocks_count_hi);
	out->def_resuid = get16(d->def_resuid_lo) | (uint32_t)get16(d->def_resuid_hi) << 16;
	out->def_resgid = get16(d->def_resgid_lo) | (uint32_t)get16(d->def_resgid_hi) << 16;
	for (unsigned i = 0; i < XW_ARRAY_SIZE(out->jnl_blocks); i++)
		out->jnl_blocks[i] = get32(d->jnl_blocks[i]);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(out->backup_bgs); i++)
		out->backup_bgs[i] = get32(d->backup_bgs[i]);
	if (out->rev_level == 0) {
		out->first_ino = 11;
		out->inode_size = 128;
	}
	return check(out);
}

static int64_t clamp_time(int64_t t)
{
	return t < 0 ? 0 : XW_MIN(t, TIME_MAX);
}

void xw_super_encode(const struct xw_super *sb, void *buf)
{
	struct disk_super *d = buf;

#define F(off, bits, name) d->name = put##bits((uint##bits##_t)sb->name);
#define B(off, name) memcpy(d->name, sb->name, sizeof(d->name));
#define T(off, off_hi, name)                                                                       \
	d->name##_lo = put32((uint32_t)clamp_time(sb->name));                                      \
	d->name##_hi = (uint8_t)(clamp_time(sb->name) >> 32);
	SUPER_FIELDS(F)
	SUPER_BYTES(B)
	SUPER_TIMES(T)
#undef F
#undef B
#undef T
	d->blocks_count_lo = put32((uint32_t)sb->blocks_count);
	d->r_blocks_count_lo = put32((uint32_t)sb->r_blocks_count);
	d->free_blocks_count_lo = put32((uint32_t)sb->free_blocks_count);
	d->blocks_count_hi = high64(sb, sb->blocks_count);
	d->r_blocks_count_hi = high64(sb, sb->r_blocks_count);
	d->free_blocks_count_hi = high64(sb, sb->free_blocks_count);
	d->def_resuid_lo = put16((uint16_t)sb->def_resuid);
	d->def_resgid_lo = put16((uint16_t)sb->def_resgid);
	d->def_resuid_hi = put16((uint16_t)(sb->def_resuid >> 16));
	d->def_resgid_hi = put16((uint16_t)(sb->def_resgid >> 16));
	for (unsigned i = 0; i < XW_ARRAY_SIZE(sb->jnl_blocks); i++)
		d->jnl_blocks[i] = put32(sb->jnl_blocks[i]);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(sb->backup_bgs); i++)
		d->backup_bgs[i] = put32(sb->backup_bgs[i]);
	if (xw_super_has_csum(sb))
		d->checksum = put32(xw_crc32c(~0u, d, offsetof(struct disk_super, checksum)));
}

bool xw_super_has_magic(const void *buf)
{
	return get16(((const struct disk_super *)buf)->magic) == XW_SUPER_MAGIC;
}

uint32_t xw_super_stored_csum(const void *buf)
{
	return get32(((const struct disk_super *)buf)->checksum);
}

int xw_super_verify(const void *buf)
{
	const struct disk_super *d = buf;

	if (!(get32(d->feature_ro_compat) & XW_RO_METADATA_CSUM))
		return 0;
	if (get32(d->checksum) != xw_crc32c(~0u, d, offsetof(struct disk_super, checksum)))
		return XW_ERR_CHECKSUM;
	return 0;
}

uint32_t xw_super_csum_seed(const struct xw_super *sb)
{
	if (sb->feature_incompat & XW_INCOMPAT_CSUM_SEED)
		return sb->checksum_seed;
	return xw_crc32c(~0u, sb->uuid, sizeof(sb->uuid));
}

unsigned xw_super_desc_size(const struct xw_super *sb)
{
	if (!(sb->feature_incompat & XW_INCOMPAT_64BIT))
		return 32;
	return XW_MAX(sb->desc_size, 64);
}

uint64_t xw_super_groups(const struct xw_super *sb)
{
	if (!sb->blocks_per_group || sb->blocks_count <= sb->first_data_block)
		return 0;
	return xw_div_up(sb->blocks_count - sb->first_data_block, sb->blocks_per_group);
}
