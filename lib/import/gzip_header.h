/* SPDX-License-Identifier: MIT */
/*
 * The header of a gzip member (RFC 1952), which may arrive in pieces. Its own checksum, FHCRC, is
 * verified as gzip(1) does; isa-l and libarchive do not.
 */
#ifndef XW_IMPORT_GZIP_HEADER_H
#define XW_IMPORT_GZIP_HEADER_H

#include "base/types.h"

enum xw_gzip_header_state {
	XW_GZIP_HEADER_MORE, /* it has not ended */
	XW_GZIP_HEADER_DONE,
	XW_GZIP_HEADER_INVALID, /* method or flags are unknown */
	XW_GZIP_HEADER_CHECKSUM, /* FHCRC does not match */
};

struct xw_gzip_header { /* zeros at the beginning */
	enum xw_gzip_header_state state;
	unsigned phase;
	uint32_t at; /* bytes of the current field */
	uint32_t value; /* of a number of two bytes */
	uint32_t crc; /* of all before FHCRC, without the last inversion */
	unsigned char flags;
};

/* Read up to n bytes: returns how many belong to the header. */
size_t xw_gzip_header_add(struct xw_gzip_header *h, const unsigned char *p, size_t n);
/* May a member begin with the n bytes that are left? A lone 0x1f is the beginning of one. */
static inline bool xw_gzip_begins(const unsigned char *p, size_t n)
{
	return n && p[0] == 0x1f && (n < 2 || p[1] == 0x8b);
}
/* What is wrong with an invalid header. */
const char *xw_gzip_header_text(const struct xw_gzip_header *h);

#endif
