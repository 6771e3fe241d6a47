// SPDX-License-Identifier: MIT
/*
 * The quick check of a slice of an inode table, in its own thread: finds the records that are free,
 * those that are in use and certainly valid, and those that need the thorough check of inodes.c.
 *
 * Anything unusual makes a record doubtful: the quick check reports nothing, and writes nothing but
 * the facts of accepted records. The thorough check must never find damage in an accepted record.
 * Directories are always doubtful, since their blocks must be listed.
 */
#include "config.h"

#include <string.h>

#include "base/bytes.h"
#include "disk/dirent.h"
#include "disk/xattrblk.h"
#include "phases/inode_slice.h"

#define NODES_MAX 64
#define RUNS_HELD 4096 /* runs that a slice collects before it claims them */

/* Flags that a checker ignores. */
#define PLAIN_FLAGS                                                                                \
	(XW_FL_SECRM | XW_FL_UNRM | XW_FL_SYNC | XW_FL_NODUMP | XW_FL_NOATIME | XW_FL_NOCOMPR |    \
	 XW_FL_JOURNAL_DATA | XW_FL_NOTAIL | XW_FL_DIRSYNC | XW_FL_DAX | XW_FL_PROJINHERIT |       \
	 XW_FL_IMMUTABLE | XW_FL_APPEND)

struct quick {
	struct fsck_slice *s;
	const struct xw_image *img;
	struct xw_inode in;
	xw_ino ino;
	uint16_t type;
};

static bool has_xattrs(const struct quick *q, const uint8_t *raw)
{
	const unsigned off = xw_inode_xattr_off(&q->in, &q->img->sb);

	return q->in.file_acl || (off && xw_xattr_magic(raw + off));
}

static bool is_plain(struct quick *q, const uint8_t *raw)
{
	const struct xw_super *sb = &q->img->sb;
	const struct xw_inode *in = &q->in;
	uint32_t flags = PLAIN_FLAGS;

	if (xw_inode_decode(raw, sb, &q->in) || !in->links || in->dtime || in->faddr ||
	    in->stray_acl_hi || in->stray_blocks_hi || in->stray_size_hi ||
	    xw_inode_has_late_time(in) || xw_inode_verify(raw, sb, q->img->csum_seed, q->ino) ||
	    has_xattrs(q, raw))
		return false;
	q->type = in->mode & XW_S_IFMT;
	if (sb->feature_incompat & XW_INCOMPAT_EXTENTS)
		flags |= XW_FL_EXTENTS;
	return !(in->flags & ~flags);
}

/* ---- contents ---- */

struct mapped {
	uint64_t blocks, end, written_end;
	struct fsck_layout layout;
	unsigned nodes, depth;
};

/* Walk the map and add its blocks to the slice's runs and nodes. False: doubtful. */
static bool walk(struct quick *q, struct mapped *m)
{
	struct fsck_slice *s = q->s;
	struct xw_walk_map_item item;
	xw_blk nodes[NODES_MAX];
	int more;

	*m = (struct mapped){0};
	if (xw_walk_map_begin(&s->walk, q->ino, &q->in, -1))
		return false;
	while ((more = xw_walk_map_next(&s->walk, &item)) == 1) {
		if (item.kind == XW_WALK_RUN ? fsck_slice_run(s, item.pblk, item.len)
					     : xw_vec_push(&s->nodes, item.pblk))
			return false;
		fsck_layout_add(&m->layout, &q->in, &item);
		if (item.kind == XW_WALK_NODE) {
			for (unsigned i = 0; i < m->nodes; i++)
				if (nodes[i] == item.pblk)
					return false;
			if (m->nodes == NODES_MAX || fsck_is_metadata(s->f, item.pblk, 1))
				return false;
			nodes[m->nodes++] = item.pblk;
			m->blocks++;
			continue;
		}
		m->end = item.lblk + item.len;
		if (!item.unwritten)
			m->written_end = m->end;
		m->blocks += item.len;
	}
	m->depth = s->walk.depth;
	return !more;
}

static bool has_blocks(const struct quick *q, uint64_t blocks)
{
	return xw_inode_fs_blocks_512(&q->in, &q->img->sb) == blocks * (q->img->block_size / 512);
}

static bool accept_file(struct quick *q)
{
	const uint64_t bs = q->img->block_size;
	struct xw_extent_hdr h;
	struct mapped m;

	/* A block map that could be an extent header is doubtful. */
	if (!(q->in.flags & XW_FL_EXTENTS) && xw_extent_hdr_peek(q->in.block, &h))
		return false;
	if (!walk(q, &m) || !has_blocks(q, m.blocks))
		return false;
	if (m.end && q->in.size < (m.written_end ? m.written_end - 1 : 0) * bs)
		return false;
	if (q->in.size > INT32_MAX) {
		if (!(q->in.flags & XW_FL_EXTENTS) || q->in.size >= bs << 32)
			return false;
		q->s->counts.large_files++;
	}
	q->s->counts.regular++;
	q->s->counts.links += q->in.links - 1u;
	q->s->counts.fragmented += fsck_is_fragmented(&m.layout, m.blocks, q->img);
	if (!(q->in.flags & XW_FL_EXTENTS))
		fsck_count_indirect(&q->s->counts, &q->in);
	else if (m.depth < XW_ARRAY_SIZE(q->s->counts.by_depth))
		q->s->counts.by_depth[m.depth]++;
	return true;
}

