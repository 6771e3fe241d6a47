/* SPDX-License-Identifier: MIT */
/* Directory entries of a linear block, its checksum tail, and the dx_root / dx_node layouts. */
#ifndef XW_DISK_DIRENT_H
#define XW_DISK_DIRENT_H

#include "base/types.h"

#define XW_NAME_MAX 255
#define XW_DIRENT_HDR 8
#define XW_DIR_TAIL 12 /* bytes of the checksum tail entry */

/* file_type values (filetype feature); 0 without it */
enum xw_ftype {
	XW_FT_UNKNOWN,
	XW_FT_REG,
	XW_FT_DIR,
	XW_FT_CHR,
	XW_FT_BLK,
	XW_FT_FIFO,
	XW_FT_SOCK,
	XW_FT_LNK,
	XW_FT_CSUM_TAIL = 0xDE,
};

struct xw_dirent {
	xw_ino ino;
	uint32_t rec_len; /* in bytes; 65536 is representable */
	uint8_t name_len, ftype;
	const char *name; /* points into the block; not terminated */
};

/* Bytes that an entry needs: (8 + name_len) rounded up to 4. */
static inline unsigned xw_dirent_size(unsigned name_len)
{
	return (XW_DIRENT_HDR + name_len + 3) & ~3u;
}

/* Is this "." or ".."? Every directory has these two entries; no other entry may be named so. */
static inline bool xw_name_is_dots(const char *name, size_t len)
{
	return len && name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'));
}

/* file_type for an i_mode; XW_FT_UNKNOWN for invalid type bits. */
enum xw_ftype xw_ftype_of_mode(uint32_t mode);

/*
 * Decode the entry at off of a block of block_size bytes (or of an inline area of that size). The
 * next entry is at off + rec_len. XW_ERR_CORRUPT: rec_len unaligned, below 12, shorter than its
 * name or past the end of the block; *out is still filled if at least 12 bytes remain at off, so
 * that a checker can report the entry. Callers must handle name_len 0 and file_type 0xDE.
 */
int xw_dirent_decode(const void *block, uint32_t block_size, uint32_t off, struct xw_dirent *out);
/*
 * Decode the header of an entry, XW_DIRENT_HDR bytes, without any check. out->name points to the
 * byte after the header; whether the buffer holds name_len bytes there, the caller knows.
 */
void xw_dirent_peek(const void *entry, struct xw_dirent *out);
/* Are these 12 bytes the "." of directory `ino`, as far as number and name go? */
bool xw_dirent_is_dot(const void *entry, xw_ino ino);
/* Number of the parent, with which i_block of an inline directory begins. */
xw_ino xw_dir_inline_parent(const void *i_block);
/*
 * The keyed hash that follows the name of an entry of an encrypted, case-folded directory. False:
 * the entry of rec_len bytes has no room for it; both are 0.
 */
bool xw_dirent_hash(const struct xw_dirent *e, uint32_t *major, uint32_t *minor);
/* Write header and name at off; padding up to rec_len is not modified. */
void xw_dirent_encode(void *block, uint32_t block_size, uint32_t off, const struct xw_dirent *e);
/*
 * The tail entry in the last 12 bytes: recognize, initialize, set checksum, verify (XW_ERR_CORRUPT:
 * the block has no tail; XW_ERR_CHECKSUM).
 */
bool xw_dir_has_tail(const void *block, uint32_t block_size);
/* The checksum in the tail of a block that has one. */
uint32_t xw_dir_tail_csum(const void *block, uint32_t block_size);
void xw_dir_tail_init(void *block, uint32_t block_size);
void xw_dir_block_set_csum(void *block, uint32_t block_size, uint32_t inode_seed);
/*
 * The seed for which the stored checksum matches; exactly one exists, even for a damaged block. All
 * valid blocks of a directory have the same seed. False: the block has no tail.
 */
bool xw_dir_block_seed(const void *block, uint32_t block_size, uint32_t *seed);
int xw_dir_block_verify(const void *block, uint32_t block_size, uint32_t inode_seed);

/*
 * htree. dx_root: "." (12 bytes), ".." (rec_len up to the end of the block), root info at 24,
 * entries at 32; dx_node: one fake entry spanning the block, entries at 8. Entry 0 holds limit and
 * count in place of the hash. With metadata_csum the last 8 bytes are the dx_tail.
 */
#define XW_DX_ROOT_ENTRIES 32
#define XW_DX_NODE_ENTRIES 8
/* index blocks on a path: dx_root and, with large_dir, two levels below it */
#define XW_DX_LEVELS_MAX 3
/* The upper 4 bits of dx_entry.block are not part of the block number. */
#define XW_DX_LBLK_MASK 0x0FFFFFFFu
struct xw_dx_info {
	/* on disk: 0 legacy, 1 half_md4, 2 tea, 6 siphash; in memory also 3-5, unsigned 0-2 */
	uint8_t hash_version;
	uint8_t info_length; /* always 8 */
	uint8_t indirect_levels;
	uint8_t unused_flags;
	uint32_t reserved_zero;
};
struct xw_dx_entry {
	uint32_t hash; /* lower bound of the hashes; entry 0 has none (0) */
	uint32_t lblk; /* 28 bits: decoding masks them, encoding stores all */
};
unsigned xw_dx_root_limit(uint32_t block_size, bool csum);
unsigned xw_dx_node_limit(uint32_t block_size, bool csum);
/*
 * XW_ERR_CORRUPT: info_length != 8, levels > 3, limit beyond the block, count 0 or above limit
 * (outputs are set in any case). The caller checks that limit is exactly xw_dx_root_limit() or
 * xw_dx_node_limit(), which the kernel requires, and that the hash version is known.
 */
int xw_dx_root_decode(const void *block, uint32_t block_size, bool csum, struct xw_dx_info *info,
		      unsigned *limit, unsigned *count);
int xw_dx_node_decode(const void *block, uint32_t block_size, bool csum, unsigned *limit,
		      unsigned *count);
/* entries_off: XW_DX_ROOT_ENTRIES or XW_DX_NODE_ENTRIES */
/* Limit and count as stored; nothing is checked. */
void xw_dx_limit_peek(const void *block, unsigned entries_off, unsigned *limit, unsigned *count);
/* The stored checksum, after `limit` entries. False: that is not within the block. */
bool xw_dx_csum_peek(const void *block, uint32_t block_size, unsigned entries_off, uint32_t *csum);
void xw_dx_entry_decode(const void *block, unsigned entries_off, unsigned i,
			struct xw_dx_entry *out);
void xw_dx_entry_encode(void *block, unsigned entries_off, unsigned i, const struct xw_dx_entry *e);
/* Index of the entry whose child covers a hash: the last entry with hash <= it, bit 0 included. */
unsigned xw_dx_entry_find(const void *block, unsigned entries_off, unsigned count, uint32_t hash);
void xw_dx_info_encode(void *block, const struct xw_dx_info *info);
void xw_dx_set_limit(void *block, unsigned entries_off, unsigned limit, unsigned count);
/*
 * verify: XW_ERR_CORRUPT if limit or count leave no room for the tail (set_csum then does nothing),
 * else XW_ERR_CHECKSUM.
 */
void xw_dx_block_set_csum(void *block, uint32_t block_size, unsigned entries_off,
			  uint32_t inode_seed);
/* As xw_dir_block_seed(); false: limit and count leave no room for a checksum. */
bool xw_dx_block_seed(const void *block, uint32_t block_size, unsigned entries_off, uint32_t *seed);
int xw_dx_block_verify(const void *block, uint32_t block_size, unsigned entries_off,
		       uint32_t inode_seed);

#endif
