/* SPDX-License-Identifier: MIT */
/*
 * Computes the final parameters from the requested ones. The order is that of mke2fs: type, usage
 * types, -O, -j; then restrictions by revision and creator; then sizes. Only the filesystem size is
 * determined first, since it selects the usage type without -T.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uuid/uuid.h>

#include "base/auto.h"
#include "disk/super.h"
#include "plan/geometry.h"
#include "plan/parse.h"
#include "plan/usage.h"

/* The Hurd supports none of these features, and Linux mounts no Hurd filesystem with 64bit. */
static int complete_hurd(struct xw_mkfs_params *p, struct xw_features *asked, struct xw_diag *diag)
{
	static const char *const without[] = {"filetype", "huge_file", "metadata_csum", "64bit",
					      "ea_inode"};

	for (size_t i = 0; i < XW_ARRAY_SIZE(without); i++) {
		enum xw_feature_word word;
		uint32_t bit;

		if (xw_feature_find(without[i], strlen(without[i]), &word, &bit))
			continue;
		if (asked->w[word] & bit)
			return xw_fail(diag, XW_ERR_USAGE, "-o hurd: clears the feature %s",
				       without[i]);
		p->features.w[word] &= ~bit;
	}
	return 0;
}

static int complete_revision_0(struct xw_mkfs_params *p, const struct xw_features *asked,
			       struct xw_diag *diag)
{
	for (int w = 0; w < XW_FW_COUNT; w++) {
		if (asked->w[w] || p->add_journal || p->journal_bytes || p->journal_device)
			return xw_fail(diag, XW_ERR_USAGE,
				       "-r 0: revision 0 has no features and no journal");
		p->features.w[w] = 0;
	}
	if (p->inode_size && p->inode_size != 128)
		return xw_fail(diag, XW_ERR_USAGE, "-I %u: revision 0 has 128-byte inodes",
			       p->inode_size);
	if (p->resize_blocks || p->resize_bytes)
		return xw_fail(diag, XW_ERR_USAGE, "-E resize: revision 0 cannot be resized");
	p->inode_size = 128;
	return 0;
}

static int complete_features(struct xw_mkfs_params *p, const struct xw_usage *u,
			     struct xw_diag *diag)
{
	struct xw_features asked = {{0}};
	int rc = xw_usage_features(u, p, diag);

	if (!rc && p->feature_list)
		rc = xw_features_apply(&asked, p->feature_list, diag);
	if (rc)
		return rc;
	if (p->add_journal || p->journal_bytes || p->journal_device)
		p->features.w[XW_FW_COMPAT] |= XW_COMPAT_HAS_JOURNAL;
	p->journal_asked =
		p->add_journal || p->journal_bytes || xw_has_compat(&asked, XW_COMPAT_HAS_JOURNAL);
	p->revision = p->revision < 0 ? 1 : p->revision;
	if (!p->revision)
		rc = complete_revision_0(p, &asked, diag);
	else if (p->creator_os == XW_OS_HURD)
		rc = complete_hurd(p, &asked, diag);
	if (!rc)
		rc = xw_params_imply_features(p, diag);
	return rc ? rc : xw_features_check(&p->features, diag);
}

/* SIZE without a suffix counts KiB, or with -b blocks; a block size from a type is no unit. */
static int complete_size(struct xw_mkfs_params *p, uint64_t dev_bytes, struct xw_diag *diag)
{
	uint64_t unit = p->block_size ? p->block_size : 1024;

	if (p->size_number && __builtin_mul_overflow(p->size_number, unit, &p->size_bytes))
		return xw_fail(diag, XW_ERR_USAGE, "SIZE %llu: too large",
			       (unsigned long long)p->size_number);
	if (p->size_set)
		return 0;
	if (dev_bytes && dev_bytes <= p->offset)
		return xw_fail(diag, XW_ERR_USAGE, "-E offset=%llu: the target ends at %llu",
			       (unsigned long long)p->offset, (unsigned long long)dev_bytes);
	/* without SIZE, mke2fs rounds the device size down to whole memory pages */
	p->size_bytes = dev_bytes ? (dev_bytes - p->offset) & ~(uint64_t)4095 : 0;
	if (dev_bytes && !p->size_bytes)
		return xw_fail(diag, XW_ERR_USAGE, "the target is too small for a filesystem");
	return 0;
}

