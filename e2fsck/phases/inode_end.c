// SPDX-License-Identifier: MIT
/* Checks the end of a map: blocks past i_size that i_blocks does not count. */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "phases/dirs.h"
#include "phases/inodes.h"

uint64_t fsck_clusters_of(const struct fsck *f, const struct xw_map_run *run,
			  struct fsck_last_cluster *last, xw_blk *from)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const unsigned bits = xw_image_cluster_bits(f->ses.img);
	const xw_blk base = sb->first_data_block, end = run->pblk + run->len - base;
	uint64_t first = (run->pblk - base) >> bits;
	bool shared =
		last->any && bits && last->lcluster == run->lblk >> bits && last->pcluster == first;

	*from = shared ? ((first + 1) << bits) + base : run->pblk;
	first += shared;
	last->any = true;
	last->lcluster = (run->lblk + run->len - 1) >> bits;
	last->pcluster = (end - 1) >> bits;
	return last->pcluster + 1 - first;
}

uint64_t fsck_look_expected_blocks(const struct fsck_look *l)
{
	const struct fsck_map *m = &l->map;
	struct fsck_last_cluster last = {0};
	uint64_t clusters = m->nodes.n + (l->in.file_acl != 0);
	xw_blk from;

	for (size_t i = 0; i < m->runs.n; i++)
		clusters += fsck_clusters_of(l->f, &m->runs.v[i], &last, &from);
	return (clusters << xw_image_cluster_bits(l->f->ses.img)) *
	       (l->f->ses.img->block_size / 512);
}

/* Number of blocks in use past logical block `end`, including map blocks that begin there. */
static uint64_t blocks_from(const struct fsck_map *m, uint64_t end)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->nodes.n; i++)
		n += m->nodes.v[i].lblk >= end;
	for (size_t i = 0; i < m->runs.n; i++)
		if (m->runs.v[i].lblk + m->runs.v[i].len > end)
			n += m->runs.v[i].lblk + m->runs.v[i].len - XW_MAX(m->runs.v[i].lblk, end);
	return n;
}

void fsck_map_cut(struct fsck_map *m, uint64_t end)
{
	struct xw_map_run *last;

	while (m->runs.n && m->runs.v[m->runs.n - 1].lblk >= end)
		m->runs.n--;
	last = m->runs.n ? &m->runs.v[m->runs.n - 1] : NULL;
	if (last)
		last->len = XW_MIN(last->len, end - last->lblk);
}

/* Truncate the map at logical block `end`, with its map blocks. */
static void drop_from(struct fsck_map *m, uint64_t end)
{
	size_t n = 0;

	fsck_map_cut(m, end);
	for (size_t i = 0; i < m->nodes.n; i++)
		if (m->nodes.v[i].lblk < end)
			m->nodes.v[n++] = m->nodes.v[i];
	m->nodes.n = n;
}

/* Report the run that extends past i_size, or the first block past it. */
static bool found_past(struct fsck_look *l, uint64_t end)
{
	const struct fsck_map *m = &l->map;
	xw_blk blk = 0;
	xw_lblk lblk = end;

	for (size_t i = m->nodes.n; i--;)
		if (m->nodes.v[i].lblk >= end) {
			blk = m->nodes.v[i].pblk;
			lblk = m->nodes.v[i].lblk;
		}
	for (size_t i = m->runs.n; i--;) {
		const struct xw_map_run *r = &m->runs.v[i];

		if (r->lblk < end && r->lblk + r->len > end)
			return LOOK_FOUND(l, EXTENT_LONG, .lblk = r->lblk, .num = end);
		if (r->lblk >= end && (!blk || r->lblk < lblk)) {
			blk = r->pblk;
			lblk = r->lblk;
		}
	}
	return LOOK_FOUND(l, BLOCK_PAST_SIZE, .blk = blk, .lblk = lblk);
}

/* Add the pointers of a block map from logical block `end` on to the list of bad entries. */
static int pointers_from(struct fsck_look *l, uint64_t end)
{
	struct xw_walk_map_item i;
	int more = 0, rc = xw_walk_map_begin(&l->walk, l->ino, &l->in, -1);

	while (!rc && (more = xw_walk_map_next(&l->walk, &i)) > 0) {
		const uint64_t before = i.lblk < end ? end - i.lblk : 0;

		if (more == 2)
			continue;
		if (i.kind == XW_WALK_NODE && before)
			continue;
		if (i.kind == XW_WALK_NODE) {
			xw_walk_map_skip(&l->walk);
			i.len = 1;
		}
		i.index += (unsigned)before;
		for (uint64_t n = before; n < i.len && !rc; n++, i.index++)
			rc = xw_vec_push(&l->map.bad, i);
	}
	return rc || more < 0 ? xw_fail_nomem(&l->f->ses.diag, "block map") : 0;
}

