// SPDX-License-Identifier: MIT
/*
 * Walks the map of an inode and collects the valid part. Invalid pointers of a block map are
 * cleared in place; an extent tree with any damage is rewritten from its valid extents.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "disk/extent.h"
#include "facts/hidden.h"
#include "phases/inode_slice.h"
#include "phases/inodes.h"
#include "phases/xattrs.h"

/* ---- findings ---- */

/* Report what the walk has found. */
static bool found(struct fsck_look *l, const struct xw_walk_map_item *i)
{
	enum { NODE = 1, LBLK = 2, PBLK = 4, NUM = 8, NUM2 = 16, LEN = 32 };
	static const struct {
		enum fsck_id id;
		unsigned has; /* members of the item that belong to the finding */
	} rules[] = {
		[XW_MAP_MAGIC] = {FSCK_EXTENT_HEADER, NODE},
		[XW_MAP_ENTRIES] = {FSCK_EXTENT_ENTRIES, NODE | NUM | NUM2},
		[XW_MAP_DEPTH] = {FSCK_EXTENT_DEPTH, NODE | NUM | NUM2},
		[XW_MAP_CSUM] = {FSCK_EXTENT_CSUM, NODE},
		[XW_MAP_EMPTY] = {FSCK_EXTENT_EMPTY, NODE},
		[XW_MAP_READ] = {FSCK_MAP_BLOCK_READ, NODE},
		[XW_MAP_START] = {FSCK_EXTENT_START, NODE | NUM | NUM2},
		[XW_MAP_END] = {FSCK_EXTENT_END, LBLK | LEN},
		[XW_MAP_LONG] = {FSCK_EXTENT_LONG, LBLK | NUM},
		[XW_MAP_PLACE] = {FSCK_EXTENT_PLACE, LBLK | NUM},
		[XW_MAP_INDEX] = {FSCK_EXTENT_INDEX, LBLK | PBLK | NUM},
		[XW_MAP_NODE_RANGE] = {FSCK_MAP_BLOCK_RANGE, LBLK | PBLK},
		[XW_MAP_RANGE] = {FSCK_BLOCK_RANGE, LBLK | PBLK | LEN},
		[XW_MAP_LENGTH] = {FSCK_EXTENT_LENGTH, LBLK},
		[XW_MAP_ORDER] = {FSCK_EXTENT_ORDER, LBLK | NUM},
		[XW_MAP_WRAP] = {FSCK_BLOCK_WRAP, LBLK | LEN},
		[XW_MAP_BUDGET] = {FSCK_MAP_BUDGET, LBLK},
	};
	const unsigned has = rules[i->rule].has;
	const struct fsck_about about = {
		.id = rules[i->rule].id,
		.ino = l->ino,
		.blk = has & NODE   ? i->node
		       : has & PBLK ? i->pblk
				    : 0,
		.lblk = has & LBLK ? i->lblk : 0,
		.num = has & NUM   ? i->num
		       : has & LEN ? i->len
				   : 0,
		.num2 = has & NUM2 ? i->num2 : 0,
	};

	return fsck_found(l->f, &about);
}

/* Schedule a repair: the extent tree is rewritten, or the pointer of the block map is cleared. */
static int note(struct fsck_look *l, const struct xw_walk_map_item *i)
{
	if (l->in.flags & XW_FL_EXTENTS)
		l->map.damaged = true;
	else if (i->rule == XW_MAP_READ)
		return 0; /* keep the pointer: the block may become readable again */
	else if (xw_vec_push(&l->map.bad, *i))
		return xw_fail_nomem(&l->f->ses.diag, "block map");
	return 0;
}

/* ---- the walk ---- */

/*
 * Is the block, which is in an inode table or other group metadata, a valid node of this extent
 * tree? What it maps is kept, and the tree is rewritten elsewhere.
 */
