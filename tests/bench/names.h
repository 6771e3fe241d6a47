/* SPDX-License-Identifier: MIT */
/* The names of a directory with what a benchmark orders them by, read from its blocks. */
#ifndef XW_BENCH_NAMES_H
#define XW_BENCH_NAMES_H

#include <stdlib.h>

#include "base/endian.h"
#include "base/vec.h"
#include "counted.h"
#include "disk/dirent.h"
#include "disk/dx_hash.h"
#include "read/dirs.h"
#include "read/map.h"

struct name {
	xw_ino ino;
	uint32_t major, minor; /* hash */
	xw_blk leaf; /* block of the directory that holds it */
	xw_blk data; /* of its contents, which are a block at most; 0: none, or not looked up */
};

struct names {
	XW_VEC(struct name) a;
};

static inline int by_hash(const void *x, const void *y)
{
	const struct name *a = x, *b = y;

	if (a->major != b->major)
		return a->major < b->major ? -1 : 1;
	return a->minor < b->minor ? -1 : a->minor > b->minor;
}

static inline int by_ino(const void *x, const void *y)
{
	const struct name *a = x, *b = y;

	return a->ino < b->ino ? -1 : a->ino > b->ino;
}

/* All but "." and "..", in the order of the blocks, added to *out. */
static inline void names_read(struct xw_image *img, xw_ino ino, const struct xw_inode *in,
			      struct names *out)
{
	const struct xw_super *sb = &img->sb;
	const enum xw_dx_version v =
		sb->def_hash_version + (sb->flags & XW_FLAG_UNSIGNED_HASH ? 3u : 0u);
	struct xw_map_run run = {0};
	struct xw_dir_iter it;
	struct xw_dir_pos pos;
	struct xw_dirent e;
	uint32_t seed[4];

	for (int i = 0; i < 4; i++)
		seed[i] = peek32(sb->hash_seed + 4 * i);
	MUST(!xw_dir_begin(img, ino, in, NULL, &it));
	while (xw_dir_next(&it, &e, &pos) == 1) {
		struct xw_dx_hash h;
		struct name n;

		if (xw_name_is_dots(e.name, e.name_len))
			continue;
		if (pos.lblk < run.lblk || pos.lblk - run.lblk >= run.len)
			MUST(!xw_map_lookup(img, ino, in, (xw_lblk)pos.lblk, &run));
		MUST(!xw_dx_hash(v, seed, e.name, e.name_len, &h));
		n = (struct name){e.ino, h.major, h.minor, run.pblk + pos.lblk - run.lblk, 0};
		MUST(!xw_vec_push(&out->a, n));
	}
	xw_dir_end(&it);
}

#endif
