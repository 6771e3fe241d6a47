/* SPDX-License-Identifier: MIT */
/*
 * The directory's own blocks are authoritative. An itree has the same entries in the desired order.
 * The blocks are read first, and checksums of both sets of entries are compared before any entry of
 * the itree is returned; an itree that differs is reported as damaged. Entries lost with damaged
 * blocks are taken from the itree.
 *
 * If the itree can be trusted (read/itree.h), the blocks are not read: they would add an eighth to
 * the data read for every directory.
 *
 * The entries are kept in memory unless there are too many; then the itree is read a second time,
 * in batches.
 *
 * Of several entries with one name, which is damage, the first one is listed: the one that a lookup
 * finds. A list that is too long to be kept is searched for them by hashes; only if two are equal
 * it is kept nevertheless.
 *
 * The inodes and subdirectories of a batch are read ahead, so that the device gets many requests at
 * once.
 */
#include "config.h"

#include "export/children.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/search.h"
#include "dir/itree_check.h"
#include "export/ahead.h"
#include "read/dirs.h"

#define BATCH 512

int xw_children_add(struct xw_children *c, xw_ino ino, bool is_dir, const char *name, size_t len)
{
	const struct xw_child e = {
		.ino = ino,
		.name_off = (uint32_t)c->names.n,
		.name_len = (uint32_t)len,
		.is_dir = is_dir,
	};

	/* the caller creates the listed names: ".." would be outside of the directory */
	if (xw_name_is_dots(name, len))
		return xw_fail(c->img->diag, XW_ERR_CORRUPT,
			       "%s: directory inode %" PRIu32 ": \"%.*s\" names an entry",
			       c->img->dev->name, c->ino, (int)len, name);
	if (c->names.n + len > UINT32_MAX)
		return xw_fail(c->img->diag, XW_ERR_LIMIT, "%s: too many names in a directory",
			       c->img->dev->name);
	if (xw_vec_reserve(&c->names, c->names.n + len) || xw_vec_push(&c->v, e))
		return xw_fail_nomem(c->img->diag, "directory");
	memcpy(c->names.v + c->names.n, name, len);
	c->names.n += len;
	return 0;
}

static int by_ino(const void *a, const void *b)
{
	const struct xw_child *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->name_off < y->name_off ? -1 : x->name_off > y->name_off;
}

/* Compares the bytes of two names. */
static int compare_names(const struct xw_child *x, const struct xw_child *y, const char *names)
{
	const int d =
		memcmp(names + x->name_off, names + y->name_off, XW_MIN(x->name_len, y->name_len));

	if (d || x->name_len == y->name_len)
		return d;
	return x->name_len < y->name_len ? -1 : 1;
}

static int by_name(const void *a, const void *b, void *names)
{
	const int d = compare_names(a, b, names);

	return d ? d : by_ino(a, b);
}

/* Save the message in diag for xw_children_next(), unless an earlier one of its kind is pending. */
static void keep_line(struct xw_children *c, unsigned kind, int code)
{
	struct xw_diag *d = c->img->diag;
	struct xw_children_failure *f = &c->failed[kind];

	if (!f->code) {
		f->code = code;
		free(f->line);
		f->line = d ? strdup(d->text) : NULL;
	}
	if (d)
		xw_diag_clear(d);
}

static void forget(struct xw_children *c)
{
	c->v.n = c->names.n = c->next = c->fetched = 0;
}

/* Read all entries from the directory's blocks into the list, or add them only to `sum`. */
static int read_blocks(struct xw_children *c, const struct xw_inode *inode, const uint8_t *raw,
		       struct xw_itree_sum *sum)
{
	struct xw_dir_iter it;
	struct xw_dirent e;
	int rc = xw_dir_begin(c->img, c->ino, inode, raw, &it);

