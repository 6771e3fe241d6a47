// SPDX-License-Identifier: MIT
/*
 * Directories of the model: collect names, shape, place, write. Shaping sorts; the order and the dx
 * hashes are stored in the name records themselves, so that writing does not hash again.
 */
#include "config.h"

#include "place/place.h"

#include <stdlib.h>

#include "base/auto.h"
#include "disk/dirent.h"
#include "disk/extent.h"
#include "disk/indirect.h"

static struct xw_dir_entry *gather(const struct xw_binode *dir)
{
	size_t n = dir->dir->entries, i = 0;
	struct xw_dir_entry *e = calloc(n + 1, sizeof(*e));

	if (!e)
		return NULL;
	for (const struct xw_blink *l = dir->dir->first; l; l = l->next) {
		if (!l->node)
			continue;
		e[i] = (struct xw_dir_entry){
			.name = l->name,
			.name_len = l->len,
			.ftype = (uint8_t)xw_ftype_of_mode(l->node->mode),
			.ino = l->node->ino,
			.hash = {.major = l->hash},
		};
		i++;
	}
	return e;
}

/* Sort the name records into the order of `e`. */
static void store_order(struct xw_bdir *dir, const struct xw_dir_entry *e, size_t n)
{
	struct xw_blink **tail = &dir->first;

	for (size_t i = 0; i < n; i++) {
		struct xw_blink *l = xw_blink_of(&e[i]);

		l->hash = e[i].hash.major;
		*tail = l;
		tail = &l->next;
		dir->last = l;
	}
	*tail = NULL;
}

/* Collect the names of the itree in the order of arrival, which is nearly inode order. */
static int gather_itree(const struct xw_placer *p, struct xw_binode *dir,
			const struct xw_dir_entry *e)
{
	xw_encode_itree_free(dir->dir->itree);
	dir->dir->itree = NULL;
	if (!p->enc.dirfmt.itree)
		return 0;
	dir->dir->itree = xw_encode_itree_gather(e, dir->dir->entries);
	return dir->dir->itree ? 0 : XW_ERR_NOMEM;
}

/* Plan the itree; a directory that cannot have one is built without it. */
static int plan_itree(const struct xw_placer *p, struct xw_bdir *d)
{
	int rc = d->shape.itree ? xw_encode_itree_plan(&p->enc, d->itree) : XW_ERR_LIMIT;

	if (rc) {
		xw_encode_itree_free(d->itree);
		d->itree = NULL;
	}
	return rc == XW_ERR_LIMIT ? 0 : rc;
}

static int shape(const struct xw_placer *p, struct xw_binode *dir)
{
	struct xw_bdir *d = dir->dir;
	auto_free struct xw_dir_entry *e = NULL;
	int rc;

	if (xw_inline_shape(&p->enc, dir))
		return 0;
	e = gather(dir);
	if (!e)
		return XW_ERR_NOMEM;
	rc = gather_itree(p, dir, e);
	if (!rc)
		rc = xw_dir_shape(&p->enc.dirfmt, e, d->entries, d->min_blocks, &d->shape);
	if (rc)
		return rc;
	store_order(d, e, d->entries);
	d->growth = xw_dir_growth(&p->enc.dirfmt, &d->shape, e, d->entries);
	dir->size = (uint64_t)d->shape.blocks * p->enc.block_size;
	return d->itree ? plan_itree(p, d) : 0;
}

static struct xw_binode *dir_at(const struct xw_placer *p, size_t ino)
{
	struct xw_binode *n = p->by_ino[ino];

	return n && xw_binode_is(n, XW_S_IFDIR) ? n : NULL;
}

/* Hashing and sorting names is worth parallelizing; each directory accesses only its own data. */
static int shape_at(void *arg, size_t ino)
{
	const struct xw_placer *p = arg;
	struct xw_binode *dir = dir_at(p, ino);

	return dir ? shape(p, dir) : 0;
}

/*
 * Report the directory that could not be shaped. The other threads have ended, so the model can be
 * walked.
 */
static int report_shape(struct xw_placer *p)
{
	char path[XW_ENCODE_PATH_MAX];

	for (xw_ino i = 1; i <= p->last_ino; i++) {
		struct xw_binode *dir = dir_at(p, i);
		int rc = dir ? shape(p, dir) : 0;

		if (rc == XW_ERR_NOMEM)
			break;
		if (rc)
			return xw_fail(p->enc.diag, rc,
				       "%s: %s: a directory of %u entries is larger than the "
				       "format allows; try -O large_dir",
				       xw_encode_origin(&p->enc, dir),
				       xw_encode_path(&p->enc, dir, path, sizeof(path)),
				       dir->dir->entries);
	}
	return xw_fail_nomem(p->enc.diag, "directory");
}

