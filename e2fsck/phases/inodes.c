// SPDX-License-Identifier: MIT
/*
 * Checks every inode record. Slices of the inode tables are read and checked in parallel; doubtful
 * records in use are then checked thoroughly, one by one and in order.
 *
 * As in the kernel, records that a descriptor with a valid checksum calls unused are skipped.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/pool.h"
#include "disk/dirent.h"

#include "facts/counts.h"
#include "phases/inode_slice.h"
#include "phases/inodes.h"
#include "phases/xattrs.h"

enum { SLICE_BYTES = 512 << 10, SLICES = 8, HOLES_MAX = 16 };

int fsck_look_begin(struct fsck *f, struct fsck_look *l)
{
	*l = (struct fsck_look){.f = f, .raw = malloc(f->ses.img->inode_size)};
	xw_walk_map_init(&l->walk, f->ses.img->dev, &f->ses.img->sb);
	l->walk.full_room = l->walk.outvote = true;
	l->walk.find = fsck_look_find_node;
	l->walk.find_arg = l;
	if (!l->raw || xw_blockset_new(f->ses.img->sb.blocks_count, &l->met))
		return xw_fail_nomem(&f->ses.diag, "inodes");
	return 0;
}

void fsck_look_end(struct fsck_look *l)
{
	xw_walk_map_free(&l->walk);
	xw_blockset_free(l->met);
	fsck_map_free(&l->map);
	xw_table_free(&l->former.suspects);
	xw_table_free(&l->former.named);
	xw_vec_free(&l->found);
	free(l->raw);
	l->raw = NULL;
	l->met = NULL;
}

/* ---- facts ---- */

static int add_dirblock(struct fsck_look *l, xw_blk pblk, xw_lblk lblk)
{
	const struct fsck_dirblock b = {pblk, lblk, (uint32_t)(l->f->facts.dirs.n - 1)};

	return xw_vec_push(&l->f->facts.dirblocks, b)
		       ? xw_fail_nomem(&l->f->ses.diag, "directories")
		       : 0;
}

/* Add a directory and its blocks, but only the first few blocks of a long hole. */
static int add_dir(struct fsck_look *l)
{
	struct fsck *f = l->f;
	const struct fsck_dir dir = {
		.ino = l->ino,
		.indexed = l->in.flags & XW_FL_INDEX,
		.generation = l->in.generation,
		.is_inline = l->in.flags & XW_FL_INLINE_DATA,
		.itree = l->in.flags & XW_FL_ITREE &&
			 (f->ses.img->sb.feature_ro_compat & XW_RO_ITREE ||
			  fsck_itree_feature(f, l->ino, &l->in)),
	};
	uint64_t next = 0;
	int rc = xw_vec_push(&f->facts.dirs, dir) ? xw_fail_nomem(&f->ses.diag, "directories") : 0;

	for (size_t i = 0; i < l->map.runs.n && !rc; i++) {
		const struct xw_map_run *run = &l->map.runs.v[i];

		for (uint64_t n = next; n < run->lblk && n < next + HOLES_MAX && !rc; n++)
			rc = add_dirblock(l, 0, n);
		f->facts.dir_runs += run->len;
		if (f->facts.dir_runs > f->ses.img->sb.blocks_count) {
			f->facts.dirs_cut = true;
			break;
		}
		for (uint64_t n = 0; n < run->len && !rc; n++)
			rc = add_dirblock(l, run->pblk + n, run->lblk + n);
		next = run->lblk + run->len;
	}
	return rc;
}

static void count(struct fsck_look *l, bool is_system)
{
	const bool tree = l->has_map && l->in.flags & XW_FL_EXTENTS;
	struct fsck_counts *c = &l->f->facts.counts;

	fsck_count_inode(c, &l->in, tree ? (int)l->map.depth : -1, l->has_map,
			 l->ino != XW_INO_BAD &&
				 fsck_is_fragmented(&l->map.layout, l->blocks, l->f->ses.img),
			 is_system);
	c->ea_inodes += (l->in.flags & XW_FL_EA_INODE) != 0;
	if (l->ino == XW_INO_BAD)
		for (size_t i = 0; i < l->map.runs.n; i++)
			c->bad_blocks += l->map.runs.v[i].len;
	if (l->ino == XW_INO_RESIZE) /* counted like an ordinary file, as by e2fsck(8) */
		c->large_files += l->in.size > INT32_MAX;
}

