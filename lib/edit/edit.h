/* SPDX-License-Identifier: MIT */
/*
 * Single changes to an image under change: a name, an inode, a file's map, its attributes. Nothing
 * else is modified: no times of directories, no ctime.
 *
 * After a failure the update can only be closed (update/steps.h does so, and rolls back the rest).
 */
#ifndef XW_EDIT_EDIT_H
#define XW_EDIT_EDIT_H

#include "dir/change.h"
#include "read/map.h"
#include "update/map.h"

/* ---- a filled tree ---- */

/*
 * The tree, which came from xw_tree_image_init() on u->img and was filled with u's space, share and
 * intern, becomes the image's. Space for all that it needs is taken first: XW_ERR_NOSPC and
 * XW_ERR_NOINODES say what is missing.
 */
int xw_update_tree(struct xw_update *u, struct xw_tree *t);

/* ---- inodes ---- */

/* Up to len bytes into buf; *got < len only at the end. */
typedef int xw_update_read_fn(void *arg, void *buf, size_t len, size_t *got);

/* Skip zeros that need not be read, whole units only, and return their number of bytes. */
typedef uint64_t xw_update_hole_fn(void *arg, uint64_t unit);

struct xw_update_new {
	uint16_t mode; /* with type bits */
	uint32_t uid, gid;
	uint32_t major, minor; /* devices */
	const char *target; /* symlinks: terminated */
	xw_update_read_fn *read; /* files: NULL: empty. Blocks of zeros become holes */
	xw_update_hole_fn *hole; /* called before each read, unless `whole`; may be NULL */
	void *arg;
	bool whole; /* files: without holes, and never inline */
	/* directories: inode number for ".."; others: a directory near which to allocate */
	xw_ino parent;
	xw_ino goal; /* the first free inode from here on; 0: start of the parent's group */
};

/*
 * Create an inode with one link (directories: two) and without a name. XW_ERR_NOINODES,
 * XW_ERR_NOSPC, XW_ERR_LIMIT (size, device numbers), XW_ERR_INPUT (target), errors of read.
 */
int xw_update_create(struct xw_update *u, const struct xw_update_new *n, xw_ino *ino);
/*
 * Change i_links by delta. XW_ERR_LIMIT. A directory with 65,000 links gets 1, which is permanent.
 */
int xw_update_add_links(struct xw_update *u, xw_ino ino, int delta);
/*
 * Free the inode and everything it owns; its record keeps its contents except for the deletion
 * time, and the link count with `unlinked`.
 */
int xw_update_kill(struct xw_update *u, xw_ino ino, bool unlinked);
/*
 * Restore a deleted inode and its blocks: one link, no deletion time. XW_ERR_STATE: it is not
 * deleted; XW_ERR_EXISTS: its number or one of its blocks was allocated again. An xattr block that
 * was allocated again is dropped.
 */
int xw_update_revive(struct xw_update *u, xw_ino ino);

/* ---- names ---- */

/*
 * XW_ERR_EXISTS, XW_ERR_INPUT (not a directory, invalid name), XW_ERR_NOSPC. Link counts do not
 * change.
 */
int xw_update_link(struct xw_update *u, xw_ino dir, const char *name, size_t len, xw_ino ino,
		   uint8_t ftype);
/* XW_ERR_NOTFOUND. Removes only the name. */
int xw_update_unlink(struct xw_update *u, xw_ino dir, const char *name, size_t len);
/* XW_ERR_STATE: the directory is not empty. */
int xw_update_check_empty(struct xw_update *u, xw_ino dir);
/* Append a block. XW_ERR_UNSUPPORTED: an indexed directory, whose blocks are leaves of its tree. */
int xw_update_expand_dir(struct xw_update *u, xw_ino dir);
/*
 * Build the itree of one directory. XW_ERR_LIMIT: it cannot have one; XW_ERR_UNSUPPORTED: the
 * image.
 */
int xw_update_build_itree(struct xw_update *u, xw_ino dir);

/* ---- many names, and whole directories ---- */

struct xw_update_inos {
	XW_VEC(xw_ino) a;
};

/*
 * What has lost its names, to lose its links as well. Zeros but for the first part; free it in any
 * case.
 *
 *	xw_removal_from(&g, dir, v, n)	names of a directory that stays
 *	xw_removal_run(&g)			what they named, and all below it
 */
struct xw_removal {
	struct xw_update *u;
	bool recursive; /* names of directories may be removed, too */
	/*
	 * Inodes are freed as by xw_update_kill(), else as by xw_update_drop(); ctime of remaining
	 * inodes changes only in the latter case.
	 */
	bool keep_records;
	xw_ino keep[2]; /* directories that must not be among them: XW_ERR_BUSY */
	/* The node of an inode in the tree being filled, or NULL; the function may be NULL. */
	struct xw_binode *(*node)(void *arg, xw_ino ino);
	void *arg;
	/* internal */
	struct xw_update_inos names; /* of files, each as often as it lost a name */
	struct xw_update_inos dirs; /* to be processed */
	struct xw_update_inos died; /* not with lax: inodes that were freed */
	struct xw_table seen; /* directories seen */
	uint64_t last_block; /* table block processed last */
	unsigned blocks;
};

/*
 * Remove n different names from a directory. Each of its blocks is read once, in hash order, and
 * those of its itree once, in inode order; v is in that order afterwards. XW_ERR_NOTFOUND;
 * XW_ERR_INPUT: an invalid name, or that of a directory without `recursive`.
 */
int xw_removal_from(struct xw_removal *g, xw_ino dir, struct xw_dir_victim *v, size_t n);
/* An already removed name of a file; or of a directory, which is removed with its contents. */
int xw_removal_add_name(struct xw_removal *g, xw_ino ino);
int xw_removal_add_dir(struct xw_removal *g, xw_ino ino);
/*
 * Decrement the link count of each inode by its removed names, and free it with the last one: by
 * number, reading each table block once. Writes the records put so far. XW_ERR_CORRUPT: more names
 * than links, or a directory with two names.
 */
int xw_removal_run(struct xw_removal *g);
void xw_removal_free(struct xw_removal *g);

/* ---- maps: i_size does not change ---- */

/* Free logical blocks first .. last. */
int xw_update_punch(struct xw_update *u, xw_ino ino, xw_lblk first, xw_lblk last);
/*
 * Allocate what is unmapped in first .. last: unwritten, or zeros if the image has no extents.
 * up_to: until space or the map ends, without a failure.
 */
int xw_update_fallocate(struct xw_update *u, xw_ino ino, xw_lblk first, xw_lblk last, bool up_to);
/*
 * Map lblk to *pblk; nothing is allocated, freed or counted. With *pblk 0: allocate a block if
 * there was none.
 */
int xw_update_map_block(struct xw_update *u, xw_ino ino, xw_lblk lblk, xw_blk *pblk);
/* Move inline contents or names to blocks. Nothing to do if they are in blocks. */
int xw_update_uninline(struct xw_update *u, xw_ino ino);

/* ---- attributes ---- */

/*
 * Set the attribute `name` (with prefix), or remove it (value NULL). raw: in on-disk form, ACLs in
 * ext4's encoding. XW_ERR_NOTFOUND: nothing to remove; XW_ERR_LIMIT: no room for it.
 */
struct xw_update_xattr {
	const char *name;
	const void *value;
	size_t len;
	bool raw;
};
int xw_update_set_xattr(struct xw_update *u, xw_ino ino, const struct xw_update_xattr *x);

#endif