	if (rc && rc != XW_ERR_NOMEM)
		keep_line(c, XW_CHILDREN_UNREAD, rc);
	while (rc != XW_ERR_NOMEM && (rc = xw_dir_next(&it, &e, NULL))) {
		if (rc > 0 && sum && !xw_name_is_dots(e.name, e.name_len))
			xw_itree_sum_add(sum, e.ino, e.ftype, e.name, e.name_len);
		else if (rc > 0 && !xw_name_is_dots(e.name, e.name_len))
			rc = xw_children_add(c, e.ino, e.ftype == XW_FT_DIR, e.name, e.name_len);
		if (rc < 0 && rc != XW_ERR_NOMEM)
			keep_line(c, XW_CHILDREN_UNREAD, rc);
	}
	xw_dir_end(&it);
	return rc == XW_ERR_NOMEM ? rc : 0;
}

/* ---- entries with one name ---- */

/*
 * A set of hashes, with false positives: two bits of one word for each. It takes a few bytes a
 * name; a table of names would be too slow for what all but damaged directories never need.
 */
struct filter {
	uint64_t *words;
	size_t mask;
	struct xw_hash_key key;
};

/* Is the hash in the set? */
static bool has_hash(const struct filter *f, uint64_t hash)
{
	const uint64_t bits = UINT64_C(1) << (hash & 63) | UINT64_C(1) << (hash >> 6 & 63);

	return (f->words[hash >> 12 & f->mask] & bits) == bits;
}

static void add_hash(const struct filter *f, uint64_t hash)
{
	f->words[hash >> 12 & f->mask] |= UINT64_C(1) << (hash & 63) | UINT64_C(1)
									       << (hash >> 6 & 63);
}

static uint64_t hash_name(const struct filter *f, const struct xw_children *c, size_t i)
{
	return xw_hash_secret(&f->key, 0, c->names.v + c->v.v[i].name_off, c->v.v[i].name_len);
}

/* Add the names whose hash was probably in the set `all` already to the set `again`. */
static bool find_again(const struct xw_children *c, struct filter *all, struct filter *again)
{
	bool any = false;

	for (size_t i = 0; i < c->v.n; i++) {
		const uint64_t hash = hash_name(all, c, i);

		if (has_hash(all, hash)) {
			add_hash(again, hash);
			any = true;
		}
		add_hash(all, hash);
	}
	return any;
}

/* Compares indexes of entries: by name, the first one in the list first. */
static int by_name_and_index(const void *a, const void *b, void *arg)
{
	const struct xw_children *c = arg;
	const uint32_t *x = a, *y = b;
	const int d = compare_names(&c->v.v[*x], &c->v.v[*y], c->names.v);

	return d ? d : xw_by_u32(x, y);
}

/*
 * Mark those of the n entries `index` that have the name of an earlier one, by an empty name.
 * Returns their number and the first of them.
 */
static size_t mark_same(struct xw_children *c, uint32_t *index, size_t n, struct xw_child *first)
{
	const struct xw_child *kept = NULL;
	size_t marked = 0;
	uint32_t least = UINT32_MAX;

	if (n)
		qsort_r(index, n, sizeof(*index), by_name_and_index, c);
	for (size_t i = 0; i < n; i++) {
		struct xw_child *e = &c->v.v[index[i]];

		if (!kept || compare_names(kept, e, c->names.v)) {
			kept = e;
			continue;
		}
		if (index[i] < least) {
			least = index[i];
			*first = *e;
		}
		e->name_len = 0;
		marked++;
	}
	return marked;
}

static void drop_marked(struct xw_children *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->v.n; i++) {
		if (c->v.v[i].name_len)
			c->v.v[n++] = c->v.v[i];
	}
	c->v.n = n;
}

