// SPDX-License-Identifier: MIT
/*
 * Directories of the model: gather names, shape, place, write. Shaping sorts; the order and the dx
 * hashes are kept in the name records themselves, so that writing does not hash again.
 */
#include "config.h"

#include "build/builder.h"

#include <stdlib.h>

#include "disk/dirent.h"

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

/* Put the name records into the order of `e`: a record is found from its name, which it holds. */
static void keep_order(struct xw_bdir *dir, const struct xw_dir_entry *e, size_t n)
{
	struct xw_blink **tail = &dir->first;

	for (size_t i = 0; i < n; i++) {
		struct xw_blink *l =
			(struct xw_blink *)(uintptr_t)(e[i].name - offsetof(struct xw_blink, name));

		l->hash = e[i].hash.major;
		*tail = l;
		tail = &l->next;
		dir->last = l;
	}
	*tail = NULL;
}

int xw_dir_place(struct xw_builder *b, struct xw_binode *dir)
{
	char path[XW_BUILD_PATH_MAX];
	struct xw_bdir *d = dir->dir;
	struct xw_dir_entry *e = gather(dir);
	int ret;

	if (!e)
		return xw_fail_nomem(b->diag, "directory");
	ret = xw_dir_shape(&b->dirfmt, e, d->entries, d->min_blocks, &d->shape);
	if (ret == XW_ERR_NOMEM)
		xw_fail_nomem(b->diag, "directory");
	else if (ret)
		xw_fail(b->diag, ret,
			"%s: %s: a directory of %u entries is larger than the format allows; try "
			"-O large_dir",
			b->dev->name, xw_build_path(b, dir, path, sizeof(path)), d->entries);
	if (!ret)
		keep_order(d, e, d->entries);
	free(e);
	if (ret)
		return ret;
	dir->size = (uint64_t)d->shape.blocks * b->geo.block_size;
	ret = xw_build_alloc_node(b, dir, d->shape.blocks);
	if (ret || !dir->n_ext)
		return ret;
	b->counts.directory_blocks += d->shape.blocks;
	b->counts.indexed_dirs += d->shape.indexed;
	return xw_build_item(b, XW_ITEM_DIR, xw_binode_extents(dir)[0].pblk, (uintptr_t)dir);
}

struct put {
	struct xw_builder *b;
	const struct xw_extent *ext;
};

static int put_block(void *arg, uint32_t lblk, const void *block)
{
	struct put *p = arg;

	while (lblk >= p->ext->lblk + p->ext->len)
		p->ext++;
	return xw_build_write(p->b, p->ext->pblk + (lblk - p->ext->lblk), block,
			      p->b->geo.block_size);
}

int xw_dir_write(struct xw_builder *b, const struct xw_binode *dir)
{
	struct xw_dir_self self = {
		.ino = dir->ino,
		.parent = dir->dir->parent->ino,
		.generation = xw_build_generation(b, dir->ino),
		.inode_seed = xw_build_inode_seed(b, dir->ino),
	};
	struct put p = {b, xw_binode_extents(dir)};
	struct xw_dir_entry *e = gather(dir);
	int ret;

	if (!e)
		return xw_fail_nomem(b->diag, "directory");
	ret = xw_dir_emit(&b->dirfmt, &dir->dir->shape, e, dir->dir->entries, &self, put_block, &p);
	free(e);
	return ret;
}
