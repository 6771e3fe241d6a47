// SPDX-License-Identifier: MIT
/*
 * The fields of a superblock that never change in the life of a filesystem, or are written to all
 * copies when a tool changes them. Others (state, counts, times) are never taken from a backup
 * while the primary can be identified. Nor is it ever said by a backup that there is a journal, or
 * that its log is to be replayed: a filesystem may have been written without it since.
 */
#include "config.h"

#include <string.h>

#include "open/fields.h"
#include "open/open.h"

#define COMPAT_DYNAMIC (XW_COMPAT_HAS_JOURNAL | XW_COMPAT_EXT_ATTR | XW_COMPAT_DIR_INDEX)
#define RO_DYNAMIC                                                                                 \
	(XW_RO_LARGE_FILE | XW_RO_HUGE_FILE | XW_RO_DIR_NLINK | XW_RO_EXTRA_ISIZE |                \
	 XW_RO_ORPHAN_PRESENT)

/* Features that debugfs(8) sets only in the primary; a missing bit in the backups is harmless. */
#define INCOMPAT_ALONE                                                                             \
	(XW_INCOMPAT_LARGEDIR | XW_INCOMPAT_INLINE_DATA | XW_INCOMPAT_EA_INODE |                   \
	 XW_INCOMPAT_ENCRYPT)
#define RO_ALONE (XW_RO_VERITY | XW_RO_PROJECT)

#define FIELD(name) #name, offsetof(struct xw_super, name), sizeof(((struct xw_super *)0)->name)
const struct fsck_field fsck_fields[FSCK_FIELDS] = {
	{FIELD(magic), 0, false},
	{FIELD(rev_level), 0, false},
	{FIELD(log_block_size), 0, false},
	{FIELD(first_data_block), 0, false},
	{FIELD(feature_compat), COMPAT_DYNAMIC, false},
	{FIELD(feature_incompat), FSCK_INCOMPAT_DYNAMIC, false},
	{FIELD(feature_ro_compat), RO_DYNAMIC, false},
	{FIELD(inode_size), 0, false},
	{FIELD(desc_size), 0, false},
	{FIELD(blocks_per_group), 0, false},
	{FIELD(log_cluster_size), 0, false},
	{FIELD(clusters_per_group), 0, false},
	{FIELD(inodes_per_group), 0, false},
	{FIELD(first_ino), 0, false},
	{FIELD(first_meta_bg), 0, false},
	{FIELD(blocks_count), 0, false},
	{FIELD(inodes_count), 0, false},
	{FIELD(reserved_gdt_blocks), 0, false},
	{FIELD(log_groups_per_flex), 0, false},
	{FIELD(checksum_type), 0, false},
	{FIELD(uuid), 0, false},
	{FIELD(checksum_seed), 0, false},
	{FIELD(backup_bgs), 0, false},
	{FIELD(creator_os), 0, false},
	{FIELD(encoding), 0, false},
	{FIELD(def_hash_version), 0, false},
	{FIELD(journal_inum), 0, false},
	{FIELD(usr_quota_inum), 0, false},
	{FIELD(grp_quota_inum), 0, false},
	{FIELD(prj_quota_inum), 0, false},
	{FIELD(orphan_file_inum), 0, false},
	{FIELD(mmp_block), 0, false},
	{FIELD(hash_seed), 0, true},
	{FIELD(volume_name), 0, true},
	{FIELD(errors), 0, true},
	{FIELD(r_blocks_count), 0, true},
	{FIELD(def_resuid), 0, true},
	{FIELD(def_resgid), 0, true},
	{FIELD(default_mount_opts), 0, true},
	{FIELD(raid_stride), 0, true},
	{FIELD(raid_stripe_width), 0, true},
};
#undef FIELD

static const void *at(const struct xw_super *sb, const struct fsck_field *d)
{
	return (const uint8_t *)sb + d->off;
}

uint64_t fsck_field_value(const struct xw_super *sb, const struct fsck_field *d)
{
	uint64_t v = 0;

	memcpy(&v, at(sb, d), XW_MIN(d->len, sizeof(v)));
	return v;
}

