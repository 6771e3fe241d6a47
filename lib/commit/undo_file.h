/* SPDX-License-Identifier: MIT */
/* Writing an undo file, whose format is in undo.h. Private to lib/commit. */
#ifndef XW_COMMIT_UNDO_FILE_H
#define XW_COMMIT_UNDO_FILE_H

#include <assert.h>
#include <stddef.h>

#include "base/endian.h"
#include "base/types.h"
#include "dev/dev.h"
#include "disk/super.h"

#define XW_UNDO_MAGIC "E2UNDO02"
#define XW_UNDO_MAGIC_LEN 8
#define XW_UNDO_KEYS_MAGIC 0xCADECADEu
#define XW_UNDO_FINISHED 1u
#define XW_UNDO_COMPAT_OFFSET 0x1u
#define XW_UNDO_KEY_UNITS 511u /* maximum length of one key, as in stock tools */

struct XW_ON_DISK xw_disk_undo {
	uint8_t magic[XW_UNDO_MAGIC_LEN];
	le64 keys;
	le64 super_at, keys_at; /* blocks of this file */
	le32 block_size; /* of this file */
	le32 fs_block_size; /* unit of positions in keys */
	le32 super_csum; /* of the superblock with its original magic */
	le32 state;
	le32 compat, incompat, ro_compat;
	le32 pad;
	le64 fs_offset; /* in bytes; with COMPAT_OFFSET */
	uint8_t reserved[0x1FC - 0x48];
	le32 csum; /* of all fields before */
};

static_assert(offsetof(struct xw_disk_undo, state) == 0x2C, "undo header");
static_assert(offsetof(struct xw_disk_undo, fs_offset) == 0x40, "undo header");
static_assert(sizeof(struct xw_disk_undo) == 512, "undo header");

struct XW_ON_DISK xw_disk_key {
	le64 blk;
	le32 csum;
	le32 size; /* bytes */
};

struct XW_ON_DISK xw_disk_keys {
	le32 magic;
	le32 csum; /* of the block with this field set to zero */
	le64 reserved;
	struct xw_disk_key key[];
};

static_assert(sizeof(struct xw_disk_keys) == 16 && sizeof(struct xw_disk_key) == 16, "undo keys");

struct xw_undo_file {
	struct xw_diag *diag;
	uint64_t offset; /* start of the filesystem in its image, in bytes */
	struct xw_dev *dev; /* being written */
	uint32_t unit; /* block size of the file in bytes */
	uint32_t fs_unit; /* unit of positions in keys */
	uint64_t keys_at; /* first block of keys */
	uint64_t super_at;
	uint64_t n_keys;
	uint64_t block; /* block of keys being filled */
	uint64_t end; /* number of blocks in the file so far */
	struct xw_disk_keys *keys; /* contents of that block; owned */
	unsigned in_block; /* number of keys in it */
};

/* Begin an empty file with blocks of this size. */
int xw_undo_file_begin(struct xw_undo_file *f, uint32_t unit);
/* Begin a new block of keys in memory. */
int xw_undo_file_new_keys(struct xw_undo_file *f);
static inline unsigned xw_undo_file_keys_max(const struct xw_undo_file *f)
{
	return f->unit / (unsigned)sizeof(struct xw_disk_key) - 1;
}
uint32_t xw_undo_file_keys_csum(const struct xw_undo_file *f, const struct xw_disk_keys *k);
/* Has the header only known features? */
bool xw_undo_file_is_known(const struct xw_disk_undo *d);
/* Set units and positions from the header of a file of `size` bytes; false: impossible values. */
bool xw_undo_file_decode(struct xw_undo_file *f, const struct xw_disk_undo *d, uint64_t size);
/* Are magic and checksum of the block in f->keys valid? */
bool xw_undo_file_keys_valid(const struct xw_undo_file *f);
/*
 * Add the old contents from byte `at` of the image on: n units in memory, of which `size` bytes are
 * valid.
 */
int xw_undo_file_put(struct xw_undo_file *f, uint64_t at, const uint8_t *buf, size_t n,
		     size_t size);
/* Write the header and the superblock that the image has after the change; durable. */
int xw_undo_file_finish(struct xw_undo_file *f, const uint8_t new_super[XW_SUPER_SIZE]);
/* Invert the magic: converts between a superblock and its copy in an undo file. */
void xw_undo_file_invert(uint8_t super[XW_SUPER_SIZE]);

#endif
