/* SPDX-License-Identifier: MIT */
/*
 * The window has the items in sorted order, and one buffer for their paths and inode records. The
 * sort key of an item is its first data block, that of a directory the lowest key below it. Items
 * without data get the key of the next item of the walk with data. No item sorts before its
 * directory, and items with equal keys keep the order of the walk.
 *
 * Read-ahead is at most AHEAD_BYTES ahead of the returned items.
 */
#include "export/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "export/ahead.h"
#include "export/order.h"
#include "read/map.h"

#define ITEMS_MAX 32768u
#define ITEMS_FEW 1024u /* if the order of the walk is kept */
#define BYTES_MAX (16u << 20)
#define AHEAD_BYTES (16u << 20)
#define AHEAD_FILE_MAX (4u << 20) /* the rest of a larger file is read ahead by the host */

struct item {
	xw_blk key;
	uint32_t path, path_len; /* offset in `bytes`; terminated */
	uint32_t record; /* offset in `bytes`: the inode record, or the message of a failure */
	uint32_t depth;
	uint32_t announced; /* bytes of its data that were read ahead */
	xw_ino ino;
	int code; /* 1, or the code of a failure */
	uint32_t seq;
};

struct xw_queue {
	struct xw_image *img;
	enum xw_export_order order;
	struct xw_walk *walk;
	XW_VEC(struct item) v;
	XW_VEC(uint8_t) bytes;
	size_t next, ahead; /* elements of v to be returned and to be read ahead next */
	uint64_t announced; /* bytes read ahead for items that were not returned yet */
	uint64_t last; /* see ahead.h */
	bool ended;
};

int xw_queue_new(struct xw_image *img, enum xw_export_order order, struct xw_walk *w,
		 struct xw_queue **out)
{
	struct xw_queue *q = calloc(1, sizeof(*q));

	if (!q) {
		xw_walk_free(w);
		return xw_fail_nomem(img->diag, "order");
	}
	*q = (struct xw_queue){.img = img, .order = order, .walk = w};
	*out = q;
	return 0;
}

void xw_queue_free(struct xw_queue *q)
{
	if (!q)
		return;
	xw_walk_free(q->walk);
	xw_vec_free(&q->v);
	xw_vec_free(&q->bytes);
	free(q);
}

static int keep(struct xw_queue *q, const void *p, size_t len, uint32_t *at)
{
	if (xw_vec_reserve(&q->bytes, q->bytes.n + len + 1))
		return XW_ERR_NOMEM;
	*at = (uint32_t)q->bytes.n;
	memcpy(q->bytes.v + q->bytes.n, p, len);
	q->bytes.v[q->bytes.n + len] = 0;
	q->bytes.n += len + 1;
	return 0;
}

/* Does this item have data blocks? */
static bool has_data(const struct xw_walk_item *e)
{
	const uint32_t type = e->inode.mode & XW_S_IFMT;

	return (type == XW_S_IFREG || type == XW_S_IFLNK) && e->inode.size &&
	       xw_inode_has_map(&e->inode);
}

/* Are items sorted by the place of their data? */
static bool by_data(const struct xw_queue *q)
{
	return q->order == XW_ORDER_DISK || q->order == XW_ORDER_TREE;
}

/* Add one item of the walk, or its failure. */
static int add(struct xw_queue *q, const struct xw_walk_item *e, int code)
{
	struct xw_diag *d = q->img->diag;
	struct item i = {.code = code, .ino = e->ino, .seq = (uint32_t)q->v.n};
	const char *text = d ? d->text : "";
	int rc = keep(q, e->path, e->path_len, &i.path);

	i.path_len = (uint32_t)e->path_len;
	i.depth = (uint32_t)e->depth;
	if (!rc)
		rc = code == 1 ? keep(q, e->raw, q->img->inode_size, &i.record)
			       : keep(q, text, strlen(text), &i.record);
	if (code != 1 && d)
		xw_diag_clear(d);
	if (by_data(q) && code == 1 && has_data(e))
		i.key = xw_first_block(q->img, e->ino, &e->inode);
	if (rc || xw_vec_push(&q->v, i))
		return xw_fail_nomem(d, "order");
	return 0;
}

struct climb {
	struct xw_queue *q;
	XW_VEC(uint32_t) up; /* the current directory and its parents; room for all items */
	bool *data; /* for each item: does it, or an item below it, have data? */
};

/* Leave the directories that do not contain item `at`, and pass their keys to their parents. */
static void climb_to(struct climb *c, const struct item *at)
{
	struct item *v = c->q->v.v;

	while (c->up.n) {
		const uint32_t last = c->up.v[c->up.n - 1];

		if (at && at->depth > v[last].depth)
			return;
		c->up.n--;
		if (c->up.n && c->data[last]) {
			const uint32_t dir = c->up.v[c->up.n - 1];

			v[dir].key = c->data[dir] ? XW_MIN(v[dir].key, v[last].key) : v[last].key;
			c->data[dir] = true;
		}
	}
}

