// SPDX-License-Identifier: MIT
/*
 * The map of an inode: walks it and collects the valid part. Illegal entries of a block map are
 * cleared in place; an extent tree with any damage is rewritten from its valid extents.
 */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "facts/hidden.h"
#include "phases/inode_slice.h"
#include "phases/inodes.h"
#include "phases/xattrs.h"

/* ---- findings ---- */

static bool found_in_node(struct fsck_look *l, const struct xw_walk_map_item *i)
{
	struct fsck *f = l->f;

	switch (i->rule) {
	case XW_MAP_MAGIC:
		return FSCK_FOUND(f, EXTENT_HEADER, .ino = l->ino, .blk = i->node);
	case XW_MAP_ENTRIES:
		return FSCK_FOUND(f, EXTENT_ENTRIES, .ino = l->ino, .blk = i->node, .num = i->num,
				  .num2 = i->num2);
	case XW_MAP_DEPTH:
		return FSCK_FOUND(f, EXTENT_DEPTH, .ino = l->ino, .blk = i->node, .num = i->num,
				  .num2 = i->num2);
	case XW_MAP_CSUM:
		return FSCK_FOUND(f, EXTENT_CSUM, .ino = l->ino, .blk = i->node);
	case XW_MAP_EMPTY:
		return FSCK_FOUND(f, EXTENT_EMPTY, .ino = l->ino, .blk = i->node);
	case XW_MAP_READ:
		return FSCK_FOUND(f, MAP_BLOCK_READ, .ino = l->ino, .blk = i->node);
	case XW_MAP_START:
		return FSCK_FOUND(f, EXTENT_START, .ino = l->ino, .blk = i->node, .num = i->num,
				  .num2 = i->num2);
	default:
		return false;
	}
}

static bool found_entry(struct fsck_look *l, const struct xw_walk_map_item *i)
{
	struct fsck *f = l->f;

	switch (i->rule) {
	case XW_MAP_END:
		return FSCK_FOUND(f, EXTENT_END, .ino = l->ino, .lblk = i->lblk, .num = i->len);
	case XW_MAP_LONG:
		return FSCK_FOUND(f, EXTENT_LONG, .ino = l->ino, .lblk = i->lblk, .num = i->num);
	case XW_MAP_PLACE:
		return FSCK_FOUND(f, EXTENT_PLACE, .ino = l->ino, .lblk = i->lblk, .num = i->num);
	case XW_MAP_INDEX:
		return FSCK_FOUND(f, EXTENT_INDEX, .ino = l->ino, .lblk = i->lblk, .blk = i->pblk,
				  .num = i->num);
	case XW_MAP_NODE_RANGE:
		return FSCK_FOUND(f, MAP_BLOCK_RANGE, .ino = l->ino, .lblk = i->lblk,
				  .blk = i->pblk);
	case XW_MAP_RANGE:
		return FSCK_FOUND(f, BLOCK_RANGE, .ino = l->ino, .lblk = i->lblk, .blk = i->pblk,
				  .num = i->len);
	case XW_MAP_LENGTH:
		return FSCK_FOUND(f, EXTENT_LENGTH, .ino = l->ino, .lblk = i->lblk);
	case XW_MAP_ORDER:
		return FSCK_FOUND(f, EXTENT_ORDER, .ino = l->ino, .lblk = i->lblk, .num = i->num);
	case XW_MAP_WRAP:
		return FSCK_FOUND(f, BLOCK_WRAP, .ino = l->ino, .lblk = i->lblk, .num = i->len);
	case XW_MAP_BUDGET:
		return FSCK_FOUND(f, MAP_BUDGET, .ino = l->ino, .lblk = i->lblk);
	default:
		return found_in_node(l, i);
	}
}

/* Repair the map: extent trees are rewritten, pointers of block maps cleared one by one. */
static int note(struct fsck_look *l, const struct xw_walk_map_item *i)
{
	if (l->in.flags & XW_FL_EXTENTS)
		l->map.damaged = true;
	else if (i->rule == XW_MAP_READ)
		return 0; /* its pointer is kept: the medium may become readable again */
	else if (xw_vec_push(&l->map.bad, *i))
		return xw_fail_nomem(&l->f->diag, "block map");
	return 0;
}

