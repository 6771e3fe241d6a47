/* SPDX-License-Identifier: MIT */
/*
 * The inputs of the checker, read from an image: the entries of the directory in block order, its
 * blocks, the block bitmap. Of a damaged directory only the readable entries are compared: its
 * repair rebuilds the itree in any case (rule 16).
 */
#include "config.h"

#include "dir/itree_image.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/endian.h"
#include "disk/dirent.h"
#include "read/bitmaps.h"
#include "read/dirs.h"
#include "read/map.h"
#include "read/xattrs.h"

struct facts {
	struct xw_image *img;
	xw_itree_report *report;
	void *arg;
	struct xw_itree_sum sum;
	uint64_t mapped; /* data and map blocks */
	bool broken; /* the directory could not be read completely */
	uint64_t group; /* group of desc; UINT64_MAX: none */
	struct xw_group_desc desc;
};

static int read_node(void *arg, xw_blk blk, void *buf)
{
	const struct xw_image *img = ((struct facts *)arg)->img;

	return xw_dev_pread(img->dev, buf, img->block_size, blk * img->block_size);
}

static int pass_on(void *arg, const struct xw_itree_finding *f)
{
	struct facts *fx = arg;

	return XW_MIN(fx->report(fx->arg, f), 0);
}

static int in_use(void *arg, xw_blk blk)
{
	struct facts *f = arg;
	const struct xw_super *sb = &f->img->sb;
	uint64_t group = (blk - sb->first_data_block) / sb->blocks_per_group;
	uint64_t bit = (blk - sb->first_data_block) % sb->blocks_per_group;
	uint8_t byte;

	if (group != f->group) {
		f->group = UINT64_MAX;
		if (xw_image_group(f->img, group, &f->desc))
			return 1; /* unknown: not a finding of this check */
		f->group = group;
	}
	if (f->desc.flags & XW_BG_BLOCK_UNINIT)
		return 0;
	bit >>= xw_image_cluster_bits(f->img);
	if (xw_image_meta(f->img, f->desc.block_bitmap, (uint32_t)(bit / 8), &byte, 1))
		return 1;
	return byte >> bit % 8 & 1;
}

static int sum_entries(struct facts *f, xw_ino ino, const struct xw_inode *inode,
		       const uint8_t *raw)
{
	struct xw_dir_iter it;
	struct xw_dirent e;
	int rc = xw_dir_begin(f->img, ino, inode, raw, &it);

	while (!rc && (rc = xw_dir_next(&it, &e, NULL)) == 1) {
		rc = 0;
		if (xw_name_is_dots(e.name, e.name_len))
			continue;
		xw_itree_sum_add(&f->sum, e.ino, e.ftype, e.name, e.name_len);
	}
	xw_dir_end(&it);
	if (rc && rc != XW_ERR_NOMEM)
		f->broken = true;
	return rc == XW_ERR_NOMEM ? rc : 0;
}

/* Values in EA inodes are included in i_blocks of their owner. */
static int count_values(struct facts *f, xw_ino ino, const struct xw_inode *inode,
			const uint8_t *raw)
{
	struct xw_xattr_iter it;
	struct xw_xattr_ref a;
	int rc = xw_xattr_begin(f->img, ino, inode, raw, &it);

	while (!rc && (rc = xw_xattr_next(&it, &a)) == 1) {
		rc = 0;
		if (a.value_ino)
			f->mapped += xw_div_up(a.value_len, f->img->block_size);
	}
	xw_xattr_end(&it);
	if (rc && rc != XW_ERR_NOMEM)
		f->broken = true;
	return rc == XW_ERR_NOMEM ? rc : 0;
}

static int count_map_block(void *arg, xw_blk blk, unsigned depth)
{
	struct facts *f = arg;

	(void)blk;
	(void)depth;
	f->mapped++;
	return 0;
}

static int count_blocks(struct facts *f, xw_ino ino, const struct xw_inode *inode)
{
	struct xw_map_iter it;
	struct xw_map_run run;
	int rc = xw_map_begin(f->img, ino, inode, 0, &it);

	it.on_node = count_map_block;
	it.arg = f;
	while (!rc && (rc = xw_map_next(&it, &run)) == 1) {
		rc = 0;
		f->mapped += run.len;
	}
	xw_map_end(&it);
	f->mapped += inode->file_acl != 0;
	if (rc && rc != XW_ERR_NOMEM)
		f->broken = true;
	return rc == XW_ERR_NOMEM ? rc : 0;
}

