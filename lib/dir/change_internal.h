/* SPDX-License-Identifier: MIT */
/* Shared by the files that implement change.h. All of these functions run inside a change. */
#ifndef XW_DIR_CHANGE_INTERNAL_H
#define XW_DIR_CHANGE_INTERNAL_H

#include "dir/change.h"
#include "dir/leaf.h"

static inline uint32_t xw_dir_room(const struct xw_dir *d)
{
	return d->f.block_size - (d->f.csum ? XW_DIR_TAIL : 0);
}

/*
 * Every operation runs between these two calls; xw_dir_change_end() rolls it back if rc is a
 * failure, records the reason, and returns rc.
 */
int xw_dir_change_begin(struct xw_dir *d);
int xw_dir_change_end(struct xw_dir *d, int rc);

/* The block of the file at lblk. XW_ERR_CORRUPT past its end. */
int xw_dir_block(struct xw_dir *d, uint32_t lblk, enum xw_dbuf_kind kind, struct xw_dbuf **out);
/* Append a block to the file; leaves get their tail. XW_ERR_LIMIT */
int xw_dir_append(struct xw_dir *d, enum xw_dbuf_kind kind, uint32_t *lblk, struct xw_dbuf **out);
/* Insert e into a leaf, where xw_leaf_find() found space. */
int xw_dir_put(struct xw_dir *d, struct xw_dbuf *leaf, uint32_t space, const struct xw_dirent *e);
int xw_dir_corrupt(struct xw_dir *d, const char *why);
/* Free the itree as part of this change. */
int xw_dir_lose_itree(struct xw_dir *d);

/* XW_ERR_INPUT: an invalid name, or "." or "..", which cannot be deleted. */
int xw_dir_check_victim(struct xw_dir *d, const char *name, size_t len);
/* Remove the entry e with this hash from the itree. */
int xw_dir_tree_remove(struct xw_dir *d, const struct xw_dirent *e, uint32_t hash);

/* Position of a name: the leaf and the place in it. */
struct xw_dir_place {
	struct xw_dbuf *leaf;
	struct xw_leaf_spot spot;
	struct xw_dx_hash hash; /* hash of the name, in an indexed directory */
};

/* htree.c */
/* XW_ERR_NOTFOUND; place->hash is set even then. */
int xw_htree_find(struct xw_dir *d, const char *name, uint8_t len, struct xw_dir_place *place);
/* Insert e, whose name must not exist. XW_ERR_EXISTS */
int xw_htree_insert(struct xw_dir *d, const struct xw_dirent *e, struct xw_dx_hash *hash);
/*
 * Free the last slot of dx_root for a pointer to an itree: adds a level if it is full. XW_ERR_LIMIT
 */
int xw_htree_make_slot(struct xw_dir *d);
/* Convert a directory of one block to an htree; its entries move to a leaf. */
int xw_htree_convert(struct xw_dir *d);

/* Logical blocks of the leaves in hash order, malloc'd. */
int xw_htree_leaves(struct xw_dir *d, uint32_t **lblks, size_t *n);

#endif
