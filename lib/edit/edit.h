/* SPDX-License-Identifier: MIT */
/*
 * Single changes to an image under change: a name, an inode, a file's map, its attributes. Nothing
 * else is modified: no times of directories, no ctime.
 *
 * After a failure the update can only be closed (update/steps.h does so, and rolls back the step).
 */
#ifndef XW_EDIT_EDIT_H
#define XW_EDIT_EDIT_H

#include "dir/change.h"
#include "read/map.h"
#include "update/map.h"

/* ---- a filled tree ---- */

/*
 * Write the tree to the image. It comes from xw_tree_image_init() on u->img, and was filled using
 * u's space, share and intern. All space is allocated first: XW_ERR_NOSPC and XW_ERR_NOINODES
 * report what is missing.
 */
int xw_update_tree(struct xw_update *u, struct xw_tree *t);

/* ---- inodes ---- */

/* Read up to len bytes into buf; *got < len only at the end. */
typedef int xw_update_read_fn(void *arg, void *buf, size_t len, size_t *got);

/* Skip zeros that need not be read, whole units only, and return their number of bytes. */
typedef uint64_t xw_update_hole_fn(void *arg, uint64_t unit);

struct xw_update_new {
	uint16_t mode; /* with type bits */
	uint32_t uid, gid;
	uint32_t major, minor; /* devices */
	const char *target; /* symlinks: terminated */
	xw_update_read_fn *read; /* files: contents (zero blocks become holes); NULL: empty */
	xw_update_hole_fn *hole; /* called before each read, unless `whole`; may be NULL */
	void *arg;
	bool whole; /* files: without holes, and never inline */
	/* directories: inode number for ".."; others: a directory near which to allocate */
	xw_ino parent;
	xw_ino goal; /* search from here for a free inode; 0: from the parent's group */
};

/*
 * Create an inode with one link (directories: two) and without a name. XW_ERR_NOINODES,
 * XW_ERR_NOSPC, XW_ERR_LIMIT (size, device numbers), XW_ERR_INPUT (target), errors of read.
 */
int xw_update_create(struct xw_update *u, const struct xw_update_new *n, xw_ino *ino);
/*
 * Change i_links_count by delta. XW_ERR_LIMIT. A directory with 65,000 links gets 1, which is
 * permanent.
 */
int xw_update_add_links(struct xw_update *u, xw_ino ino, int delta);
/*
 * Free the inode and everything it owns. Its record keeps its contents except for the deletion
 * time, and the link count with `unlinked`.
 */
int xw_update_kill(struct xw_update *u, xw_ino ino, bool unlinked);
/*
 * Restore a deleted inode and its blocks: one link, no deletion time. XW_ERR_STATE: it is not
 * deleted; XW_ERR_EXISTS: its number or one of its blocks was reallocated. A reallocated xattr
 * block is dropped.
 */
int xw_update_revive(struct xw_update *u, xw_ino ino);

/* ---- names ---- */

/*
 * XW_ERR_EXISTS, XW_ERR_INPUT (not a directory, invalid name), XW_ERR_NOSPC. Link counts do not
 * change.
 */
int xw_update_link(struct xw_update *u, xw_ino dir, const char *name, size_t len, xw_ino ino,
		   uint8_t ftype);
/* Remove only the name. XW_ERR_NOTFOUND. */
int xw_update_unlink(struct xw_update *u, xw_ino dir, const char *name, size_t len);
/* XW_ERR_STATE: the directory is not empty. */
int xw_update_check_empty(struct xw_update *u, xw_ino dir);
/* Append a block. XW_ERR_UNSUPPORTED: an indexed directory, whose blocks are leaves of its tree. */
int xw_update_expand_dir(struct xw_update *u, xw_ino dir);
/*
 * Build the itree of one directory. XW_ERR_LIMIT: the directory cannot have one;
 * XW_ERR_UNSUPPORTED: the image cannot.
 */
