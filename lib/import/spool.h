/* SPDX-License-Identifier: MIT */
/* A stream that must be read in another order than it arrives: a temporary file without a name. */
#ifndef XW_IMPORT_SPOOL_H
#define XW_IMPORT_SPOOL_H

#include "base/err.h"
#include "import/feed.h"

struct xw_spool_opts {
	const char *dir; /* NULL: /var/tmp */
	bool limited; /* to `limit` bytes; otherwise a part of the filesystem stays free */
	uint64_t limit;
};
/*
 * Read f to its end into a file of no name, which disappears when *fd is closed. name: of the
 * source, for messages. XW_ERR_HOSTFULL: it became too large.
 */
int xw_spool(struct xw_feed *f, const struct xw_spool_opts *o, const char *name,
	     struct xw_diag *diag, int *fd, uint64_t *size);

#endif
