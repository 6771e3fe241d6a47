/* SPDX-License-Identifier: MIT */
/*
 * The header of a redo record: 4096 bytes, little-endian, in the format of extwright(7). The record
 * is the header, a table of hashes and a log of one transaction (commit/redo.h).
 */
#ifndef XW_DISK_REDO_H
#define XW_DISK_REDO_H

#include "disk/super.h"

#define XW_REDO_HEADER_SIZE 4096u
#define XW_REDO_SECTOR 512u /* the table has a hash of each */

/* First bytes of every redo file; a file without them is never overwritten or removed. */
#define XW_REDO_MAGIC "XW-REDO1"
#define XW_REDO_MAGIC_LEN 8

/* The location of an image on the host: commit/location.h */
struct xw_redo_location {
	uint8_t boot[16]; /* boot ID of the kernel; zeros: the place is unknown */
	uint64_t device; /* number of the block device, or of the device that contains the file */
	uint64_t number; /* sequence number of the disk, or inode number of the file */
	uint64_t born; /* creation time of a file, in nanoseconds */
	uint64_t offset; /* of the image in the file or device, in bytes */
};

struct xw_redo_header {
	uint32_t version;
	uint32_t block_size;
	uint8_t uuid[16]; /* of the image's filesystem before the change */
	uint64_t nonce;
	uint64_t old_size, new_size; /* sizes of the device in bytes */
	uint64_t blocks; /* in the change */
	uint64_t log_offset, log_blocks;
	uint32_t hashes_csum;
	struct xw_redo_location place;
	uint8_t old_super[XW_SUPER_SIZE], pending_super[XW_SUPER_SIZE], new_super[XW_SUPER_SIZE];
};

/* Can a filesystem have blocks of this size? */
bool xw_redo_block_size_ok(uint32_t block_size);
/*
 * XW_ERR_INPUT: no magic; XW_ERR_CHECKSUM; XW_ERR_UNSUPPORTED: another version (*out has it);
 * XW_ERR_CORRUPT: impossible block size, or sizes that do not follow from the number of blocks.
 */
int xw_redo_header_decode(const void *buf, struct xw_redo_header *out);
/* h->version is ignored: it is that of this format. */
void xw_redo_header_encode(const struct xw_redo_header *h, void *buf);

/* Size of the table of hashes in bytes; first byte of the log; its blocks with its superblock. */
uint64_t xw_redo_hash_bytes(uint64_t blocks, uint32_t block_size);
uint64_t xw_redo_log_offset(uint64_t blocks, uint32_t block_size);
uint64_t xw_redo_log_blocks(uint64_t blocks, uint32_t block_size);
/* Convert a table of hashes in place, to and from host order. */
void xw_redo_hashes_decode(uint64_t *hashes, size_t n);
void xw_redo_hashes_encode(uint64_t *hashes, size_t n);

#endif
