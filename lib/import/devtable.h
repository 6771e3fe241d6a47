/* SPDX-License-Identifier: MIT */
/* Device tables of genext2fs(8) and Buildroot as a source; their entries have `listed` set. */
#ifndef XW_IMPORT_DEVTABLE_H
#define XW_IMPORT_DEVTABLE_H

#include "import/source.h"
#include "xattr/acl.h"

/* names resolves owners. Returns XW_ERR_IO, or XW_ERR_USAGE with the line in the message. */
int xw_devtable_open(const char *file, const struct xw_acl_names *names, struct xw_diag *diag,
		     struct xw_source **out);

#endif
