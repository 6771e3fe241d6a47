/* SPDX-License-Identifier: MIT */
/*
 * The identity of the file or device that contains an image, as recorded in a redo file: two copies
 * of a filesystem have the same UUID, but never the same place. A place is valid only until the
 * next boot, and only on its host, since device numbers are reused; a reattached device or a
 * replaced file is another place. The place of a loop device is that of its backing file.
 */
#ifndef XW_COMMIT_LOCATION_H
#define XW_COMMIT_LOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/redo.h"

/* The place of an image that begins `offset` bytes into the file or block device `path`. */
void xw_redo_location_of(const char *path, uint64_t offset, struct xw_redo_location *out);
/* Are both places known, and equal? */
bool xw_redo_location_same(const struct xw_redo_location *a, const struct xw_redo_location *b);
/* Are both places known, and different? Files keep their creation times across boots. */
bool xw_redo_location_differs(const struct xw_redo_location *a, const struct xw_redo_location *b);

#endif
