/* SPDX-License-Identifier: MIT */
/*
 * Sharing of identical xattr blocks through the cache. Contents are held in memory once; a block takes at most
 * 1024 references, then a fresh one is begun.
 */
#ifndef XW_XATTR_SHARE_H
#define XW_XATTR_SHARE_H

#include "xattr/cache.h"

struct xw_share;

/* One xattr block to be. Owned by the sharer. */
struct xw_share_block {
	uint32_t refcount;
	xw_blk blk;             /* 0 until the builder places it */
	uint32_t len;           /* bytes stored at head + tail below */
	uint8_t *packed;        /* the block without its zero middle: see xw_share_expand */
	uint32_t head_len, tail_len;
};

int xw_share_new(uint32_t block_size, unsigned cache_flags, struct xw_share **out);
void xw_share_free(struct xw_share *s);
/* block: block_size bytes as xw_xattr_encode_block left them. Takes one reference on an identical block, or begins one. */
int xw_share_get(struct xw_share *s, const uint8_t *block, struct xw_share_block **out);
/* Drop one reference (a replaced file); a block with none is not written. */
void xw_share_put(struct xw_share *s, struct xw_share_block *b);
/* All blocks begun, in order; those with refcount 0 are to be skipped. */
size_t xw_share_count(const struct xw_share *s);
struct xw_share_block *xw_share_at(struct xw_share *s, size_t i);
/* Full block bytes with refcount set, checksum still 0. */
void xw_share_expand(const struct xw_share *s, const struct xw_share_block *b, uint8_t *out);
void xw_share_stats(struct xw_share *s, struct xw_cache_stats *out);

#endif
