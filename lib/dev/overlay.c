/* SPDX-License-Identifier: MIT */
/*
 * A device over a base device: dirty blocks in an open-addressing hash by block number.
 *
 * Invariants:
 * 1. A block in the table is read from it (no page: zeros) and never from the base; any other
 *    block is read from the base. Once in the table a block stays until discard or a shrink.
 * 2. The base is changed only by shadow writes: to blocks that are not in the table and that the
 *    callback reports as free.
 * 3. Bytes of the base at or past `size` are never visible: growing over them zeros them in the
 *    table. Bytes of a page at or past `size` are zero.
 * 4. Readers share the lock, changes hold it exclusively.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/search.h"
#include "base/types.h"
#include "dev/overlay.h"

#define SLOTS_MIN 256
#define TICK_EACH 64u /* calls between two ticks, which cost more than a block in memory */
#define BLOCK_MIN 512u
#define BLOCK_MAX 65536u

struct slot {
	uint64_t key; /* block number + 1, 0 = empty */
	unsigned char *page; /* NULL = zeros */
};

struct overlay {
	struct xw_dev dev;
	struct xw_dev *base;
	uint32_t block_size;
	pthread_rwlock_t lock;
	struct slot *slot;
	size_t slots, used; /* slots is 0 or a power of two */
	struct xw_hash_key key; /* of block numbers, which an image can choose */
	size_t pages;
	xw_overlay_free_fn *is_free;
	void *free_arg;
	int (*tick)(void *arg);
	void *tick_arg;
	unsigned calls; /* atomic */
	void (*unreadable)(void *arg, uint64_t off);
	void *unreadable_arg;
	uint64_t shadow;
};

static struct overlay *ov(const struct xw_dev *d)
{
	return (struct overlay *)(uintptr_t)d;
}

/* The slot of block blk, or the empty slot where it belongs. The table must exist. */
static struct slot *place(const struct overlay *o, uint64_t blk)
{
	size_t i = (size_t)xw_hash_number(&o->key, blk);

	for (;; i++) {
		struct slot *s = &o->slot[i & (o->slots - 1)];

		if (s->key == blk + 1 || s->key == 0)
			return s;
	}
}

/* The slot of a dirty block, else NULL. */
static struct slot *lookup(const struct overlay *o, uint64_t blk)
{
	struct slot *s = o->slots ? place(o, blk) : NULL;

	return s && s->key ? s : NULL;
}

/*
 * Rebuild the table with n slots (a power of two), keeping the blocks below `end` and freeing the
 * others.
 */
static bool rebuild(struct overlay *o, size_t n, uint64_t end)
{
	struct overlay next = {.slot = calloc(n, sizeof(struct slot)), .slots = n, .key = o->key};

	if (!next.slot)
		return false;
	for (size_t i = 0; i < o->slots; i++) {
		struct slot *s = &o->slot[i];

		if (s->key && s->key - 1 < end) {
			*place(&next, s->key - 1) = *s;
			next.used++;
		} else if (s->page) {
			free(s->page);
			o->pages--;
		}
	}
	free(o->slot);
	o->slot = next.slot;
	o->slots = n;
	o->used = next.used;
	return true;
}

/* The slot of blk, created as zeros if necessary (*fresh is set). NULL when out of memory. */
static struct slot *slot_for(struct overlay *o, uint64_t blk, bool *fresh)
{
	struct slot *s;

	if (o->used >= o->slots / 4 * 3 &&
	    !rebuild(o, o->slots ? o->slots * 2 : SLOTS_MIN, UINT64_MAX))
		return NULL;
	s = place(o, blk);
	*fresh = s->key == 0;
	if (*fresh) {
		s->key = blk + 1;
		o->used++;
	}
	return s;
}

static bool add_page(struct overlay *o, struct slot *s)
{
	if (!s->page) {
		s->page = calloc(1, o->block_size);
		o->pages += s->page != NULL;
	}
	return s->page != NULL;
}

static int check_range(struct xw_dev *d, uint64_t off, uint64_t len)
{
	if (off <= INT64_MAX && len <= INT64_MAX - off)
		return 0;
	return xw_fail(d->diag, XW_ERR_HOSTFULL, "%s: byte %llu + %llu is too large", d->name,
		       (unsigned long long)off, (unsigned long long)len);
}

