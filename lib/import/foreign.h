/* SPDX-License-Identifier: MIT */
/* Files that are not archives, and their type. */
#ifndef XW_IMPORT_FOREIGN_H
#define XW_IMPORT_FOREIGN_H

#include <stddef.h>

#define XW_FOREIGN_LOOK 65608u /* number of bytes that are examined */

/*
 * The type of a file that begins with these bytes, with an article ("an ext4 image"), as a constant
 * string; NULL: unknown. Not for data that begins with a tar header.
 */
const char *xw_foreign_kind(const unsigned char *p, size_t len);

#endif
