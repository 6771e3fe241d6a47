/* SPDX-License-Identifier: MIT */
/*
 * A device in memory: 4 KiB pages in an open-addressing hash by page number, so that an image of
 * many TiB costs only what was written to it.
 *
 * Invariants:
 * 1. A page number that is not in the table, or has no page, reads as zeros.
 * 2. Bytes at and past `size` are zero in every page, so growing needs no clearing.
 * 3. Slots are never emptied (zeroing frees the page and keeps the number): probing stays correct
 *    without tombstones. The table is at most 3/4 full.
 * 4. Readers share the lock, changes hold it exclusively.
 */
#ifndef XW_TESTS_MEMDEV_H
#define XW_TESTS_MEMDEV_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "dev/dev.h"

#define MEMDEV_PAGE ((uint64_t)4096)
#define MEMDEV_SLOTS 256

struct memdev_slot {
	uint64_t key; /* page number + 1, 0 = empty */
	unsigned char *page;
};

struct memdev {
	struct xw_dev dev;
	pthread_rwlock_t lock;
	struct memdev_slot *slot;
	size_t slots, used; /* slots is 0 or a power of two */
};

static inline struct memdev *memdev_of(struct xw_dev *d)
{
	return (struct memdev *)d;
}

/* The slot of page number no, or the empty slot where it belongs. */
static inline struct memdev_slot *memdev_find(const struct memdev *m, uint64_t no)
{
	size_t i = (size_t)((no * 0x9e3779b97f4a7c15u) >> 20);

	for (;; i++) {
		struct memdev_slot *s = &m->slot[i & (m->slots - 1)];

		if (s->key == no + 1 || s->key == 0)
			return s;
	}
}

static inline bool memdev_grow_table(struct memdev *m)
{
	size_t n = m->slots ? m->slots * 2 : MEMDEV_SLOTS;
	struct memdev bigger = {.slot = calloc(n, sizeof(struct memdev_slot)), .slots = n};

	if (!bigger.slot)
		return false;
	for (size_t i = 0; i < m->slots; i++)
		if (m->slot[i].key)
			*memdev_find(&bigger, m->slot[i].key - 1) = m->slot[i];
	free(m->slot);
	m->slot = bigger.slot;
	m->slots = n;
	return true;
}

/* NULL when out of memory. */
static inline unsigned char *memdev_page_for_write(struct memdev *m, uint64_t no)
{
	struct memdev_slot *s;

	if (m->used >= m->slots / 4 * 3 && !memdev_grow_table(m))
		return NULL;
	s = memdev_find(m, no);
	if (!s->page) {
		s->page = calloc(1, MEMDEV_PAGE);
		if (!s->page)
			return NULL;
		m->used += s->key == 0;
		s->key = no + 1;
	}
	return s->page;
}

static inline int memdev_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	struct memdev *m = memdev_of(d);
	unsigned char *p = buf;
	int rc = 0;

	pthread_rwlock_rdlock(&m->lock);
	if (len && (off > d->size || len > d->size - off))
		rc = xw_fail(d->diag, XW_ERR_TRUNCATED,
			     "%s: cannot read %zu bytes at byte %llu: past the end", d->name, len,
			     (unsigned long long)off);
	while (len && !rc) {
		uint64_t in = off % MEMDEV_PAGE;
		size_t n = XW_MIN(len, MEMDEV_PAGE - in);
		const unsigned char *page =
			m->slots ? memdev_find(m, off / MEMDEV_PAGE)->page : NULL;

		if (page)
			memcpy(p, page + in, n);
		else
			memset(p, 0, n);
		p += n;
		off += n;
		len -= n;
	}
	pthread_rwlock_unlock(&m->lock);
	return rc;
}

static inline int memdev_write_bytes(struct memdev *m, const unsigned char *p, size_t len,
				     uint64_t off)
{
	while (len) {
		uint64_t in = off % MEMDEV_PAGE;
		size_t n = XW_MIN(len, MEMDEV_PAGE - in);
		unsigned char *page = memdev_page_for_write(m, off / MEMDEV_PAGE);

		if (!page)
			return xw_fail_nomem(m->dev.diag, "a memory device");
		memcpy(page + in, p, n);
		p += n;
		off += n;
		len -= n;
		m->dev.size = XW_MAX(m->dev.size, off);
	}
	return 0;
}

