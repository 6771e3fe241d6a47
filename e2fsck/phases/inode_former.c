// SPDX-License-Identifier: MIT
/*
 * Finds records of a former filesystem in inode tables that were never zeroed. They are read when
 * the descriptors no longer tell which part of the table is unused. If they became files again,
 * blocks of new files would be readable through them.
 *
 * A suspect has a wrong checksum, and is free according to the bitmap. Without checksums of inodes
 * it lies past the last inode in use of its group, and is older than the filesystem or has blocks
 * that are free. A suspect with a name is a live inode: for this all directories are read, but only
 * if there are suspects. Directories among the suspects count only if they have a name themselves.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/table.h"
#include "disk/dirent.h"
#include "facts/hidden.h"
#include "phases/dirs.h"
#include "phases/inode_slice.h"
#include "phases/inodes.h"
#include "phases/xattrs.h"
#include "walk/dirblock.h"

struct search {
	struct fsck *f;
	struct xw_image *img;
	struct fsck_former *former;
	struct xw_walk_map walk;
	struct xw_dirblock *entries;
	uint8_t *bits; /* inode bitmap of the group */
	uint8_t *table; /* a table block */
	uint8_t *block; /* another block */
	XW_VEC(xw_ino) dirs; /* to be read */
	uint64_t budget; /* directory blocks that may still be read */
};

static bool is_marked(const uint8_t *bits, uint32_t index)
{
	return bits[index / 8] >> index % 8 & 1;
}

/*
 * Number of records up to the last one that the bitmap calls used; limit: unknown. Then no record
 * is marked, so that the checksums alone decide, if there are some.
 */
static uint32_t marked_end(struct search *s, const struct xw_group_desc *gd, uint32_t limit)
{
	if (xw_image_inode_uninit(s->img, gd))
		return 0;
	if (!xw_image_has_blocks(s->img, gd->inode_bitmap, 1) ||
	    fsck_read(s->f, gd->inode_bitmap, 1, s->bits)) {
		memset(s->bits, 0, s->img->block_size);
		return limit;
	}
	while (limit && !is_marked(s->bits, limit - 1))
		limit--;
	return limit;
}

/* Is the first block of its map free according to the bitmap, or outside of the filesystem? */
static bool has_free_block(struct search *s, xw_ino ino, const struct xw_inode *in)
{
	const struct xw_super *sb = &s->img->sb;
	struct xw_walk_map_item item;
	struct xw_group_desc gd;
	xw_blk at;
	int more;

	if (!xw_inode_has_map(in) || xw_walk_map_begin(&s->walk, ino, in, -1))
		return false;
	while ((more = xw_walk_map_next(&s->walk, &item)) == 1 && item.kind == XW_WALK_NODE)
		;
	if (more == 2)
		return true;
	if (!more)
		return false;
	at = item.pblk - sb->first_data_block;
	if (xw_image_group(s->img, at / sb->blocks_per_group, &gd) ||
	    xw_image_block_uninit(s->img, &gd) ||
	    !xw_image_has_blocks(s->img, gd.block_bitmap, 1) ||
	    fsck_read(s->f, gd.block_bitmap, 1, s->block))
		return false;
	at = at % sb->blocks_per_group >> xw_image_cluster_bits(s->img);
	return !is_marked(s->block, (uint32_t)at);
}

static bool is_suspect(struct search *s, xw_ino ino, const uint8_t *raw)
{
	const struct xw_super *sb = &s->img->sb;
	struct xw_inode in;

	if (ino < sb->first_ino || fsck_is_hidden(sb, ino))
		return false;
	xw_inode_decode(raw, sb, &in);
	if (fsck_is_ea_inode(s->f, ino, &in))
		return false;
	if (xw_super_has_csum(sb))
		return xw_inode_verify(raw, sb, s->img->csum_seed, ino) != 0;
	return (in.ctime.sec < sb->mkfs_time && in.crtime.sec < sb->mkfs_time) ||
	       has_free_block(s, ino, &in);
}

/* Sort the records of a group: suspects, and directories that are certain. */
static int sort_group(struct search *s, uint64_t group, bool only_suspects)
{
	const uint32_t per_block = s->img->block_size / s->img->inode_size;
	const bool sums = xw_super_has_csum(&s->img->sb);
	const xw_ino first = (xw_ino)(group * s->img->sb.inodes_per_group + 1);
	struct xw_group_desc gd;
	uint32_t n, end;
	int rc = 0;

	if (xw_image_group(s->img, group, &gd) ||
	    !xw_image_has_blocks(s->img, gd.inode_table, s->img->itable_blocks))
		return 0;
	n = fsck_records_of(s->f, group, &gd);
	if (only_suspects && gd.flags & XW_BG_INODE_ZEROED)
		return 0;
	end = n ? marked_end(s, &gd, n) : 0;
	for (uint32_t i = only_suspects ? end : 0; i < n && !rc; i++) {
		const uint8_t *raw = s->table + (size_t)(i % per_block) * s->img->inode_size;
		const bool is_free = i >= end || (sums && !is_marked(s->bits, i));

		if ((i % per_block == 0 || i == end) &&
		    fsck_read(s->f, gd.inode_table + i / per_block, 1, s->table)) {
			i += per_block - 1 - i % per_block;
			continue;
		}
		if (!xw_inode_raw_links(raw))
			continue;
		if (xw_numbers_has(&s->former->suspects, first + i) ||
		    (sums == !only_suspects && is_free && is_suspect(s, first + i, raw)))
			rc = xw_numbers_add(&s->former->suspects, first + i) < 0;
		else if (!only_suspects && (xw_inode_raw_mode(raw) & XW_S_IFMT) == XW_S_IFDIR)
			rc = xw_vec_push(&s->dirs, first + i);
	}
	return rc;
}

