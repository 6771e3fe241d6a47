/* SPDX-License-Identifier: MIT */
/*
 * Where an image is, as a redo file notes it: two copies of a filesystem have the same UUID, but
 * never the same place. A place is known only until the next boot, and only to the host that made
 * it, since numbers of devices are reused; a device that was detached, or a file that was replaced,
 * is another place. That of a loop device is the one of its file.
 */
#ifndef XW_COMMIT_PLACE_H
#define XW_COMMIT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

struct xw_redo_place {
	uint8_t boot[16]; /* boot ID of the kernel; zeros: the place is not known */
	uint64_t device; /* number of the block device, or of that of the file */
	uint64_t number; /* sequence number of the disk, or inode number of the file */
	uint64_t born; /* of a file: when it was created, in nanoseconds */
	uint64_t offset; /* of the image in it, in bytes */
};

/* The place of an image that begins `offset` bytes into the file or block device `path`. */
void xw_redo_place_of(const char *path, uint64_t offset, struct xw_redo_place *out);
/* Are both known, and the same? */
bool xw_redo_place_same(const struct xw_redo_place *a, const struct xw_redo_place *b);
/* Are both known, and different? Files have their times of creation over a boot, too. */
bool xw_redo_place_differs(const struct xw_redo_place *a, const struct xw_redo_place *b);

#endif
