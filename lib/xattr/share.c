/* SPDX-License-Identifier: MIT */
/*
 * Blocks are allocated in an arena until the sharer is freed; the cache holds their addresses.
 * After an eviction the block is no longer found, and the next file with its contents gets a new
 * block.
 *
 * The match callback of the cache takes the reference by compare-and-swap, so two threads cannot
 * both take the 1024th. The thread that takes it clears the reusable flag of the entry, and the
 * thread that drops it sets the flag again. If both happen at once, the flag may have either value,
 * which costs a shared block or a failed match, but no correctness.
 */
#include "config.h"

#include "xattr/share.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "disk/xattrblk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct xw_share {
	struct xw_cache *cache;
	uint32_t block_size;
	pthread_mutex_t lock; /* protects arena and blocks */
	struct xw_arena arena;
	XW_VEC(struct xw_share_block *) blocks;
};

uint64_t xw_share_key(const void *bytes, size_t len)
{
	const struct xw_hash_key key = xw_hash_process_key();

	return xw_hash_secret(&key, 0, bytes, len);
}

int xw_share_new(uint32_t block_size, unsigned cache_flags, struct xw_share **out)
{
	struct xw_share *s = calloc(1, sizeof(*s));

	if (!s)
		return XW_ERR_NOMEM;
	s->cache = xw_cache_new(0, cache_flags);
	if (!s->cache) {
		free(s);
		return XW_ERR_NOMEM;
	}
	s->block_size = block_size;
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return 0;
}

void xw_share_free(struct xw_share *s)
{
	if (!s)
		return;
	xw_cache_free(s->cache);
	xw_arena_free(&s->arena);
	xw_vec_free(&s->blocks);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct want {
	const struct xw_share_content *content;
	uint32_t refcount; /* reference count after taking one */
};

static struct xw_share_block *block_of(uint64_t value)
{
	return (struct xw_share_block *)(uintptr_t)value;
}

static bool get_ref(void *arg, uint64_t value)
{
	struct want *w = arg;
	struct xw_share_block *b = block_of(value);
	uint32_t refs;

	if (b->head_len != w->content->head_len || b->tail_len != w->content->tail_len)
		return false;
	if (b->bytes != w->content->bytes &&
	    memcmp(b->bytes, w->content->bytes, b->head_len + b->tail_len))
		return false;
	refs = __atomic_load_n(&b->refcount, __ATOMIC_RELAXED);
	do {
		if (refs >= XW_XATTR_REFCOUNT_MAX)
			return false;
	} while (!__atomic_compare_exchange_n(&b->refcount, &refs, refs + 1, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	w->refcount = refs + 1;
	return true;
}

static int new_block(struct xw_share *s, const struct xw_share_content *content,
		     struct xw_share_block **out)
{
	struct xw_share_block *b;
	int rc = XW_ERR_NOMEM;

	pthread_mutex_lock(&s->lock);
	b = XW_ARENA_NEW(&s->arena, struct xw_share_block);
	if (b) {
		b->bytes = content->stable ? content->bytes
					   : xw_arena_dup(&s->arena, content->bytes,
							  content->head_len + content->tail_len);
		b->head_len = content->head_len;
		b->tail_len = content->tail_len;
		b->key = content->key;
		b->refcount = 1;
		if (b->bytes)
			rc = xw_vec_push(&s->blocks, b);
	}
	pthread_mutex_unlock(&s->lock);
	if (rc)
		return rc;
	*out = b;
	return xw_cache_insert(s->cache, content->key, (uintptr_t)b, true);
}

/* Get a reference to an existing block, by hint or cache. */
static bool find(struct xw_share *s, struct want *w, struct xw_share_block **out)
{
	const uint64_t key = w->content->key;
	struct xw_share_block **hint = w->content->hint;
	uint64_t value;

	if (hint && *hint && get_ref(w, (uintptr_t)*hint)) {
		*out = *hint;
		/* The block is in use again: put it back into the cache, best effort. */
		if (!xw_cache_touch(s->cache, key, (uintptr_t)*hint))
			xw_cache_insert(s->cache, key, (uintptr_t)*hint, true);
		return true;
	}
	if (!xw_cache_find(s->cache, key, get_ref, w, &value))
		return false;
	*out = block_of(value);
	return true;
}

int xw_share_get_packed(struct xw_share *s, const struct xw_share_content *content,
			struct xw_share_block **out)
{
	struct want w = {.content = content};
	int rc = 0;

	if (!find(s, &w, out))
		rc = new_block(s, content, out);
	else if (w.refcount == XW_XATTR_REFCOUNT_MAX)
		xw_cache_set_reusable(s->cache, content->key, (uintptr_t)*out, false);
	if (!rc && content->hint)
		*content->hint = *out;
	return rc;
}

void xw_share_put(struct xw_share *s, struct xw_share_block *b)
{
	if (__atomic_fetch_sub(&b->refcount, 1, __ATOMIC_RELAXED) == XW_XATTR_REFCOUNT_MAX)
		xw_cache_set_reusable(s->cache, b->key, (uintptr_t)b, true);
}

size_t xw_share_count(const struct xw_share *s)
{
	return s->blocks.n;
}

struct xw_share_block *xw_share_at(const struct xw_share *s, size_t i)
{
	return s->blocks.v[i];
}

void xw_share_expand(const struct xw_share *s, const struct xw_share_block *b, uint8_t *out)
{
	struct xw_xattr_bhdr h;

	memcpy(out, b->bytes, b->head_len);
	memset(out + b->head_len, 0, s->block_size - b->head_len - b->tail_len);
	memcpy(out + s->block_size - b->tail_len, b->bytes + b->head_len, b->tail_len);
	if (xw_xattr_bhdr_decode(out, &h))
		return;
	h.refcount = b->refcount;
	xw_xattr_bhdr_encode(out, &h);
}

void xw_share_stats(struct xw_share *s, struct xw_cache_stats *out)
{
	xw_cache_stats(s->cache, out);
}
