/* SPDX-License-Identifier: MIT */
/*
 * Nodes of an itree, the B+ tree beside an htree that lists the entries of a directory by inode
 * number, and the slot of dx_root that points to its root. The format is in itree(5); rule numbers
 * are those of its list of invariants.
 */
#ifndef XW_DISK_ITREE_H
#define XW_DISK_ITREE_H

#include "base/types.h"

#define XW_ITREE_MAGIC 0x54493245u
#define XW_ITREE_VERSION 1
#define XW_ITREE_HDR 32u /* bytes before the entries */
/* The only header fields that change are count and used: their offset in it and size in bytes. */
#define XW_ITREE_HDR_COUNT 6u
#define XW_ITREE_HDR_VARIES 4u
#define XW_ITREE_TAIL 8u /* a zero word and the checksum */
#define XW_ITREE_IDX 16u /* size of an index entry in bytes */
#define XW_ITREE_REC_HDR 12u /* size of a leaf entry without its name in bytes */
#define XW_ITREE_LEVELS 5u /* at most, leaves included */

struct xw_itree_hdr {
	uint8_t level; /* 0 = leaf */
	uint16_t count; /* number of entries */
	uint16_t used; /* size of the entries in bytes */
	xw_ino dir;
	uint32_t generation; /* generation of the directory's inode */
	xw_blk self;
};

/* Sort key of the entries; names break ties in leaves. */
struct xw_itree_key {
	xw_ino ino;
	uint32_t hash; /* major hash of the name, bit 0 clear */
};

struct xw_itree_idx {
	struct xw_itree_key key; /* lower bound of the keys below */
	xw_blk blk;
	unsigned quartile; /* fill quartile of the child */
};

struct xw_itree_entry {
	struct xw_itree_key key;
	uint8_t name_len, ftype;
	const char *name; /* not terminated; decoded names point into the block */
};

/* Describes damage of a node, for messages. */
struct xw_itree_flaw {
	unsigned rule;
	unsigned entry; /* index of the entry concerned, if any */
	const char *what;
};

static inline uint32_t xw_itree_cap(uint32_t block_size)
{
	return block_size - XW_ITREE_HDR - XW_ITREE_TAIL;
}

/* Size of a leaf entry in bytes. */
static inline uint32_t xw_itree_rec_len(unsigned name_len)
{
	return (XW_ITREE_REC_HDR + name_len + 3u) & ~3u;
}

/* 0 .. 3: at most 25, 50, 75, 100 % of the capacity are used. */
static inline unsigned xw_itree_quartile(uint32_t cap, uint32_t used)
{
	return 0u + (used * 4u > cap) + (used * 2u > cap) + (used * 4u > cap * 3u);
}

/* The key as an integer with the same order. */
static inline uint64_t xw_itree_key_number(const struct xw_itree_key *k)
{
	return (uint64_t)k->ino << 32 | k->hash;
}

static inline int xw_itree_key_cmp(const struct xw_itree_key *a, const struct xw_itree_key *b)
{
	uint64_t x = xw_itree_key_number(a), y = xw_itree_key_number(b);

	return (x > y) - (x < y);
}

/* The order of leaf entries: key, bytes of the name, its length. */
int xw_itree_entry_cmp(const struct xw_itree_entry *a, const struct xw_itree_entry *b);

/*
 * Decode and check the header: magic, version, zero fields, level, used against count and capacity.
 * XW_ERR_CORRUPT (rule 6, or 10 for an impossible count); *out is filled in any case. The caller
 * checks the owner of the node (xw_itree_hdr_belongs) and the checksum.
 */
int xw_itree_hdr_decode(const void *block, uint32_t block_size, struct xw_itree_hdr *out,
			struct xw_itree_flaw *flaw);
/* Write header and zero fields; entries and checksum are not modified. */
void xw_itree_hdr_encode(void *block, uint32_t block_size, const struct xw_itree_hdr *h);
/* Update `count` and `used` in an existing header. */
void xw_itree_hdr_set(void *block, uint16_t count, uint16_t used);
/* Rule 6: the header must name this block and directory. XW_ERR_CORRUPT. */
int xw_itree_hdr_belongs(const struct xw_itree_hdr *h, xw_ino dir, uint32_t generation, xw_blk blk,
			 struct xw_itree_flaw *flaw);

/* Index entry i < count. XW_ERR_CORRUPT: bits above the quartile are set; *out is filled. */
int xw_itree_idx_decode(const void *block, unsigned i, struct xw_itree_idx *out);
void xw_itree_idx_encode(void *block, unsigned i, const struct xw_itree_idx *e);

/*
 * The leaf entry at `off` within the first `used` bytes of the entry area; *next is the offset
 * after it. XW_ERR_CORRUPT (rule 10): the entry does not fit, its rec_len is not exact or its
 * padding is not zero.
 */
int xw_itree_leaf_decode(const void *block, uint32_t used, uint32_t off, struct xw_itree_entry *out,
			 uint32_t *next);
/* Write an entry, padding included, at `off` of the entry area; returns its size in bytes. */
uint32_t xw_itree_leaf_encode(void *block, uint32_t off, const struct xw_itree_entry *e);

/*
 * All checks that need only this node: its header (rule 6), entries that fill `used` (10), zeros
 * after them (6), ascending order (11). With any_names (encrypted directories) names are arbitrary
 * bytes, else free of NUL and '/'; "." and ".." are not allowed. XW_ERR_CORRUPT. After success, or
 * if an index node breaks only rule 11, its entries can be decoded without error checks.
 */
int xw_itree_node_check(const void *block, uint32_t block_size, bool any_names,
			struct xw_itree_hdr *out, struct xw_itree_flaw *flaw);

/*
 * inode_seed: xw_inode_seed() of the directory. csum: metadata_csum is on; without it the field is
 * 0. verify: XW_ERR_CHECKSUM.
 */
void xw_itree_set_csum(void *block, uint32_t block_size, bool csum, uint32_t inode_seed);
int xw_itree_verify(const void *block, uint32_t block_size, bool csum, uint32_t inode_seed);

/*
 * The pointer to the root node: the last slot of dx_root, whose dx limit is one lower to reserve
 * it. get: XW_ERR_CORRUPT (rule 5) if the pointer is 0 or its high bits are set; *root is filled.
 */
int xw_itree_slot_get(const void *dx_root, uint32_t block_size, bool csum, xw_blk *root);
void xw_itree_slot_set(void *dx_root, uint32_t block_size, bool csum, xw_blk root);

#endif
