/* SPDX-License-Identifier: MIT */
/*
 * Directories below one, by path, without ever following a symbolic link: each component is opened
 * from the one before. The last ones stay open, since neighbours come one after the other.
 */
#ifndef XW_EXPORT_PLACE_H
#define XW_EXPORT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

#define XW_PLACE_LEVELS 32

struct xw_places {
	int top; /* owned */
	bool top_acl;
	struct xw_place {
		size_t len; /* of path: where this directory's ends */
		int fd;
		bool acl; /* it has a default ACL: what is made in it gets one */
	} at[XW_PLACE_LEVELS];
	unsigned n;
	XW_VEC(char) path; /* of the last, not terminated */
};

/* Below directory dir, which is made where it is missing. 0 or -errno. */
int xw_places_open(struct xw_places *p, const char *dir);
void xw_places_close(struct xw_places *p);
/*
 * The directory that is to hold `path`, as an O_PATH descriptor (of p, valid until the next call),
 * and the last component of path. Directories on the way are made where they are missing. 0 or
 * -errno; -ENOTDIR for a symbolic link, -EINVAL where a component is "." or ".." or none at all,
 * whoever let that come here.
 */
int xw_places_parent(struct xw_places *p, const char *path, int *fd, const char **name);
/* Has the directory that was looked up last a default ACL? */
bool xw_places_acl(const struct xw_places *p);

#endif
