/* SPDX-License-Identifier: MIT */
/* Recognizes files that are not archives. */
#ifndef XW_IMPORT_FOREIGN_H
#define XW_IMPORT_FOREIGN_H

#include <stddef.h>

#define XW_FOREIGN_LOOK 65608u /* number of bytes to examine */

/*
 * The type of a file with these first bytes, as a constant string with an article ("an ext4
 * image"), or NULL. Not for data that starts with a tar header.
 */
const char *xw_foreign_kind(const unsigned char *p, size_t len);

#endif
