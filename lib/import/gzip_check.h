/* SPDX-License-Identifier: MIT */
/*
 * The checksums of a gzip stream, which libarchive's filter skips. It watches the compressed bytes
 * go in and the plain bytes come out, and says at the end whether they agree.
 */
#ifndef XW_IMPORT_GZIP_CHECK_H
#define XW_IMPORT_GZIP_CHECK_H

#include "base/types.h"
#include "base/vec.h"

struct xw_gzip_end { /* where a member may have ended: its trailer, as far as it is one */
	uint32_t crc, size;
	uint64_t seen_at; /* bytes of output at that time */
};

#define XW_GZIP_TAIL 64

struct xw_gzip_check {
	uint64_t start, at; /* of the member, of the output */
	uint32_t crc; /* of [start, at), without the final inversion */
	bool unsure; /* too many possible ends: judge nothing */
	bool begun; /* input was seen */
	unsigned char tail[XW_GZIP_TAIL]; /* the input before `piece`, zeros before its start */
	const unsigned char *piece; /* handed out last */
	size_t piece_len;
	XW_VEC(struct xw_gzip_end) ends; /* in order of the input */
	size_t first; /* of them still to be judged */
	uint32_t table[8][256];
};

void xw_gzip_check_init(struct xw_gzip_check *g);
void xw_gzip_check_free(struct xw_gzip_check *g);
/*
 * How many of the n > 0 bytes of input at p may go to the decompressor now: it must not see what
 * may be the next member before it asks for it. 0: not decided, more must be added behind (there is
 * more: !last). What the
 * last call that was not 0 gave must stay as it is until the next such call.
 */
size_t xw_gzip_check_in(struct xw_gzip_check *g, const unsigned char *p, size_t n, bool last);
void xw_gzip_check_out(struct xw_gzip_check *g, const unsigned char *p, size_t n);
/* After all output: does it have the checksum and length that the input says? */
bool xw_gzip_check_end(struct xw_gzip_check *g);

#endif
