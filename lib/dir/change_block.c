/* SPDX-License-Identifier: MIT */
/* Blocks of a directory under change, and the end of its itree: what leaves and htree stand on. */
#include "config.h"

#include "base/endian.h"
#include "dir/change_internal.h"
#include "disk/inode.h"

#define LBLK_MAX_INDEXED (1u << 28)
#define SMALL_DIR_BYTES (UINT64_C(1) << 31)

int xw_dir_corrupt(struct xw_dir *d, const char *why)
{
	d->cache.why = why;
	return XW_ERR_CORRUPT;
}

int xw_dir_block(struct xw_dir *d, uint32_t lblk, enum xw_dbuf_kind kind, struct xw_dbuf **out)
{
	int rc;

	if (lblk >= d->now.blocks)
		return xw_dir_corrupt(d, "an index entry past the end of the directory");
	if (!d->map.v[lblk]) {
		rc = d->cache.io.map(d->cache.io.arg, lblk, &d->map.v[lblk]);
		if (rc) {
			d->map.v[lblk] = 0;
			return rc;
		}
	}
	return xw_dcache_get(&d->cache, d->map.v[lblk], kind, out);
}

int xw_dir_append(struct xw_dir *d, enum xw_dbuf_kind kind, uint32_t *lblk, struct xw_dbuf **out)
{
	const uint64_t blocks = d->now.blocks + UINT64_C(1);
	xw_blk blk;
	int rc;

	if ((!d->f.large_dir && blocks * d->f.block_size >= SMALL_DIR_BYTES) ||
	    blocks >= LBLK_MAX_INDEXED)
		return XW_ERR_LIMIT;
	if (xw_vec_reserve(&d->map, blocks))
		return XW_ERR_NOMEM;
	*lblk = d->now.blocks;
	rc = d->cache.io.extend(d->cache.io.arg, *lblk, &blk);
	if (rc)
		return rc;
	d->map.v[d->now.blocks++] = blk;
	d->map.n = d->now.blocks;
	rc = xw_dcache_new(&d->cache, blk, kind, out);
	if (!rc && kind == XW_DBUF_LEAF) {
		xw_leaf_fill((*out)->data, xw_dir_room(d), 0, NULL, 0);
		if (d->f.csum)
			xw_dir_tail_init((*out)->data, d->f.block_size);
	}
	return rc;
}

int xw_dir_put(struct xw_dir *d, struct xw_dbuf *leaf, uint32_t space, const struct xw_dirent *e)
{
	int rc = xw_dcache_dirty_range(&d->cache, leaf, space, xw_leaf_reach(leaf->data, space, e));

	if (!rc)
		xw_leaf_put(leaf->data, xw_dir_room(d), space, e);
	return rc;
}

int xw_dir_lose_itree(struct xw_dir *d)
{
	int rc = xw_itree_destroy(&d->tree);

	if (!rc)
		d->now.itree = false;
	return rc;
}
