/* SPDX-License-Identifier: MIT */
/*
 * Parser for the header of a gzip member (RFC 1952), which may arrive in pieces. Verifies the
 * header checksum, FHCRC, as gzip(1) does; isa-l and libarchive do not.
 */
#ifndef XW_IMPORT_GZIP_HEADER_H
#define XW_IMPORT_GZIP_HEADER_H

#include "base/types.h"

enum xw_gzip_header_state {
	XW_GZIP_HEADER_MORE, /* incomplete */
	XW_GZIP_HEADER_DONE,
	XW_GZIP_HEADER_INVALID, /* unknown method or flags */
	XW_GZIP_HEADER_CHECKSUM, /* FHCRC does not match */
};

struct xw_gzip_header { /* initially zero */
	enum xw_gzip_header_state state;
	unsigned phase;
	uint32_t at; /* number of bytes read of the current field */
	uint32_t value; /* value of a two-byte field */
	uint32_t crc; /* CRC of the bytes before FHCRC, without the final inversion */
	unsigned char flags;
};

/* Parse up to n bytes. Returns how many of them belong to the header. */
size_t xw_gzip_header_add(struct xw_gzip_header *h, const unsigned char *p, size_t n);
/* Can the remaining n bytes start a member? A single 0x1f can. */
static inline bool xw_gzip_begins(const unsigned char *p, size_t n)
{
	return n && p[0] == 0x1f && (n < 2 || p[1] == 0x8b);
}
/* Describes an invalid header. */
const char *xw_gzip_header_text(const struct xw_gzip_header *h);

#endif
