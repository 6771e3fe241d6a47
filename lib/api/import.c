// SPDX-License-Identifier: MIT
/* The public import handle: options by name, one run, and a result. */
#include "config.h"

#include "api/import.h"
#include "api/option.h"

#include <stdlib.h>
#include <string.h>

int xw_import_new(struct xw_import **out)
{
	struct xw_import *x = out ? calloc(1, sizeof(*x)) : NULL;

	if (!out)
		return XW_ERR_USAGE;
	*out = x;
	if (!x)
		return XW_ERR_NOMEM;
	xw_params_init(&x->m.params);
	x->m.params.now = (int64_t)time(NULL);
	return 0;
}

void xw_import_free(struct xw_import *x)
{
	if (!x)
		return;
	xw_mkfs_clear(&x->m);
	xw_json_free(&x->json);
	free(x->redo_file);
	free(x->redo_dir);
	free(x->undo_file);
	free(x);
}

/* Set -E, of which an import accepts keys that are not about a new filesystem. */
static int set_extended(struct xw_import *x, const char *value)
{
	const char *p = value ? value : "";

	while (*p) {
		const size_t len = strcspn(p, ",");

		if (strncmp(p, "offset=", 7) && strncmp(p, "mb_", 3) &&
		    strncmp(p, "root_from_source", XW_MAX(len, (size_t)16)))
			return xw_fail(&x->m.diag, XW_ERR_USAGE,
				       "-E %.*s: an existing image takes offset=, mb_...= and "
				       "root_from_source only",
				       (int)len, p);
		p += len + (p[len] == ',');
	}
	return xw_params_set(&x->m.params, XW_MKFS_EXTENDED, value, &x->m.diag);
}

int xw_import_set(struct xw_import *x, const char *option, const char *value)
{
	static const char *const flags[] = {"--dry-run", "--keep-old-files", "--skip-old-files",
					    NULL};
	int rc = xw_option_given(x ? &x->m.diag : NULL, option, "option");

	if (!rc)
		rc = xw_option_unused(x->m.ran, option, &x->m.diag);
	if (!rc)
		rc = xw_option_alone(flags, option, value, &x->m.diag);
	if (rc)
		return rc;
	if (!strcmp(option, "--commit"))
		return xw_commit_how_set(value, &x->how, &x->m.diag);
	if (!strcmp(option, "--redo-file"))
		return xw_run_set_text(&x->m, option, value, &x->redo_file);
	if (!strcmp(option, "--redo-dir"))
		return xw_run_set_text(&x->m, option, value, &x->redo_dir);
	if (!strcmp(option, "--undo-file"))
		return xw_run_set_text(&x->m, option, value, &x->undo_file);
	if (!strcmp(option, "--keep-old-files") || !strcmp(option, "--skip-old-files")) {
		x->existing = option[2] == 'k' ? XW_FILL_KEEP : XW_FILL_SKIP;
		return 0;
	}
	if (!strcmp(option, "--dry-run")) {
		x->dry_run = true;
		return 0;
	}
	if (!strcmp(option, "-E"))
		return set_extended(x, value);
	rc = xw_run_source_option(&x->m, option, value);
	return rc == XW_ERR_NOTFOUND
		       ? xw_fail(&x->m.diag, XW_ERR_USAGE, "unknown option %s", option)
		       : rc;
}

int xw_import_add_source(struct xw_import *x, const char *path)
{
	return xw_mkfs_add_source(x ? &x->m : NULL, path);
}

int xw_import_add_source_cb(struct xw_import *x, xw_read_cb *read, void *arg, const char *name)
{
	return xw_mkfs_add_source_cb(x ? &x->m : NULL, read, arg, name);
}

void xw_import_on_log(struct xw_import *x, xw_log_cb *cb, void *arg)
{
	xw_mkfs_on_log(x ? &x->m : NULL, cb, arg);
}

void xw_import_on_names(struct xw_import *x, xw_names_cb *cb, void *arg)
{
	xw_mkfs_on_names(x ? &x->m : NULL, cb, arg);
}

void xw_import_on_progress(struct xw_import *x, xw_progress_cb *cb, void *arg)
{
	xw_mkfs_on_progress(x ? &x->m : NULL, cb, arg);
}

const struct xw_import_result *xw_import_result(const struct xw_import *x)
{
	return x ? &x->result : NULL;
}

const char *xw_import_error(const struct xw_import *x)
{
	return x ? x->m.diag.text : XW_NO_HANDLE;
}

/* clang-format off */
#define RESULT_COUNTS(X) \
	X(files) \
	X(directories) \
	X(symlinks) \
	X(specials) \
	X(hardlinks) \
	X(new_inodes) \
	X(removed_inodes) \
	X(freed_blocks) \
	X(rebuilt_directories) \
	X(orphans) \
	X(data_blocks) \
	X(extents) \
	X(files_with_data) \
	X(inline_inodes) \
	X(replaced_blocks) \
	X(free_blocks) \
	X(free_inodes) \
	X(commit_blocks) \
	X(bytes_in) \
	X(bytes_written) \
	X(warnings)
/* clang-format on */

const char *xw_import_json(struct xw_import *x)
{
	const struct xw_import_result *r = xw_import_result(x);
	struct xw_json *j;
	const char *how;

	if (!x)
		return NULL;
	j = &x->json;
	how = x->dry_run ? "none" : r->commit ? r->commit : "auto";
	xw_json_free(j);
	xw_json_object(j, NULL);
	xw_json_u64(j, "block_size_bytes", r->block_size);
#define X(name) xw_json_u64(j, #name, r->name);
	RESULT_COUNTS(X)
#undef X
	xw_json_str(j, "commit", how, strlen(how));
	xw_json_bool(j, "dry_run", x->dry_run);
	xw_json_bool(j, "replayed", r->replayed);
	xw_json_f64(j, "seconds", r->seconds, 3);
	xw_run_stats_json(&x->m, j);
	xw_json_end(j, '}');
	return xw_json_text(j);
}
