/* SPDX-License-Identifier: MIT */
/*
 * Changing one thing of an image under change: a name, an inode, a file's map, its attributes.
 * Nothing is touched that is not said here: no times of directories, no ctime.
 *
 * After a failure the update is no good any more: close it (session.h does, and undoes the rest).
 */
#ifndef XW_UPDATE_EDIT_H
#define XW_UPDATE_EDIT_H

#include "dir/change.h"
#include "read/map.h"
#include "update/update.h"

#pragma GCC visibility push(default)

/* ---- inodes ---- */

/* Up to len bytes into buf; *got < len only at the end. */
typedef int xw_update_read_fn(void *arg, void *buf, size_t len, size_t *got);

/* Zeros that need not be read: go over them, whole units only, and say how many bytes they are. */
typedef uint64_t xw_update_hole_fn(void *arg, uint64_t unit);

struct xw_update_new {
	uint16_t mode; /* with type bits */
	uint32_t uid, gid;
	uint32_t major, minor; /* devices */
	const char *target; /* symlinks: terminated */
	xw_update_read_fn *read; /* files: NULL: empty. Blocks of zeros become holes */
	xw_update_hole_fn *hole; /* before each read, unless `whole`; may be NULL */
	void *arg;
	bool whole; /* files: no holes, and never in the inode */
	xw_ino parent; /* directories: what ".." means; others: whose neighbour it should be */
	xw_ino goal; /* the first free inode from here on; 0: where the parent's group begins */
};

/*
 * A new inode, with one link (directories: two) and no name yet. XW_ERR_NOINODES, XW_ERR_NOSPC,
 * XW_ERR_LIMIT (size, device numbers), XW_ERR_INPUT (target), what read returns.
 */
int xw_update_create(struct xw_update *u, const struct xw_update_new *n, xw_ino *ino);
/* Change i_links by delta. XW_ERR_LIMIT. A directory of 65,000 gets 1, which stays. */
int xw_update_add_links(struct xw_update *u, xw_ino ino, int delta);
/*
 * The inode is free and what it has is, too; its record stays as it was but for the deletion time,
 * and the links with `unlinked`.
 */
int xw_update_kill(struct xw_update *u, xw_ino ino, bool unlinked);
/*
 * Take a deleted inode and its blocks back into use: one link, no deletion time. XW_ERR_STATE: it
 * is not deleted; XW_ERR_EXISTS: its number or one of its blocks is in use again. An attribute
 * block that is in use again is not its own any more.
 */
int xw_update_revive(struct xw_update *u, xw_ino ino);

/*
 * One bit of a bitmap, under `lax`, and nothing else: no count follows. XW_ERR_EXISTS, without a
 * line: it is so already.
 */
int xw_update_mark_block(struct xw_update *u, xw_blk blk, bool used);
int xw_update_mark_inode(struct xw_update *u, xw_ino ino, bool used);

/* ---- names ---- */

/* XW_ERR_EXISTS, XW_ERR_INPUT (not a directory, no name), XW_ERR_NOSPC. Links are not counted. */
int xw_update_link(struct xw_update *u, xw_ino dir, const char *name, size_t len, xw_ino ino,
		   uint8_t ftype);
/* XW_ERR_NOTFOUND. Only the name goes. */
int xw_update_unlink(struct xw_update *u, xw_ino dir, const char *name, size_t len);
/* XW_ERR_STATE: the directory is not empty. */
int xw_update_check_empty(struct xw_update *u, xw_ino dir);
/* One more block. XW_ERR_UNSUPPORTED: an indexed directory, whose blocks are leaves of its tree. */
int xw_update_expand_dir(struct xw_update *u, xw_ino dir);
/* The itree of one directory. XW_ERR_LIMIT: it can have none; XW_ERR_UNSUPPORTED: the image. */
int xw_update_build_itree(struct xw_update *u, xw_ino dir);

/* ---- many names, and whole directories ---- */

struct xw_update_inos {
	XW_VEC(xw_ino) a;
};

/*
 * What has lost its names, to lose its links as well. Zeros but for the first part; free it in any
 * case.
 *
 *	xw_update_gone_from(&g, dir, v, n)	names of a directory that stays
 *	xw_update_gone_run(&g)			what they named, and all below it
 */
