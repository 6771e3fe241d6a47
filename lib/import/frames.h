/* SPDX-License-Identifier: MIT */
/*
 * Finds the end of zstd, lz4 and xz streams: sequences of frames whose headers contain the lengths
 * of their blocks. libarchive's filters for these formats reject trailing data as damage, or
 * consume part of it.
 */
#ifndef XW_IMPORT_FRAMES_H
#define XW_IMPORT_FRAMES_H

#include "base/types.h"

enum xw_frames_kind { XW_FRAMES_NONE, XW_FRAMES_ZSTD, XW_FRAMES_LZ4, XW_FRAMES_XZ };

struct xw_frames {
	enum xw_frames_kind kind; /* NONE: unknown, all input is passed on */
	unsigned phase;
	uint64_t skip; /* bytes before the next header */
	bool ended;
	unsigned check; /* size of the checksum after a frame, or after an xz block */
	bool block_check; /* lz4: blocks have checksums */
	/* xz: */
	uint64_t at; /* offset in the block or index */
	uint64_t value, records;
	unsigned bits;
};

/* The format of data with these first bytes. */
enum xw_frames_kind xw_frames_kind(const unsigned char *p, size_t n);
/*
 * How many of the n bytes at p belong to the stream, as far as known now. Fewer than n at its end
 * (`ended`), or if a header is incomplete and more input must be appended (not with last). For
 * damaged data, `kind` becomes NONE, and all bytes are passed on for the decompressor to report the
 * damage.
 */
size_t xw_frames_in(struct xw_frames *f, const unsigned char *p, size_t n, bool last);

#endif
