/* SPDX-License-Identifier: MIT */
/*
 * geocheck IMAGE [mkfs options] [SIZE]: plan the filesystem that the options describe, and compare
 * the plan with the one that stock mke2fs made in IMAGE with the same options: superblock fields,
 * place of every bitmap and table. Prints differences and exits 1; exits 0 and prints one line when
 * there are none. `--plan` instead of IMAGE prints the plan.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/endian.h"
#include "plan/geometry.h"

static const char *const option_names[] = {
#define X(name, text) [XW_MKFS_##name] = text,
	XW_MKFS_OPTIONS(X)
#undef X
};

static unsigned differences;

static void compare(const char *what, uint64_t ours, uint64_t theirs)
{
	if (ours == theirs)
		return;
	if (differences++ < 12)
		printf("%s: plan %" PRIu64 ", mke2fs %" PRIu64 "\n", what, ours, theirs);
}

static int parse(struct xw_mkfs_params *p, int argc, char **argv, struct xw_diag *diag)
{
	int err = 0;

	for (int i = 0; i < argc && !err; i++) {
		unsigned o = 0;

		if (argv[i][0] != '-') {
			err = xw_params_set(p, XW_MKFS_SIZE, argv[i], diag);
			continue;
		}
		while (o < XW_MKFS_OPTION_COUNT && strcmp(argv[i], option_names[o]))
			o++;
		if (o == XW_MKFS_ADD_JOURNAL)
			err = xw_params_set(p, o, NULL, diag);
		else if (o < XW_MKFS_OPTION_COUNT && i + 1 < argc)
			err = xw_params_set(p, o, argv[++i], diag);
		else
			err = xw_fail(diag, XW_ERR_USAGE, "unknown argument %s", argv[i]);
	}
	return err;
}

static void compare_super(const struct xw_super *sb, const uint8_t *raw)
{
	bool wide = sb->feature_incompat & XW_INCOMPAT_64BIT;

	compare("inodes_count", sb->inodes_count, peek32(raw));
	compare("blocks_count", sb->blocks_count,
		peek32(raw + 4) | (wide ? (uint64_t)peek32(raw + 0x150) << 32 : 0));
	compare("r_blocks_count", sb->r_blocks_count,
		peek32(raw + 8) | (wide ? (uint64_t)peek32(raw + 0x154) << 32 : 0));
	compare("first_data_block", sb->first_data_block, peek32(raw + 0x14));
	compare("log_block_size", sb->log_block_size, peek32(raw + 0x18));
	compare("log_cluster_size", sb->log_cluster_size, peek32(raw + 0x1c));
	compare("blocks_per_group", sb->blocks_per_group, peek32(raw + 0x20));
	compare("clusters_per_group", sb->clusters_per_group, peek32(raw + 0x24));
	compare("inodes_per_group", sb->inodes_per_group, peek32(raw + 0x28));
	compare("max_mnt_count", (uint16_t)sb->max_mnt_count, peek16(raw + 0x36));
	compare("state", sb->state, peek16(raw + 0x3a));
	compare("errors", sb->errors, peek16(raw + 0x3c));
	compare("creator_os", sb->creator_os, peek32(raw + 0x48));
	compare("rev_level", sb->rev_level, peek32(raw + 0x4c));
	compare("first_ino", sb->first_ino, peek32(raw + 0x54));
	compare("inode_size", sb->inode_size, peek16(raw + 0x58));
	compare("feature_compat", sb->feature_compat, peek32(raw + 0x5c));
	compare("feature_incompat", sb->feature_incompat, peek32(raw + 0x60));
	compare("feature_ro_compat", sb->feature_ro_compat, peek32(raw + 0x64));
	compare("reserved_gdt_blocks", sb->reserved_gdt_blocks, peek16(raw + 0xce));
	compare("journal_inum", sb->journal_inum, peek32(raw + 0xe0));
	compare("def_hash_version", sb->def_hash_version, raw[0xfc]);
	compare("desc_size", sb->desc_size, peek16(raw + 0xfe));
	compare("default_mount_opts", sb->default_mount_opts, peek32(raw + 0x100));
	compare("first_meta_bg", sb->first_meta_bg, peek32(raw + 0x104));
	compare("min_extra_isize", sb->min_extra_isize, peek16(raw + 0x15c));
	compare("want_extra_isize", sb->want_extra_isize, peek16(raw + 0x15e));
	compare("flags", sb->flags, peek32(raw + 0x160));
	compare("raid_stride", sb->raid_stride, peek16(raw + 0x164));
	compare("raid_stripe_width", sb->raid_stripe_width, peek32(raw + 0x170));
	compare("log_groups_per_flex", sb->log_groups_per_flex, raw[0x174]);
	compare("checksum_type", sb->checksum_type, raw[0x175]);
	compare("overhead_blocks", sb->overhead_blocks, peek32(raw + 0x248));
	compare("backup_bgs[0]", sb->backup_bgs[0], peek32(raw + 0x24c));
	compare("backup_bgs[1]", sb->backup_bgs[1], peek32(raw + 0x250));
}

static uint64_t wide32(const uint8_t *d, unsigned lo, bool wide)
{
	return peek32(d + lo) | (wide ? (uint64_t)peek32(d + 32 + lo) << 32 : 0);
}

/* Of all groups; malloc'd. NULL when they cannot be read. */
static uint8_t *read_descriptors(const struct xw_geo *geo, int fd)
{
	bool meta = xw_has_incompat(&geo->features, XW_INCOMPAT_META_BG);
	uint32_t bs = geo->block_size;
	uint8_t *desc = malloc((size_t)geo->desc_blocks * bs);

	for (uint32_t i = 0; desc && i < geo->desc_blocks; i++) {
		struct xw_group_place place;
		uint64_t blk = geo->first_data_block + 1 + i;

		xw_geo_group(geo, i * geo->desc_per_block, &place);
		if (meta)
			blk = place.start + place.has_super;
		if (pread(fd, desc + (size_t)i * bs, bs, (off_t)(blk * bs)) != (ssize_t)bs) {
			free(desc);
			desc = NULL;
		}
	}
	return desc;
}

