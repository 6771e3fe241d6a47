/* SPDX-License-Identifier: MIT */
/* The contents of files and symbolic links, wherever they are stored: blocks, i_block, inline data.
 */
#ifndef XW_READ_FILE_H
#define XW_READ_FILE_H

#include "read/map.h"

#pragma GCC visibility push(default)

/* Bytes; inline data is smaller than an inode plus one attribute value. */
#define XW_INLINE_MAX (64u << 10)

/*
 * The file's bytes [off, off + len), clipped to its size; *got says how many there were. Holes and
 * unwritten extents read as zeros. raw (the inode's record) is needed for inline data, and may be
 * NULL where that is excluded.
 */
int xw_file_pread(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		  const uint8_t *raw, uint64_t off, void *buf, size_t len, size_t *got);

/*
 * A symlink's target into buf (block_size + 1 bytes), NUL-terminated; *len without the NUL.
 * XW_ERR_CORRUPT: empty, too long, or with a NUL in it.
 */
int xw_symlink_read(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		    const uint8_t *raw, char *buf, size_t *len);

#pragma GCC visibility pop

#endif
