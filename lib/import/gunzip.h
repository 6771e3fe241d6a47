/* SPDX-License-Identifier: MIT */
/* gzip by isa-l, which is two to three times as fast as zlib. */
#ifndef XW_IMPORT_GUNZIP_H
#define XW_IMPORT_GUNZIP_H

#include "import/feed.h"

/*
 * `lower` begins like gzip: 1: *out is the decompressed feed and owns lower; 0: not by isa-l, lower
 * is unchanged; negative: as xw_feed_decompress().
 */
int xw_gunzip(struct xw_feed *lower, struct xw_feed **out);

#endif
