/* SPDX-License-Identifier: MIT */
/* Concatenated cpio archives (initramfs). Internal to lib/import. */
#ifndef XW_IMPORT_CPIO_H
#define XW_IMPORT_CPIO_H

#include "import/input.h"
#include "import/source.h"

#define XW_CPIO_DEPTH_MAX 4u /* limit for nested compression */

/* Does the data start like a cpio archive? */
bool xw_cpio_begins(const unsigned char *p, size_t len);
/*
 * Read all archives of the feed, which is owned, also on failure. depth: number of decompressors in
 * the feed. threaded: as in xw_source_opts.
 */
int xw_cpio_open(struct xw_feed *feed, const struct xw_archive_params *p, unsigned depth,
		 bool threaded, struct xw_source **out);

#endif
