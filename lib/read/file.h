/* SPDX-License-Identifier: MIT */
/* The contents of files and symbolic links, stored in blocks, in i_block or as inline data. */
#ifndef XW_READ_FILE_H
#define XW_READ_FILE_H

#include "read/map.h"

/* Maximum size of inline data in bytes: less than an inode plus one attribute value. */
#define XW_INLINE_MAX (64u << 10)

/*
 * Read bytes [off, off + len) of a file, clipped to its size; *got is set to their number. Holes
 * and unwritten extents read as zeros. raw (the inode record) is needed only for inline data, else
 * it may be NULL.
 */
int xw_file_pread(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		  const uint8_t *raw, uint64_t off, void *buf, size_t len, size_t *got);

/*
 * mapped.c: the same of an inode without inline data, for off and len within its size. Only its map
 * is used.
 */
int xw_mapped_pread(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, uint64_t off,
		    uint8_t *buf, size_t len);

/*
 * Read the target of a symlink into buf (block_size + 1 bytes), NUL-terminated; *len excludes the
 * NUL. XW_ERR_CORRUPT: empty, too long, or containing a NUL.
 */
int xw_symlink_read(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		    const uint8_t *raw, char *buf, size_t *len);

#endif