/* The maximum growth of the directory by one more name: its own blocks, and those of its map. */
static uint32_t growth(const struct xw_placer *p, const struct xw_binode *dir)
{
	uint32_t n = dir->dir->growth;

	if (xw_has_incompat(&p->enc.features, XW_INCOMPAT_EXTENTS))
		return n && dir->n_ext >= XW_EXT_INODE_ENTRIES ? n + 1 : n;
	return n && dir->dir->shape.blocks + n > XW_NDIR_BLOCKS ? n + 2 : n;
}

static int place_itree(struct xw_placer *p, const struct xw_binode *dir)
{
	const uint64_t blocks = xw_encode_itree_blocks(dir);
	struct xw_run *runs;
	size_t n_runs;
	int rc = xw_place_alloc(p, blocks, &runs, &n_runs);

	if (rc || !n_runs)
		return rc;
	xw_encode_itree_set_runs(dir->dir->itree, runs, n_runs);
	p->counts.itrees++;
	p->counts.itree_blocks += blocks;
	return xw_place_item(p, XW_ITEM_ITREE, runs[0].start, (uintptr_t)dir);
}

int xw_dirs_place(struct xw_placer *p)
{
	if (xw_pool_for(p->pool, (size_t)p->last_ino + 1, 1024, shape_at, p))
		return report_shape(p);
	for (xw_ino i = 1; i <= p->last_ino; i++) {
		struct xw_binode *dir = dir_at(p, i);
		int rc;

		if (!dir)
			continue;
		p->counts.directories++;
		if (dir->flags & XW_BN_INLINE) {
			p->counts.growth++; /* inline names move to a block if the inode is full */
			continue;
		}
		rc = xw_place_alloc_node(p, dir, dir->dir->shape.blocks);
		if (rc)
			return rc;
		if (!dir->n_ext)
			continue;
		p->counts.growth += growth(p, dir);
		p->counts.directory_blocks += dir->dir->shape.blocks;
		p->counts.indexed_dirs += dir->dir->shape.indexed;
		rc = xw_place_item(p, XW_ITEM_DIR, xw_binode_extents(dir)[0].pblk, (uintptr_t)dir);
		if (!rc && dir->dir->itree)
			rc = place_itree(p, dir);
		if (rc)
			return rc;
	}
	return 0;
}

void xw_dirs_free(struct xw_placer *p)
{
	for (xw_ino i = 1; p->by_ino && i <= p->last_ino; i++) {
		struct xw_binode *dir = dir_at(p, i);

		if (dir)
			xw_encode_itree_free(dir->dir->itree);
	}
}

struct put {
	struct xw_placer *p;
	const struct xw_extent *ext;
};

static int put_block(void *arg, uint32_t lblk, const void *block)
{
	struct put *t = arg;

	while (lblk >= t->ext->lblk + t->ext->len)
		t->ext++;
	return xw_place_write(t->p, t->ext->pblk + (lblk - t->ext->lblk), block,
			      t->p->enc.block_size);
}

int xw_dir_write(struct xw_placer *p, const struct xw_binode *dir)
{
	struct xw_dir_self self = {
		.ino = dir->ino,
		.parent = dir->dir->parent->ino,
		.generation = xw_encode_generation(&p->enc, dir),
		.inode_seed = xw_encode_seed(&p->enc, dir),
		.itree = xw_encode_itree_root(dir),
	};
	struct put t = {p, xw_binode_extents(dir)};
	auto_free struct xw_dir_entry *e = gather(dir);

	if (!e)
		return xw_fail_nomem(p->enc.diag, "directory");
	return xw_dir_emit(&p->enc.dirfmt, &dir->dir->shape, e, dir->dir->entries, &self, put_block,
			   &t);
}

static int put_node(void *arg, xw_blk blk, const void *block)
{
	struct xw_placer *p = arg;

	return xw_place_write(p, blk, block, p->enc.block_size);
}

int xw_itree_write(struct xw_placer *p, const struct xw_binode *dir)
{
	return xw_encode_itree_emit(&p->enc, dir, put_node, p);
}
