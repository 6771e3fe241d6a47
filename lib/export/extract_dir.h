/* SPDX-License-Identifier: MIT */
/*
 * Opens directories below one directory by path, never following a symbolic link: each component is
 * opened relative to the previous one. The last ones stay open, since consecutive paths are usually
 * neighbors.
 */
#ifndef XW_EXPORT_EXTRACT_DIR_H
#define XW_EXPORT_EXTRACT_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

#define XW_PLACE_LEVELS 32

struct xw_places {
	int top; /* owned */
	bool top_acl;
	struct xw_place {
		size_t len; /* length of the part of `path` that names this directory */
		int fd;
		bool acl; /* it has a default ACL, which new files inherit */
	} at[XW_PLACE_LEVELS];
	unsigned n;
	XW_VEC(char) path; /* path of the last one, not terminated */
};

/* Start below directory dir, which is created if missing. 0 or -errno. */
int xw_places_open(struct xw_places *p, const char *dir);
void xw_places_close(struct xw_places *p);
/*
 * The parent directory of `path`, as an O_PATH descriptor (owned by p, valid until the next call),
 * and the last component of path. Missing directories on the way are created. 0 or -errno; -ENOTDIR
 * for a symbolic link, -EINVAL for empty, "." or ".." components.
 */
int xw_places_parent(struct xw_places *p, const char *path, int *fd, const char **name);
/* Does the directory of the last lookup have a default ACL? */
bool xw_places_acl(const struct xw_places *p);

#endif
