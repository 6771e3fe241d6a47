/* SPDX-License-Identifier: MIT */
/* Opens the store that --redo-file asks for: a file, or a directory of files. */
#include "config.h"

#include <string.h>
#include <sys/stat.h>

#include "commit/store.h"

static bool is_directory(const char *path)
{
	const size_t n = strlen(path);
	struct stat st;

	return (n && path[n - 1] == '/') || (!stat(path, &st) && S_ISDIR(st.st_mode));
}

int xw_redo_store_open(const char *image, const char *redo_file, uint64_t offset,
		       struct xw_diag *diag, struct xw_redo_store **out)
{
	if (redo_file && is_directory(redo_file))
		return xw_redo_store_dir(image, redo_file, offset, diag, out);
	return xw_redo_store_file(image, redo_file, offset, diag, out);
}