/* Remove the entries that have the name of an earlier one, and record a failure for them. */
static int drop_same(struct xw_children *c)
{
	const size_t words = (size_t)1 << (c->v.n < 4 ? 0 : 64 - __builtin_clzll(c->v.n / 4));
	auto_free uint64_t *bits = c->v.n > 1 ? calloc(2 * words, sizeof(*bits)) : NULL;
	struct filter all = {.words = bits, .mask = words - 1}, again = {.mask = words - 1};
	auto_free uint32_t *index = NULL;
	struct xw_child first;
	size_t n = 0;

	if (c->v.n < 2)
		return 0;
	if (!bits)
		return xw_fail_nomem(c->img->diag, "directory");
	all.key = again.key = xw_hash_process_key();
	again.words = bits + words;
	if (!find_again(c, &all, &again))
		return 0;
	index = malloc(c->v.n * sizeof(*index));
	if (!index)
		return xw_fail_nomem(c->img->diag, "directory");
	for (size_t i = 0; i < c->v.n; i++) {
		if (has_hash(&again, hash_name(&again, c, i)))
			index[n++] = (uint32_t)i;
	}
	n = mark_same(c, index, n, &first);
	if (!n)
		return 0;
	drop_marked(c);
	keep_line(c, XW_CHILDREN_SAME,
		  xw_fail(c->img->diag, XW_ERR_CORRUPT,
			  "%s: directory inode %" PRIu32 ": %zu entr%s left out, since another has "
			  "the same name%s: \"%.*s\"",
			  c->img->dev->name, c->ino, n, n == 1 ? "y" : "ies",
			  n == 1 ? "" : ", the first", (int)first.name_len,
			  c->names.v + first.name_off));
	return 0;
}

static int sort(struct xw_children *c)
{
	int rc = drop_same(c);

	if (rc)
		return rc;
	if (c->v.n && c->order == XW_ORDER_NAME)
		qsort_r(c->v.v, c->v.n, sizeof(*c->v.v), by_name, c->names.v);
	else if (c->v.n)
		qsort(c->v.v, c->v.n, sizeof(*c->v.v), by_ino);
	return 0;
}

/* ---- itree ---- */

static void close_itree(struct xw_children *c)
{
	if (c->itree)
		xw_itree_end(c->itree);
	free(c->itree);
	c->itree = NULL;
}

/* c->itree stays NULL if there is no itree, or a damaged one; damage is recorded. */
static int open_itree(struct xw_children *c, const struct xw_inode *inode)
{
	int rc;

	c->itree = malloc(sizeof(*c->itree));
	if (!c->itree)
		return xw_fail_nomem(c->img->diag, "itree");
	rc = xw_itree_begin(c->img, c->ino, inode, c->itree);
	if (!rc)
		return 0;
	close_itree(c);
	if (rc != XW_ERR_NOTFOUND && rc != XW_ERR_NOMEM)
		keep_line(c, XW_CHILDREN_UNREAD, rc);
	return rc == XW_ERR_NOMEM ? rc : 0;
}

/* Hashes of the names of a list that is not kept. */
struct hashes {
	struct xw_hash_key key;
	XW_VEC(uint64_t) v;
};

static int push_hash(struct hashes *h, const char *name, size_t len)
{
	return xw_vec_push(&h->v, xw_hash_secret(&h->key, 0, name, len)) ? XW_ERR_NOMEM : 0;
}

/* Replace the names of the list by their hashes. */
static int drop_list(struct xw_children *c, struct hashes *h)
{
	int rc = 0;

	h->key = xw_hash_process_key();
	for (size_t i = 0; i < c->v.n && !rc; i++)
		rc = push_hash(h, c->names.v + c->v.v[i].name_off, c->v.v[i].name_len);
	xw_vec_free(&c->v);
	xw_vec_free(&c->names);
	return rc;
}

static bool any_twice(struct hashes *h)
{
	if (h->v.n)
		qsort(h->v.v, h->v.n, sizeof(*h->v.v), xw_by_u64);
	for (size_t i = 1; i < h->v.n; i++)
		if (h->v.v[i - 1] == h->v.v[i])
			return true;
	return false;
}

enum { LIST_DROPPED, LIST_KEPT, LIST_DROPPED_TWICE };