static bool accept_symlink(struct quick *q)
{
	if (q->in.flags & (XW_FL_EXTENTS | XW_FL_IMMUTABLE | XW_FL_APPEND) || !q->in.size ||
	    q->in.size >= sizeof(q->in.block) || !has_blocks(q, 0) ||
	    strnlen((const char *)q->in.block, sizeof(q->in.block)) != q->in.size)
		return false;
	q->s->counts.links += q->in.links - 1u;
	q->s->counts.symlinks++;
	q->s->counts.fast_symlinks++;
	return true;
}

static bool accept_special(struct quick *q)
{
	if (q->in.flags & (XW_FL_EXTENTS | XW_FL_IMMUTABLE | XW_FL_APPEND) || q->in.size ||
	    !has_blocks(q, 0) || !xw_all_zero(q->in.block + 16, sizeof(q->in.block) - 16))
		return false;
	q->s->counts.links += q->in.links - 1u;
	q->s->counts.char_devices += q->type == XW_S_IFCHR;
	q->s->counts.block_devices += q->type == XW_S_IFBLK;
	q->s->counts.fifos += q->type == XW_S_IFIFO;
	q->s->counts.sockets += q->type == XW_S_IFSOCK;
	return true;
}

static bool accept(struct quick *q, const uint8_t *raw)
{
	if (!is_plain(q, raw))
		return false;
	switch (q->type) {
	case XW_S_IFREG:
		return accept_file(q);
	case XW_S_IFLNK:
		return accept_symlink(q);
	case XW_S_IFCHR:
	case XW_S_IFBLK:
	case XW_S_IFIFO:
	case XW_S_IFSOCK:
		return accept_special(q);
	default:
		return false;
	}
}

/* Was the record never used, or deleted properly? */
static bool is_free(const struct xw_image *img, xw_ino ino, const uint8_t *raw)
{
	const struct xw_super *sb = &img->sb;
	struct xw_inode in;

	if (xw_all_zero(raw, img->inode_size))
		return true;
	if (xw_inode_raw_links(raw) || xw_inode_verify(raw, sb, img->csum_seed, ino))
		return false;
	if (!xw_inode_raw_mode(raw) && !xw_inode_raw_dtime(raw))
		return true;
	xw_inode_decode(raw, sb, &in);
	return !in.links && in.dtime && !xw_inode_dtime_is_link(in.dtime, sb);
}

/*
 * Claim the collected runs if there are at least `least`. The order in which inodes claim blocks
 * does not matter: metadata was claimed before, and the owners of contested blocks are found later.
 */
static int claim(struct fsck_slice *s, size_t least)
{
	int rc = 0;

	if (s->runs.n < least)
		return 0;
	pthread_mutex_lock(s->claiming);
	for (size_t i = 0; i < s->runs.n && !rc; i++)
		rc = fsck_claim(s->f, FSCK_O_DATA, s->runs.v[i].start, s->runs.v[i].len, NULL);
	for (size_t i = 0; i < s->nodes.n && !rc; i++)
		rc = fsck_claim(s->f, FSCK_O_MAP, s->nodes.v[i], 1, NULL);
	pthread_mutex_unlock(s->claiming);
	s->runs.n = s->nodes.n = 0;
	return rc;
}

int fsck_slice_check(void *arg, size_t i)
{
	struct fsck_slice *s = &((struct fsck_slice *)arg)[i];
	const struct xw_image *img = s->f->ses.img;
	struct quick q = {.s = s, .img = img};
	int rc = xw_dev_pread(s->f->ses.dev, s->raw, (size_t)s->count * img->inode_size, s->off);

	for (uint32_t n = 0; n < s->count && !rc; n++) {
		const uint8_t *raw = s->raw + (size_t)n * img->inode_size;
		struct fsck_inode *facts = &s->facts[n];
		const size_t runs = s->runs.n, nodes = s->nodes.n;
		const uint64_t len = runs ? s->runs.v[runs - 1].len : 0;

		q.ino = s->ino + n;
		if (!facts->flags && q.ino >= s->first_ino && is_free(img, q.ino, raw))
			continue;
		if (!s->thorough && !facts->flags && q.ino >= s->first_ino &&
		    !fsck_is_hidden(&img->sb, q.ino) && !xw_numbers_has(s->suspects, q.ino) &&
		    accept(&q, raw)) {
			facts->links = q.in.links;
			facts->ftype = (uint8_t)xw_ftype_of_mode(q.in.mode);
			facts->flags = FSCK_I_USED;
			s->counts.files++;
			rc = claim(s, RUNS_HELD);
			continue;
		}
		s->runs.n = runs;
		s->nodes.n = nodes;
		if (runs)
			s->runs.v[runs - 1].len = len;
		rc = xw_vec_push(&s->doubtful, n);
	}
	return rc ? rc : claim(s, 1);
}
