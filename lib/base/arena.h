/* SPDX-License-Identifier: MIT */
/* Bump allocation in chunks; everything is freed at once. Not thread-safe. */
#ifndef XW_BASE_ARENA_H
#define XW_BASE_ARENA_H

#include <stddef.h>

struct xw_arena_chunk;
struct xw_arena {
	struct xw_arena_chunk *head;
	size_t used, size; /* bytes used and available in the head chunk */
	size_t total; /* bytes obtained from malloc */
};

/*
 * A zero-initialized arena is empty. Returned memory is zeroed and aligned to `align` (a power of
 * two, at most 16); NULL when out of memory.
 */
void *xw_arena_alloc(struct xw_arena *a, size_t size, size_t align);
/* Copy of len bytes, no terminator added; align 1. NULL when out of memory. */
void *xw_arena_dup(struct xw_arena *a, const void *src, size_t len);
void xw_arena_free(struct xw_arena *a);

#define XW_ARENA_NEW(a, type) ((type *)xw_arena_alloc((a), sizeof(type), _Alignof(type)))

#endif
