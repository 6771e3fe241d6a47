/* SPDX-License-Identifier: MIT */
/*
 * The window: items with their paths and inode records in one buffer, and their order. The key of
 * an item is its first data block. Items without data have the key of the next item of the walk
 * that has some, a directory the lowest key in it, and no item sorts before its directory; equal
 * keys keep the order of the walk.
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
#define ITEMS_FEW 1024u /* when the order is that of the walk anyway */
#define BYTES_MAX (16u << 20)
#define AHEAD_BYTES (16u << 20)
#define AHEAD_FILE_MAX (4u << 20) /* of a large file: the host reads ahead from there on */

struct item {
	xw_blk key;
	uint32_t path, path_len; /* offset in the buffer; terminated */
	uint32_t record; /* likewise: the inode record, or the message of a failure */
	uint32_t told; /* bytes announced for it */
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
	size_t next, ahead; /* element of v to be returned next, to be announced next */
	uint64_t told; /* bytes in flight or in the page cache */
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

/* Does this item have data to be read? */
static bool has_data(const struct xw_walk_item *e)
{
	const uint32_t type = e->inode.mode & XW_S_IFMT;

	return (type == XW_S_IFREG || type == XW_S_IFLNK) && e->inode.size &&
	       xw_inode_has_map(&e->inode);
}

/* Does the order depend on where data is? */
static bool by_data(const struct xw_queue *q)
{
	return q->order == XW_ORDER_DISK || q->order == XW_ORDER_TREE;
}

/* Add one item of the walk, or its failure. */
static int add(struct xw_queue *q, const struct xw_walk_item *e, int code)
{
	struct xw_diag *d = q->img->diag;
	struct item i = {.code = code, .ino = e->ino, .seq = (uint32_t)q->v.n};
	int rc = keep(q, e->path, e->path_len, &i.path);

	i.path_len = (uint32_t)e->path_len;
	if (!rc && code == 1)
		rc = keep(q, e->raw, q->img->inode_size, &i.record);
	else if (!rc)
		rc = keep(q, d ? d->text : "", d ? strlen(d->text) : 0, &i.record);
	if (code != 1 && d)
		xw_diag_clear(d);
	if (by_data(q) && code == 1 && has_data(e))
		i.key = xw_first_block(q->img, e->ino, &e->inode);
	if (rc || xw_vec_push(&q->v, i))
		return xw_fail_nomem(d, "order");
	return 0;
}

static bool is_below(const struct xw_queue *q, const struct item *e, const struct item *dir)
{
	const char *path = (const char *)q->bytes.v + e->path;

	return e->path_len > dir->path_len &&
	       (!dir->path_len || (path[dir->path_len] == '/' &&
				   !memcmp(path, q->bytes.v + dir->path, dir->path_len)));
}

struct climb {
	struct xw_queue *q;
	XW_VEC(uint32_t) up; /* the current directory and its parents */
	bool *data; /* by item: it, or something below it, has data */
};

/*
 * Leave the directories that do not contain item `at`. Those with data pass that on to their
 * parent.
 */
static void climb_to(struct climb *c, const struct item *at)
{
	struct item *v = c->q->v.v;

	while (c->up.n) {
		const uint32_t last = c->up.v[c->up.n - 1];

		if (at && is_below(c->q, at, &v[last]))
			return;
		c->up.n--;
		if (c->up.n && c->data[last]) {
			const uint32_t dir = c->up.v[c->up.n - 1];

			v[dir].key = c->data[dir] ? XW_MIN(v[dir].key, v[last].key) : v[last].key;
			c->data[dir] = true;
		}
	}
}

/* Items without data get the key of the next one that has some. */
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

/*
 * Set the keys of items without data. The walk is depth first, so the items in a directory follow
 * it with paths that extend its own, up to the first one that does not.
 */
static int set_keys(struct xw_queue *q)
{
	struct climb c = {.q = q, .data = calloc(q->v.n, sizeof(*c.data))};
	int rc = c.data ? xw_vec_reserve(&c.up, q->v.n) : XW_ERR_NOMEM;

	for (size_t i = 0; i < q->v.n && !rc; i++)
		c.data[i] = q->v.v[i].key != 0;
	if (!rc)
		lend_keys(q);
	for (size_t i = 0; i < q->v.n && !rc; i++) {
		climb_to(&c, &q->v.v[i]);
		c.up.v[c.up.n++] = (uint32_t)i;
	}
	climb_to(&c, NULL);
	for (size_t i = 0; i < q->v.n && !rc; i++) {
		struct item *e = &q->v.v[i];

		climb_to(&c, e);
		if (c.up.n)
			e->key = XW_MAX(e->key, q->v.v[c.up.v[c.up.n - 1]].key);
		c.up.v[c.up.n++] = (uint32_t)i;
	}
	xw_vec_free(&c.up);
	free(c.data);
	return rc ? xw_fail_nomem(q->img->diag, "order") : 0;
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
	int rc = keys && order && sorted ? 0 : XW_ERR_NOMEM;

	lend_keys(q);
	for (size_t i = 0; i < n && !rc; i++)
		keys[i] = (struct xw_order_item){(const char *)q->bytes.v + q->v.v[i].path,
						 q->v.v[i].path_len, q->v.v[i].key};
	if (!rc)
		rc = xw_order_tree(keys, n, !q->ended, order);
	if (rc)
		return xw_fail_nomem(q->img->diag, "order");
	for (size_t i = 0; i < n; i++)
		sorted[i] = q->v.v[order[i]];
	memcpy(q->v.v, sorted, n * sizeof(*sorted));
	return 0;
}

static int sort_disk(struct xw_queue *q)
{
	const int rc = set_keys(q);

	if (!rc)
		qsort(q->v.v, q->v.n, sizeof(*q->v.v), by_key);
	return rc;
}

/* Read the next window from the walk. */
static int fill(struct xw_queue *q)
{
	const size_t max = by_data(q) ? ITEMS_MAX : ITEMS_FEW;
	struct xw_walk_item e;
	int rc;

	q->v.n = q->bytes.n = q->next = q->ahead = 0;
	q->told = 0;
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
	return q->order == XW_ORDER_TREE ? sort_tree(q) : sort_disk(q);
}

static int decode(struct xw_queue *q, const struct item *i, struct xw_walk_item *e)
{
	e->path = (const char *)q->bytes.v + i->path;
	e->path_len = i->path_len;
	e->ino = i->ino;
	e->raw = q->bytes.v + i->record;
	/* it was decoded before: the fields are set whatever the checks say */
	return xw_inode_decode(e->raw, &q->img->sb, &e->inode);
}

static void read_ahead(struct xw_queue *q)
{
	struct xw_ahead a;

	if (q->ahead == q->v.n || q->told > AHEAD_BYTES / 2)
		return;
	xw_ahead_begin(q->img, &a);
	a.forward = true;
	a.last = q->last;
	for (; q->ahead < q->v.n && q->told < AHEAD_BYTES; q->ahead++) {
		struct item *i = &q->v.v[q->ahead];
		struct xw_walk_item e;

		if (i->code == 1 && !decode(q, i, &e) && has_data(&e))
			i->told = (uint32_t)xw_ahead_file(&a, e.ino, &e.inode, AHEAD_FILE_MAX);
		q->told += i->told;
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
	q->told -= i->told;
	if (i->code == 1) {
		decode(q, i, e);
		return 1;
	}
	e->path = (const char *)q->bytes.v + i->path;
	e->path_len = i->path_len;
	return xw_fail(q->img->diag, i->code, "%s", (const char *)q->bytes.v + i->record);
}