static bool is_misplaced_node(struct fsck_look *l, const struct xw_walk_map_item *i)
{
	struct fsck *f = l->f;
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *node = malloc(bs);
	struct xw_extent_hdr h;

	if (!node || !(l->in.flags & XW_FL_EXTENTS) || fsck_read(f, i->pblk, 1, node)) {
		xw_diag_clear(&f->ses.diag);
		return false;
	}
	return xw_extent_hdr_peek(node, &h) && h.entries && h.entries <= h.max &&
	       (h.max + 1u) * XW_EXT_HDR <= bs && h.depth + 1u == i->height &&
	       (!xw_super_has_csum(&f->ses.img->sb) ||
		!xw_extent_block_verify(
			node, bs, xw_inode_seed(f->ses.img->csum_seed, l->ino, l->in.generation)));
}

static int on_node(struct fsck_look *l, const struct xw_walk_map_item *i, bool guessed)
{
	struct fsck *f = l->f;
	bool meta, fix;
	uint64_t had;

	if (xw_blockset_add(l->met, i->pblk, 1, &had))
		return xw_fail_nomem(&f->ses.diag, "block map");
	meta = fsck_is_metadata(f, i->pblk, 1);
	if (!had && !fsck_node_is_foreign(f, &l->in, i->pblk))
		return xw_vec_push(&l->map.nodes, *i) ? xw_fail_nomem(&f->ses.diag, "block map")
						      : 0;
	if (!had && meta && !guessed && is_misplaced_node(l, i))
		return LOOK_FOUND(l, MAP_BLOCK_METADATA, .blk = i->pblk) ? note(l, i) : 0;
	xw_walk_map_skip(&l->walk);
	if (!had)
		xw_blockset_remove(l->met, i->pblk, 1);
	l->map.lost = true;
	if (guessed)
		return 0;
	if (had)
		fix = LOOK_FOUND(l, MAP_BLOCK_TWICE, .blk = i->pblk);
	else if (meta)
		fix = LOOK_FOUND(l, MAP_BLOCK_METADATA, .blk = i->pblk);
	else
		fix = LOOK_FOUND(l, MAP_BLOCK_FOREIGN, .blk = i->pblk, .lblk = i->lblk);
	return fix ? note(l, i) : 0;
}

/* Only files of users may have unwritten extents. */
static bool found_unwritten(struct fsck_look *l, const struct xw_walk_map_item *i)
{
	if (l->type == XW_S_IFDIR)
		return LOOK_FOUND(l, DIR_UNWRITTEN, .lblk = i->lblk);
	return (l->ino < l->f->ses.img->sb.first_ino ||
		fsck_is_hidden_file(l->f, l->ino, &l->in)) &&
	       LOOK_FOUND(l, SYSTEM_UNWRITTEN, .lblk = i->lblk);
}

static int on_run(struct fsck_look *l, const struct xw_walk_map_item *i, bool guessed)
{
	struct fsck_map *m = &l->map;
	struct xw_map_run run = {i->lblk, i->len, i->pblk, i->unwritten};

	if (i->unwritten && !guessed && found_unwritten(l, i)) {
		run.unwritten = false;
		m->damaged = true;
	}
	/* Directories are limited to 2 GiB; with large_dir only by the map. */
	if (l->type == XW_S_IFDIR && !(l->f->ses.img->sb.feature_incompat & XW_INCOMPAT_LARGEDIR) &&
	    i->lblk + i->len > (UINT64_C(1) << 31) / l->f->ses.img->block_size) {
		m->lost = true;
		return !guessed && LOOK_FOUND(l, DIR_TOO_BIG, .lblk = i->lblk, .blk = i->pblk)
			       ? note(l, i)
			       : 0;
	}

	return xw_vec_push(&m->runs, run) ? xw_fail_nomem(&l->f->ses.diag, "block map") : 0;
}

/* Keep the part up to i_size of an extent that extends past the end of the filesystem. */
static int clip(struct fsck_look *l, const struct xw_walk_map_item *i)
{
	const uint64_t end = xw_div_up(l->in.size, l->f->ses.img->block_size);
	struct xw_walk_map_item part = *i;

	if (end <= i->lblk || end - i->lblk >= i->len)
		return 0;
	part.len = end - i->lblk;
	if (!xw_image_has_blocks(l->f->ses.img, part.pblk, part.len) ||
	    fsck_is_metadata(l->f, part.pblk, part.len))
		return 0;
	return on_run(l, &part, false);
}

