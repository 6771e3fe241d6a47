/* SPDX-License-Identifier: MIT */
/* Extracts files of an image to a directory of the host, as tar(1) does. */
#ifndef XW_EXPORT_EXTRACT_H
#define XW_EXPORT_EXTRACT_H

#include "export/export.h"

enum xw_existing {
	XW_EXISTING_REPLACE, /* files are replaced, directories are merged */
	XW_EXISTING_KEEP, /* an existing file is a failure */
	XW_EXISTING_SKIP, /* an existing file is skipped without a failure */
};

struct xw_extract_opts {
	const char *dir; /* created if missing */
	bool same_owner;
	bool same_modes; /* set all mode bits; else the permission bits minus umask */
	uint32_t umask; /* of this process; querying it would change it for other threads */
	enum xw_existing existing;
	/* Called for each item that was created; non-zero ends the run and is returned. Or NULL. */
	int (*made)(void *arg, const struct xw_export_item *item);
	void *made_arg;
};

/*
 * Extract into eo->dir and write nothing outside of it: symbolic links in its subdirectories are
 * never followed. Items that cannot be created are logged with their path and counted as failed,
 * and the run continues, unless the host has no space left (XW_ERR_HOSTFULL).
 */
int xw_image_to_dir(struct xw_image *img, const struct xw_export_opts *o,
		    const struct xw_extract_opts *eo, struct xw_export_stats *stats);

#endif
