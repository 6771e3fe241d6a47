/* SPDX-License-Identifier: MIT */
/* Lists the names of one directory in the requested order. */
#ifndef XW_EXPORT_CHILDREN_H
#define XW_EXPORT_CHILDREN_H

#include "base/vec.h"
#include "read/image.h"
#include "read/itree.h"

enum xw_export_order {
	XW_ORDER_DEFAULT, /* TREE for archives and lists, DISK for extracted files */
	XW_ORDER_TREE, /* each directory with its contents, entries in disk order of their data */
	XW_ORDER_DISK, /* as INODE, but file data in disk order: see queue.h */
	XW_ORDER_INODE, /* entries of a directory by inode number */
	XW_ORDER_NAME, /* entries of a directory by the bytes of their names */
};

struct xw_child {
	xw_ino ino;
	uint32_t name_off, name_len; /* offset and length in `names` of the directory */
	bool is_dir; /* the file type in the entry: only a hint */
};

enum {
	XW_CHILDREN_UNREAD, /* part of the directory could not be read */
	XW_CHILDREN_SAME, /* entries were left out that have the name of another one */
	XW_CHILDREN_FAILURES,
};

struct xw_children {
	struct xw_image *img;
	enum xw_export_order order;
	XW_VEC(struct xw_child) v;
	XW_VEC(char) names;
	size_t next; /* next element of v */
	size_t fetched; /* elements of v that were read ahead */
	xw_ino ino;
	struct xw_itree_iter *itree; /* open while it has more entries; else NULL */
	struct xw_children_failure {
		int code; /* not 0: pending, to be returned by xw_children_next() */
		char *line; /* its message; owned */
	} failed[XW_CHILDREN_FAILURES];
};

/*
 * Read directory ino; raw is its inode record. If the names take more than `hold` bytes and the
 * directory has an itree, the names are not kept, but read from the itree in batches. Damage is
 * recorded for xw_children_next(); the only failure is XW_ERR_NOMEM. Free the list in any case.
 */
int xw_children_open(struct xw_image *img, enum xw_export_order order, size_t hold, xw_ino ino,
		     const struct xw_inode *inode, const uint8_t *raw, struct xw_children *c);
/*
 * 1: *ino and *name are set, the name valid until the next call; 0: end. Negative: part of the
 * directory could not be read, see diag; the next call continues with the readable rest.
 */
int xw_children_next(struct xw_children *c, xw_ino *ino, const char **name, size_t *len);
void xw_children_free(struct xw_children *c);

/* Add a name to a list that does not represent a directory. 0 or XW_ERR_NOMEM. */
int xw_children_add(struct xw_children *c, xw_ino ino, bool is_dir, const char *name, size_t len);
/* Is the list empty, without a pending failure? */
bool xw_children_none(const struct xw_children *c);
/* Replace the names, if any, by the failure `why`. 0 or XW_ERR_NOMEM. */
int xw_children_hide(struct xw_children *c, const char *why);

#endif