/* Give items without data the key of the next item with data. */
static void lend_keys(struct xw_queue *q)
{
	xw_blk next = UINT64_MAX;

	for (size_t i = q->v.n; i--;) {
		if (q->v.v[i].key)
			next = q->v.v[i].key;
		else
			q->v.v[i].key = next;
	}
}

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int sort_tree(struct xw_queue *q)
{
	const size_t n = q->v.n;
	auto_free struct xw_order_item *keys = calloc(n, sizeof(*keys));
	auto_free uint32_t *order = calloc(n, sizeof(*order));
	auto_free struct item *sorted = calloc(n, sizeof(*sorted));

	if (!keys || !order || !sorted)
		return XW_ERR_NOMEM;
	lend_keys(q);
	for (size_t i = 0; i < n; i++)
		keys[i] =
			(struct xw_order_item){(const char *)q->bytes.v + q->v.v[i].path,
					       q->v.v[i].path_len, q->v.v[i].depth, q->v.v[i].key};
	if (xw_order_tree(keys, n, !q->ended, order))
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = q->v.v[order[i]];
	memcpy(q->v.v, sorted, n * sizeof(*sorted));
	return 0;
}

/*
 * Set the keys of items without data and sort. The walk is depth first: a directory is directly
 * followed by the items below it.
 */
static int sort_disk(struct xw_queue *q)
{
	auto_free bool *data = calloc(q->v.n, sizeof(*data));
	auto_free uint32_t *up = calloc(q->v.n, sizeof(*up));
	struct climb c = {.q = q, .up = {.v = up}, .data = data};

	if (!data || !up)
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < q->v.n; i++)
		data[i] = q->v.v[i].key != 0;
	lend_keys(q);
	for (size_t i = 0; i < q->v.n; i++) {
		climb_to(&c, &q->v.v[i]);
		c.up.v[c.up.n++] = (uint32_t)i;
	}
	climb_to(&c, NULL);
	for (size_t i = 0; i < q->v.n; i++) {
		struct item *e = &q->v.v[i];

		climb_to(&c, e);
		if (c.up.n)
			e->key = XW_MAX(e->key, q->v.v[c.up.v[c.up.n - 1]].key);
		c.up.v[c.up.n++] = (uint32_t)i;
	}
	qsort(q->v.v, q->v.n, sizeof(*q->v.v), by_key);
	return 0;
}

/* Read the next window from the walk. */
static int fill(struct xw_queue *q)
{
	const size_t max = by_data(q) ? ITEMS_MAX : ITEMS_FEW;
	struct xw_walk_item e;
	int rc;

	q->v.n = q->bytes.n = q->next = q->ahead = 0;
	q->announced = 0;
	while (q->v.n < max && q->bytes.n < BYTES_MAX) {
		int found = xw_walk_next(q->walk, &e);

		if (!found) {
			q->ended = true;
			break;
		}
		rc = found == XW_ERR_NOMEM ? found : add(q, &e, found);
		if (rc)
			return rc;
	}
	if (!by_data(q) || q->v.n < 2)
		return 0;
	rc = q->order == XW_ORDER_TREE ? sort_tree(q) : sort_disk(q);
	return rc ? xw_fail_nomem(q->img->diag, "order") : 0;
}

static int decode(struct xw_queue *q, const struct item *i, struct xw_walk_item *e)
{
	e->path = (const char *)q->bytes.v + i->path;
	e->path_len = i->path_len;
	e->ino = i->ino;
	e->raw = q->bytes.v + i->record;
	/* a failed check was reported by the walk; the fields are set nevertheless */
	return xw_inode_decode(e->raw, &q->img->sb, &e->inode);
}

static void read_ahead(struct xw_queue *q)
{
	struct xw_ahead a;

	if (q->ahead == q->v.n || q->announced > AHEAD_BYTES / 2)
		return;
	xw_ahead_begin(q->img, &a);
	a.forward = true;
	a.last = q->last;
	for (; q->ahead < q->v.n && q->announced < AHEAD_BYTES; q->ahead++) {
		struct item *i = &q->v.v[q->ahead];
		struct xw_walk_item e;

		if (i->code == 1 && !decode(q, i, &e) && has_data(&e))
			i->announced = (uint32_t)xw_ahead_file(&a, e.ino, &e.inode, AHEAD_FILE_MAX);
		q->announced += i->announced;
	}
	xw_ahead_end(&a);
	q->last = a.last;
}

int xw_queue_next(struct xw_queue *q, struct xw_walk_item *e)
{
	const struct item *i;
	int rc;

	if (q->next == q->v.n) {
		if (q->ended)
			return 0;
		rc = fill(q);
		if (rc)
			return rc;
		if (!q->v.n)
			return 0;
	}
	read_ahead(q);
	i = &q->v.v[q->next++];
	q->announced -= i->announced;
	if (i->code == 1) {
		decode(q, i, e);
		return 1;
	}
	e->path = (const char *)q->bytes.v + i->path;
	e->path_len = i->path_len;
	return xw_fail(q->img->diag, i->code, "%s", (const char *)q->bytes.v + i->record);
}
