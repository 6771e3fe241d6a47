// SPDX-License-Identifier: MIT
/*
 * Opening for change: the recovered image is checked enough to ensure that no inconsistent image is
 * changed, then its free space is opened for allocation.
 *
 * Groups are described by their descriptors alone: bitmaps are read when the allocator considers a
 * group, so opening costs one pass over the descriptors.
 */
#include "config.h"

#include "update/update.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "plan/features.h"
#include "update/update_internal.h"
#include "update/xattrs.h"

static int refuse(struct xw_update *u, int code, const char *why)
{
	return xw_fail(u->diag, code, "%s: %s", u->img->dev->name, why);
}

static int check(struct xw_update *u, const struct xw_update_opts *opts)
{
	const struct xw_super *sb = &u->img->sb;
	const bool bigalloc = sb->feature_ro_compat & XW_RO_BIGALLOC;

	if (!opts->unchecked && (sb->state & XW_STATE_ERROR || sb->error_count))
		return refuse(u, XW_ERR_STATE, "the filesystem has errors; run xw-fsck -f first");
	if (bigalloc &&
	    (sb->feature_ro_compat & XW_RO_ITREE || !(sb->feature_incompat & XW_INCOMPAT_EXTENTS)))
		return refuse(
			u, XW_ERR_CORRUPT,
			"bigalloc is not supported with itree, nor without extent; run xw-fsck -f");
	if (bigalloc && (sb->first_data_block ||
			 (uint64_t)sb->clusters_per_group << xw_image_cluster_bits(u->img) !=
				 sb->blocks_per_group ||
			 sb->blocks_count & ((1u << xw_image_cluster_bits(u->img)) - 1)))
		return refuse(u, XW_ERR_CORRUPT,
			      "its groups or its size are not whole clusters; run xw-fsck -f");
	if (sb->feature_ro_compat & XW_RO_READONLY &&
	    !(opts->unchecked &&
	      opts->image_flags & XW_IMAGE_ANY_FEATURES)) /* a checker may repair */
		return refuse(u, XW_ERR_STATE,
			      "has the feature read-only; xw-tune -O ^read-only clears it");
	if (sb->feature_ro_compat & ~XW_UPDATE_RO_KNOWN &&
	    !(opts->unchecked && opts->image_flags & XW_IMAGE_ANY_FEATURES))
		return xw_features_refuse(
			u->img->dev->name,
			&(struct xw_features){.w[XW_FW_RO_COMPAT] =
						      sb->feature_ro_compat & ~XW_UPDATE_RO_KNOWN},
			u->diag);
	if (!opts->unchecked && sb->feature_incompat & XW_INCOMPAT_RECOVER)
		return refuse(u, XW_ERR_STATE,
			      "the journal needs recovery; mount "
			      "the image or run xw-fsck");
	if (sb->creator_os == 1 && !opts->unchecked) /* new inodes would lack the Hurd's fields */
		return refuse(u, XW_ERR_UNSUPPORTED, "created for the Hurd");
	if (sb->inodes_per_group % 8)
		return refuse(u, XW_ERR_UNSUPPORTED, "inodes per group are not a multiple of 8");
	if (!opts->unchecked && sb->feature_compat & XW_COMPAT_DIR_INDEX &&
	    sb->def_hash_version > XW_DX_TEA)
		return refuse(u, XW_ERR_CORRUPT, "unknown directory hash; run xw-fsck -f");
	if (!opts->unchecked && !(sb->state & XW_STATE_VALID))
		return refuse(u, XW_ERR_STATE, "was not unmounted cleanly; run xw-fsck first");
	return 0;
}

/* ---- space ---- */

static int unchecked_bitmap(void *arg, uint32_t group, uint8_t *bits)
{
	return xw_unchecked_blocks(arg, group, bits);
}

static int inode_bitmap(void *arg, uint32_t group, uint8_t *bits)
{
	struct xw_update *u = arg;

	if (u->unchecked)
		return xw_unchecked_inodes(u, group, bits);
	return xw_image_inode_bitmap(u->img, group, bits);
}

static int open_inodes(struct xw_update *u)
{
	const struct xw_image *img = u->img;
	int rc = xw_ispace_new((uint32_t)img->groups, img->sb.inodes_per_group, inode_bitmap, u,
			       &u->inodes);

	for (uint32_t g = 0; g < img->groups && !rc; g++) {
		struct xw_group_desc gd;

		rc = xw_image_group(u->img, g, &gd);
		if (!rc && u->unchecked)
			rc = xw_unchecked_dirs(u, g, &gd.used_dirs);
		u->dirs += rc ? 0 : gd.used_dirs;
		if (!rc && xw_ispace_set_dirs(u->inodes, g, gd.used_dirs))
			rc = xw_fail(u->diag, XW_ERR_CORRUPT,
				     "%s: group %" PRIu32
				     ": more directories than inodes; run xw-fsck -f",
				     img->dev->name, g);
	}
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(u->diag, "inode bitmaps") : rc;
}

