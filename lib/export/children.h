/* SPDX-License-Identifier: MIT */
/* The names of one directory in the requested order, a batch at a time. */
#ifndef XW_EXPORT_CHILDREN_H
#define XW_EXPORT_CHILDREN_H

#include "base/vec.h"
#include "read/image.h"
#include "read/itree.h"

enum xw_export_order {
	XW_ORDER_DEFAULT, /* TREE in archives and lists, DISK for files that we write */
	XW_ORDER_TREE, /* directory after directory, their entries by the place of their data */
	XW_ORDER_DISK, /* like inode order, but file data in disk order: see queue.h */
	XW_ORDER_INODE, /* entries of a directory by inode number */
	XW_ORDER_NAME, /* by the bytes of their names */
};

struct xw_child {
	xw_ino ino;
	uint32_t name_off, name_len; /* offset and length in `names` of the directory */
	bool is_dir; /* according to its entry: a hint */
};

struct xw_children {
	struct xw_image *img;
	enum xw_export_order order;
	XW_VEC(struct xw_child) v;
	XW_VEC(char) names;
	size_t next; /* next element of v */
	size_t fetched; /* elements of v for which hints were given */
	xw_ino ino;
	struct xw_itree_iter *itree; /* open while it has more entries; else NULL */
	/* A read failure, to be returned by xw_children_next(). */
	int code;
	char *line; /* owned */
};

/*
 * Read directory ino; raw is its record. If the names take more than `hold` bytes and an itree has
 * them, the itree stays open, which takes the memory of a few nodes. Damage is recorded for
 * xw_children_next(); only XW_ERR_NOMEM fails. Free it in any case.
 */
int xw_children_open(struct xw_image *img, enum xw_export_order order, size_t hold, xw_ino ino,
		     const struct xw_inode *inode, const uint8_t *raw, struct xw_children *c);
/*
 * 1: *ino and name (valid until the next call); 0: end. Negative: part of the directory could not
 * be read, see diag; the next call continues with the readable rest.
 */
int xw_children_next(struct xw_children *c, xw_ino *ino, const char **name, size_t *len);
void xw_children_free(struct xw_children *c);

/* Add a name to a list that does not represent a directory. 0 or XW_ERR_NOMEM. */
int xw_children_add(struct xw_children *c, xw_ino ino, bool is_dir, const char *name, size_t len);
/* Is this an empty list? */
bool xw_children_none(const struct xw_children *c);
/* The contents cannot be returned: report `why` instead. 0 or XW_ERR_NOMEM. */
int xw_children_hide(struct xw_children *c, const char *why);

#endif
