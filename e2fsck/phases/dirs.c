// SPDX-License-Identifier: MIT
/*
 * Checks all directories: first the entries in every directory block, read in disk order in large
 * runs; then inline directories and indexes. Directories that need it are rebuilt at the end.
 *
 * Directory blocks are few compared to the blocks of inode tables, so the locations of all are kept
 * in memory: 24 bytes each, 4 for the disk order, and 8 for the hashes if a directory is indexed.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "phases/dirs.h"
#include "phases/super.h"

enum { READ_BYTES = 1 << 20, READ_GAP = 64 << 10 };

/*
 * Linux refuses to mount an unknown encoding. If no encoding is set and no directory is casefolded,
 * the feature bit is wrong. Otherwise the encoding is damaged; only UTF-8 is defined.
 */
static int check_encoding(struct fsck *f)
{
	struct xw_super *sb = &f->ses.img->sb;
	bool used = sb->encoding != 0;

	if (!(sb->feature_incompat & XW_INCOMPAT_CASEFOLD) || sb->encoding == FSCK_ENCODING_UTF8)
		return 0;
	for (size_t i = 0; i < f->facts.dirs.n && !used; i++)
		used = fsck_inode(f, f->facts.dirs.v[i].ino)->flags & FSCK_I_CASEFOLD;
	if (!(used ? FSCK_FOUND(f, ENCODING, .num = sb->encoding) : FSCK_FOUND(f, ENCODING_NONE)))
		return 0;
	if (used)
		sb->encoding = FSCK_ENCODING_UTF8;
	else
		sb->feature_incompat &= ~XW_INCOMPAT_CASEFOLD;
	return fsck_super_renew(f);
}

/* ---- sorting ---- */

static int by_dir(const void *x, const void *y)
{
	const struct fsck_dirblock *a = x, *b = y;

	if (a->dir != b->dir)
		return a->dir < b->dir ? -1 : 1;
	return (a->lblk > b->lblk) - (a->lblk < b->lblk);
}

static int by_pblk(const void *x, const void *y, void *arg)
{
	const struct fsck_dirblock *blocks = arg, *a = &blocks[*(const uint32_t *)x],
				   *b = &blocks[*(const uint32_t *)y];

	if (a->pblk != b->pblk)
		return a->pblk < b->pblk ? -1 : 1;
	return by_dir(a, b);
}

/* Sort the blocks by directory, and note where those of each directory start. */
static void sort_blocks(struct fsck_dirscan *s)
{
	struct fsck *f = s->f;
	bool sorted = true;
	size_t at = 0;

	for (size_t i = 1; i < f->facts.dirblocks.n && sorted; i++)
		sorted = by_dir(&f->facts.dirblocks.v[i - 1], &f->facts.dirblocks.v[i]) <= 0;
	if (!sorted)
		qsort(f->facts.dirblocks.v, f->facts.dirblocks.n, sizeof(*f->facts.dirblocks.v),
		      by_dir);
	for (size_t i = 0; i <= f->facts.dirs.n; i++) {
		while (at < f->facts.dirblocks.n && f->facts.dirblocks.v[at].dir < i)
			at++;
		s->first[i] = (uint32_t)at;
	}
}

static uint32_t *disk_order(struct fsck *f)
{
	uint32_t *order = malloc((f->facts.dirblocks.n + 1) * sizeof(*order));
	bool sorted = true;

	if (!order)
		return NULL;
	for (size_t i = 0; i < f->facts.dirblocks.n; i++) {
		order[i] = (uint32_t)i;
		sorted &= !i || f->facts.dirblocks.v[i - 1].pblk <= f->facts.dirblocks.v[i].pblk;
	}
	if (!sorted)
		qsort_r(order, f->facts.dirblocks.n, sizeof(*order), by_pblk, f->facts.dirblocks.v);
	return order;
}

/* ---- one block ---- */