/* -E fragcheck: print a discontinuity, in the wording of e2fsck. */
static void report_gap(const struct fsck_look *l, const struct xw_walk_map_item *i)
{
	const xw_blk next = l->map.layout.next;

	if (!next || next == i->pblk || (i->kind == XW_WALK_NODE && l->in.flags & XW_FL_EXTENTS))
		return;
	fsck_line(l->f, FSCK_LINE_WANTED, "%6u(%c): expecting %6llu got phys %6llu (blkcnt %lld)",
		  l->ino, l->type == XW_S_IFDIR ? 'd' : 'f', (unsigned long long)next,
		  (unsigned long long)i->pblk,
		  i->kind == XW_WALK_NODE ? -(long long)i->height : (long long)i->lblk);
}

/* Which findings of a walk are reported: those of an earlier walk must not be repeated. */
enum report { ALL, NONE, ENTRIES_ONLY };

/* depth: the assumed depth of the root, or -1. */
static int walk(struct fsck_look *l, int depth, enum report report)
{
	struct xw_walk_map_item item;
	int more = 0, rc = xw_walk_map_begin(&l->walk, l->ino, &l->in, depth);

	while (!rc && (more = xw_walk_map_next(&l->walk, &item)) > 0) {
		if (more == 1 && l->f->opts.fragcheck && !l->f->round.number && report == ALL)
			report_gap(l, &item);
		if (more == 1)
			fsck_layout_add(&l->map.layout, &l->in, &item);
		if (more == 1)
			rc = item.kind == XW_WALK_NODE ? on_node(l, &item, report != ALL)
						       : on_run(l, &item, report != ALL);
		else if (item.rule >= XW_MAP_NODE_RANGE)
			l->map.lost = true;
		if (more == 2 && item.rule == XW_MAP_MAGIC && item.level &&
		    xw_vec_push(&l->map.strange, item.node))
			rc = XW_ERR_NOMEM;
		if (more == 2 &&
		    (report == ALL || (report == ENTRIES_ONLY && item.rule == XW_MAP_ENTRIES)) &&
		    found(l, &item))
			rc = note(l, &item);
		if (!rc && more == 2 && item.rule == XW_MAP_RANGE && l->map.damaged)
			rc = clip(l, &item);
	}
	l->map.depth = l->walk.depth;
	for (size_t i = 0; i < l->map.nodes.n; i++)
		xw_blockset_remove(l->met, l->map.nodes.v[i].pblk, 1);
	if (more < 0 || rc == XW_ERR_NOMEM)
		return xw_fail_nomem(&l->f->ses.diag, "block map");
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

/* No run was found: try all depths, as that in the root may be wrong. */
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
 * Repair a tree that is deeper than the format allows and whose nodes have one entry each: point
 * the root to the first node with a valid depth.
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
		return xw_fail_nomem(&l->f->ses.diag, "extent tree");
	if (rc < 1 || !LOOK_REPAIR(l, EXTENT_DEPTH, .num = depth + 1u, .num2 = depth))
		return rc < 0 ? rc : 0;
	h.depth = (uint16_t)depth;
	xw_extent_hdr_encode(l->in.block, &h);
	xw_extent_idx_encode(l->in.block, 0, &e);
	return 0;
}

/* The expected number of blocks: according to i_blocks, or with by_size to i_size. */
struct wanted {
	uint64_t held; /* in units of i_blocks, without values in EA inodes */
	uint64_t size; /* in blocks, if there are no holes */
	bool by_size;
	bool itree; /* i_blocks includes an itree */
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
	return w->by_size ? mapped_blocks(l) < w->size : fsck_look_expected_blocks(l) < w->held;
}

static bool is_complete(const struct fsck_look *l, const struct wanted *w)
{
	return (!w->by_size || mapped_blocks(l) == w->size) &&
	       (w->itree || fsck_look_expected_blocks(l) == w->held);
}

/*
 * Walk again, including the stale entries after the last ones of all nodes of a level. *found: the
 * map is complete with them.
 */
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

