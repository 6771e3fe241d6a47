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
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "dev/dev.h"

#define PAGE ((uint64_t)4096)
#define SLOTS_MIN 256

struct slot {
	uint64_t key; /* page number + 1, 0 = empty */
	unsigned char *page;
};

struct mem_dev {
	struct xw_dev dev;
	pthread_rwlock_t lock;
	struct slot *slot;
	size_t slots, used; /* slots is 0 or a power of two */
};

static struct mem_dev *mem(struct xw_dev *d)
{
	return (struct mem_dev *)d;
}

/* The slot of page number no, or the empty slot where it belongs. */
static struct slot *find(const struct mem_dev *m, uint64_t no)
{
	size_t i = (size_t)((no * 0x9e3779b97f4a7c15u) >> 20);

	for (;; i++) {
		struct slot *s = &m->slot[i & (m->slots - 1)];

		if (s->key == no + 1 || s->key == 0)
			return s;
	}
}

static bool grow_table(struct mem_dev *m)
{
	size_t n = m->slots ? m->slots * 2 : SLOTS_MIN;
	struct mem_dev bigger = {.slot = calloc(n, sizeof(struct slot)), .slots = n};

	if (!bigger.slot)
		return false;
	for (size_t i = 0; i < m->slots; i++)
		if (m->slot[i].key)
			*find(&bigger, m->slot[i].key - 1) = m->slot[i];
	free(m->slot);
	m->slot = bigger.slot;
	m->slots = n;
	return true;
}

/* NULL when out of memory. */
static unsigned char *page_for_write(struct mem_dev *m, uint64_t no)
{
	struct slot *s;

	if (m->used >= m->slots / 4 * 3 && !grow_table(m))
		return NULL;
	s = find(m, no);
	if (!s->page) {
		s->page = calloc(1, PAGE);
		if (!s->page)
			return NULL;
		m->used += s->key == 0;
		s->key = no + 1;
	}
	return s->page;
}

static int mem_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	struct mem_dev *m = mem(d);
	unsigned char *p = buf;
	int err = 0;

	pthread_rwlock_rdlock(&m->lock);
	if (len && (off > d->size || len > d->size - off))
		err = xw_fail(d->diag, XW_ERR_TRUNCATED,
			      "%s: cannot read %zu bytes at byte %llu: past the end", d->name, len,
			      (unsigned long long)off);
	while (len && !err) {
		uint64_t in = off % PAGE;
		size_t n = XW_MIN(len, PAGE - in);
		const unsigned char *page = m->slots ? find(m, off / PAGE)->page : NULL;

		if (page)
			memcpy(p, page + in, n);
		else
			memset(p, 0, n);
		p += n;
		off += n;
		len -= n;
	}
	pthread_rwlock_unlock(&m->lock);
	return err;
}

static int write_bytes(struct mem_dev *m, const unsigned char *p, size_t len, uint64_t off)
{
	while (len) {
		uint64_t in = off % PAGE;
		size_t n = XW_MIN(len, PAGE - in);
		unsigned char *page = page_for_write(m, off / PAGE);

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

static int check_range(struct xw_dev *d, uint64_t off, uint64_t len)
{
	if (off <= INT64_MAX && len <= INT64_MAX - off)
		return 0;
	return xw_fail(d->diag, XW_ERR_HOSTFULL, "%s: byte %llu + %llu is too large", d->name,
		       (unsigned long long)off, (unsigned long long)len);
}

static int mem_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct mem_dev *m = mem(d);
	int err = 0;

	pthread_rwlock_wrlock(&m->lock);
	for (int i = 0; i < n && !err; i++) {
		err = check_range(d, off, iov[i].iov_len);
		if (!err)
			err = write_bytes(m, iov[i].iov_base, iov[i].iov_len, off);
		off += iov[i].iov_len;
	}
	pthread_rwlock_unlock(&m->lock);
	return err;
}

/* Zero the part of a slot's page in [off, end); a whole page is freed. */
static void zero_slot(struct slot *s, uint64_t off, uint64_t end)
{
	uint64_t start = (s->key - 1) * PAGE;
	uint64_t from = XW_MAX(off, start), to = XW_MIN(end, start + PAGE);

	if (!s->key || !s->page || from >= to)
		return;
	if (to - from == PAGE) {
		free(s->page);
		s->page = NULL;
	} else {
		memset(s->page + (from - start), 0, to - from);
	}
}

static void zero_range(struct mem_dev *m, uint64_t off, uint64_t end)
{
	if (!m->slots || off >= end)
		return;
	if ((end - off) / PAGE >= m->slots) {
		for (size_t i = 0; i < m->slots; i++)
			zero_slot(&m->slot[i], off, end);
		return;
	}
	for (uint64_t no = off / PAGE; no <= (end - 1) / PAGE; no++)
		zero_slot(find(m, no), off, end);
}

static int mem_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct mem_dev *m = mem(d);
	int err = check_range(d, off, len);

	if (err || !len)
		return err;
	pthread_rwlock_wrlock(&m->lock);
	zero_range(m, off, off + len);
	d->size = XW_MAX(d->size, off + len);
	pthread_rwlock_unlock(&m->lock);
	return 0;
}

static int mem_flush(struct xw_dev *d)
{
	(void)d;
	return 0;
}

static int mem_set_size(struct xw_dev *d, uint64_t size)
{
	struct mem_dev *m = mem(d);
	int err = check_range(d, size, 0);

	if (err)
		return err;
	pthread_rwlock_wrlock(&m->lock);
	zero_range(m, size, d->size);
	d->size = size;
	pthread_rwlock_unlock(&m->lock);
	return 0;
}

static void mem_close(struct xw_dev *d)
{
	struct mem_dev *m = mem(d);

	for (size_t i = 0; i < m->slots; i++)
		free(m->slot[i].page);
	free(m->slot);
	pthread_rwlock_destroy(&m->lock);
	free(m);
}

static const struct xw_dev_ops mem_ops = {
	.pread = mem_pread,
	.pwritev = mem_pwritev,
	.zero = mem_zero,
	.flush = mem_flush,
	.set_size = mem_set_size,
	.close = mem_close,
};

int xw_dev_open_mem(uint64_t size, struct xw_diag *diag, struct xw_dev **out)
{
	struct mem_dev *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return xw_fail_nomem(diag, "a memory device");
	m->dev = (struct xw_dev){.ops = &mem_ops, .name = "(memory)", .diag = diag, .fresh = true};
	err = check_range(&m->dev, size, 0);
	if (err) {
		free(m);
		return err;
	}
	m->dev.size = size;
	pthread_rwlock_init(&m->lock, NULL);
	*out = &m->dev;
	return 0;
}
