/* SPDX-License-Identifier: MIT */
/*
 * Steps of a record in the image:
 *   create   allocates blocks, without writing to them; those of the list come first. After the
 *            end of an image file the list is last, and is written at once, so that the remains
 *            of a killed run can be found and removed
 *   publish  writes the list, and flushes list and record
 *   remove   overwrites the list, so that nothing refers to the record any more, and returns the
 *            blocks to the host: former holes become holes again, the others are zeroed, so that
 *            the same change always makes the same image. On a block device only the list is
 *            overwritten. A file gets its former size, but only if it ends with the record:
 *            otherwise a record after the end becomes zeros
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "commit/inside.h"
#include "commit/super.h"
#include "dev/runs.h"
#include "disk/redo_list.h"

#define LIST_MAX (1u << 20) /* maximum number of blocks of a valid list */

struct inside {
	struct xw_redo_store store;
	struct xw_diag *diag;
	struct xw_dev *base; /* borrowed */
	xw_inside_room_fn *room; /* NULL: after the end, or an existing record */
	void *arg;
	uint32_t block_size;
	uint8_t uuid[16];
	uint64_t nonce;
	uint64_t bytes; /* of the record */
	uint64_t size_before; /* size of the image file; only for a record after its end */
	uint64_t blocks; /* number of blocks in the runs of an existing record */
	uint64_t fs_end; /* end of the filesystem in bytes, for an existing record */
	XW_VEC(xw_blk) list; /* blocks of the list */
	struct xw_runs runs; /* of the record */
	/* blocks of record and list: holes of the host's file before create(), and other blocks */
	struct xw_runs holes, data;
};

static struct inside *inside(struct xw_redo_store *s)
{
	return (struct inside *)s;
}

static uint64_t list_blocks(uint32_t block_size, size_t runs)
{
	return XW_MAX(1, xw_div_up(runs, xw_redo_list_max(block_size)));
}

uint64_t xw_inside_blocks(uint32_t block_size, uint64_t bytes, size_t runs)
{
	return xw_div_up(bytes, block_size) + list_blocks(block_size, runs);
}

static void reset(struct inside *in)
{
	in->list.n = in->runs.list.n = in->holes.list.n = in->data.list.n = 0;
	in->store.number = in->store.end = 0;
}

/* Move n blocks from the beginning of the runs to the list. */
static int split_list(struct inside *in, uint64_t n)
{
	struct xw_run *r = in->runs.list.v;
	size_t used = 0;

	for (; n; n--) {
		if (xw_vec_push(&in->list, r[used].start))
			return xw_fail_nomem(in->diag, "a redo record");
		r[used].start++;
		used += !--r[used].len;
	}
	in->runs.list.n -= used;
	memmove(r, r + used, in->runs.list.n * sizeof(*r));
	return 0;
}

/* Drop the runs, or the part of a run, that the record does not need. */
static void trim(struct inside *in)
{
	uint64_t need = xw_div_up(in->bytes, in->block_size);
	size_t i;

	for (i = 0; i < in->runs.list.n && need; i++) {
		struct xw_run *r = &in->runs.list.v[i];

		r->len = XW_MIN(r->len, need);
		need -= r->len;
	}
	in->runs.list.n = i;
}

static int add_run(struct inside *in, struct xw_runs *to, uint64_t from, uint64_t end)
{
	if (from < end && xw_vec_push(&to->list, ((struct xw_run){from, end - from})))
		return xw_fail_nomem(in->diag, "a redo record");
	return 0;
}

/* Record which blocks of a run are holes in the host's file. */
static int note_holes(struct inside *in, const struct xw_run *r)
{
	const uint64_t bs = in->block_size, end = r->start + r->len;
	uint64_t from, to;
	int rc = 0;

	for (uint64_t at = r->start; at < end && !rc; at = to) {
		if (!xw_dev_data(in->base, at * bs, &from, &to))
			from = to = end * bs;
		from = XW_MIN(XW_MAX(from / bs, at), end);
		to = XW_MIN(XW_MAX(xw_div_up(to, bs), at + 1), end);
		rc = add_run(in, &in->holes, at, from);
		if (!rc)
			rc = add_run(in, &in->data, from, to);
	}
	return rc;
}

