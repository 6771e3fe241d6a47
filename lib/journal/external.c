/* SPDX-License-Identifier: MIT */
/*
 * An external journal: a device with a superblock like that of a filesystem, but with feature
 * journal_dev, and the journal superblock in the next block. Block numbers of its log are those of
 * the device.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/auto.h"
#include "disk/super.h"
#include "journal/log_internal.h"

static int refuse(struct xw_log *log, const char *why)
{
	return xw_fail(log->diag, XW_ERR_INPUT, "%s: %s", log->dev->name, why);
}

static int read_super(struct xw_dev *dev, uint8_t raw[XW_SUPER_SIZE])
{
	return dev->size < XW_SUPER_OFFSET + XW_SUPER_SIZE
		       ? XW_ERR_TRUNCATED
		       : xw_dev_pread(dev, raw, XW_SUPER_SIZE, XW_SUPER_OFFSET);
}

/* Is the device the journal of the filesystem with superblock fs? Its checksum is not verified. */
static int check_super(struct xw_log *log, const struct xw_super *fs, const uint8_t *raw,
		       struct xw_super *sb)
{
	if (xw_super_decode(raw, sb) || !(sb->feature_incompat & XW_INCOMPAT_JOURNAL_DEV))
		return refuse(log, "not an external journal, or its superblock is invalid");
	if (memcmp(sb->uuid, fs->journal_uuid, sizeof(sb->uuid)) != 0)
		return refuse(log, "the journal of another filesystem");
	if (xw_super_block_size(sb) != log->block_size)
		return refuse(log, "the block size of this journal is not the filesystem's");
	if (sb->blocks_count > log->dev->size / log->block_size)
		return refuse(log, "shorter than its superblock says");
	return 0;
}

int xw_log_open_external(struct xw_dev *dev, const struct xw_super *fs, bool *bad_sum,
			 struct xw_diag *diag, struct xw_log **out)
{
	const uint32_t bs = xw_super_block_size(fs);
	auto_log struct xw_log *log = xw_log_new(dev, bs, diag);
	uint8_t raw[XW_SUPER_SIZE] = {0};
	struct xw_super sb;
	int rc;

	if (!log)
		return XW_ERR_NOMEM;
	rc = read_super(dev, raw);
	if (rc && rc != XW_ERR_TRUNCATED)
		return rc;
	rc = check_super(log, fs, raw, &sb);
	if (!rc && bad_sum)
		*bad_sum = xw_super_verify(raw) != 0;
	else if (!rc && xw_super_verify(raw))
		rc = refuse(log, "not an external journal, or its superblock is invalid");
	if (!rc)
		rc = xw_log_add_run(log, 0, 1, XW_SUPER_OFFSET / bs + 1);
	if (!rc)
		rc = xw_log_add_run(log, 1, sb.blocks_count - 1, 1);
	if (!rc)
		rc = xw_log_load(log, sb.blocks_count);
	if (rc)
		return rc;
	if (log->jsb.nr_users > 1)
		return refuse(log, "several filesystems share this journal, which is unsupported");
	/*
	 * A journal without users belongs to the filesystem that names its UUID; but one made anew
	 * has lost the log that the filesystem waits for.
	 */
	if (log->jsb.nr_users ? memcmp(log->jsb.users, fs->uuid, sizeof(fs->uuid)) != 0
			      : !log->jsb.start && fs->feature_incompat & XW_INCOMPAT_RECOVER)
		return refuse(log, "this journal does not list the filesystem as its user");
	*out = steal(log);
	return 0;
}

int xw_log_seal_external(struct xw_dev *dev)
{
	uint8_t raw[XW_SUPER_SIZE];
	struct xw_super sb;
	int rc = read_super(dev, raw);

	if (!rc)
		rc = xw_super_decode(raw, &sb);
	if (rc)
		return rc;
	xw_super_encode(&sb, raw);
	rc = xw_dev_pwrite(dev, raw, sizeof(raw), XW_SUPER_OFFSET);
	return rc ? rc : xw_dev_flush(dev);
}