/* ---- the walk ---- */

static int node_met(struct fsck_look *l, const struct xw_walk_map_item *i, bool guessed)
{
	struct fsck *f = l->f;
	bool meta, fix;
	uint64_t had;

	if (xw_blockset_add(l->met, i->pblk, 1, &had))
		return xw_fail_nomem(&f->diag, "block map");
	meta = fsck_is_metadata(f, i->pblk, 1);
	if (!had && !fsck_node_is_foreign(f, &l->in, i->pblk))
		return xw_vec_push(&l->map.nodes, *i) ? xw_fail_nomem(&f->diag, "block map") : 0;
	xw_walk_map_skip(&l->walk);
	if (!had)
		xw_blockset_remove(l->met, i->pblk, 1);
	l->map.lost = true;
	if (guessed)
		return 0;
	if (had)
		fix = FSCK_FOUND(f, MAP_BLOCK_TWICE, .ino = l->ino, .blk = i->pblk);
	else if (meta)
		fix = FSCK_FOUND(f, MAP_BLOCK_METADATA, .ino = l->ino, .blk = i->pblk);
	else
		fix = FSCK_FOUND(f, MAP_BLOCK_FOREIGN, .ino = l->ino, .blk = i->pblk,
				 .lblk = i->lblk);
	return fix ? note(l, i) : 0;
}

/* Directories are limited to 2 GiB; with large_dir to the end of the map. */
static bool is_too_big(const struct fsck_look *l, uint64_t end)
{
	return l->type == XW_S_IFDIR && end > (UINT64_C(1) << 31) / l->f->img->block_size &&
	       !(l->f->img->sb.feature_incompat & XW_INCOMPAT_LARGEDIR);
}

static bool is_system(const struct fsck_look *l)
{
	return l->ino < l->f->img->sb.first_ino || fsck_is_hidden_file(l->f, l->ino, &l->in);
}

/* Only files of users may have blocks that read as zeros. */
static bool found_unwritten(struct fsck_look *l, const struct xw_walk_map_item *i)
{
	if (l->type == XW_S_IFDIR)
		return FSCK_FOUND(l->f, DIR_UNWRITTEN, .ino = l->ino, .lblk = i->lblk);
	return is_system(l) && FSCK_FOUND(l->f, SYSTEM_UNWRITTEN, .ino = l->ino, .lblk = i->lblk);
}

static int run_met(struct fsck_look *l, const struct xw_walk_map_item *i, bool guessed)
{
	struct fsck_map *m = &l->map;
	struct xw_map_run run = {i->lblk, i->len, i->pblk, i->unwritten};

	if (i->unwritten && !guessed && found_unwritten(l, i)) {
		run.unwritten = false;
		m->damaged = true;
	}
	if (is_too_big(l, i->lblk + i->len)) {
		m->lost = true;
		return !guessed && FSCK_FOUND(l->f, DIR_TOO_BIG, .ino = l->ino, .lblk = i->lblk,
					      .blk = i->pblk)
			       ? note(l, i)
			       : 0;
	}

	return xw_vec_push(&m->runs, run) ? xw_fail_nomem(&l->f->diag, "block map") : 0;
}

/* An extent that starts in the filesystem and is too long: its length follows from i_size. */
static int clip(struct fsck_look *l, const struct xw_walk_map_item *i)
{
	const uint64_t end = xw_div_up(l->in.size, l->f->img->block_size);
	struct xw_walk_map_item part = *i;

	if (end <= i->lblk || end - i->lblk >= i->len)
		return 0;
	part.len = end - i->lblk;
	if (!xw_image_has_blocks(l->f->img, part.pblk, part.len) ||
	    fsck_is_metadata(l->f, part.pblk, part.len))
		return 0;
	return run_met(l, &part, false);
}

/* -E fragcheck, in the wording of e2fsck. */
static void say_gap(const struct fsck_look *l, const struct xw_walk_map_item *i)
{
	const xw_blk next = l->map.layout.next;

	if (!next || next == i->pblk || (i->kind == XW_WALK_NODE && l->in.flags & XW_FL_EXTENTS))
		return;
	fsck_line(l->f, FSCK_LINE_WANTED, "%6u(%c): expecting %6llu got phys %6llu (blkcnt %lld)",
		  l->ino, l->type == XW_S_IFDIR ? 'd' : 'f', (unsigned long long)next,
		  (unsigned long long)i->pblk,
		  i->kind == XW_WALK_NODE ? -(long long)i->height : (long long)i->lblk);
}

