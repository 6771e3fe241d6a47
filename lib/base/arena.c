/* SPDX-License-Identifier: MIT */
/*
 * Bump allocation in chunks.
 *
 * Invariants:
 * 1. Every byte past `used` in the head chunk is zero: chunks come from calloc, where large ones
 *    are fresh mappings and cost no clearing.
 * 2. Chunks double from 4 KiB to 1 MiB, so that a small arena is small and a large one wastes
 *    little. A request over a quarter of the next chunk gets its own chunk *behind* the head,
 *    which continues to serve small requests.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define CHUNK_MIN ((size_t)4 << 10)
#define CHUNK_MAX ((size_t)1 << 20)
#define ALIGN_MAX 16

struct xw_arena_chunk {
	struct xw_arena_chunk *next;
	size_t size; /* bytes of data */
	_Alignas(ALIGN_MAX) unsigned char data[];
};

static struct xw_arena_chunk *new_chunk(struct xw_arena *a, size_t size)
{
	struct xw_arena_chunk *c;

	if (size > SIZE_MAX / 2)
		return NULL;
	c = calloc(1, sizeof(*c) + size);
	if (!c)
		return NULL;
	c->size = size;
	a->total += sizeof(*c) + size;
	return c;
}

static void *alloc_alone(struct xw_arena *a, size_t size)
{
	struct xw_arena_chunk *c = new_chunk(a, size);

	if (!c)
		return NULL;
	if (a->head) {
		c->next = a->head->next;
		a->head->next = c;
	} else {
		a->head = c;
		a->used = a->size = size;
	}
	return c->data;
}

void *xw_arena_alloc(struct xw_arena *a, size_t size, size_t align)
{
	size_t at = (a->used + align - 1) & ~(align - 1);
	struct xw_arena_chunk *c;
	size_t next;

	if (a->head && at <= a->size && size <= a->size - at) {
		a->used = at + size;
		return a->head->data + at;
	}
	next = a->head ? a->size * 2 : CHUNK_MIN;
	if (next < CHUNK_MIN)
		next = CHUNK_MIN;
	if (next > CHUNK_MAX)
		next = CHUNK_MAX;
	if (size > next / 4)
		return alloc_alone(a, size);
	c = new_chunk(a, next - sizeof(*c));
	if (!c)
		return NULL;
	c->next = a->head;
	a->head = c;
	a->size = c->size;
	a->used = size;
	return c->data;
}

void *xw_arena_dup(struct xw_arena *a, const void *src, size_t len)
{
	void *p = xw_arena_alloc(a, len, 1);

	if (p && len)
		memcpy(p, src, len);
	return p;
}

void xw_arena_free(struct xw_arena *a)
{
	struct xw_arena_chunk *next;

	for (struct xw_arena_chunk *c = a->head; c; c = next) {
		next = c->next;
		free(c);
	}
	*a = (struct xw_arena){0};
}
