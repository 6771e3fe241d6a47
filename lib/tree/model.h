/* SPDX-License-Identifier: MIT */
/*
 * The model of a build: future inodes and names, in host form. A source fills it through the
 * functions of tree.h; a build or an import assigns inode numbers and blocks, and writes it.
 * Everything is allocated in one arena.
 *
 * The structures are small on purpose: a build of a million files has a million of each.
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

/* Attributes that an inode inherits from the directory in which it is created. */
struct xw_inherit {
	uint32_t flags; /* as inherited by a directory; for other types see xw_inode_inherited() */
	uint32_t projid;
};

/* A directory entry. */
struct xw_blink {
	/* next name of the directory: order of arrival, hash order once shaped */
	struct xw_blink *next;
	struct xw_binode *node; /* NULL: the name was removed */
	struct xw_binode *dir; /* the directory that contains the name */
	uint32_t hash; /* the dx major hash, once shaped */
	uint16_t layer; /* the last source that contains the name, from 1; 0: none */
	uint8_t len;
	char name[]; /* not terminated */
};

/* The directory part of a directory inode. */
struct xw_bdir {
	struct xw_binode *parent; /* the root's parent is the root */
	struct xw_blink *first, *last;
	struct xw_blink *scan; /* scratch of walks without recursion */
	uint32_t entries; /* number of live names */
	uint32_t subdirs;
	uint32_t min_blocks; /* 16 KiB for lost+found, else 0 */
	uint32_t growth; /* maximum number of blocks that one more name may need, once shaped */
	/* XW_BN_OLD: i_generation, which seeds the checksums of the directory's blocks */
	uint32_t generation;
	uint16_t cleared; /* the last layer that hid the entries of all lower ones; 0: none */
	bool was_inline; /* XW_BN_OLD: names are stored in the inode */
	struct xw_dir_shape shape;
	struct xw_encode_itree *itree; /* NULL = none; freed with the placer */
};

/* The map blocks of a file with more extents (or pointers) than fit its inode. */
struct xw_bmap {
	struct xw_run *runs; /* in writing order; malloc'd */
	size_t n_runs;
	uint32_t blocks;
};

#define XW_BN_EA 0x1 /* an EA inode: `bytes` is the value */
#define XW_BN_DEAD 0x2 /* replaced or removed: not written */
#define XW_BN_OPAQUE 0x8 /* overlayfs: hides the entries of lower layers in this directory */
#define XW_BN_IMMUTABLE 0x10
/* From an existing image: `ino` is set from the start. */
#define XW_BN_OLD 0x20
#define XW_BN_LAZY 0x40 /* not read yet: only ino, type and the names seen are known */
#define XW_BN_NAMES 0x80 /* a directory whose names changed: it is rebuilt */
#define XW_BN_ATTRS 0x100 /* an entry set its attributes */
#define XW_BN_INLINE 0x400 /* contents (`bytes`) or names are stored in the inode */
#define XW_BN_XATTRS 0x800 /* xattrs and xblock replace the existing attributes, NULL: none */
#define XW_BN_LINKS 0x200 /* the number of its names changed */
/* Flags of chattr(1), as XW_BN_IMMUTABLE: i_flags of a new inode. */
#define XW_BN_APPEND 0x4
#define XW_BN_NODUMP 0x1000
#define XW_BN_NOATIME 0x2000
#define XW_BN_SYNC 0x4000
#define XW_BN_BY_TYPE 0x8000 /* of a directory DIRSYNC, of a file JOURNAL_DATA */
#define XW_BN_CHATTR                                                                               \
	(XW_BN_IMMUTABLE | XW_BN_APPEND | XW_BN_NODUMP | XW_BN_NOATIME | XW_BN_SYNC | XW_BN_BY_TYPE)

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
		 * What new inodes in this directory inherit, NULL: nothing. A new directory uses
		 * what it inherited itself; an existing one (XW_BN_OLD) has its own.
		 */
		const struct xw_inherit *inherit;
		/*
		 * XW_BN_OLD files that are not lazy: the part of `links` whose names were not found
		 * yet.
		 */
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
