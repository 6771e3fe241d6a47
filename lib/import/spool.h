/* SPDX-License-Identifier: MIT */
/*
 * Temporary files without a name, for what must be read in another order than it arrives: a stream,
 * or the contents of single files.
 */
#ifndef XW_IMPORT_SPOOL_H
#define XW_IMPORT_SPOOL_H

#include "base/err.h"
#include "import/feed.h"

struct xw_spool_opts {
	const char *dir; /* NULL: /var/tmp */
	bool limited; /* limited to `limit` bytes; otherwise a part of the filesystem stays free */
	uint64_t limit;
};

/* A temporary file that is being written. It is freed when fd is closed. */
struct xw_spool_file {
	const struct xw_spool_opts *o;
	const char *name; /* of the source, for messages */
	const char *what; /* the contents and "is" or "are", for messages */
	int fd; /* -1: not open */
	uint64_t size; /* bytes written */
	uint64_t room; /* internal: bytes to be written before free space is checked again */
};
/* Create the file of s, whose fields o, name and what are set. XW_ERR_IO. */
int xw_spool_open(struct xw_spool_file *s, struct xw_diag *diag);
/* Would n more bytes exceed --spool-limit? Then XW_ERR_HOSTFULL with a message. */
int xw_spool_limit(const struct xw_spool_file *s, uint64_t n, struct xw_diag *diag);
/* Append n bytes. XW_ERR_HOSTFULL: too large; XW_ERR_IO. */
int xw_spool_write(struct xw_spool_file *s, const void *buf, size_t n, struct xw_diag *diag);
/* Remove what was written after the first `size` bytes. XW_ERR_IO. */
int xw_spool_cut(struct xw_spool_file *s, uint64_t size, struct xw_diag *diag);

/*
 * Copy f to a file without a name, which is freed when *fd is closed. name: of the source, for
 * messages. XW_ERR_HOSTFULL: too large.
 */
int xw_spool(struct xw_feed *f, const struct xw_spool_opts *o, const char *name,
	     struct xw_diag *diag, int *fd, uint64_t *size);

#endif
