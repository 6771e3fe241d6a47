/* SPDX-License-Identifier: MIT */
/* --transform: changes names by sed(1) expressions with the extensions of GNU tar. */
#ifndef XW_IMPORT_TRANSFORM_H
#define XW_IMPORT_TRANSFORM_H

#include <regex.h>

#include "base/err.h"
#include "base/vec.h"
#include "import/source.h"

enum xw_transform_what { /* bits */
			 XW_TRANSFORM_NAME = 1,
			 XW_TRANSFORM_SYMLINK = 2, /* targets of symlinks */
			 XW_TRANSFORM_HARDLINK = 4,
};

struct xw_transform {
	regex_t re;
	char *replacement; /* unparsed, without delimiters */
	unsigned nth; /* replace the nth match, 0 = the first */
	bool all; /* also replace all following matches */
	unsigned what;
};

struct xw_transforms {
	XW_VEC(struct xw_transform) v;
	bool begun;
	unsigned what; /* scope of the next expressions: "flags=..." */
	XW_VEC(char) text[2]; /* result and input of one expression */
	XW_VEC(char) done[XW_TRANSFORM_HARDLINK + 1];
};

/*
 * Add "s/REGEXP/REPLACEMENT/FLAGS", or several expressions separated by ";". 0, XW_ERR_USAGE or
 * XW_ERR_NOMEM.
 */
int xw_transforms_add(struct xw_transforms *t, const char *text, struct xw_diag *diag);
void xw_transforms_free(struct xw_transforms *t);
/*
 * Apply all expressions with scope `what` to *name, which is valid until the next call with the
 * same scope. 0 or XW_ERR_NOMEM.
 */
int xw_transforms_apply(struct xw_transforms *t, enum xw_transform_what what,
			struct xw_slice *name);

#endif
