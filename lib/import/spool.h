/* SPDX-License-Identifier: MIT */
/* A stream that must be read in another order than it arrives: a temporary file without a name. */
#ifndef XW_IMPORT_SPOOL_H
#define XW_IMPORT_SPOOL_H

#include "base/err.h"
#include "import/feed.h"

/*
 * Read f to its end into a file in `dir` (NULL: /var/tmp), which disappears when *fd is closed.
 * name: of the source, for messages.
 */
int xw_spool(struct xw_feed *f, const char *dir, const char *name, struct xw_diag *diag, int *fd,
	     uint64_t *size);

#endif
