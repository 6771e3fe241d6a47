/* SPDX-License-Identifier: MIT */
/*
 * The tables of fields. Offsets are those of the kernel's documentation ("ext4 Data Structures");
 * names, order and formats are those of debugfs(8). The lists of disk/super.c are not used, since
 * they differ in all three; tests/unit/t_debugfs_fields.c compares the offsets.
 */
#include "config.h"

#include "fields.h"

/* clang-format off */
#define UINT(name, off, width)                  {name, FIELD_UINT, off, width}
#define UINT_HI(name, off, width, hi, hi_width) {name, FIELD_UINT, off, width, hi, hi_width}
#define ARRAY(name, off, width, count)          {name, FIELD_UINT, off, width, 0, 0, count}
#define TIME(name, off)                         {name, FIELD_TIME, off, 4}
#define TIME_HI(name, off, hi)                  {name, FIELD_TIME, off, 4, hi, 1}
#define ITIME(name, off, hi)                    {name, FIELD_ITIME, off, 4, hi, 4}
#define STRING(name, off, width)                {name, FIELD_STRING, off, width}
#define UUID(name, off)                         {name, FIELD_UUID, off, 16}
/* clang-format on */

static const struct field inode[] = {
	UINT("mode", 0x0, 2),
	UINT_HI("uid", 0x2, 2, 0x78, 2),
	UINT_HI("size", 0x4, 4, 0x6C, 4),
	ITIME("atime", 0x8, 0x8C),
	ITIME("ctime", 0xC, 0x84),
	ITIME("mtime", 0x10, 0x88),
	TIME("dtime", 0x14),
	UINT_HI("gid", 0x18, 2, 0x7A, 2),
	UINT("links_count", 0x1A, 2),
	UINT_HI("blocks", 0x1C, 4, 0x74, 2),
	UINT("flags", 0x20, 4),
	UINT_HI("version", 0x24, 4, 0x98, 4),
	UINT("translator", 0x24, 4),
	ARRAY("block", 0x28, 4, 12),
	UINT("block[IND]", 0x58, 4),
	UINT("block[DIND]", 0x5C, 4),
	UINT("block[TIND]", 0x60, 4),
	UINT("generation", 0x64, 4),
	UINT_HI("file_acl", 0x68, 4, 0x76, 2),
	UINT("faddr", 0x70, 4),
	UINT("frag", 0x74, 1),
	UINT("fsize", 0x75, 1),
	UINT_HI("checksum", 0x7C, 2, 0x82, 2),
	UINT("author", 0x7C, 4),
	UINT("extra_isize", 0x80, 2),
	UINT("ctime_extra", 0x84, 4),
	UINT("mtime_extra", 0x88, 4),
	UINT("atime_extra", 0x8C, 4),
	ITIME("crtime", 0x90, 0x94),
	UINT("crtime_extra", 0x94, 4),
	UINT("projid", 0x9C, 4),
	{"bmap", FIELD_OWN, 0, 0, 0, 0, UINT16_MAX},
};

