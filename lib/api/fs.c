/* SPDX-License-Identifier: MIT */
/* The public handle of an image opened for reading: options, opening, superblock information. */
#include "config.h"

#include "api/fs.h"

#include <stdlib.h>
#include <string.h>

#include "api/option.h"
#include "plan/parse.h"
#include "read/backup.h"
#include "read/bitmaps.h"
#include "session/recover.h"

int xw_fs_new(struct xw_fs **out)
{
	if (!out)
		return XW_ERR_USAGE;
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : XW_ERR_NOMEM;
}

static void close_image(struct xw_fs *fs)
{
	xw_image_close(fs->img);
	xw_dev_close(fs->dev);
	fs->img = NULL;
	fs->dev = NULL;
}

void xw_fs_free(struct xw_fs *fs)
{
	if (!fs)
		return;
	close_image(fs);
	xw_json_free(&fs->json);
	free(fs->target);
	free(fs->redo_file);
	free(fs);
}

/* -b and -B, as in xw-fsck(8). */
static int set_backup(struct xw_fs *fs, const char *option, const char *value)
{
	const bool is_block = option[1] == 'b';
	uint64_t n;
	int rc = value ? xw_parse_ranged(option, value, is_block ? 1 : XW_BLOCK_SIZE_MIN,
					 is_block ? XW_BLK_MAX - 1 : XW_BLOCK_SIZE_MAX, &n,
					 &fs->diag)
		       : xw_fail(&fs->diag, XW_ERR_USAGE, "%s: needs a value", option);

	if (!rc && !is_block && n & (n - 1))
		rc = xw_fail(&fs->diag, XW_ERR_USAGE, "%s %s: not a power of two", option, value);
	if (rc)
		return rc;
	if (is_block)
		fs->super = n;
	else
		fs->block_size = (uint32_t)n;
	return 0;
}

int xw_fs_set(struct xw_fs *fs, const char *option, const char *value)
{
	static const char *const flags[] = {"--ignore-checksums", NULL};
	int rc = xw_option_given(fs ? &fs->diag : NULL, option, "option");

	if (!rc)
		rc = xw_option_alone(flags, option, value, &fs->diag);
	if (rc)
		return rc;
	if (!strcmp(option, "-E"))
		return xw_option_offset(value, &fs->offset, &fs->diag);
	if (!strcmp(option, "-b") || !strcmp(option, "-B"))
		return set_backup(fs, option, value);
	if (!strcmp(option, "--redo-file") || !strcmp(option, "--redo-dir"))
		return xw_option_text(option, value, &fs->redo_file, &fs->diag);
	if (strcmp(option, "--ignore-checksums"))
		return xw_fail(&fs->diag, XW_ERR_USAGE, "unknown option %s", option);
	fs->flags |= XW_IMAGE_NOCSUM;
	return 0;
}

void xw_fs_on_log(struct xw_fs *fs, xw_log_cb *cb, void *arg)
{
	if (fs)
		xw_forward_log(&fs->diag, &fs->log, cb, arg);
}

const char *xw_fs_error(const struct xw_fs *fs)
{
	return fs ? fs->diag.text : XW_NO_HANDLE;
}

/* ---- the filesystem ---- */

