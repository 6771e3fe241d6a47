// SPDX-License-Identifier: MIT
/*
 * Fragmentation of an image: free runs, which may cross group boundaries, from the block bitmaps;
 * extents of files from an inode scan; and the dynamic layout score from a directory tree walk.
 *
 * The layout score (Smith and Seltzer, 1997) is the share of adjacent blocks: of all blocks of
 * files but each file's first, those that follow the previous block of the file on disk. The
 * dynamic layout score (Conway and others, 2017) treats all files as one, in the order of a tree
 * walk that takes names in the order of directory blocks.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "age/run_internal.h"
#include "base/auto.h"
#include "session/recover.h"
#include "read/bitmaps.h"
#include "read/dirs.h"
#include "read/map.h"
#include "fastcommit/fastcommit.h"

#define LOOK 256 /* inodes between two looks at whether the user has had enough */

static unsigned floor_log2(uint64_t n)
{
	return 63 - (unsigned)__builtin_clzll(n);
}

/* ---- free space ---- */

struct space {
	struct xw_age_measure *m;
	const struct xw_image *img;
	uint64_t group;
	xw_blk end; /* the run being merged */
	uint64_t len;
};

static void end_run(struct space *s)
{
	unsigned k;

	if (!s->len)
		return;
	k = XW_MIN(floor_log2(s->len), XW_AGE_ORDERS - 1);
	s->m->free_runs[k]++;
	s->m->free_blocks[k] += s->len;
	s->m->longest_free = XW_MAX(s->m->longest_free, s->len);
	s->m->used -= s->len;
	s->len = 0;
}

/* Split the free run [a, b) of a group into buddies and count them. */
static void add_buddies(struct xw_age_measure *m, uint64_t a, uint64_t b)
{
	while (a < b) {
		unsigned k = floor_log2(b - a);

		if (a)
			k = XW_MIN(k, (unsigned)__builtin_ctzll(a));
		k = XW_MIN(k, XW_SPACE_ORDERS - 1);
		m->buddies[k]++;
		a += UINT64_C(1) << k;
	}
}

static int on_run(void *arg, uint32_t at, uint32_t len)
{
	struct space *s = arg;
	const unsigned bits = xw_image_cluster_bits(s->img);
	const xw_blk start = s->img->sb.first_data_block + s->group * s->img->sb.blocks_per_group +
			     ((xw_blk)at << bits);
	uint32_t *longest = &s->m->group_longest[s->group];

	add_buddies(s->m, at, (uint64_t)at + len);
	*longest = XW_MAX(*longest, len << bits);
	if (!s->len || start != s->end) {
		end_run(s);
		s->end = start;
	}
	s->len += (uint64_t)len << bits;
	s->end += (xw_blk)len << bits;
	return 0;
}

static int measure_space(struct xw_image *img, const struct xw_commit_watch *watch,
			 struct xw_age_measure *m)
{
	struct space s = {.m = m, .img = img};
	struct xw_sysmap *sysmap;
	auto_free uint8_t *bits = malloc(img->block_size);
	int rc = bits ? xw_sysmap_new(img, &sysmap) : xw_fail_nomem(img->diag, "bitmap");

	if (rc)
		return rc;
	m->groups = img->groups;
	m->group_longest = calloc(img->groups, sizeof(*m->group_longest));
	if (!m->group_longest)
		rc = xw_fail_nomem(img->diag, "map of groups");
	for (; s.group < img->groups && !rc; s.group++) {
		rc = xw_commit_check_canceled(watch, img->dev->name, img->diag);
		if (!rc)
			rc = xw_image_free_runs(img, sysmap, s.group, bits, on_run, &s);
	}
	end_run(&s);
	xw_sysmap_free(sysmap);
	return rc;
}

/* ---- files ---- */

struct file {
	uint64_t blocks, extents, joined;
	xw_blk first, end; /* first block, and the one after the last */
};

/* Extents that are adjacent on disk and in the file are counted as one. */
static int read_file(struct xw_image *img, xw_ino ino, const struct xw_inode *in, struct file *f,
		     uint64_t *walk_joined, xw_blk *walk_end)
{
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	xw_blk end = 0;
	int rc = xw_map_begin(img, ino, in, 0, &it);

	*f = (struct file){0};
	while (!rc && (rc = xw_map_next(&it, &run)) > 0) {
		rc = 0;
		f->joined += run.len - 1 + (f->blocks && run.pblk == end);
		f->extents += !f->blocks || run.pblk != end;
		if (!f->blocks)
			f->first = run.pblk;
		f->blocks += run.len;
		end = run.pblk + run.len;
	}
	if (f->blocks && walk_end) {
		*walk_joined += f->joined + (*walk_end && f->first == *walk_end);
		*walk_end = end;
	}
	return rc;
}

static int count_inode(struct xw_image *img, xw_ino ino, const struct xw_inode *in,
		       struct xw_age_measure *m)
{
	struct file f;
	int rc;

	if ((in->mode & XW_S_IFMT) == XW_S_IFDIR) {
		m->indexes += (in->flags & XW_FL_INDEX) != 0;
		m->itrees += (in->flags & XW_FL_ITREE) != 0;
		return 0;
	}
	if ((in->mode & XW_S_IFMT) != XW_S_IFREG || !xw_inode_has_map(in) ||
	    in->flags & XW_FL_EA_INODE)
		return 0;
	rc = read_file(img, ino, in, &f, NULL, NULL);
	if (rc || !f.blocks)
		return rc;
	m->files++;
	m->extents += f.extents;
	m->joints += f.blocks - 1;
	m->joined += f.joined;
	m->files_of[XW_MIN(floor_log2(f.extents), XW_AGE_ORDERS - 1)]++;
	return 0;
}