static int add_name(struct search *s, const struct xw_dirent *e)
{
	if (!e->ino || !xw_numbers_has(&s->former->suspects, e->ino) ||
	    xw_numbers_has(&s->former->named, e->ino))
		return 0;
	/* If it is a directory, its entries count as well. */
	return xw_numbers_add(&s->former->named, e->ino) < 0 || xw_vec_push(&s->dirs, e->ino);
}

static int add_names(struct search *s, const void *data, uint32_t size)
{
	const struct xw_dirblock_area area = {.data = data,
					      .size = size,
					      .inodes_count = s->img->sb.inodes_count,
					      .any_names = true};
	struct xw_dirblock_item item;
	int rc = 0;

	xw_dirblock_begin(s->entries, &area);
	while (!rc && xw_dirblock_next(s->entries, &item))
		if (item.e.name_len)
			rc = add_name(s, &item.e);
	return rc;
}

static int read_inline(struct search *s, const struct xw_inode *in, const uint8_t *raw)
{
	uint32_t len;
	const size_t off = fsck_inline_value(s->f, in, raw, &len);
	const int rc = add_names(s, in->block + 4, sizeof(in->block) - 4);

	return rc || !len ? rc : add_names(s, raw + off, len & ~3u);
}

static int read_dir(struct search *s, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	struct xw_walk_map_item item;
	struct xw_inode in;
	int rc = 0;

	if (fsck_inode_load(s->f, ino, &in, &raw) || (in.mode & XW_S_IFMT) != XW_S_IFDIR)
		return 0;
	if (in.flags & XW_FL_INLINE_DATA)
		return read_inline(s, &in, raw);
	if (xw_walk_map_begin(&s->walk, ino, &in, -1))
		return 0;
	for (int more; !rc && (more = xw_walk_map_next(&s->walk, &item)) > 0;)
		for (uint64_t i = 0;
		     more == 1 && item.kind == XW_WALK_RUN && i < item.len && !rc && s->budget;
		     i++, s->budget--)
			if (!fsck_read(s->f, item.pblk + i, 1, s->block))
				rc = add_names(s, s->block, s->img->block_size);
	return rc;
}

static int search(struct search *s, bool only_suspects)
{
	const uint64_t groups = xw_image_groups_here(s->img);
	int rc = 0;

	for (uint64_t g = 0; g < groups && !rc; g++)
		rc = sort_group(s, g, only_suspects);
	if (only_suspects)
		return rc;
	while (s->dirs.n && !rc)
		rc = read_dir(s, s->dirs.v[--s->dirs.n]);
	if (!s->budget) /* not all names are known: none is judged */
		xw_table_free(&s->former->suspects);
	return rc;
}

static int look_at_all(struct fsck_look *l, bool only_suspects)
{
	struct xw_image *img = l->f->ses.img;
	const uint32_t bs = img->block_size;
	struct search s = {
		.f = l->f, .img = img, .former = &l->former, .budget = img->sb.blocks_count};
	int rc;

	xw_walk_map_init(&s.walk, img->dev, &img->sb);
	s.bits = malloc(bs);
	s.table = malloc(bs);
	s.block = malloc(bs);
	s.entries = malloc(sizeof(*s.entries));
	rc = s.bits && s.table && s.block && s.entries ? search(&s, only_suspects) : XW_ERR_NOMEM;
	xw_diag_clear(&l->f->ses.diag);
	xw_walk_map_free(&s.walk);
	xw_vec_free(&s.dirs);
	free(s.bits);
	free(s.table);
	free(s.block);
	free(s.entries);
	return rc ? xw_fail_nomem(&l->f->ses.diag, "inode tables") : 0;
}

int fsck_find_former(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	int rc;

	if (xw_super_has_csum(sb) || !xw_super_has_group_csum(sb))
		return 0;
	rc = look_at_all(l, true);
	if (!rc && l->former.suspects.n)
		rc = look_at_all(l, false);
	l->former.known = true;
	return rc;
}

bool fsck_is_former(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const struct fsck_inode *facts = fsck_inode(l->f, l->ino);
	auto_free uint8_t *root = malloc(l->f->ses.img->inode_size);
	struct xw_inode in;

	if (l->ino < sb->first_ino || (facts && facts->flags & FSCK_I_ORPHAN))
		return false;
	if (l->wrong_sum && !l->former.known) {
		l->former.known = true;
		/* If the root's checksum is wrong, too, the seed may be: no record is judged. */
		if (!root || fsck_inode_read(l->f, XW_INO_ROOT, &in, root) ||
		    xw_inode_verify(root, sb, l->f->ses.img->csum_seed, XW_INO_ROOT) ||
		    look_at_all(l, false))
			xw_table_free(&l->former.suspects);
	}
	return xw_numbers_has(&l->former.suspects, l->ino) &&
	       !xw_numbers_has(&l->former.named, l->ino);
}
