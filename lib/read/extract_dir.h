/* SPDX-License-Identifier: MIT */
/*
 * Opens directories below a top directory by path. No symbolic link is followed, since each
 * component is opened relative to the previous one. Some of the directories on the last path stay
 * open for the next one, which is usually nearby.
 */
#ifndef XW_READ_EXTRACT_DIR_H
#define XW_READ_EXTRACT_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

#define XW_EXTRACT_LEVELS 32
#define XW_EXTRACT_RECENT 8

struct xw_extract_dirs {
	int top; /* owned */
	struct xw_extract_dir {
		size_t len; /* length of the part of `path` that names this directory */
		size_t depth; /* number of its components */
		int fd;
	} at[XW_EXTRACT_LEVELS]; /* some ancestors, then the last directory itself */
	unsigned n, max;
	XW_VEC(char) path; /* path of at[n - 1], not terminated */
	/* directories that were left for one that is far away */
	struct xw_extract_recent {
		XW_VEC(char) path;
		int fd;
	} recent[XW_EXTRACT_RECENT];
	unsigned n_recent, turn;
	int last; /* the directory of the last lookup; not owned */
	bool acl, acl_known; /* it has a default ACL, which new files inherit */
};

/* Start below directory dir, which is created if missing. 0 or -errno. */
int xw_extract_dirs_open(struct xw_extract_dirs *p, const char *dir);
void xw_extract_dirs_close(struct xw_extract_dirs *p);
/*
 * Open the parent directory of `path` (path_len bytes, terminated) as an O_PATH descriptor, which
 * is owned by p and valid until the next call; *name is the last component of path. Missing parents
 * are created. 0 or -errno: -ENOTDIR for a symbolic link, -EINVAL for empty, "." or ".."
 * components.
 */
int xw_extract_dirs_parent(struct xw_extract_dirs *p, const char *path, size_t path_len, int *fd,
			   const char **name);
/* Does the directory of the last lookup have a default ACL? */
bool xw_extract_dirs_acl(struct xw_extract_dirs *p);

#endif