/* Sets *block to NULL if the first block cannot be read. */
static int read_block0(struct facts *f, xw_ino ino, const struct xw_inode *inode, uint8_t **block)
{
	struct xw_map_run run = {0};

	if (xw_map_lookup(f->img, ino, inode, 0, &run) || !run.len || run.unwritten)
		return 0;
	*block = malloc(f->img->block_size);
	if (!*block)
		return xw_fail_nomem(f->img->diag, "directory");
	if (read_node(f, run.pblk, *block)) {
		free(*block);
		*block = NULL;
	}
	return 0;
}

void xw_itree_env_init(const struct xw_image *img, struct xw_itree_env *env)
{
	const struct xw_super *sb = &img->sb;

	*env = (struct xw_itree_env){
		.block_size = img->block_size,
		.csum = xw_super_has_csum(sb),
		.feature = sb->feature_ro_compat & XW_RO_ITREE,
		.unsigned_hash = sb->flags & XW_FLAG_UNSIGNED_HASH,
		.first_data_block = sb->first_data_block,
		.blocks_count = sb->blocks_count,
	};
	xw_dx_seed(sb, env->hash_seed);
}

static int read_dir(struct facts *f, xw_ino ino, const struct xw_inode *inode, const uint8_t *raw,
		    struct xw_itree_dir *d, uint8_t **block0)
{
	struct xw_image *img = f->img;
	int rc = read_block0(f, ino, inode, block0);

	if (!rc)
		rc = count_blocks(f, ino, inode);
	if (!rc && img->sb.feature_incompat & XW_INCOMPAT_EA_INODE)
		rc = count_values(f, ino, inode, raw);
	*d = (struct xw_itree_dir){
		.ino = ino,
		.generation = inode->generation,
		.inode_seed = xw_image_inode_seed(img, ino, inode),
		.flags = inode->flags,
		.size = inode->size,
		.block0 = *block0,
		.mapped = f->broken ? UINT64_MAX : f->mapped,
		.held = xw_inode_fs_blocks_512(inode, &img->sb) / (img->block_size / 512),
	};
	return rc;
}

int xw_itree_dir_read(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		      const uint8_t *raw, struct xw_itree_dir *d, uint8_t **block0)
{
	struct facts f = {.img = img, .group = UINT64_MAX};

	*block0 = NULL;
	return read_dir(&f, ino, inode, raw, d, block0);
}

int xw_itree_check_inode(struct xw_image *img, xw_ino ino, xw_itree_report *report, void *arg,
			 struct xw_itree_result *res)
{
	auto_free uint8_t *raw = malloc(img->inode_size), *block0 = NULL;
	struct facts f = {.img = img, .report = report, .arg = arg, .group = UINT64_MAX};
	struct xw_itree_env env;
	struct xw_inode inode;
	struct xw_itree_dir d;
	int rc;

	xw_itree_env_init(img, &env);
	env.arg = &f;
	env.read = read_node;
	env.in_use = in_use;
	env.report = pass_on;
	*res = (struct xw_itree_result){.complete = true};
	if (!raw)
		return xw_fail_nomem(img->diag, "inode");
	rc = xw_image_inode(img, ino, &inode, raw);
	if (rc || !(inode.flags & XW_FL_ITREE) || (inode.mode & XW_S_IFMT) != XW_S_IFDIR)
		return rc;
	rc = read_dir(&f, ino, &inode, raw, &d, &block0);
	if (!rc)
		rc = sum_entries(&f, ino, &inode, raw);
	if (rc)
		return rc;
	if (f.broken)
		d.mapped = UINT64_MAX;
	d.entries = f.broken ? NULL : &f.sum;
	rc = xw_itree_check(&env, &d, res);
	res->counted = f.broken || d.held < f.mapped ? 0 : d.held - f.mapped;
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(img->diag, "itree") : rc;
}
