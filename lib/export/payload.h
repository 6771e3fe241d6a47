/* SPDX-License-Identifier: MIT */
/* File contents on the way into an archive: which parts are data, and copying them. */
#ifndef XW_EXPORT_PAYLOAD_H
#define XW_EXPORT_PAYLOAD_H

#include "export/output.h"
#include "read/map.h"

/* The data of a file: [off, off + len), with all before the next segment a hole. */
struct xw_data_segment {
	uint64_t off, len;
};

/* What must be known before the header is written. */
struct xw_payload {
	struct xw_image *img;
	xw_ino ino;
	const struct xw_inode *inode;
	const uint8_t *raw;
	bool sparse; /* there are holes */
	uint64_t segments;
	uint64_t data; /* bytes in them */
	uint64_t map_len; /* bytes of the GNU.sparse 1.0 map, padded */
};

/*
 * Look at the file's map once. Unwritten extents are holes. Fails when the map cannot be read,
 * which is before anything was written.
 */
int xw_payload_plan(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		    const uint8_t *raw, struct xw_payload *p);
/* Bytes that xw_payload_put will write, padding not counted. */
uint64_t xw_payload_size(const struct xw_payload *p);
/*
 * Write map (of a sparse file), data and padding. 0, or the output's failure. *damage gets the code
 * of a failure to read the image, after which zeros stand for what was not read: the header has
 * promised a size.
 */
int xw_payload_put(const struct xw_payload *p, struct xw_output *o, int *damage);

/*
 * The data alone, in pieces of at most `size` bytes (through buf), ascending; holes are not given.
 * 0, or what `each` returned. *damage as above; what could not be read is given as zeros.
 */
int xw_payload_each(const struct xw_payload *p, void *buf, size_t size,
		    int (*each)(void *arg, uint64_t off, const void *data, size_t len), void *arg,
		    int *damage);

#endif
