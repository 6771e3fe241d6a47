/* SPDX-License-Identifier: MIT */
/*
 * Finds the journal of an image: inode 8 (s_journal_inum), or, if that is damaged, the backup of
 * its i_block and size in the superblock.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "base/endian.h"
#include "journal/log_internal.h"
#include "read/map.h"

#define BACKUP_INODE_BLOCKS 1

static int collect_runs(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
			struct xw_log *log)
{
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	int rc = xw_map_begin(img, ino, inode, 0, &it);

	while (!rc && (rc = xw_map_next(&it, &run)) == 1)
		rc = run.unwritten ? 0 : xw_log_add_run(log, run.lblk, run.len, run.pblk);
	return rc;
}

static int open_inode(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		      struct xw_log **out)
{
	auto_log struct xw_log *log = NULL;
	int rc;

	if ((inode->mode & XW_S_IFMT) != XW_S_IFREG || !inode->links)
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: journal: inode %" PRIu32 " is not a regular file",
			       img->dev->name, ino);
	log = xw_log_new(img->dev, img->block_size, img->diag);
	if (!log)
		return XW_ERR_NOMEM;
	rc = collect_runs(img, ino, inode, log);
	if (!rc)
		rc = xw_log_load(log, inode->size / img->block_size);
	if (!rc)
		*out = steal(log);
	return rc;
}

/* Inode 8 from the backup in the superblock. */
static bool backup_inode(const struct xw_super *sb, struct xw_inode *out)
{
	memset(out, 0, sizeof(*out));
	if (sb->jnl_backup_type != BACKUP_INODE_BLOCKS)
		return false;
	out->mode = XW_S_IFREG | 0600;
	out->links = 1;
	out->size = (uint64_t)sb->jnl_blocks[15] << 32 | sb->jnl_blocks[16];
	for (unsigned i = 0; i < 15; i++)
		poke32(out->block + (size_t)4 * i, sb->jnl_blocks[i]);
	if (xw_extent_has_magic(out->block))
		out->flags = XW_FL_EXTENTS;
	return true;
}

/* A failure is described in img->diag only if the backup is unusable, too. */
static int open_backup(struct xw_image *img, xw_ino ino, struct xw_log **out)
{
	struct xw_diag *diag = img->diag;
	struct xw_inode inode;
	int rc = XW_ERR_CORRUPT;

	img->diag = NULL;
	if (backup_inode(&img->sb, &inode))
		rc = open_inode(img, ino, &inode, out);
	img->diag = diag;
	if (!rc)
		(*out)->diag = diag;
	return rc;
}

int xw_log_open_image(struct xw_image *img, struct xw_log **out)
{
	const struct xw_super *sb = &img->sb;
	struct xw_diag before = {0}, *diag = img->diag;
	const xw_ino ino = sb->journal_inum;
	struct xw_inode inode;
	int rc;

	if (!(sb->feature_compat & XW_COMPAT_HAS_JOURNAL))
		return xw_fail(diag, XW_ERR_NOTFOUND, "%s: the filesystem has no journal",
			       img->dev->name);
	if (!ino && (sb->journal_dev || !xw_all_zero(sb->journal_uuid, sizeof(sb->journal_uuid))))
		return xw_fail(diag, XW_ERR_UNSUPPORTED,
			       "%s: the journal is external; that is not supported",
			       img->dev->name);
	if (diag)
		before = *diag;
	rc = xw_image_inode(img, ino, &inode, NULL);
	if (!rc)
		rc = open_inode(img, ino, &inode, out);
	if ((rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM) && !open_backup(img, ino, out)) {
		if (diag)
			*diag = before;
		xw_log(diag, XW_LOG_WARN,
		       "%s: journal: inode %" PRIu32
		       " is damaged; using its copy in the superblock",
		       img->dev->name, ino);
		rc = 0;
	}
	return rc;
}
