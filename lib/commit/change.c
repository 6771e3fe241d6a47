/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/types.h"
#include "commit/change.h"

#define CHUNK ((size_t)1 << 20)
#define IOV 256
#define HOST_PAGE 4096u /* hosts allocate in units of at most this size */

static const uint8_t zeros[65536];

uint64_t xw_change_hash(const uint8_t sector[XW_CHANGE_SECTOR])
{
	return xw_hash_fixed(sector, XW_CHANGE_SECTOR, 0);
}

int xw_change_before(const struct xw_change *c, uint64_t off, size_t len, void *buf)
{
	const uint64_t there = off < c->old_size ? XW_MIN(len, c->old_size - off) : 0;

	memset((uint8_t *)buf + there, 0, len - there);
	return there ? xw_dev_pread(c->base, buf, there, off) : 0;
}

/* Read the superblock's block. If it is unreadable, that is a reason to write it, not to fail. */
static int read_super(struct xw_change *c, bool *readable)
{
	const uint64_t bs = c->block_size, off = c->super_blk * bs;
	auto_free uint8_t *page = malloc(bs);
	struct xw_diag *diag = c->base->diag;
	int rc;

	c->super_page = malloc(bs);
	if (!page || !c->super_page)
		return xw_fail_nomem(c->diag, "a change");
	c->base->diag = NULL;
	*readable = !xw_change_before(c, off, bs, page);
	c->base->diag = diag;
	if (*readable)
		memcpy(c->old_super, page + XW_SUPER_OFFSET % bs, XW_SUPER_SIZE);
	memset(c->super_page, 0, bs);
	rc = off < c->new_size
		     ? xw_dev_pread(c->overlay, c->super_page, XW_MIN(bs, c->new_size - off), off)
		     : 0;
	memcpy(c->new_super, c->super_page + XW_SUPER_OFFSET % bs, XW_SUPER_SIZE);
	return rc;
}

static const uint8_t *page_of(const struct xw_change *c, uint64_t blk)
{
	const void *data;

	return xw_overlay_block(c->overlay, blk, &data) && data ? data : zeros;
}

/*
 * Record block blk, whose old contents are in `before`, if it differs or contains the superblock.
 */
static void consider(struct xw_change *c, uint64_t blk, const uint8_t *before)
{
	const uint8_t *after = blk == c->super_blk ? c->super_page : page_of(c, blk);
	const size_t per = c->block_size / XW_CHANGE_SECTOR;
	const bool differs = memcmp(before, after, c->block_size) != 0;

	if (differs)
		c->empty = false;
	if (!differs && blk != c->super_blk)
		return;
	for (size_t i = 0; i < per; i++)
		c->hashes[c->n * per + i] = xw_change_hash(before + i * XW_CHANGE_SECTOR);
	c->blocks[c->n++] = blk;
}

static int compare_run(struct xw_change *c, const uint64_t *blocks, size_t n, uint8_t *buf)
{
	const uint64_t bs = c->block_size;
	int rc = xw_change_before(c, blocks[0] * bs, n * bs, buf);

	for (size_t i = 0; i < n && !rc; i++)
		consider(c, blocks[i], buf + i * bs);
	return rc;
}

/* List all dirty blocks, and the superblock's block in any case. */
static int list_blocks(struct xw_change *c, uint64_t **out, size_t *n)
{
	uint64_t *blocks = NULL, *more;
	size_t at = 0;
	int rc = xw_overlay_dirty(c->overlay, &blocks, n);

	if (rc)
		return rc;
	while (at < *n && blocks[at] < c->super_blk)
		at++;
	if (at == *n || blocks[at] != c->super_blk) {
		more = realloc(blocks, (*n + 1) * sizeof(*blocks));
		if (!more) {
			free(blocks);
			return xw_fail_nomem(c->diag, "a change");
		}
		blocks = more;
		memmove(blocks + at + 1, blocks + at, (*n - at) * sizeof(*blocks));
		blocks[at] = c->super_blk;
		++*n;
	}
	*out = blocks;
	return 0;
}

