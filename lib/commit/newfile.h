/* SPDX-License-Identifier: MIT */
/*
 * A file that is there whole or not at all: it is written under a temporary name beside its own,
 * flushed, and renamed.
 */
#ifndef XW_COMMIT_NEWFILE_H
#define XW_COMMIT_NEWFILE_H

#include <sys/types.h>

#include "dev/dev.h"

struct xw_newfile {
	struct xw_diag *diag;
	mode_t mode;
	char *path, *tmp, *dir; /* owned */
};

/* path is copied. After a failure there is nothing to free. */
int xw_newfile_init(struct xw_newfile *f, const char *path, mode_t mode, struct xw_diag *diag);
/* The file, empty, under its temporary name; a file of that name is removed. The caller closes. */
int xw_newfile_create(struct xw_newfile *f, struct xw_dev **out);
/* Give what create made, and the caller has flushed, its name, durably. */
int xw_newfile_publish(struct xw_newfile *f);
/* Names that came or went in the directory are so for good. */
int xw_newfile_sync_dir(struct xw_newfile *f);
void xw_newfile_free(struct xw_newfile *f);

#endif
