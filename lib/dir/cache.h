/* SPDX-License-Identifier: MIT */
/*
 * The blocks of one directory while it is modified: cached, verified when read, checksummed when
 * written, and rolled back when a change cannot be completed.
 */
#ifndef XW_DIR_CACHE_H
#define XW_DIR_CACHE_H

#include <assert.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/types.h"
#include "base/vec.h"

/*
 * Source of the blocks of a directory, provided by the caller of xw_dir_load(). Each function
 * returns 0 or a negative code, which aborts the current change and is returned by it.
 */
struct xw_dir_io {
	void *arg;
	int (*read)(void *arg, xw_blk blk, void *buf);
	int (*write)(void *arg, xw_blk blk, const void *buf);
	/* The physical block of lblk in the directory file. */
	int (*map)(void *arg, uint32_t lblk, xw_blk *blk);
	/* Append a block to the file at lblk, its end. */
	int (*extend)(void *arg, uint32_t lblk, xw_blk *blk);
	/* Undo the last extend. */
	int (*shrink)(void *arg, uint32_t lblk, xw_blk blk);
	/* Allocate a block outside the file, for an itree node, near goal; free such a block. */
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

/* Two CPU cache lines in front of the block's data; searches of itree leaves use the second. */
struct xw_dbuf {
	xw_blk blk;
	struct xw_dbuf *newer, *older; /* eviction order */
	uint8_t kind; /* enum xw_dbuf_kind */
	uint8_t was_kind; /* kind and dirty before the current change, if it changed the block */
	bool was_dirty;
	bool dirty; /* differs from the device */
	bool recent : 1; /* used since the last eviction attempt */
	bool touched : 1; /* used by the current change: not evicted before it ends */
	bool fresh : 1; /* created by the current change */
	bool dropped : 1; /* freed by the current change */
	bool changed : 1; /* modified by the current change */
	bool kept : 1; /* all of its previous contents are saved */
	/*
	 * Owned by the user of the block, and derived from its contents; reset to 0 when the cache
	 * changes the contents.
	 */
	uint8_t n_marks;
	uint16_t mark_off[XW_DBUF_MARKS];
	uint32_t mark[XW_DBUF_MARKS];
	uint8_t data[];
};

static_assert(sizeof(struct xw_dbuf) == 2 * XW_CACHE_LINE, "two cache lines in front of a block");

struct xw_dslot {
	xw_blk blk;
	struct xw_dbuf *buf; /* NULL: free */
};

/* How to undo one change of bytes. */
struct xw_dundo {
	struct xw_dbuf *buf;
	enum { XW_DUNDO_BYTES, XW_DUNDO_OPENED, XW_DUNDO_CLOSED } what;
	uint32_t off, len, end; /* parameters of the function that made the change */
};

/* The properties of the directory that the cache needs to verify blocks. */
struct xw_dcache_owner {
	uint32_t block_size;
	bool csum, any_names;
	xw_ino ino;
	uint32_t generation, inode_seed;
};

struct xw_dcache {
	struct xw_dcache_owner owner;
	struct xw_dir_io io;
	size_t max; /* maximum number of blocks between changes */
	struct xw_dslot *slots; /* open-addressed */
	size_t n_slots, n; /* n_slots: a power of two */
	struct xw_hash_key key; /* of block numbers, which an image can choose */
	struct xw_dbuf *newest, *oldest;
	XW_VEC(struct xw_dbuf *) touched; /* blocks that the current change uses */
	XW_VEC(xw_blk) allocated; /* blocks outside the file that the current change allocated */
	XW_VEC(xw_blk) released;
	XW_VEC(struct xw_dundo) undo; /* changes of the current operation, in order */
	XW_VEC(uint8_t) undo_bytes; /* saved bytes of the undo entries, concatenated */
	const char *why; /* what the last failed verification found; NULL: nothing */
	uint64_t reads, writes;
};

int xw_dcache_init(struct xw_dcache *c, const struct xw_dcache_owner *owner,
		   const struct xw_dir_io *io, size_t max);
/* Changes that were not flushed are lost. */
void xw_dcache_free(struct xw_dcache *c);

/*
 * Get block blk, which must be of that kind. The pointer is valid until the change ends. The
 * contents were verified: entries tile leaves, counts fit index blocks, itree nodes pass their
 * check. XW_ERR_CORRUPT, XW_ERR_CHECKSUM: c->why has the reason.
 */
int xw_dcache_get(struct xw_dcache *c, xw_blk blk, enum xw_dbuf_kind kind, struct xw_dbuf **out);
/* Prefetch bytes of a cached block that are needed soon. */
void xw_dcache_expect(const struct xw_dcache *c, xw_blk blk, uint32_t off, uint32_t len);
/* Like xw_dcache_get(), but read into the caller's memory without caching: for blocks used once. */
int xw_dcache_peek(struct xw_dcache *c, xw_blk blk, enum xw_dbuf_kind kind, uint8_t *block);
/* Get a zeroed block for blk, which the current change has just allocated. */
int xw_dcache_new(struct xw_dcache *c, xw_blk blk, enum xw_dbuf_kind kind, struct xw_dbuf **out);
/*
 * Must be called before the bytes or the kind of a block change. The _range variant is for a change
 * of only these bytes, and saves less.
 */
int xw_dcache_dirty(struct xw_dcache *c, struct xw_dbuf *b);
int xw_dcache_dirty_range(struct xw_dcache *c, struct xw_dbuf *b, uint32_t off, uint32_t len);
/*
 * Open or close a gap of `len` bytes at off in the bytes up to `end`. The bytes after `end` are
 * zero before and after; the caller fills a new gap.
 */
int xw_dcache_open_gap(struct xw_dcache *c, struct xw_dbuf *b, uint32_t off, uint32_t len,
		       uint32_t end);
int xw_dcache_close_gap(struct xw_dcache *c, struct xw_dbuf *b, uint32_t off, uint32_t len,
			uint32_t end);
/*
 * Allocate a block outside the file without adding it to the cache; it is freed if the change
 * fails.
 */
int xw_dcache_reserve(struct xw_dcache *c, xw_blk goal, xw_blk *blk);
/* Allocate a new zeroed block outside the file; free one, cached or not. */
int xw_dcache_alloc(struct xw_dcache *c, xw_blk goal, enum xw_dbuf_kind kind, struct xw_dbuf **out);
int xw_dcache_release(struct xw_dcache *c, xw_blk blk);
/* XW_ERR_CORRUPT: the current change freed the same block twice. */
int xw_dcache_released_once(struct xw_dcache *c);

/*
 * End a change: commit it (which releases the blocks it freed), or roll it back. Every change ends
 * with one of the two.
 */
int xw_dcache_commit(struct xw_dcache *c);
void xw_dcache_abort(struct xw_dcache *c);
/* Between changes: write all dirty blocks, in block order. */
int xw_dcache_flush(struct xw_dcache *c);

#endif
