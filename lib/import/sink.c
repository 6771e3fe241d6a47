// SPDX-License-Identifier: MIT
/*
 * Invariants while a file is written:
 * 1. `ext` is ascending in logical blocks. The stream allocator returns physical runs in the same
 *    order, so writes are sequential.
 * 2. Every byte of every mapped block is written exactly once: payload, or zeros where there is
 *    none (a hole that ends within a block, the rest of the last block). Old contents of the device
 *    are never exposed.
 */
#include "config.h"

#include "import/sink.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/extent.h"

void xw_sink_free(struct xw_sink *k)
{
	xw_vec_free(&k->ext);
}

static int add_extent(struct xw_sink *k, uint64_t lblk, xw_blk pblk, uint64_t len)
{
	struct xw_extent *last = k->ext.n ? &k->ext.v[k->ext.n - 1] : NULL;

	if (last && last->lblk + last->len == lblk && last->pblk + last->len == pblk) {
		uint32_t more = (uint32_t)XW_MIN(len, XW_EXT_MAX_LEN - last->len);

		last->len += more;
		lblk += more;
		pblk += more;
		len -= more;
	}
	while (len) {
		uint32_t part = (uint32_t)XW_MIN(len, XW_EXT_MAX_LEN);
		struct xw_extent e = {.lblk = (uint32_t)lblk, .len = part, .pblk = pblk};

		if (xw_vec_push(&k->ext, e))
			return xw_fail_nomem(k->diag, "extent list");
		lblk += part;
		pblk += part;
		len -= part;
	}
	return 0;
}

static int out_of_space(struct xw_sink *k, uint64_t len)
{
	uint64_t left = xw_space_free_blocks(k->space);

	*k->missing += len > left ? len - left : 1;
	xw_diag_clear(k->diag);
	return 0;
}

/* Allocated runs that are mapped piece by piece, in order. */
struct run_feed {
	const struct xw_run *runs;
	size_t n, i;
	uint64_t used; /* number of used blocks in runs[i] */
};

static int map_range(struct xw_sink *k, struct run_feed *f, uint64_t lblk, uint64_t len)
{
	int rc = 0;

	while (len && f->i < f->n && !rc) {
		uint64_t part = XW_MIN(len, f->runs[f->i].len - f->used);

		rc = add_extent(k, lblk, f->runs[f->i].start + f->used, part);
		lblk += part;
		len -= part;
		f->used += part;
		if (f->used == f->runs[f->i].len) {
			f->i++;
			f->used = 0;
		}
	}
	return rc;
}

struct block_range {
	uint64_t lblk, len;
};

static uint64_t sparse_ranges(const struct xw_sink *k, const struct xw_entry *e,
			      struct block_range *out, size_t *n)
{
	uint64_t total = 0, bs = k->block_size;

	*n = 0;
	for (size_t i = 0; i < e->n_segs; i++) {
		uint64_t from = e->segs[i].off / bs,
			 end = xw_div_up(e->segs[i].off + e->segs[i].len, bs);

		if (!e->segs[i].len)
			continue;
		if (*n && from < out[*n - 1].lblk + out[*n - 1].len)
			from = out[*n - 1].lblk + out[*n - 1].len;
		if (from >= end)
			continue;
		out[(*n)++] = (struct block_range){from, end - from};
		total += end - from;
	}
	return total;
}

/* Allocate in an existing image: after the previous file, otherwise in as few runs as possible. */
static int allocate_near(struct xw_sink *k, uint64_t len, struct xw_run **runs, size_t *n)
{
	const struct xw_alloc_req req = {.goal = k->goal, .len = len};
	int rc = xw_space_alloc_all(k->space, &req, runs, n);

	if (!rc && *n)
		k->goal = (*runs)[*n - 1].start + (*runs)[*n - 1].len;
	return rc;
}

