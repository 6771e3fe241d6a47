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
 * The inodes and subdirectories of a batch are read ahead, so that the device gets many requests at
 * once.
 */
#include "config.h"

#include "export/children.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int by_name(const void *a, const void *b, void *names)
{
	const struct xw_child *x = a, *y = b;
	const char *base = names;
	int d = memcmp(base + x->name_off, base + y->name_off, XW_MIN(x->name_len, y->name_len));

	if (d)
		return d;
	if (x->name_len != y->name_len)
		return x->name_len < y->name_len ? -1 : 1;
	return by_ino(a, b);
}

/* Save the message in diag for xw_children_next(), unless an earlier message is pending. */
static void keep_line(struct xw_children *c, int code)
{
	struct xw_diag *d = c->img->diag;

	if (!c->code) {
		c->code = code;
		free(c->line);
		c->line = d ? strdup(d->text) : NULL;
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
		keep_line(c, rc);
	while (rc != XW_ERR_NOMEM && (rc = xw_dir_next(&it, &e, NULL))) {
		if (rc > 0 && sum && !xw_name_is_dots(e.name, e.name_len))
			xw_itree_sum_add(sum, e.ino, e.ftype, e.name, e.name_len);
		else if (rc > 0 && !xw_name_is_dots(e.name, e.name_len))
			rc = xw_children_add(c, e.ino, e.ftype == XW_FT_DIR, e.name, e.name_len);
		if (rc < 0 && rc != XW_ERR_NOMEM)
			keep_line(c, rc);
	}
	xw_dir_end(&it);
	return rc == XW_ERR_NOMEM ? rc : 0;
}

static void sort(struct xw_children *c)
{
	if (c->v.n && c->order == XW_ORDER_NAME)
		qsort_r(c->v.v, c->v.n, sizeof(*c->v.v), by_name, c->names.v);
	else if (c->v.n)
		qsort(c->v.v, c->v.n, sizeof(*c->v.v), by_ino);
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
		keep_line(c, rc);
	return rc == XW_ERR_NOMEM ? rc : 0;
}

/*
 * Add the entries of the open itree to the checksum and the list. A list of more than `hold` bytes
 * is dropped. 1: the list is complete; 0: it was dropped.
 */
static int read_itree(struct xw_children *c, size_t hold, struct xw_itree_sum *sum)
{
	struct xw_itree_entry e;
	bool held = true;
	int rc;

	while ((rc = xw_itree_next(c->itree, &e)) == 1) {
		xw_itree_sum_add(sum, e.key.ino, e.ftype, e.name, e.name_len);
		if (!held)
			continue;
		rc = xw_children_add(c, e.key.ino, e.ftype == XW_FT_DIR, e.name, e.name_len);
		if (rc)
			break;
		if (c->v.n * sizeof(*c->v.v) + c->names.n <= hold)
			continue;
		held = false;
		xw_vec_free(&c->v);
		xw_vec_free(&c->names);
	}
	close_itree(c);
	return rc ? rc : held;
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

	if (rc == XW_ERR_NOMEM)
		return rc;
	if (rc >= 0 && (!sum || xw_itree_sum_equal(&there, sum)))
		return rc ? 0 : open_itree(c, inode);
	if (rc >= 0)
		rc = xw_fail(c->img->diag, XW_ERR_CORRUPT,
			     "%s: directory inode %" PRIu32
			     ": its itree does not list what it holds",
			     c->img->dev->name, c->ino);
	keep_line(c, rc);
	forget(c);
	rc = read_blocks(c, inode, raw, NULL);
	sort(c);
	return rc;
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
		keep_line(c, rc);
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
	if (!rc && by_itree && !c->code)
		return list_itree(c, inode, raw, hold, &sum);
	if (!rc && by_itree)
		rc = read_blocks(c, inode, raw, NULL);
	if (!rc && c->itree && c->code)
		rc = add_itree(c);
	close_itree(c);
	sort(c);
	return rc;
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
	if (c->code) {
		rc = xw_fail(c->img->diag, c->code, "%s", c->line ? c->line : "");
		c->code = 0;
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
	return !c->v.n && !c->code && !c->itree;
}

int xw_children_hide(struct xw_children *c, const char *why)
{
	char line[256];

	if (xw_children_none(c))
		return 0;
	snprintf(line, sizeof(line), "%.100s: inode %" PRIu32 ": %s", c->img->dev->name, c->ino,
		 why);
	close_itree(c);
	c->v.n = c->next = 0;
	c->code = XW_ERR_UNSUPPORTED;
	free(c->line);
	c->line = strdup(line);
	return c->line ? 0 : xw_fail_nomem(c->img->diag, "directory");
}

void xw_children_free(struct xw_children *c)
{
	close_itree(c);
	xw_vec_free(&c->v);
	xw_vec_free(&c->names);
	free(c->line);
	c->line = NULL;
}
