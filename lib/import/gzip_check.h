/* SPDX-License-Identifier: MIT */
/*
 * The checksums of a gzip stream, which libarchive's filter skips. Observes the compressed input
 * and the decompressed output, and tells at the end whether they agree.
 */
#ifndef XW_IMPORT_GZIP_CHECK_H
#define XW_IMPORT_GZIP_CHECK_H

#include "base/types.h"
#include "base/vec.h"

struct xw_gzip_end { /* a possible end of a member: its trailer, if it is one */
	uint32_t crc, size;
	uint64_t seen_at; /* number of output bytes at that time */
};

#define XW_GZIP_TAIL 64

struct xw_gzip_check {
	uint64_t start, at; /* start of the member and current position in the output */
	uint32_t crc; /* of [start, at), without the final inversion */
	bool unsure; /* too many candidates: report nothing */
	bool begun; /* input was seen */
	unsigned char tail[XW_GZIP_TAIL]; /* the input before `piece`, zeros before its start */
	const unsigned char *piece; /* the piece returned last */
	size_t piece_len;
	XW_VEC(struct xw_gzip_end) ends; /* in input order */
	size_t first; /* first one not judged yet */
	uint32_t table[8][256];
};

void xw_gzip_check_init(struct xw_gzip_check *g);
void xw_gzip_check_free(struct xw_gzip_check *g);
/*
 * How many of the n > 0 bytes of input at p may be passed to the decompressor now: it must not see
 * a possible next member before it requests it. 0: undecided, more input must be appended (requires
 * !last). The bytes of the last non-zero result must stay unchanged until the next one.
 */
size_t xw_gzip_check_in(struct xw_gzip_check *g, const unsigned char *p, size_t n, bool last);
void xw_gzip_check_out(struct xw_gzip_check *g, const unsigned char *p, size_t n);
/* After all output: do checksum and length agree with the input? */
bool xw_gzip_check_end(struct xw_gzip_check *g);

#endif
