/* SPDX-License-Identifier: MIT */
/* Exports an image or part of it: as an archive, as files in a directory, or as a listing. */
#ifndef XW_EXPORT_EXPORT_H
#define XW_EXPORT_EXPORT_H

#include "export/output.h"
#include "export/paths.h"
#include "export/walk.h"

struct xw_export_stats {
	uint64_t files, directories, symlinks, specials, hardlinks;
	uint64_t sparse_files, xattrs, acls;
	uint64_t sockets; /* excluded from archives */
	uint64_t damaged; /* items that could not be read completely */
	uint64_t failed; /* items that could not be written unchanged */
	uint64_t missing; /* requested paths that do not exist */
	uint64_t data_bytes, bytes_out;
};

/* A zero-initialized struct exports everything. */
struct xw_export_opts {
	const char *top; /* directory to export; NULL: the root */
	struct xw_path_list paths; /* paths to export, relative to top; empty: everything */
	enum xw_export_order order;
	const struct xw_select *select; /* exclusions and changes of attributes, or NULL */
	bool no_xattrs, no_acls;
	/* Called for each item; non-zero ends the run and is returned. May be NULL. */
	int (*tick)(void *arg, const struct xw_export_stats *so_far);
	void *tick_arg;
};

struct xw_export_item {
	const struct xw_walk_item *at; /* owner and mode after selection */
	const char *path; /* path in the archive; "" is the top */
	size_t path_len;
	/* target of a symbolic link; path of the first name if hardlink is set; else NULL */
	const char *link;
	bool hardlink; /* the item is a further name of a file */
};

/*
 * Common to all exports: unreadable items are logged as warnings and skipped (if the error occurs
 * in the middle of a file, the rest is filled with zeros), and the result is XW_ERR_CORRUPT after
 * everything else is written, or XW_ERR_UNSUPPORTED if all of them are encrypted. It is
 * XW_ERR_NOTFOUND if requested paths are missing, and
 * XW_ERR_UNSUPPORTED (archives) or XW_ERR_IO (files) if items could not be written unchanged.
 * Failures of the output end the run.
 */

/* Export to a pax archive. */
int xw_image_to_tar(struct xw_image *img, const struct xw_export_opts *o, xw_output_fn *write,
		    void *arg, struct xw_export_stats *stats);
/* List the items without contents; a non-zero result of `each` ends the run and is returned. */
int xw_image_to_list(struct xw_image *img, const struct xw_export_opts *o,
		     int (*each)(void *arg, const struct xw_export_item *item), void *arg,
		     struct xw_export_stats *stats);

#endif
