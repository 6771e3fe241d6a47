/* SPDX-License-Identifier: MIT */
/* Archives through libarchive: compression around ours, and formats that it writes. */
#ifndef XW_EXPORT_COMPRESS_H
#define XW_EXPORT_COMPRESS_H

#include <limits.h>

#include "export/export.h"

enum xw_compression {
	XW_COMPRESS_NONE,
	XW_COMPRESS_BZIP2,
	XW_COMPRESS_GZIP,
	XW_COMPRESS_LZ4,
	XW_COMPRESS_XZ,
	XW_COMPRESS_ZSTD,
};

#define XW_LEVEL_DEFAULT INT_MIN

struct xw_archive_opts {
	const struct xw_archive_format *format; /* NULL: pax */
	enum xw_compression compression;
	int level; /* XW_LEVEL_DEFAULT: what the method thinks best */
	unsigned jobs; /* threads that compress, where the method can; 0: processors */
};

/* What a format can hold; what it cannot is told by the name of the item. */
struct xw_archive_format {
	const char *name;
	int code; /* libarchive's */
	bool links; /* further names as such; else as empty files of the same number */
	uint32_t id_max;
	int64_t time_min, time_max; /* whole seconds, all of them */
	uint64_t size_max;
};

/*
 * By name: pax (*f is NULL then), gnu, ustar, newc, odc, and what else tar(1) and cpio(1) call
 * them. false: none of these.
 */
bool xw_archive_format_by_name(const char *name, const struct xw_archive_format **f);
/* "gzip", ...; false: none of these. */
bool xw_compression_by_name(const char *name, enum xw_compression *c);
/* What the end of a file's name asks for: ".tar.xz", ".tgz", ".cpio.zst". false: nothing known. */
bool xw_archive_by_suffix(const char *file, struct xw_archive_opts *o);

/* Bytes that are compressed on their way to a write function, in a thread of their own. */
struct xw_compressor;
/* Both on the thread that writes to the compressor. */
struct xw_compressor_calls {
	xw_output_fn *write;
	/*
	 * Every 100 ms or so, and more often: non-zero ends the run and is returned by it. May be
	 * NULL.
	 */
	int (*tick)(void *arg);
	void *arg;
};
/* XW_ERR_USAGE: the method has no such level. XW_ERR_UNSUPPORTED: libarchive lacks the method. */
int xw_compressor_open(const struct xw_archive_opts *o, const struct xw_compressor_calls *calls,
		       struct xw_diag *diag, struct xw_compressor **out);
/* An xw_output_fn. */
int xw_compressor_write(void *c, const void *buf, size_t len);
/* The end of the stream. */
int xw_compressor_finish(void *c);
uint64_t xw_compressor_bytes(const struct xw_compressor *c); /* written so far */
/*
 * c may be NULL. Of a run that was given up the thread may go on for a while, touching nothing of
 * the caller's.
 */
void xw_compressor_free(struct xw_compressor *c);

/* Any format, compressed or not. */
int xw_image_to_archive(struct xw_image *img, const struct xw_export_opts *o,
			const struct xw_archive_opts *ao, xw_output_fn *write, void *arg,
			struct xw_export_stats *stats);

#endif
