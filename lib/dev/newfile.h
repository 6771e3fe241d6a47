/* SPDX-License-Identifier: MIT */
/*
 * A regular file that gets its name when it is whole. Until then nobody sees it: who is
 * interrupted, or killed, leaves nothing that the next run could take for something.
 */
#ifndef XW_DEV_NEWFILE_H
#define XW_DEV_NEWFILE_H

#include "dev/dev.h"

struct xw_newfile;

/*
 * *dev: an empty device, fresh, as xw_dev_open_file makes one with CREATE; `path` need not be free.
 * flags: 0 or XW_DEV_DIRECT. Errors as there.
 */
int xw_newfile_open(const char *path, unsigned flags, struct xw_diag *diag, struct xw_dev **dev,
		    struct xw_newfile **out);
/* Only the owner may read and write it: fchmod to 0600, which a replaced file's mode overrides. */
int xw_newfile_private(struct xw_newfile *f, struct xw_diag *diag);
/* Names that came or went in the directory of `path` are so for good. */
int xw_newfile_sync_dir(const char *path, struct xw_diag *diag);
/*
 * Give it its name, for good, *dev being flushed. Without `replace` nothing may have that name:
 * XW_ERR_IO, and what is there stays. With it a regular file of that name goes, and leaves mode
 * and, where we may, owner.
 */
int xw_newfile_publish(struct xw_newfile *f, bool replace, struct xw_diag *diag);
/* Where it can be seen by now; NULL: nowhere. */
const char *xw_newfile_name(const struct xw_newfile *f);
/* The file goes if it was not published. f may be NULL. */
void xw_newfile_close(struct xw_newfile *f);

#endif
