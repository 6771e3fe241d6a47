/* SPDX-License-Identifier: MIT */
/*
 * The block cache under a directory that is being modified.
 *
 * Invariants:
 * 1. Each cached block was verified as its kind; callers do not check again. A block never has two
 *    kinds: an image in which an index entry points to an itree node fails here.
 * 2. Between begin and end of a change no block leaves the cache, so pointers stay valid.
 * 3. Before bytes change, their old contents are recorded, in the order of the changes (not for new
 *    blocks, nor for blocks saved as a whole already). An abort rolls changes back from last to
 *    first, which restores cache, file and allocator. Blocks that a change frees are released only
 *    when it commits.
 * 4. No part of an unfinished change is ever written: blocks are written at the end of a change
 *    (eviction) and by flush. Checksums are computed then, once for many changes.
 */
#include "config.h"

#include "dir/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "dir/itree_leaf.h"
#include "disk/dirent.h"
#include "disk/itree.h"

#define SLOTS_FIRST 64u

/* ---- verifying and sealing ---- */

static int bad(struct xw_dcache *c, int code, const char *why)
{
	c->why = why;
	return code;
}

static int verify_leaf(struct xw_dcache *c, const uint8_t *block)
{
	const struct xw_dcache_owner *o = &c->owner;
	uint32_t room = o->block_size - (o->csum ? XW_DIR_TAIL : 0), off = 0;
	struct xw_dirent e;

	if (o->csum && !xw_dir_has_tail(block, o->block_size))
		return bad(c, XW_ERR_CORRUPT, "no space for its checksum");
	if (o->csum && xw_dir_block_verify(block, o->block_size, o->inode_seed))
		return bad(c, XW_ERR_CHECKSUM, "checksum mismatch");
	for (; off < room; off += e.rec_len) {
		if (xw_dirent_decode(block, room, off, &e) || (e.ino && !e.name_len))
			return bad(c, XW_ERR_CORRUPT, "damaged entry");
	}
	return 0;
}

static int verify_index(struct xw_dcache *c, const uint8_t *block, bool root)
{
	const struct xw_dcache_owner *o = &c->owner;
	unsigned off = root ? XW_DX_ROOT_ENTRIES : XW_DX_NODE_ENTRIES, limit, count, want;
	struct xw_dx_info info;
	int rc;

	if (root) {
		rc = xw_dx_root_decode(block, o->block_size, o->csum, &info, &limit, &count);
		want = xw_dx_root_limit(o->block_size, o->csum);
	} else {
		rc = xw_dx_node_decode(block, o->block_size, o->csum, &limit, &count);
		want = xw_dx_node_limit(o->block_size, o->csum);
	}
	if (rc || limit != want)
		return bad(c, XW_ERR_CORRUPT, "damaged index block");
	if (o->csum && xw_dx_block_verify(block, o->block_size, off, o->inode_seed))
		return bad(c, XW_ERR_CHECKSUM, "checksum mismatch of an index block");
	return 0;
}

static int verify_itree(struct xw_dcache *c, xw_blk blk, const uint8_t *block)
{
	const struct xw_dcache_owner *o = &c->owner;
	struct xw_itree_flaw flaw;
	struct xw_itree_hdr h;
	int rc = xw_itree_node_check(block, o->block_size, o->any_names, &h, &flaw);

	if (!rc)
		rc = xw_itree_hdr_belongs(&h, o->ino, o->generation, blk, &flaw);
	if (rc)
		return bad(c, rc, flaw.what);
	if (xw_itree_verify(block, o->block_size, o->csum, o->inode_seed))
		return bad(c, XW_ERR_CHECKSUM, "checksum mismatch of an itree node");
	return 0;
}

static int verify(struct xw_dcache *c, xw_blk blk, enum xw_dbuf_kind kind, const uint8_t *block)
{
	switch (kind) {
	case XW_DBUF_LEAF:
		return verify_leaf(c, block);
	case XW_DBUF_ROOT:
	case XW_DBUF_NODE:
		return verify_index(c, block, kind == XW_DBUF_ROOT);
	case XW_DBUF_ITREE:
		return verify_itree(c, blk, block);
	}
	return XW_ERR_INTERNAL;
}