static int compare_all(struct xw_change *c, const uint64_t *blocks, size_t n, bool readable)
{
	auto_free uint8_t *buf = malloc(CHUNK);
	const size_t max = CHUNK / c->block_size;
	size_t run;
	int rc = 0;

	if (!buf)
		return xw_fail_nomem(c->diag, "a change");
	for (size_t i = 0; i < n && !rc; i += run) {
		run = 1;
		if (blocks[i] == c->super_blk && !readable) {
			memset(buf, 0, c->block_size);
			consider(c, blocks[i], buf);
			c->empty = false;
			continue;
		}
		while (run < max && i + run < n && blocks[i + run] == blocks[i] + run &&
		       (readable || blocks[i + run] != c->super_blk))
			run++;
		rc = compare_run(c, blocks + i, run, buf);
	}
	return rc;
}

int xw_change_collect(struct xw_dev *overlay, struct xw_diag *diag, struct xw_change *out)
{
	auto_free uint64_t *blocks = NULL;
	bool readable = false;
	size_t n = 0;
	int rc;

	memset(out, 0, sizeof(*out));
	out->overlay = overlay;
	out->base = xw_overlay_base(overlay);
	out->diag = diag;
	out->block_size = xw_overlay_block_size(overlay);
	out->old_size = out->base->size;
	out->new_size = overlay->size;
	out->empty = out->old_size == out->new_size;
	if (out->block_size < 1024)
		return xw_fail(diag, XW_ERR_INTERNAL, "%s: overlay of %u byte blocks committed",
			       overlay->name, out->block_size);
	out->super_blk = XW_SUPER_OFFSET / out->block_size;
	rc = read_super(out, &readable);
	if (!rc)
		rc = list_blocks(out, &blocks, &n);
	if (rc)
		return rc;
	out->blocks = calloc(n, sizeof(*out->blocks));
	out->hashes = calloc(n * (out->block_size / XW_CHANGE_SECTOR), sizeof(*out->hashes));
	if (!out->blocks || !out->hashes)
		return xw_fail_nomem(diag, "a change");
	return compare_all(out, blocks, n, readable);
}

void xw_change_free(struct xw_change *c)
{
	free(c->blocks);
	free(c->hashes);
	free(c->super_page);
	xw_vec_free(&c->reserved);
	memset(c, 0, sizeof(*c));
}

void xw_change_set_super(struct xw_change *c, const uint8_t super[XW_SUPER_SIZE])
{
	memcpy(c->super_page + XW_SUPER_OFFSET % c->block_size, super, XW_SUPER_SIZE);
}

static bool was_zero(const struct xw_change *c, size_t i, size_t sector)
{
	const size_t per = c->block_size / XW_CHANGE_SECTOR;

	return c->hashes[i * per + sector] == xw_change_hash(zeros);
}

/* Can a part of block i be a hole? */
static bool may_be_hole(const struct xw_change *c, size_t i)
{
	for (size_t k = 0; k < c->block_size / XW_CHANGE_SECTOR; k++)
		if (was_zero(c, i, k))
			return true;
	return false;
}

/* Allocate by writing zeros over zeros, on hosts that cannot allocate on request. */
static int fill_holes(struct xw_change *c, size_t i)
{
	const uint64_t off = c->blocks[i] * c->block_size;
	int rc = 0;

	for (size_t k = 0; k < c->block_size / XW_CHANGE_SECTOR && !rc; k++)
		if (was_zero(c, i, k) && off + (k + 1) * XW_CHANGE_SECTOR <= c->old_size)
			rc = xw_dev_pwrite(c->base, zeros, XW_CHANGE_SECTOR,
					   off + k * XW_CHANGE_SECTOR);
	return rc;
}

