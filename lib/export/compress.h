/* SPDX-License-Identifier: MIT */
/* Compression and archive formats through libarchive. */
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
	int level; /* XW_LEVEL_DEFAULT: the default of the method */
	unsigned jobs; /* threads, for methods that support them; 0: one per processor */
};

/* Limits of a format. Values outside of them are reported with the name of the item. */
struct xw_archive_format {
	const char *name;
	int code; /* libarchive's format code */
	bool links; /* hard links; else further names are empty files of the same inode number */
	uint32_t id_max;
	int64_t time_min, time_max; /* range of times in whole seconds */
	uint64_t size_max;
};

/*
 * Find a format by name: pax (*f is NULL), gnu, ustar, newc, odc, or another name used by tar(1)
 * and cpio(1). false: unknown name.
 */
bool xw_archive_format_by_name(const char *name, const struct xw_archive_format **f);
/* Find a method by name ("gzip", ...). false: unknown name. */
bool xw_compression_by_name(const char *name, enum xw_compression *c);
/*
 * Set format and compression from the suffix of a file name: ".tar.xz", ".tgz", ".cpio.zst". false:
 * unknown suffix.
 */
bool xw_archive_by_suffix(const char *file, struct xw_archive_opts *o);
/*
 * The suffix of an archive or a compressed file of a kind that is not written (".zip", ".lzma"),
 * in any case; NULL: none.
 */
const char *xw_archive_foreign_suffix(const char *file);

/* Compresses a stream in a thread of its own and passes the result to a write function. */
struct xw_compressor;
/* Both functions are called in the thread that writes to the compressor. */
struct xw_compressor_calls {
	xw_output_fn *write;
	/* Called at least every 100 ms; non-zero ends the run and is returned. May be NULL. */
	int (*tick)(void *arg);
	void *arg;
};
/* XW_ERR_USAGE: the method has no such level. XW_ERR_UNSUPPORTED: libarchive lacks the method. */
int xw_compressor_open(const struct xw_archive_opts *o, const struct xw_compressor_calls *calls,
		       struct xw_diag *diag, struct xw_compressor **out);
/* Compress bytes; usable as an xw_output_fn. */
int xw_compressor_write(void *c, const void *buf, size_t len);
/* End the stream and wait for the rest of the output. */
int xw_compressor_finish(void *c);
uint64_t xw_compressor_bytes(const struct xw_compressor *c); /* bytes written so far */
/*
 * c may be NULL. After an aborted run the thread may continue for a while, without touching
 * anything owned by the caller.
 */
void xw_compressor_free(struct xw_compressor *c);

/* Export to an archive of any format, compressed or not. */
int xw_image_to_archive(struct xw_image *img, const struct xw_export_opts *o,
			const struct xw_archive_opts *ao, xw_output_fn *write, void *arg,
			struct xw_export_stats *stats);

#endif
