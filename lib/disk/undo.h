/* SPDX-License-Identifier: MIT */
/*
 * Undo files of e2undo(8), whose parts commit/undo.h lists: header and blocks of keys. Observed in
 * files of e2fsprogs 1.47.0.
 *
 * Header, 512 bytes, little-endian:
 *
 *   0x00  magic "E2UNDO02"
 *   0x08  le64 number of keys
 *   0x10  le64 block of the superblock's copy, le64 block of the first keys
 *   0x20  le32 block size of the file: the unit of its blocks
 *   0x24  le32 block size of the filesystem: the unit of positions in keys
 *   0x28  le32 crc32c of the superblock with its right magic
 *   0x2C  le32 state, bit 0: finished
 *   0x30  le32 compat (bit 0: offset), incompat, ro_compat; zero
 *   0x40  le64 offset of the filesystem in its image in bytes
 *   0x1EC le64, le64 size of the file in bytes from that offset on, before and after the change;
 *         only in files of this suite, zero in those of e2fsprogs, whose tools ignore the bytes
 *   0x1FC le32 crc32c of all bytes before
 *
 * A block of keys: le32 magic, le32 crc32c with this field zero, le64 zero, then for each key le64
 * block, le32 crc32c of the contents, le32 size in bytes.
 */
#ifndef XW_DISK_UNDO_H
#define XW_DISK_UNDO_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/super.h"

#define XW_UNDO_HEADER_SIZE 512u
#define XW_UNDO_KEY_UNITS 511u /* maximum length of one key in units, as in stock tools */
#define XW_UNDO_UNIT 4096u /* both units of a file that is written without a filesystem */

struct xw_undo_header {
	uint64_t keys; /* number of keys in the file */
	uint64_t super_at, keys_at; /* in blocks of the file */
	uint32_t unit, fs_unit; /* block sizes in bytes: of the file, of positions in keys */
	uint32_t super_csum;
	bool finished;
	uint64_t offset; /* start of the filesystem in its image, in bytes */
	/*
	 * Bytes from there to the end of the image before a change (0: a new file) and after it.
	 * size_after 0: both are unknown.
	 */
	uint64_t size_before, size_after;
	/* as decoded, for display; not encoded */
	uint32_t state, compat, incompat, ro_compat, csum;
};

/*
 * Decode 512 bytes at the beginning of a file of `size` bytes. XW_ERR_INPUT: not an undo file;
 * XW_ERR_UNSUPPORTED: unknown features; XW_ERR_CORRUPT: values that are impossible in a file of
 * this size; XW_ERR_CHECKSUM: nothing but the checksum is wrong. *out is filled in any case.
 */
int xw_undo_header_decode(const void *buf, uint64_t size, struct xw_undo_header *out);
void xw_undo_header_encode(const struct xw_undo_header *h, void *buf);
/*
 * Can the keys be in the units of the header, if `super` is the superblock after the change? A tool
 * that opens the file and then fails may leave other units in the header than those of the keys.
 */
bool xw_undo_header_agrees(const struct xw_undo_header *h, const uint8_t super[XW_SUPER_SIZE]);

struct xw_undo_key {
	uint64_t blk; /* in fs_unit */
	uint32_t csum, size; /* of the contents; bytes */
};

/* Number of keys in a block of `unit` bytes. */
uint32_t xw_undo_keys_max(uint32_t unit);
/* XW_ERR_CHECKSUM: magic or checksum of a block of keys is wrong. */
int xw_undo_keys_verify(const void *blk, uint32_t unit);
/* Set magic and checksum. */
void xw_undo_keys_seal(void *blk, uint32_t unit);
/* Key i, less than xw_undo_keys_max(). */
struct xw_undo_key xw_undo_key_get(const void *blk, uint32_t i);
void xw_undo_key_put(void *blk, uint32_t i, const struct xw_undo_key *key);

/* Invert the magic: converts between a superblock and its copy in an undo file. */
void xw_undo_super_invert(uint8_t super[XW_SUPER_SIZE]);

#endif