/* Read from the base; past its end, zeros. */
static int read_base(struct overlay *o, void *buf, size_t len, uint64_t off)
{
	uint64_t avail = off < o->base->size ? XW_MIN(len, o->base->size - off) : 0;
	int rc;

	memset((unsigned char *)buf + avail, 0, len - avail);
	rc = avail ? xw_dev_pread(o->base, buf, avail, off) : 0;
	/* Callers that tolerate unreadable blocks retry a failed read block by block. */
	if (rc == XW_ERR_IO && len <= o->block_size && o->unreadable)
		o->unreadable(o->unreadable_arg, off);
	return rc;
}

/* Bytes from off that are not dirty, at most len; off itself is in a clean block. */
static size_t clean_run(const struct overlay *o, uint64_t off, size_t len)
{
	uint64_t end = off + len, at = (off / o->block_size + 1) * o->block_size;

	while (at < end && !lookup(o, at / o->block_size))
		at += o->block_size;
	return (size_t)(XW_MIN(at, end) - off);
}

static int read_bytes(struct overlay *o, unsigned char *p, size_t len, uint64_t off)
{
	int rc = 0;

	while (len && !rc) {
		const struct slot *s = lookup(o, off / o->block_size);
		uint64_t in = off % o->block_size;
		size_t n;

		if (!s) {
			n = clean_run(o, off, len);
			rc = read_base(o, p, n, off);
		} else {
			n = XW_MIN(len, o->block_size - in);
			if (s->page)
				memcpy(p, s->page + in, n);
			else
				memset(p, 0, n);
		}
		p += n;
		off += n;
		len -= n;
	}
	return rc;
}

static int tick(struct overlay *o)
{
	if (!o->tick || __atomic_fetch_add(&o->calls, 1, __ATOMIC_RELAXED) % TICK_EACH)
		return 0;
	return o->tick(o->tick_arg);
}

static int overlay_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	struct overlay *o = ov(d);
	int rc = tick(o);

	if (rc)
		return rc;
	pthread_rwlock_rdlock(&o->lock);
	if (len && (off > d->size || len > d->size - off))
		rc = xw_fail(d->diag, XW_ERR_TRUNCATED,
			     "%s: cannot read %zu bytes at byte %llu: past the end", d->name, len,
			     (unsigned long long)off);
	else
		rc = read_bytes(o, buf, len, off);
	pthread_rwlock_unlock(&o->lock);
	return rc;
}

/*
 * How many of the len bytes from off may be written to the base: 0 if the first block must stay in
 * memory; *n is the number of bytes in that block.
 */
static uint64_t shadow_run(struct overlay *o, uint64_t off, uint64_t len, uint64_t *n)
{
	const uint64_t bs = o->block_size, first = off / bs, last = (off + len - 1) / bs;
	uint64_t blocks;
	bool is_free = false;

	*n = XW_MIN(len, bs - off % bs);
	if (!o->is_free || lookup(o, first))
		return 0;
	blocks = o->is_free(o->free_arg, first, last - first + 1, &is_free);
	if (!is_free || !blocks)
		return 0;
	for (uint64_t i = 1; i < blocks; i++)
		if (lookup(o, first + i))
			blocks = i;
	if (blocks <= last - first)
		len = (first + blocks) * bs - off;
	return len;
}

/* Write n bytes of one block to memory; data NULL = zeros. */
static int write_held(struct overlay *o, const void *data, size_t n, uint64_t off)
{
	const uint64_t blk = off / o->block_size, in = off % o->block_size;
	const bool whole = n == o->block_size;
	bool fresh;
	struct slot *s = slot_for(o, blk, &fresh);
	int rc = 0;

	if (!s)
		return xw_fail_nomem(o->dev.diag, "an overlay");
	if (!data && (whole || (!fresh && !s->page))) {
		o->pages -= s->page != NULL;
		free(s->page);
		s->page = NULL;
		return 0;
	}
	if (!add_page(o, s))
		rc = xw_fail_nomem(o->dev.diag, "an overlay");
	else if (fresh && !whole)
		rc = read_base(o, s->page, o->block_size, blk * o->block_size);
	if (rc && fresh) { /* a block without its contents must not stay in the table */
		o->pages -= s->page != NULL;
		free(s->page);
		*s = (struct slot){0};
		o->used--;
	}
	if (rc)
		return rc;
	if (data)
		memcpy(s->page + in, data, n);
	else
		memset(s->page + in, 0, n);
	return 0;
}

