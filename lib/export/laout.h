/* SPDX-License-Identifier: MIT */
/* libarchive as a writer, over a write function of ours. */
#ifndef XW_EXPORT_LAOUT_H
#define XW_EXPORT_LAOUT_H

#include "export/compress.h"

struct archive;

#define BLOCK_BYTES (64 << 10) /* what is written at once */
#define RECORD_BYTES 10240 /* what an archive that is not compressed is padded to */

struct xw_laout {
	struct archive *a;
	xw_output_fn *write;
	void *arg;
	struct xw_diag *diag;
	uint64_t bytes; /* written */
	int failed; /* sticky */
};

/*
 * format: an ARCHIVE_FORMAT_*, compressed as o says; the end is padded to `unit`. Always free it.
 */
int xw_laout_begin(struct xw_laout *l, const struct xw_archive_opts *o, int format, int unit,
		   xw_output_fn *write, void *arg, struct xw_diag *diag);
/* The failure of libarchive's last call: the write function's code where it was that. */
int xw_laout_fail(struct xw_laout *l, int code);
int xw_laout_finish(struct xw_laout *l);
void xw_laout_free(struct xw_laout *l);

#endif
