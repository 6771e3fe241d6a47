// SPDX-License-Identifier: MIT
/*
 * External journals.
 *
 * The superblock is at the same place as any ext4 superblock; the journal starts with the following
 * block, and s_first and s_maxlen count from the start of the device. The format can list up to 48
 * filesystems, but neither Linux nor e2fsck accepts a journal with two: attaching replaces the
 * user.
 */
#include "config.h"

#include "fill/jdev.h"

#include <stdlib.h>
#include <string.h>

#include "plan/geometry.h"

static uint32_t journal_block(uint32_t block_size)
{
	return block_size == 1024 ? 2 : 1;
}

static void plan_super(const struct xw_mkfs_params *p, uint64_t blocks, struct xw_super *sb)
{
	struct xw_geo geo = {
		.features = p->features,
		.block_size = p->block_size,
		.first_data_block = p->block_size == 1024,
		.blocks = blocks,
		.blocks_per_group = p->blocks_per_group ? p->blocks_per_group
							: xw_group_blocks_max(p->block_size),
		.inode_size = p->inode_size,
		.flex_size = 1,
	};

	while (1024u << geo.log_block_size < p->block_size)
		geo.log_block_size++;
	xw_plan_super(p, &geo, sb);
	sb->flags = 0; /* no directories, so no hash flags */
}

int xw_jdev_make(struct xw_dev *dev, const struct xw_mkfs_params *p, struct xw_diag *diag,
		 struct xw_super *sb)
{
	uint32_t bs = p->block_size, at = journal_block(bs);
	uint64_t blocks = p->size_bytes / bs;
	struct xw_jsb j = {
		.blocktype = XW_JBD2_SUPER_V2,
		.blocksize = bs,
		.maxlen = (uint32_t)blocks,
		.first = at + 1,
		.sequence = 1,
	};
	uint8_t super[XW_SUPER_SIZE], log[XW_JSB_SIZE];
	int rc = 0;

	plan_super(p, blocks, sb);
	memcpy(j.uuid, sb->uuid, sizeof(j.uuid));
	xw_jsb_encode(&j, log);
	xw_super_encode(sb, super);
	if (!dev->fresh && !p->prezeroed && p->lazy_journal_init != 1)
		rc = xw_dev_zero(dev, (uint64_t)at * bs, (blocks - at) * bs);
	if (!rc)
		rc = xw_dev_pwrite(dev, log, sizeof(log), (uint64_t)at * bs);
	if (!rc && !dev->is_block && dev->size < blocks * bs)
		rc = xw_dev_set_size(dev, blocks * bs);
	if (!rc)
		rc = xw_dev_flush(dev);
	if (!rc)
		rc = xw_dev_pwrite(dev, super, sizeof(super), XW_SUPER_OFFSET);
	if (!rc)
		rc = xw_dev_flush(dev);
	if (rc && diag && !diag->code)
		xw_fail(diag, rc, "%s: cannot be written", dev->name);
	return rc;
}

static int no_journal(const struct xw_jdev *j, struct xw_diag *diag, const char *why)
{
	return xw_fail(diag, XW_ERR_USAGE, "-J device: %s: %s", j->dev->name, why);
}

int xw_jdev_read(struct xw_jdev *j, struct xw_diag *diag)
{
	uint8_t super[XW_SUPER_SIZE], log[XW_JSB_SIZE];
	uint32_t bs;
	int rc;

	if (j->dev->size < XW_SUPER_OFFSET + sizeof(super))
		return no_journal(j, diag, "too small to hold a journal");
	rc = xw_dev_pread(j->dev, super, sizeof(super), XW_SUPER_OFFSET);
	if (rc)
		return rc;
	if (xw_super_decode(super, &j->sb) || !(j->sb.feature_incompat & XW_INCOMPAT_JOURNAL_DEV))
		return no_journal(j, diag,
				  "not an external journal: create one with -O journal_dev first");
	if (xw_super_verify(super))
		return no_journal(j, diag, "the checksum of its superblock is wrong");
	bs = xw_super_block_size(&j->sb);
	j->at = (uint64_t)journal_block(bs) * bs;
	if (j->dev->size < j->at + sizeof(log))
		return no_journal(j, diag, "ends before its journal");
	rc = xw_dev_pread(j->dev, log, sizeof(log), j->at);
	if (rc)
		return rc;
	if (xw_jsb_decode(log, &j->jsb) || xw_jsb_verify(log) || j->jsb.blocksize != bs ||
	    j->jsb.blocktype != XW_JBD2_SUPER_V2 ||
	    memcmp(j->jsb.uuid, j->sb.uuid, sizeof(j->sb.uuid)))
		return no_journal(j, diag, "its journal superblock is damaged");
	if (j->jsb.maxlen > j->dev->size / bs)
		return no_journal(j, diag, "shorter than its journal");
	return 0;
}

int xw_jdev_check(const struct xw_jdev *j, const uint8_t uuid[16], bool force, struct xw_diag *diag)
{
	if (force)
		return 0;
	if (j->jsb.nr_users > 1 ||
	    (j->jsb.nr_users == 1 && memcmp(j->jsb.users, uuid, sizeof(j->sb.uuid))))
		return xw_fail(diag, XW_ERR_EXISTS,
			       "-J device: %s: already the journal of another filesystem",
			       j->dev->name);
	if (j->jsb.start)
		return xw_fail(diag, XW_ERR_EXISTS,
			       "-J device: %s: holds transactions that were not replayed",
			       j->dev->name);
	return 0;
}

int xw_jdev_attach(struct xw_jdev *j, const uint8_t uuid[16])
{
	uint8_t log[XW_JSB_SIZE];
	int rc;

	/* Sequence numbers of new transactions must not match old blocks in the log. */
	if (j->jsb.start)
		j->jsb.sequence += j->jsb.maxlen;
	j->jsb.start = j->jsb.err = 0;
	j->jsb.nr_users = 1;
	memset(j->jsb.users, 0, sizeof(j->jsb.users));
	memcpy(j->jsb.users, uuid, sizeof(j->sb.uuid));
	xw_jsb_encode(&j->jsb, log);
	rc = xw_dev_pwrite(j->dev, log, sizeof(log), j->at);
	return rc ? rc : xw_dev_flush(j->dev);
}