static int check_block(struct fsck_dirscan *s, uint32_t at, uint8_t *block)
{
	struct fsck *f = s->f;
	const struct fsck_dirblock *b = &f->facts.dirblocks.v[at];
	const uint32_t bs = f->ses.img->block_size;
	bool root;
	struct fsck_area a = {.data = block, .size = bs, .lblk = b->lblk, .has_dots = !b->lblk};

	fsck_dir_enter(s, b->dir);
	root = s->d->indexed && !b->lblk && fsck_dir_is_root(block, bs);
	a.tail = s->csum && !root;
	if (s->leaves)
		s->leaves[at] = (struct fsck_leaf){UINT32_MAX, 0};
	if (s->d->indexed && b->lblk && xw_dirblock_is_node(block, bs))
		return 0; /* checked with its index; an empty leaf may look like a node */
	s->hashed = s->d->indexed && b->lblk;
	fsck_dir_area(s, &a);
	if (s->leaves)
		s->leaves[at] = s->leaf;
	if (!s->dirty)
		return 0;
	s->d->itree_stale = true;
	if (s->csum && root && !s->relayout)
		xw_dx_block_set_csum(block, bs, XW_DX_ROOT_ENTRIES, s->seed);
	else if (s->csum && xw_dir_has_tail(block, bs))
		xw_dir_block_set_csum(block, bs, s->seed);
	return fsck_try_write(f, FSCK_O_DIR, b->pblk, block);
}

/* The block is a hole or cannot be read. */
static void lost_block(struct fsck_dirscan *s, uint32_t at)
{
	const struct fsck_dirblock *b = &s->f->facts.dirblocks.v[at];

	fsck_dir_enter(s, b->dir);
	if (s->leaves)
		s->leaves[at] = (struct fsck_leaf){UINT32_MAX, 0};
	s->d->rebuild |= b->pblk ? DIR_FOUND(s, DIR_READ, .lblk = b->lblk, .blk = b->pblk)
				 : DIR_FOUND(s, DIR_HOLE, .lblk = b->lblk);
}

/* Check the blocks order[0] to order[n - 1], which lie within READ_BYTES. */
static int check_run(struct fsck_dirscan *s, const uint32_t *order, size_t n, uint8_t *buf)
{
	struct fsck *f = s->f;
	const struct fsck_dirblock *v = f->facts.dirblocks.v;
	const uint32_t bs = f->ses.img->block_size;
	const xw_blk from = v[order[0]].pblk;
	int rc = fsck_read(f, from, v[order[n - 1]].pblk - from + 1, buf);
	const bool each = rc != 0;

	rc = 0;
	for (size_t i = 0; i < n && !rc && !f->ses.stop; i++) {
		uint8_t *block = buf + (v[order[i]].pblk - from) * bs;

		if (each)
			xw_diag_clear(&f->ses.diag);
		if (each && fsck_read(f, v[order[i]].pblk, 1, block)) {
			xw_diag_clear(&f->ses.diag);
			lost_block(s, order[i]);
			continue;
		}
		rc = check_block(s, order[i], block);
	}
	return rc;
}

static int check_blocks(struct fsck_dirscan *s)
{
	struct fsck *f = s->f;
	const struct fsck_dirblock *v = f->facts.dirblocks.v;
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint32_t *order = disk_order(f);
	auto_free uint8_t *buf = malloc(READ_BYTES + bs);
	size_t n;
	int rc = 0;

	if (!order || !buf)
		return xw_fail_nomem(&f->ses.diag, "directory blocks");
	for (size_t i = 0; i < f->facts.dirblocks.n && !rc && !f->ses.stop; i += n) {
		n = 1;
		if (!v[order[i]].pblk) {
			lost_block(s, order[i]);
			continue;
		}
		while (i + n < f->facts.dirblocks.n &&
		       (v[order[i + n]].pblk - v[order[i]].pblk + 1) * bs <= READ_BYTES &&
		       (v[order[i + n]].pblk - v[order[i + n - 1]].pblk) * bs <= READ_GAP + bs)
			n++;
		rc = check_run(s, order + i, n, buf);
	}
	return rc;
}