static void seal(struct xw_dcache *c, struct xw_dbuf *b)
{
	const struct xw_dcache_owner *o = &c->owner;

	switch (b->kind) {
	case XW_DBUF_LEAF:
		if (o->csum)
			xw_dir_block_set_csum(b->data, o->block_size, o->inode_seed);
		break;
	case XW_DBUF_ROOT:
	case XW_DBUF_NODE:
		if (o->csum)
			xw_dx_block_set_csum(b->data, o->block_size,
					     b->kind == XW_DBUF_ROOT ? XW_DX_ROOT_ENTRIES
								     : XW_DX_NODE_ENTRIES,
					     o->inode_seed);
		break;
	case XW_DBUF_ITREE:
		if (xw_itree_dead(b->data)) {
			xw_itree_squeeze(b->data);
			b->n_marks = 0;
		}
		xw_itree_set_csum(b->data, o->block_size, o->csum, o->inode_seed);
		break;
	}
}

/* ---- table and eviction order ---- */

static size_t home_of(const struct xw_dcache *c, xw_blk blk)
{
	return xw_hash_number(&c->key, blk) & (c->n_slots - 1);
}

/* The slot of blk, or the free slot where it belongs. */
static struct xw_dslot *slot_of(const struct xw_dcache *c, xw_blk blk)
{
	size_t i = home_of(c, blk);

	while (c->slots[i].buf && c->slots[i].blk != blk)
		i = (i + 1) & (c->n_slots - 1);
	return &c->slots[i];
}

static struct xw_dbuf *find(const struct xw_dcache *c, xw_blk blk)
{
	return slot_of(c, blk)->buf;
}

/* Empty a slot, and move up the displaced entries after it. */
static void free_slot(struct xw_dcache *c, struct xw_dslot *slot)
{
	const size_t mask = c->n_slots - 1;
	size_t gap = (size_t)(slot - c->slots), i = gap;

	for (;;) {
		i = (i + 1) & mask;
		if (!c->slots[i].buf)
			break;
		if (((i - home_of(c, c->slots[i].blk)) & mask) < ((i - gap) & mask))
			continue;
		c->slots[gap] = c->slots[i];
		gap = i;
	}
	c->slots[gap].buf = NULL;
}

static void unlink_order(struct xw_dcache *c, struct xw_dbuf *b)
{
	*(b->newer ? &b->newer->older : &c->newest) = b->older;
	*(b->older ? &b->older->newer : &c->oldest) = b->newer;
}

static void link_newest(struct xw_dcache *c, struct xw_dbuf *b)
{
	b->newer = NULL;
	b->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = b;
	c->newest = b;
}

/* Make room in the table for one more block. */
static int grow_table(struct xw_dcache *c)
{
	const size_t n = c->n_slots ? 2 * c->n_slots : SLOTS_FIRST;
	struct xw_dslot *slots;

	if (4 * (c->n + 1) <= 3 * c->n_slots)
		return 0;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return XW_ERR_NOMEM;
	free(c->slots);
	c->slots = slots;
	c->n_slots = n;
	for (struct xw_dbuf *b = c->newest; b; b = b->older)
		*slot_of(c, b->blk) = (struct xw_dslot){b->blk, b};
	return 0;
}

static int insert(struct xw_dcache *c, struct xw_dbuf *b)
{
	if (grow_table(c))
		return XW_ERR_NOMEM;
	*slot_of(c, b->blk) = (struct xw_dslot){b->blk, b};
	link_newest(c, b);
	c->n++;
	return 0;
}

/* Remove the block from the table and free it. */
static void discard(struct xw_dcache *c, struct xw_dbuf *b)
{
	free_slot(c, slot_of(c, b->blk));
	unlink_order(c, b);
	c->n--;
	free(b);
}

int xw_dcache_init(struct xw_dcache *c, const struct xw_dcache_owner *owner,
		   const struct xw_dir_io *io, size_t max)
{
	memset(c, 0, sizeof(*c));
	c->owner = *owner;
	c->key = xw_hash_process_key();
	c->io = *io;
	c->max = max;
	return grow_table(c);
}

