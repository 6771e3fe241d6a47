/* SPDX-License-Identifier: MIT */
/* The first exported name of each file with several names, the target of its hard links. */
#ifndef XW_EXPORT_LINKS_H
#define XW_EXPORT_LINKS_H

#include "base/types.h"

struct xw_link {
	xw_ino ino; /* 0 = free slot */
	uint32_t left; /* further names expected, from the link count of the inode */
	char *path; /* owned, terminated */
};

/* A zero-initialized one is empty. */
struct xw_links {
	struct xw_link *v;
	size_t size, used;
	char *last; /* path of the entry that the last call removed */
};

/*
 * The first path of inode ino, valid until the next call. NULL: the inode is new and is recorded
 * with `path` and `names` - 1 more names to come, or *err is XW_ERR_NOMEM. The last name of an
 * inode removes its entry.
 */
const char *xw_links_visit(struct xw_links *l, xw_ino ino, uint32_t names, const char *path,
			   int *err);
/* The first name of the inode could not be exported: its next name becomes the first. */
void xw_links_drop(struct xw_links *l, xw_ino ino);
void xw_links_free(struct xw_links *l);

#endif
