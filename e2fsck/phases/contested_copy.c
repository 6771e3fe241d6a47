// SPDX-License-Identifier: MIT
/*
 * Clones contested blocks, with their contents before any repair. If a block cannot belong to the
 * directory that maps it, the directory gets no copy: its pointer is dropped.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "edit/edit.h"
#include "walk/dirblock.h"

#include "phases/contested.h"
#include "phases/dirs.h"

enum { TRIES = 16 };

struct mover {
	struct fsck_contest *c;
	struct xw_update *u;
	struct xw_update_map *to; /* the new map */
	XW_VEC(struct xw_run)
	failed; /* clusters that could not be written to; released at the end */
	bool write_failed; /* the last error was one of writing */
	uint64_t lcluster; /* logical cluster that was copied last */
	xw_blk fresh; /* first block of its copy; 0: none yet */
	xw_ino ino;
	uint32_t seed; /* of the inode's checksums */
	bool dir, any_names; /* a directory; an encrypted one, whose names may have any bytes */
};

/*
 * Read blocks into c->copy. With -c, -l and -L files are moved away from bad blocks, and unreadable
 * blocks are replaced by zeros. Otherwise an unreadable block may be intact on the medium: fail.
 */
static int read_part(struct mover *m, xw_blk from, uint64_t n)
{
	const struct fsck_contest *c = m->c;
	const uint64_t bs = m->c->f->ses.img->block_size;

	for (uint64_t i = 0; i < n; i++) {
		const int rc = fsck_contest_read(c, from + i, c->copy + i * bs);

		if (!rc)
			continue;
		if (rc != XW_ERR_IO || (!c->f->opts.bad_test && !c->f->opts.bad_file))
			return rc;
		memset(c->copy + i * bs, 0, bs);
		xw_log(&c->f->ses.diag, XW_LOG_WARN, "block %llu cannot be read: its copy is zeros",
		       (unsigned long long)(from + i));
		xw_diag_clear(&c->f->ses.diag);
	}
	return 0;
}

/* Is it a block of a directory whose checksums have this seed: index node, index root or leaf? */
static bool verifies(const struct xw_image *img, const uint8_t *block, uint32_t seed)
{
	const uint32_t bs = img->block_size;

	if (xw_dirblock_is_node(block, bs) &&
	    !xw_dx_block_verify(block, bs, XW_DX_NODE_ENTRIES, seed))
		return true;
	if (fsck_dir_is_root(block, bs) && !xw_dx_block_verify(block, bs, XW_DX_ROOT_ENTRIES, seed))
		return true;
	return xw_dir_has_tail(block, bs) && !xw_dir_block_verify(block, bs, seed);
}

/* Does the block, by its checksum, belong to another directory that claims it? */
static bool is_of_another(const struct mover *m, xw_blk blk, const uint8_t *block)
{
	const struct fsck_contest *c = m->c;
	const uint64_t cluster = fsck_contest_cluster(c, blk);
	struct xw_inode in;

	for (size_t i = 0; i < c->claims.n; i++) {
		const struct claim *v = &c->claims.v[i];

		if (v->ino && v->ino != m->ino && cluster >= v->first &&
		    cluster - v->first < v->len && !fsck_inode_read(c->f, v->ino, &in, NULL) &&
		    (in.mode & XW_S_IFMT) == XW_S_IFDIR &&
		    verifies(c->f->ses.img, block, xw_image_inode_seed(c->f->ses.img, v->ino, &in)))
			return true;
	}
	return false;
}

/*
 * Are all entries of the block valid, with "." in block 0 only, where it names this directory?
 * 1: yes. XW_ERR_NOMEM.
 */
static int is_leaf(const struct mover *m, xw_lblk lblk, const uint8_t *block)
{
	const struct xw_image *img = m->c->f->ses.img;
	const struct xw_dirblock_area area = {
		.data = block,
		.size = img->block_size,
		.inodes_count = img->sb.inodes_count,
		.filetype = img->sb.feature_incompat & XW_INCOMPAT_FILETYPE,
		.any_names = m->any_names,
	};
	auto_free struct xw_dirblock *it = malloc(sizeof(*it));
	struct xw_dirblock_item item;
	int kind;

	if (!it)
		return xw_fail_nomem(&m->c->f->ses.diag, "directory");
	xw_dirblock_begin(it, &area);
	while ((kind = xw_dirblock_next(it, &item)) == 1)
		if (!item.unused && item.e.name_len == 1 && item.e.name[0] == '.' &&
		    (lblk || item.e.ino != m->ino))
			return 0;
	return !kind;
}

