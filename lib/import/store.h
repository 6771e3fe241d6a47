/* SPDX-License-Identifier: MIT */
/*
 * The files of a container image: below a directory, or members of an uncompressed tar archive in a
 * regular file, which are read in place.
 */
#ifndef XW_IMPORT_STORE_H
#define XW_IMPORT_STORE_H

#include "base/err.h"
#include "import/blob.h"

struct xw_store;

/* Open a directory. Owns fd, also on failure. name: for messages. */
int xw_store_open_dir(int fd, const char *name, struct xw_diag *diag, struct xw_store **out);
/*
 * Open an archive of `size` bytes and read all headers. Owns fd, also on failure. Fails with
 * XW_ERR_INPUT or XW_ERR_TRUNCATED if the file is damaged or not a tar archive.
 */
int xw_store_open_archive(int fd, uint64_t size, const char *name, struct xw_feed_tick tick,
			  struct xw_diag *diag, struct xw_store **out);
void xw_store_close(struct xw_store *s);
/*
 * Find a regular file. 0: *b, which refers to the store; XW_ERR_NOTFOUND, without a message;
 * XW_ERR_INPUT: the path leads out of the image; XW_ERR_IO. checked: the caller verifies a digest
 * or does not use the contents, so symlinks may lead out of a directory, e.g. to a shared blob
 * store.
 */
int xw_store_find(struct xw_store *s, const char *path, bool checked, struct xw_diag *diag,
		  struct xw_blob *b);
bool xw_store_has(struct xw_store *s, const char *path);

#endif
