/* SPDX-License-Identifier: MIT */
/* xattr storage: the in-inode header, the block header, entries, and their hashes. */
#ifndef XW_DISK_XATTRBLK_H
#define XW_DISK_XATTRBLK_H

#include "base/endian.h"
#include "base/types.h"

#define XW_XATTR_MAGIC 0xEA020000u
#define XW_XATTR_IHDR 4 /* size of the in-inode header: the magic */
#define XW_XATTR_BHDR 32 /* size of the block header */
#define XW_XATTR_ENTRY 16 /* size of an entry without its name */
#define XW_XATTR_REFCOUNT_MAX 1024u
#define XW_XATTR_SIZE_MAX (1u << 24) /* maximum size of a value in bytes */

/* name indexes */
#define XW_XI_USER 1
#define XW_XI_ACL_ACCESS 2
#define XW_XI_ACL_DEFAULT 3
#define XW_XI_TRUSTED 4
#define XW_XI_SECURITY 6
#define XW_XI_SYSTEM 7
#define XW_XI_RICHACL 8
#define XW_XI_ENCRYPTION 9
#define XW_XI_HURD 10

struct xw_xattr_bhdr {
	uint32_t refcount, blocks, hash, checksum;
};

struct xw_xattr_entry {
	uint8_t name_len, name_index;
	/* relative to the start of the block, or to the first in-inode entry */
	uint16_t value_offs;
	uint32_t value_inum; /* EA inode; 0 = the value is stored in this area */
	uint32_t value_size;
	uint32_t hash;
	const char *name; /* points into the buffer; not terminated */
};

/* Size of an entry in bytes: 16 + name_len rounded up to 4. */
static inline size_t xw_xattr_entry_len(unsigned name_len)
{
	return (XW_XATTR_ENTRY + name_len + 3) & ~(size_t)3;
}

/* XW_ERR_CORRUPT: magic, blocks != 1; *out is filled. */
int xw_xattr_bhdr_decode(const void *block, struct xw_xattr_bhdr *out);
/*
 * The number at the beginning of a block or of an area in an inode: XW_XATTR_MAGIC. Inline, since
 * the check of every inode reads it.
 */
static inline uint32_t xw_xattr_magic(const void *p)
{
	return peek32(p);
}

/* Do the entries end at p, with four zero bytes? */
static inline bool xw_xattr_is_end(const void *p)
{
	return !peek32(p);
}

/* The reserved words of the header, which should be zero. */
void xw_xattr_bhdr_reserved(const void *block, uint32_t out[3]);
/* Write the 32-byte header, reserved words zero. */
void xw_xattr_bhdr_encode(void *block, const struct xw_xattr_bhdr *h);
/*
 * Decode the entry at off of an area of `size` bytes. *next = offset of the following entry, 0 at
 * the terminator (four zero bytes; *out is not modified) and on errors. value_base: base of
 * value_offs. XW_ERR_CORRUPT if entry, terminator or value leave the area or the value is over 2^24
 * bytes. The caller checks for values that overlap entries or each other.
 */
int xw_xattr_entry_decode(const void *area, size_t size, size_t off, size_t value_base,
			  struct xw_xattr_entry *out, size_t *next);
/* The same without checks of the value's size and place, for checkers. */
int xw_xattr_entry_peek(const void *area, size_t size, size_t off, struct xw_xattr_entry *out,
			size_t *next);
/*
 * Write entry and name at off, zero-padded to xw_xattr_entry_len(). The name must not overlap the
 * destination.
 */
void xw_xattr_entry_encode(void *area, size_t off, const struct xw_xattr_entry *e);
/*
 * e_hash over name (unsigned bytes, as in Linux since 6.2, and always on ARM) and value, the value
 * zero-padded to 4. Linux leaves e_hash 0 for values stored inside the inode. _ok: also accepts the
 * signed-char variant that older kernels wrote on x86, as kernel 6.18 and e2fsck 1.47.0 do.
 */
uint32_t xw_xattr_entry_hash(const char *name, size_t name_len, const void *value,
			     size_t value_size);
bool xw_xattr_entry_hash_ok(uint32_t stored, const char *name, size_t name_len, const void *value,
			    size_t value_size);
/*
 * e_hash of an entry whose value is in an EA inode: over the name and the value's hash,
 * xw_xattr_value_hash().
 */
uint32_t xw_xattr_entry_hash_inum(const char *name, size_t name_len, uint32_t value_hash);
bool xw_xattr_entry_hash_inum_ok(uint32_t stored, const char *name, size_t name_len,
				 uint32_t value_hash);
/*
 * crc32c over the value, seeded with xw_super_csum_seed() (with or without metadata_csum), as
 * stored in the atime of the EA inode.
 */
uint32_t xw_xattr_value_hash(uint32_t csum_seed, const void *value, size_t value_size);
/* h_hash over the e_hash of all entries, in order; 0 when the hash of any entry is 0. */
uint32_t xw_xattr_block_hash(const uint32_t *entry_hashes, size_t n);
/* h_hash with one more entry, whose e_hash is not 0; begins with 0. */
uint32_t xw_xattr_block_hash_add(uint32_t h, uint32_t entry_hash);
/* Header checksum over seed, block number and the block. */
void xw_xattr_block_set_csum(void *block, uint32_t block_size, uint32_t csum_seed, xw_blk blk);
/* The checksum after a change of h_refcount alone, computed from the old checksum `csum`. */
uint32_t xw_xattr_csum_recount(uint32_t csum, uint32_t block_size, uint32_t from, uint32_t to);
/* Set the refcount; with has_csum, also update the checksum, which must be valid before. */
void xw_xattr_block_recount(void *block, uint32_t block_size, bool has_csum, uint32_t refcount);
int xw_xattr_block_verify(const void *block, uint32_t block_size, uint32_t csum_seed, xw_blk blk);

#endif