bool fsck_field_same(const struct xw_super *a, const struct xw_super *b, const struct fsck_field *d)
{
	if (d->ignore)
		return !((fsck_field_value(a, d) ^ fsck_field_value(b, d)) & ~(uint64_t)d->ignore);
	return !memcmp(at(a, d), at(b, d), d->len);
}

void fsck_field_take(struct xw_super *to, const struct xw_super *from, const struct fsck_field *d)
{
	uint32_t bits;

	if (!d->ignore) {
		memcpy((uint8_t *)to + d->off, at(from, d), d->len);
		return;
	}
	bits = (uint32_t)((fsck_field_value(to, d) & d->ignore) |
			  (fsck_field_value(from, d) & ~(uint64_t)d->ignore));
	memcpy((uint8_t *)to + d->off, &bits, sizeof(bits));
}

/* Bits of a feature word that a primary with a correct checksum may have and its backups lack. */
static uint64_t allowed_alone(const struct xw_super *sb, const struct fsck_field *d)
{
	const struct fsck_unknown u = fsck_unknown_features(sb);
	uint32_t known = 0, unknown = 0;

	if (d->off == offsetof(struct xw_super, feature_compat)) {
		unknown = u.compat;
	} else if (d->off == offsetof(struct xw_super, feature_incompat)) {
		known = INCOMPAT_ALONE;
		unknown = u.incompat;
	} else if (d->off == offsetof(struct xw_super, feature_ro_compat)) {
		known = RO_ALONE;
		unknown = u.ro;
	}
	if (__builtin_popcount(unknown) > FSCK_UNKNOWN_MAX)
		unknown = 0;
	return fsck_field_value(sb, d) & (known | unknown);
}

bool fsck_field_may_differ(const struct xw_super *sb, const struct xw_super *copy,
			   const struct fsck_field *d)
{
	const uint64_t differ = d->ignore ? fsck_field_value(sb, d) ^ fsck_field_value(copy, d) : 0;

	if (d->setting)
		return true;
	return d->ignore && !(differ & ~(uint64_t)d->ignore & ~allowed_alone(sb, d));
}

bool fsck_fields_same(const struct xw_super *a, const struct xw_super *b)
{
	for (size_t i = 0; i < FSCK_FIELDS; i++)
		if (!fsck_fields[i].setting && !fsck_field_same(a, b, &fsck_fields[i]))
			return false;
	return true;
}

unsigned fsck_fields_changed(const struct xw_super *a, const struct xw_super *b)
{
	unsigned n = 0;

	for (size_t i = 0; i < FSCK_FIELDS; i++)
		n += !fsck_field_same(a, b, &fsck_fields[i]);
	return n;
}

bool fsck_places_same(const struct xw_super *a, const struct xw_super *b)
{
	return a->blocks_count == b->blocks_count && a->inodes_count == b->inodes_count &&
	       a->first_data_block == b->first_data_block &&
	       a->log_block_size == b->log_block_size &&
	       a->log_cluster_size == b->log_cluster_size &&
	       a->blocks_per_group == b->blocks_per_group &&
	       a->clusters_per_group == b->clusters_per_group &&
	       a->inodes_per_group == b->inodes_per_group && a->inode_size == b->inode_size &&
	       a->desc_size == b->desc_size && a->first_meta_bg == b->first_meta_bg &&
	       a->first_ino == b->first_ino && a->rev_level == b->rev_level &&
	       a->reserved_gdt_blocks == b->reserved_gdt_blocks &&
	       !memcmp(a->backup_bgs, b->backup_bgs, sizeof(a->backup_bgs)) &&
	       !((a->feature_compat ^ b->feature_compat) & XW_COMPAT_SPARSE_SUPER2) &&
	       !((a->feature_incompat ^ b->feature_incompat) &
		 (XW_INCOMPAT_64BIT | XW_INCOMPAT_META_BG)) &&
	       !((a->feature_ro_compat ^ b->feature_ro_compat) &
		 (XW_RO_BIGALLOC | XW_RO_SPARSE_SUPER));
}