/* Allocate len blocks: *runs, or if it is NULL, n runs of *one. */
static int allocate(struct xw_sink *k, uint64_t len, struct xw_run *one, struct xw_run **runs,
		    size_t *n)
{
	int rc = 0;

	*runs = NULL;
	*n = 0;
	if (*k->missing) {
		*k->missing += len;
		return 0;
	}
	if (!k->stream) {
		rc = allocate_near(k, len, runs, n);
	} else {
		rc = xw_stream_alloc_one(k->space, k->stream, len, one);
		if (rc == 1) {
			rc = 0;
			*n = 1;
		} else if (!rc) {
			rc = xw_stream_alloc(k->space, k->stream, len, runs, n);
		}
	}
	if (rc == XW_ERR_NOSPC)
		return out_of_space(k, len);
	if (!rc)
		k->data_blocks += len;
	return rc;
}

/* ---- bigalloc: all blocks of a logical cluster are in one physical cluster ---- */

/* Number of clusters that the ranges need, except the one allocated last. */
static uint64_t new_clusters(const struct xw_sink *k, const struct block_range *r, size_t n)
{
	uint64_t count = 0, last = k->last_cluster;

	for (size_t i = 0; i < n; i++) {
		const uint64_t from = r[i].lblk >> k->cluster_bits;
		const uint64_t to = (r[i].lblk + r[i].len - 1) >> k->cluster_bits;

		count += to - from + (from != last);
		last = to;
	}
	return count;
}

static int map_clusters(struct xw_sink *k, struct run_feed *f, uint64_t lblk, uint64_t len)
{
	const uint64_t size = UINT64_C(1) << k->cluster_bits;
	int rc = 0;

	while (len && !rc) {
		const uint64_t at = lblk & (size - 1), part = XW_MIN(len, size - at);

		if (lblk >> k->cluster_bits != k->last_cluster) {
			if (f->i == f->n)
				return XW_ERR_INTERNAL;
			k->last_cluster = lblk >> k->cluster_bits;
			k->last_place = f->runs[f->i].start + f->used;
			f->used += size;
			if (f->used >= f->runs[f->i].len) {
				f->i++;
				f->used = 0;
			}
		}
		rc = add_extent(k, lblk, k->last_place + at, part);
		lblk += part;
		len -= part;
	}
	return rc;
}

/* Allocate and map ranges of `total` blocks. */
static int reserve_ranges(struct xw_sink *k, const struct block_range *r, size_t n_ranges,
			  uint64_t total)
{
	auto_free struct xw_run *runs = NULL;
	struct run_feed feed = {0};
	struct xw_run one;
	int rc = 0;

	if (!total)
		return 0;
	if (k->cluster_bits)
		total = new_clusters(k, r, n_ranges) << k->cluster_bits;
	if (total)
		rc = allocate(k, total, &one, &runs, &feed.n);
	feed.runs = runs ? runs : &one;
	for (size_t i = 0; i < n_ranges && !rc && !*k->missing; i++)
		rc = k->cluster_bits ? map_clusters(k, &feed, r[i].lblk, r[i].len)
				     : map_range(k, &feed, r[i].lblk, r[i].len);
	return rc;
}

static int reserve(struct xw_sink *k, const struct xw_entry *e)
{
	const struct block_range whole = {0, xw_div_up(e->size, k->block_size)};
	auto_free struct block_range *r = NULL;
	uint64_t total;
	size_t n;

	if (!e->sparse)
		return reserve_ranges(k, &whole, 1, whole.len);
	r = calloc(e->n_segs + 1, sizeof(*r));
	if (!r)
		return xw_fail_nomem(k->diag, "sparse map");
	total = sparse_ranges(k, e, r, &n);
	return reserve_ranges(k, r, n, total);
}

/*
 * Allocate [off, off + len) at the end of a file of unknown size; a gap of whole blocks becomes a
 * hole.
 */
