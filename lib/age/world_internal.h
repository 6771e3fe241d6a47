/* SPDX-License-Identifier: MIT */
/* Between names (world.c) and operations (apply.c). */
#ifndef XW_AGE_WORLD_INTERNAL_H
#define XW_AGE_WORLD_INTERNAL_H

#include "age/world.h"

/* A name in an open directory; valid until another directory is opened. */
struct xw_age_place {
	struct xw_age_dir *dir;
	char name[XW_NAME_MAX];
	size_t len;
	xw_ino ino; /* what it names; 0: nothing */
};

/* 1: there is no such directory, or it can be no name. make: missing directories are made. */
int xw_age_world_find(struct xw_age_world *w, const char *path, bool make, struct xw_age_place *p);
bool xw_age_is_dir(struct xw_age_world *w, xw_ino ino);
/* The name is free. */
int xw_age_world_make_file(struct xw_age_world *w, struct xw_age_place *p);
int xw_age_world_make_dir(struct xw_age_world *w, struct xw_age_place *p);
int xw_age_world_link(struct xw_age_world *w, struct xw_age_place *p, xw_ino ino, uint8_t ftype);
/* The name alone. */
int xw_age_world_unlink(struct xw_age_world *w, struct xw_age_place *p);
/* Of the last path that was found. 1: it is not empty. */
int xw_age_world_remove_dir(struct xw_age_world *w, struct xw_age_place *p);

#endif
