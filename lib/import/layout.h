/* SPDX-License-Identifier: MIT */
/* Recognizes archives of container images, whose layers are archives themselves. */
#ifndef XW_IMPORT_LAYOUT_H
#define XW_IMPORT_LAYOUT_H

#include "import/source.h"

/* What a path at the top of a source says: bits, to be collected over all of its entries. */
unsigned xw_layout_mark(const struct xw_entry *e);
/* "an OCI image layout", "an archive of docker save"; NULL: these paths say neither. */
const char *xw_layout_kind(unsigned marks);
/* What to do for the files of the container. */
const char *xw_layout_advice(unsigned marks);
/* Of what has no list of layers, only the file "repositories". */
#define XW_LAYOUT_OLD                                                                              \
	"load it into a container engine and save it again, or name its layers (ID/layer.tar) as " \
	"sources, lowest first"

/*
 * May a tar archive that begins with these bytes be one? By the name of its first member: common
 * names of files are no evidence that it is one.
 */
bool xw_layout_begins(const unsigned char *p, size_t len);
/* The same by its last bytes, where most programs put the list of images. */
#define XW_LAYOUT_TAIL ((size_t)64 << 10)
bool xw_layout_ends(const unsigned char *p, size_t len);

#endif