/* Place the record after the end of the file, followed by its list. */
static int choose_end(struct inside *in)
{
	const uint64_t bs = in->block_size, n = xw_div_up(in->bytes, bs);
	const xw_blk first = xw_div_up(XW_MAX(in->base->size, in->store.size), bs);

	if (xw_vec_push(&in->runs.list, ((struct xw_run){first, n})) ||
	    xw_vec_push(&in->list, first + n))
		return xw_fail_nomem(in->diag, "a redo record");
	in->size_before = in->base->size;
	in->store.end = (first + n + 1) * bs;
	return 0;
}

static int choose_free(struct inside *in)
{
	int rc = in->room(in->arg, in->block_size, in->bytes, &in->runs);

	if (!rc)
		rc = split_list(in, list_blocks(in->block_size, in->runs.list.n));
	if (!rc)
		trim(in);
	for (size_t i = 0; i < in->list.n && !rc; i++)
		rc = note_holes(in, &(struct xw_run){in->list.v[i], 1});
	for (size_t i = 0; i < in->runs.list.n && !rc; i++)
		rc = note_holes(in, &in->runs.list.v[i]);
	return rc;
}

static int open_runs(struct inside *in, struct xw_dev **out)
{
	return xw_dev_open_runs(in->base, in->runs.list.v, in->runs.list.n, in->block_size, out);
}

/* Write block i of the list, whose first run is runs[at]. buf: a block. */
static int put_list_block(struct inside *in, uint8_t *buf, size_t i, size_t at)
{
	struct xw_redo_list l = {
		.block_size = in->block_size,
		.nonce = in->nonce,
		.bytes = in->bytes,
		.next = i + 1 < in->list.n ? in->list.v[i + 1] : 0,
		.n = (uint32_t)XW_MIN(xw_redo_list_max(in->block_size), in->runs.list.n - at),
		.index = (uint32_t)i,
		.size = in->size_before,
	};

	memcpy(l.uuid, in->uuid, sizeof(l.uuid));
	xw_redo_list_encode(&l, in->runs.list.v + at, buf);
	return xw_dev_pwrite(in->base, buf, in->block_size, in->list.v[i] * in->block_size);
}

static int put_list(struct inside *in)
{
	auto_free uint8_t *buf = malloc(in->block_size);
	const size_t per = xw_redo_list_max(in->block_size);
	int rc = 0;

	if (!buf)
		return xw_fail_nomem(in->diag, "a redo record");
	for (size_t i = 0; i < in->list.n && !rc; i++)
		rc = put_list_block(in, buf, i, XW_MIN(i * per, in->runs.list.n));
	return rc ? rc : xw_dev_flush(in->base);
}

static int inside_create(struct xw_redo_store *s, uint64_t bytes, struct xw_dev **out)
{
	struct inside *in = inside(s);
	int rc;

	reset(in);
	in->bytes = bytes;
	rc = in->room ? choose_free(in) : choose_end(in);
	if (!rc)
		in->store.number = in->list.v[0] * in->block_size / XW_SUPER_NUMBER_UNIT;
	/* After the end, the list is written first: it extends the file and has its former size. */
	if (!rc && !in->room && !s->dry_run) {
		rc = xw_dev_check_end(in->base, (in->list.v[0] + 1) * in->block_size);
		if (!rc)
			rc = put_list(in);
	}
	return rc ? rc : open_runs(in, out);
}

static int inside_publish(struct xw_redo_store *s)
{
	return put_list(inside(s));
}

/* ---- an existing record ---- */

/*
 * Is this block number i of the list? The other blocks must agree with the first one. Adds its
 * runs.
 */
