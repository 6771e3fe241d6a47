/* SPDX-License-Identifier: MIT */
/*
 * The file tree in memory: names, inodes, hard links, and path resolution that never leaves the
 * image. Later entries win, as when the sources were unpacked in order.
 */
#ifndef XW_TREE_TREE_H
#define XW_TREE_TREE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/table.h"
#include "base/vec.h"
#include "tree/model.h"

struct xw_tree {
	struct xw_arena arena;
	struct xw_binode *root;
	struct xw_binode *first, *last; /* stream order; dead ones are skipped by users */
	struct xw_table names; /* (dir, name) -> link; removed ones, too */
	uint64_t made; /* inodes ever made, removed ones included */
	uint16_t layer; /* of the names linked from now on */
	int64_t now; /* times of implied directories */
	/*
	 * Called once when an inode loses its last name: its blocks and references are to be given
	 * back.
	 */
	int (*dropped)(void *arg, struct xw_binode *n);
	void *dropped_arg;
	/*
	 * The tree of an existing image is read as far as somebody looks: this makes a node known
	 * that is XW_BN_LAZY (and clears that): a directory's names, a symlink's target, how many
	 * names there are. NULL where no node is lazy.
	 */
	int (*load)(void *arg, struct xw_binode *n);
	void *load_arg;
	/* With load: the node of an inode of which a name has been seen; else NULL. */
	struct xw_binode *(*known)(void *load_arg, xw_ino ino);
	/*
	 * Names of files that went while the file was lazy, an inode number each: what it has of
	 * others is looked up when all have gone. A lazy directory that goes is XW_BN_DEAD, and
	 * what is below it nowhere.
	 */
	XW_VEC(xw_ino) lost;
	/*
	 * Called for each directory that a walk makes, before it gets its name in `parent`: its
	 * attributes are 0755, root, `now`. old: the name that it takes over, of no directory;
	 * NULL: none. The function may be NULL.
	 */
	int (*implied)(void *arg, struct xw_binode *n, const struct xw_binode *parent,
		       const struct xw_blink *old);
	void *implied_arg;
	struct xw_diag *diag;
	/*
	 * The directory of the last path that was walked with XW_WALK_OWN: archives name siblings
	 * one after the other.
	 */
	char *last_dir;
	size_t last_dir_len, last_dir_cap;
	const struct xw_binode *last_from;
	struct xw_binode *last_parent;
};

/* Root (mode 0755, owner 0:0, times now) only. */
int xw_tree_init(struct xw_tree *t, int64_t now, struct xw_diag *diag);
void xw_tree_free(struct xw_tree *t);

/*
 * A fresh inode at the end of stream order, no name yet; directories get their xw_bdir. NULL: out
 * of memory.
 */
struct xw_binode *xw_tree_node(struct xw_tree *t, uint32_t mode);
/* Make n known, if it is not. A node must be known before its names or links are looked at. */
static inline int xw_tree_need(struct xw_tree *t, struct xw_binode *n)
{
	return n->flags & XW_BN_LAZY ? t->load(t->load_arg, n) : 0;
}

/* dir must be known. */
struct xw_blink *xw_tree_find(const struct xw_tree *t, const struct xw_binode *dir,
			      const char *name, size_t len);
/*
 * Name node in dir; the name must not exist. Sets the parent of a directory. XW_ERR_INPUT: "." and
 * "..", which every directory has of itself.
 */
int xw_tree_link(struct xw_tree *t, struct xw_binode *dir, const char *name, size_t len,
		 struct xw_binode *node);
/*
 * Is dir opaque, or below a directory that is? Then overlayfs shows in it nothing from below the
 * image. The root is never opaque.
 */
bool xw_tree_covered(const struct xw_tree *t, const struct xw_binode *dir);
/*
 * Remove the name, and all below it if it is a directory; inodes without names are dropped. Nothing
 * is made known for it.
 */
int xw_tree_unlink(struct xw_tree *t, struct xw_blink *l);

/* What a walk does where a directory on the way is missing. */
enum xw_path_walk {
	XW_WALK_FIND, /* XW_ERR_NOTFOUND */
	/* Made, but no layer's. XW_ERR_NOTFOUND: a file is in its place, or it is covered. */
	XW_WALK_ADD,
	/* It is made, in the place of a file too, and this layer has named all on the way. */
	XW_WALK_OWN,
};

struct xw_path_at {
	struct xw_binode *dir; /* the directory the last component lives in */
	const char *name; /* last component; borrowed from the path */
	size_t len; /* 0: the path is `dir` itself */
};
/*
 * Walk to the last component, which is not followed. `from` is the root of it all, as for a process
 * in chroot(2): absolute symlinks on the way begin there, and ".." stops there. Leading and
 * repeated slashes and "." vanish. XW_ERR_INPUT: a component over 255 bytes or with NUL, more than
 * 40 symlinks.
 */
int xw_tree_walk(struct xw_tree *t, struct xw_binode *from, const char *path, size_t len,
		 enum xw_path_walk how, struct xw_path_at *at);
/* The directory that a path from the tree's root names, the last component followed too. */
int xw_tree_enter(struct xw_tree *t, const char *path, size_t len, enum xw_path_walk how,
		  struct xw_binode **dir);
/*
 * Follow a path completely to an inode, last component not followed if a symlink. NULL with
 * XW_ERR_NOTFOUND.
 */
int xw_tree_lookup(struct xw_tree *t, struct xw_binode *from, const char *path, size_t len,
		   struct xw_binode **out);

#endif
