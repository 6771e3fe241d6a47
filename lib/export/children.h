/* SPDX-License-Identifier: MIT */
/* The names of one directory in the order that is asked for, a batch at a time. */
#ifndef XW_EXPORT_CHILDREN_H
#define XW_EXPORT_CHILDREN_H

#include "base/vec.h"
#include "read/image.h"
#include "read/itree.h"

enum xw_export_order {
	XW_ORDER_DISK, /* as inode, and the data of files by where it lies: see queue.h */
	XW_ORDER_INODE, /* entries of a directory by inode number */
	XW_ORDER_NAME, /* by the bytes of their names */
};

struct xw_child {
	xw_ino ino;
	uint32_t name_off, name_len; /* in the names of the directory */
	bool is_dir; /* as its entry says: a hint */
};

struct xw_children {
	struct xw_image *img;
	enum xw_export_order order;
	XW_VEC(struct xw_child) v;
	XW_VEC(char) names;
	size_t next; /* of v */
	size_t fetched; /* of v: hints were given for these */
	xw_ino ino;
	struct xw_itree_iter *itree; /* while entries are still to come from it; else NULL */
	/* Something could not be read: told by xw_children_next(). */
	int code;
	char *line; /* owned */
};

/*
 * Read directory ino; raw is its record. Where names take more than `hold` bytes and there is an
 * itree that has them, that stays open meanwhile, which takes the memory for a few nodes. Damage is
 * kept for xw_children_next(); only XW_ERR_NOMEM fails. Always free it.
 */
int xw_children_open(struct xw_image *img, enum xw_export_order order, size_t hold, xw_ino ino,
		     const struct xw_inode *inode, const uint8_t *raw, struct xw_children *c);
/*
 * 1: *ino and name (valid until the next call); 0: no more. Negative: part of the directory could
 * not be read, diag says why; the next call goes on with what could.
 */
int xw_children_next(struct xw_children *c, xw_ino *ino, const char **name, size_t *len);
void xw_children_free(struct xw_children *c);

/* Made by hand: add a name to a list that is not of a directory. 0 or XW_ERR_NOMEM. */
int xw_children_add(struct xw_children *c, xw_ino ino, bool is_dir, const char *name, size_t len);
/* Nothing but an empty list. */
bool xw_children_none(const struct xw_children *c);
/* What there is cannot be given: `why` is told in its place. 0 or XW_ERR_NOMEM. */
int xw_children_hide(struct xw_children *c, const char *why);

#endif