static int walk_behind_levels(struct fsck_look *l, const struct wanted *wanted, bool *found)
{
	const unsigned depth = l->map.depth;
	int rc = 0;

	for (unsigned level = 0; level <= depth && !*found && !rc; level++)
		rc = walk_behind(l, level, wanted, found);
	return rc;
}

/*
 * Find nodes with a wrong eh_entries. If i_blocks counts more blocks than the map has, and the
 * stale entries in the nodes of one level map exactly the missing ones, these entries are valid.
 * With an itree or with bigalloc i_blocks proves nothing; the size of a directory or file without
 * holes is used instead.
 */
static int search_behind(struct fsck_look *l)
{
	const struct fsck *f = l->f;
	const uint64_t unit = f->ses.img->block_size / 512;
	const uint64_t held = xw_inode_fs_blocks_512(&l->in, &f->ses.img->sb);
	struct wanted w = {.held = held,
			   .size = xw_div_up(l->in.size, f->ses.img->block_size),
			   .itree = l->in.flags & XW_FL_ITREE};
	bool is_found = false;
	int rc = 0;

	if (!(l->in.flags & XW_FL_EXTENTS))
		return 0;
	if (!w.itree && is_short(l, &w)) {
		w.held -= XW_MIN(fsck_xattr_values(l->f, &l->in, l->raw) * unit, held);
		if (is_short(l, &w))
			rc = walk_behind_levels(l, &w, &is_found);
	}
	w.by_size = w.itree ? l->type == XW_S_IFDIR : xw_image_cluster_bits(f->ses.img) != 0;
	if (!rc && !is_found && w.by_size && is_short(l, &w))
		rc = walk_behind_levels(l, &w, &is_found);
	return rc;
}

/*
 * With bigalloc Linux accepts extent trees only: convert a block map to a tree with the same runs.
 * If clusters are no larger than blocks, the feature bit may be wrong instead: keep the map.
 */
static void check_kind(struct fsck_look *l)
{
	const struct xw_image *img = l->f->ses.img;
	struct fsck_map *m = &l->map;

	if (!xw_image_cluster_bits(img) || l->in.flags & XW_FL_EXTENTS || !m->runs.n ||
	    !(img->sb.feature_incompat & XW_INCOMPAT_EXTENTS) || l->ino == XW_INO_BAD ||
	    !LOOK_FOUND(l, BLOCK_MAPPED))
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
		rc = search_behind(l);
	if (!rc && m->damaged && !m->runs.n)
		rc = guess_depth(l);
	if (!rc)
		rc = fsck_look_end_of_map(l);
	if (!rc)
		check_kind(l);
	if (!rc && m->damaged)
		rc = fsck_look_rebuild(l);
	for (size_t i = 0; i < m->bad.n && !rc; i++)
		rc = clear_pointer(l, &m->bad.v[i]);
	return rc;
}

/* ---- claims ---- */

static enum fsck_owner owner_of(const struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;

	if (l->type == XW_S_IFDIR)
		return FSCK_O_DIR;
	if (l->ino == XW_INO_BAD)
		return FSCK_O_BAD;
	return l->ino < sb->first_ino || fsck_is_hidden(sb, l->ino) ? FSCK_O_SYSTEM : FSCK_O_DATA;
}

static int claim_run(struct fsck_look *l, const struct xw_map_run *run,
		     struct fsck_last_cluster *last, uint64_t *clusters, uint64_t *again)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const unsigned bits = xw_image_cluster_bits(l->f->ses.img);
	const uint64_t size = UINT64_C(1) << bits,
		       out = run->lblk ^ (run->pblk - sb->first_data_block);
	const xw_blk end = run->pblk + run->len;
	xw_blk from;
	uint64_t n;
	int rc;

	if (out & (size - 1) && LOOK_FOUND(l, CLUSTER, .lblk = run->lblk, .blk = run->pblk) &&
	    xw_vec_push(&l->f->facts.misplaced, l->ino))
		return xw_fail_nomem(&l->f->ses.diag, "misplaced blocks");
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
	const unsigned bits = xw_image_cluster_bits(l->f->ses.img);
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