/* ---- encoders ---- */

static void open_placer(struct xw_update *u)
{
	const struct xw_super *sb = &u->img->sb;
	struct xw_placer *p = &u->place;

	p->enc.block_size = u->img->block_size;
	p->enc.cluster_bits = xw_image_cluster_bits(u->img);
	p->enc.inode_size = u->img->inode_size;
	p->enc.features = (struct xw_features){
		{sb->feature_compat, sb->feature_incompat, sb->feature_ro_compat}};
	p->enc.now = u->now;
	p->enc.diag = u->diag;
	p->enc.name = u->img->dev->name;
	p->out = &u->out;
	p->pool = u->pool;
	p->space = u->space;
	p->existing = true;
	xw_encoder_set_super(&p->enc, sb);
}

static int open_all(struct xw_update *u, struct xw_dev *dev, const struct xw_update_opts *opts)
{
	struct xw_space_params p = {0};
	int rc = xw_image_open(dev, opts->unchecked ? opts->image_flags : 0, u->diag, &u->img);

	if (rc)
		return rc;
	u->img->pending = (struct xw_image_pending){xw_update_pending, u};
	u->data = u->img->dev;
	rc = check(u, opts);
	if (!rc)
		rc = xw_sysmap_new(u->img, &u->sysmap);
	if (rc)
		return rc;
	xw_space_params_tune(&p, &opts->mb);
	u->view = (struct xw_space_view){.img = u->img,
					 .sysmap = u->sysmap,
					 .bitmap = u->unchecked ? unchecked_bitmap : NULL,
					 .arg = u};
	rc = xw_space_view_open(&u->view, &p, &u->space);
	if (!rc)
		rc = open_inodes(u);
	if (rc)
		return rc;
	u->pool = xw_pool_new(opts->jobs);
	if (!u->pool)
		return xw_fail_nomem(u->diag, "threads");
	rc = xw_batch_new(u->img->dev, XW_MAX(u->img->block_size, XW_BATCH_UNIT), opts->jobs != 1,
			  u->diag, &u->out.batch);
	if (rc)
		return rc;
	for (int t = 0; t < XW_QUOTA_TYPES; t++) {
		const uint32_t inum[] = {u->img->sb.usr_quota_inum, u->img->sb.grp_quota_inum,
					 u->img->sb.prj_quota_inum};

		if (u->img->sb.feature_ro_compat & XW_RO_QUOTA && inum[t])
			u->quota_types |= 1u << t;
	}
	open_placer(u);
	u->bias.blocks = (int64_t)(u->img->sb.free_blocks_count - xw_space_free_blocks(u->space));
	u->bias.inodes = (int64_t)(u->img->sb.free_inodes_count - xw_ispace_free_count(u->inodes));
	return opts->unchecked ? 0 : xw_update_orphans(u);
}

int xw_update_begin(struct xw_dev *dev, const struct xw_update_opts *opts, struct xw_diag *diag,
		    struct xw_update **out)
{
	struct xw_update *u = calloc(1, sizeof(*u));
	int rc;

	if (!u)
		return xw_fail_nomem(diag, "image");
	*u = (struct xw_update){.diag = diag,
				.now = opts->now,
				.unchecked = opts->unchecked,
				.protect = opts->unchecked && opts->protect,
				.cut = opts->cut,
				.cut_arg = opts->cut_arg};
	rc = open_all(u, dev, opts);
	if (rc)
		xw_update_close(u);
	else
		*out = u;
	return rc;
}

void xw_update_forget(struct xw_update *u)
{
	xw_update_forget_recs(u);
	for (int t = 0; t < XW_QUOTA_TYPES; t++)
		xw_table_free(&u->usage[t]);
}

void xw_update_close(struct xw_update *u)
{
	if (!u)
		return;
	xw_batch_free(u->out.batch);
	xw_pool_free(u->pool);
	xw_update_forget(u);
	xw_update_share_forget(u);
	xw_vec_free(&u->recs);
	xw_vec_free(&u->freed);
	xw_vec_free(&u->fence);
	xw_vec_free(&u->bias.groups);
	xw_vec_free(&u->bias.exposed);
	xw_placer_free(&u->place);
	xw_ispace_free(u->inodes);
	xw_space_free(u->space);
	xw_space_view_close(&u->view);
	xw_sysmap_free(u->sysmap);
	xw_image_close(u->img);
	free(u);
}
