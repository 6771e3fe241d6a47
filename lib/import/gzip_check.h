/* SPDX-License-Identifier: MIT */
/*
 * Verifies the checksums of a gzip stream, which libarchive's filter skips: observes the compressed
 * input and the decompressed output, and compares them at the end.
 */
#ifndef XW_IMPORT_GZIP_CHECK_H
#define XW_IMPORT_GZIP_CHECK_H

#include "base/types.h"
#include "base/vec.h"

struct xw_gzip_end { /* a candidate: the end of a member, if `crc` and `size` are its trailer */
	uint32_t crc, size;
	uint64_t seen_at; /* output position when it was found */
};

#define XW_GZIP_TAIL 64

struct xw_gzip_check {
	uint64_t start, at; /* output offsets: start of the member, and current position */
	uint32_t crc; /* CRC of [start, at), without the final inversion */
	bool unsure; /* too many candidates: report no error */
	bool begun; /* input was seen */
	unsigned char tail[XW_GZIP_TAIL]; /* input before `piece`, padded with zeros at the front */
	const unsigned char *piece; /* the piece returned last */
	size_t piece_len;
	XW_VEC(struct xw_gzip_end) ends; /* in input order */
	size_t first; /* index of the first one not judged yet */
	uint32_t table[8][256];
};

void xw_gzip_check_init(struct xw_gzip_check *g);
void xw_gzip_check_free(struct xw_gzip_check *g);
/*
 * How many of the n > 0 input bytes at p may be passed to the decompressor now: it must not see a
 * candidate for the next member before it requests more input. 0: undecided, more input must be
 * appended (only if !last). The bytes of the last non-zero result must stay unchanged until the
 * next one.
 */
size_t xw_gzip_check_in(struct xw_gzip_check *g, const unsigned char *p, size_t n, bool last);
void xw_gzip_check_out(struct xw_gzip_check *g, const unsigned char *p, size_t n);
/* After all output: do checksum and length match the input? */
bool xw_gzip_check_end(struct xw_gzip_check *g);

#endif
