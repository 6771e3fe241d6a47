// SPDX-License-Identifier: MIT
/*
 * The root directory: a missing one is created, from its blocks if these are found, otherwise
 * empty; one whose map was damaged gets a map of its blocks.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "dir/build.h"
#include "read/map.h"
#include "repairs/repairs.h"
#include "edit/edit.h"

struct put {
	struct xw_update *u;
	xw_blk blk;
};

static int put_block(void *arg, uint32_t lblk, const void *block)
{
	const struct put *p = arg;
	const uint32_t bs = p->u->img->block_size;

	return xw_dev_pwrite(p->u->img->dev, block, bs, (p->blk + lblk) * bs);
}

static int write_entries(struct xw_update *u, const struct xw_inode *in, xw_blk blk)
{
	const struct xw_super *sb = &u->img->sb;
	struct xw_dir_format format = {
		.block_size = u->img->block_size,
		.filetype = sb->feature_incompat & XW_INCOMPAT_FILETYPE,
		.csum = xw_super_has_csum(sb),
		.hash_version = xw_dx_version(sb, sb->def_hash_version),
	};
	const struct xw_dir_self self = {
		.ino = XW_INO_ROOT,
		.parent = XW_INO_ROOT,
		.inode_seed = xw_image_inode_seed(u->img, XW_INO_ROOT, in),
	};
	struct put put = {u, blk};
	struct xw_dir_shape shape;
	int rc = xw_dir_shape(&format, NULL, 0, 0, &shape);

	return rc ? rc : xw_dir_emit(&format, &shape, NULL, 0, &self, put_block, &put);
}

/* Map the blocks found; a lost first block is replaced by a new one. */
static int map_blocks(struct xw_update *u, const struct fsck_root_blocks *found,
		      const struct xw_inode *in, struct xw_update_map *m)
{
	struct xw_map_run run = {.lblk = 0, .pblk = found->first, .len = 1};
	int rc;

	if (found->first) {
		rc = xw_update_map_add(u, m, run);
	} else {
		rc = xw_update_map_alloc(u, XW_INO_ROOT, m, 1);
		if (!rc)
			rc = write_entries(u, in, m->e.v[0].pblk);
	}
	for (size_t i = 0; i < found->more.n && !rc; i++) {
		run = (struct xw_map_run){
			.lblk = (xw_lblk)i + 1, .pblk = found->more.v[i], .len = 1};
		rc = xw_update_map_add(u, m, run);
	}
	return rc;
}

/* Write the root's inode with a map of the blocks found. Takes *raw. */
static int put_root(struct xw_update *u, const struct fsck_root_blocks *found, struct xw_inode *in,
		    uint8_t **raw)
{
	auto_update_map struct xw_update_map m = {0};
	int rc = map_blocks(u, found, in, &m);

	if (!rc)
		rc = xw_update_map_write(u, XW_INO_ROOT, in, &m);
	return rc ? rc : xw_update_put(u, XW_INO_ROOT, in, steal(*raw));
}

static int make(struct fsck *f, struct xw_update *u, const struct fsck_root_blocks *found)
{
	const struct xw_time now = {f->opts.now, 0};
	const struct xw_super *sb = &f->ses.img->sb;
	struct xw_inode in = {
		.mode = XW_S_IFDIR | 0755,
		.links = (uint16_t)(found->subdirs + 2 < XW_LINK_MAX ? found->subdirs + 2 : 1),
		.size = (1 + (uint64_t)found->more.n) * f->ses.img->block_size,
		.atime = now,
		.ctime = now,
		.mtime = now,
		.crtime = now,
		.extra_isize = sb->inode_size > XW_INODE_BODY ? XW_INODE_EXTRA_WANTED : 0,
	};
	auto_free uint8_t *raw = calloc(1, f->ses.img->inode_size);

	return raw ? put_root(u, found, &in, &raw) : xw_fail_nomem(&f->ses.diag, "root directory");
}

typedef int root_writer(struct fsck *f, struct xw_update *u, const struct fsck_root_blocks *found);