void xw_dcache_free(struct xw_dcache *c)
{
	for (struct xw_dbuf *b = c->newest, *next; b; b = next) {
		next = b->older;
		free(b);
	}
	xw_vec_free(&c->undo);
	xw_vec_free(&c->undo_bytes);
	xw_vec_free(&c->touched);
	xw_vec_free(&c->allocated);
	xw_vec_free(&c->released);
	free(c->slots);
	c->slots = NULL;
	c->newest = c->oldest = NULL;
}

/* ---- in a change ---- */

static int touch(struct xw_dcache *c, struct xw_dbuf *b)
{
	b->recent = true;
	if (b->touched)
		return 0;
	if (c->touched.n == c->touched.cap && xw_vec_reserve(&c->touched, c->touched.n + 1))
		return XW_ERR_NOMEM;
	c->touched.v[c->touched.n++] = b;
	b->touched = true;
	return 0;
}

static struct xw_dbuf *make(struct xw_dcache *c, xw_blk blk, enum xw_dbuf_kind kind)
{
	struct xw_dbuf *b = aligned_alloc(XW_CACHE_LINE, sizeof(*b) + c->owner.block_size);

	if (b)
		*b = (struct xw_dbuf){.blk = blk, .kind = (uint8_t)kind};
	return b;
}

int xw_dcache_get(struct xw_dcache *c, xw_blk blk, enum xw_dbuf_kind kind, struct xw_dbuf **out)
{
	struct xw_dbuf *b = find(c, blk);
	int rc;

	c->why = NULL;
	if (b) {
		/* callers read these next */
		__builtin_prefetch(b->mark);
		__builtin_prefetch(b->data);
		if (b->kind != kind || b->dropped)
			return bad(c, XW_ERR_CORRUPT, "a block is used twice");
		*out = b;
		return touch(c, b);
	}
	b = make(c, blk, kind);
	if (!b)
		return XW_ERR_NOMEM;
	c->reads++;
	rc = c->io.read(c->io.arg, blk, b->data);
	if (!rc)
		rc = verify(c, blk, kind, b->data);
	if (!rc)
		rc = insert(c, b);
	if (rc) {
		free(b);
		return rc;
	}
	*out = b;
	return touch(c, b);
}

void xw_dcache_expect(const struct xw_dcache *c, xw_blk blk, uint32_t off, uint32_t len)
{
	const struct xw_dbuf *b = find(c, blk);

	if (!b)
		return;
	__builtin_prefetch(b);
	__builtin_prefetch(b->mark);
	__builtin_prefetch(b->data);
	xw_prefetch(b->data + off, len);
}

int xw_dcache_peek(struct xw_dcache *c, xw_blk blk, enum xw_dbuf_kind kind, uint8_t *block)
{
	const struct xw_dbuf *b = find(c, blk);
	int rc;

	c->why = NULL;
	if (b) {
		if (b->kind != kind || b->dropped)
			return bad(c, XW_ERR_CORRUPT, "a block is used twice");
		memcpy(block, b->data, c->owner.block_size);
		if (kind == XW_DBUF_ITREE)
			xw_itree_squeeze(block);
		return 0;
	}
	c->reads++;
	rc = c->io.read(c->io.arg, blk, block);
	return rc ? rc : verify(c, blk, kind, block);
}

int xw_dcache_new(struct xw_dcache *c, xw_blk blk, enum xw_dbuf_kind kind, struct xw_dbuf **out)
{
	struct xw_dbuf *b;
	int rc;

	c->why = NULL;
	if (find(c, blk))
		return bad(c, XW_ERR_CORRUPT, "a block is used twice");
	b = make(c, blk, kind);
	if (!b)
		return XW_ERR_NOMEM;
	memset(b->data, 0, c->owner.block_size);
	rc = insert(c, b);
	if (rc) {
		free(b);
		return rc;
	}
	b->fresh = b->dirty = true;
	*out = b;
	rc = touch(c, b);
	if (rc) /* an untracked block would not be rolled back */
		discard(c, b);
	return rc;
}