static inline int memdev_check_range(struct xw_dev *d, uint64_t off, uint64_t len)
{
	if (off <= INT64_MAX && len <= INT64_MAX - off)
		return 0;
	return xw_fail(d->diag, XW_ERR_HOSTFULL, "%s: byte %llu + %llu is too large", d->name,
		       (unsigned long long)off, (unsigned long long)len);
}

static inline int memdev_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct memdev *m = memdev_of(d);
	int rc = 0;

	pthread_rwlock_wrlock(&m->lock);
	for (int i = 0; i < n && !rc; i++) {
		rc = memdev_check_range(d, off, iov[i].iov_len);
		if (!rc)
			rc = memdev_write_bytes(m, iov[i].iov_base, iov[i].iov_len, off);
		off += iov[i].iov_len;
	}
	pthread_rwlock_unlock(&m->lock);
	return rc;
}

/* Zero the part of a slot's page in [off, end); a whole page is freed. */
static inline void memdev_zero_slot(struct memdev_slot *s, uint64_t off, uint64_t end)
{
	uint64_t start = (s->key - 1) * MEMDEV_PAGE;
	uint64_t from = XW_MAX(off, start), to = XW_MIN(end, start + MEMDEV_PAGE);

	if (!s->key || !s->page || from >= to)
		return;
	if (to - from == MEMDEV_PAGE) {
		free(s->page);
		s->page = NULL;
	} else {
		memset(s->page + (from - start), 0, to - from);
	}
}

static inline void memdev_zero_range(struct memdev *m, uint64_t off, uint64_t end)
{
	if (!m->slots || off >= end)
		return;
	if ((end - off) / MEMDEV_PAGE >= m->slots) {
		for (size_t i = 0; i < m->slots; i++)
			memdev_zero_slot(&m->slot[i], off, end);
		return;
	}
	for (uint64_t no = off / MEMDEV_PAGE; no <= (end - 1) / MEMDEV_PAGE; no++)
		memdev_zero_slot(memdev_find(m, no), off, end);
}

static inline int memdev_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct memdev *m = memdev_of(d);
	int rc = memdev_check_range(d, off, len);

	if (rc || !len)
		return rc;
	pthread_rwlock_wrlock(&m->lock);
	memdev_zero_range(m, off, off + len);
	d->size = XW_MAX(d->size, off + len);
	pthread_rwlock_unlock(&m->lock);
	return 0;
}

static inline int memdev_flush(struct xw_dev *d)
{
	(void)d;
	return 0;
}

static inline int memdev_set_size(struct xw_dev *d, uint64_t size)
{
	struct memdev *m = memdev_of(d);
	int rc = memdev_check_range(d, size, 0);

	if (rc)
		return rc;
	pthread_rwlock_wrlock(&m->lock);
	memdev_zero_range(m, size, d->size);
	d->size = size;
	pthread_rwlock_unlock(&m->lock);
	return 0;
}

static inline void memdev_close(struct xw_dev *d)
{
	struct memdev *m = memdev_of(d);

	for (size_t i = 0; i < m->slots; i++)
		free(m->slot[i].page);
	free(m->slot);
	pthread_rwlock_destroy(&m->lock);
	free(m);
}

static const struct xw_dev_ops memdev_ops = {
	.pread = memdev_pread,
	.pwritev = memdev_pwritev,
	.zero = memdev_zero,
	.flush = memdev_flush,
	.set_size = memdev_set_size,
	.close = memdev_close,
};

/* Sparse memory; initially size bytes of zeros. */
static inline int xw_dev_open_mem(uint64_t size, struct xw_diag *diag, struct xw_dev **out)
{
	struct memdev *m = calloc(1, sizeof(*m));
	int rc;

	*out = NULL;
	if (!m)
		return xw_fail_nomem(diag, "a memory device");
	m->dev = (struct xw_dev){
		.ops = &memdev_ops, .name = "(memory)", .diag = diag, .fresh = true};
	rc = memdev_check_range(&m->dev, size, 0);
	if (rc) {
		free(m);
		return rc;
	}
	m->dev.size = size;
	pthread_rwlock_init(&m->lock, NULL);
	*out = &m->dev;
	return 0;
}

#endif
