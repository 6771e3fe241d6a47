/* SPDX-License-Identifier: MIT */
/*
 * A device behind a bounded cache that counts what it has to read: LRU over block numbers. Contents
 * are not kept, only which blocks would be. What is written is in the cache from then on.
 */
#ifndef XW_BENCH_COUNTED_H
#define XW_BENCH_COUNTED_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "dev/dev.h"

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s: %s, line %d\n", __FILE__, #x, __LINE__);              \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

struct lru {
	uint32_t *newer, *older; /* by slot; slot 0 is the ring's head */
	uint64_t *blk;
	uint32_t *table; /* open addressing: slot, or 0 */
	uint32_t size, n, mask;
};

static inline void lru_init(struct lru *c, uint64_t size)
{
	uint32_t t = 64;

	memset(c, 0, sizeof(*c));
	c->size = (uint32_t)XW_MAX(size, 1u);
	while (t < 4 * c->size)
		t *= 2;
	c->mask = t - 1;
	c->newer = calloc(c->size + 1, sizeof(*c->newer));
	c->older = calloc(c->size + 1, sizeof(*c->older));
	c->blk = calloc(c->size + 1, sizeof(*c->blk));
	c->table = calloc(t, sizeof(*c->table));
	MUST(c->newer && c->older && c->blk && c->table);
}

static inline void lru_free(struct lru *c)
{
	free(c->newer);
	free(c->older);
	free(c->blk);
	free(c->table);
}

static inline uint32_t lru_home(const struct lru *c, uint64_t blk)
{
	return (uint32_t)(blk * 0x9E3779B97F4A7C15u >> 32) & c->mask;
}

static inline uint32_t lru_find(const struct lru *c, uint64_t blk)
{
	uint32_t i = lru_home(c, blk);

	while (c->table[i] && c->blk[c->table[i]] != blk)
		i = (i + 1) & c->mask;
	return i;
}

/* Take the entry at i out of the table, and close the gap. */
static inline void lru_remove(struct lru *c, uint32_t i)
{
	uint32_t j = i;

	for (;;) {
		uint32_t home;

		c->table[i] = 0;
		do {
			j = (j + 1) & c->mask;
			if (!c->table[j])
				return;
			home = lru_home(c, c->blk[c->table[j]]);
		} while (i <= j ? i < home && home <= j : i < home || home <= j);
		c->table[i] = c->table[j];
		i = j;
	}
}

static inline void lru_unlink(struct lru *c, uint32_t s)
{
	c->older[c->newer[s]] = c->older[s];
	c->newer[c->older[s]] = c->newer[s];
}

static inline void lru_link(struct lru *c, uint32_t s)
{
	c->older[s] = c->older[0];
	c->newer[s] = 0;
	c->newer[c->older[0]] = s;
	c->older[0] = s;
}

/* One access. Returns whether the block had to be read. */
static inline bool lru_touch(struct lru *c, uint64_t blk)
{
	uint32_t i = lru_find(c, blk), s = c->table[i];

	if (s) {
		lru_unlink(c, s);
		lru_link(c, s);
		return false;
	}
	if (c->n < c->size) {
		s = ++c->n;
	} else {
		s = c->newer[0]; /* the oldest */
		lru_unlink(c, s);
		lru_remove(c, lru_find(c, c->blk[s]));
	}
	c->blk[s] = blk;
	i = lru_find(c, blk);
	c->table[i] = s;
	lru_link(c, s);
	return true;
}

enum counted_kind { COUNTED_TABLE, COUNTED_DATA, COUNTED_OTHER, COUNTED_KINDS };

struct counted {
	struct xw_dev dev;
	struct xw_dev *under;
	struct lru lru;
	bool on;
	uint32_t bs;
	/* what kind of block it is */
	enum counted_kind (*kind)(void *arg, xw_blk blk);
	void *arg;
	uint64_t reads[COUNTED_KINDS];
	uint64_t travel, next; /* blocks between reads; where the last one ended */
};

static inline void counted_touch(struct counted *c, xw_blk blk)
{
	if (!lru_touch(&c->lru, blk))
		return;
	c->reads[c->kind(c->arg, blk)]++;
	if (c->next)
		c->travel += blk > c->next ? blk - c->next : c->next - blk;
	c->next = blk + 1;
}

static inline int counted_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	struct counted *c = (struct counted *)d;

	if (c->on && len) {
		for (xw_blk b = off / c->bs; b <= (off + len - 1) / c->bs; b++)
			counted_touch(c, b);
	}
	return xw_dev_pread(c->under, buf, len, off);
}

static inline int counted_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct counted *c = (struct counted *)d;
	uint64_t len = 0;

	for (int i = 0; i < n; i++)
		len += iov[i].iov_len;
	for (xw_blk b = off / c->bs; c->on && len && b <= (off + len - 1) / c->bs; b++)
		lru_touch(&c->lru, b);
	return xw_dev_pwritev(c->under, iov, n, off);
}

static inline int counted_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	return xw_dev_zero(((struct counted *)d)->under, off, len);
}

static inline int counted_flush(struct xw_dev *d)
{
	return xw_dev_flush(((struct counted *)d)->under);
}

static inline void counted_close(struct xw_dev *d)
{
	(void)d;
}

/* Over `under`, not counting yet. */
static inline void counted_init(struct counted *c, struct xw_dev *under)
{
	static const struct xw_dev_ops ops = {
		.pread = counted_pread,
		.pwritev = counted_pwritev,
		.zero = counted_zero,
		.flush = counted_flush,
		.close = counted_close,
	};

	*c = (struct counted){.dev = *under, .under = under};
	c->dev.ops = &ops;
}

/* Count from here on, through an empty cache of that many blocks. */
static inline void counted_start(struct counted *c, uint64_t cache)
{
	lru_init(&c->lru, cache);
	memset(c->reads, 0, sizeof(c->reads));
	c->travel = c->next = 0;
	c->on = true;
}

static inline void counted_stop(struct counted *c)
{
	c->on = false;
	lru_free(&c->lru);
}

#endif
