/* SPDX-License-Identifier: MIT */
/*
 * Where compressed data ends: zstd, lz4 and xz are sequences of frames whose headers give the
 * lengths of their blocks. libarchive's filters for them take what follows the last frame for
 * damage, or consume a part of it.
 */
#ifndef XW_IMPORT_FRAMES_H
#define XW_IMPORT_FRAMES_H

#include "base/types.h"

enum xw_frames_kind { XW_FRAMES_NONE, XW_FRAMES_ZSTD, XW_FRAMES_LZ4, XW_FRAMES_XZ };

struct xw_frames {
	enum xw_frames_kind kind; /* NONE: nothing is known, all input is passed on */
	unsigned phase;
	uint64_t skip; /* bytes up to the next header */
	bool ended;
	unsigned check; /* size of what follows a frame, or a block of xz */
	bool block_check; /* lz4 */
	/* xz */
	uint64_t at; /* in the block, or in the index */
	uint64_t value, records;
	unsigned bits;
};

/* The kind that begins with these bytes. */
enum xw_frames_kind xw_frames_kind(const unsigned char *p, size_t n);
/*
 * How many of the n bytes at p belong to the data, as far as that can be told now: fewer than n
 * with `ended`, or if the rest of a header must be appended (not with last). Damage: all, and kind
 * becomes NONE; the decompressor reports it.
 */
size_t xw_frames_in(struct xw_frames *f, const unsigned char *p, size_t n, bool last);

#endif
