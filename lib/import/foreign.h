/* SPDX-License-Identifier: MIT */
/* Files that are no archives, and what they are instead. */
#ifndef XW_IMPORT_FOREIGN_H
#define XW_IMPORT_FOREIGN_H

#include <stddef.h>

#define XW_FOREIGN_LOOK 65608u /* bytes that can say something */

/*
 * What begins with these bytes, with an article ("an ext4 image"), as constant text; NULL: nobody
 * knows. Not for what begins with a tar header.
 */
const char *xw_foreign_kind(const unsigned char *p, size_t len);

#endif
