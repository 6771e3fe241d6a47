// SPDX-License-Identifier: MIT
/*
 * Every inode record: the tables are read in runs, and what is in use is looked at one by one.
 *
 * Records behind those that a descriptor with a valid checksum calls used are passed over, as the
 * kernel does.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "disk/dirent.h"
#include "inodes.h"

enum { RUN_BYTES = 1 << 20, HOLES_MAX = 16 };

int fsck_look_begin(struct fsck *f, struct fsck_look *l)
{
	*l = (struct fsck_look){.f = f, .raw = malloc(f->img->inode_size)};
	xw_walk_map_init(&l->walk, f->img);
	if (!l->raw || xw_blockset_new(f->img->sb.blocks_count, &l->met))
		return xw_fail_nomem(&f->diag, "inodes");
	return 0;
}

void fsck_look_end(struct fsck_look *l)
{
	xw_walk_map_free(&l->walk);
	xw_blockset_free(l->met);
	xw_vec_free(&l->map.runs);
	xw_vec_free(&l->map.nodes);
	xw_vec_free(&l->map.bad);
	free(l->raw);
	l->raw = NULL;
	l->met = NULL;
}

/* ---- facts ---- */

static int add_dirblock(struct fsck_look *l, xw_blk pblk, xw_lblk lblk)
{
	const struct fsck_dirblock b = {pblk, lblk, (uint32_t)(l->f->dirs.n - 1)};

	return xw_vec_push(&l->f->dirblocks, b) ? xw_fail_nomem(&l->f->diag, "directories") : 0;
}

/* A directory and its blocks; of a long hole only the first few. */
static int add_dir(struct fsck_look *l)
{
	struct fsck *f = l->f;
	const struct fsck_dir dir = {
		.ino = l->ino,
		.indexed = l->in.flags & XW_FL_INDEX,
		.generation = l->in.generation,
		.is_inline = l->in.flags & XW_FL_INLINE_DATA,
		.itree = l->in.flags & XW_FL_ITREE && f->img->sb.feature_ro_compat & XW_RO_ITREE,
	};
	uint64_t next = 0;
	int rc = xw_vec_push(&f->dirs, dir) ? xw_fail_nomem(&f->diag, "directories") : 0;

	for (size_t i = 0; i < l->map.runs.n && !rc; i++) {
		const struct xw_map_run *run = &l->map.runs.v[i];

		for (uint64_t n = next; n < run->lblk && n < next + HOLES_MAX && !rc; n++)
			rc = add_dirblock(l, 0, n);
		for (uint64_t n = 0; n < run->len && !rc; n++)
			rc = add_dirblock(l, run->pblk + n, run->lblk + n);
		next = run->lblk + run->len;
	}
	return rc;
}

static void count_type(struct fsck_look *l)
{
	struct fsck_counts *c = &l->f->counts;

	switch (l->type) {
	case XW_S_IFDIR:
		c->dirs++;
		break;
	case XW_S_IFREG:
		c->regular++;
		c->large_files += l->in.size > INT32_MAX;
		break;
	case XW_S_IFLNK:
		c->symlinks++;
		c->fast_symlinks += !l->has_map;
		break;
	case XW_S_IFCHR:
	case XW_S_IFBLK:
		c->devices++;
		break;
	case XW_S_IFIFO:
		c->fifos++;
		break;
	case XW_S_IFSOCK:
		c->sockets++;
		break;
	default:
		break;
	}
	c->files++;
	c->fragmented += l->map.runs.n > 1;
	c->inline_files += !!(l->in.flags & XW_FL_INLINE_DATA);
	if (l->has_map && l->in.flags & XW_FL_EXTENTS && l->map.depth < XW_ARRAY_SIZE(c->by_depth))
		c->by_depth[l->map.depth]++;
}

static int add_facts(struct fsck_look *l)
{
	struct fsck *f = l->f;
	const struct xw_super *sb = &f->img->sb;
	struct fsck_inode *facts;
	int rc = fsck_inode_make(f, l->ino, &facts);

	if (rc)
		return rc;
	facts->links = l->in.links;
	facts->ftype = (uint8_t)xw_ftype_of_mode(l->in.mode);
	facts->flags |= FSCK_I_USED;
	if (l->in.flags & XW_FL_EA_INODE && sb->feature_incompat & XW_INCOMPAT_EA_INODE)
		facts->flags |= FSCK_I_EA;
	if (l->in.flags & XW_FL_ENCRYPT)
		facts->flags |= FSCK_I_ENCRYPT;
	if (l->in.flags & XW_FL_CASEFOLD)
		facts->flags |= FSCK_I_CASEFOLD;
	if (l->ino != XW_INO_ROOT && l->ino < sb->first_ino)
		facts->flags |= FSCK_I_SYSTEM;
	count_type(l);
	return l->type == XW_S_IFDIR ? add_dir(l) : 0;
}

/* ---- one inode ---- */

