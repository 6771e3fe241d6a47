/* SPDX-License-Identifier: MIT */
/* The parts of an image that are requested by path. */
#ifndef XW_EXPORT_PATHS_H
#define XW_EXPORT_PATHS_H

#include "export/children.h"

struct xw_path_list {
	char *const *v;
	size_t n;
};

/*
 * Look up paths below directory top, as roots for a walk: the names in *roots are whole paths. One
 * that is not there as it stands, and has any of * ? [ in it, is a pattern, matched component by
 * component. Paths below another one are dropped. A path that names the top itself means
 * everything: *all is set.
 *
 * What is not there is handed to missing(). 0, XW_ERR_NOMEM, or what missing() returned. Always
 * free *roots.
 */
int xw_paths_resolve(struct xw_image *img, xw_ino top, enum xw_export_order order,
		     const struct xw_path_list *paths, int (*missing)(void *arg, const char *path),
		     void *arg, struct xw_children *roots, bool *all);

#endif