/*
 * Can the block in c->copy, read from blk, belong to this directory? A wrong checksum alone proves
 * nothing, as the block may be damaged, unless it is right for another owner. 1: yes. XW_ERR_NOMEM.
 */
static int is_of_directory(const struct mover *m, xw_lblk lblk, xw_blk blk)
{
	const struct xw_image *img = m->c->f->ses.img;
	const uint8_t *block = m->c->copy;
	struct xw_dirent dot;
	int leaf;

	xw_dirent_peek(block, &dot);
	if (!lblk && dot.ino == m->ino)
		return 1;
	if (xw_super_has_csum(&img->sb) && verifies(img, block, m->seed))
		return 1;
	leaf = is_leaf(m, lblk, block);
	return leaf > 0 && xw_super_has_csum(&img->sb) ? !is_of_another(m, blk, block) : leaf;
}

/* Copy a part of an extent, which lies in one cluster, to the new cluster. */
static int copy_part(struct mover *m, struct xw_map_run part)
{
	const struct fsck_contest *c = m->c;
	const uint64_t bs = m->c->f->ses.img->block_size;
	const xw_blk from = part.pblk;
	int rc, own = 1;

	part.pblk = m->fresh + (part.lblk & ((UINT64_C(1) << c->bits) - 1));
	rc = read_part(m, from, part.len);
	/* A directory keeps its first block, without entries if the block is not its own. */
	if (!rc && m->dir)
		own = is_of_directory(m, part.lblk, from);
	if (!own)
		memset(c->copy, 0, bs);
	rc = own < 0 ? own : rc;
	if (!rc) {
		rc = fsck_contest_write(m->c, m->u, m->ino, part.pblk, part.len);
		m->write_failed = rc == XW_ERR_IO;
	}
	return rc ? rc : xw_update_map_add(m->u, m->to, part);
}

/* Copy to a newly allocated cluster; to another one if it cannot be written to. */
static int copy_to_new(struct mover *m, const struct xw_map_run *part)
{
	const uint64_t size = UINT64_C(1) << m->c->bits;
	const struct xw_alloc_req req = {.goal = part->pblk, .len = size};
	struct xw_run run;
	int rc;

	do {
		rc = xw_space_alloc(m->u->space, &req, &run);
		if (rc)
			return rc;
		m->fresh = run.start;
		m->lcluster = part->lblk >> m->c->bits;
		m->write_failed = false;
		rc = copy_part(m, *part);
		if (!rc || !m->write_failed || m->failed.n == TRIES)
			return rc;
		xw_log(&m->c->f->ses.diag, XW_LOG_WARN,
		       "block %llu cannot be written: another one is used",
		       (unsigned long long)m->fresh);
		xw_diag_clear(&m->c->f->ses.diag);
	} while (!xw_vec_push(&m->failed, run));
	return xw_fail_nomem(&m->c->f->ses.diag, "contested blocks");
}

static int move_part(struct mover *m, struct xw_map_run part)
{
	const struct fsck_contest *c = m->c;
	const uint64_t cluster = fsck_contest_cluster(c, part.pblk), size = UINT64_C(1) << c->bits;
	const bool shared = fsck_contest_shared(c, cluster);
	int rc;

	if (m->fresh && c->bits && m->lcluster == part.lblk >> c->bits)
		return copy_part(m, part);
	m->fresh = 0;
	if (shared && m->dir && part.lblk) {
		rc = read_part(m, part.pblk, part.len);
		if (rc || !is_of_directory(m, part.lblk, part.pblk))
			return rc;
	}
	if (!shared && !((part.lblk ^ (part.pblk - c->base)) & (size - 1)))
		return xw_update_map_add(m->u, m->to, part);
	return copy_to_new(m, &part);
}

static int move_runs(struct mover *m, const struct xw_update_map *from)
{
	const struct fsck_contest *c = m->c;
	const uint64_t size = UINT64_C(1) << c->bits;
	int rc = 0;

	for (size_t i = 0; i < from->e.n && !rc; i++) {
		const struct xw_extent *e = &from->e.v[i];

		for (uint64_t at = 0; at < e->len && !rc;) {
			const xw_blk pblk = e->pblk + at;
			const uint64_t left = size - ((pblk - c->base) & (size - 1));
			const uint64_t lleft = size - ((e->lblk + at) & (size - 1));
			const uint64_t n = XW_MIN(XW_MIN(left, lleft), e->len - at);

			rc = move_part(m, (struct xw_map_run){e->lblk + at, n, pblk, e->unwritten});
			at += n;
		}
	}
	return rc;
}

