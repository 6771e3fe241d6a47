/* SPDX-License-Identifier: MIT */
/* --transform: names changed by expressions of sed(1), with the extensions of GNU tar. */
#ifndef XW_IMPORT_TRANSFORM_H
#define XW_IMPORT_TRANSFORM_H

#include <regex.h>

#include "base/err.h"
#include "base/vec.h"
#include "import/source.h"

enum xw_transform_what { /* bits */
			 XW_TRANSFORM_NAME = 1,
			 XW_TRANSFORM_SYMLINK = 2, /* targets */
			 XW_TRANSFORM_HARDLINK = 4,
};

struct xw_transform {
	regex_t re;
	char *replacement; /* as written, without delimiters */
	unsigned nth; /* replace the nth match, 0 = the first */
	bool all; /* and all after it */
	unsigned what;
};

struct xw_transforms {
	XW_VEC(struct xw_transform) v;
	bool begun;
	unsigned what; /* default for what follows: "flags=..." */
	XW_VEC(char) text[2]; /* of one expression: result, and its source */
	XW_VEC(char) done[XW_TRANSFORM_HARDLINK + 1];
};

/* Add "s/REGEXP/REPLACEMENT/FLAGS", or several with ";" between. XW_ERR_USAGE. */
int xw_transforms_add(struct xw_transforms *t, const char *text, struct xw_diag *diag);
void xw_transforms_free(struct xw_transforms *t);
/* *name after all expressions for `what`; valid until the next call for the same.
 * 0 or XW_ERR_NOMEM. */
int xw_transforms_apply(struct xw_transforms *t, enum xw_transform_what what,
			struct xw_slice *name);

#endif