/*
 * Add the entries of the open itree to the checksum and the list, which is dropped if it takes more
 * than `hold` bytes. LIST_DROPPED_TWICE: two of the names in it are probably the same.
 */
static int read_itree(struct xw_children *c, size_t hold, struct xw_itree_sum *sum)
{
	struct xw_itree_entry e;
	struct hashes h = {0};
	int rc, list = LIST_KEPT;

	while ((rc = xw_itree_next(c->itree, &e)) == 1) {
		xw_itree_sum_add(sum, e.key.ino, e.ftype, e.name, e.name_len);
		if (list == LIST_KEPT)
			rc = xw_children_add(c, e.key.ino, e.ftype == XW_FT_DIR, e.name,
					     e.name_len);
		else
			rc = push_hash(&h, e.name, e.name_len);
		if (!rc && list == LIST_KEPT && c->v.n * sizeof(*c->v.v) + c->names.n > hold) {
			rc = drop_list(c, &h);
			list = LIST_DROPPED;
		}
		if (rc)
			break;
	}
	close_itree(c);
	if (!rc && any_twice(&h))
		list = LIST_DROPPED_TWICE;
	xw_vec_free(&h.v);
	return rc ? rc : list;
}

/*
 * Read the list from the itree if that is readable and matches the checksum `sum` of the
 * directory's blocks (NULL: it is trusted), otherwise from the blocks.
 */
static int list_itree(struct xw_children *c, const struct xw_inode *inode, const uint8_t *raw,
		      size_t hold, const struct xw_itree_sum *sum)
{
	struct xw_itree_sum there = {0};
	int rc = read_itree(c, hold, &there);

	if (rc == LIST_DROPPED_TWICE) {
		there = (struct xw_itree_sum){0};
		rc = open_itree(c, inode);
		if (!rc)
			rc = c->itree ? read_itree(c, SIZE_MAX, &there) : XW_ERR_IO;
	}
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (rc >= 0 && (!sum || xw_itree_sum_equal(&there, sum)))
		return rc ? drop_same(c) : open_itree(c, inode);
	if (rc >= 0)
		rc = xw_fail(c->img->diag, XW_ERR_CORRUPT,
			     "%s: directory inode %" PRIu32
			     ": its itree does not list what it holds",
			     c->img->dev->name, c->ino);
	keep_line(c, XW_CHILDREN_UNREAD, rc);
	forget(c);
	rc = read_blocks(c, inode, raw, NULL);
	return rc ? rc : sort(c);
}

/*
 * The list has the readable entries of the directory's blocks: add the entries that only the itree
 * has.
 */
static int add_itree(struct xw_children *c)
{
	struct xw_itree_sum any = {0};
	size_t n = 0;
	int rc = read_itree(c, SIZE_MAX, &any);

	if (rc == XW_ERR_NOMEM)
		return rc;
	if (rc < 0) /* the directory is reported as damaged anyway */
		xw_diag_clear(c->img->diag);
	if (c->v.n)
		qsort_r(c->v.v, c->v.n, sizeof(*c->v.v), by_name, c->names.v);
	for (size_t i = 0; i < c->v.n; i++) {
		const struct xw_child *x = &c->v.v[n ? n - 1 : 0], y = c->v.v[i];

		if (!n || x->ino != y.ino || x->name_len != y.name_len ||
		    memcmp(c->names.v + x->name_off, c->names.v + y.name_off, y.name_len))
			c->v.v[n++] = y;
	}
	c->v.n = n;
	return 0;
}

/* All of v was returned: read the next batch from the itree. */
static int next_batch(struct xw_children *c)
{
	struct xw_itree_entry e;
	int rc = 0;

	forget(c);
	while (c->v.n < BATCH && !rc && (rc = xw_itree_next(c->itree, &e)) == 1)
		rc = xw_children_add(c, e.key.ino, e.ftype == XW_FT_DIR, e.name, e.name_len);
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (rc < 0)
		keep_line(c, XW_CHILDREN_UNREAD, rc);
	if (c->v.n < BATCH)
		close_itree(c);
	return 0;
}

