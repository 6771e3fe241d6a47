/* SPDX-License-Identifier: MIT */
/*
 * Sharing of identical xattr blocks through the cache. Contents are in memory once, without the
 * zeros in the middle. A block has at most 1024 references; further ones go to a new block.
 *
 * With XW_CACHE_BUILD and one calling thread the blocks and their order are deterministic.
 * get_packed and put may be called from several threads; count, at and expand only while no thread
 * does so.
 */
#ifndef XW_XATTR_SHARE_H
#define XW_XATTR_SHARE_H

#include "base/err.h"
#include "xattr/cache.h"

struct xw_share;

/* A block's bytes without the zeros in the middle: head, then tail. */
struct xw_share_content {
	const uint8_t *bytes; /* head_len + tail_len; NULL: no block at all */
	uint64_t key; /* xw_share_key of them */
	uint32_t head_len, tail_len;
	bool stable; /* bytes outlive the sharer, which need not copy them */
	/*
	 * NULL, or a place where the sharer stores the last block returned for this content, to
	 * find that block again even if the cache has evicted it. For one thread and one sharer.
	 */
	struct xw_share_block **hint;
};

/* One future xattr block. Owned by the sharer; the address does not change. */
struct xw_share_block {
	const uint8_t *bytes; /* as in struct xw_share_content */
	uint64_t key;
	uint32_t head_len, tail_len;
	uint32_t refcount; /* number of inodes that refer to it; 0: not written */
	xw_blk blk; /* block number, set by the user of the sharer; 0: not yet placed */
};

int xw_share_new(uint32_t block_size, unsigned cache_flags, struct xw_share **out);
void xw_share_free(struct xw_share *s);
/*
 * Key of packed bytes: secret, so that no input can choose blocks with the same key. Which blocks
 * are shared depends on their contents and their order alone, not on the values of keys.
 */
uint64_t xw_share_key(const void *bytes, size_t len);
/*
 * Get a reference to a block with these contents, as produced by xw_xattr_encode_block(); creates
 * the block if necessary. XW_ERR_NOMEM.
 */
int xw_share_get_packed(struct xw_share *s, const struct xw_share_content *content,
			struct xw_share_block **out);
/*
 * Drop a reference (a replaced file). A block without references can be reused as long as the cache
 * contains it.
 */
void xw_share_put(struct xw_share *s, struct xw_share_block *b);
/* All blocks created, in order; skip those with refcount 0. */
size_t xw_share_count(const struct xw_share *s);
struct xw_share_block *xw_share_at(const struct xw_share *s, size_t i);
/* The full block with its refcount set, checksum still 0. */
void xw_share_expand(const struct xw_share *s, const struct xw_share_block *b, uint8_t *out);
void xw_share_stats(struct xw_share *s, struct xw_cache_stats *out);

#endif