/* Write len bytes (data NULL: zeros): free blocks to the base, all others to memory. */
static int write_range(struct overlay *o, const unsigned char *data, uint64_t len, uint64_t off)
{
	int rc = 0;

	while (len && !rc) {
		uint64_t n, through = shadow_run(o, off, len, &n);

		if (through) {
			n = through;
			o->shadow += n;
			rc = data ? xw_dev_pwrite(o->base, data, n, off)
				  : xw_dev_zero(o->base, off, n);
		} else {
			rc = write_held(o, data, n, off);
		}
		if (data)
			data += n;
		off += n;
		len -= n;
	}
	return rc;
}

/* Invariant 3: bytes of the base past the old end become zeros. */
static int grow(struct overlay *o, uint64_t size)
{
	uint64_t from = o->dev.size, end = XW_MIN(size, o->base->size);
	int rc = 0;

	if (o->dev.fixed)
		return xw_fail(o->dev.diag, XW_ERR_HOSTFULL,
			       "%s: cannot write up to byte %llu: the device ends at %llu",
			       o->dev.name, (unsigned long long)size,
			       (unsigned long long)o->dev.size);
	while (from < end && !rc) {
		uint64_t n = XW_MIN(end - from, o->block_size - from % o->block_size);

		rc = write_held(o, NULL, n, from);
		from += n;
	}
	if (!rc)
		o->dev.size = size;
	return rc;
}

static int overlay_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct overlay *o = ov(d);
	int rc = tick(o);

	pthread_rwlock_wrlock(&o->lock);
	for (int i = 0; i < n && !rc; i++) {
		const size_t len = iov[i].iov_len;

		rc = check_range(d, off, len);
		if (!rc && len && off + len > d->size)
			rc = grow(o, off + len);
		if (!rc)
			rc = write_range(o, iov[i].iov_base, len, off);
		off += len;
	}
	pthread_rwlock_unlock(&o->lock);
	return rc;
}

static int overlay_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct overlay *o = ov(d);
	int rc = check_range(d, off, len);

	if (!rc)
		rc = tick(o);
	if (rc || !len)
		return rc;
	pthread_rwlock_wrlock(&o->lock);
	if (off + len > d->size)
		rc = grow(o, off + len);
	if (!rc)
		rc = write_range(o, NULL, len, off);
	pthread_rwlock_unlock(&o->lock);
	return rc;
}

/* Makes shadow writes durable; blocks held in memory wait for a commit. */
static int overlay_flush(struct xw_dev *d)
{
	return ov(d)->shadow ? xw_dev_flush(ov(d)->base) : 0;
}

static int shrink(struct overlay *o, uint64_t size)
{
	uint64_t end = xw_div_up(size, o->block_size);
	struct slot *last = size % o->block_size ? lookup(o, end - 1) : NULL;

	if (o->slots && !rebuild(o, o->slots, end))
		return xw_fail_nomem(o->dev.diag, "an overlay");
	last = last ? lookup(o, end - 1) : NULL;
	if (last && last->page)
		memset(last->page + size % o->block_size, 0, o->block_size - size % o->block_size);
	o->dev.size = size;
	return 0;
}

static int overlay_set_size(struct xw_dev *d, uint64_t size)
{
	struct overlay *o = ov(d);
	int rc = check_range(d, size, 0);

	if (rc)
		return rc;
	pthread_rwlock_wrlock(&o->lock);
	if (size > d->size)
		rc = grow(o, size);
	else if (!d->fixed)
		rc = shrink(o, size);
	pthread_rwlock_unlock(&o->lock);
	return rc;
}

static void drop_all(struct overlay *o)
{
	for (size_t i = 0; i < o->slots; i++)
		free(o->slot[i].page);
	free(o->slot);
	o->slot = NULL;
	o->slots = o->used = o->pages = 0;
}

struct xw_dev *xw_overlay_detach(struct xw_dev *overlay)
{
	struct overlay *o = ov(overlay);
	struct xw_dev *base = o->base;

	drop_all(o);
	pthread_rwlock_destroy(&o->lock);
	free(o);
	return base;
}

static void overlay_close(struct xw_dev *d)
{
	xw_dev_close(xw_overlay_detach(d));
}

/* Blocks written to free space are on the base already: start their write-back. */
static void overlay_writeback(struct xw_dev *d, uint64_t off, uint64_t len)
{
	xw_dev_writeback(ov(d)->base, off, len);
}

static void overlay_ahead(struct xw_dev *d, uint64_t off, uint64_t len)
{
	xw_dev_ahead(ov(d)->base, off, len);
}

