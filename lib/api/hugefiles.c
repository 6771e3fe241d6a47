/* SPDX-License-Identifier: MIT */
/*
 * The files of make_hugefiles (mke2fs.conf(5)). They are created after the sources were read, from
 * the remaining free space, each in one run unless superblock backups are in between. Their blocks
 * are allocated and zeroed. The first `slack` free blocks are skipped, so that metadata placed
 * later stays near the start of the filesystem. As with mke2fs, files that do not fit are left out,
 * which is a warning.
 */
#include "config.h"

#include "api/hugefiles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/extent.h"

#define LARGE_FILE_SIZE ((uint64_t)1 << 31)
#define NAME_BYTES 32u /* average size of a directory entry */

struct maker {
	const struct xw_huge_place *at;
	const struct xw_hugefiles *h;
	struct xw_binode *dir;
	uint64_t len; /* blocks per file */
	uint64_t count, wanted; /* of files; wanted 0: as many as fit */
	uint64_t align, phase; /* in blocks; a file starts where (start + phase) % align is 0 */
	xw_blk next; /* where the search for the next file starts */
};

static void own(const struct maker *k, struct xw_binode *n)
{
	n->uid = k->h->uid;
	n->gid = k->h->gid;
	n->flags |= XW_BN_ATTRS;
	n->mtime = n->atime = k->at->tree->now;
}

/* Find the directory of the files; create missing parents. */
static int enter_dir(struct maker *k)
{
	struct xw_tree *t = k->at->tree;
	const char *p = k->h->dir;

	k->dir = t->root;
	while (*(p += strspn(p, "/"))) {
		const size_t len = strcspn(p, "/");
		const struct xw_blink *l = xw_tree_find(t, k->dir, p, len);
		struct xw_binode *n = l ? l->node : NULL;
		int rc;

		if (n && !xw_binode_is(n, XW_S_IFDIR))
			return xw_fail(k->at->place->enc.diag, XW_ERR_EXISTS,
				       "hugefiles_dir %s: %.*s is no directory", k->h->dir,
				       (int)len, p);
		if (!n) {
			n = xw_tree_node(t, XW_S_IFDIR | (0777 & ~k->h->umask));
			if (!n)
				return xw_fail_nomem(k->at->place->enc.diag, "directory");
			own(k, n);
			rc = xw_tree_link(t, k->dir, p, len, n);
			if (rc)
				return rc;
		}
		k->dir = n;
		p += len;
	}
	return 0;
}

/* Upper bound of the extent tree blocks of a file of `len` blocks. */
static uint64_t map_blocks(const struct maker *k, uint64_t len)
{
	const uint64_t extents = len / XW_EXT_MAX_LEN + 1;

	return extents > XW_EXT_INODE_ENTRIES ? extents / xw_extent_node_max(k->at->block_size) + 1
					      : 0;
}

/* Unit in blocks of the start and size of a file. */
static uint64_t unit_of(const struct maker *k)
{
	return XW_MAX(k->align, UINT64_C(1) << k->at->cluster_bits);
}

/* Estimate of the blocks of all directories, which are allocated later. `slack` covers errors. */
static uint64_t directory_blocks(const struct maker *k)
{
	const struct xw_tree *t = k->at->tree;
	uint64_t blocks = t->names.n * NAME_BYTES / k->at->block_size;

	for (const struct xw_binode *n = t->first; n; n = n->next) {
		if (xw_binode_is(n, XW_S_IFDIR) && !(n->flags & XW_BN_DEAD))
			blocks += XW_MAX(n->dir->min_blocks, 1u);
	}
	return blocks;
}

/* Determine the number of files that fit, and their size. */
static int measure(struct maker *k)
{
	const uint32_t bs = k->at->block_size;
	const uint64_t slack = k->h->slack / bs + 1 + directory_blocks(k);
	const uint64_t free = xw_space_free_blocks(k->at->place->space);
	const uint64_t room = free > slack ? free - slack : 0;
	const uint64_t unit = unit_of(k);

	k->count = k->h->count;
	k->len = xw_div_up(xw_div_up(k->h->size, bs), unit) * unit;
	if (!k->len) {
		k->count = XW_MAX(k->count, UINT64_C(1));
		k->len = room / k->count;
		k->len -= XW_MIN(k->len, map_blocks(k, k->len));
		k->len -= k->len % unit;
	}
	k->wanted = k->count;
	if (k->h->size) {
		const uint64_t fit = room / (k->len + map_blocks(k, k->len));

		k->count = k->count ? XW_MIN(k->count, fit) : fit;
	} else if (!k->len) {
		k->count = 0;
	}
	if (k->len > UINT32_MAX)
		return xw_fail(k->at->place->enc.diag, XW_ERR_LIMIT,
			       "make_hugefiles: a file of %" PRIu64 " blocks: at most %" PRIu32,
			       k->len, UINT32_MAX);
	return 0;
}