static int add_block(struct inside *in, const uint8_t *buf, size_t i, struct xw_redo_list *l)
{
	const uint64_t blocks = in->base->size / in->block_size;

	if (xw_redo_list_decode(buf, in->block_size, l))
		return XW_ERR_NOTFOUND;
	if (!i) {
		memcpy(in->uuid, l->uuid, sizeof(in->uuid));
		in->nonce = l->nonce;
		in->bytes = l->bytes;
		in->size_before = l->size;
	}
	if (memcmp(l->uuid, in->uuid, sizeof(in->uuid)) || l->nonce != in->nonce ||
	    l->bytes != in->bytes || l->index != i || l->next >= blocks)
		return XW_ERR_NOTFOUND;
	for (size_t k = 0; k < l->n; k++) {
		const struct xw_run r = xw_redo_list_run(buf, k);

		if (!r.len || r.start >= blocks || r.len > blocks - r.start ||
		    r.len > blocks - in->blocks)
			return XW_ERR_NOTFOUND;
		in->blocks += r.len;
		if (xw_vec_push(&in->runs.list, r))
			return xw_fail_nomem(in->diag, "a redo record");
	}
	return 0;
}

static bool is_in_filesystem(const struct inside *in, xw_blk start, uint64_t len)
{
	const uint64_t bs = in->block_size, end = XW_MIN(in->fs_end, in->base->size) / bs;

	return start * bs >= XW_SUPER_OFFSET + XW_SUPER_SIZE && start < end && len <= end - start;
}

/*
 * Is this the place of a record after the end of an image file, as choose_end() chooses it? That
 * file may have been copied to a larger device since, whose end limits the record.
 */
static bool is_after_end(const struct inside *in)
{
	const struct xw_run *r = in->runs.list.v;

	return in->size_before && in->list.n == 1 && in->runs.list.n == 1 &&
	       r->start >= xw_div_up(in->size_before, in->block_size) &&
	       r->start + r->len == in->list.v[0] &&
	       (in->fs_end == UINT64_MAX || r->start >= in->fs_end / in->block_size);
}

/*
 * A list with a valid checksum can have been made by anybody. Its blocks are read, and overwritten
 * when the record is removed: they must be in the filesystem, and not those of the superblock.
 */
static int check_place(struct inside *in)
{
	bool inside_fs = true;

	for (size_t i = 0; i < in->list.n; i++)
		inside_fs = inside_fs && is_in_filesystem(in, in->list.v[i], 1);
	for (size_t i = 0; i < in->runs.list.n; i++)
		inside_fs = inside_fs &&
			    is_in_filesystem(in, in->runs.list.v[i].start, in->runs.list.v[i].len);
	if (inside_fs || is_after_end(in))
		return 0;
	in->store.forged = true;
	return xw_fail(in->diag, XW_ERR_CORRUPT,
		       "%s: forged redo record: its blocks are not blocks of the filesystem that "
		       "it could use; not applied",
		       in->base->name);
}

/* Read the list from block blk on. XW_ERR_NOTFOUND if it is damaged. */
static int read_list(struct inside *in, xw_blk blk)
{
	auto_free uint8_t *buf = malloc(in->block_size);
	struct xw_redo_list l;
	int rc;

	if (!buf)
		return xw_fail_nomem(in->diag, "a redo record");
	in->blocks = 0;
	do {
		if (in->list.n >= LIST_MAX || blk >= in->base->size / in->block_size)
			return XW_ERR_NOTFOUND;
		rc = xw_dev_pread(in->base, buf, in->block_size, blk * in->block_size);
		if (!rc)
			rc = add_block(in, buf, in->list.n, &l);
		if (rc)
			return rc;
		if (xw_vec_push(&in->list, blk))
			return xw_fail_nomem(in->diag, "a redo record");
		blk = l.next;
	} while (blk);
	return in->blocks == xw_div_up(in->bytes, in->block_size) ? check_place(in)
								  : XW_ERR_NOTFOUND;
}

/* Read the first block of the list, which contains the block size. */
static int read_first(struct inside *in, uint64_t off)
{
	uint8_t head[XW_REDO_LIST_HEADER];
	int rc;

	if (off > in->base->size || in->base->size - off < sizeof(head))
		return XW_ERR_NOTFOUND;
	rc = xw_dev_pread(in->base, head, sizeof(head), off);
	if (rc)
		return rc;
	if (!xw_redo_list_peek(head, &in->block_size) || off % in->block_size)
		return XW_ERR_NOTFOUND;
	return read_list(in, off / in->block_size);
}

