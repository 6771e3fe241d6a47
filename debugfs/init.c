/* SPDX-License-Identifier: MIT */
/*
 * init_filesys: creates an empty filesystem of revision 0 with blocks of 1 KiB, as the stock
 * debugger does: superblocks, descriptors, bitmaps and zeroed inode tables. No inode is in use, not
 * even that of a root directory.
 *
 * The filesystem is written at once, outside of the session's commit, the superblock last. Then the
 * image is opened.
 */
#include "config.h"

#include "debugfs.h"

#include <stdlib.h>
#include <string.h>

#include "disk/group.h"
#include "plan/geometry.h"
#include "plan/params.h"

struct init {
	struct xw_diag *diag;
	struct xw_dev *dev;
	struct xw_mkfs_params params;
	struct xw_geo geo;
	struct xw_super sb;
	uint8_t *block; /* one block */
	uint8_t *descs; /* all descriptor blocks */
};

static int plan(struct init *n, const char *blocks)
{
	static const struct {
		enum xw_mkfs_option option;
		const char *value;
	} options[] = {
		{XW_MKFS_TYPE, "ext2"},          {XW_MKFS_REVISION, "0"},
		{XW_MKFS_FEATURES, "none"},      {XW_MKFS_BLOCK_SIZE, "1024"},
		{XW_MKFS_UUID, "clear"},         {XW_MKFS_EXTENDED, "hash_seed=null"},
		{XW_MKFS_INODE_SIZE, "128"},     {XW_MKFS_BYTES_PER_INODE, "4096"},
		{XW_MKFS_RESERVED_PERCENT, "0"},
	};
	int rc = xw_params_set(&n->params, XW_MKFS_SIZE, blocks, n->diag);

	for (size_t i = 0; i < XW_ARRAY_SIZE(options) && !rc; i++)
		rc = xw_params_set(&n->params, options[i].option, options[i].value, n->diag);
	if (!rc)
		rc = xw_params_check(&n->params, n->diag);
	if (!rc)
		rc = xw_params_finish(&n->params, n->dev->size, n->diag);
	if (!rc)
		rc = xw_geo_plan(&n->params, n->params.size_bytes, &n->geo, n->diag);
	if (rc)
		return rc;
	xw_plan_super(&n->params, &n->geo, &n->sb);
	/* fields that the stock debugger does not set */
	n->sb.max_mnt_count = 0;
	n->sb.overhead_blocks = 0;
	n->sb.def_hash_version = 0;
	return 0;
}

static int put(struct init *n, xw_blk blk, const void *buf, size_t blocks)
{
	const size_t bs = n->geo.block_size;

	return xw_dev_pwrite(n->dev, buf, blocks * bs, blk * bs);
}

/* Write bitmaps and inode table of a group, and encode its descriptor. */
static int put_group(struct init *n, uint32_t g)
{
	const uint32_t bs = n->geo.block_size, inodes = n->geo.inodes_per_group;
	struct xw_group_desc gd = {0};
	struct xw_group_place p;
	uint32_t longest, fragments, first;
	int rc;

	xw_geo_group(&n->geo, g, &p);
	xw_geo_group_summary(&n->geo, g, &gd.free_blocks, &longest, &fragments, &first);
	gd.free_inodes = inodes;
	gd.block_bitmap = p.block_bitmap;
	gd.inode_bitmap = p.inode_bitmap;
	gd.inode_table = p.inode_table;
	n->sb.free_blocks_count += gd.free_blocks;
	n->sb.free_inodes_count += inodes;
	xw_group_encode(&gd, &n->sb, 0, g, n->descs + (size_t)g * n->geo.desc_size);
	memset(n->block, 0xff, bs);
	xw_geo_group_bitmap(&n->geo, g, n->block);
	rc = put(n, p.block_bitmap, n->block, 1);
	memset(n->block, 0xff, bs);
	memset(n->block, 0, inodes / 8);
	if (!rc)
		rc = put(n, p.inode_bitmap, n->block, 1);
	return rc ? rc
		  : xw_dev_zero(n->dev, p.inode_table * bs, (uint64_t)n->geo.itable_blocks * bs);
}

/* Write the superblock of group g; the rest of its block is zeros. */
static int put_super(struct init *n, uint32_t g)
{
	memset(n->block, 0, n->geo.block_size);
	xw_super_encode(&n->sb, n->block);
	return put(n, xw_geo_super_at(&n->geo, g), n->block, 1);
}

static int put_all(struct init *n)
{
	const struct xw_geo *geo = &n->geo;
	int rc;

	n->block = calloc(1, geo->block_size);
	n->descs = calloc(geo->desc_blocks, geo->block_size);
	if (!n->block || !n->descs)
		return xw_fail_nomem(n->diag, "group descriptors");
	rc = xw_dev_check_end(n->dev, geo->blocks * geo->block_size);
	/* an interrupted run leaves no valid superblock */
	if (!rc)
		rc = xw_dev_zero(n->dev, 0, 2 * XW_SUPER_OFFSET);
	if (!rc && n->dev->size < geo->blocks * geo->block_size)
		rc = xw_dev_set_size(n->dev, geo->blocks * geo->block_size);
	for (uint32_t g = 0; g < geo->groups && !rc; g++)
		rc = put_group(n, g);
	for (uint32_t g = 0; g < geo->groups && !rc; g = xw_geo_next_super(geo, g + 1)) {
		rc = put(n, xw_geo_super_at(geo, g) + 1, n->descs, geo->desc_blocks);
		if (!rc && g)
			rc = put_super(n, g);
	}
	if (!rc)
		rc = xw_dev_flush(n->dev);
	if (!rc)
		rc = put_super(n, 0);
	return rc ? rc : xw_dev_flush(n->dev);
}

static int verb_init(struct dbg *d, int argc, char **argv)
{
	struct init n = {.diag = &d->diag};
	const struct dbg_how how = {
		.write = true,
		.redo_file = d->how.redo_file,
		.commit = d->how.commit,
	};
	int rc;

	if (argc != 3)
		return DBG_USAGE;
	if (d->img)
		return xw_fail(&d->diag, XW_ERR_STATE, "%s is still open; close it first", d->path);
	xw_params_init(&n.params);
	n.params.now = d->now;
	rc = xw_dev_open_file(argv[1], 0, &d->diag, &n.dev);
	if (!rc)
		rc = plan(&n, argv[2]);
	if (!rc)
		rc = put_all(&n);
	xw_dev_close(n.dev);
	xw_geo_free(&n.geo);
	xw_params_free(&n.params);
	free(n.block);
	free(n.descs);
	return rc ? rc : dbg_open(d, argv[1], &how);
}

static const struct dbg_verb verbs[] = {
	{"init_filesys", 0, verb_init, "DEVICE BLOCKS",
	 "create an empty filesystem without inodes; overwrites DEVICE"},
};

const struct dbg_family dbg_init_verbs = {"New filesystems", verbs, XW_ARRAY_SIZE(verbs)};
