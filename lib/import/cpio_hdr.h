/* SPDX-License-Identifier: MIT */
/* The header of a cpio member, in all formats. Pure functions on buffers. */
#ifndef XW_IMPORT_CPIO_HDR_H
#define XW_IMPORT_CPIO_HDR_H

#include <stddef.h>
#include <stdint.h>

#include "base/types.h"

#define XW_CPIO_MAGIC 6u /* number of bytes that identify a format */
#define XW_CPIO_HDR_MAX 116u

struct xw_cpio_hdr {
	uint64_t dev, ino; /* identify the file among the members of its archive */
	uint32_t mode; /* with the file type */
	uint32_t uid, gid, links;
	uint32_t rdev_major, rdev_minor;
	uint64_t mtime;
	uint32_t name_size; /* with the NUL */
	uint64_t size;
	uint32_t sum; /* sum of all bytes of a regular file, modulo 2^32, if has_sum */
	bool has_sum;
	unsigned align; /* the name, with the header, and the data are padded to a multiple */
	size_t bytes; /* size of the header */
};

/* Size of the header that starts with these XW_CPIO_MAGIC bytes; 0: not a cpio archive. */
size_t xw_cpio_hdr_size(const unsigned char *p);
/* Decode a header of that size: 0, or XW_ERR_INPUT for a malformed number. */
int xw_cpio_hdr_decode(const unsigned char *p, struct xw_cpio_hdr *h);

#endif
