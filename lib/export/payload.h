/* SPDX-License-Identifier: MIT */
/* File contents for an archive: find the data in a file and copy it. */
#ifndef XW_EXPORT_PAYLOAD_H
#define XW_EXPORT_PAYLOAD_H

#include "export/output.h"
#include "read/map.h"

/* A data segment of a file: [off, off + len); the range before the next segment is a hole. */
struct xw_data_segment {
	uint64_t off, len;
};

/* The layout of the contents, which must be known before the header is written. */
struct xw_payload {
	struct xw_image *img;
	xw_ino ino;
	const struct xw_inode *inode;
	const uint8_t *raw;
	bool sparse; /* the file has holes */
	uint64_t segments;
	uint64_t data; /* total size of the data in bytes */
	uint64_t map_len; /* size of the GNU.sparse 1.0 map in bytes, padded */
};

/*
 * Determine the layout from the map of the file; unwritten extents are holes. Fails if the map
 * cannot be read; then nothing of the member was written yet.
 */
int xw_payload_plan(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		    const uint8_t *raw, struct xw_payload *p);
/* Number of bytes that xw_payload_put will write, excluding padding. */
uint64_t xw_payload_size(const struct xw_payload *p);
/*
 * Write the map of a sparse file, the data and padding. 0, or a failure of the output. *damage is
 * set to the code of the first read failure: unreadable data is replaced by zeros, since the header
 * states the size.
 */
int xw_payload_put(const struct xw_payload *p, struct xw_output *o, int *damage);

/*
 * Read the data in ascending order into buf, at most `size` bytes at a time, and pass each piece to
 * `each`; holes are skipped. 0, or a non-zero result of `each`. Unreadable data is passed as zeros,
 * and *damage is set as by xw_payload_put().
 */
int xw_payload_each(const struct xw_payload *p, void *buf, size_t size,
		    int (*each)(void *arg, uint64_t off, const void *data, size_t len), void *arg,
		    int *damage);

#endif