/* Lack of space is no failure: other repairs may free some. */
static int update_root(struct fsck *f, const struct fsck_root_blocks *found, root_writer *write)
{
	struct xw_update *u;
	int rc = fsck_update(f, &u);

	if (!rc)
		rc = write(f, u, found);
	if (!rc)
		rc = fsck_update_keep(f);
	if (rc)
		fsck_update_drop(f);
	f->round.again = !rc;
	f->ses.root_found = !rc && found->more.n;
	if (rc == XW_ERR_NOMEM || rc == XW_ERR_IO)
		return rc;
	xw_diag_clear(&f->ses.diag);
	return 0;
}

static void root_blocks_free(struct fsck_root_blocks *found)
{
	xw_vec_free(&found->more);
}

int fsck_make_root(struct fsck *f)
{
	auto_end(root_blocks_free) struct fsck_root_blocks found = {0};
	struct fsck_inode *root;
	struct xw_group_desc gd;
	int rc = fsck_inode_make(f, XW_INO_ROOT, &root);

	if (rc || (root->flags & FSCK_I_USED && root->ftype == XW_FT_DIR))
		return rc;
	/* Without an inode table nothing is known about the root. */
	if (xw_image_group(f->ses.img, 0, &gd) ||
	    !xw_image_has_blocks(f->ses.img, gd.inode_table, f->ses.img->itable_blocks) ||
	    !FSCK_FOUND(f, ROOT_MISSING, .ino = XW_INO_ROOT))
		return 0;
	root->flags |= FSCK_I_USED;
	root->ftype = XW_FT_DIR;
	root->links = 2;
	rc = fsck_root_blocks(f, NULL, &found);
	return rc ? rc : update_root(f, &found, make);
}

/* Set the map of the root's inode to the blocks found, changing nothing else. */
static int rebuild_map(struct fsck *f, struct xw_update *u, const struct fsck_root_blocks *found)
{
	auto_free uint8_t *raw = malloc(f->ses.img->inode_size);
	struct xw_inode in;
	int rc = raw ? fsck_inode_read(f, XW_INO_ROOT, &in, raw)
		     : xw_fail_nomem(&f->ses.diag, "root directory");

	if (rc)
		return rc;
	memset(in.block, 0, sizeof(in.block));
	in.flags &= ~(XW_FL_EXTENTS | XW_FL_INDEX);
	in.blocks = 0;
	in.size = (1 + (uint64_t)found->more.n) * f->ses.img->block_size;
	return put_root(u, found, &in, &raw);
}

/* *yes: block 0 of the map does not begin with the root's ".". XW_ERR_NOMEM. */
static int is_strayed(struct fsck *f, const struct xw_inode *in, bool *yes)
{
	auto_free uint8_t *block = malloc(f->ses.img->block_size);
	struct xw_map_run run = {0};

	if (!block)
		return xw_fail_nomem(&f->ses.diag, "root directory");
	*yes = !(in->flags & (XW_FL_INLINE_DATA | XW_FL_ITREE)) &&
	       (xw_map_lookup(f->ses.img, XW_INO_ROOT, in, 0, &run) || !run.len || run.unwritten ||
		fsck_read(f, run.pblk, 1, block) || !xw_dirent_is_dot(block, XW_INO_ROOT));
	xw_diag_clear(&f->ses.diag); /* a damaged map has no such block */
	return 0;
}

int fsck_find_root(struct fsck *f)
{
	const struct fsck_inode *root = fsck_inode(f, XW_INO_ROOT);
	auto_end(root_blocks_free) struct fsck_root_blocks found = {0};
	struct xw_inode in;
	bool strayed = false;
	int rc;

	if (!root || !(root->flags & FSCK_I_USED) || root->ftype != XW_FT_DIR ||
	    fsck_inode_read(f, XW_INO_ROOT, &in, NULL))
		return 0;
	rc = is_strayed(f, &in, &strayed);
	if (rc || !strayed)
		return rc;
	rc = fsck_root_blocks(f, &in, &found);
	if (rc || !found.first || !FSCK_FOUND(f, ROOT_BLOCKS, .blk = found.first))
		return rc;
	return update_root(f, &found, rebuild_map);
}