static void describe(struct xw_fs *fs, const struct xw_recover_info *recovered)
{
	const struct xw_super *sb = &fs->img->sb;
	const struct xw_features features = {
		{sb->feature_compat, sb->feature_incompat, sb->feature_ro_compat}};

	memcpy(fs->label, sb->volume_name, sizeof(sb->volume_name));
	memcpy(fs->last_mounted_on, sb->last_mounted, sizeof(sb->last_mounted));
	xw_feature_words(&features, fs->features);
	fs->info = (struct xw_fs_info){
		.block_size = fs->img->block_size,
		.cluster_size = (uint64_t)fs->img->block_size << xw_image_cluster_bits(fs->img),
		.inode_size = fs->img->inode_size,
		.blocks = sb->blocks_count,
		.free_blocks = sb->free_blocks_count,
		.reserved_blocks = sb->r_blocks_count,
		.inodes = sb->inodes_count,
		.free_inodes = sb->free_inodes_count,
		.groups = fs->img->groups,
		.label = fs->label,
		.last_mounted_on = fs->last_mounted_on,
		.features = fs->features,
		.created = sb->mkfs_time,
		.last_mounted = sb->mtime,
		.last_written = sb->wtime,
		.last_checked = sb->lastcheck,
		.has_errors = !!(sb->state & XW_STATE_ERROR),
		.replayed = recovered->journal.needed,
		.journal_lost = recovered->journal_lost,
		.pending = recovered->redo_applied,
	};
	memcpy(fs->info.uuid, sb->uuid, sizeof(sb->uuid));
}

int xw_fs_open(struct xw_fs *fs, const char *path)
{
	struct xw_recover_info recovered = {0};
	int rc = xw_option_given(fs ? &fs->diag : NULL, path, "path");

	if (rc)
		return rc;
	close_image(fs);
	if (fs->super) /* the journal may not match the backup */
		rc = xw_recover_open(path, fs->redo_file, fs->offset,
				     XW_RECOVER_RDONLY | XW_RECOVER_FORCE, &fs->diag, &fs->dev,
				     &recovered);
	else
		rc = xw_recover_read(path, fs->redo_file, fs->offset, &fs->diag, &fs->dev,
				     &recovered);
	if (!rc && (fs->super || fs->block_size))
		rc = xw_backup_view(&fs->dev, fs->super, fs->block_size, &fs->diag);
	if (!rc)
		rc = xw_image_open(fs->dev, fs->flags, &fs->diag, &fs->img);
	if (!rc)
		describe(fs, &recovered);
	else
		close_image(fs);
	return rc;
}

const struct xw_fs_info *xw_fs_info(const struct xw_fs *fs)
{
	return fs && fs->img ? &fs->info : NULL;
}

const char *xw_fs_json(struct xw_fs *fs)
{
	const struct xw_fs_info *i = xw_fs_info(fs);
	struct xw_json *j;

	if (!i)
		return NULL;
	j = &fs->json;
	xw_json_free(j);
	xw_json_object(j, NULL);
	xw_put_uuid(j, i->uuid);
	xw_json_str(j, "label", i->label, strlen(i->label));
	xw_json_str(j, "last_mounted_on", i->last_mounted_on, strlen(i->last_mounted_on));
	xw_json_array(j, "features");
	for (const char *w = i->features; *w; w += strspn(w, " ")) {
		const size_t len = strcspn(w, " ");

		xw_json_str(j, NULL, w, len);
		w += len;
	}
	xw_json_end(j, ']');
	xw_json_u64(j, "block_size_bytes", i->block_size);
	xw_json_u64(j, "cluster_size_bytes", i->cluster_size);
	xw_json_u64(j, "inode_size_bytes", i->inode_size);
	xw_json_u64(j, "blocks", i->blocks);
	xw_json_u64(j, "free_blocks", i->free_blocks);
	xw_json_u64(j, "reserved_blocks", i->reserved_blocks);
	xw_json_u64(j, "inodes", i->inodes);
	xw_json_u64(j, "free_inodes", i->free_inodes);
	xw_json_u64(j, "groups", i->groups);
	xw_json_i64(j, "created", i->created);
	xw_json_i64(j, "last_mounted", i->last_mounted);
	xw_json_i64(j, "last_written", i->last_written);
	xw_json_i64(j, "last_checked", i->last_checked);
	xw_json_bool(j, "has_errors", i->has_errors);
	xw_json_bool(j, "replayed", i->replayed);
	xw_json_bool(j, "journal_lost", i->journal_lost);
	xw_json_bool(j, "pending_change", i->pending);
	xw_json_end(j, '}');
	return xw_json_text(j);
}
