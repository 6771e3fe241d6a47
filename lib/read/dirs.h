/* SPDX-License-Identifier: MIT */
/*
 * Directories: all entries in block order, whether linear, htree or inline. Lookup by name and
 * path.
 */
#ifndef XW_READ_DIRS_H
#define XW_READ_DIRS_H

#include "base/table.h"
#include "base/vec.h"
#include "disk/dirent.h"
#include "read/map.h"
#include "walk/dirblock.h"

struct xw_dir_iter {
	struct xw_image *img;
	xw_ino ino;
	uint32_t seed;
	bool indexed, is_inline;
	bool any_names; /* encrypted: names are arbitrary bytes */
	struct xw_map_iter map;
	struct xw_map_run run; /* rest of the current run */
	uint64_t end_block; /* number of blocks in i_size */
	xw_blk first; /* first block of the directory; 0: none yet */
	struct xw_table seen; /* all further blocks */
	bool reported; /* a repeated block was reported */
	xw_lblk lblk; /* logical number of the block in buf */
	uint8_t *buf;
	/* `entries` is valid: for the block in buf, or for a part of an inline directory */
	bool in_block;
	uint32_t base; /* offset of the area of `entries` in buf */
	uint32_t items; /* entries of the area so far, including unused ones */
	struct xw_dirblock entries;
	uint32_t inline_size[2]; /* size of the entries in i_block and in the system.data value */
	unsigned part;
};

struct xw_dir_pos {
	xw_lblk lblk; /* 0 in inline directories */
	uint32_t off; /* offset of the entry in its block */
};

/*
 * raw: the inode record; needed only for inline directories. XW_ERR_INPUT: not a directory. Call
 * xw_dir_end() even after a failure.
 */
int xw_dir_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, const uint8_t *raw,
		 struct xw_dir_iter *it);
/*
 * 1: *e is the next entry in use, including "." and ".." (name valid until the next call); pos may
 * be NULL. 0: end. Negative: a block is damaged; the next call continues with the following block,
 * after an invalid name in the same block. Names are 1 to 255 bytes without NUL and '/'; inode
 * numbers are in range; "." and ".." are the first two entries. A repeated block is reported as
 * damage once and always skipped.
 */
int xw_dir_next(struct xw_dir_iter *it, struct xw_dirent *e, struct xw_dir_pos *pos);
void xw_dir_end(struct xw_dir_iter *it);

/* The blocks of a directory, from logical block 0 to its size, as consecutive runs. */
struct xw_dir_runs {
	XW_VEC(struct xw_map_run) a;
};
/* XW_ERR_CORRUPT: a hole, or the map ends before the size. Free *r even after a failure. */
int xw_dir_runs_read(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		     struct xw_dir_runs *r);
/* The physical block of lblk; 0: past the end. */
xw_blk xw_dir_runs_at(const struct xw_dir_runs *r, uint64_t lblk);
void xw_dir_runs_free(struct xw_dir_runs *r);

/*
 * Look up `name` in directory dir: through its htree if it has a usable one; otherwise, or after
 * any error in the htree, in all of its blocks. XW_ERR_NOTFOUND without a message. ftype may be
 * NULL.
 */
int xw_dir_lookup(struct xw_image *img, xw_ino dir, const char *name, size_t len, xw_ino *ino,
		  uint8_t *ftype);
/*
 * Resolve a path from directory `from` (an absolute path from the root). Symbolic links are
 * followed inside the image; a final symbolic link only with `follow`. XW_ERR_NOTFOUND;
 * XW_ERR_INPUT: a component is not a directory; XW_ERR_LIMIT: more than 40 links.
 */
int xw_path_resolve(struct xw_image *img, xw_ino from, const char *path, bool follow, xw_ino *ino);

#endif