static int add_facts(struct fsck_look *l)
{
	struct fsck *f = l->f;
	const struct xw_super *sb = &f->ses.img->sb;
	struct fsck_inode *facts;
	int rc = fsck_inode_make(f, l->ino, &facts);

	if (rc)
		return rc;
	facts->links = l->in.links;
	facts->ftype = (uint8_t)xw_ftype_of_mode(l->in.mode);
	facts->flags |= FSCK_I_USED;
	if (l->in.flags & XW_FL_EA_INODE)
		facts->flags |= FSCK_I_EA;
	if (l->in.flags & XW_FL_ENCRYPT)
		facts->flags |= FSCK_I_ENCRYPT;
	if (l->in.flags & XW_FL_CASEFOLD)
		facts->flags |= FSCK_I_CASEFOLD;
	if ((l->ino != XW_INO_ROOT && l->ino < sb->first_ino) ||
	    fsck_is_hidden_file(f, l->ino, &l->in))
		facts->flags |= FSCK_I_SYSTEM;
	count(l, facts->flags & FSCK_I_SYSTEM);
	return l->type == XW_S_IFDIR ? add_dir(l) : 0;
}

/* ---- one inode ---- */

static bool has_map(const struct fsck_look *l)
{
	/* The bad-block inode is the only reserved inode without a type that has a map. */
	if (!l->type && l->ino < l->f->ses.img->sb.first_ino && l->ino != XW_INO_BAD)
		return false;
	if (l->type == XW_S_IFLNK)
		return !(l->in.flags & XW_FL_INLINE_DATA) && !fsck_look_is_fast(l);
	return xw_inode_has_map(&l->in) && l->ino != XW_INO_RESIZE;
}

/* Reserved inodes, hidden files and EA inodes are in use, whatever their link count. */
static bool in_use(const struct fsck_look *l)
{
	const struct fsck_inode *facts = fsck_inode(l->f, l->ino);

	if (l->in.links || (facts && facts->flags & FSCK_I_ORPHAN))
		return true;
	return l->ino < l->f->ses.img->sb.first_ino || l->ino == l->f->ses.img->sb.journal_inum ||
	       fsck_is_hidden_file(l->f, l->ino, &l->in) || fsck_is_ea_inode(l->f, l->ino, &l->in);
}

/* Check the record of a free inode. */
static int examine_free(struct fsck_look *l)
{
	struct fsck *f = l->f;
	const struct xw_super *sb = &f->ses.img->sb;
	const uint32_t dtime = l->in.dtime;
	bool fix = false;

	if (l->in.mode && !dtime)
		fix = LOOK_FOUND(l, DTIME_ZERO);
	else if (xw_inode_dtime_is_link(dtime, sb))
		fix = LOOK_FOUND(l, ORPHAN_LINK, .num = dtime);
	if (fix)
		l->in.dtime = xw_inode_dtime(f->opts.now, sb);
	else if (xw_inode_verify(l->raw, sb, f->ses.img->csum_seed, l->ino))
		fix = LOOK_FOUND(l, INODE_CSUM);
	return fix ? fsck_inode_write(f, l->ino, &l->in, l->raw) : 0;
}

/*
 * Remove blocks of an EA inode past its size, which the hash of the value proves: otherwise the
 * check of i_size would enlarge it.
 */
static int cut_ea_tail(struct fsck_look *l)
{
	const uint64_t end = xw_div_up(l->in.size, l->f->ses.img->block_size);
	struct fsck_map *m = &l->map;
	const struct xw_map_run *last = m->runs.n ? &m->runs.v[m->runs.n - 1] : NULL;

	if (!last || last->lblk + last->len <= end || !(l->in.flags & XW_FL_EXTENTS) ||
	    !fsck_is_ea_inode(l->f, l->ino, &l->in) ||
	    !LOOK_FOUND(l, EA_INODE_TAIL, .num = last->lblk + last->len - end))
		return 0;
	fsck_map_cut(m, end);
	return fsck_look_rebuild(l);
}

static int check_contents(struct fsck_look *l)
{
	bool dirty = false;
	int rc;

	l->has_map = has_map(l);
	rc = fsck_look_map(l);
	if (!rc && l->in.flags & XW_FL_EA_INODE)
		rc = cut_ea_tail(l);
	if (!rc)
		rc = fsck_xattr_inode(l->f, l->ino, &l->in, l->raw, &dirty, &l->blocks);
	l->dirty |= dirty;
	if (!rc)
		rc = fsck_look_encrypted(l);
	if (!rc && l->type == XW_S_IFLNK)
		rc = fsck_look_symlink(l);
	if (rc)
		return rc;
	/* A directory must have a block, or its entries in the inode. */
	if (l->type == XW_S_IFDIR && !(l->in.flags & XW_FL_INLINE_DATA) && !l->map.runs.n)
		l->clear = LOOK_FOUND(l, DIR_EMPTY);
	if (l->clear)
		return 0;
	rc = fsck_look_claim(l);
	if (!rc)
		fsck_look_size(l);
	return rc;
}

