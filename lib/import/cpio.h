/* SPDX-License-Identifier: MIT */
/* Concatenated cpio archives, as an initramfs is made of. Internal to lib/import. */
#ifndef XW_IMPORT_CPIO_H
#define XW_IMPORT_CPIO_H

#include "import/la.h"

#define XW_CPIO_DEPTH_MAX 4u /* of compressed data in compressed data */

/* Does a cpio archive begin with these bytes? */
bool xw_cpio_begins(const unsigned char *p, size_t len);
/*
 * Read it and those that follow. feed is owned, also on failure; depth: how many decompressors
 * it consists of. threaded: as in xw_source_opts.
 */
int xw_cpio_open(struct xw_feed *feed, const struct xw_la_params *p, unsigned depth, bool threaded,
		 struct xw_source **out);

#endif
