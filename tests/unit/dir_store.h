/* SPDX-License-Identifier: MIT */
/*
 * A store of blocks in memory under a directory that is changed, without checks: for measurements.
 */
#ifndef XW_TESTS_DIR_STORE_H
#define XW_TESTS_DIR_STORE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "dir/change.h"

#define STORE_DIR 77u
#define STORE_SEED 5u

struct dir_store {
	uint32_t bs;
	XW_VEC(uint8_t *) blocks; /* by number */
	XW_VEC(xw_blk) freed;
	XW_VEC(xw_blk) file;
	uint64_t used;
};

static inline int dir_store_read(void *arg, xw_blk blk, void *buf)
{
	struct dir_store *s = arg;

	memcpy(buf, s->blocks.v[blk], s->bs);
	return 0;
}

static inline int dir_store_write(void *arg, xw_blk blk, const void *buf)
{
	struct dir_store *s = arg;

	memcpy(s->blocks.v[blk], buf, s->bs);
	return 0;
}

static inline int dir_store_map(void *arg, uint32_t lblk, xw_blk *blk)
{
	struct dir_store *s = arg;

	*blk = s->file.v[lblk];
	return 0;
}

static inline int dir_store_alloc(void *arg, xw_blk goal, xw_blk *blk)
{
	struct dir_store *s = arg;

	(void)goal;
	s->used++;
	if (s->freed.n) {
		*blk = s->freed.v[--s->freed.n];
		return 0;
	}
	*blk = s->blocks.n;
	return xw_vec_push(&s->blocks, calloc(1, s->bs));
}

static inline int dir_store_release(void *arg, xw_blk blk)
{
	struct dir_store *s = arg;

	s->used--;
	return xw_vec_push(&s->freed, blk);
}

static inline int dir_store_extend(void *arg, uint32_t lblk, xw_blk *blk)
{
	struct dir_store *s = arg;
	int rc = dir_store_alloc(s, 0, blk);

	(void)lblk;
	return rc ? rc : xw_vec_push(&s->file, *blk);
}

static inline int dir_store_shrink(void *arg, uint32_t lblk, xw_blk blk)
{
	struct dir_store *s = arg;

	(void)lblk;
	s->file.n--;
	return dir_store_release(s, blk);
}

/* An empty directory in it, opened. cache: blocks, 0 for as many as there will be. */
static inline void dir_store_init(struct dir_store *s, const struct xw_dir_format *f, size_t cache,
				  struct xw_dir *d)
{
	const uint32_t room = f->block_size - (f->csum ? XW_DIR_TAIL : 0);
	const struct xw_dir_self self = {.ino = STORE_DIR, .parent = 2, .inode_seed = STORE_SEED};
	struct xw_dir_params p = {
		.format = f,
		.self = &self,
		.io = {s, dir_store_read, dir_store_write, dir_store_map, dir_store_extend,
		       dir_store_shrink, dir_store_alloc, dir_store_release},
		.blocks = 1,
		.cache_blocks = cache ? cache : SIZE_MAX,
		.name = "store",
	};
	xw_blk blk;
	uint8_t *b;

	*s = (struct dir_store){.bs = f->block_size};
	if (xw_vec_push(&s->blocks, NULL) || dir_store_extend(s, 0, &blk))
		abort();
	b = s->blocks.v[blk];
	xw_dirent_encode(b, s->bs, 0, &(struct xw_dirent){STORE_DIR, 12, 1, XW_FT_DIR, "."});
	xw_dirent_encode(b, s->bs, 12, &(struct xw_dirent){2, room - 12, 2, XW_FT_DIR, ".."});
	if (f->csum) {
		xw_dir_tail_init(b, s->bs);
		xw_dir_block_set_csum(b, s->bs, STORE_SEED);
	}
	if (xw_dir_load(&p, d))
		abort();
}

static inline void dir_store_free(struct dir_store *s, struct xw_dir *d)
{
	xw_dir_close(d);
	for (size_t i = 0; i < s->blocks.n; i++)
		free(s->blocks.v[i]);
	xw_vec_free(&s->blocks);
	xw_vec_free(&s->freed);
	xw_vec_free(&s->file);
}

#endif