static int grow(struct xw_sink *k, uint64_t off, uint64_t len)
{
	const struct xw_extent *last = k->ext.n ? &k->ext.v[k->ext.n - 1] : NULL;
	uint64_t have = last ? (uint64_t)last->lblk + last->len : 0;
	uint64_t from = XW_MAX(have, off / k->block_size),
		 end = xw_div_up(off + len, k->block_size);
	struct block_range r = {from, end > from ? end - from : 0};

	return reserve_ranges(k, &r, 1, r.len);
}

/* Write buf (NULL: zeros) to the mapped parts of [off, off + len). */
static int write_mapped(struct xw_sink *k, uint64_t off, const uint8_t *buf, uint64_t len)
{
	uint64_t bs = k->block_size, end = off + len;
	int rc = 0;

	while (off < end && !rc) {
		const struct xw_extent *e = k->cursor < k->ext.n ? &k->ext.v[k->cursor] : NULL;
		uint64_t from, to, part, at;

		if (!e)
			break;
		from = e->lblk * bs;
		to = from + e->len * bs;
		if (off >= to) {
			k->cursor++;
			continue;
		}
		if (off < from) {
			part = XW_MIN(from, end) - off;
			off += part;
			buf = buf ? buf + part : NULL;
			continue;
		}
		part = XW_MIN(to, end) - off;
		at = e->pblk * bs + (off - from);
		rc = buf ? xw_out_write(k->out, at, buf, part) : xw_out_zeros(k->out, at, part);
		off += part;
		buf = buf ? buf + part : NULL;
	}
	return rc;
}

static int check_size(struct xw_sink *k, const struct xw_source *s, const struct xw_entry *e,
		      uint64_t size)
{
	if (xw_div_up(size, k->block_size) <= k->max_lblk)
		return 0;
	return xw_fail(k->diag, XW_ERR_LIMIT, "%s: %.*s: %llu bytes exceed the maximum file size",
		       s->name, XW_SHOWN(e->path), (unsigned long long)size);
}

/* Write zeros from `pos`, the end of the payload, to the end of the last block. */
static int zero_tail(struct xw_sink *k, uint64_t pos)
{
	const struct xw_extent *last = k->ext.n ? &k->ext.v[k->ext.n - 1] : NULL;
	const uint64_t mapped = last ? ((uint64_t)last->lblk + last->len) * k->block_size : 0;

	return !*k->missing && mapped > pos ? write_mapped(k, pos, NULL, mapped - pos) : 0;
}

/* Write a piece of payload after zeros for the gap between `pos` and it. */
static int write_piece(struct xw_sink *k, bool known, uint64_t pos, uint64_t off, const void *buf,
		       size_t len)
{
	int rc = known ? 0 : grow(k, off, len);

	if (rc || *k->missing)
		return rc;
	if (off > pos)
		rc = write_mapped(k, pos, NULL, off - pos);
	return rc ? rc : write_mapped(k, off, buf, len);
}

static int fail_payload(struct xw_sink *k, const struct xw_source *s, const struct xw_entry *e)
{
	return xw_fail(k->diag, XW_ERR_INPUT, "%s: %.*s: payload exceeds the file size", s->name,
		       XW_SHOWN(e->path));
}

static int copy_payload(struct xw_sink *k, struct xw_source *s, const struct xw_entry *e,
			struct xw_binode *n)
{
	bool known = e->size != XW_SIZE_UNKNOWN;
	uint64_t pos = 0, off;
	const void *buf;
	size_t len;
	int rc, more;

	while ((more = xw_source_read(s, &buf, &len, &off)) > 0) {
		if (off < pos || len > UINT64_MAX - off || (known && off + len > e->size))
			return fail_payload(k, s, e);
		rc = check_size(k, s, e, off + len);
		if (!rc)
			rc = write_piece(k, known, pos, off, buf, len);
		if (!rc && k->tick)
			rc = k->tick(k->tick_arg);
		if (rc)
			return rc;
		pos = off + len;
	}
	if (more < 0)
		return more;
	n->size = known ? e->size : pos;
	return zero_tail(k, pos);
}