struct xw_update_gone {
	struct xw_update *u;
	bool recursive; /* names of directories are taken, too */
	/* Inodes go as by xw_update_kill(), else as by xw_update_drop(); those that stay have their
	 * ctime changed only in the latter case. */
	bool keep_records;
	xw_ino keep[2]; /* directories that may not be among them: XW_ERR_BUSY */
	/* The node of an inode in the tree that is filled, or NULL; the function may be NULL. */
	struct xw_binode *(*node)(void *arg, xw_ino ino);
	void *arg;
	/* kept by these functions */
	struct xw_update_inos names; /* files', each as often as it lost a name */
	struct xw_update_inos dirs; /* to be gone through */
	struct xw_update_inos died; /* not under lax: inodes that went */
	struct xw_table seen; /* directories */
	uint64_t last_block; /* of the tables, that was passed */
	unsigned blocks;
};

/*
 * Take n different names out of a directory. Each of its blocks is read once, in the order of
 * hashes, and those of its itree once, in the order of inodes; v is in that order afterwards.
 * XW_ERR_NOTFOUND; XW_ERR_INPUT: a name that can be none, or of a directory without `recursive`.
 */
int xw_update_gone_from(struct xw_update_gone *g, xw_ino dir, struct xw_dir_victim *v, size_t n);
/* A name that is gone already, of a file; of a directory, which goes with all that is in it. */
int xw_update_gone_name(struct xw_update_gone *g, xw_ino ino);
int xw_update_gone_dir(struct xw_update_gone *g, xw_ino ino);
/*
 * Each inode loses its names, and goes with the last one: by number, each block of the tables read
 * once. Records that were put so far are written. XW_ERR_CORRUPT: more names than links, or a
 * directory with two names.
 */
int xw_update_gone_run(struct xw_update_gone *g);
void xw_update_gone_free(struct xw_update_gone *g);

/* ---- maps: i_size stays what it is ---- */

struct xw_update_map {
	XW_VEC(struct xw_extent) e; /* ascending */
	XW_VEC(xw_blk) nodes; /* blocks that hold the map itself */
	uint64_t other; /* what i_blocks counts beside the two */
};

/* XW_ERR_UNSUPPORTED: an itree. An inode without a map has an empty one. End it in any case. */
int xw_update_map_read(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
		       struct xw_update_map *m);
/* Behind the last extent, joined with it where that is possible; of any length. */
int xw_update_map_add(struct xw_update *u, struct xw_update_map *m, struct xw_map_run run);
/* New blocks for 0 .. len - 1 of a map that is empty. XW_ERR_NOSPC. */
int xw_update_map_alloc(struct xw_update *u, xw_ino ino, struct xw_update_map *m, uint64_t len);
/* m has no blocks first .. last any more, and they are free. */
int xw_update_map_punch(struct xw_update *u, struct xw_update_map *m, uint64_t first, xw_lblk last);
/*
 * The map of the inode is m from now on, in new blocks: into *in, which the caller puts. The
 * owners are charged for what i_blocks gains.
 */
int xw_update_map_write(struct xw_update *u, xw_ino ino, struct xw_inode *in,
			struct xw_update_map *m);
void xw_update_map_end(struct xw_update_map *m);

/* Free logical blocks first .. last. */
int xw_update_punch(struct xw_update *u, xw_ino ino, xw_lblk first, xw_lblk last);
/*
 * Map what is not mapped of first .. last: unwritten, or zeros where the image has no extents.
 * up_to: until space or the map ends, which is no failure.
 */
int xw_update_fallocate(struct xw_update *u, xw_ino ino, xw_lblk first, xw_lblk last, bool up_to);
/*
 * lblk is at *pblk from now on; nothing is allocated, freed or counted. With *pblk 0: a block is
 * allocated where there was none.
 */
int xw_update_map_block(struct xw_update *u, xw_ino ino, xw_lblk lblk, xw_blk *pblk);
/* Contents of the inode, or names, go to blocks. Nothing to do where they are there. */
int xw_update_uninline(struct xw_update *u, xw_ino ino);

/* ---- attributes ---- */

/*
 * Set the attribute `name` (with prefix), or remove it (value NULL). raw: as stored, ACLs in ext4's
 * own encoding. XW_ERR_NOTFOUND: to remove; XW_ERR_LIMIT: no room for it.
 */
struct xw_update_xattr {
	const char *name;
	const void *value;
	size_t len;
	bool raw;
};
int xw_update_set_xattr(struct xw_update *u, xw_ino ino, const struct xw_update_xattr *x);

#pragma GCC visibility pop

#endif
