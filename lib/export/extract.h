/* SPDX-License-Identifier: MIT */
/* Files of an image in a directory of this machine, as tar(1) would unpack them. */
#ifndef XW_EXPORT_EXTRACT_H
#define XW_EXPORT_EXTRACT_H

#include "export/export.h"

enum xw_existing {
	XW_EXISTING_REPLACE, /* files are replaced, directories kept and added to */
	XW_EXISTING_KEEP, /* an existing file is a failure */
	XW_EXISTING_SKIP, /* an existing file stays, and that is fine */
};

struct xw_extract_opts {
	const char *dir; /* made where it is missing */
	bool same_owner;
	bool same_modes; /* all bits; else permission bits, less umask */
	uint32_t umask; /* of this process, which is not asked again */
	enum xw_existing existing;
};

/*
 * Write everything into eo->dir. Nothing leaves it: symbolic links on the way are never followed,
 * whoever made them. What cannot be made is logged with its path and counted as failed, and the run
 * goes on, but for a host without room (XW_ERR_HOSTFULL).
 */
int xw_image_to_dir(struct xw_image *img, const struct xw_export_opts *o,
		    const struct xw_extract_opts *eo, struct xw_export_stats *stats);

#endif