/* ---- directories ---- */

static int check_each(struct fsck_dirscan *s)
{
	struct fsck *f = s->f;
	const bool may_index = f->ses.img->sb.feature_compat & XW_COMPAT_DIR_INDEX;
	const bool optimize = f->opts.optimize_dirs && !f->round.number && f->opts.mode != FSCK_NO;
	int rc = 0;

	for (uint32_t i = 0; i < f->facts.dirs.n && !rc && !f->ses.stop; i++) {
		struct fsck_dir *d = &f->facts.dirs.v[i];
		const uint32_t at = s->first[i], end = s->first[i + 1];

		/* A directory without a first block has no "." entry. */
		if (!d->is_inline && (at >= end || f->facts.dirblocks.v[at].lblk))
			d->rebuild |= FSCK_FOUND(f, DIR_HOLE, .dir = d->ino);
		if (d->is_inline)
			rc = fsck_dir_inline(s, i);
		else if (d->indexed && !may_index)
			d->rebuild |= FSCK_FOUND(f, DIR_INDEX_FEATURE, .dir = d->ino);
		else if (d->indexed && !d->rebuild)
			rc = fsck_dir_htree(s, i);
		/* lost+found keeps its blocks: a repair may need them when space is short. */
		d->optimize = optimize && d->ino != f->facts.lost_found && end - at > 1;
		d->rebuild |= f->ses.root_found && d->ino == XW_INO_ROOT;
	}
	f->ses.root_found = false;
	return rc;
}

static int begin(struct fsck_dirscan *s)
{
	struct fsck *f = s->f;
	const uint32_t most =
		XW_MAX(f->ses.img->block_size, f->ses.img->inode_size); /* of an area */
	bool indexed = false;

	for (size_t i = 0; i < f->facts.dirs.n; i++)
		indexed |= f->facts.dirs.v[i].indexed;
	s->filetype = f->ses.img->sb.feature_incompat & XW_INCOMPAT_FILETYPE;
	s->csum = xw_super_has_csum(&f->ses.img->sb);
	xw_dx_seed(&f->ses.img->sb, s->hash_seed);
	s->first = calloc(f->facts.dirs.n + 2, sizeof(*s->first));
	s->kept = calloc(most / 8 + 1, sizeof(*s->kept));
	s->dup_key = xw_hash_process_key();
	s->dups = calloc(fsck_dup_slots(most), sizeof(*s->dups));
	s->copy = malloc(most);
	if (indexed)
		s->leaves = calloc(f->facts.dirblocks.n + 1, sizeof(*s->leaves));
	if (!s->first || !s->kept || !s->dups || !s->copy || (indexed && !s->leaves))
		return xw_fail_nomem(&f->ses.diag, "directories");
	sort_blocks(s);
	return 0;
}

static void scan_end(struct fsck_dirscan *s)
{
	free(s->first);
	free(s->leaves);
	free(s->kept);
	free(s->dups);
	free(s->copy);
}

int fsck_check_dirs(struct fsck *f)
{
	auto_end(scan_end) struct fsck_dirscan s = {.f = f};
	struct fsck_dir *root;
	int rc;

	/* An update has moved blocks: the new locations are known in the next round. */
	if (f->round.allocated)
		return 0;
	rc = check_encoding(f);
	if (!rc)
		rc = begin(&s);
	if (!rc)
		rc = check_blocks(&s);
	if (!rc)
		rc = check_each(&s);
	root = fsck_dir(f, XW_INO_ROOT);
	if (root)
		root->parent = XW_INO_ROOT;
	f->facts.names_known = !rc && !f->ses.stop && !f->round.again;
	if (!f->facts.names_known)
		return rc;
	rc = fsck_repair_hidden(f);
	if (!rc)
		rc = fsck_itree_compare(f);
	return rc ? rc : fsck_dir_rebuild_all(&s);
}