static bool is_hidden(const struct xw_super *sb, xw_ino ino)
{
	return ino == sb->usr_quota_inum || ino == sb->grp_quota_inum ||
	       ino == sb->prj_quota_inum || ino == sb->orphan_file_inum || ino == sb->journal_inum;
}

static bool has_map(const struct fsck_look *l)
{
	return xw_inode_has_map(&l->in) && l->ino != XW_INO_RESIZE;
}

/* A reserved inode that holds something is in use, whatever its links say. */
static bool in_use(const struct fsck_look *l)
{
	const struct fsck_inode *facts = fsck_inode(l->f, l->ino);

	if (l->in.links || (facts && facts->flags & FSCK_I_ORPHAN))
		return true;
	return l->ino < l->f->img->sb.first_ino || is_hidden(&l->f->img->sb, l->ino);
}

/* The record of a free inode. */
static int look_at_free(struct fsck_look *l)
{
	if (l->in.mode && !l->in.dtime && FSCK_FOUND(l->f, DTIME_ZERO, .ino = l->ino)) {
		l->in.dtime = (uint32_t)l->f->opts.now;
		return fsck_inode_write(l->f, l->ino, &l->in, l->raw);
	}
	return 0;
}

static int contents(struct fsck_look *l)
{
	bool dirty = false;
	int rc;

	l->has_map = has_map(l);
	rc = fsck_look_map(l);
	if (!rc)
		rc = fsck_xattr_inode(l->f, l->ino, &l->in, l->raw, &dirty, &l->blocks);
	l->dirty |= dirty;
	if (!rc)
		rc = fsck_look_claim(l);
	return rc ? rc : fsck_look_size(l);
}

int fsck_look_at(struct fsck_look *l, xw_ino ino, const uint8_t *raw)
{
	struct fsck *f = l->f;
	int rc;

	l->ino = ino;
	l->blocks = 0;
	l->dirty = l->clear = l->has_map = false;
	memcpy(l->raw, raw, f->img->inode_size);
	xw_inode_decode(l->raw, &f->img->sb, &l->in);
	if (!in_use(l))
		return look_at_free(l);
	rc = fsck_look_record(l);
	if (!rc && !l->clear)
		rc = fsck_look_flags(l);
	if (!rc && !l->clear)
		rc = contents(l);
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

/* How many records of a group can be in use. */
static uint32_t records_of(const struct fsck *f, uint64_t group, const struct xw_group_desc *gd)
{
	const struct xw_super *sb = &f->img->sb;
	const bool tracks_use = sb->feature_ro_compat & (XW_RO_GDT_CSUM | XW_RO_METADATA_CSUM);
	const uint64_t before = group * sb->inodes_per_group;
	uint32_t n = sb->inodes_per_group;

	if (before >= sb->inodes_count)
		return 0;
	n = (uint32_t)XW_MIN(n, sb->inodes_count - before);
	if (tracks_use && gd->flags & XW_BG_INODE_UNINIT)
		return 0;
	if (tracks_use && gd->itable_unused <= sb->inodes_per_group)
		n = XW_MIN(n, sb->inodes_per_group - gd->itable_unused);
	return n;
}

static int look_at_group(struct fsck_look *l, uint64_t group, uint8_t *buf)
{
	struct fsck *f = l->f;
	const struct xw_image *img = f->img;
	const uint32_t size = img->inode_size, chunk = RUN_BYTES / size;
	struct xw_group_desc gd;
	uint32_t n;
	int rc = xw_image_group(f->img, group, &gd);

	if (rc || !xw_image_has_blocks(img, gd.inode_table, img->itable_blocks)) {
		xw_diag_clear(&f->diag);
		return rc == XW_ERR_NOMEM ? rc : 0; /* said by the super phase */
	}
	n = records_of(f, group, &gd);
	for (uint32_t at = 0; at < n && !rc && !f->stop; at += chunk) {
		const uint32_t count = XW_MIN(chunk, n - at);
		const xw_ino ino = (xw_ino)(group * img->sb.inodes_per_group + at + 1);

		rc = xw_dev_pread(f->dev, buf, (size_t)count * size,
				  gd.inode_table * img->block_size + (uint64_t)at * size);
		for (uint32_t i = 0; i < count && !rc && !f->stop; i++)
			rc = fsck_look_at(l, ino + i, buf + (size_t)i * size);
	}
	return rc;
}

int fsck_check_inodes(struct fsck *f)
{
	struct fsck_look l = {0};
	uint8_t *buf = malloc(RUN_BYTES);
	const uint64_t groups = xw_image_groups_here(f->img);
	int rc = buf ? fsck_claim_metadata(f) : xw_fail_nomem(&f->diag, "inode tables");

	if (!rc)
		rc = fsck_look_begin(f, &l);
	for (uint64_t g = 0; g < groups && !rc && !f->stop; g++)
		rc = look_at_group(&l, g, buf);
	fsck_look_end(&l);
	free(buf);
	return rc;
}