static const struct xw_dev_ops overlay_ops = {
	.pread = overlay_pread,
	.pwritev = overlay_pwritev,
	.zero = overlay_zero,
	.flush = overlay_flush,
	.set_size = overlay_set_size,
	.close = overlay_close,
	.writeback = overlay_writeback,
	.ahead = overlay_ahead,
};

int xw_overlay_open(struct xw_dev *base, uint32_t block_size, struct xw_diag *diag,
		    struct xw_dev **out)
{
	struct overlay *o;

	if (block_size < BLOCK_MIN || block_size > BLOCK_MAX || (block_size & (block_size - 1)))
		return xw_fail(diag, XW_ERR_INTERNAL, "%s: overlay block size of %u bytes",
			       base->name, block_size);
	o = calloc(1, sizeof(*o));
	if (!o)
		return xw_fail_nomem(diag, "an overlay");
	o->dev = (struct xw_dev){
		.ops = &overlay_ops,
		.size = base->size,
		.name = base->name,
		.diag = diag,
		.is_block = base->is_block,
		.fixed = base->fixed || base->is_block,
	};
	o->base = base;
	o->block_size = block_size;
	o->key = xw_hash_process_key();
	pthread_rwlock_init(&o->lock, NULL);
	*out = &o->dev;
	return 0;
}

struct xw_dev *xw_overlay_base(const struct xw_dev *overlay)
{
	return ov(overlay)->base;
}

uint32_t xw_overlay_block_size(const struct xw_dev *overlay)
{
	return ov(overlay)->block_size;
}

void xw_overlay_set_shadow(struct xw_dev *overlay, xw_overlay_free_fn *fn, void *arg)
{
	ov(overlay)->is_free = fn;
	ov(overlay)->free_arg = arg;
}

void xw_overlay_set_tick(struct xw_dev *overlay, int (*fn)(void *arg), void *arg)
{
	ov(overlay)->tick = fn;
	ov(overlay)->tick_arg = arg;
}

void xw_overlay_set_unreadable(struct xw_dev *d, void (*fn)(void *arg, uint64_t off), void *arg)
{
	ov(d)->unreadable = fn;
	ov(d)->unreadable_arg = arg;
}

uint64_t xw_overlay_write_target(const struct xw_dev *overlay, uint64_t blk, uint64_t n,
				 bool *through)
{
	struct overlay *o = ov(overlay);
	bool is_free = false, held;
	uint64_t k = 1;

	pthread_rwlock_rdlock(&o->lock);
	if (o->is_free)
		n = o->is_free(o->free_arg, blk, n, &is_free);
	held = lookup(o, blk);
	while (is_free && k < n && held == (lookup(o, blk + k) != NULL))
		k++;
	pthread_rwlock_unlock(&o->lock);
	*through = is_free && !held;
	return is_free ? k : n;
}

int xw_overlay_dirty(const struct xw_dev *overlay, uint64_t **blocks, size_t *n)
{
	const struct overlay *o = ov(overlay);
	size_t k = 0;

	*blocks = NULL;
	*n = o->used;
	if (!o->used)
		return 0;
	*blocks = malloc(o->used * sizeof(**blocks));
	if (!*blocks)
		return xw_fail_nomem(overlay->diag, "an overlay");
	for (size_t i = 0; i < o->slots; i++)
		if (o->slot[i].key)
			(*blocks)[k++] = o->slot[i].key - 1;
	qsort(*blocks, k, sizeof(**blocks), xw_by_u64);
	return 0;
}

bool xw_overlay_block(const struct xw_dev *overlay, uint64_t blk, const void **data)
{
	const struct slot *s = lookup(ov(overlay), blk);

	*data = s ? s->page : NULL;
	return s != NULL;
}

void xw_overlay_discard(struct xw_dev *overlay)
{
	struct overlay *o = ov(overlay);

	pthread_rwlock_wrlock(&o->lock);
	drop_all(o);
	o->dev.size = o->base->size;
	pthread_rwlock_unlock(&o->lock);
}

void xw_overlay_stats(const struct xw_dev *overlay, struct xw_overlay_stats *out)
{
	const struct overlay *o = ov(overlay);

	*out = (struct xw_overlay_stats){
		.dirty = o->used,
		.memory = (uint64_t)o->pages * o->block_size + o->slots * sizeof(struct slot),
		.shadow = o->shadow,
	};
}