static int complete_usage(struct xw_mkfs_params *p, struct xw_diag *diag)
{
	auto_end(xw_usage_close) struct xw_usage u;
	int rc = xw_usage_open(p, xw_params_planned_bytes(p), diag, &u);

	if (!rc)
		rc = xw_usage_extended(&u, p, diag);
	if (!rc)
		rc = complete_features(p, &u, diag);
	if (!rc)
		rc = xw_usage_values(&u, p, diag);
	if (rc)
		return rc;
	if (p->creator_os == XW_OS_DEFAULT)
		p->creator_os = 0;
	if (p->reserved_percent < 0)
		p->reserved_percent = p->size_bytes ? 5 : 0;
	return xw_features_check(&p->features, diag); /* again: the size may have added 64bit */
}

/* Refuse options whose feature is not set. */
static int check_needs(struct xw_mkfs_params *p, struct xw_diag *diag)
{
	bool bigalloc = xw_has_ro(&p->features, XW_RO_BIGALLOC);

	if (p->flex_size && !xw_has_incompat(&p->features, XW_INCOMPAT_FLEX_BG))
		return xw_fail(diag, XW_ERR_USAGE, "-G %u: needs the feature flex_bg",
			       p->flex_size);
	if (p->cluster_size && !bigalloc)
		return xw_fail(diag, XW_ERR_USAGE, "-C %u: needs the feature bigalloc",
			       p->cluster_size);
	if (p->blocks_per_group && bigalloc)
		return xw_fail(diag, XW_ERR_USAGE, "-g: not with bigalloc");
	return 0;
}

static int complete_flex(struct xw_mkfs_params *p, struct xw_diag *diag)
{
	bool flex = xw_has_incompat(&p->features, XW_INCOMPAT_FLEX_BG);

	p->flex_size = !flex ? 1 : p->flex_size ? p->flex_size : 16;
	if (!p->size_bytes && p->packed_meta_blocks)
		return xw_fail(diag, XW_ERR_USAGE, "-E packed_meta_blocks: needs SIZE");
	if (p->packed_meta_blocks && !flex)
		xw_log(diag, XW_LOG_WARN, "-E packed_meta_blocks: no effect without flex_bg");
	return 0;
}

/* -E resize= in blocks; must be larger than the filesystem, as in mke2fs. */
static int complete_resize(struct xw_mkfs_params *p, struct xw_diag *diag)
{
	if (p->resize_bytes)
		p->resize_blocks = p->resize_bytes / p->block_size;
	if (p->resize_blocks && !p->size_bytes &&
	    xw_has_incompat(&p->features, XW_INCOMPAT_META_BG))
		return xw_fail(diag, XW_ERR_USAGE, "-E resize: not with meta_bg");
	if (p->resize_blocks && p->size_bytes && p->resize_blocks <= p->size_bytes / p->block_size)
		return xw_fail(diag, XW_ERR_USAGE,
			       "-E resize=%llu: must be more blocks than the filesystem has",
			       (unsigned long long)p->resize_blocks);
	return 0;
}

/*
 * Number of descriptor blocks of a filesystem of this size. Without -g groups are of the maximum
 * size, as resize2fs assumes.
 */
static uint64_t desc_blocks_of(const struct xw_mkfs_params *p, uint64_t bytes)
{
	const unsigned desc = xw_has_incompat(&p->features, XW_INCOMPAT_64BIT) ? 64 : 32;
	const uint64_t group =
		p->blocks_per_group ? p->blocks_per_group : xw_group_blocks_max(p->block_size);

	return xw_div_up(xw_div_up(bytes / p->block_size, group), p->block_size / desc);
}

