/* SPDX-License-Identifier: MIT */
/*
 * Fast commits: small changes to inodes and names that a journal stores after its transactions, in
 * a separate area at its end. They are sequences of tagged little-endian fields that never cross a
 * block boundary. These functions are pure and never read outside the block.
 *
 * Source: kernel documentation "Journal (jbd2)", section "Fast commits", for the tags and their
 * meaning; areas written by Linux 6.18 for numbers, offsets, the checksum and the order of fields:
 * - the first block of the area is unused; the second begins with a HEAD, the only one in the area
 * - every fast commit begins at a block and ends with a TAIL that fills its last block
 * - the checksum is crc32c, started with 0, from the first block of the commit up to and including
 *   the transaction number of the TAIL
 * - a new file is INODE, ADD_RANGE, CREAT, and a second INODE if it changed since; a file that lost
 *   its last name has an UNLINK and no INODE, and its number may be reused at once
 * - an inode record has the length of the inode's fields, or of the whole record with inline data
 * - directory blocks and map blocks are not included
 */
#ifndef XW_DISK_FAST_H
#define XW_DISK_FAST_H

#include "disk/extent.h"

enum xw_fast_tag {
	XW_FAST_ADD_RANGE = 1,
	XW_FAST_DEL_RANGE,
	XW_FAST_CREAT,
	XW_FAST_LINK,
	XW_FAST_UNLINK,
	XW_FAST_INODE,
	XW_FAST_PAD,
	XW_FAST_TAIL,
	XW_FAST_HEAD,
};

struct xw_fast_field {
	enum xw_fast_tag tag;
	xw_ino ino; /* all fields but PAD, TAIL, HEAD */
	struct xw_extent range; /* ADD_RANGE; DEL_RANGE: lblk and len */
	xw_ino dir; /* CREAT, LINK, UNLINK */
	const uint8_t *bytes; /* the name; INODE: the record; points into the block */
	uint32_t len; /* length of `bytes` */
	uint32_t tid; /* HEAD, TAIL */
	uint32_t features; /* HEAD: none are known */
	uint32_t csum; /* TAIL: as stored */
	uint32_t at; /* TAIL: the checksum covers the block up to this byte */
};

/* A position in a block; zero-initialized but for the first two fields. */
struct xw_fast_iter {
	const void *blk;
	uint32_t size;
	uint32_t off;
};
/*
 * 1 and *out; 0 at the end of the block or after a TAIL; XW_ERR_CORRUPT: an unknown tag, an invalid
 * length for the tag, a name of 0 or more than 255 bytes, an empty range.
 */
int xw_fast_next(struct xw_fast_iter *it, struct xw_fast_field *out);

/* Scans the blocks of an area, from the second on, for complete fast commits. */
struct xw_fast_scan {
	uint32_t tid; /* transaction that follows the log; set by the caller */
	uint32_t seen; /* blocks scanned */
	uint32_t good; /* leading blocks that belong to complete fast commits */
	uint32_t features; /* of the HEAD; if not 0, the fast commits cannot be interpreted */
	uint32_t crc;
};
/* Feed the next block: true while another block may follow. */
bool xw_fast_scan_block(struct xw_fast_scan *s, const void *blk, uint32_t size);

#endif
