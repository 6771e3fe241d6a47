/* SPDX-License-Identifier: MIT */
/* Reads all formats except tar and cpio, through libarchive. Internal to lib/import. */
#ifndef XW_IMPORT_LIBARCHIVE_H
#define XW_IMPORT_LIBARCHIVE_H

#include "import/input.h"
#include "import/source.h"

struct archive;

/* Open an archive in a stream and read its first header. Owns in, also on failure. */
int xw_la_open(struct xw_input *in, const struct xw_archive_params *p, struct xw_source **out);
/*
 * Open an archive in a regular file, from its current offset; seekable, as some formats require.
 * Owns fd, also on failure.
 */
int xw_la_open_file(int fd, const struct xw_archive_params *p, struct xw_source **out);

/* Enable the decompressors built into libarchive. Called before the archive is opened. */
void xw_la_support_filters(struct archive *a);

#endif
