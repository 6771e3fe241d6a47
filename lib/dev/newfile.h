/* SPDX-License-Identifier: MIT */
/*
 * A regular file that gets its name when it is complete. Until then it is invisible: an interrupted
 * or killed run leaves no file that the next run could mistake for a finished one.
 */
#ifndef XW_DEV_NEWFILE_H
#define XW_DEV_NEWFILE_H

#include "dev/dev.h"

struct xw_newfile;

/*
 * *dev: an empty, fresh device as from xw_dev_open_file() with CREATE, with the same errors; `path`
 * may exist. flags: 0 or XW_DEV_DIRECT.
 */
int xw_newfile_open(const char *path, unsigned flags, struct xw_diag *diag, struct xw_dev **dev,
		    struct xw_newfile **out);
/* Set the mode to 0600; when a file is replaced, its mode overrides this. */
int xw_newfile_private(struct xw_newfile *f, struct xw_diag *diag);
/* Sync the directory of `path`: created and removed names become durable. */
int xw_newfile_sync_dir(const char *path, struct xw_diag *diag);
/*
 * Give the file its name, durably; *dev must have been flushed. Without `replace` an existing name
 * is XW_ERR_IO, and the existing file is untouched. With `replace` an existing regular file is
 * replaced; its mode and, where permitted, its owner are kept.
 */
int xw_newfile_publish(struct xw_newfile *f, bool replace, struct xw_diag *diag);
/* The temporary name of the file; NULL if it has none. */
const char *xw_newfile_name(const struct xw_newfile *f);
/* Removes the file unless it was published. f may be NULL. */
void xw_newfile_close(struct xw_newfile *f);

#endif
