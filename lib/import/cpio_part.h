/* SPDX-License-Identifier: MIT */
/* Reads one cpio archive of any format. Internal to lib/import. */
#ifndef XW_IMPORT_CPIO_PART_H
#define XW_IMPORT_CPIO_PART_H

#include "import/input.h"
#include "import/source.h"

/* Open the archive at the start of `in`, which is owned, also on failure. */
int xw_cpio_part_open(struct xw_input *in, const struct xw_archive_params *p,
		      struct xw_source **out);
/*
 * Close the source after the end of its archive: *feed continues there. On failure, which is
 * reported, the feed is closed.
 */
int xw_cpio_part_release(struct xw_source *s, struct xw_feed **feed);

#endif