/*
 * The size of an image file that was extended by a record after its end, as choose_end() places it;
 * 0: the record is elsewhere.
 */
static uint64_t end_of(const struct inside *in)
{
	const struct xw_run *r = in->runs.list.v;

	if (!in->size_before || in->list.n != 1 || in->runs.list.n != 1 ||
	    r->start < xw_div_up(in->size_before, in->block_size) ||
	    r->start + r->len != in->list.v[0])
		return 0;
	return (in->list.v[0] + 1) * in->block_size;
}

static int inside_open(struct xw_redo_store *s, struct xw_dev **out)
{
	struct inside *in = inside(s);
	const uint64_t number = s->number;
	int rc;

	if (number > INT64_MAX / XW_SUPER_NUMBER_UNIT)
		return XW_ERR_NOTFOUND;
	reset(in);
	rc = read_first(in, number * XW_SUPER_NUMBER_UNIT);
	in->store.number = number;
	if (!rc)
		in->store.end = end_of(in);
	for (size_t i = 0; i < in->runs.list.n && !rc; i++) /* which blocks were holes is unknown */
		rc = xw_vec_push(&in->data.list, in->runs.list.v[i]);
	if (!rc)
		rc = open_runs(in, out);
	return rc ? rc : xw_dev_set_size(*out, in->bytes);
}

static bool writes_to(const struct xw_replay *plan, uint64_t block_size, uint64_t from, uint64_t to)
{
	const struct xw_replay_block *v = plan->blocks.v;
	const size_t n = plan->blocks.n;
	const size_t at = XW_LOWER_BOUND(i, n, (v[i].blk + 1) * block_size > from);

	return at < n && v[at].blk * block_size < to;
}

bool xw_inside_overlaps(const struct xw_redo_store *s, const struct xw_replay *plan,
			uint32_t block_size)
{
	const struct inside *in = (const struct inside *)s;
	const uint64_t bs = in->block_size;

	for (size_t i = 0; i < in->list.n; i++)
		if (writes_to(plan, block_size, in->list.v[i] * bs, (in->list.v[i] + 1) * bs))
			return true;
	for (size_t i = 0; i < in->runs.list.n; i++) {
		const struct xw_run *r = &in->runs.list.v[i];

		if (writes_to(plan, block_size, r->start * bs, (r->start + r->len) * bs))
			return true;
	}
	return false;
}

/* ---- removal ---- */

/* Zero a run, up to `limit`. */
static int zero_blocks(const struct inside *in, struct xw_run r, uint64_t limit)
{
	const uint64_t bs = in->block_size, end = XW_MIN((r.start + r.len) * bs, limit);

	return r.start * bs < end ? xw_dev_zero(in->base, r.start * bs, end - r.start * bs) : 0;
}

static int zero_runs(const struct inside *in, const struct xw_runs *runs, bool keep)
{
	const bool had = in->base->keep;
	int rc = 0;

	in->base->keep = had || keep;
	for (size_t i = 0; i < runs->list.n && !rc; i++)
		rc = zero_blocks(in, runs->list.v[i], XW_MIN(in->base->size, in->store.size));
	in->base->keep = had;
	return rc;
}

/* Zero a record after the end with its list, in a larger file or device. */
static int zero_after_end(const struct inside *in)
{
	const uint64_t start = in->runs.list.v[0].start * in->block_size;
	const uint64_t end = XW_MIN(in->store.end, in->base->size);
	const bool had = in->base->keep;
	int rc;

	in->base->keep = true;
	rc = start < end ? xw_dev_zero(in->base, start, end - start) : 0;
	in->base->keep = had;
	return rc;
}

static int inside_remove(struct xw_redo_store *s)
{
	struct inside *in = inside(s);
	int rc = 0;

	if (!in->list.n)
		return 0;
	if (s->end && xw_redo_is_after_end(s, s->size)) {
		rc = xw_redo_may_cut(in->base, s->end) ? xw_dev_set_size(in->base, s->size)
						       : zero_after_end(in);
	} else {
		for (size_t i = 0; i < in->list.n && !rc; i++)
			rc = zero_blocks(in, (struct xw_run){in->list.v[i], 1}, in->base->size);
		if (!rc && !in->base->is_block)
			rc = zero_runs(in, &in->holes, false);
		if (!rc && !in->base->is_block)
			rc = zero_runs(in, &in->data, true);
	}
	if (!rc)
		reset(in);
	return rc;
}