int fsck_look_at(struct fsck_look *l, xw_ino ino, const uint8_t *raw)
{
	struct fsck *f = l->f;
	int rc = 0;

	l->ino = ino;
	l->blocks = 0;
	l->dirty = l->clear = l->condemned = l->has_map = false;
	memcpy(l->raw, raw, f->ses.img->inode_size);
	xw_inode_decode(l->raw, &f->ses.img->sb, &l->in);
	if (!in_use(l))
		return examine_free(l);
	l->wrong_sum = xw_inode_verify(raw, &f->ses.img->sb, f->ses.img->csum_seed, ino) != 0;
	rc = fsck_look_moved(l);
	if (rc || f->round.again)
		return rc;
	if (fsck_is_former(l)) {
		if (LOOK_FOUND(l, INODE_FORMER))
			return fsck_inode_clear(f, ino);
		if (f->opts.mode == FSCK_NO || f->ses.stop)
			return 0;
	}
	fsck_look_garbage(l);
	if (l->condemned)
		return 0;
	if (!l->clear) {
		fsck_look_inline_flag(l);
		fsck_look_record(l);
	}
	if (!l->clear)
		rc = fsck_look_flags(l);
	if (!rc && !l->clear && l->type == XW_S_IFDIR)
		l->dirty |= fsck_itree_flags(f, ino, &l->in);
	if (!rc && !l->clear)
		rc = check_contents(l);
	if (rc)
		return rc;
	if (l->clear)
		return fsck_inode_clear(f, ino);
	if (l->dirty)
		rc = fsck_inode_write(f, ino, &l->in, l->raw);
	if (!rc)
		rc = add_facts(l);
	return rc ? rc : fsck_quota_add(f, ino, &l->in);
}

/* ---- all of them ---- */

/* The slices that are checked in parallel, and the position of the next slice. */
struct scan {
	struct fsck *f;
	struct fsck_look look;
	struct xw_pool *pool;
	struct fsck_slice *slices;
	size_t n, max; /* number of filled slices; of all slices */
	pthread_mutex_t claiming; /* see struct fsck_slice */
	uint64_t group, groups;
	uint32_t index, count; /* in the group: next record; their number, or 0: not started yet */
	xw_blk table;
	bool thorough;
};

static int scan_begin(struct fsck *f, struct scan *s)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const unsigned size = f->ses.img->inode_size;
	const uint64_t table = (uint64_t)sb->inodes_per_group * size;
	const size_t slice_bytes = XW_MAX((size_t)XW_MIN(SLICE_BYTES, table), size);
	int rc;

	*s = (struct scan){.f = f,
			   .groups = xw_image_groups_here(f->ses.img),
			   .pool = xw_pool_new(fsck_jobs(f))};
	/*
	 * The quick check cannot handle clusters that one inode claims by several runs, and it
	 * counts no quota.
	 */
	s->thorough = sb->feature_ro_compat & (XW_RO_BIGALLOC | XW_RO_QUOTA) || f->opts.fragcheck;
	pthread_mutex_init(&s->claiming, NULL);
	rc = fsck_look_begin(f, &s->look);
	if (rc || !s->pool)
		return xw_fail_nomem(&f->ses.diag, "inode tables");
	s->max = XW_MIN((size_t)SLICES * xw_pool_jobs(s->pool),
			XW_MAX(xw_div_up(table, SLICE_BYTES) * s->groups, 1u));
	s->slices = calloc(s->max, sizeof(*s->slices));
	if (!s->slices)
		return xw_fail_nomem(&f->ses.diag, "inode tables");
	for (size_t i = 0; i < s->max; i++) {
		struct fsck_slice *slice = &s->slices[i];

		slice->f = f;
		slice->claiming = &s->claiming;
		slice->suspects = &s->look.former.suspects;
		slice->thorough = s->thorough;
		slice->first_ino = XW_MAX(sb->first_ino, XW_INO_FIRST);
		slice->raw = malloc(slice_bytes);
		xw_walk_map_init(&slice->walk, f->ses.img->dev, &f->ses.img->sb);
		slice->walk.full_room = true;
		if (!slice->raw)
			return xw_fail_nomem(&f->ses.diag, "inode tables");
	}
	return 0;
}

