/* SPDX-License-Identifier: MIT */
/*
 * The blocks of one directory while it is changed: cached, verified when read, sealed when written,
 * and put back as they were when a change cannot be completed.
 */
#ifndef XW_DIR_CACHE_H
#define XW_DIR_CACHE_H

#include <assert.h>

#include "base/err.h"
#include "base/types.h"
#include "base/vec.h"

#pragma GCC visibility push(default)

/*
 * Where the blocks of a directory come from and go to: what the caller of xw_dir_load() brings.
 * Each returns 0 or a negative code, which ends the change under way and is returned by it.
 */
struct xw_dir_io {
	void *arg;
	int (*read)(void *arg, xw_blk blk, void *buf);
	int (*write)(void *arg, xw_blk blk, const void *buf);
	/* The block of the directory's file at lblk. */
	int (*map)(void *arg, uint32_t lblk, xw_blk *blk);
	/* Give the file one block more, at lblk, its end. */
	int (*extend)(void *arg, uint32_t lblk, xw_blk *blk);
	/* Take back the last extend. */
	int (*shrink)(void *arg, uint32_t lblk, xw_blk blk);
	/*
	 * A block outside the file, for an itree node, near goal; and one that is needed no more.
	 */
	int (*alloc)(void *arg, xw_blk goal, xw_blk *blk);
	int (*release)(void *arg, xw_blk blk);
};

enum xw_dbuf_kind {
	XW_DBUF_LEAF, /* directory entries */
	XW_DBUF_ROOT, /* dx_root */
	XW_DBUF_NODE, /* dx_node */
	XW_DBUF_ITREE,
};

#define XW_DBUF_MARKS 16u

/* Two cache lines in front of the block, and the second is for searching in itree leaves. */
struct xw_dbuf {
	xw_blk blk;
	struct xw_dbuf *newer, *older; /* by arrival */
	uint8_t kind; /* enum xw_dbuf_kind */
	uint8_t was_kind; /* kind and dirty before the change, once it is changed */
	bool was_dirty;
	bool dirty; /* differs from the device */
	bool recent : 1; /* used since eviction last looked */
	bool touched : 1; /* by the change under way: kept until it ends */
	bool fresh : 1; /* new in it */
	bool dropped : 1; /* freed in it */
	bool changed : 1; /* in it */
	bool kept : 1; /* its contents before the change are kept, all of them */
	uint8_t n_marks; /* the user's, about the contents; 0 whenever the cache changed them */
	uint16_t mark_off[XW_DBUF_MARKS];
	uint32_t mark[XW_DBUF_MARKS];
	uint8_t data[];
};

static_assert(sizeof(struct xw_dbuf) == 2 * XW_CACHE_LINE, "two cache lines in front of a block");

struct xw_dslot {
	xw_blk blk;
	struct xw_dbuf *buf; /* NULL: free */
};

/* How to take back one change of bytes. */
struct xw_dundo {
	struct xw_dbuf *buf;
	enum { XW_DUNDO_BYTES, XW_DUNDO_OPENED, XW_DUNDO_CLOSED } what;
	uint32_t off, len, end; /* as the function that made it was called */
};

/* What the cache needs to know of the directory to judge its blocks. */
struct xw_dcache_owner {
	uint32_t block_size;
	bool csum, any_names;
	xw_ino ino;
	uint32_t generation, inode_seed;
};

struct xw_dcache {
	struct xw_dcache_owner owner;
	struct xw_dir_io io;
	size_t max; /* blocks to keep between changes */
	struct xw_dslot *slots; /* open addressing */
	size_t n_slots, n; /* n_slots: a power of two */
	struct xw_dbuf *newest, *oldest;
	XW_VEC(struct xw_dbuf *) touched; /* in the change under way */
	XW_VEC(xw_blk) allocated; /* in it, outside the file */
	XW_VEC(xw_blk) released;
	XW_VEC(struct xw_dundo) undo; /* of the change under way, in its order */
	XW_VEC(uint8_t) undo_bytes; /* what its entries keep, one behind the other */
	const char *why; /* what the last verification complained of; NULL: nothing */
	uint64_t reads, writes;
};

int xw_dcache_init(struct xw_dcache *c, const struct xw_dcache_owner *owner,
		   const struct xw_dir_io *io, size_t max);
/* What was not flushed is lost. */
void xw_dcache_free(struct xw_dcache *c);

/*
 * The block blk, which must be of that kind. The pointer is good until the change ends. Contents
 * have been checked: entries tile leaves, counts fit index blocks, itree nodes pass their check.
 * XW_ERR_CORRUPT, XW_ERR_CHECKSUM: c->why says it.
 */
int xw_dcache_get(struct xw_dcache *c, xw_blk blk, enum xw_dbuf_kind kind, struct xw_dbuf **out);
/* The same into a block of the caller's memory: for what is looked at once and not to be kept. */
int xw_dcache_peek(struct xw_dcache *c, xw_blk blk, enum xw_dbuf_kind kind, uint8_t *block);
/* A zeroed block for blk, which the change has just been given. */
int xw_dcache_new(struct xw_dcache *c, xw_blk blk, enum xw_dbuf_kind kind, struct xw_dbuf **out);
/*
 * Call before changing a block's bytes or kind. _range: before changing these bytes and nothing
 * else; where little changes that is less to keep.
 */
int xw_dcache_dirty(struct xw_dcache *c, struct xw_dbuf *b);
int xw_dcache_dirty_range(struct xw_dcache *c, struct xw_dbuf *b, uint32_t off, uint32_t len);
/*
 * Make or close a gap of `len` bytes at off of what ends at `end`. Zeros are behind that, before
 * and after; what is in a new gap is left to the caller.
 */
int xw_dcache_open_gap(struct xw_dcache *c, struct xw_dbuf *b, uint32_t off, uint32_t len,
		       uint32_t end);
int xw_dcache_close_gap(struct xw_dcache *c, struct xw_dbuf *b, uint32_t off, uint32_t len,
			uint32_t end);
/* A block outside the file, given back if the change fails; nothing of it in the cache. */
int xw_dcache_reserve(struct xw_dcache *c, xw_blk goal, xw_blk *blk);
/* A new block outside the file, zeroed; and giving one back, in the cache or not. */
int xw_dcache_alloc(struct xw_dcache *c, xw_blk goal, enum xw_dbuf_kind kind, struct xw_dbuf **out);
int xw_dcache_release(struct xw_dcache *c, xw_blk blk);
/* XW_ERR_CORRUPT: the change under way has given a block back twice. */
int xw_dcache_released_once(struct xw_dcache *c);

/* End a change: keep it (blocks it freed are released now), or undo it. Each change ends in one. */
int xw_dcache_commit(struct xw_dcache *c);
void xw_dcache_abort(struct xw_dcache *c);
/* Between changes: write everything that is dirty, in block order. */
int xw_dcache_flush(struct xw_dcache *c);

#pragma GCC visibility pop

#endif
