/* SPDX-License-Identifier: MIT */
/* Files with several names: where the first one is in the archive, so that the others become hard
 * links to it. */
#ifndef XW_EXPORT_LINKS_H
#define XW_EXPORT_LINKS_H

#include "base/types.h"

struct xw_link {
	xw_ino ino; /* 0 = free slot */
	uint32_t left; /* names that the inode says are still to come */
	char *path; /* owned, terminated */
};

/* Zero-initialised is empty. */
struct xw_links {
	struct xw_link *v;
	size_t size, used;
	char *last; /* path of an entry that was forgotten by the last call */
};

/*
 * The path under which ino was given before: valid until the next call. NULL: it is new, and is
 * kept under `path` now for `names` - 1 more names; *err is XW_ERR_NOMEM when it could not be kept.
 * An inode is forgotten with the last of its names.
 */
const char *xw_links_seen(struct xw_links *l, xw_ino ino, uint32_t names, const char *path,
			  int *err);
/* The first name could not be exported after all: the next one is first. */
void xw_links_drop(struct xw_links *l, xw_ino ino);
void xw_links_free(struct xw_links *l);

#endif