/*
 * May the blocks past i_size be newer than i_size, so that they are contents? Without a journal a
 * crash can leave a map block that is newer than the record; pointers in the record itself cannot
 * be. Without checksums an extent that continues past i_size is trusted, as by e2fsck.
 */
static bool may_be_newer(const struct fsck_look *l, uint64_t end)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const struct xw_map_run *last = &l->map.runs.v[l->map.runs.n - 1];

	if (l->in.flags & XW_FL_EXTENTS && !xw_super_has_csum(sb) && last->lblk <= end)
		return true;
	if (sb->feature_compat & XW_COMPAT_HAS_JOURNAL)
		return false;
	for (size_t i = 0; i < l->map.nodes.n; i++)
		if (l->map.nodes.v[i].lblk < end)
			return true;
	return false;
}

/* ---- directories ---- */

/* Is it a valid block of the directory? *names, *used: its names, and those of inodes in use. */
static bool is_leaf(struct fsck_look *l, xw_blk blk, uint8_t *buf, uint64_t *names, uint64_t *used)
{
	struct fsck *f = l->f;
	const bool csum = xw_super_has_csum(&f->ses.img->sb);
	const struct xw_dirblock_area area = {
		.data = buf,
		.size = f->ses.img->block_size,
		.seed = xw_inode_seed(f->ses.img->csum_seed, l->ino, l->in.generation),
		.inodes_count = f->ses.img->sb.inodes_count,
		.csum = csum,
		.filetype = f->ses.img->sb.feature_incompat & XW_INCOMPAT_FILETYPE,
		.any_names = l->in.flags & XW_FL_ENCRYPT};
	auto_free struct xw_dirblock *it = malloc(sizeof(*it));
	struct xw_dirblock_item item;
	struct xw_inode in;
	int kind;

	/* another owner's block, to which a damaged pointer leads */
	if (!it || fsck_is_claimed(f, blk) || fsck_read(f, blk, 1, buf)) {
		xw_diag_clear(&f->ses.diag);
		return false;
	}
	if (l->in.flags & XW_FL_INDEX && xw_dirblock_is_node(buf, area.size))
		return true;
	xw_dirblock_begin(it, &area);
	while ((kind = xw_dirblock_next(it, &item)) == 1) {
		if (item.unused)
			continue;
		if (xw_name_is_dots(item.e.name, item.e.name_len))
			return false; /* the first block of another directory */
		++*names;
		*used += !fsck_inode_read(f, item.e.ino, &in, NULL) && in.links;
	}
	xw_diag_clear(&f->ses.diag);
	return !kind;
}

/*
 * Do the blocks of a directory from logical block `end` on continue it, as valid leaves that name
 * inodes in use? Then its size is damaged, and not the map.
 */
static bool are_leaves(struct fsck_look *l, uint64_t end)
{
	auto_free uint8_t *buf = malloc(l->f->ses.img->block_size);
	uint64_t next = end, names = 0, used = 0;

	for (size_t i = 0; buf && i < l->map.runs.n; i++) {
		const struct xw_map_run *r = &l->map.runs.v[i];

		if (r->lblk + r->len <= end)
			continue;
		if (r->lblk > next || r->unwritten)
			return false;
		for (; next < r->lblk + r->len; next++)
			if (!is_leaf(l, r->pblk + (next - r->lblk), buf, &names, &used))
				return false;
	}
	return names && used > names / 2;
}

/*
 * If i_blocks counts exactly the blocks up to i_size, the length or pointer that leads past i_size
 * is damaged: i_blocks includes valid blocks past i_size, unwritten or of a Merkle tree. Symlinks,
 * EA inodes and reserved inodes are checked elsewhere.
 */
int fsck_look_end_of_map(struct fsck_look *l)
{
	const struct fsck *f = l->f;
	const struct xw_super *sb = &f->ses.img->sb;
	const uint64_t unit = f->ses.img->block_size / 512;
	const uint64_t end = xw_div_up(l->in.size, f->ses.img->block_size);
	const uint64_t beyond = blocks_from(&l->map, end);
	const bool is_content = l->ino == XW_INO_ROOT ||
				(l->ino >= sb->first_ino && !(l->in.flags & XW_FL_EA_INODE) &&
				 (l->type == XW_S_IFREG || l->type == XW_S_IFDIR));
	bool fix;
	int rc = 0;

	if (!beyond || !end || !l->map.runs.n || xw_image_cluster_bits(f->ses.img) || !is_content ||
	    may_be_newer(l, end) ||
	    xw_inode_fs_blocks_512(&l->in, sb) + beyond * unit != fsck_look_expected_blocks(l))
		return 0;
	if (l->type == XW_S_IFDIR && are_leaves(l, end))
		return 0;
	fix = found_past(l, end);
	if (fix && l->in.flags & XW_FL_EXTENTS)
		l->map.damaged = true;
	else if (fix)
		rc = pointers_from(l, end);
	if (fix || f->opts.mode == FSCK_NO)
		drop_from(&l->map, end);
	return rc;
}
