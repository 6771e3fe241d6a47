/* SPDX-License-Identifier: MIT */
/* What the files behind change.h share. All of it happens inside a change. */
#ifndef XW_DIR_CHANGE_INTERNAL_H
#define XW_DIR_CHANGE_INTERNAL_H

#include "dir/change.h"
#include "dir/leaf.h"

static inline uint32_t xw_dir_room(const struct xw_dir *d)
{
	return d->f.block_size - (d->f.csum ? XW_DIR_TAIL : 0);
}

/* Every operation stands between these two; end undoes it when ret is a failure, says why, and
 * returns it. */
int xw_dir_change_begin(struct xw_dir *d);
int xw_dir_change_end(struct xw_dir *d, int ret);

/* The file's block at lblk. XW_ERR_CORRUPT beyond its end. */
int xw_dir_block(struct xw_dir *d, uint32_t lblk, enum xw_dbuf_kind kind, struct xw_dbuf **out);
/* One block more at the end of the file; leaves get their tail. XW_ERR_LIMIT */
int xw_dir_append(struct xw_dir *d, enum xw_dbuf_kind kind, uint32_t *lblk, struct xw_dbuf **out);
/* Put e into a leaf, where xw_leaf_find() found room. */
int xw_dir_put(struct xw_dir *d, struct xw_dbuf *leaf, uint32_t space, const struct xw_dirent *e);
int xw_dir_corrupt(struct xw_dir *d, const char *why);
/* Free the itree as part of this change. */
int xw_dir_lose_itree(struct xw_dir *d);

/* XW_ERR_INPUT: no name, or one of the dots, which cannot go. */
int xw_dir_check_victim(struct xw_dir *d, const char *name, size_t len);
/* The itree's entry of e, whose hash it is. */
int xw_dir_tree_remove(struct xw_dir *d, const struct xw_dirent *e, uint32_t hash);

/* Where a name is: the leaf and where in it. */
struct xw_dir_place {
	struct xw_dbuf *leaf;
	struct xw_leaf_spot spot;
	struct xw_dx_hash hash; /* of the name, in an indexed directory */
};

/* htree.c */
/* XW_ERR_NOTFOUND; place->hash is set then, too. */
int xw_htree_find(struct xw_dir *d, const char *name, uint8_t len, struct xw_dir_place *place);
/* e->name is not there yet. XW_ERR_EXISTS */
int xw_htree_insert(struct xw_dir *d, const struct xw_dirent *e, struct xw_dx_hash *hash);
/* Room in dx_root for a pointer to an itree: one more level where it is full. XW_ERR_LIMIT */
int xw_htree_make_slot(struct xw_dir *d);
/* Make an htree of a directory of one block; its entries go to a leaf of their own. */
int xw_htree_convert(struct xw_dir *d);

/* The leaves' logical blocks in hash order, malloc'd. */
int xw_htree_leaves(struct xw_dir *d, uint32_t **lblks, size_t *n);

#endif
