/* SPDX-License-Identifier: MIT */
/*
 * Sharing of identical xattr blocks through the cache. Contents are held in memory once, without
 * their zero middle; a block takes at most 1024 references, then a fresh one is begun.
 *
 * With XW_CACHE_BUILD and one calling thread the blocks and their order depend on nothing but the
 * calls. get_packed and put may be called from several threads at once; count, at, expand
 * when no such call is under way.
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
	 * NULL, or where the sharer may store the block it returned last for this content, so that
	 * it finds it again even if the cache has evicted it. For one thread and one sharer.
	 */
	struct xw_share_block **hint;
};

/* One future xattr block. Owned by the sharer; the address does not change. */
struct xw_share_block {
	const uint8_t *bytes; /* as in struct xw_share_content */
	uint64_t key;
	uint32_t head_len, tail_len;
	uint32_t refcount; /* number of inodes that refer to it; 0: not written */
	xw_blk blk; /* set by the placer: 0 until it is placed, or found in the image */
};

int xw_share_new(uint32_t block_size, unsigned cache_flags, struct xw_share **out);
void xw_share_free(struct xw_share *s);
/* Key of packed bytes. */
uint64_t xw_share_key(const void *bytes, size_t len);
/*
 * Take one reference on an identical block, or create one, for contents as produced by
 * xw_xattr_encode_block(). XW_ERR_NOMEM.
 */
int xw_share_get_packed(struct xw_share *s, const struct xw_share_content *content,
			struct xw_share_block **out);
/*
 * Drop one reference (a replaced file). A block without references can be used again as long as the
 * cache contains it.
 */
void xw_share_put(struct xw_share *s, struct xw_share_block *b);
/* All blocks created, in order; skip those with refcount 0. */
size_t xw_share_count(const struct xw_share *s);
struct xw_share_block *xw_share_at(const struct xw_share *s, size_t i);
/* The full block with its refcount set, checksum still 0. */
void xw_share_expand(const struct xw_share *s, const struct xw_share_block *b, uint8_t *out);
void xw_share_stats(struct xw_share *s, struct xw_cache_stats *out);

#endif
