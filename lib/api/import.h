/* SPDX-License-Identifier: MIT */
/* The handle behind struct xw_import. */
#ifndef XW_API_IMPORT_H
#define XW_API_IMPORT_H

#include "api/run.h"
#include "session/edit.h"

struct xw_import {
	/* sources and their options, callbacks, diag; members for creating an image are unused */
	struct xw_mkfs m;
	char *redo_file, *redo_dir; /* as in xw_edit_opts; owned, or NULL */
	char *undo_file; /* owned; NULL: none */
	enum xw_fill_existing existing;
	bool dry_run;
	enum xw_commit_how how;
	struct xw_import_result result;
	struct xw_json json;
};

/* Run an import on edit e, which is always ended; path is used in messages. e NULL: open path. */
int xw_import_run_edit(struct xw_import *x, const char *path, struct xw_edit *e);

#endif
