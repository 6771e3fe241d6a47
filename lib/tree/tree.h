/* SPDX-License-Identifier: MIT */
/*
 * The file tree in memory: names, inodes, hard links, and path resolution that never leaves the
 * image. Later entries take precedence, as if the sources were unpacked in order.
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
	struct xw_binode *first, *last; /* stream order; users skip dead ones */
	struct xw_table names; /* (dir, name) -> link; includes removed ones */
	uint64_t made; /* number of inodes created, including removed ones */
	uint16_t layer; /* layer of the names linked from now on */
	int64_t now; /* times of implied directories */
	/*
	 * Called once when an inode loses its last name: its blocks and references must be
	 * released.
	 */
	int (*dropped)(void *arg, struct xw_binode *n);
	void *dropped_arg;
	/*
	 * The tree of an existing image is read on demand: load() reads a node that is XW_BN_LAZY,
	 * and clears that flag: the names of a directory, the target of a symlink, the link count.
	 * NULL: no node is lazy.
	 */
	int (*load)(void *arg, struct xw_binode *n);
	void *load_arg;
	/* With load: the node of an inode of which a name was found; otherwise NULL. */
	struct xw_binode *(*known)(void *load_arg, xw_ino ino);
	/*
	 * Inode numbers of removed names of lazy files: their other names are looked up when all
	 * removals are done. A removed lazy directory is XW_BN_DEAD, and its contents are not in
	 * the tree.
	 */
	XW_VEC(xw_ino) lost;
	/*
	 * Called for each directory that a walk creates, before it is linked in `parent`; its
	 * attributes are 0755, root, `now`. old: the name that it replaces; NULL: none. May be
	 * NULL.
	 */
	int (*implied)(void *arg, struct xw_binode *n, const struct xw_binode *parent,
		       const struct xw_blink *old);
	void *implied_arg;
	struct xw_diag *diag;
	/*
	 * The directory of the last path that was walked with XW_WALK_OWN: archives list siblings
	 * consecutively, and walks start there, or at a directory above it.
	 */
	char *last_dir;
	size_t last_dir_len, last_dir_cap;
	const struct xw_binode *last_from;
	struct xw_binode *last_parent;
	bool last_plain; /* each component of last_dir is a directory: no dots, no symlinks */
};

/* Creates only the root (mode 0755, owner 0:0, times now). */
int xw_tree_init(struct xw_tree *t, int64_t now, struct xw_diag *diag);
void xw_tree_free(struct xw_tree *t);

/*
 * A new inode at the end of stream order, without a name; directories get their xw_bdir. NULL: out
 * of memory.
 */
struct xw_binode *xw_tree_node(struct xw_tree *t, uint32_t mode);
/* Load n if it is lazy. Required before its names or links are accessed. */
static inline int xw_tree_need(struct xw_tree *t, struct xw_binode *n)
{
	return n->flags & XW_BN_LAZY ? t->load(t->load_arg, n) : 0;
}

/* dir must be loaded. */
struct xw_blink *xw_tree_find(const struct xw_tree *t, const struct xw_binode *dir,
			      const char *name, size_t len);
/*
 * Link node in dir; the name must not exist. Sets the parent of a directory. XW_ERR_INPUT: "." and
 * "..", which every directory has implicitly.
 */
int xw_tree_link(struct xw_tree *t, struct xw_binode *dir, const char *name, size_t len,
		 struct xw_binode *node);
/*
 * Is dir opaque, or below an opaque directory? Then overlayfs shows nothing of lower layers in it.
 * The root is never opaque.
 */
bool xw_tree_covered(const struct xw_tree *t, const struct xw_binode *dir);
/*
 * Remove the name, and everything below it if it is a directory; inodes without names are dropped.
 * Loads nothing.
 */
int xw_tree_unlink(struct xw_tree *t, struct xw_blink *l);

/* What a walk does if a directory on the way is missing. */
enum xw_path_walk {
	XW_WALK_FIND, /* fail: XW_ERR_NOTFOUND */
	/*
	 * Create it without assigning it to a layer. XW_ERR_NOTFOUND: the name is a file, or the
	 * directory is covered by an opaque one.
	 */
	XW_WALK_ADD,
	/*
	 * Create it, replacing a file if necessary, and assign all names on the way to this layer.
	 */
	XW_WALK_OWN,
};

struct xw_path_at {
	struct xw_binode *dir; /* the parent directory of the last component */
	const char *name; /* last component; borrowed from the path */
	size_t len; /* 0: the path is `dir` itself */
};
/*
 * Walk to the last component, which is not followed. `from` acts as the root, as for a process in
 * chroot(2): absolute symlinks on the way start there, and ".." stops there. Leading and repeated
 * slashes and "." are ignored. XW_ERR_INPUT: a component over 255 bytes or with NUL, more than 40
 * symlinks.
 */
int xw_tree_walk(struct xw_tree *t, struct xw_binode *from, const char *path, size_t len,
		 enum xw_path_walk how, struct xw_path_at *at);
/* The directory with this path from the tree's root; a final symlink is followed. */
int xw_tree_enter(struct xw_tree *t, const char *path, size_t len, enum xw_path_walk how,
		  struct xw_binode **dir);
/* Resolve a path to an inode; a final symlink is not followed. NULL with XW_ERR_NOTFOUND. */
int xw_tree_lookup(struct xw_tree *t, struct xw_binode *from, const char *path, size_t len,
		   struct xw_binode **out);

/*
 * Minimum blocks of lost+found, as mke2fs allocates them: 16 KiB, but at most the direct blocks of
 * an inode.
 */
static inline uint32_t xw_tree_lost_found_blocks(uint32_t block_size)
{
	return XW_MIN(XW_MAX(16384 / block_size, 1u), 12u);
}

#endif
