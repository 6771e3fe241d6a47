/* SPDX-License-Identifier: MIT */
/* Directories: every entry in block order, which serves linear and htree ones, and inline ones.
 * Lookup by name and path. */
#ifndef XW_READ_DIRS_H
#define XW_READ_DIRS_H

#include "base/table.h"
#include "base/vec.h"
#include "disk/dirent.h"
#include "read/map.h"
#include "walk/dirblock.h"

#pragma GCC visibility push(default)

struct xw_dir_iter {
	struct xw_image *img;
	xw_ino ino;
	uint32_t seed;
	bool indexed, is_inline;
	bool any_names; /* encrypted: names are any bytes */
	struct xw_map_iter map;
	struct xw_map_run run; /* what is left of the current run */
	uint64_t end_block; /* blocks of i_size */
	xw_blk first; /* block of the directory, and those behind it; 0: none yet */
	struct xw_table seen;
	bool told; /* that one is in it again */
	xw_lblk lblk; /* of the block in buf */
	uint8_t *buf;
	bool in_block; /* `entries` is begun: of the block in buf, or of a part */
	uint32_t base; /* where its area begins in buf */
	struct xw_dirblock entries;
	uint32_t inline_size[2]; /* entries in i_block, in the system.data value */
	unsigned part;
};

struct xw_dir_pos {
	xw_lblk lblk; /* 0 in inline directories */
	uint32_t off; /* of the entry in its block */
};

/* raw: the inode's record; needed for inline directories only. Always end it. XW_ERR_INPUT: not a
 * directory. */
int xw_dir_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, const uint8_t *raw,
		 struct xw_dir_iter *it);
/*
 * 1: *e is the next entry in use, "." and ".." included (name valid until the next call); pos may
 * be NULL. 0: end. Negative: a block is damaged; the next call goes on with the block behind it.
 * A block that the directory has had is damage as well: said once, and left out each time.
 * Names are 1 to 255 bytes, any but NUL and '/', which are damage; inode numbers are in range.
 */
int xw_dir_next(struct xw_dir_iter *it, struct xw_dirent *e, struct xw_dir_pos *pos);
void xw_dir_end(struct xw_dir_iter *it);

/* The blocks of a directory, from logical block 0 to its size: runs that follow each other. */
struct xw_dir_runs {
	XW_VEC(struct xw_map_run) a;
};
/* XW_ERR_CORRUPT: a hole, or its map ends before its size. Free them in any case. */
int xw_dir_runs_read(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		     struct xw_dir_runs *r);
/* Where block lblk is; 0: beyond the end. */
xw_blk xw_dir_runs_at(const struct xw_dir_runs *r, uint64_t lblk);
void xw_dir_runs_free(struct xw_dir_runs *r);

/*
 * The entry `name` of directory dir: through its htree where it has one that can be used, else, or
 * when anything is wrong on that way, through all of its blocks. XW_ERR_NOTFOUND without a line in
 * diag. ftype may be NULL.
 */
int xw_dir_lookup(struct xw_image *img, xw_ino dir, const char *name, size_t len, xw_ino *ino,
		  uint8_t *ftype);
/*
 * Resolve a path from directory `from` (an absolute one from the root). Symbolic links on the way
 * are followed, inside the image; the last one only with `follow`. XW_ERR_NOTFOUND;
 * XW_ERR_INPUT: something on the way is no directory; XW_ERR_LIMIT: 40 links.
 */
int xw_path_resolve(struct xw_image *img, xw_ino from, const char *path, bool follow, xw_ino *ino);

#pragma GCC visibility pop

#endif
