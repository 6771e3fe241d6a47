/* SPDX-License-Identifier: MIT */
/* Recognizes archives of container images, whose layers are archives themselves. */
#ifndef XW_IMPORT_LAYOUT_H
#define XW_IMPORT_LAYOUT_H

#include "import/source.h"

/* What a path at the top of a source says: bits, to be collected over all of its entries. */
unsigned xw_layout_mark(const struct xw_entry *e);
/* "an OCI image layout", "an archive of docker save"; NULL: these paths say neither. */
const char *xw_layout_kind(unsigned marks);

#endif
