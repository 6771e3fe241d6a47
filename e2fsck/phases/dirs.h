/* SPDX-License-Identifier: MIT */
/* Shared by the files of the phase `dirs`. */
#ifndef XW_FSCK_DIRS_H
#define XW_FSCK_DIRS_H

#include "disk/dx_hash.h"
#include "fsck.h"
#include "walk/dirblock.h"

/* Recorded for a block of an indexed directory: the range of the hashes of its names. */
struct fsck_leaf {
	uint32_t min, max; /* min > max: no names, or their hashes cannot be computed */
};

struct fsck_dup_slot {
	uint32_t hash;
	uint32_t entry; /* index + 1 in kept[] */
};

struct fsck_dirscan {
	struct fsck *f;
	uint32_t *first; /* [dirs.n + 1]: index of each directory's first block in f->dirblocks */
	struct fsck_leaf *leaves; /* [dirblocks.n]; NULL: no directory is indexed */
	uint32_t hash_seed[4];
	bool filetype, csum;
	/* the area being checked */
	struct fsck_dir *d;
	struct fsck_itree *tree; /* of d; NULL: none, or it is dropped */
	uint32_t seed;
	xw_lblk lblk;
	bool encrypted, folded; /* according to the flags of the directory's inode */
	bool hashed; /* names are hashed into `leaf` */
	enum xw_dx_version version;
	struct fsck_leaf leaf;
	bool dirty; /* changed in place */
	bool relayout; /* its entries must be laid out anew */
	bool dot, dotdot; /* "." and ".." were seen */
	struct xw_dirblock walk;
	struct xw_dirent *kept; /* entries to keep, their names point into the area */
	size_t n_kept;
	struct fsck_dup_slot *dups; /* power of two */
	uint32_t dup_mask;
	uint8_t *copy; /* one block: a copy of the area before it is laid out anew */
};

/* The only encoding that is defined: UTF-8, Unicode 12.1. */
enum { FSCK_ENCODING_UTF8 = 1 };

/* One area: a block, or a part of an inline directory. */
struct fsck_area {
	uint8_t *data;
	uint32_t size; /* in bytes */
	xw_lblk lblk;
	bool has_dots; /* starts with "." and ".." */
	bool tail; /* ends with a checksum */
};

/* Number of slots in `dups` for an area of that size. */
uint32_t fsck_dup_slots(uint32_t size);
/* dir_block.c: check the entries; a->data is changed if something is repaired (s->dirty). */
void fsck_dir_area(struct fsck_dirscan *s, const struct fsck_area *a);
/* Make directory i of f->dirs the current one. */
void fsck_dir_enter(struct fsck_dirscan *s, uint32_t i);
/* The dx hash of a name in the current directory. False: it cannot be computed. */
bool fsck_dir_hash(const struct fsck_dirscan *s, const struct xw_dirent *e, uint32_t *major);
/* Parameters of the walk over the entries of an area in the current directory. */
struct xw_dirblock_area fsck_dir_area_of(const struct fsck_dirscan *s, const struct fsck_area *a);
/* Is this block 0 of an indexed directory a dx_root, judging by its "." and ".."? */
bool fsck_dir_is_root(const void *block, uint32_t block_size);

/* dir_entry.c: one entry except "." and "..". false: it must be cleared. */
bool fsck_dir_entry(struct fsck_dirscan *s, const struct fsck_area *a,
		    struct xw_dirblock_item *item);
/* The type of "." and ".." */
void fsck_dir_dot_type(struct fsck_dirscan *s, const struct fsck_area *a,
		       struct xw_dirblock_item *item);

/* dir_inline.c: directory i of f->dirs, whose entries are in its inode. */
int fsck_dir_inline(struct fsck_dirscan *s, uint32_t i);
/* Offset of the value of system.data in the record; *len 0: there is none. */
size_t fsck_inline_value(const struct fsck *f, const struct xw_inode *in, const uint8_t *raw,
			 uint32_t *len);

/* Set the hash of that attribute, if it has one, after its value changed. */
void fsck_inline_seal(const struct fsck *f, const struct xw_inode *in, uint8_t *raw);

/* dir_htree.c: the index of directory i. Sets d->rebuild. */
int fsck_dir_htree(struct fsck_dirscan *s, uint32_t i);

/* dir_rebuild.c: every directory with `rebuild`. */
int fsck_dir_rebuild_all(struct fsck_dirscan *s);

/*
 * dir_edit.c: repairs of single entries of any directory whose blocks have been checked. All read
 * the inode, change blocks in place and leave the facts to the caller.
 */
/* The inode number in ".." of d, which may not have been checked yet; 0: it has none. */
int fsck_dir_dotdot(struct fsck *f, struct fsck_dir *d, xw_ino *out);
/* The first name of ino in directory `dir`; *len 0: there is none. */
int fsck_dir_name(struct fsck *f, xw_ino dir, xw_ino ino, char name[XW_NAME_MAX], size_t *len);
/* Set ".." of d to parent. */
int fsck_dir_set_parent(struct fsck *f, struct fsck_dir *d, xw_ino parent);
/*
 * Clear the entries of directory `dir` that refer to `ino` (except "." and ".."); with `name` only
 * those of that name.
 */
int fsck_dir_clear_names(struct fsck *f, xw_ino dir, xw_ino ino, const char *name);

/* itree.c: of ino; NULL: none. */
struct fsck_itree *fsck_itree(const struct fsck *f, xw_ino ino);
/* Drop the itrees whose entries differ from those of the directory. */
int fsck_itree_compare(struct fsck *f);
/* Builds the itrees that are wanted. */
int fsck_itree_build(struct fsck *f);

/* lost_found.c: inodes without a name. */
struct fsck_lost {
	XW_VEC(xw_ino) inos;
};
/* Remove the name /lost+found from an inode that cannot be used as such. */
int fsck_lost_found_check(struct fsck *f);
/*
 * Create it if it is missing: f->lost_found, 0 if that was declined. Pointers returned by
 * fsck_dir() may become invalid.
 */
int fsck_lost_found(struct fsck *f);
/*
 * Give each inode the name #NUMBER in lost+found; facts are updated, records are not (links.c
 * writes them). Inodes for which there is no space are reported and skipped.
 */
int fsck_reconnect(struct fsck *f, struct fsck_lost *lost);

#endif
