// SPDX-License-Identifier: MIT
/*
 * Checks the index of a directory against the hashes of its leaves, which were recorded when the
 * leaf blocks were checked. A directory with a damaged index is rebuilt.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/search.h"
#include "phases/dirs.h"
#include "walk/htree.h"

struct index {
	struct fsck_dirscan *s;
	const struct fsck_dirblock *blocks;
	uint32_t n;
};

static int read_block(void *arg, uint32_t lblk, void *buf)
{
	const struct index *x = arg;
	/* Holes are not listed, so the position of a block in the list is at most its number. */
	const size_t i =
		XW_LOWER_BOUND(k, XW_MIN(x->n, (size_t)lblk + 1), x->blocks[k].lblk >= lblk);

	if (i == x->n || x->blocks[i].lblk != lblk || !x->blocks[i].pblk)
		return XW_ERR_CORRUPT;
	return fsck_read(x->s->f, x->blocks[i].pblk, 1, buf);
}

static bool report(struct fsck_dirscan *s, const struct xw_htree_item *item)
{
	static const enum fsck_id ids[] = {
		[XW_HTREE_HASH_VERSION] = FSCK_HTREE_VERSION,
		[XW_HTREE_INFO] = FSCK_HTREE_ROOT,
		[XW_HTREE_FLAGS] = FSCK_HTREE_FLAGS,
		[XW_HTREE_DEPTH] = FSCK_HTREE_DEPTH,
		[XW_HTREE_LIMIT] = FSCK_HTREE_LIMIT,
		[XW_HTREE_COUNT] = FSCK_HTREE_COUNT,
		[XW_HTREE_ORDER] = FSCK_HTREE_ORDER,
		[XW_HTREE_RANGE] = FSCK_HTREE_RANGE,
		[XW_HTREE_LBLK] = FSCK_HTREE_BLOCK,
		[XW_HTREE_TWICE] = FSCK_HTREE_TWICE,
		[XW_HTREE_NO_NODE] = FSCK_HTREE_NODE,
		[XW_HTREE_CSUM] = FSCK_HTREE_CSUM,
		[XW_HTREE_READ] = FSCK_HTREE_NODE,
		[XW_HTREE_UNREFERENCED] = FSCK_HTREE_UNREFERENCED,
	};

	return fsck_found(s->f, &(struct fsck_about){.id = ids[item->rule],
						     .dir = s->d->ino,
						     .lblk = item->lblk,
						     .num = item->found,
						     .num2 = item->wanted});
}

/* The recorded hashes of the leaf; NULL if the block is unknown. */
static struct fsck_leaf *leaf_at(const struct fsck_dirscan *s, const struct index *x, uint32_t lblk)
{
	const size_t at = (size_t)(x->blocks - s->f->facts.dirblocks.v);

	return lblk < x->n && x->blocks[lblk].lblk == lblk ? &s->leaves[at + lblk] : NULL;
}

/* Compute the hashes of all leaves: the index has another hash version than was assumed. */
static void rehash(struct fsck_dirscan *s, const struct index *x, uint8_t *buf)
{
	const uint32_t bs = s->f->ses.img->block_size;

	for (uint32_t i = 1; i < x->n; i++) {
		const struct fsck_area a = {.data = buf, .size = bs, .lblk = i, .tail = s->csum};
		const struct xw_dirblock_area area = fsck_dir_area_of(s, &a);
		struct fsck_leaf *leaf = leaf_at(s, x, i);
		struct xw_dirblock_item item;
		uint32_t hash;

		if (!leaf || read_block((void *)(uintptr_t)x, i, buf) ||
		    xw_dirblock_is_node(buf, bs))
			continue;
		*leaf = (struct fsck_leaf){UINT32_MAX, 0};
		xw_dirblock_begin(&s->walk, &area);
		while (xw_dirblock_next(&s->walk, &item)) {
			if (item.rule || item.unused || !fsck_dir_hash(s, &item.e, &hash))
				continue;
			leaf->min = XW_MIN(leaf->min, hash);
			leaf->max = XW_MAX(leaf->max, hash);
		}
	}
}

static bool check_leaf(struct fsck_dirscan *s, const struct index *x,
		       const struct xw_htree_item *item)
{
	const struct fsck_leaf *leaf = leaf_at(s, x, item->lblk);

	if (!leaf || leaf->min > leaf->max)
		return false;
	if (!xw_htree_in_range(item, leaf->min))
		return DIR_FOUND(s, HTREE_LEAF, .lblk = item->lblk, .num = leaf->min,
				 .num2 = item->lower);
	return !xw_htree_in_range(item, leaf->max) &&
	       DIR_FOUND(s, HTREE_LEAF, .lblk = item->lblk, .num = leaf->max, .num2 = item->upper);
}

static int walk_index(struct fsck_dirscan *s, const struct index *x, struct xw_htree *it,
		      uint8_t *buf)
{
	const enum xw_dx_version assumed = s->version;
	struct xw_htree_item item;
	bool first = true;
	int kind;

	while ((kind = xw_htree_next(it, &item)) > 0) {
		if (first && it->info.hash_version <= XW_DX_TEA) {
			s->version = xw_dx_version(&s->f->ses.img->sb, it->info.hash_version);
			if (s->version != assumed)
				rehash(s, x, buf);
		}
		first = false;
		if (kind == 2)
			s->d->rebuild |= report(s, &item);
		else if (item.leaf)
			s->d->rebuild |= check_leaf(s, x, &item);
	}
	return kind;
}

int fsck_dir_htree(struct fsck_dirscan *s, uint32_t i)
{
	struct fsck *f = s->f;
	struct index x = {s, f->facts.dirblocks.v + s->first[i], s->first[i + 1] - s->first[i]};
	const uint32_t bs = f->ses.img->block_size;
	const struct xw_htree_env env = {
		.block_size = bs,
		.seed = xw_inode_seed(f->ses.img->csum_seed, f->facts.dirs.v[i].ino,
				      f->facts.dirs.v[i].generation),
		.blocks = x.n ? (uint32_t)(x.blocks[x.n - 1].lblk + 1) : 0,
		.levels_max = f->ses.img->sb.feature_incompat & XW_INCOMPAT_LARGEDIR ? 2 : 1,
		.csum = s->csum,
		.siphash = false,
		.read = read_block,
		.arg = &x,
	};
	auto_free uint8_t *block = malloc(bs);
	struct xw_htree it;
	int rc;

	s->d = NULL;
	fsck_dir_enter(s, i);
	if (!block)
		return xw_fail_nomem(&f->ses.diag, "directory");
	if (!x.n || read_block(&x, 0, block) || !fsck_dir_is_root(block, bs)) {
		xw_diag_clear(&f->ses.diag);
		s->d->rebuild |= FSCK_FOUND(f, HTREE_ROOT, .dir = s->d->ino);
		return 0;
	}
	rc = xw_htree_begin(&it, &env);
	it.env.siphash = s->encrypted && s->folded;
	if (!rc)
		rc = walk_index(s, &x, &it, block);
	xw_htree_end(&it);
	s->d = NULL;
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(&f->ses.diag, "index of a directory") : rc;
}
