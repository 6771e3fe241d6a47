/* SPDX-License-Identifier: MIT */
/* Decompression of gzip by isa-l, two to three times as fast as zlib. */
#ifndef XW_IMPORT_GUNZIP_H
#define XW_IMPORT_GUNZIP_H

#include "import/feed.h"

/*
 * Decompress `lower`, which starts like gzip. 1: *out is the decompressed feed and owns lower; 0:
 * isa-l cannot decompress it, lower is unchanged; negative: as xw_feed_decompress().
 */
int xw_gunzip(struct xw_feed *lower, struct xw_feed **out);

#endif
