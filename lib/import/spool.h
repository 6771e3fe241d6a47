/* SPDX-License-Identifier: MIT */
/* Copies a stream that must be read in another order to a temporary file. */
#ifndef XW_IMPORT_SPOOL_H
#define XW_IMPORT_SPOOL_H

#include "base/err.h"
#include "import/feed.h"

struct xw_spool_opts {
	const char *dir; /* NULL: /var/tmp */
	bool limited; /* limited to `limit` bytes; otherwise a part of the filesystem stays free */
	uint64_t limit;
};
/*
 * Copy f to a file without a name, which is freed when *fd is closed. name: of the source, for
 * messages. XW_ERR_HOSTFULL: too large.
 */
int xw_spool(struct xw_feed *f, const struct xw_spool_opts *o, const char *name,
	     struct xw_diag *diag, int *fd, uint64_t *size);

#endif
