/* SPDX-License-Identifier: MIT */
/* Paths relative to the exported directory, and the paths that a user requests. */
#ifndef XW_EXPORT_PATHS_H
#define XW_EXPORT_PATHS_H

#include <string.h>

#include "export/children.h"

/* Is the path equal to dir or below it? dir may be "". */
static inline bool xw_path_is_below(const char *path, size_t len, const char *dir, size_t dir_len)
{
	return !dir_len || (len >= dir_len && !memcmp(path, dir, dir_len) &&
			    (len == dir_len || path[dir_len] == '/'));
}

struct xw_path_list {
	char *const *v;
	size_t n;
};

/*
 * Look up paths below directory top, as roots for a walk: the names in *roots are whole paths. If a
 * path does not exist literally and contains any of * ? [, it is matched as a pattern, component by
 * component. Paths below another requested path are dropped. If a path names the top itself, *all
 * is set.
 *
 * missing() is called for each path that does not exist. 0, XW_ERR_NOMEM, or a non-zero result of
 * missing(). Always free *roots.
 */
int xw_paths_resolve(struct xw_image *img, xw_ino top, enum xw_export_order order,
		     const struct xw_path_list *paths, int (*missing)(void *arg, const char *path),
		     void *arg, struct xw_children *roots, bool *all);

#endif
