/* SPDX-License-Identifier: MIT */
/*
 * The model of a build: inodes and names to be, in host form. The functions of tree.h fill it from
 * a source; a build or an import numbers, places and writes it. All of it lives in one arena.
 *
 * Kept small on purpose: a build of a million files holds a million of each.
 */
#ifndef XW_TREE_MODEL_H
#define XW_TREE_MODEL_H

#include "base/types.h"
#include "dir/build.h"
#include "disk/extent.h"

struct xw_binode;
struct xw_encode_itree;
struct xw_xplaced;
struct xw_share_block;

/* What an inode takes from the directory it is made in. */
struct xw_inherit {
	uint32_t flags; /* as a directory takes them: xw_inode_inherited() says which others do */
	uint32_t projid;
};

/* A name in a directory. */
struct xw_blink {
	struct xw_blink *next; /* in the directory: order of arrival, hash order once shaped */
	struct xw_binode *node; /* NULL: the name was removed */
	struct xw_binode *dir; /* the directory that holds it */
	uint32_t hash; /* of (dir, name) for lookup; the dx major hash once shaped */
	uint16_t layer; /* the last source that named it, from 1; 0: none did */
	uint8_t len;
	char name[]; /* not terminated */
};

/* The directory part of a directory inode. */
struct xw_bdir {
	struct xw_binode *parent; /* the root's parent is the root */
	struct xw_blink *first, *last;
	struct xw_blink *scan; /* scratch of walks without recursion */
	uint32_t entries; /* live names */
	uint32_t subdirs;
	uint32_t min_blocks; /* lost+found's 16 KiB; else 0 */
	uint32_t growth; /* blocks that one more name can take, when shaped */
	uint32_t generation; /* XW_BN_OLD: i_generation, which its blocks' checksums hang on */
	uint16_t cleared; /* the last layer that hid all that lower ones have here; 0: none did */
	bool was_inline; /* XW_BN_OLD: its names are in the inode */
	struct xw_dir_shape shape;
	struct xw_encode_itree *itree; /* NULL = none; freed with the placer */
};

/* Blocks that hold the map of a file with more extents (or pointers) than its inode takes. */
struct xw_bmap {
	struct xw_run *runs; /* in the order the map is written; malloc'd */
	size_t n_runs;
	uint32_t blocks;
};

#define XW_BN_EA 0x1 /* an EA inode: `bytes` is the value */
#define XW_BN_DEAD 0x2 /* replaced or removed: not built */
#define XW_BN_OPAQUE 0x8 /* overlayfs: hides what lower layers have in this directory */
#define XW_BN_IMMUTABLE 0x10
/* Of an existing image: `ino` is its number from the beginning. */
#define XW_BN_OLD 0x20
#define XW_BN_LAZY 0x40 /* nobody has read it yet: only ino, type and the names seen are known */
#define XW_BN_NAMES 0x80 /* a directory whose names changed: it is built anew */
#define XW_BN_ATTRS 0x100 /* an entry gave it attributes */
#define XW_BN_INLINE 0x400 /* contents (`bytes`) or names are in the inode */
#define XW_BN_XATTRS 0x800 /* xattrs and xblock are what it has from now on, NULL: none */
#define XW_BN_LINKS 0x200 /* the number of its names changed */

struct xw_binode {
	struct xw_binode *next; /* all inodes in stream order */
	union {
		struct xw_bdir *dir; /* directories */
		/* symlinks: target; EA inodes: value; XW_BN_INLINE files: contents. size bytes */
		const char *bytes;
		struct {
			uint32_t major, minor;
		} dev;
		uint32_t generation; /* XW_BN_OLD files: i_generation */
	};
	const struct xw_xplaced *xattrs; /* NULL = none; owned by the interner */
	struct xw_share_block *xblock; /* one reference held; NULL = none */
	union {
		/*
		 * NULL: nothing. A directory passes on to what is made in it what it took itself;
		 * for one of an existing image (XW_BN_OLD), which has its own, only that counts.
		 */
		const struct xw_inherit *inherit;
		/* XW_BN_OLD files that are not lazy: of `links`, names that nobody has seen. */
		uint32_t unseen;
	};
	int64_t mtime, atime; /* seconds */
	uint32_t mtime_ns, atime_ns;
	uint64_t size; /* bytes */
	union {
		struct xw_extent ext; /* n_ext <= 1 */
		struct xw_extent *exts; /* ascending lblk; arena or malloc, see owner */
	};
	struct xw_bmap *map; /* NULL: the inode holds the whole map */
	uint32_t n_ext;
	xw_ino ino; /* 0 until numbered */
	uint32_t uid, gid;
	uint32_t links; /* names; directories: unused */
	uint16_t mode; /* with type bits */
	uint16_t flags; /* XW_BN_* */
};

static inline const struct xw_extent *xw_binode_extents(const struct xw_binode *n)
{
	return n->n_ext <= 1 ? &n->ext : n->exts;
}

static inline bool xw_binode_is(const struct xw_binode *n, uint32_t type)
{
	return (n->mode & 0170000u) == type;
}

#endif