/* Which findings of a walk are reported: what an earlier walk met was reported then. */
enum report { ALL, NONE, ENTRIES_ONLY };

static bool is_reported(enum report report, enum xw_walk_map_rule rule)
{
	return report == ALL || (report == ENTRIES_ONLY && rule == XW_MAP_ENTRIES);
}

/* depth: -1, or the assumed depth of the root */
static int walk(struct fsck_look *l, int depth, enum report report)
{
	struct xw_walk_map_item item;
	int more = 0, rc = xw_walk_map_begin(&l->walk, l->ino, &l->in, depth);

	while (!rc && (more = xw_walk_map_next(&l->walk, &item)) > 0) {
		if (more == 1 && l->f->opts.fragcheck && !l->f->round && report == ALL)
			say_gap(l, &item);
		if (more == 1)
			fsck_layout_add(&l->map.layout, &l->in, &item);
		if (more == 1)
			rc = item.kind == XW_WALK_NODE ? node_met(l, &item, report != ALL)
						       : run_met(l, &item, report != ALL);
		else if (item.rule >= XW_MAP_NODE_RANGE)
			l->map.lost = true;
		if (more == 2 && item.rule == XW_MAP_MAGIC && item.level &&
		    xw_vec_push(&l->map.strange, item.node))
			rc = XW_ERR_NOMEM;
		if (more == 2 && is_reported(report, item.rule) && found_entry(l, &item))
			rc = note(l, &item);
		if (!rc && more == 2 && item.rule == XW_MAP_RANGE && l->map.damaged)
			rc = clip(l, &item);
	}
	l->map.depth = l->walk.depth;
	for (size_t i = 0; i < l->map.nodes.n; i++)
		xw_blockset_remove(l->met, l->map.nodes.v[i].pblk, 1);
	if (more < 0 || rc == XW_ERR_NOMEM)
		return xw_fail_nomem(&l->f->diag, "block map");
	return rc;
}

/* ---- repair of block maps ---- */

static int clear_pointer(struct fsck_look *l, const struct xw_walk_map_item *i)
{
	struct fsck *f = l->f;
	uint8_t *const block = l->walk.nodes; /* unused between walks */
	int rc;

	if (!i->node) {
		memset(l->in.block + (size_t)4 * i->index, 0, 4);
		l->dirty = true;
		return 0;
	}
	rc = fsck_read(f, i->node, 1, block);
	if (rc)
		return rc;
	poke32(block + (size_t)4 * i->index, 0);
	return fsck_write(f, FSCK_O_MAP, i->node, block);
}

/* If the budget was exceeded, every pointer from there on must be cleared. */
static int repair_pointers(struct fsck_look *l)
{
	int rc = 0;

	for (size_t i = 0; i < l->map.bad.n && !rc; i++)
		rc = clear_pointer(l, &l->map.bad.v[i]);
	return rc;
}

void fsck_map_free(struct fsck_map *m)
{
	xw_vec_free(&m->runs);
	xw_vec_free(&m->nodes);
	xw_vec_free(&m->bad);
	xw_vec_free(&m->strange);
}

static void swap_maps(struct fsck_map *a, struct fsck_map *b)
{
	const struct fsck_map was = *a;

	*a = *b;
	*b = was;
}

static void forget(struct fsck_map *m)
{
	m->runs.n = m->nodes.n = m->bad.n = m->strange.n = 0;
	m->wanted = 0;
	m->layout = (struct fsck_layout){0};
}

/* Nothing was found below the root, whose depth may be wrong. */
static int guess_depth(struct fsck_look *l)
{
	int rc = 0;

	for (int depth = 0; depth <= XW_EXT_MAX_DEPTH && !rc && !l->map.runs.n; depth++) {
		forget(&l->map);
		rc = walk(l, depth, NONE);
	}
	if (!l->map.runs.n)
		forget(&l->map);
	return rc;
}

