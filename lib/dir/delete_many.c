/* SPDX-License-Identifier: MIT */
/*
 * Deletes many names of one directory together. Leaves are in hash order or unsorted, an itree is
 * in inode order; deleting name by name would read one of them at random. So all names are deleted
 * from the leaves first, then from the itree, each in its own order: every block is read once,
 * whatever the size of the cache.
 *
 * Each pass is a series of changes, so that the cache can evict blocks. Between the passes the
 * itree has entries that the leaves lack. A failure after the first change cannot be rolled back
 * here: the handle is unusable, and the owner of the device must discard what was written to it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "dir/change_internal.h"

#define NAMES_AT_ONCE 256u /* deleted in one change, which holds all blocks it uses in memory */

static int by_name(const void *x, const void *y)
{
	const struct xw_dir_victim *a = x, *b = y;
	const int d = memcmp(a->name, b->name, XW_MIN(a->len, b->len));

	return d ? d : (int)a->len - (int)b->len;
}

static int by_hash(const void *x, const void *y)
{
	const struct xw_dir_victim *a = x, *b = y;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->minor != b->minor)
		return a->minor < b->minor ? -1 : 1;
	return by_name(x, y);
}

static int by_ino(const void *x, const void *y)
{
	const struct xw_dir_victim *a = x, *b = y;

	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	return by_hash(x, y);
}

/* Check that all names are valid, and sort them in the order of the leaves. */
static int prepare(struct xw_dir *d, struct xw_dir_victim *v, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		struct xw_dx_hash h = {0};

		rc = xw_dir_check_victim(d, v[i].name, v[i].len);
		if (!rc && d->now.indexed)
			rc = xw_dx_hash(d->hash_version, d->f.hash_seed, v[i].name, v[i].len, &h);
		v[i].hash = h.major;
		v[i].minor = h.minor;
		v[i].ino = 0;
	}
	if (!rc)
		qsort(v, n, sizeof(*v), by_hash);
	return rc;
}

static void remove_found(struct xw_dir *d, struct xw_dir_victim *v, struct xw_dir_place *place)
{
	struct xw_dirent e;

	xw_dirent_decode(place->leaf->data, d->f.block_size, place->spot.at, &e);
	v->ino = e.ino;
	v->ftype = d->f.filetype ? e.ftype : XW_FT_UNKNOWN;
	xw_leaf_remove(place->leaf->data, xw_dir_room(d), &place->spot);
}

static int delete_indexed(struct xw_dir *d, struct xw_dir_victim *v)
{
	struct xw_dir_place place;
	int rc = xw_htree_find(d, v->name, v->len, &place);

	if (!rc)
		rc = xw_dcache_dirty(&d->cache, place.leaf);
	if (!rc)
		remove_found(d, v, &place);
	return rc;
}

static int delete_from_itree(struct xw_dir *d, struct xw_dir_victim *v)
{
	const struct xw_dirent e = {
		.ino = v->ino, .name_len = v->len, .ftype = v->ftype, .name = v->name};

	return xw_dir_tree_remove(d, &e, v->hash);
}

static int each(struct xw_dir *d, struct xw_dir_victim *v, size_t n,
		int (*fn)(struct xw_dir *d, struct xw_dir_victim *v))
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc;) {
		const size_t end = XW_MIN(n, i + NAMES_AT_ONCE);

		rc = xw_dir_change_begin(d);
		if (rc)
			return rc;
		for (; i < end && !rc; i++)
			rc = fn(d, &v[i]);
		rc = xw_dir_change_end(d, rc);
	}
	return rc;
}

/* Delete those entries of a linear directory's leaf that are in v, which is sorted by name. */
static int delete_from_leaf(struct xw_dir *d, uint32_t lblk, struct xw_dir_victim *v, size_t n,
			    size_t *left)
{
	struct xw_dir_place place = {.spot.before = XW_LEAF_NONE};
	struct xw_dirent e;
	int rc = xw_dir_block(d, lblk, XW_DBUF_LEAF, &place.leaf);

	for (uint32_t off = 0; off < xw_dir_room(d) && *left && !rc; off += e.rec_len) {
		struct xw_dir_victim key, *hit = NULL;
		bool match;

		xw_dirent_decode(place.leaf->data, xw_dir_room(d), off, &e);
		key = (struct xw_dir_victim){.name = e.name, .len = e.name_len};
		if (e.ino)
			hit = bsearch(&key, v, n, sizeof(*v), by_name);
		match = hit && !hit->ino; /* a damaged directory may contain the name twice */
		place.spot.at = off;
		if (match) {
			rc = xw_dcache_dirty(&d->cache, place.leaf);
			if (rc)
				return rc;
			remove_found(d, hit, &place);
			--*left;
		}
		/* a deleted entry is merged into the previous one, unless it was the first */
		if (!match || place.spot.before == XW_LEAF_NONE)
			place.spot.before = off;
	}
	return rc;
}

static int delete_linear(struct xw_dir *d, struct xw_dir_victim *v, size_t n)
{
	size_t left = n;
	int rc = 0;

	qsort(v, n, sizeof(*v), by_name);
	for (uint32_t b = 0; b < d->now.blocks && left && !rc; b++) {
		rc = xw_dir_change_begin(d);
		if (!rc)
			rc = xw_dir_change_end(d, delete_from_leaf(d, b, v, n, &left));
	}
	return rc || !left ? rc : XW_ERR_NOTFOUND;
}

int xw_dir_delete_many(struct xw_dir *d, struct xw_dir_victim *v, size_t n)
{
	int rc = n ? xw_dir_change_begin(d) : 0;

	if (rc || !n)
		return rc;
	rc = xw_dir_change_end(d, prepare(d, v, n));
	if (rc)
		return rc;
	rc = d->now.indexed ? each(d, v, n, delete_indexed) : delete_linear(d, v, n);
	if (!rc)
		qsort(v, n, sizeof(*v), by_ino);
	if (!rc && d->now.itree)
		rc = each(d, v, n, delete_from_itree);
	d->failed |= rc != 0;
	return rc;
}