static void scan_end(struct scan *s)
{
	for (size_t i = 0; s->slices && i < s->max; i++) {
		xw_walk_map_free(&s->slices[i].walk);
		xw_vec_free(&s->slices[i].runs);
		xw_vec_free(&s->slices[i].nodes);
		xw_vec_free(&s->slices[i].doubtful);
		free(s->slices[i].raw);
	}
	free(s->slices);
	pthread_mutex_destroy(&s->claiming);
	xw_pool_free(s->pool);
	fsck_look_end(&s->look);
}

/* Start s->group. It is skipped without an inode table, which the super phase has reported. */
static int enter_group(struct scan *s)
{
	struct fsck *f = s->f;
	struct xw_group_desc gd;
	const int rc = xw_image_group(f->ses.img, s->group, &gd);

	s->index = s->count = 0;
	if (rc || !xw_image_has_blocks(f->ses.img, gd.inode_table, f->ses.img->itable_blocks)) {
		xw_diag_clear(&f->ses.diag);
		return rc == XW_ERR_NOMEM ? rc : 0;
	}
	s->table = gd.inode_table;
	s->count = fsck_records_of(f, s->group, &gd);
	return 0;
}

/* Fill as many slices as possible from the current position on. */
static int fill_slices(struct scan *s)
{
	struct fsck *f = s->f;
	const struct xw_image *img = f->ses.img;
	const uint32_t most = XW_MAX(SLICE_BYTES / img->inode_size, 1u);
	int rc = 0;

	for (s->n = 0; s->n < s->max && s->group < s->groups && !rc;) {
		struct fsck_slice *slice = &s->slices[s->n];

		if (!s->count)
			rc = enter_group(s);
		if (rc || s->index == s->count) {
			s->group++;
			s->count = s->index = 0;
			continue;
		}
		slice->ino = (xw_ino)(s->group * img->sb.inodes_per_group + s->index + 1);
		slice->off = s->table * img->block_size + (uint64_t)s->index * img->inode_size;
		slice->count = XW_MIN(most, s->count - s->index);
		slice->runs.n = slice->nodes.n = slice->doubtful.n = 0;
		slice->counts = (struct fsck_counts){0};
		rc = fsck_inode_make(f, slice->ino, &slice->facts);
		s->index += slice->count;
		s->n++;
		if (s->index == s->count) {
			s->group++;
			s->count = s->index = 0;
		}
	}
	return rc;
}

/* Add the counts of a slice, and check its doubtful records. */
static int check_doubtful(struct scan *s, const struct fsck_slice *slice)
{
	struct fsck *f = s->f;
	int rc = 0;

	fsck_counts_add(&f->facts.counts, &slice->counts);
	for (size_t i = 0; i < slice->doubtful.n && !rc && !f->ses.stop && !f->round.again; i++) {
		const uint32_t n = slice->doubtful.v[i];

		rc = fsck_look_at(&s->look, slice->ino + n,
				  slice->raw + (size_t)n * f->ses.img->inode_size);
	}
	return rc;
}

static int scan_all(struct scan *s)
{
	struct fsck *f = s->f;
	int rc = 0;

	while (!rc && s->group < s->groups && !f->ses.stop && !f->round.again) {
		rc = fill_slices(s);
		if (!rc)
			rc = xw_pool_for(s->pool, s->n, 1, fsck_slice_check, s->slices);
		if (rc && !f->ses.diag.code)
			rc = xw_fail(&f->ses.diag, rc, "%s: cannot read the inode tables",
				     f->opts.image);
		for (size_t i = 0; i < s->n && !rc && !f->ses.stop; i++)
			rc = check_doubtful(s, &s->slices[i]);
		fsck_progress(f, s->group, s->groups);
	}
	return rc;
}

/* Files of 2 GiB and more require a feature. */
static int check_large_files(struct fsck *f)
{
	struct xw_super *sb = &f->ses.img->sb;

	if (!f->facts.counts.large_files || sb->feature_ro_compat & XW_RO_LARGE_FILE ||
	    !FSCK_FOUND(f, LARGE_FILE))
		return 0;
	sb->feature_ro_compat |= XW_RO_LARGE_FILE;
	if (!sb->rev_level)
		sb->rev_level = 1;
	return fsck_super_write(f);
}

int fsck_check_inodes(struct fsck *f)
{
	struct scan s;
	int rc = fsck_claim_metadata(f);

	if (!rc)
		rc = fsck_claim_special(f);
	if (rc)
		return rc;
	rc = scan_begin(f, &s);
	if (!rc)
		rc = fsck_find_former(&s.look);
	if (!rc)
		rc = scan_all(&s);
	scan_end(&s);
	return rc || f->ses.stop || f->round.again ? rc : check_large_files(f);
}
