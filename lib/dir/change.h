/* SPDX-License-Identifier: MIT */
/*
 * A directory opened for change, one name at a time: linear, with an htree, with an htree and an
 * itree. All of them are changed in one operation, which happens as a whole or not at all; but for
 * the deletion of many names.
 *
 * Large changes are cheaper by rebuilding (build.h, itree_build.h).
 */
#ifndef XW_DIR_CHANGE_H
#define XW_DIR_CHANGE_H

#include "dir/build.h"
#include "dir/cache.h"
#include "dir/itree_change.h"
#include "disk/dirent.h"

#pragma GCC visibility push(default)

struct xw_dir_params {
	const struct xw_dir_format *format; /* itree: a directory that gets an htree gets one too */
	const struct xw_dir_self *self; /* itree is not looked at */
	struct xw_dir_io io;
	uint32_t blocks; /* of its file; the caller has seen that there are so many */
	uint32_t flags; /* i_flags: INDEX_FL, ITREE_FL, ENCRYPT_FL; casefolded ones are refused */
	size_t cache_blocks; /* 0: 1024 */
	struct xw_diag *diag;
	const char *name; /* of the image, for messages; borrowed */
};

struct xw_dir_state {
	uint32_t blocks; /* of the file: i_size is this many blocks */
	bool indexed, itree; /* INDEX_FL, ITREE_FL */
};

struct xw_dir {
	struct xw_dir_state now; /* what the inode has to say after a change; read it freely */
	/* kept by the handle */
	struct xw_dir_format f;
	struct xw_dir_self self;
	struct xw_dir_state before; /* the change under way */
	enum xw_dx_version hash_version; /* of the htree; else the format's */
	struct xw_dcache cache;
	struct xw_itree tree;
	xw_blk tree_root_before;
	XW_VEC(xw_blk) map; /* by logical block; 0: not asked yet */
	struct xw_diag *diag;
	const char *name;
	bool any_names, failed;
};

/* XW_ERR_UNSUPPORTED: casefolded, or an unknown hash; XW_ERR_CORRUPT, XW_ERR_CHECKSUM. */
int xw_dir_load(const struct xw_dir_params *o, struct xw_dir *d);
/* Write what is dirty; the inode (d->now, the map, i_blocks) is the caller's. */
int xw_dir_flush(struct xw_dir *d);
/* What was not flushed is lost. Needed after a failed open, too. */
void xw_dir_close(struct xw_dir *d);

/* XW_ERR_NOTFOUND without a line in diag. "." and ".." are found too. ftype may be NULL. */
int xw_dir_find(struct xw_dir *d, const char *name, size_t len, xw_ino *ino, uint8_t *ftype);
/*
 * XW_ERR_EXISTS (no line); XW_ERR_INPUT: no name; XW_ERR_LIMIT: the directory is as large as the
 * format lets it be; what io's functions return. An itree that would become too deep, or whose slot
 * in dx_root is needed, is dropped.
 */
int xw_dir_insert(struct xw_dir *d, const char *name, size_t len, xw_ino ino, uint8_t ftype);
/*
 * XW_ERR_NOTFOUND (no line). ino: what it named; may be NULL. Blocks of the file are never freed.
 */
int xw_dir_delete(struct xw_dir *d, const char *name, size_t len, xw_ino *ino);

/* One of many names that go together. */
struct xw_dir_victim {
	const char *name; /* borrowed */
	uint8_t len;
	/* what it was, when it is gone */
	uint8_t ftype; /* XW_FT_UNKNOWN where entries have no type */
	xw_ino ino; /* 0: it is still there */
	uint32_t hash, minor; /* 0 in a directory without an index */
};
/*
 * Delete n different names, which are in the order of their inodes afterwards. Each leaf and each
 * node of the itree is read once. XW_ERR_NOTFOUND (no line): the first of v with ino 0 is not
 * there. After a failure nothing can be done with d but to close it, and part of the change may be
 * on the device; but for XW_ERR_INPUT (one of them can be no name): nothing has happened.
 */
int xw_dir_delete_many(struct xw_dir *d, struct xw_dir_victim *v, size_t n);

/* An empty block more, linear directories only: XW_ERR_UNSUPPORTED where there is an index. */
int xw_dir_expand(struct xw_dir *d);

/* Every entry, "." and ".." too, in no particular order; each's failure ends it. d is not changed
 * meanwhile. */
int xw_dir_each(struct xw_dir *d, int (*each)(void *arg, const struct xw_dirent *e), void *arg);

/*
 * Build an itree for a directory that has none. XW_ERR_LIMIT (no line): it can have none. The
 * directory is read as it is on the device and in the cache.
 */
int xw_dir_itree_build(struct xw_dir *d);
/* Free the itree and clear its slot, as one change. */
int xw_dir_itree_drop(struct xw_dir *d);

#pragma GCC visibility pop

#endif
