/* SPDX-License-Identifier: MIT */
/*
 * A directory opened for change, one name at a time: linear, with an htree, or with an htree and an
 * itree. One operation changes all of them, atomically, except for the deletion of many names.
 *
 * Large changes are cheaper by rebuilding (build.h, itree_build.h).
 */
#ifndef XW_DIR_CHANGE_H
#define XW_DIR_CHANGE_H

#include "dir/build.h"
#include "dir/cache.h"
#include "dir/itree_change.h"
#include "disk/dirent.h"

struct xw_dir_params {
	/* itree: if the directory gets an htree, it gets an itree, too */
	const struct xw_dir_format *format;
	const struct xw_dir_self *self; /* its `itree` is ignored */
	struct xw_dir_io io;
	uint32_t blocks; /* size of its file; the caller has checked that these blocks exist */
	uint32_t flags; /* i_flags: INDEX_FL, ITREE_FL, ENCRYPT_FL; casefolded ones are refused */
	size_t cache_blocks; /* 0: default 1024 */
	struct xw_diag *diag;
	const char *name; /* name of the image for messages; borrowed */
};

struct xw_dir_state {
	uint32_t blocks; /* size of the file: i_size is this many blocks */
	bool indexed, itree; /* INDEX_FL, ITREE_FL */
};

struct xw_dir {
	/* the state for the inode after a change; may be read at any time */
	struct xw_dir_state now;
	/* kept by the handle */
	struct xw_dir_format f;
	struct xw_dir_self self;
	struct xw_dir_state before; /* state before the current change */
	/* hash version of the htree; without one that of the format */
	enum xw_dx_version hash_version;
	struct xw_dcache cache;
	struct xw_itree tree;
	xw_blk tree_root_before;
	XW_VEC(xw_blk) map; /* by logical block; 0: not looked up yet */
	struct xw_diag *diag;
	const char *name;
	bool any_names, failed;
};

/* XW_ERR_UNSUPPORTED: casefolded, or an unknown hash; XW_ERR_CORRUPT, XW_ERR_CHECKSUM. */
int xw_dir_load(const struct xw_dir_params *o, struct xw_dir *d);
/* Write all dirty blocks; the caller updates the inode (d->now, the map, i_blocks). */
int xw_dir_flush(struct xw_dir *d);
/* Changes that were not flushed are lost. Must be called after a failed open, too. */
void xw_dir_close(struct xw_dir *d);

/* XW_ERR_NOTFOUND without a message. "." and ".." are found too. ftype may be NULL. */
int xw_dir_find(struct xw_dir *d, const char *name, size_t len, xw_ino *ino, uint8_t *ftype);
/*
 * XW_ERR_EXISTS (no message); XW_ERR_INPUT: invalid name; XW_ERR_LIMIT: the directory has reached
 * its maximum size; errors of the io functions. An itree that would become too deep, or whose slot
 * in dx_root is needed, is dropped.
 */
int xw_dir_insert(struct xw_dir *d, const char *name, size_t len, xw_ino ino, uint8_t ftype);
/*
 * XW_ERR_NOTFOUND (no message). ino: the inode of the deleted entry; may be NULL. Blocks of the
 * file are never freed.
 */
int xw_dir_delete(struct xw_dir *d, const char *name, size_t len, xw_ino *ino);

/* One of many names to be deleted together. */
struct xw_dir_victim {
	const char *name; /* borrowed */
	uint8_t len;
	/* its type, set when it is deleted */
	uint8_t ftype; /* XW_FT_UNKNOWN where entries have no type */
	xw_ino ino; /* 0: not deleted yet */
	uint32_t hash, minor; /* 0 in a directory without an index */
};
/*
 * Delete n different names; afterwards v is in inode order. Each leaf and each node of the itree is
 * read once. XW_ERR_NOTFOUND (no message): the first element of v with ino 0 does not exist.
 * XW_ERR_INPUT: one of them is not a valid name, and nothing was changed. After any other failure d
 * can only be closed, and part of the change may be on the device.
 */
int xw_dir_delete_many(struct xw_dir *d, struct xw_dir_victim *v, size_t n);

/* Append an empty block, linear directories only: XW_ERR_UNSUPPORTED if there is an index. */
int xw_dir_expand(struct xw_dir *d);

/*
 * Every entry, including "." and "..", in no particular order; a failure of each ends it. d must
 * not be changed during the call.
 */
int xw_dir_each(struct xw_dir *d, int (*each)(void *arg, const struct xw_dirent *e), void *arg);

/*
 * Build an itree for a directory without one. XW_ERR_LIMIT (no message): it cannot have one. The
 * directory is read from cache and device.
 */
int xw_dir_itree_build(struct xw_dir *d);
/* Free the itree and clear its slot, as one change. */
int xw_dir_itree_drop(struct xw_dir *d);

#endif
