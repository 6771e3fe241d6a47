/* SPDX-License-Identifier: MIT */
/* Shared by directory entries (world.c), operations (apply.c) and others that look names up. */
#ifndef XW_AGE_WORLD_INTERNAL_H
#define XW_AGE_WORLD_INTERNAL_H

#include "age/world.h"

/* A name in an open directory; valid until another directory is opened. */
struct xw_age_place {
	struct xw_age_dir *dir;
	char name[XW_NAME_MAX];
	size_t len;
	xw_ino ino; /* its inode; 0: none */
};

/*
 * Look up a path below the top directory; make: create missing parents. 1: the parent directory
 * does not exist, or the path is invalid. p->ino is 0 if the name does not exist.
 */
int xw_age_world_find(struct xw_age_world *w, const char *path, bool make, struct xw_age_place *p);
bool xw_age_is_dir(struct xw_age_world *w, xw_ino ino);
/* Create a file or directory at p, where no name exists. */
int xw_age_world_make_file(struct xw_age_world *w, struct xw_age_place *p);
int xw_age_world_make_dir(struct xw_age_world *w, struct xw_age_place *p);
int xw_age_world_link(struct xw_age_world *w, struct xw_age_place *p, xw_ino ino, uint8_t ftype);
/* Remove the directory entry without changing the link count. */
int xw_age_world_unlink(struct xw_age_world *w, struct xw_age_place *p);
/* Remove the directory that the last xw_age_world_find() returned. 1: it is not empty. */
int xw_age_world_remove_dir(struct xw_age_world *w, struct xw_age_place *p);

#endif
