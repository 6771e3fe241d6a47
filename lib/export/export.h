/* SPDX-License-Identifier: MIT */
/* An image, or part of it, as an archive, files in a directory, or a listing. */
#ifndef XW_EXPORT_EXPORT_H
#define XW_EXPORT_EXPORT_H

#include "export/output.h"
#include "export/paths.h"
#include "export/walk.h"

struct xw_export_stats {
	uint64_t files, directories, symlinks, specials, hardlinks;
	uint64_t sparse_files, xattrs, acls;
	uint64_t sockets; /* left out of archives */
	uint64_t damaged; /* items that the image did not give, or not all of */
	uint64_t failed; /* items that could not be written as they are */
	uint64_t missing; /* paths that were asked for and are not there */
	uint64_t data_bytes, bytes_out;
};

/* Zero-initialised exports everything. */
struct xw_export_opts {
	const char *top; /* directory to take; NULL: the root */
	struct xw_path_list paths; /* below top; none: everything */
	enum xw_export_order order;
	const struct xw_select *select; /* what is left out, and changed; or NULL */
	bool no_xattrs, no_acls;
	/* Called for each item; non-zero ends the run and is returned. May be NULL. */
	int (*tick)(void *arg, const struct xw_export_stats *so_far);
	void *tick_arg;
};

struct xw_export_item {
	const struct xw_walk_item *at; /* owner and mode as selected */
	const char *path; /* as the archive has it; "" is the top */
	const char *link; /* of a symlink, or the first name of a file that has more; else NULL */
	bool hardlink; /* a further name */
};

/*
 * All of these: what cannot be read is logged at warning level, left out (or, when it turns out in
 * the middle of a file, filled with zeros), and makes the result XW_ERR_CORRUPT once all the rest
 * is written. Paths that are not there make it XW_ERR_NOTFOUND; what could not be written as it is
 * XW_ERR_UNSUPPORTED (archives) or XW_ERR_IO (files). Failures of the output end the run.
 */

/* As a pax archive. */
int xw_image_to_tar(struct xw_image *img, const struct xw_export_opts *o, xw_output_fn *write,
		    void *arg, struct xw_export_stats *stats);
/* The same walk without contents; `each` non-zero ends it and is returned. */
int xw_image_to_list(struct xw_image *img, const struct xw_export_opts *o,
		     int (*each)(void *arg, const struct xw_export_item *item), void *arg,
		     struct xw_export_stats *stats);

#endif
