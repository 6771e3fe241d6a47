/* SPDX-License-Identifier: MIT */
/*
 * The parameters of mkfs, set from options as (enum, text) pairs, so that the tool is only a table
 * of letters. Each value is checked here; a message names the option and the reason.
 */
#ifndef XW_PLAN_PARAMS_H
#define XW_PLAN_PARAMS_H

#include "base/err.h"
#include "base/parse.h"
#include "base/types.h"
#include "base/vec.h"
#include "plan/features.h"
#include "plan/hugefiles.h"

struct xw_profile;

/* One row per option: enumerator, and name in messages */
#define XW_MKFS_OPTIONS(X)                                                                         \
	X(SIZE, "SIZE") /* mke2fs fs-size: KiB, or fs blocks with -b; or with suffix s K M G T */  \
	X(BLOCK_SIZE, "-b")                                                                        \
	X(CLUSTER_SIZE, "-C")                                                                      \
	X(BLOCKS_PER_GROUP, "-g")                                                                  \
	X(FLEX_SIZE, "-G")                                                                         \
	X(BYTES_PER_INODE, "-i")                                                                   \
	X(INODE_SIZE, "-I")                                                                        \
	X(INODES, "-N")                                                                            \
	X(RESERVED_PERCENT, "-m")                                                                  \
	X(REVISION, "-r")                                                                          \
	X(LABEL, "-L")                                                                             \
	X(UUID, "-U") /* a UUID, "clear", "random", "time" */                                      \
	X(LAST_MOUNTED, "-M")                                                                      \
	X(ERRORS, "-e")                                                                            \
	X(CREATOR_OS, "-o")                                                                        \
	X(FEATURES, "-O")                                                                          \
	X(TYPE, "-t")                                                                              \
	X(USAGE, "-T")                                                                             \
	X(JOURNAL, "-J") /* size=MiB, location= ... */                                             \
	X(ADD_JOURNAL, "-j")                                                                       \
	X(EXTENDED, "-E") /* comma-separated list of keys */                                       \
	X(FREE, "--free")                                                                          \
	X(MIN_FREE_INODES, "--free-inodes")                                                        \
	X(GROW_RATIO, "--grow-ratio")                                                              \
	X(GROW_TO, "--grow-to")

enum xw_mkfs_option {
#define X(name, text) XW_MKFS_##name,
	XW_MKFS_OPTIONS(X)
#undef X
		XW_MKFS_OPTION_COUNT
};

struct xw_alloc_tunables { /* -E mb_*; -1 = default */
	int optimize_scan, linear_limit, order2_req, stream_req, max_to_scan,
		best_avail_max_trim_order;
};

#define XW_BLOCK_SIZE_MIN 1024u
#define XW_BLOCK_SIZE_MAX 65536u
#define XW_OS_HURD 1u
#define XW_OS_DEFAULT UINT32_MAX

/*
 * Maximum number of blocks in a group: the number of bits in a bitmap block, but a multiple of 8
 * below 2^16, since the counts in a 32-byte descriptor have 16 bits.
 */
static inline uint32_t xw_group_blocks_max(uint32_t block_size)
{
	return XW_MIN(8 * block_size, 65528u);
}