int xw_update_build_itree(struct xw_update *u, xw_ino dir);

/* ---- many names, and whole directories ---- */

struct xw_update_inos {
	XW_VEC(xw_ino) a;
};

/*
 * Inodes that lost names, and must lose as many links. Initialize all but the first part to zero;
 * free it in any case.
 *
 *   xw_removal_from(&g, dir, v, n)   remove names from a directory that is kept
 *   xw_removal_run(&g)               update or free their inodes, with everything below
 */
struct xw_removal {
	struct xw_update *u;
	bool recursive; /* names of directories may be removed, too */
	/*
	 * Inodes are freed as by xw_update_kill(), otherwise as by xw_update_drop(); the ctime of
	 * remaining inodes changes only in the latter case.
	 */
	bool keep_records;
	xw_ino keep[2]; /* directories that must not be removed: XW_ERR_BUSY */
	/*
	 * Returns the node of an inode in the tree being filled, or NULL. The function may be NULL.
	 */
	struct xw_binode *(*node)(void *arg, xw_ino ino);
	void *arg;
	/* internal */
	struct xw_update_inos names; /* inodes of files, each as often as it lost a name */
	struct xw_update_inos dirs; /* directories to be processed */
	struct xw_update_inos died; /* inodes that were freed; not with unchecked */
	struct xw_table seen; /* directories seen */
	uint64_t last_block; /* inode table block processed last */
	unsigned blocks;
};

/*
 * Remove n different names from a directory. Each of its blocks is read once, in hash order, and
 * those of its itree once, in inode order; v is in inode order afterwards. XW_ERR_NOTFOUND;
 * XW_ERR_INPUT: an invalid name, or the name of a directory without `recursive`.
 */
int xw_removal_from(struct xw_removal *g, xw_ino dir, struct xw_dir_victim *v, size_t n);
/*
 * Extend a removal: by another name of a file whose name was removed, or by a directory with its
 * contents.
 */
int xw_removal_add_name(struct xw_removal *g, xw_ino ino);
int xw_removal_add_dir(struct xw_removal *g, xw_ino ino);
/*
 * Decrement the link count of each inode by the number of its removed names, and free it with the
 * last one: in numeric order, reading each table block once. Writes the records set so far.
 * XW_ERR_CORRUPT: more names than links, or a directory with two names.
 */
int xw_removal_run(struct xw_removal *g);
void xw_removal_free(struct xw_removal *g);

/* ---- maps: i_size does not change ---- */

/* Free logical blocks first .. last. */
int xw_update_punch(struct xw_update *u, xw_ino ino, xw_lblk first, xw_lblk last);
/*
 * Allocate the unmapped blocks in first .. last: unwritten, or zeroed if the image has no extents.
 * up_to: stop without a failure when the image is full or the map has reached its maximum.
 */
int xw_update_fallocate(struct xw_update *u, xw_ino ino, xw_lblk first, xw_lblk last, bool up_to);
/*
 * Map lblk to *pblk, without allocating, freeing or counting blocks. With *pblk 0: allocate a block
 * if lblk is unmapped.
 */
int xw_update_map_block(struct xw_update *u, xw_ino ino, xw_lblk lblk, xw_blk *pblk);
/* Move inline contents or names to blocks, if there are any. */
int xw_update_uninline(struct xw_update *u, xw_ino ino);

/* ---- attributes ---- */

/*
 * Set the attribute `name` (with prefix), or remove it (value NULL). raw: in on-disk form, ACLs in
 * ext4's encoding. XW_ERR_NOTFOUND: no such attribute to remove; XW_ERR_LIMIT: no room in inode and
 * block.
 */
struct xw_update_xattr {
	const char *name;
	const void *value;
	size_t len;
	bool raw;
};
int xw_update_set_xattr(struct xw_update *u, xw_ino ino, const struct xw_update_xattr *x);

#endif