/* Allocate space for blocks i to i + n - 1 of the list, which are adjacent. */
static int reserve_run(struct xw_change *c, size_t i, size_t n)
{
	const uint64_t bs = c->block_size, off = c->blocks[i] * bs;
	const struct xw_run run = {c->blocks[i], n};
	struct xw_dev_stamp before = {0}, after = {0};
	int rc = 0;

	if (xw_dev_stamp(c->base, &before))
		before.room = 0;
	if (off < c->new_size)
		rc = xw_dev_reserve(c->base, off, XW_MIN(n * bs, c->new_size - off));
	for (size_t k = i; k < i + n && rc == XW_ERR_UNSUPPORTED; k++) {
		const int filled = fill_holes(c, k);

		if (filled || k + 1 == i + n)
			rc = filled;
	}
	if (!xw_dev_stamp(c->base, &after) && after.room > before.room)
		(void)!xw_vec_push(&c->reserved, run); /* not recorded: it stays allocated */
	return rc;
}

int xw_change_reserve(struct xw_change *c)
{
	size_t n;
	int rc = 0;

	for (size_t i = 0; i < c->n && !rc; i += n) {
		for (n = 0; i + n < c->n && c->blocks[i + n] == c->blocks[i] + n; n++)
			if (!may_be_hole(c, i + n))
				break;
		if (n)
			rc = reserve_run(c, i, n);
		n = XW_MAX(n, 1);
	}
	return rc;
}

/* Punch the pages of [from, to) that contain only zeros. */
static int punch_zeros(struct xw_change *c, uint64_t from, uint64_t to)
{
	uint8_t page[HOST_PAGE];
	uint64_t hole = from; /* zeros from here to the current page */
	int rc = 0;

	for (uint64_t at = from, n; at < to && !rc; at += n) {
		n = XW_MIN(to - at, sizeof(page));
		rc = xw_dev_pread(c->base, page, n, at);
		if (rc || memcmp(page, zeros, n)) {
			if (!rc && at > hole)
				rc = xw_dev_zero(c->base, hole, at - hole);
			hole = at + n;
		}
	}
	return rc || hole >= to ? rc : xw_dev_zero(c->base, hole, to - hole);
}

void xw_change_unreserve(struct xw_change *c)
{
	struct xw_diag *diag = c->base->diag;
	const uint64_t bs = c->block_size;
	int rc = 0;

	c->base->diag = NULL;
	for (size_t i = 0; i < c->reserved.n && !c->base->keep && !rc; i++) {
		const struct xw_run *r = &c->reserved.v[i];
		const uint64_t from = r->start * bs & ~(uint64_t)(HOST_PAGE - 1);
		const uint64_t to = xw_round_up((r->start + r->len) * bs, HOST_PAGE);

		rc = punch_zeros(c, from, XW_MIN(to, c->old_size));
	}
	c->reserved.n = 0;
	c->base->diag = diag;
}

static const uint8_t *contents(const struct xw_change *c, size_t i)
{
	return c->blocks[i] == c->super_blk ? c->super_page : page_of(c, c->blocks[i]);
}

static int get_block(void *arg, size_t i, xw_blk *blk, const void **data)
{
	const struct xw_change *c = arg;

	*blk = c->blocks[i];
	*data = contents(c, i);
	return 0;
}

struct xw_block_source xw_change_source(struct xw_change *c)
{
	return (struct xw_block_source){.n = c->n, .arg = c, .get = get_block};
}

int xw_change_apply(struct xw_change *c)
{
	const uint64_t bs = c->block_size;
	struct iovec iov[IOV];
	size_t n;
	int rc = 0;

	if (c->new_size > c->base->size)
		rc = xw_dev_set_size(c->base, c->new_size);
	for (size_t i = 0; i < c->n && !rc; i += n) {
		const uint64_t off = c->blocks[i] * bs;
		uint64_t room = c->new_size > off ? c->new_size - off : 0;

		for (n = 0; n < IOV && i + n < c->n && c->blocks[i + n] == c->blocks[i] + n; n++) {
			iov[n].iov_base = (void *)(uintptr_t)contents(c, i + n);
			iov[n].iov_len = XW_MIN(bs, room);
			room -= iov[n].iov_len;
		}
		rc = xw_dev_pwritev(c->base, iov, (int)n, off);
	}
	return rc;
}