/* Map blocks with other owners must not be freed with the old map: remove them from its list. */
static void keep_shared_nodes(const struct fsck_contest *c, struct xw_update_map *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->nodes.n; i++)
		if (!fsck_contest_shared(c, fsck_contest_cluster(c, m->nodes.v[i])))
			m->nodes.v[n++] = m->nodes.v[i];
	m->nodes.n = n;
}

/* Read the map with the tolerant walk. i_blocks is corrected in the next round. */
static int read_map(struct fsck_contest *c, struct xw_update *u, xw_ino ino,
		    const struct xw_inode *in, struct xw_update_map *m)
{
	struct xw_walk_map_item item;
	int more = 0, rc = xw_walk_map_begin(&c->walk, ino, in, -1);

	while (!rc && (more = xw_walk_map_next(&c->walk, &item)) > 0) {
		if (more == 2)
			continue;
		if (item.kind == XW_WALK_RUN)
			rc = xw_update_map_add(u, m,
					       (struct xw_map_run){item.lblk, item.len, item.pblk,
								   item.unwritten});
		else if (fsck_node_is_foreign(c->f, in, item.pblk))
			xw_walk_map_skip(&c->walk);
		else if (xw_vec_push(&m->nodes, item.pblk))
			rc = XW_ERR_NOMEM;
	}
	m->other = in->file_acl ? UINT64_C(1) << c->bits : 0;
	return rc || more >= 0 ? rc : more;
}

static void describe(struct mover *m, xw_ino ino, const struct xw_inode *in)
{
	m->ino = ino;
	m->seed = xw_image_inode_seed(m->c->f->ses.img, ino, in);
	m->dir = (in->mode & XW_S_IFMT) == XW_S_IFDIR && !m->c->bits;
	m->any_names = in->flags & XW_FL_ENCRYPT;
}

int fsck_contest_foreign(struct fsck_contest *c, xw_ino ino, bool *foreign)
{
	struct mover m = {.c = c};
	struct xw_walk_map_item item;
	struct xw_inode in;
	int more = 0, rc = fsck_inode_read(c->f, ino, &in, NULL);

	*foreign = false;
	if (rc || !xw_inode_has_map(&in))
		return rc;
	describe(&m, ino, &in);
	rc = xw_walk_map_begin(&c->walk, ino, &in, -1);
	while (!rc && m.dir && !*foreign && (more = xw_walk_map_next(&c->walk, &item)) > 0) {
		if (more == 1 && item.kind == XW_WALK_NODE &&
		    fsck_node_is_foreign(c->f, &in, item.pblk))
			xw_walk_map_skip(&c->walk);
		if (more == 2 || item.kind != XW_WALK_RUN)
			continue;
		for (uint64_t i = 0; i < item.len && !rc && !*foreign; i++) {
			if (!fsck_contest_shared(c, fsck_contest_cluster(c, item.pblk + i)))
				continue;
			rc = read_part(&m, item.pblk + i, 1);
			*foreign = !rc && !is_of_directory(&m, item.lblk + i, item.pblk + i);
		}
	}
	return rc || more >= 0 ? rc : xw_fail_nomem(&c->f->ses.diag, "contested blocks");
}

int fsck_contest_move(struct fsck_contest *c, struct xw_update *u, xw_ino ino)
{
	auto_end(xw_update_map_end) struct xw_update_map from = {0};
	auto_end(xw_update_map_end) struct xw_update_map to = {0};
	struct mover m = {.c = c, .u = u, .to = &to};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	if (rc)
		return rc;
	describe(&m, ino, &in);
	if (in.flags & XW_FL_ITREE && m.dir) /* its block numbers change: rebuild it later */
		rc = fsck_push_itree(c->f, ino);
	in.flags &= ~XW_FL_ITREE;
	if (!rc)
		rc = read_map(c, u, ino, &in, &from);
	if (!rc)
		rc = move_runs(&m, &from);
	for (size_t i = 0; i < m.failed.n; i++)
		(void)xw_space_release(u->space, m.failed.v[i].start, m.failed.v[i].len);
	xw_vec_free(&m.failed);
	if (rc)
		return rc;
	keep_shared_nodes(c, &from);
	free(from.e.v);
	from.e.v = to.e.v;
	from.e.n = to.e.n;
	from.e.cap = to.e.cap;
	memset(&to.e, 0, sizeof(to.e));
	rc = xw_update_map_write(u, ino, &in, &from);
	return rc ? rc : xw_update_put(u, ino, &in, steal(raw));
}