/* ---- changing bytes, and back ---- */

/*
 * Record the state of b before its first change. Returns whether its bytes must be saved as well.
 */
static bool begin_undo(struct xw_dbuf *b)
{
	if (b->fresh || b->kept)
		return false;
	if (!b->changed) {
		b->changed = true;
		b->was_kind = b->kind;
		b->was_dirty = b->dirty;
		b->dirty = true;
	}
	return true;
}

/* Record how to undo a change, with its bytes [off, off + len) if `bytes`. */
static int record_undo(struct xw_dcache *c, const struct xw_dundo *u, bool bytes)
{
	const size_t n = c->undo_bytes.n;

	if (c->undo.n == c->undo.cap && xw_vec_reserve(&c->undo, c->undo.n + 1))
		return XW_ERR_NOMEM;
	if (bytes) {
		if (c->undo_bytes.cap - n < u->len && xw_vec_reserve(&c->undo_bytes, n + u->len))
			return XW_ERR_NOMEM;
		memcpy(c->undo_bytes.v + n, u->buf->data + u->off, u->len);
		c->undo_bytes.n += u->len;
	}
	c->undo.v[c->undo.n++] = *u;
	return 0;
}

int xw_dcache_dirty_range(struct xw_dcache *c, struct xw_dbuf *b, uint32_t off, uint32_t len)
{
	const struct xw_dundo u = {b, XW_DUNDO_BYTES, off, len, 0};

	return begin_undo(b) ? record_undo(c, &u, true) : 0;
}

int xw_dcache_dirty(struct xw_dcache *c, struct xw_dbuf *b)
{
	int rc = xw_dcache_dirty_range(c, b, 0, c->owner.block_size);

	if (!rc)
		b->kept = true;
	return rc;
}

int xw_dcache_open_gap(struct xw_dcache *c, struct xw_dbuf *b, uint32_t off, uint32_t len,
		       uint32_t end)
{
	const struct xw_dundo u = {b, XW_DUNDO_OPENED, off, len, end};
	int rc = begin_undo(b) ? record_undo(c, &u, false) : 0;

	if (!rc)
		memmove(b->data + off + len, b->data + off, end - off);
	return rc;
}

int xw_dcache_close_gap(struct xw_dcache *c, struct xw_dbuf *b, uint32_t off, uint32_t len,
			uint32_t end)
{
	const struct xw_dundo u = {b, XW_DUNDO_CLOSED, off, len, end};
	int rc = begin_undo(b) ? record_undo(c, &u, true) : 0;

	if (rc)
		return rc;
	memmove(b->data + off, b->data + off + len, end - off - len);
	memset(b->data + end - len, 0, len);
	return 0;
}

/* Undo the last remaining change of bytes. */
static void undo_one(struct xw_dcache *c)
{
	const struct xw_dundo *u = &c->undo.v[--c->undo.n];
	uint8_t *at = u->buf->data + u->off;

	if (u->what == XW_DUNDO_OPENED) {
		memmove(at, at + u->len, u->end - u->off);
		memset(u->buf->data + u->end, 0, u->len);
		return;
	}
	if (u->what == XW_DUNDO_CLOSED)
		memmove(at + u->len, at, u->end - u->off - u->len);
	c->undo_bytes.n -= u->len;
	memcpy(at, c->undo_bytes.v + c->undo_bytes.n, u->len);
}

int xw_dcache_reserve(struct xw_dcache *c, xw_blk goal, xw_blk *blk)
{
	int rc;

	if (xw_vec_reserve(&c->allocated, c->allocated.n + 1))
		return XW_ERR_NOMEM;
	rc = c->io.alloc(c->io.arg, goal, blk);
	if (!rc)
		c->allocated.v[c->allocated.n++] = *blk;
	return rc;
}

int xw_dcache_alloc(struct xw_dcache *c, xw_blk goal, enum xw_dbuf_kind kind, struct xw_dbuf **out)
{
	xw_blk blk;
	int rc = xw_dcache_reserve(c, goal, &blk);

	return rc ? rc : xw_dcache_new(c, blk, kind, out);
}

