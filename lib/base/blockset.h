/* SPDX-License-Identifier: MIT */
/*
 * A set of numbers below a limit (blocks or clusters of a filesystem), for marking runs and asking
 * for any part of it. Chunks of 32,768 numbers are empty, full, a short list of runs, or bits: so
 * memory follows what is in the set, not the limit, and is never more than the plain bitmap.
 */
#ifndef XW_BASE_BLOCKSET_H
#define XW_BASE_BLOCKSET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#pragma GCC visibility push(default)

struct xw_blockset;

int xw_blockset_new(uint64_t limit, struct xw_blockset **out);
void xw_blockset_free(struct xw_blockset *s); /* NULL is fine */
/*
 * Add [start, start + len), which lies below the limit. *had, which may be NULL: how many of these
 * were in the set. XW_ERR_NOMEM.
 */
int xw_blockset_add(struct xw_blockset *s, uint64_t start, uint64_t len, uint64_t *had);
int xw_blockset_remove(struct xw_blockset *s, uint64_t start, uint64_t len);
bool xw_blockset_has(const struct xw_blockset *s, uint64_t n);
/* How many of [start, start + len) are in the set. */
uint64_t xw_blockset_count(const struct xw_blockset *s, uint64_t start, uint64_t len);
/* Numbers [start, start + n) as bits, 1 = in the set; the rest of the last byte is zero. */
void xw_blockset_bits(const struct xw_blockset *s, uint64_t start, uint64_t n, uint8_t *bits);
/* Add what bits has set: the reverse. */
int xw_blockset_add_bits(struct xw_blockset *s, uint64_t start, uint64_t n, const uint8_t *bits);
/*
 * The first run at or after `from` that begins in front of `end`, where it is cut: false when there
 * is none. The set is not looked at behind `end`.
 */
bool xw_blockset_next_in(const struct xw_blockset *s, uint64_t from, uint64_t end, uint64_t *start,
			 uint64_t *len);
/* The first run at or after `from`, whole: false when there is none. */
bool xw_blockset_next(const struct xw_blockset *s, uint64_t from, uint64_t *start, uint64_t *len);

#pragma GCC visibility pop

#endif