/* ---- remains of a killed run ---- */

#define BLOCK_MAX 65536u
#define SECTOR 512u

/*
 * Is this the list of a record that extended the file? It is in the last block. If only the
 * beginning of that block was written, all non-zero bytes are in its first sector.
 */
static bool is_leftover(const uint8_t *buf, uint64_t off, uint64_t end, struct xw_redo_list *l)
{
	struct xw_run r;
	uint32_t bs;

	if (!xw_redo_list_peek(buf, &bs) || off % bs || off + bs < end ||
	    xw_redo_list_decode(buf, bs, l) || l->n != 1)
		return false;
	r = xw_redo_list_run(buf, 0);
	return l->size && l->size <= off && l->bytes && r.start >= xw_div_up(l->size, bs) &&
	       r.start < off / bs && r.len == off / bs - r.start &&
	       r.len == xw_div_up(l->bytes, bs);
}

int xw_inside_left_over(struct xw_dev *base, const uint8_t uuid[16], uint64_t fs_end,
			struct xw_diag *diag, uint64_t *number, uint64_t *size)
{
	const uint64_t unit = XW_SUPER_NUMBER_UNIT, end = base->size;
	const uint64_t from = xw_round_up(end > BLOCK_MAX ? end - BLOCK_MAX : 0, unit);
	auto_free uint8_t *tail = calloc(2, BLOCK_MAX); /* zeros after the end */
	int rc;

	*number = 0;
	if (!tail)
		return xw_fail_nomem(diag, "the end of an image");
	rc = from < end ? xw_dev_pread(base, tail, end - from, from) : 0;
	for (uint64_t at = from; !rc && !*number && at + SECTOR <= end; at += unit) {
		struct xw_redo_list l;

		if (!is_leftover(tail + (at - from), at, end, &l) || l.size < fs_end ||
		    memcmp(l.uuid, uuid, sizeof(l.uuid)) != 0)
			continue;
		*number = at / unit;
		*size = l.size;
	}
	return rc;
}

static int inside_name_new(struct xw_redo_store *s, const uint8_t uuid[16], uint64_t nonce)
{
	struct inside *in = inside(s);

	memcpy(in->uuid, uuid, sizeof(in->uuid));
	in->nonce = nonce;
	return 0;
}

static void inside_close(struct xw_redo_store *s)
{
	struct inside *in = inside(s);

	xw_vec_free(&in->list);
	xw_vec_free(&in->runs.list);
	xw_vec_free(&in->holes.list);
	xw_vec_free(&in->data.list);
	free(in);
}

static const struct xw_redo_store_ops inside_ops = {
	.create = inside_create,
	.publish = inside_publish,
	.open = inside_open,
	.remove = inside_remove,
	.name_new = inside_name_new,
	.close = inside_close,
};

int xw_inside_new(struct xw_dev *base, uint32_t block_size, xw_inside_room_fn *room, void *arg,
		  struct xw_diag *diag, struct xw_redo_store **out)
{
	struct inside *in = calloc(1, sizeof(*in));

	if (!in)
		return xw_fail_nomem(diag, "a redo record");
	in->store.ops = &inside_ops;
	in->store.name = base->name;
	in->store.size = base->size;
	in->diag = diag;
	in->base = base;
	in->block_size = block_size;
	in->room = room;
	in->arg = arg;
	*out = &in->store;
	return 0;
}

int xw_inside_at(struct xw_dev *base, uint64_t number, uint64_t end, struct xw_diag *diag,
		 struct xw_redo_store **out)
{
	const int rc = xw_inside_new(base, 0, NULL, NULL, diag, out);

	if (rc)
		return rc;
	(*out)->number = number; /* open() reads the block size */
	inside(*out)->fs_end = end;
	return 0;
}