int xw_dcache_release(struct xw_dcache *c, xw_blk blk)
{
	struct xw_dbuf *b = find(c, blk);

	if (b && b->dropped)
		return bad(c, XW_ERR_CORRUPT, "a block is used twice");
	if (b && touch(c, b))
		return XW_ERR_NOMEM;
	if (xw_vec_push(&c->released, blk))
		return XW_ERR_NOMEM;
	if (b)
		b->dropped = true;
	return 0;
}

static int by_number(const void *x, const void *y)
{
	const xw_blk *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

int xw_dcache_released_once(struct xw_dcache *c)
{
	if (c->released.n)
		qsort(c->released.v, c->released.n, sizeof(*c->released.v), by_number);
	for (size_t i = 1; i < c->released.n; i++) {
		if (c->released.v[i - 1] == c->released.v[i])
			return bad(c, XW_ERR_CORRUPT, "a block is used twice");
	}
	return 0;
}

/* ---- the end of a change ---- */

static int write_back(struct xw_dcache *c, struct xw_dbuf *b)
{
	int rc;

	if (!b->dirty)
		return 0;
	seal(c, b);
	c->writes++;
	rc = c->io.write(c->io.arg, b->blk, b->data);
	if (!rc)
		b->dirty = false;
	return rc;
}

/* Evict the oldest block. A block used since the last attempt becomes the newest instead. */
static int evict(struct xw_dcache *c)
{
	while (c->n > c->max) {
		struct xw_dbuf *b = c->oldest;
		int rc;

		if (b->recent) {
			b->recent = false;
			unlink_order(c, b);
			link_newest(c, b);
			continue;
		}
		rc = write_back(c, b);
		if (rc)
			return rc;
		discard(c, c->oldest);
	}
	return 0;
}

int xw_dcache_commit(struct xw_dcache *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->touched.n; i++) {
		struct xw_dbuf *b = c->touched.v[i];

		b->touched = b->fresh = b->changed = b->kept = false;
		if (b->dropped)
			discard(c, b);
	}
	for (size_t i = 0; i < c->released.n; i++) {
		int one = c->io.release(c->io.arg, c->released.v[i]);

		rc = rc ? rc : one;
	}
	c->touched.n = c->allocated.n = c->released.n = 0;
	c->undo.n = c->undo_bytes.n = 0;
	return rc ? rc : evict(c);
}

void xw_dcache_abort(struct xw_dcache *c)
{
	while (c->undo.n)
		undo_one(c);
	for (size_t i = 0; i < c->touched.n; i++) {
		struct xw_dbuf *b = c->touched.v[i];

		if (b->fresh) {
			discard(c, b);
			continue;
		}
		if (b->changed) {
			b->dirty = b->was_dirty;
			b->kind = b->was_kind;
			b->n_marks = 0;
		}
		b->touched = b->changed = b->kept = b->dropped = false;
	}
	/* A failure to free only leaks a block; the first failure is the one to report. */
	while (c->allocated.n)
		c->io.release(c->io.arg, c->allocated.v[--c->allocated.n]);
	c->touched.n = c->released.n = 0;
}

static int by_block(const void *x, const void *y)
{
	const struct xw_dslot *a = x, *b = y;

	return a->blk < b->blk ? -1 : a->blk > b->blk;
}

int xw_dcache_flush(struct xw_dcache *c)
{
	/* Copy the block numbers, too, so that sorting does not dereference pointers. */
	auto_free struct xw_dslot *v = malloc((c->n + 1) * sizeof(*v));
	size_t n = 0;
	int rc = 0;

	if (!v)
		return XW_ERR_NOMEM;
	for (struct xw_dbuf *b = c->newest; b; b = b->older) {
		if (b->dirty)
			v[n++] = (struct xw_dslot){b->blk, b};
	}
	qsort(v, n, sizeof(*v), by_block);
	for (size_t i = 0; i < n && !rc; i++)
		rc = write_back(c, v[i].buf);
	return rc;
}
