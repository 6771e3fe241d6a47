// SPDX-License-Identifier: MIT
/*
 * Detects records that are not inodes. If each field of random bytes were repaired, the result
 * could be a device or a set-ID file that nobody created. So the contradictions in the whole record
 * are counted: a damaged inode has one or two, random bytes have nearly all. Records of an inode
 * table block that was written to a wrong location have valid checksums for other inode numbers.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "disk/dirent.h"
#include "disk/indirect.h"
#include "disk/xattrblk.h"
#include "phases/inode_slice.h"
#include "phases/inodes.h"

#define HURD 1u
/* Flags that no inode in use has: unassigned, or for compression and snapshots. */
#define FL_NEVER 0x85802300u
#define FL_DIRS (XW_FL_INDEX | XW_FL_CASEFOLD | XW_FL_ITREE)

/*
 * Number of contradictions that make a record garbage: fewer if its map is invalid as well, since
 * then there is nothing to save. If the table block holds other garbage, the limit is lowered by
 * LESS, for devices and set-ID files by LESS_IF_POWERFUL.
 */
enum { NEED_BAD_MAP = 5, NEED_GOOD_MAP = 8, LESS = 2, LESS_IF_POWERFUL = 3 };

struct record {
	const struct xw_image *img;
	const uint8_t *raw;
	struct xw_inode in;
	xw_ino ino;
};

static bool has_wrong_flags(const struct record *r)
{
	const struct xw_super *sb = &r->img->sb;
	const bool is_dir = (r->in.mode & XW_S_IFMT) == XW_S_IFDIR;
	uint32_t never = FL_NEVER | (is_dir ? 0 : FL_DIRS);

	if (!(sb->feature_incompat & XW_INCOMPAT_EXTENTS))
		never |= XW_FL_EXTENTS;
	if (!(sb->feature_incompat & XW_INCOMPAT_INLINE_DATA))
		never |= XW_FL_INLINE_DATA;
	if (!(sb->feature_incompat & XW_INCOMPAT_ENCRYPT))
		never |= XW_FL_ENCRYPT;
	if (!(sb->feature_incompat & XW_INCOMPAT_EA_INODE))
		never |= XW_FL_EA_INODE;
	if (!(sb->feature_ro_compat & XW_RO_VERITY))
		never |= XW_FL_VERITY;
	if (!(sb->feature_ro_compat & XW_RO_HUGE_FILE))
		never |= XW_FL_HUGE_FILE;
	return r->in.flags & never;
}

/*
 * Are most pointers of the block map outside of the filesystem? Or are there none although i_blocks
 * counts blocks?
 */
static bool has_bad_pointers(const struct record *r)
{
	unsigned used = 0, bad = 0;

	for (unsigned i = 0; i <= XW_TIND_SLOT; i++) {
		const xw_blk blk = xw_inode_slot(&r->in, i);

		used += blk != 0;
		bad += blk && !xw_image_has_blocks(r->img, blk, 1);
	}
	return used ? 2 * bad > used : r->in.blocks && !r->in.file_acl;
}

static bool has_bad_map(const struct record *r)
{
	const size_t len = strnlen((const char *)r->in.block, sizeof(r->in.block));
	const unsigned attrs = xw_inode_xattr_off(&r->in, &r->img->sb);
	struct xw_extent_hdr h;

	switch (r->in.mode & XW_S_IFMT) {
	case XW_S_IFCHR:
	case XW_S_IFBLK:
	case XW_S_IFIFO:
	case XW_S_IFSOCK:
		return r->in.size || r->in.blocks ||
		       !xw_all_zero(r->in.block + 16, sizeof(r->in.block) - 16);
	case XW_S_IFLNK:
		if (len == r->in.size)
			return false;
		break;
	default:
		break;
	}
	if (r->in.flags & XW_FL_INLINE_DATA)
		return !attrs || xw_xattr_magic(r->raw + attrs) != XW_XATTR_MAGIC;
	if (r->in.flags & XW_FL_EXTENTS)
		return xw_extent_hdr_decode(r->in.block, sizeof(r->in.block), &h);
	return has_bad_pointers(r);
}

static unsigned contradictions(const struct record *r)
{
	const struct xw_inode *in = &r->in;
	const struct xw_super *sb = &r->img->sb;
	const uint64_t bs = r->img->block_size;
	const uint64_t most =
		in->flags & XW_FL_EXTENTS ? bs << 32 : xw_indirect_max_lblk((uint32_t)bs) * bs;
	const unsigned room = sb->inode_size - XW_INODE_BODY;
	const unsigned extra = room ? xw_inode_raw_extra(r->raw) : 0;

	return (xw_ftype_of_mode(in->mode) == XW_FT_UNKNOWN) + (in->links > XW_LINK_MAX) +
	       (in->links > sb->inodes_count) + (in->dtime != 0) + has_wrong_flags(r) +
	       (in->faddr != 0) + (in->osd2_reserved != 0) + (extra % 4 || extra > room) +
	       (in->stray_acl_hi || in->stray_blocks_hi) + (in->size > most || in->stray_size_hi) +
	       (xw_inode_fs_blocks_512(in, sb) / (bs / 512) > sb->blocks_count) +
	       (in->file_acl && !xw_image_has_blocks(r->img, in->file_acl, 1)) +
	       (xw_inode_verify(r->raw, sb, r->img->csum_seed, r->ino) != 0);
}

