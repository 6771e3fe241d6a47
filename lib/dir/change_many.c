/* SPDX-License-Identifier: MIT */
/*
 * Many names of one directory deleted together. A directory's leaves are in the order of hashes, or
 * in none, and its itree in that of inodes: one name after the other reads the one or the other at
 * random. So the names go through the leaves first and through the itree then, each in its own
 * order: nothing is read twice, whatever the cache holds.
 *
 * Each pass is a number of changes, so that the cache can let go of blocks; between the two the
 * itree has entries that the leaves lack. A failure behind the first of them cannot be undone here:
 * the handle has failed, and whoever holds the device undoes what was written to it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "dir/change_internal.h"

#define NAMES_AT_ONCE 256u /* in one change, which keeps what it touches */

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

/* That all of them can be names; in the order in which the leaves have them. */
static int prepare(struct xw_dir *d, struct xw_dir_victim *v, size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		struct xw_dx_hash h = {0};

		ret = xw_dir_check_victim(d, v[i].name, v[i].len);
		if (!ret && d->now.indexed)
			ret = xw_dx_hash(d->hash_version, d->f.hash_seed, v[i].name, v[i].len, &h);
		v[i].hash = h.major;
		v[i].minor = h.minor;
		v[i].ino = 0;
	}
	if (!ret)
		qsort(v, n, sizeof(*v), by_hash);
	return ret;
}

static void take(struct xw_dir *d, struct xw_dir_victim *v, struct xw_dir_place *place)
{
	struct xw_dirent e;

	xw_dirent_decode(place->leaf->data, d->f.block_size, place->spot.at, &e);
	v->ino = e.ino;
	v->ftype = d->f.filetype ? e.ftype : XW_FT_UNKNOWN;
	xw_leaf_take(place->leaf->data, xw_dir_room(d), &place->spot);
}

static int take_indexed(struct xw_dir *d, struct xw_dir_victim *v)
{
	struct xw_dir_place place;
	int ret = xw_htree_find(d, v->name, v->len, &place);

	if (!ret)
		ret = xw_dcache_dirty(&d->cache, place.leaf);
	if (!ret)
		take(d, v, &place);
	return ret;
}

static int take_from_tree(struct xw_dir *d, struct xw_dir_victim *v)
{
	const struct xw_dirent e = {
		.ino = v->ino, .name_len = v->len, .ftype = v->ftype, .name = v->name};

	return xw_dir_tree_remove(d, &e, v->hash);
}

static int each(struct xw_dir *d, struct xw_dir_victim *v, size_t n,
		int (*fn)(struct xw_dir *d, struct xw_dir_victim *v))
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret;) {
		const size_t end = XW_MIN(n, i + NAMES_AT_ONCE);

		ret = xw_dir_change_begin(d);
		if (ret)
			return ret;
		for (; i < end && !ret; i++)
			ret = fn(d, &v[i]);
		ret = xw_dir_change_end(d, ret);
	}
	return ret;
}

/* Those of a linear directory's leaf that are among v, which is sorted by name. */
static int take_of_leaf(struct xw_dir *d, uint32_t lblk, struct xw_dir_victim *v, size_t n,
			size_t *left)
{
	struct xw_dir_place place = {.spot.before = XW_LEAF_NONE};
	struct xw_dirent e;
	int ret = xw_dir_block(d, lblk, XW_DBUF_LEAF, &place.leaf);

	for (uint32_t off = 0; off < xw_dir_room(d) && *left && !ret; off += e.rec_len) {
		struct xw_dir_victim key, *hit = NULL;
		bool goes;

		xw_dirent_decode(place.leaf->data, xw_dir_room(d), off, &e);
		key = (struct xw_dir_victim){.name = e.name, .len = e.name_len};
		if (e.ino)
			hit = bsearch(&key, v, n, sizeof(*v), by_name);
		goes = hit && !hit->ino; /* a damaged directory may have it twice */
		place.spot.at = off;
		if (goes) {
			ret = xw_dcache_dirty(&d->cache, place.leaf);
			if (ret)
				return ret;
			take(d, hit, &place);
			--*left;
		}
		/* one that went is part of the entry before it now, but for the first */
		if (!goes || place.spot.before == XW_LEAF_NONE)
			place.spot.before = off;
	}
	return ret;
}

static int take_linear(struct xw_dir *d, struct xw_dir_victim *v, size_t n)
{
	size_t left = n;
	int ret = 0;

	qsort(v, n, sizeof(*v), by_name);
	for (uint32_t b = 0; b < d->now.blocks && left && !ret; b++) {
		ret = xw_dir_change_begin(d);
		if (!ret)
			ret = xw_dir_change_end(d, take_of_leaf(d, b, v, n, &left));
	}
	return ret || !left ? ret : XW_ERR_NOTFOUND;
}

int xw_dir_delete_many(struct xw_dir *d, struct xw_dir_victim *v, size_t n)
{
	int ret = n ? xw_dir_change_begin(d) : 0;

	if (ret || !n)
		return ret;
	ret = xw_dir_change_end(d, prepare(d, v, n));
	if (ret)
		return ret;
	ret = d->now.indexed ? each(d, v, n, take_indexed) : take_linear(d, v, n);
	if (!ret)
		qsort(v, n, sizeof(*v), by_ino);
	if (!ret && d->now.itree)
		ret = each(d, v, n, take_from_tree);
	d->failed |= ret != 0;
	return ret;
}
