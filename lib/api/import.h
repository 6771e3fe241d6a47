/* SPDX-License-Identifier: MIT */
/* The handle behind struct xw_import. */
#ifndef XW_API_IMPORT_H
#define XW_API_IMPORT_H

#include "api/run.h"
#include "commit/commit.h"

struct xw_import {
	struct xw_mkfs m; /* sources, how they are read, callbacks, diag; nothing of making */
	char *redo_file; /* owned; NULL: beside the image */
	enum xw_commit_how how;
	struct xw_import_result result;
	struct xw_json json;
};

#endif
