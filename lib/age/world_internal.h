/* SPDX-License-Identifier: MIT */
/* Shared by names (world.c) and operations (apply.c). */
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
 * 1: the parent directory does not exist, or the name is invalid. make: create missing directories.
 */
int xw_age_world_find(struct xw_age_world *w, const char *path, bool make, struct xw_age_place *p);
bool xw_age_is_dir(struct xw_age_world *w, xw_ino ino);
/* The name must not exist. */
int xw_age_world_make_file(struct xw_age_world *w, struct xw_age_place *p);
int xw_age_world_make_dir(struct xw_age_world *w, struct xw_age_place *p);
int xw_age_world_link(struct xw_age_world *w, struct xw_age_place *p, xw_ino ino, uint8_t ftype);
/* Removes only the name. */
int xw_age_world_unlink(struct xw_age_world *w, struct xw_age_place *p);
/* Remove the directory of the last path that was found. 1: it is not empty. */
int xw_age_world_remove_dir(struct xw_age_world *w, struct xw_age_place *p);

#endif
