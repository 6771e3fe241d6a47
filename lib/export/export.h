/* SPDX-License-Identifier: MIT */
/* An image, or a directory of it, as a tar stream or a listing. */
#ifndef XW_EXPORT_EXPORT_H
#define XW_EXPORT_EXPORT_H

#include "export/output.h"
#include "export/walk.h"

struct xw_export_stats {
	uint64_t files, directories, symlinks, specials, hardlinks;
	uint64_t sparse_files, xattrs, acls;
	uint64_t sockets; /* left out */
	uint64_t damaged; /* items left out or incomplete */
	uint64_t data_bytes, bytes_out;
};

/* Zero-initialised exports everything. */
struct xw_export_opts {
	const char *top; /* directory to take; NULL: the root */
	bool (*prune)(void *arg, const char *path, size_t len); /* true: leave it out, or NULL */
	void *prune_arg;
	/* Called for each item; non-zero ends the run and is returned. May be NULL. */
	int (*tick)(void *arg, const struct xw_export_stats *so_far);
	void *tick_arg;
};

/*
 * Write everything as a pax archive. What cannot be read is logged at warning level, left out (or,
 * when it turns out in the middle of a file, filled with zeros), and makes the result
 * XW_ERR_CORRUPT once all the rest is written; output failures end the run.
 */
int xw_image_to_tar(struct xw_image *img, const struct xw_export_opts *o, xw_output_fn *write,
		    void *arg, struct xw_export_stats *stats);

struct xw_export_item {
	const struct xw_walk_item *at;
	const char *link; /* of a symlink, or of a further name of a file; else NULL */
	bool hardlink;
};
/* The same walk without contents; `each` non-zero ends it and is returned. */
int xw_image_to_list(struct xw_image *img, const struct xw_export_opts *o,
		     int (*each)(void *arg, const struct xw_export_item *item), void *arg,
		     struct xw_export_stats *stats);

#endif
