/* SPDX-License-Identifier: MIT */
/* All formats except tar, through libarchive. Internal to lib/import. */
#ifndef XW_IMPORT_LA_H
#define XW_IMPORT_LA_H

#include "import/input.h"
#include "import/source.h"

struct archive;

struct xw_la_params {
	const char *name;
	struct xw_diag *diag;
	uint64_t total;
	bool compressed; /* progress is counted before decompression */
	bool chained; /* xw_la_release() will be called */
	bool drain; /* read a stream after the end of the archive, see xw_input_enough */
};

/* From a stream; owns in, also on failure. Reads the first header. */
int xw_la_open(struct xw_input *in, const struct xw_la_params *p, struct xw_source **out);
/*
 * A chained source of a stream whose archive has ended: close it, and return its feed, which
 * continues behind the archive. NULL: a failure, with a message; the feed is closed.
 */
struct xw_feed *xw_la_release(struct xw_source *s);
/*
 * From a regular file at its current offset; formats that need to seek can. Owns fd, also on
 * failure.
 */
int xw_la_open_file(int fd, const struct xw_la_params *p, struct xw_source **out);

/* Enable the decompressors built into libarchive on a reader that is not open yet. */
void xw_la_support_filters(struct archive *a);

#endif