static int measure_files(struct xw_image *img, const struct xw_commit_watch *watch,
			 struct xw_age_measure *m)
{
	auto_end(xw_inode_scan_end) struct xw_inode_scan s;
	const uint8_t *raw;
	struct xw_inode in;
	xw_ino ino;
	int rc = xw_inode_scan_begin(img, 0, img->groups, &s);

	while (!rc && (rc = xw_inode_scan_next(&s, &ino, &raw)) > 0) {
		rc = 0;
		if (!xw_inode_decode(raw, &img->sb, &in) && in.links && !in.dtime &&
		    (ino >= img->sb.first_ino || ino == XW_INO_ROOT))
			rc = count_inode(img, ino, &in, m);
		if (!rc && ino % LOOK == 0)
			rc = xw_commit_check_canceled(watch, img->dev->name, img->diag);
	}
	return rc;
}

/* ---- the walk ---- */

struct walk {
	struct xw_image *img;
	struct xw_age_measure *m;
	XW_VEC(xw_ino) dirs; /* stack of directories to read */
	XW_VEC(xw_ino) found; /* subdirectories of the current directory */
	uint64_t left; /* limit of directories to read, in case of a loop in the tree */
	uint64_t blocks;
	xw_blk end;
};

static int visit(struct walk *w, xw_ino ino)
{
	struct xw_inode in;
	struct file f = {0};
	int rc = xw_image_inode(w->img, ino, &in, NULL);

	if (rc)
		return rc;
	if ((in.mode & XW_S_IFMT) == XW_S_IFDIR)
		return xw_vec_push(&w->found, ino) ? xw_fail_nomem(w->img->diag, "walk") : 0;
	if ((in.mode & XW_S_IFMT) == XW_S_IFREG && xw_inode_has_map(&in))
		rc = read_file(w->img, ino, &in, &f, &w->m->walk_joined, &w->end);
	w->blocks += f.blocks;
	return rc;
}

static int read_dir(struct walk *w, xw_ino dir)
{
	auto_free uint8_t *raw = malloc(w->img->inode_size);
	auto_end(xw_dir_end) struct xw_dir_iter it = {0};
	struct xw_dirent e;
	struct xw_inode in;
	int rc = raw ? xw_image_inode(w->img, dir, &in, raw) : xw_fail_nomem(w->img->diag, "walk");

	if (!rc)
		rc = xw_dir_begin(w->img, dir, &in, raw, &it);
	while (!rc && (rc = xw_dir_next(&it, &e, NULL)) > 0)
		rc = xw_name_is_dots(e.name, e.name_len) ? 0 : visit(w, e.ino);
	while (!rc && w->found.n)
		if (xw_vec_push(&w->dirs, w->found.v[--w->found.n]))
			return xw_fail_nomem(w->img->diag, "walk");
	return rc;
}

static int measure_walk(struct xw_image *img, const struct xw_commit_watch *watch,
			struct xw_age_measure *m)
{
	struct walk w = {.img = img, .m = m, .left = img->sb.inodes_count};
	int rc = xw_vec_push(&w.dirs, XW_INO_ROOT) ? xw_fail_nomem(img->diag, "walk") : 0;

	while (!rc && w.dirs.n && w.left--) {
		rc = xw_commit_check_canceled(watch, img->dev->name, img->diag);
		if (!rc)
			rc = read_dir(&w, w.dirs.v[--w.dirs.n]);
	}
	if (w.blocks)
		m->walk_joints = w.blocks - 1;
	xw_vec_free(&w.dirs);
	xw_vec_free(&w.found);
	return rc;
}

/* ---- all of it ---- */

static int measure_image(struct xw_image *img, const struct xw_commit_watch *watch, bool files,
			 bool walk, struct xw_age_measure *m)
{
	int rc;

	m->block_size = img->block_size;
	m->blocks = m->used = img->sb.blocks_count;
	rc = measure_space(img, watch, m);
	if (!rc && files)
		rc = measure_files(img, watch, m);
	if (!rc && walk)
		rc = measure_walk(img, watch, m);
	return rc;
}

static int measure(const char *path, const struct xw_age_opts *o, bool files, bool walk,
		   struct xw_diag *diag, struct xw_age_measure *m)
{
	struct xw_recover_info info = {0};
	struct xw_image *img = NULL;
	struct xw_dev *dev = NULL;
	int rc;

	*m = (struct xw_age_measure){0};
	rc = xw_recover_read(path, o->redo_file ? o->redo_file : o->redo_dir, o->offset, diag, &dev,
			     &info);
	m->pending = info.redo_applied;
	if (!rc)
		rc = xw_image_open(dev, 0, diag, &img);
	if (!rc)
		rc = measure_image(img, o->watch, files, walk, m);
	xw_image_close(img);
	if (dev)
		xw_dev_close(dev);
	return rc;
}

int xw_age_measure_some(const char *path, const struct xw_age_opts *o, bool files,
			struct xw_diag *diag, struct xw_age_measure *m)
{
	return measure(path, o, files, false, diag, m);
}

int xw_age_measure_image(const char *path, const struct xw_age_opts *o, struct xw_diag *diag,
			 struct xw_age_measure *m)
{
	return measure(path, o, true, true, diag, m);
}

void xw_age_measure_free(struct xw_age_measure *m)
{
	free(m->group_longest);
	m->group_longest = NULL;
}

static uint32_t score(uint64_t joined, uint64_t joints)
{
	return joints ? (uint32_t)((unsigned __int128)joined * XW_AGE_ONE / joints) : XW_AGE_ONE;
}

uint32_t xw_age_layout(const struct xw_age_measure *m)
{
	return score(m->joined, m->joints);
}

uint32_t xw_age_walk_layout(const struct xw_age_measure *m)
{
	return score(m->walk_joined, m->walk_joints);
}
