/* SPDX-License-Identifier: MIT */
/*
 * Files with several names: the first name in the archive, to which the others become hard links.
 */
#ifndef XW_EXPORT_LINKS_H
#define XW_EXPORT_LINKS_H

#include "base/types.h"

struct xw_link {
	xw_ino ino; /* 0 = free slot */
	uint32_t left; /* names still to come according to the inode */
	char *path; /* owned, terminated */
};

/* A zero-initialized one is empty. */
struct xw_links {
	struct xw_link *v;
	size_t size, used;
	char *last; /* path of an entry that was removed by the last call */
};

/*
 * The path under which ino was returned before: valid until the next call. NULL: it is new, and
 * recorded as `path` for `names` - 1 more names; *err is XW_ERR_NOMEM if that failed. An inode is
 * removed with the last of its names.
 */
const char *xw_links_seen(struct xw_links *l, xw_ino ino, uint32_t names, const char *path,
			  int *err);
/* The first name could not be exported: the next one becomes the first. */
void xw_links_drop(struct xw_links *l, xw_ino ino);
void xw_links_free(struct xw_links *l);

#endif
