/* SPDX-License-Identifier: MIT */
/*
 * Hash tables: open-addressed, at most half full, with slots of any type. Entries cannot be
 * deleted. A kind describes the slot type; with a constant kind all of this is inlined.
 *
 *	if (xw_table_room(&t, &kind, arg))
 *		return XW_ERR_NOMEM;
 *	slot = xw_table_slot(&t, &kind, arg, xw_table_bytes(&t, &key, sizeof(key)), &key);
 *	if (!used(slot)) {
 *		*slot = ...;
 *		t.n++;
 *	}
 *
 * Hashes are keyed, so that no input can choose its slots. The order of the slots differs from run
 * to run; who needs an order sorts. The key exists once the table has room for an entry: a hash is
 * computed after xw_table_room(), or for a look-up, which in an empty table ignores it.
 */
#ifndef XW_BASE_TABLE_H
#define XW_BASE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"

#define XW_TABLE_FIRST 256u /* slots */
#define XW_TABLE_INLINE static inline __attribute__((always_inline))

struct xw_table {
	void *slots; /* freed with xw_table_free() */
	size_t n, size; /* entries in use; size is 0 or a power of two, at least twice n */
	struct xw_hash_key key; /* set if size is not 0 */
};

/* arg is passed through, for slots that refer to data outside the table. */
struct xw_table_kind {
	size_t bytes; /* size of a slot in bytes */
	bool (*used)(const void *slot); /* a slot of zeros must count as unused */
	bool (*same)(const void *arg, const void *slot, const void *key);
	/* Only the low bits are used. */
	uint64_t (*hash)(const struct xw_table *t, const void *arg, const void *slot);
};

/* Hash of a number, for look-ups and kinds. */
static inline uint64_t xw_table_number(const struct xw_table *t, uint64_t n)
{
	return xw_hash_number(&t->key, n);
}

/* Hash of bytes. */
static inline uint64_t xw_table_bytes(const struct xw_table *t, const void *buf, size_t len)
{
	return xw_hash_secret(&t->key, 0, buf, len);
}

XW_TABLE_INLINE void *xw_table_at(const struct xw_table *t, const struct xw_table_kind *k, size_t i)
{
	return (char *)t->slots + i * k->bytes;
}

/* The slot of key, or the unused slot where it belongs. The table must not be empty. */
XW_TABLE_INLINE void *xw_table_slot(const struct xw_table *t, const struct xw_table_kind *k,
				    const void *arg, uint64_t hash, const void *key)
{
	size_t i = (size_t)hash & (t->size - 1);

	while (k->used(xw_table_at(t, k, i)) && !k->same(arg, xw_table_at(t, k, i), key))
		i = (i + 1) & (t->size - 1);
	return xw_table_at(t, k, i);
}

/* The slot of key, or NULL. */
XW_TABLE_INLINE void *xw_table_get(const struct xw_table *t, const struct xw_table_kind *k,
				   const void *arg, uint64_t hash, const void *key)
{
	void *slot = t->size ? xw_table_slot(t, k, arg, hash, key) : NULL;

	return slot && k->used(slot) ? slot : NULL;
}

/* Make sure that one more entry fits: 0 or XW_ERR_NOMEM, without a message. Slots may move. */
XW_TABLE_INLINE int xw_table_room(struct xw_table *t, const struct xw_table_kind *k,
				  const void *arg)
{
	struct xw_table more = {
		.n = t->n, .size = t->size ? 2 * t->size : XW_TABLE_FIRST, .key = t->key};

	if (2 * (t->n + 1) <= t->size)
		return 0;
	if (!t->size)
		more.key = xw_hash_process_key();
	more.slots = calloc(more.size, k->bytes);
	if (!more.slots)
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < t->size; i++) {
		const void *slot = xw_table_at(t, k, i);
		size_t to;

		if (!k->used(slot))
			continue;
		to = (size_t)k->hash(&more, arg, slot) & (more.size - 1);
		while (k->used(xw_table_at(&more, k, to)))
			to = (to + 1) & (more.size - 1);
		memcpy(xw_table_at(&more, k, to), slot, k->bytes);
	}
	free(t->slots);
	*t = more;
	return 0;
}

static inline void xw_table_free(struct xw_table *t)
{
	free(t->slots);
	*t = (struct xw_table){0};
}

/* ---- slots that begin with their key: a uint64_t or uint32_t that is not 0 ---- */

static inline bool xw_u64_used(const void *slot)
{
	return *(const uint64_t *)slot;
}

static inline bool xw_u64_same(const void *arg, const void *slot, const void *key)
{
	(void)arg;
	return *(const uint64_t *)slot == *(const uint64_t *)key;
}

static inline uint64_t xw_u64_hash(const struct xw_table *t, const void *arg, const void *slot)
{
	(void)arg;
	return xw_table_number(t, *(const uint64_t *)slot);
}

static inline bool xw_u32_used(const void *slot)
{
	return *(const uint32_t *)slot;
}

static inline bool xw_u32_same(const void *arg, const void *slot, const void *key)
{
	(void)arg;
	return *(const uint32_t *)slot == *(const uint32_t *)key;
}

static inline uint64_t xw_u32_hash(const struct xw_table *t, const void *arg, const void *slot)
{
	(void)arg;
	return xw_table_number(t, *(const uint32_t *)slot);
}

/*
 * Initializers of a kind whose slots are of `type`. The key of a look-up is a pointer to a number
 * of that width, and its hash is xw_table_number().
 */
#define XW_TABLE_BY_U64(type)                                                                      \
	{                                                                                          \
		sizeof(type), xw_u64_used, xw_u64_same, xw_u64_hash                                \
	}
#define XW_TABLE_BY_U32(type)                                                                      \
	{                                                                                          \
		sizeof(type), xw_u32_used, xw_u32_same, xw_u32_hash                                \
	}

/* ---- a set of numbers: a table whose slots are uint64_t ---- */

/* Add n, which is not 0. 1: added; 0: already in the set; XW_ERR_NOMEM, without a message. */
static inline int xw_numbers_add(struct xw_table *t, uint64_t n)
{
	static const struct xw_table_kind kind = XW_TABLE_BY_U64(uint64_t);
	uint64_t *slot;

	if (xw_table_room(t, &kind, NULL))
		return XW_ERR_NOMEM;
	slot = xw_table_slot(t, &kind, NULL, xw_table_number(t, n), &n);
	if (*slot)
		return 0;
	*slot = n;
	t->n++;
	return 1;
}

static inline bool xw_numbers_has(const struct xw_table *t, uint64_t n)
{
	static const struct xw_table_kind kind = XW_TABLE_BY_U64(uint64_t);

	return xw_table_get(t, &kind, NULL, xw_table_number(t, n), &n);
}

#endif