bool fsck_is_garbage(const struct xw_image *img, xw_ino ino, const uint8_t *raw, unsigned less)
{
	struct record r = {.img = img, .raw = raw, .ino = ino};
	unsigned n;

	xw_inode_decode(raw, &img->sb, &r.in);
	n = contradictions(&r) + less;
	return n >= NEED_GOOD_MAP || (n >= NEED_BAD_MAP && has_bad_map(&r));
}

static bool is_powerful(uint16_t mode)
{
	switch (mode & XW_S_IFMT) {
	case XW_S_IFREG:
	case XW_S_IFDIR:
		return mode & (S_ISUID | S_ISGID);
	case XW_S_IFLNK:
		return false;
	default:
		return true;
	}
}

/* The first inode in the table block that contains this one. */
static xw_ino first_in_block(const struct xw_image *img, xw_ino ino)
{
	const uint32_t index = (ino - 1) % img->sb.inodes_per_group;

	return ino - index % (img->block_size / img->inode_size);
}

/* Read the table block that contains the record; freed by the caller. NULL: unreadable. */
static uint8_t *read_table_block(const struct fsck_look *l)
{
	struct xw_image *img = l->f->ses.img;
	const xw_ino index = (l->ino - 1) % img->sb.inodes_per_group;
	uint8_t *block = malloc(img->block_size);
	struct xw_group_desc gd;

	if (block && !xw_image_group(img, (l->ino - 1) / img->sb.inodes_per_group, &gd) &&
	    !fsck_read(l->f, gd.inode_table + index / (img->block_size / img->inode_size), 1,
		       block))
		return block;
	free(block);
	return NULL;
}

/*
 * Are most of the other records in use in the same table block garbage, including those already
 * cleared? For the first record of a block the preceding record counts as well.
 */
static bool is_among_garbage(const struct fsck_look *l)
{
	struct xw_image *img = l->f->ses.img;
	const uint32_t size = img->inode_size, n = img->block_size / size;
	const xw_ino first = first_in_block(img, l->ino);
	auto_free uint8_t *block = read_table_block(l);
	unsigned garbage = (l->garbage_in == first ? l->garbage : 0) +
			   (l->ino == first && l->garbage_last + 1 == first);
	unsigned used = garbage;

	if (!block)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *raw = block + (size_t)i * size;

		if (first + i == l->ino || !xw_inode_raw_links(raw))
			continue;
		used++;
		garbage += fsck_is_garbage(img, first + i, raw, 0);
	}
	return 2 * garbage > used;
}

/*
 * The last of the records from l->ino on that are garbage, one after the other, in the table block:
 * one question is asked for all.
 */
static xw_ino last_garbage(const struct fsck_look *l)
{
	struct xw_image *img = l->f->ses.img;
	const uint32_t size = img->inode_size;
	const xw_ino first = first_in_block(img, l->ino), end = first + img->block_size / size;
	auto_free uint8_t *block = read_table_block(l);
	xw_ino ino = l->ino;

	while (block && ino + 1 < end) {
		const uint8_t *raw = block + (size_t)(ino + 1 - first) * size;

		if (!xw_inode_raw_links(raw) || !fsck_is_garbage(img, ino + 1, raw, 0) ||
		    (xw_super_has_csum(&img->sb) &&
		     !xw_inode_verify(raw, &img->sb, img->csum_seed, ino + 1)))
			break;
		ino++;
	}
	return ino;
}

/* Is the record to be cleared? Asks, unless the answer for a record before it holds. */
static bool ask_about_garbage(struct fsck_look *l)
{
	if (l->f->opts.mode != FSCK_ASK)
		return LOOK_FOUND(l, GARBAGE);
	if (l->ino > l->judged_last) {
		l->judged_last = last_garbage(l);
		l->judged = LOOK_FOUND(l, GARBAGE, .last = l->judged_last);
	}
	return l->judged;
}

/* Report that the record is no inode. With -n nothing is to follow from its contents. */
static void condemn(struct fsck_look *l, bool agreed)
{
	l->clear = agreed;
	l->condemned = !agreed && l->f->opts.mode == FSCK_NO;
}

void fsck_look_garbage(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const xw_ino first = first_in_block(l->f->ses.img, l->ino);
	const unsigned less = is_powerful(l->in.mode) ? LESS_IF_POWERFUL : LESS;

	if ((xw_super_has_csum(sb) && !l->wrong_sum) || l->ino < sb->first_ino ||
	    fsck_is_hidden(sb, l->ino) || sb->creator_os == HURD)
		return;
	if (!fsck_is_garbage(l->f->ses.img, l->ino, l->raw, 0) &&
	    (!fsck_is_garbage(l->f->ses.img, l->ino, l->raw, less) || !is_among_garbage(l)))
		return;
	condemn(l, ask_about_garbage(l));
	l->garbage = l->garbage_in == first ? l->garbage + l->clear : l->clear;
	l->garbage_in = first;
	l->garbage_last = l->ino;
}
