/* SPDX-License-Identifier: MIT */
/* The header of an image in the default format of e2image(8), observed with e2image 1.47.0. */
#ifndef XW_DISK_E2IMAGE_H
#define XW_DISK_E2IMAGE_H

#include <stdint.h>

#define XW_E2IMAGE_HEADER 0x12Cu /* bytes */

struct xw_e2image {
	uint32_t block_size; /* of the filesystem; as stored */
	uint32_t super, inodes, inode_bitmaps, block_bitmaps; /* offsets in the file */
};

/* XW_ERR_INPUT: no magic. Fields are not checked. */
int xw_e2image_decode(const void *buf, struct xw_e2image *out);

#endif
