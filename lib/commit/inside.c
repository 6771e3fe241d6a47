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

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/crc.h"
#include "base/endian.h"
#include "base/search.h"
#include "commit/inside.h"
#include "commit/super.h"
#include "dev/runs.h"

#define MAGIC "XW-INSD1"
#define LIST_MAX (1u << 20) /* maximum number of blocks of a valid list */

struct XW_ON_DISK disk_run {
	le64 start;
	le64 len;
};

struct XW_ON_DISK disk_list {
	uint8_t magic[8];
	le32 block_size;
	le32 csum;
	uint8_t uuid[16];
	le64 nonce;
	le64 bytes;
	le64 next;
	le32 n;
	le32 index;
	le64 size;
	uint8_t reserved[8];
	struct disk_run runs[];
};

static_assert(offsetof(struct disk_list, csum) == 0x0C, "list of a redo record");
static_assert(offsetof(struct disk_list, nonce) == 0x20, "list of a redo record");
static_assert(offsetof(struct disk_list, runs) == 0x50, "list of a redo record");

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

static size_t runs_per_block(uint32_t block_size)
{
	return (block_size - sizeof(struct disk_list)) / sizeof(struct disk_run);
}

static uint64_t list_blocks(uint32_t block_size, size_t runs)
{
	return XW_MAX(1, xw_div_up(runs, runs_per_block(block_size)));
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

static uint32_t csum_of(struct disk_list *d, uint32_t block_size)
{
	const le32 had = d->csum;
	uint32_t sum;

	d->csum = put32(0);
	sum = xw_crc32c(~0u, d, block_size);
	d->csum = had;
	return sum;
}

/* Write block i of the list, whose first run is runs[at]. */
static int put_list_block(struct inside *in, struct disk_list *d, size_t i, size_t at)
{
	const size_t n = XW_MIN(runs_per_block(in->block_size), in->runs.list.n - at);

	memset(d, 0, in->block_size);
	memcpy(d->magic, MAGIC, sizeof(d->magic));
	d->block_size = put32(in->block_size);
	memcpy(d->uuid, in->uuid, sizeof(d->uuid));
	d->nonce = put64(in->nonce);
	d->bytes = put64(in->bytes);
	d->next = put64(i + 1 < in->list.n ? in->list.v[i + 1] : 0);
	d->n = put32((uint32_t)n);
	d->index = put32((uint32_t)i);
	d->size = put64(in->size_before);
	for (size_t k = 0; k < n; k++) {
		d->runs[k].start = put64(in->runs.list.v[at + k].start);
		d->runs[k].len = put64(in->runs.list.v[at + k].len);
	}
	d->csum = put32(csum_of(d, in->block_size));
	return xw_dev_pwrite(in->base, d, in->block_size, in->list.v[i] * in->block_size);
}

static int put_list(struct inside *in)
{
	auto_free struct disk_list *d = malloc(in->block_size);
	const size_t per = runs_per_block(in->block_size);
	int rc = 0;

	if (!d)
		return xw_fail_nomem(in->diag, "a redo record");
	for (size_t i = 0; i < in->list.n && !rc; i++)
		rc = put_list_block(in, d, i, XW_MIN(i * per, in->runs.list.n));
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

static bool is_block_size(uint32_t n)
{
	return n >= 1024 && n <= 65536 && !(n & (n - 1));
}

/* Is this block number i of the list? The other blocks must agree with the first one. */
static bool is_valid(struct inside *in, struct disk_list *d, size_t i)
{
	const uint64_t blocks = in->base->size / in->block_size;

	if (memcmp(d->magic, MAGIC, sizeof(d->magic)) != 0 ||
	    get32(d->csum) != csum_of(d, in->block_size))
		return false;
	if (!i) {
		memcpy(in->uuid, d->uuid, sizeof(in->uuid));
		in->nonce = get64(d->nonce);
		in->bytes = get64(d->bytes);
		in->size_before = get64(d->size);
	}
	if (get32(d->block_size) != in->block_size || memcmp(d->uuid, in->uuid, sizeof(in->uuid)) ||
	    get64(d->nonce) != in->nonce || get64(d->bytes) != in->bytes || get32(d->index) != i ||
	    get32(d->n) > runs_per_block(in->block_size) || get64(d->next) >= blocks)
		return false;
	for (size_t k = 0; k < get32(d->n); k++) {
		const uint64_t start = get64(d->runs[k].start), len = get64(d->runs[k].len);

		if (!len || start >= blocks || len > blocks - start || len > blocks - in->blocks)
			return false;
		in->blocks += len;
	}
	return true;
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

static int read_runs(struct inside *in, const struct disk_list *d)
{
	for (size_t k = 0; k < get32(d->n); k++)
		if (xw_vec_push(&in->runs.list,
				((struct xw_run){get64(d->runs[k].start), get64(d->runs[k].len)})))
			return xw_fail_nomem(in->diag, "a redo record");
	return 0;
}

/* Read the list from block blk on. XW_ERR_NOTFOUND if it is damaged. */
static int read_list(struct inside *in, xw_blk blk)
{
	auto_free struct disk_list *d = malloc(in->block_size);
	int rc;

	if (!d)
		return xw_fail_nomem(in->diag, "a redo record");
	in->blocks = 0;
	do {
		if (in->list.n >= LIST_MAX || blk >= in->base->size / in->block_size)
			return XW_ERR_NOTFOUND;
		rc = xw_dev_pread(in->base, d, in->block_size, blk * in->block_size);
		if (rc)
			return rc;
		if (!is_valid(in, d, in->list.n))
			return XW_ERR_NOTFOUND;
		if (xw_vec_push(&in->list, blk))
			return xw_fail_nomem(in->diag, "a redo record");
		rc = read_runs(in, d);
		blk = get64(d->next);
	} while (!rc && blk);
	if (!rc && in->blocks != xw_div_up(in->bytes, in->block_size))
		rc = XW_ERR_NOTFOUND;
	return rc ? rc : check_place(in);
}

/* Read the first block of the list, which contains the block size. */
static int read_first(struct inside *in, uint64_t off)
{
	struct disk_list d;
	int rc;

	if (off > in->base->size || in->base->size - off < sizeof(d))
		return XW_ERR_NOTFOUND;
	rc = xw_dev_pread(in->base, &d, sizeof(d), off);
	if (rc)
		return rc;
	in->block_size = get32(d.block_size);
	if (memcmp(d.magic, MAGIC, sizeof(d.magic)) != 0 || !is_block_size(in->block_size) ||
	    off % in->block_size)
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
static bool is_leftover(struct disk_list *d, uint64_t off, uint64_t end)
{
	const uint32_t bs = get32(d->block_size);
	const uint64_t size = get64(d->size), bytes = get64(d->bytes);
	const uint64_t start = get64(d->runs[0].start), len = get64(d->runs[0].len);

	return !memcmp(d->magic, MAGIC, sizeof(d->magic)) && is_block_size(bs) && off % bs == 0 &&
	       off + bs >= end && get32(d->csum) == csum_of(d, bs) && size && size <= off &&
	       bytes && get32(d->n) == 1 && start >= xw_div_up(size, bs) && start < off / bs &&
	       len == off / bs - start && len == xw_div_up(bytes, bs);
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
		struct disk_list *d = (struct disk_list *)(void *)(tail + (at - from));

		if (!is_leftover(d, at, end) || get64(d->size) < fs_end ||
		    memcmp(d->uuid, uuid, sizeof(d->uuid)) != 0)
			continue;
		*number = at / unit;
		*size = get64(d->size);
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