static int set_extents(struct xw_sink *k, struct xw_binode *n)
{
	n->n_ext = (uint32_t)k->ext.n;
	if (k->ext.n == 1)
		n->ext = k->ext.v[0];
	if (k->ext.n <= 1)
		return 0;
	n->exts = malloc(k->ext.n * sizeof(*n->exts));
	if (!n->exts) {
		n->n_ext = 0;
		return xw_fail_nomem(k->diag, "extent list");
	}
	memcpy(n->exts, k->ext.v, k->ext.n * sizeof(*n->exts));
	return 0;
}

/* ---- inline contents ---- */

static bool fits_inode(const struct xw_sink *k, const struct xw_entry *e, const struct xw_binode *n)
{
	int64_t room;

	if (!k->inline_room || e->sparse || !e->size || e->size == XW_SIZE_UNKNOWN)
		return false;
	room = k->inline_room(k->inline_arg, n);
	return room >= 0 && e->size <= (uint64_t)room;
}

/* Write contents that were read for inline data to blocks instead. */
static int write_inline(struct xw_sink *k, const struct xw_entry *e, const char *bytes,
			struct xw_binode *n)
{
	int rc = reserve(k, e);

	n->size = e->size;
	if (!rc && !*k->missing)
		rc = write_mapped(k, 0, (const uint8_t *)bytes, e->size);
	if (!rc)
		rc = zero_tail(k, e->size);
	return rc ? rc : set_extents(k, n);
}

static int read_inline(struct xw_sink *k, struct xw_source *s, const struct xw_entry *e,
		       struct xw_binode *n)
{
	char *bytes = xw_arena_alloc(k->arena, e->size, 1);
	const void *buf;
	uint64_t off;
	size_t len;
	int more;

	if (!bytes)
		return xw_fail_nomem(k->diag, "inline data");
	while ((more = xw_source_read(s, &buf, &len, &off)) > 0) {
		if (len > e->size || off > e->size - len)
			return fail_payload(k, s, e);
		memcpy(bytes + off, buf, len);
	}
	if (more < 0)
		return more;
	if (xw_extent_root_like(bytes, e->size))
		return write_inline(k, e, bytes, n);
	n->bytes = bytes;
	n->size = e->size;
	n->flags |= XW_BN_INLINE;
	return 0;
}

int xw_sink_file(struct xw_sink *k, struct xw_source *s, const struct xw_entry *e,
		 struct xw_binode *n)
{
	int rc = 0;

	k->ext.n = 0;
	k->cursor = 0;
	k->last_cluster = UINT64_MAX;
	if (fits_inode(k, e, n))
		return read_inline(k, s, e, n);
	if (e->size != XW_SIZE_UNKNOWN) {
		rc = check_size(k, s, e, e->size);
		if (!rc)
			rc = reserve(k, e);
		if (rc)
			return rc;
	}
	rc = copy_payload(k, s, e, n);
	return rc ? rc : set_extents(k, n);
}

int xw_sink_release(struct xw_sink *k, struct xw_binode *n)
{
	const struct xw_extent *e = xw_binode_extents(n);
	/* end of the last released cluster; blocks before it are released already */
	xw_blk done = 0;
	int rc = 0;

	for (uint32_t i = 0; i < n->n_ext && !rc; i++) {
		const xw_blk end = e[i].pblk + e[i].len;
		const xw_blk from = e[i].pblk < done ? XW_MIN(done, end) : e[i].pblk;

		rc = xw_space_release(k->space, from, end - from);
		k->data_blocks -= e[i].len;
		k->replaced_blocks += e[i].len;
		done = xw_div_up(end, UINT64_C(1) << k->cluster_bits) << k->cluster_bits;
		if (i + 1 < n->n_ext && e[i + 1].pblk < e[i].pblk)
			done = 0;
	}
	if (n->n_ext > 1)
		free(n->exts);
	n->n_ext = 0;
	n->size = 0;
	n->flags &= (uint16_t)~XW_BN_INLINE;
	return rc ? xw_fail(k->diag, rc, "releasing blocks of a replaced file") : 0;
}
