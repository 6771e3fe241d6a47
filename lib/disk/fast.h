/* SPDX-License-Identifier: MIT */
/*
 * Fast commits: small changes to inodes and names that a journal holds behind its transactions, in
 * an area of its own at its end. A run of tagged fields, all little-endian; no field crosses a
 * block. Pure functions; they never read outside the block, whatever it holds.
 *
 * Source: kernel documentation "Journal (jbd2)", section "Fast commits", for the tags and their
 * meaning; areas written by Linux 6.18 for numbers, offsets, the checksum, and what comes in which
 * order:
 *   - the area's first block is not used; the second begins with a HEAD, the only one there is
 *   - every fast commit begins with a block and ends with a TAIL that fills its last one
 *   - the checksum is crc32c, begun with 0, over all from the commit's first block up to the TAIL's
 *     transaction number, which is in it
 *   - a new file is INODE, ADD_RANGE, CREAT, and INODE again where it changed since; who is deleted
 *     with its last name has an UNLINK and no INODE, and its number may be another's at once
 *   - records are as long as the fields of the inode, or the whole record where it has inline data
 *   - blocks of directories are not in it, nor blocks of maps
 */
#ifndef XW_DISK_FAST_H
#define XW_DISK_FAST_H

#include "disk/extent.h"

#pragma GCC visibility push(default)

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
	xw_ino ino; /* all but PAD, TAIL, HEAD */
	struct xw_extent range; /* ADD_RANGE; DEL_RANGE: lblk and len */
	xw_ino dir; /* CREAT, LINK, UNLINK */
	const uint8_t *bytes; /* a name; INODE: the record's beginning. Into the block */
	uint32_t len; /* of bytes */
	uint32_t tid; /* HEAD, TAIL */
	uint32_t features; /* HEAD: none is known */
	uint32_t csum; /* TAIL: as stored */
	uint32_t at; /* TAIL: the checksum is over what is before this byte of the block */
};

/* Where in a block one is; zero-initialised but for the first two. */
struct xw_fast_iter {
	const void *blk;
	uint32_t size;
	uint32_t off;
};
/*
 * 1 and *out; 0 at the end of the block, behind a TAIL too; XW_ERR_CORRUPT: an unknown tag, a
 * length that is not the tag's, a name of none or more than 255 bytes, an empty range.
 */
int xw_fast_next(struct xw_fast_iter *it, struct xw_fast_field *out);

/* Takes the blocks of an area, from the second on, and finds how far it holds good. */
struct xw_fast_scan {
	uint32_t tid; /* of the transaction that follows the log: given */
	uint32_t seen; /* blocks */
	uint32_t good; /* the first so many are whole fast commits */
	uint32_t features; /* of the HEAD: not 0, nothing is known about what follows */
	uint32_t crc;
};
/* The next block: true while another may follow. */
bool xw_fast_scan_block(struct xw_fast_scan *s, const void *blk, uint32_t size);

/* ---- for tests ---- */

/* Put a field at byte *off of a block, if it fits; TAIL fills the block, with csum as given. */
bool xw_fast_put(void *blk, uint32_t size, uint32_t *off, const struct xw_fast_field *f);

#pragma GCC visibility pop

#endif