struct xw_mkfs_params {
	bool size_set; /* SIZE was given */
	/* size of the filesystem after xw_params_finish, 0 = not given (stream) */
	uint64_t size_bytes;
	uint64_t size_number; /* SIZE without suffix: xw_params_finish determines the unit */
	uint32_t block_size, cluster_size; /* 0 = default; block_size final after finish */
	uint32_t min_block_size; /* -b -N: the minimum block size in bytes */
	/* 0 = default; flex_size and inode_size are final after finish */
	uint32_t blocks_per_group, flex_size, inode_size;
	/* 0 = default; bytes_per_inode is final after finish if the size is known */
	uint64_t bytes_per_inode, inodes;
	uint64_t grow_ratio; /* bytes per inode of groups added later; 0: none */
	uint64_t grow_bytes; /* --grow-to: defaults are chosen for this size; 0: not given */
	double reserved_percent; /* < 0 = default: 5 with SIZE, 0 without; final after finish */
	int revision; /* -1 = default; final after finish */
	char label[17], last_mounted[65];
	uint8_t uuid[16];
	bool uuid_set, hash_seed_set;
	uint8_t hash_seed[16];
	uint16_t errors; /* 0 = default; final after finish */
	uint32_t creator_os; /* XW_OS_DEFAULT until finish */
	uint32_t mount_opts; /* s_default_mount_opts */
	bool periodic_fsck; /* s_max_mnt_count is then derived from the UUID */
	struct xw_features features; /* after type defaults and -O; valid after xw_params_finish */
	char fs_type[32]; /* -t; "" = default */
	uint64_t journal_bytes; /* -J size=; 0 = default */
	/* requested by -j, -J or -O, not only by the type; final after finish */
	bool journal_asked;
	uint64_t fast_commit_kib; /* -J fast_commit_size=; 0 = default */
	uint64_t journal_at; /* -J location=: block; 0 = anywhere; final after finish */
	uint64_t journal_at_bytes; /* -J location= in bytes; finish converts it */
	char *journal_device; /* -J device=: path, UUID=... or LABEL=...; owned; NULL = internal */
	/* UUID and device number of the journal device, set by the caller */
	uint8_t journal_uuid[16];
	uint32_t journal_dev;
	/* -E */
	int test_fs, no_copy_xattrs; /* 0 or 1 */
	uint32_t desc_size; /* bytes; 0 = 64 with the feature 64bit, else 32 */
	uint64_t offset; /* bytes into the target */
	uint32_t stride, stripe_width;
	int lazy_itable_init, lazy_journal_init; /* -1 = default */
	int prezeroed; /* the storage reads as zeros: inode tables and log are not zeroed */
	int packed_meta_blocks, discard; /* -1 = default; final after finish */
	int num_backup_sb; /* sparse_super2: 0..2; -1 = default 2 */
	uint32_t root_uid, root_gid, root_perms; /* root_perms: ~0 = default 0755 */
	bool root_owner_set;
	int root_from_source; /* 0 or 1: the root gets owner and mode of the source directory */
	char *root_selinux; /* owned; NULL = none */
	uint64_t resize_bytes; /* -E resize= in bytes; finish converts it */
	uint64_t resize_blocks; /* -E resize=: reserve descriptors for this size; 0 = default */
	uint8_t hash_version; /* s_def_hash_version */
	unsigned quota_types; /* 1 << enum xw_quota_type; final after finish */
	bool quota_types_set;
	uint32_t mmp_interval; /* seconds; 0 = default; final after finish */
	uint16_t encoding, encoding_flags; /* for casefold; final after finish */
	bool encoding_flags_set;
	uint64_t orphan_blocks; /* -E orphan_file_size=; 0 = default; final after finish */
	uint64_t orphan_bytes; /* -E orphan_file_size= in bytes; finish converts it */
	struct xw_alloc_tunables mb;
	struct xw_hugefiles hugefiles; /* from relations of [fs_types]; set by finish */
	/* only without SIZE */
	bool free_set;
	uint64_t free_bytes; /* --free SIZE */
	double free_percent; /* --free N%: percentage of the finished image */
	uint64_t free_inodes; /* --free-inodes: minimum number */
	int64_t now; /* seconds: SOURCE_DATE_EPOCH or the clock; set by the tool */
	/* values of -O, -T and -E, which finish applies; owned */
	char *feature_list, *usage_list, *extended_list;
	XW_VEC(xw_blk) bad; /* bad blocks: see plan/bad.h; owned */
	struct xw_profile *profile; /* owned; NULL = the built-in table of usage types */
	const char
		*target; /* path, to select a stanza of [devices]; NULL = none; set by the caller */
	bool add_journal;
	bool in_place; /* --replace is impossible: a device, a part of a disk; set by the caller */
};

/* The size in bytes for which defaults are chosen; 0: unknown. */
static inline uint64_t xw_params_planned_bytes(const struct xw_mkfs_params *p)
{
	return p->grow_bytes ? p->grow_bytes : p->size_bytes;
}

void xw_params_init(struct xw_mkfs_params *p);
void xw_params_free(struct xw_mkfs_params *p);
/*
 * XW_ERR_USAGE / XW_ERR_UNSUPPORTED with a message naming option and value. value NULL for flags.
 */
int xw_params_set(struct xw_mkfs_params *p, enum xw_mkfs_option opt, const char *value,
		  struct xw_diag *diag);
/*
 * Use the usage types of a text in the syntax of mke2fs.conf(5) instead of the built-in ones;
 * `name` is its name in messages. XW_ERR_USAGE with its line number.
 */
int xw_params_set_config(struct xw_mkfs_params *p, const char *name, const char *text, size_t len,
			 struct xw_diag *diag);
/*
 * Check for contradictions that do not depend on the target, so that they are reported before it is
 * opened. xw_params_finish checks all of it again.
 */
int xw_params_check(struct xw_mkfs_params *p, struct xw_diag *diag);
/*
 * Compute the final values from type, usage type and feature lists; choose the defaults that depend
 * on the size (usage type floppy, small, big, huge; inode ratio). dev_bytes: the available size if
 * SIZE was not given (that of an existing file or device); 0 = none, as for a new image. Sets
 * p->size_bytes, the input of xw_geo_plan; 0 there means xw_geo_stream. Generates a random UUID and
 * hash seed unless set.
 */
int xw_params_finish(struct xw_mkfs_params *p, uint64_t dev_bytes, struct xw_diag *diag);

#endif
