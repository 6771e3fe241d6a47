/* SPDX-License-Identifier: MIT */
/* Archives written by libarchive through a write function of the caller. */
#ifndef XW_EXPORT_LAOUT_H
#define XW_EXPORT_LAOUT_H

#include "export/compress.h"

struct archive;

#define BLOCK_BYTES (64 << 10) /* size of one write */
#define RECORD_BYTES 10240 /* padding of an uncompressed archive */

struct xw_laout {
	struct archive *a;
	xw_output_fn *write;
	void *arg;
	struct xw_diag *diag;
	uint64_t bytes; /* bytes written */
	int failed; /* sticky */
};

/*
 * Start an archive of an ARCHIVE_FORMAT_*, compressed as o specifies and padded to a multiple of
 * `unit` bytes. Call xw_laout_free() even after a failure.
 */
int xw_laout_begin(struct xw_laout *l, const struct xw_archive_opts *o, int format, int unit,
		   xw_output_fn *write, void *arg, struct xw_diag *diag);
/* Report the failure of libarchive's last call: the write function's own code, or else `code`. */
int xw_laout_fail(struct xw_laout *l, int code);
int xw_laout_finish(struct xw_laout *l);
void xw_laout_free(struct xw_laout *l);

#endif
