/* SPDX-License-Identifier: MIT */
/*
 * Archives and compressed files by their first bytes: what a target or image turns out to be where
 * it was mistaken for a source. (Sources are recognized by import/detect.c.)
 */
#ifndef XW_DEV_ARCHIVE_H
#define XW_DEV_ARCHIVE_H

#include <stddef.h>

/* Number of bytes at the start that are sufficient to recognize any kind. */
#define XW_ARCHIVE_LOOK 512u

/* "a tar archive", "gzip data"; NULL: none of these. */
const char *xw_archive_kind(const void *buf, size_t len);

#endif
