/* SPDX-License-Identifier: MIT */
/*
 * Files and devices by their first bytes: archives, compressed data, other filesystems, disk images
 * and volumes, for messages about an image or a source that is none.
 */
#ifndef XW_DISK_FOREIGN_H
#define XW_DISK_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XW_FOREIGN_LOOK 65608u /* number of bytes to examine */

enum xw_foreign_role {
	XW_FOREIGN_OTHER, /* neither an image nor a source */
	XW_FOREIGN_ARCHIVE, /* may be a source */
	XW_FOREIGN_COMPRESSED, /* an archive or an image may be inside */
};

struct xw_foreign {
	uint32_t at; /* offset and length of the magic */
	uint8_t len;
	uint8_t role; /* enum xw_foreign_role */
	const char *magic;
	const char *what; /* with an article: "a qcow2 image" */
	const char *advice; /* what converts or opens it; NULL: none */
};

/* The type of a file with these first bytes; NULL: unknown, or an ext2, ext3 or ext4 filesystem. */
const struct xw_foreign *xw_foreign_find(const void *p, size_t len);
/* "an ext4 image", if a superblock follows the first 1024 bytes; else NULL. */
const char *xw_foreign_ext(const void *p, size_t len);

#endif