static int compare_groups(const struct xw_geo *geo, int fd)
{
	auto_free uint8_t *desc = read_descriptors(geo, fd);
	bool wide = geo->desc_size > 32;

	if (!desc)
		return printf("descriptors: short read\n"), -1;
	for (uint32_t g = 0; g < geo->groups; g++) {
		struct xw_group_place place;
		char what[64];

		xw_geo_group(geo, g, &place);
		snprintf(what, sizeof(what), "group %u block bitmap", g);
		compare(what, place.block_bitmap,
			wide32(desc + (size_t)g * geo->desc_size, 0, wide));
		snprintf(what, sizeof(what), "group %u inode bitmap", g);
		compare(what, place.inode_bitmap,
			wide32(desc + (size_t)g * geo->desc_size, 4, wide));
		snprintf(what, sizeof(what), "group %u inode table", g);
		compare(what, place.inode_table,
			wide32(desc + (size_t)g * geo->desc_size, 8, wide));
	}
	return 0;
}

/* meta_bg: a copy of the descriptors must be where the plan has it. */
static int compare_meta_copies(const struct xw_geo *geo, int fd)
{
	uint32_t bs = geo->block_size;
	auto_free uint8_t *want = malloc(bs), *have = malloc(bs);

	for (uint32_t g = 0; g < geo->groups && want && have; g = xw_geo_next_head(geo, g + 1)) {
		struct xw_group_place place;

		if (!xw_geo_has_desc(geo, g))
			continue;
		xw_geo_group(geo, g, &place);
		if (pread(fd, have, bs, (off_t)((place.start + place.has_super) * bs)) != bs)
			return printf("descriptors: short read\n"), -1;
		if (g % geo->desc_per_block == 0)
			memcpy(want, have, bs);
		else if (memcmp(want, have, bs))
			compare("group without its copy of descriptors", g, 0);
	}
	return 0;
}

/* Backups: their superblock must be where the plan has a head, and nowhere else. */
static int compare_backups(const struct xw_geo *geo, int fd)
{
	for (uint32_t g = 1; g < geo->groups; g++) {
		struct xw_group_place place;
		uint8_t magic[2] = {0};
		bool there;

		xw_geo_group(geo, g, &place);
		if (!place.has_super && g > 64)
			continue;
		there = pread(fd, magic, 2, (off_t)(place.start * geo->block_size + 0x38)) == 2 &&
			peek16(magic) == XW_SUPER_MAGIC;
		if (there != place.has_super) {
			differences++;
			printf("group %u: plan has %s backup\n", g, place.has_super ? "a" : "no");
		}
	}
	return 0;
}

static void print_plan(const struct xw_geo *geo)
{
	printf("blocks %" PRIu64
	       " groups %u x %u inodes %u x %u itable %u desc %u+%u flex %u journal %" PRIu64 "\n",
	       geo->blocks, geo->groups, geo->blocks_per_group, geo->inodes_per_group,
	       geo->inode_size, geo->itable_blocks, geo->desc_blocks, geo->reserved_gdt,
	       geo->flex_size, geo->journal_blocks);
	for (uint32_t g = 0; g < geo->groups && g < 64; g++) {
		struct xw_group_place place;

		xw_geo_group(geo, g, &place);
		printf("%u: %" PRIu64 "+%u head %u  %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", g,
		       place.start, place.blocks, place.head, place.block_bitmap,
		       place.inode_bitmap, place.inode_table);
	}
}

int main(int argc, char **argv)
{
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};
	struct xw_geo geo = {0};
	struct xw_super sb;
	struct stat st = {0};
	uint8_t raw[1024];
	auto_fd int fd = -1;
	bool plan = argc > 1 && !strcmp(argv[1], "--plan");
	int err;

	if (argc < 2)
		return 2;
	if (!plan) {
		fd = open(argv[1], O_RDONLY);
		if (fd < 0 || fstat(fd, &st) ||
		    pread(fd, raw, sizeof(raw), 1024) != (ssize_t)sizeof(raw))
			return perror(argv[1]), 2;
	}
	xw_params_init(&p);
	err = parse(&p, argc - 2, argv + 2, &diag);
	if (!err)
		err = xw_params_finish(&p, (uint64_t)st.st_size, &diag);
	if (!err)
		err = xw_geo_plan(&p, p.size_bytes, &geo, &diag);
	if (err) {
		printf("refused (%d): %s\n", err, diag.text);
		xw_params_free(&p);
		return 3;
	}
	if (plan) {
		print_plan(&geo);
	} else {
		xw_plan_super(&p, &geo, &sb);
		compare_super(&sb, raw);
		compare("journal blocks", geo.journal_blocks * geo.block_size,
			sb.journal_inum ? peek32(raw + 0x10c + 64) |
						  (uint64_t)peek32(raw + 0x10c + 60) << 32
					: 0);
		if (!differences && (compare_groups(&geo, fd) || compare_backups(&geo, fd)))
			differences++;
		if (!differences && xw_has_incompat(&geo.features, XW_INCOMPAT_META_BG) &&
		    compare_meta_copies(&geo, fd))
			differences++;
		printf("%s: %u groups, %u differences\n", differences ? "differs" : "same",
		       geo.groups, differences);
	}
	xw_geo_free(&geo);
	xw_params_free(&p);
	return differences != 0;
}