/*
 * A tree deeper than the format allows, with a single entry in each node: the root becomes the
 * parent of the first node below that has a valid depth.
 */
static int shorten(struct fsck_look *l)
{
	struct xw_extent_hdr h = {.entries = 1, .max = XW_EXT_INODE_ENTRIES};
	struct xw_extent_idx e;
	unsigned depth;
	int rc;

	if (!(l->in.flags & XW_FL_EXTENTS))
		return 0;
	rc = xw_walk_map_shorten(&l->walk, l->in.block, &e, &depth);
	if (rc == XW_ERR_NOMEM)
		return xw_fail_nomem(&l->f->diag, "extent tree");
	if (rc < 1 ||
	    !FSCK_FOUND(l->f, EXTENT_DEPTH, .ino = l->ino, .num = depth + 1u, .num2 = depth))
		return rc < 0 ? rc : 0;
	h.depth = (uint16_t)depth;
	xw_extent_hdr_encode(l->in.block, &h);
	xw_extent_idx_encode(l->in.block, 0, &e);
	l->dirty = true;
	return 0;
}

/* The expected number of blocks, and whether i_blocks or i_size gives it. */
struct wanted {
	uint64_t held; /* in units of i_blocks, without values of attributes */
	uint64_t size; /* in blocks; without holes */
	bool by_size;
	bool whole; /* i_blocks counts more than the map, an itree */
};

static uint64_t mapped_blocks(const struct fsck_look *l)
{
	uint64_t blocks = 0;

	for (size_t i = 0; i < l->map.runs.n; i++)
		blocks += l->map.runs.v[i].len;
	return blocks;
}

static bool is_short(const struct fsck_look *l, const struct wanted *w)
{
	return w->by_size ? mapped_blocks(l) < w->size : fsck_look_held(l) < w->held;
}

static bool is_complete(const struct fsck_look *l, const struct wanted *w)
{
	return (!w->by_size || mapped_blocks(l) == w->size) &&
	       (w->whole || fsck_look_held(l) == w->held);
}

/* Walk again, with the entries behind the last ones of nodes of a level. */
static int walk_behind(struct fsck_look *l, unsigned level, const struct wanted *wanted,
		       bool *found)
{
	struct fsck_map *m = &l->map, was = {0};
	int rc;

	swap_maps(m, &was);
	m->damaged = was.damaged;
	l->walk.stale_level = level + 1;
	rc = walk(l, -1, NONE);
	*found = !rc && is_complete(l, wanted);
	if (*found) {
		forget(m);
		m->damaged = m->lost = false;
		rc = walk(l, -1, ENTRIES_ONLY);
	}
	l->walk.stale_level = 0;
	if (rc || !*found || (!m->damaged && l->f->opts.mode != FSCK_NO))
		swap_maps(m, &was);
	fsck_map_free(&was);
	return rc;
}

static int look_behind_levels(struct fsck_look *l, const struct wanted *wanted, bool *found)
{
	const unsigned depth = l->map.depth;
	int rc = 0;

	for (unsigned level = 0; level <= depth && !*found && !rc; level++)
		rc = walk_behind(l, level, wanted, found);
	return rc;
}

/*
 * i_blocks counts blocks that are not in the map. If that is what the entries behind the last ones
 * of a level's nodes map, eh_entries is wrong. It does not tell where it also counts an itree, or
 * where the blocks are in clusters that the map has: there a directory or file without holes is
 * told by its size.
 */
static int look_behind(struct fsck_look *l)
{
	const struct fsck *f = l->f;
	const uint64_t unit = f->img->block_size / 512;
	const uint64_t held = xw_inode_fs_blocks_512(&l->in, &f->img->sb);
	struct wanted w = {.held = held,
			   .size = xw_div_up(l->in.size, f->img->block_size),
			   .whole = l->in.flags & XW_FL_ITREE};
	bool found = false;
	int rc = 0;

	if (!(l->in.flags & XW_FL_EXTENTS))
		return 0;
	if (!w.whole && is_short(l, &w)) {
		w.held -= XW_MIN(fsck_xattr_values(l->f, &l->in, l->raw) * unit, held);
		if (is_short(l, &w))
			rc = look_behind_levels(l, &w, &found);
	}
	w.by_size = w.whole ? l->type == XW_S_IFDIR : xw_image_cluster_bits(f->img) != 0;
	if (!rc && !found && w.by_size && is_short(l, &w))
		rc = look_behind_levels(l, &w, &found);
	return rc;
}