/* Refuse options that contradict --grow-to or --grow-ratio. */
static int check_growth(const struct xw_mkfs_params *p, struct xw_diag *diag)
{
	const uint64_t reserved =
		p->resize_bytes ? p->resize_bytes : p->resize_blocks * p->block_size;

	if (p->inodes && p->grow_ratio)
		return xw_fail(
			diag, XW_ERR_USAGE,
			"-N and --grow-ratio: both determine the number of inodes; give one");
	if (p->grow_bytes && reserved && reserved < p->grow_bytes)
		return xw_fail(diag, XW_ERR_USAGE,
			       "-E resize, --grow-to: descriptors for %llu bytes are fewer than "
			       "those for %llu; give one of the two",
			       (unsigned long long)reserved, (unsigned long long)p->grow_bytes);
	return 0;
}

/* --grow-to: reserve descriptor blocks for that size, and choose the number of inodes for it. */
static int complete_growth(struct xw_mkfs_params *p, struct xw_diag *diag)
{
	const uint64_t most =
		xw_has_incompat(&p->features, XW_INCOMPAT_64BIT) ? XW_BLK_MAX : UINT32_MAX;
	const int rc = check_growth(p, diag);

	if (rc || !p->grow_bytes)
		return rc;
	if (p->grow_bytes <= p->size_bytes)
		return xw_fail(
			diag, XW_ERR_USAGE,
			"--grow-to: %llu bytes is not larger than the filesystem, %llu bytes",
			(unsigned long long)p->grow_bytes, (unsigned long long)p->size_bytes);
	if (p->grow_bytes / p->block_size > most)
		return xw_fail(diag, XW_ERR_USAGE, "--grow-to: %llu blocks %s",
			       (unsigned long long)(p->grow_bytes / p->block_size),
			       most == XW_BLK_MAX ? "are too many" : "need the feature 64bit");
	if (!p->grow_ratio)
		p->grow_ratio = p->bytes_per_inode;
	if (xw_has_ro(&p->features, XW_RO_BIGALLOC))
		xw_log(diag, XW_LOG_WARN,
		       "--grow-to: resize2fs enlarges a bigalloc filesystem only with its option "
		       "-f");
	if (xw_has_incompat(&p->features, XW_INCOMPAT_META_BG))
		return 0; /* added groups contain their descriptors */
	if (desc_blocks_of(p, p->grow_bytes) > p->block_size / 4) {
		/* the double-indirect block of the resize inode cannot refer to that many */
		p->features.w[XW_FW_INCOMPAT] |= XW_INCOMPAT_META_BG;
		p->features.w[XW_FW_COMPAT] &= ~XW_COMPAT_RESIZE_INODE;
	} else if (!xw_has_compat(&p->features, XW_COMPAT_RESIZE_INODE))
		xw_log(diag, XW_LOG_WARN,
		       "--grow-to: without resize_inode, resize2fs must move blocks that follow "
		       "the descriptors, and a mounted filesystem cannot be resized");
	else if (!p->resize_blocks)
		p->resize_blocks = p->grow_bytes / p->block_size;
	return 0;
}

static int check_journal(const struct xw_mkfs_params *p, struct xw_diag *diag)
{
	uint64_t blocks = p->journal_bytes / p->block_size;
	bool tiny = p->size_bytes &&
		    !xw_journal_default_blocks(p->size_bytes / p->block_size, p->block_size);

	/* a filesystem too small for any journal is made without one, even if it was requested */
	if (p->journal_bytes && !tiny && (blocks < 1024 || blocks > 10240000))
		return xw_fail(diag, XW_ERR_USAGE, "-J size: %llu blocks; must be 1024 to 10240000",
			       (unsigned long long)blocks);
	return 0;
}