static const struct field super[] = {
	UINT("inodes_count", 0x0, 4),
	UINT_HI("blocks_count", 0x4, 4, 0x150, 4),
	UINT_HI("r_blocks_count", 0x8, 4, 0x154, 4),
	UINT_HI("free_blocks_count", 0xC, 4, 0x158, 4),
	UINT("free_inodes_count", 0x10, 4),
	UINT("first_data_block", 0x14, 4),
	UINT("log_block_size", 0x18, 4),
	{"log_cluster_size", FIELD_INT, 0x1C, 4},
	UINT("blocks_per_group", 0x20, 4),
	UINT("clusters_per_group", 0x24, 4),
	UINT("inodes_per_group", 0x28, 4),
	TIME_HI("mtime", 0x2C, 0x275),
	TIME_HI("wtime", 0x30, 0x274),
	UINT("mnt_count", 0x34, 2),
	{"max_mnt_count", FIELD_INT, 0x36, 2},
	UINT("magic", 0x38, 2),
	UINT("state", 0x3A, 2),
	UINT("errors", 0x3C, 2),
	UINT("minor_rev_level", 0x3E, 2),
	TIME_HI("lastcheck", 0x40, 0x277),
	UINT("checkinterval", 0x44, 4),
	UINT("creator_os", 0x48, 4),
	UINT("rev_level", 0x4C, 4),
	UINT_HI("def_resuid", 0x50, 2, 0x284, 2),
	UINT_HI("def_resgid", 0x52, 2, 0x286, 2),
	UINT("first_ino", 0x54, 4),
	UINT("inode_size", 0x58, 2),
	UINT("block_group_nr", 0x5A, 2),
	UINT("feature_compat", 0x5C, 4),
	UINT("feature_incompat", 0x60, 4),
	UINT("feature_ro_compat", 0x64, 4),
	UUID("uuid", 0x68),
	STRING("volume_name", 0x78, 16),
	STRING("last_mounted", 0x88, 64),
	UINT("algorithm_usage_bitmap", 0xC8, 4),
	UINT("prealloc_blocks", 0xCC, 1),
	UINT("prealloc_dir_blocks", 0xCD, 1),
	UINT("reserved_gdt_blocks", 0xCE, 2),
	UUID("journal_uuid", 0xD0),
	UINT("journal_inum", 0xE0, 4),
	UINT("journal_dev", 0xE4, 4),
	UINT("last_orphan", 0xE8, 4),
	UUID("hash_seed", 0xEC),
	{"def_hash_version", FIELD_HASH, 0xFC, 1},
	UINT("jnl_backup_type", 0xFD, 1),
	UINT("desc_size", 0xFE, 2),
	UINT("default_mount_opts", 0x100, 4),
	UINT("first_meta_bg", 0x104, 4),
	TIME_HI("mkfs_time", 0x108, 0x276),
	ARRAY("jnl_blocks", 0x10C, 4, 17),
	UINT("min_extra_isize", 0x15C, 2),
	UINT("want_extra_isize", 0x15E, 2),
	UINT("flags", 0x160, 4),
	UINT("raid_stride", 0x164, 2),
	UINT("mmp_interval", 0x166, 2),
	UINT("mmp_block", 0x168, 8),
	UINT("raid_stripe_width", 0x170, 4),
	UINT("log_groups_per_flex", 0x174, 1),
	UINT("kbytes_written", 0x178, 8),
	UINT("snapshot_inum", 0x180, 4),
	UINT("snapshot_id", 0x184, 4),
	UINT("snapshot_r_blocks_count", 0x188, 8),
	UINT("snapshot_list", 0x190, 4),
	STRING("mount_opts", 0x200, 64),
	UINT("usr_quota_inum", 0x240, 4),
	UINT("grp_quota_inum", 0x244, 4),
	UINT("prj_quota_inum", 0x26C, 4),
	UINT("overhead_clusters", 0x248, 4),
	ARRAY("backup_bgs", 0x24C, 4, 2),
	UINT("checksum", 0x3FC, 4),
	UINT("checksum_type", 0x175, 1),
	UINT("encryption_level", 0x176, 1),
	UINT("error_count", 0x194, 4),
	TIME_HI("first_error_time", 0x198, 0x278),
	UINT("first_error_ino", 0x19C, 4),
	UINT("first_error_block", 0x1A0, 8),
	STRING("first_error_func", 0x1A8, 32),
	UINT("first_error_line", 0x1C8, 4),
	TIME_HI("last_error_time", 0x1CC, 0x279),
	UINT("last_error_ino", 0x1D0, 4),
	UINT("last_error_block", 0x1D8, 8),
	STRING("last_error_func", 0x1E0, 32),
	UINT("last_error_line", 0x1D4, 4),
	ARRAY("encrypt_algos", 0x254, 1, 4),
	UUID("encrypt_pw_salt", 0x258),
	UINT("lpf_ino", 0x268, 4),
	UINT("checksum_seed", 0x270, 4),
	UINT("encoding", 0x27C, 2),
	UINT("encoding_flags", 0x27E, 2),
	UINT("orphan_file_inum", 0x280, 4),
};

static const struct field group[] = {
	UINT_HI("block_bitmap", 0x0, 4, 0x20, 4),
	UINT_HI("inode_bitmap", 0x4, 4, 0x24, 4),
	UINT_HI("inode_table", 0x8, 4, 0x28, 4),
	UINT_HI("free_blocks_count", 0xC, 2, 0x2C, 2),
	UINT_HI("free_inodes_count", 0xE, 2, 0x2E, 2),
	UINT_HI("used_dirs_count", 0x10, 2, 0x30, 2),
	UINT("flags", 0x12, 2),
	UINT_HI("exclude_bitmap", 0x14, 4, 0x34, 4),
	UINT_HI("block_bitmap_csum", 0x18, 2, 0x38, 2),
	UINT_HI("inode_bitmap_csum", 0x1A, 2, 0x3A, 2),
	UINT_HI("itable_unused", 0x1C, 2, 0x32, 2),
	UINT("checksum", 0x1E, 2),
};

static const struct field mmp[] = {
	{"clear", FIELD_OWN, 0, 0},
	UINT("magic", 0x0, 4),
	UINT("seq", 0x4, 4),
	UINT("time", 0x8, 8),
	STRING("nodename", 0x10, 64),
	STRING("bdevname", 0x50, 32),
	UINT("check_interval", 0x70, 2),
	UINT("checksum", 0x3FC, 4),
};

const struct field_table inode_fields = {"Inode", "set_inode", "i_", inode, XW_ARRAY_SIZE(inode)};
const struct field_table super_fields = {"Superblock", "set_super_value", "s_", super,
					 XW_ARRAY_SIZE(super)};
const struct field_table group_fields = {"Block group descriptor", "set_block_group", "bg_", group,
					 XW_ARRAY_SIZE(group)};
const struct field_table mmp_fields = {"MMP", "set_mmp_value", "mmp_", mmp, XW_ARRAY_SIZE(mmp)};