/* ---- the list ---- */

int xw_children_open(struct xw_image *img, enum xw_export_order order, size_t hold, xw_ino ino,
		     const struct xw_inode *inode, const uint8_t *raw, struct xw_children *c)
{
	struct xw_itree_sum sum = {0};
	bool by_itree;
	int rc;

	*c = (struct xw_children){.img = img, .order = order, .ino = ino};
	rc = open_itree(c, inode);
	if (rc)
		return rc;
	by_itree = c->itree && order != XW_ORDER_NAME;
	if (by_itree && xw_itree_is_trusted(img))
		return list_itree(c, inode, raw, hold, NULL);
	rc = read_blocks(c, inode, raw, by_itree ? &sum : NULL);
	if (!rc && by_itree && !c->failed[XW_CHILDREN_UNREAD].code)
		return list_itree(c, inode, raw, hold, &sum);
	if (!rc && by_itree)
		rc = read_blocks(c, inode, raw, NULL);
	if (!rc && c->itree && c->failed[XW_CHILDREN_UNREAD].code)
		rc = add_itree(c);
	close_itree(c);
	return rc ? rc : sort(c);
}

/* Read ahead for the next batch: its inodes, then the blocks of its subdirectories. */
static void fetch(struct xw_children *c)
{
	const size_t end = XW_MIN(c->v.n, c->next + BATCH);
	struct xw_ahead a;

	c->fetched = end;
	if (end - c->next < 2)
		return;
	xw_ahead_begin(c->img, &a);
	for (size_t i = c->next; i < end; i++)
		xw_ahead_inode(&a, c->v.v[i].ino);
	xw_ahead_end(&a);
	xw_ahead_begin(c->img, &a);
	for (size_t i = c->next; i < end; i++) {
		if (c->v.v[i].is_dir)
			xw_ahead_directory(&a, c->v.v[i].ino);
	}
	xw_ahead_end(&a);
}

int xw_children_next(struct xw_children *c, xw_ino *ino, const char **name, size_t *len)
{
	const struct xw_child *e;
	int rc;

	while (c->next == c->v.n && c->itree) {
		rc = next_batch(c);
		if (rc)
			return rc;
	}
	for (size_t i = 0; i < XW_ARRAY_SIZE(c->failed); i++) {
		struct xw_children_failure *f = &c->failed[i];

		if (!f->code)
			continue;
		rc = xw_fail(c->img->diag, f->code, "%s", f->line ? f->line : "");
		f->code = 0;
		return rc;
	}
	if (c->next == c->v.n)
		return 0;
	if (c->next == c->fetched)
		fetch(c);
	e = &c->v.v[c->next++];
	*ino = e->ino;
	*name = c->names.v + e->name_off;
	*len = e->name_len;
	return 1;
}

bool xw_children_none(const struct xw_children *c)
{
	return !c->v.n && !c->failed[XW_CHILDREN_UNREAD].code && !c->itree;
}

int xw_children_hide(struct xw_children *c, const char *why)
{
	if (xw_children_none(c))
		return 0;
	close_itree(c);
	c->v.n = c->next = 0;
	c->failed[XW_CHILDREN_UNREAD].code = 0;
	c->failed[XW_CHILDREN_SAME].code = 0;
	keep_line(c, XW_CHILDREN_UNREAD,
		  xw_fail(c->img->diag, XW_ERR_UNSUPPORTED, "%.100s: inode %" PRIu32 ": %s",
			  c->img->dev->name, c->ino, why));
	return 0;
}

void xw_children_free(struct xw_children *c)
{
	close_itree(c);
	xw_vec_free(&c->v);
	xw_vec_free(&c->names);
	for (size_t i = 0; i < XW_ARRAY_SIZE(c->failed); i++) {
		free(c->failed[i].line);
		c->failed[i].line = NULL;
	}
}