/* The first block after `slack` free ones. */
static xw_blk skip_slack(const struct maker *k)
{
	struct xw_space *s = k->at->place->space;
	uint64_t left = k->h->slack / k->at->block_size;
	xw_blk at = xw_space_next_free(s, 0);

	while (left && at != XW_BLK_MAX) {
		const uint64_t n = xw_space_run_at(s, at, left);

		left -= n;
		at = left ? xw_space_next_free(s, at + n) : at + n;
	}
	return at;
}

static xw_blk aligned(const struct maker *k, xw_blk blk)
{
	const uint64_t unit = unit_of(k);

	return xw_div_up(blk + k->phase, unit) * unit - k->phase;
}

/* Find the first free run from k->next on that holds a whole file. */
static bool find_run(const struct maker *k, struct xw_run *run)
{
	struct xw_space *s = k->at->place->space;
	xw_blk at = k->next;

	while (at != XW_BLK_MAX && (at = xw_space_next_free(s, at)) != XW_BLK_MAX) {
		const xw_blk start = aligned(k, at);
		const uint64_t n = xw_space_run_at(s, at, start - at + k->len);

		if (n >= start - at + k->len) {
			*run = (struct xw_run){start, k->len};
			return true;
		}
		at += n;
	}
	return false;
}

/* Allocate one file: `run` or, if it is NULL, several runs. */
static int claim(struct maker *k, struct xw_binode *n, struct xw_run *run)
{
	struct xw_space *s = k->at->place->space;
	struct xw_run *runs = run;
	auto_free struct xw_run *many = NULL;
	size_t n_runs = 1;
	int rc;

	if (run) {
		k->next = run->start + run->len;
		rc = xw_space_claim(s, run->start, run->len);
	} else {
		rc = xw_place_alloc(k->at->place, k->len, &many, &n_runs);
		runs = many;
	}
	if (!rc && !k->at->fresh && !k->h->no_zeros) {
		for (size_t i = 0; i < n_runs && !rc; i++)
			rc = xw_dev_zero(k->at->dev, runs[i].start * k->at->block_size,
					 runs[i].len * k->at->block_size);
	}
	if (!rc && xw_binode_set_runs(n, runs, n_runs))
		rc = xw_fail_nomem(k->at->place->enc.diag, "huge file");
	return rc;
}

static int make_one(struct maker *k, uint64_t number, struct xw_run *run)
{
	struct xw_binode *n = xw_tree_node(k->at->tree, XW_S_IFREG | (0666 & ~k->h->umask));
	char name[256];
	const int len =
		snprintf(name, sizeof(name), "%s%0*" PRIu64, k->h->name, (int)k->h->digits, number);

	if (!n)
		return xw_fail_nomem(k->at->place->enc.diag, "huge file");
	if (len > 255 || xw_tree_find(k->at->tree, k->dir, name, (size_t)len))
		return xw_fail(k->at->place->enc.diag, XW_ERR_EXISTS, "make_hugefiles: %s: %s",
			       name, len > 255 ? "name too long" : "exists already");
	own(k, n);
	n->size = k->len * k->at->block_size;
	*k->at->large_file |= n->size >= LARGE_FILE_SIZE;
	*k->at->data_blocks += k->len;
	return claim(k, n, run) ?: xw_tree_link(k->at->tree, k->dir, name, (size_t)len, n);
}

int xw_hugefiles_make(const struct xw_huge_place *at, const struct xw_hugefiles *h)
{
	struct maker k = {.at = at, .h = h, .align = h->align / at->block_size};
	uint64_t made = 0;
	int rc = enter_dir(&k);

	if (h->align_disk && k.align)
		k.phase = at->disk_offset / at->block_size % k.align;
	if (!rc)
		rc = measure(&k);
	if (!rc)
		k.next = skip_slack(&k);
	for (; made < k.count && !rc; made++) {
		struct xw_run run;
		const bool whole = find_run(&k, &run);

		if (!whole && k.align)
			break;
		rc = make_one(&k, made, whole ? &run : NULL);
	}
	if (!rc && made < XW_MAX(k.wanted, UINT64_C(1)))
		xw_log(at->place->enc.diag, XW_LOG_WARN,
		       "make_hugefiles: no space for %" PRIu64 " of %" PRIu64 " files of %" PRIu64
		       " blocks",
		       XW_MAX(k.wanted, UINT64_C(1)) - made, XW_MAX(k.wanted, UINT64_C(1)), k.len);
	return rc;
}
