/* SPDX-License-Identifier: MIT */
/*
 * A set of numbers below a limit (blocks or clusters of a filesystem). Runs can be added and any
 * range queried. A chunk of 32,768 numbers is empty, full, a short list of runs, or a bitmap, so
 * memory depends on the contents and not on the limit, and never exceeds that of a plain bitmap.
 */
#ifndef XW_BASE_BLOCKSET_H
#define XW_BASE_BLOCKSET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct xw_blockset;

int xw_blockset_new(uint64_t limit, struct xw_blockset **out);
void xw_blockset_free(struct xw_blockset *s); /* s may be NULL */
/*
 * Add [start, start + len), which must lie below the limit. *had (may be NULL) is set to how many
 * of these were in the set already. XW_ERR_NOMEM.
 */
int xw_blockset_add(struct xw_blockset *s, uint64_t start, uint64_t len, uint64_t *had);
int xw_blockset_remove(struct xw_blockset *s, uint64_t start, uint64_t len);
bool xw_blockset_has(const struct xw_blockset *s, uint64_t n);
/* How many of [start, start + len) are in the set. */
uint64_t xw_blockset_count(const struct xw_blockset *s, uint64_t start, uint64_t len);
/* Numbers [start, start + n) as bits, 1 = in the set; the rest of the last byte is zero. */
void xw_blockset_bits(const struct xw_blockset *s, uint64_t start, uint64_t n, uint8_t *bits);
/*
 * The first run at or after `from` that starts before `end`, truncated at `end`; false when there
 * is none. Nothing after `end` is examined.
 */
bool xw_blockset_next_in(const struct xw_blockset *s, uint64_t from, uint64_t end, uint64_t *start,
			 uint64_t *len);
/* The first run at or after `from`, not truncated; false when there is none. */
bool xw_blockset_next(const struct xw_blockset *s, uint64_t from, uint64_t *start, uint64_t *len);

#endif
