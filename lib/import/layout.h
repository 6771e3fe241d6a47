/* SPDX-License-Identifier: MIT */
/* Recognizes archives of container images, whose layers are archives themselves. */
#ifndef XW_IMPORT_LAYOUT_H
#define XW_IMPORT_LAYOUT_H

#include "import/source.h"

/*
 * Returns a bit if the entry belongs to an image layout; the bits of all entries of a source are
 * combined.
 */
unsigned xw_layout_mark(const struct xw_entry *e);
/* Describes the layout with these bits, e.g. "an OCI image layout". NULL: not a layout. */
const char *xw_layout_kind(unsigned marks);
/* How to import the files of the container. */
const char *xw_layout_advice(unsigned marks);
/* Advice for layouts whose only list is the file "repositories". */
#define XW_LAYOUT_OLD                                                                              \
	"load it into a container engine and save it again, or name its layers (ID/layer.tar) as " \
	"sources, lowest first"

/*
 * Can a tar archive with these first bytes be an image layout? Decided by the name of its first
 * member; common file names are no evidence.
 */
bool xw_layout_begins(const unsigned char *p, size_t len);
/* The same by the last bytes, where most programs store the list of images. */
#define XW_LAYOUT_TAIL ((size_t)64 << 10)
bool xw_layout_ends(const unsigned char *p, size_t len);

#endif