/* Without -C a cluster has 16 blocks. */
static int check_clusters(struct xw_mkfs_params *p, struct xw_diag *diag)
{
	if (!xw_has_ro(&p->features, XW_RO_BIGALLOC))
		return 0;
	if (!p->cluster_size)
		p->cluster_size = 16 * p->block_size;
	if (p->cluster_size < 2 * p->block_size)
		return xw_fail(diag, XW_ERR_USAGE, "-C %u: at least two blocks, %u bytes",
			       p->cluster_size, 2 * p->block_size);
	/* a file needs at least a cluster; without SIZE and -i the inodes are counted instead */
	if (p->size_bytes || p->bytes_per_inode)
		p->bytes_per_inode = XW_MAX(p->bytes_per_inode, p->cluster_size);
	return 0;
}

/* Check -g and -I against the block size, unless that is still undetermined (0). */
static int check_block_size(const struct xw_mkfs_params *p, struct xw_diag *diag)
{
	if (!p->block_size)
		return 0;
	if (p->blocks_per_group > xw_group_blocks_max(p->block_size))
		return xw_fail(diag, XW_ERR_USAGE, "-g %u: at most %u with %u-byte blocks",
			       p->blocks_per_group, xw_group_blocks_max(p->block_size),
			       p->block_size);
	if (p->inode_size > p->block_size)
		return xw_fail(diag, XW_ERR_USAGE, "-I %u: at most the block size, %u",
			       p->inode_size, p->block_size);
	return 0;
}

static int check_rest(struct xw_mkfs_params *p, struct xw_diag *diag)
{
	int rc = check_block_size(p, diag);

	if (!rc)
		rc = check_clusters(p, diag);
	if (rc)
		return rc;
	if (p->size_bytes && (p->free_set || p->free_inodes))
		return xw_fail(diag, XW_ERR_USAGE, "--free: only for a new image%s without SIZE",
			       p->in_place ? "" : " (see --replace)");
	if (p->num_backup_sb >= 0 && !xw_has_compat(&p->features, XW_COMPAT_SPARSE_SUPER2))
		xw_log(diag, XW_LOG_WARN, "-E num_backup_sb: no effect without sparse_super2");
	return check_journal(p, diag);
}

int xw_params_check(struct xw_mkfs_params *p, struct xw_diag *diag)
{
	struct xw_diag quiet = {0}; /* xw_params_finish issues the warnings */
	auto_end(xw_usage_close) struct xw_usage u;
	int rc = xw_usage_open(p, 0, &quiet, &u);

	if (!rc)
		rc = complete_features(p, &u, &quiet);
	if (!rc)
		rc = check_needs(p, &quiet);
	if (!rc)
		rc = check_block_size(p, &quiet);
	return rc ? xw_fail(diag, rc, "%s", quiet.text) : 0;
}

int xw_params_finish(struct xw_mkfs_params *p, uint64_t dev_bytes, struct xw_diag *diag)
{
	static int (*const steps[])(struct xw_mkfs_params * p, struct xw_diag * diag) = {
		complete_usage,
		check_needs,
		complete_flex,
		complete_growth,
		complete_resize,
		check_rest,
		xw_params_finish_features,
	};
	int rc = complete_size(p, dev_bytes, diag);

	for (size_t i = 0; i < XW_ARRAY_SIZE(steps) && !rc; i++)
		rc = steps[i](p, diag);
	if (rc)
		return rc;
	/* the double-indirect block gives the resize inode a size of over 4 GiB */
	if (xw_has_compat(&p->features, XW_COMPAT_RESIZE_INODE) && p->block_size >= 4096)
		p->features.w[XW_FW_RO_COMPAT] |= XW_RO_LARGE_FILE;
	if (!p->uuid_set)
		uuid_generate_random(p->uuid);
	if (!p->hash_seed_set)
		uuid_generate_random(p->hash_seed);
	p->uuid_set = p->hash_seed_set = true;
	return 0;
}
