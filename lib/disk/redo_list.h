/* SPDX-License-Identifier: MIT */
/*
 * A block of the list of a redo record in an image (commit/inside.h); little-endian:
 *
 *   0x00  magic "XW-INSD1"
 *   0x08  le32 block size in bytes, the unit of all block numbers here
 *   0x0C  le32 crc32c of this block with this field set to zero
 *   0x10  UUID of the filesystem before the change
 *   0x20  le64 nonce
 *   0x28  le64 length of the record in bytes
 *   0x30  le64 next block of the list; 0: none
 *   0x38  le32 number of runs in this block
 *   0x3C  le32 number of blocks of the list before this one
 *   0x40  le64 size of the image in bytes before the change, for a record after its end; else 0
 *   0x48  zero
 *   0x50  le64 first block, le64 number of blocks, for each run, in the order of the record
 */
#ifndef XW_DISK_REDO_LIST_H
#define XW_DISK_REDO_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

#define XW_REDO_LIST_HEADER 0x50u /* bytes before the runs */

struct xw_redo_list {
	uint32_t block_size;
	uint8_t uuid[16];
	uint64_t nonce;
	uint64_t bytes; /* of the record */
	uint64_t next; /* block of the list; 0: none */
	uint32_t n; /* runs in this block */
	uint32_t index; /* of this block in the list */
	uint64_t size; /* of the image before the change; 0: the record is not after its end */
};

/* Number of runs in a block. */
size_t xw_redo_list_max(uint32_t block_size);
/*
 * The block size in the first XW_REDO_LIST_HEADER bytes of a list; false: there is no list, or the
 * size is not a possible one. Nothing else is verified.
 */
bool xw_redo_list_peek(const void *buf, uint32_t *block_size);
/*
 * Decode a block of block_size bytes. XW_ERR_CORRUPT: no list, a wrong checksum, another block
 * size, or more runs than the block has. Run numbers are not checked.
 */
int xw_redo_list_decode(const void *buf, uint32_t block_size, struct xw_redo_list *out);
/* Run i, less than n. */
struct xw_run xw_redo_list_run(const void *buf, size_t i);
/* Encode a block with l->n runs. */
void xw_redo_list_encode(const struct xw_redo_list *l, const struct xw_run *runs, void *buf);

#endif