/*
 * With bigalloc Linux accepts extent trees only: a block map becomes a tree with the same runs. If
 * clusters are no larger than blocks, the feature bit may be wrong instead, so the map is kept.
 */
static void check_kind(struct fsck_look *l)
{
	const struct xw_image *img = l->f->img;
	struct fsck_map *m = &l->map;

	if (!xw_image_cluster_bits(img) || l->in.flags & XW_FL_EXTENTS || !m->runs.n ||
	    !(img->sb.feature_incompat & XW_INCOMPAT_EXTENTS) || l->ino == XW_INO_BAD ||
	    !FSCK_FOUND(l->f, BLOCK_MAPPED, .ino = l->ino))
		return;
	m->damaged = true;
	m->bad.n = 0;
}

int fsck_look_map(struct fsck_look *l)
{
	struct fsck_map *m = &l->map;
	int rc;

	forget(m);
	m->damaged = m->lost = false;
	m->depth = 0;
	if (!l->has_map)
		return 0;
	rc = shorten(l);
	if (!rc)
		rc = walk(l, -1, ALL);
	if (!rc)
		rc = look_behind(l);
	if (!rc && m->damaged && !m->runs.n)
		rc = guess_depth(l);
	if (!rc)
		rc = fsck_look_end_of_map(l);
	if (!rc)
		check_kind(l);
	if (!rc && m->damaged)
		rc = fsck_look_rebuild(l);
	return rc ? rc : repair_pointers(l);
}

/* ---- claims ---- */

static enum fsck_owner owner_of(const struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->img->sb;

	if (l->type == XW_S_IFDIR)
		return FSCK_O_DIR;
	if (l->ino == XW_INO_BAD)
		return FSCK_O_BAD;
	return l->ino < sb->first_ino || fsck_is_hidden(sb, l->ino) ? FSCK_O_SYSTEM : FSCK_O_DATA;
}

static int claim_run(struct fsck_look *l, const struct xw_map_run *run,
		     struct fsck_last_cluster *last, uint64_t *clusters, uint64_t *again)
{
	const struct xw_super *sb = &l->f->img->sb;
	const unsigned bits = xw_image_cluster_bits(l->f->img);
	const uint64_t size = UINT64_C(1) << bits,
		       out = run->lblk ^ (run->pblk - sb->first_data_block);
	const xw_blk end = run->pblk + run->len;
	xw_blk from;
	uint64_t n;
	int rc;

	if (out & (size - 1) &&
	    FSCK_FOUND(l->f, CLUSTER, .ino = l->ino, .lblk = run->lblk, .blk = run->pblk) &&
	    xw_vec_push(&l->f->misplaced, l->ino))
		return xw_fail_nomem(&l->f->diag, "misplaced blocks");
	n = fsck_clusters_of(l->f, run, last, &from);
	*clusters += n;
	if (!n)
		return 0;
	rc = fsck_claim(l->f, owner_of(l), from, end - from, &n);
	*again += n;
	return rc;
}

int fsck_look_claim(struct fsck_look *l)
{
	const unsigned bits = xw_image_cluster_bits(l->f->img);
	const struct fsck_map *m = &l->map;
	struct fsck_last_cluster last = {0};
	uint64_t clusters = 0, again = 0, n;
	int rc = 0;

	for (size_t i = 0; i < m->nodes.n && !rc; i++) {
		rc = fsck_claim(l->f, FSCK_O_MAP, m->nodes.v[i].pblk, 1, &n);
		again += n;
		clusters++;
	}
	clusters += m->wanted;
	for (size_t i = 0; i < m->runs.n && !rc; i++)
		rc = claim_run(l, &m->runs.v[i], &last, &clusters, &again);
	l->blocks += clusters << bits;
	if (!rc && again) {
		struct fsck_inode *facts;

		rc = fsck_inode_make(l->f, l->ino, &facts);
		if (!rc)
			facts->flags |= FSCK_I_CONTESTED;
	}
	return rc;
}
