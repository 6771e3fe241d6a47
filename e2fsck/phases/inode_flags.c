// SPDX-License-Identifier: MIT
/* Checks flags that contradict the type of the inode or the features of the filesystem. */
#include "config.h"

#include <string.h>

#include "base/bytes.h"
#include "phases/dirs.h"
#include "phases/inode_slice.h"
#include "phases/inodes.h"

#define FL_COMPRBLK 0x00000200u
#define FL_IMAGIC 0x00002000u
#define COMPAT_IMAGIC 0x0002u
#define INCOMPAT_COMPRESSION 0x0001u

static bool is_special(const struct fsck_look *l)
{
	return l->type == XW_S_IFCHR || l->type == XW_S_IFBLK || l->type == XW_S_IFIFO ||
	       l->type == XW_S_IFSOCK;
}

static void drop(struct fsck_look *l, uint32_t flags)
{
	if (l->in.flags & flags && LOOK_REPAIR(l, FLAGS, .num = flags))
		l->in.flags &= ~flags;
}

static void drop_index(struct fsck_look *l)
{
	if (l->in.flags & XW_FL_INDEX && LOOK_REPAIR(l, INDEX_FLAG))
		l->in.flags &= ~XW_FL_INDEX;
}

/* Devices, fifos and sockets have no size and no map, only zeros after the device number. */
static void check_special(struct fsck_look *l)
{
	const size_t after = 16;

	drop(l, XW_FL_EXTENTS | XW_FL_INLINE_DATA);
	if (l->in.size && LOOK_REPAIR(l, SPECIAL_SIZE, .num = l->in.size))
		l->in.size = 0;
	if (!xw_all_zero(l->in.block + after, sizeof(l->in.block) - after) &&
	    LOOK_REPAIR(l, SPECIAL_BLOCKS))
		memset(l->in.block + after, 0, sizeof(l->in.block) - after);
}

static bool has_extent_root(const struct fsck_look *l)
{
	struct xw_extent_hdr h;

	return !xw_extent_hdr_decode(l->in.block, sizeof(l->in.block), &h) &&
	       h.max == XW_EXT_INODE_ENTRIES;
}

/*
 * Does i_block hold an extent root although EXTENTS_FL is missing? If the filesystem has the
 * feature, a valid header is sufficient, as in e2fsck(8); otherwise there must be an extent, too.
 */
static bool has_hidden_extents(const struct fsck_look *l)
{
	const bool feature = l->f->ses.img->sb.feature_incompat & XW_INCOMPAT_EXTENTS;
	struct xw_extent_hdr h;

	if (l->in.flags & XW_FL_EXTENTS || l->ino == XW_INO_RESIZE || l->ino == XW_INO_BAD ||
	    xw_extent_hdr_decode(l->in.block, sizeof(l->in.block), &h))
		return false;
	/* e2fsck(8) does not accept a root with room for only one entry. */
	return (feature && h.max >= 2) ||
	       (h.max == XW_EXT_INODE_ENTRIES && l->in.block[12 + 4] + l->in.block[12 + 5] &&
		!(l->in.flags & XW_FL_INLINE_DATA));
}

/* Compare EXTENTS_FL with the contents of i_block and with the feature. */
static int check_extents(struct fsck_look *l)
{
	struct fsck *f = l->f;
	struct xw_super *sb = &f->ses.img->sb;

	if (l->in.flags & XW_FL_EXTENTS && !(sb->feature_incompat & XW_INCOMPAT_EXTENTS)) {
		if (!has_extent_root(l)) {
			drop(l, XW_FL_EXTENTS);
		} else if (LOOK_FOUND(l, EXTENTS_FEATURE)) {
			sb->feature_incompat |= XW_INCOMPAT_EXTENTS;
			return fsck_super_write(f);
		}
	} else if (has_hidden_extents(l) && LOOK_REPAIR(l, EXTENTS_FLAG)) {
		l->in.flags |= XW_FL_EXTENTS;
		l->in.flags &= ~XW_FL_INLINE_DATA;
	}
	return 0;
}

/*
 * With bigalloc there are no block maps. If clusters are as large as blocks, an inode with a block
 * map proves that the feature bit is wrong.
 */
static int check_bigalloc(struct fsck_look *l)
{
	struct fsck *f = l->f;
	struct xw_super *sb = &f->ses.img->sb;

	if (!(sb->feature_ro_compat & XW_RO_BIGALLOC) || xw_image_cluster_bits(f->ses.img) ||
	    !(sb->feature_incompat & XW_INCOMPAT_EXTENTS) || /* reported by fsck_check_fields() */
	    l->in.flags & (XW_FL_EXTENTS | XW_FL_INLINE_DATA) || l->ino == XW_INO_RESIZE ||
	    l->ino == XW_INO_BAD || xw_all_zero(l->in.block, sizeof(l->in.block)) ||
	    !LOOK_FOUND(l, BIGALLOC_MAP))
		return 0;
	sb->feature_ro_compat &= ~XW_RO_BIGALLOC;
	return fsck_super_renew(f);
}

/* Does i_blocks include more than the attributes? */
static bool holds_blocks(const struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const uint64_t cluster512 = (uint64_t)l->f->ses.img->block_size / 512
				    << xw_image_cluster_bits(l->f->ses.img);

	return !(sb->feature_incompat & XW_INCOMPAT_EA_INODE) &&
	       xw_inode_fs_blocks_512(&l->in, sb) > (l->in.file_acl ? cluster512 : 0);
}

static int check_inline(struct fsck_look *l)
{
	struct fsck *f = l->f;
	struct xw_super *sb = &f->ses.img->sb;
	uint32_t len;

	if (!(l->in.flags & XW_FL_INLINE_DATA))
		return 0;
	if (l->in.flags & XW_FL_EXTENTS) {
		/* i_block tells which of the two flags is right. */
		drop(l, has_extent_root(l) ? XW_FL_INLINE_DATA : XW_FL_EXTENTS);
		if (!(l->in.flags & XW_FL_INLINE_DATA))
			return 0;
	}
	/* Trust the attribute system.data, which only inline contents have, over i_blocks. */
	if (holds_blocks(l) && !fsck_inline_value(f, &l->in, l->raw, &len))
		drop(l, XW_FL_INLINE_DATA);
	if (!(l->in.flags & XW_FL_INLINE_DATA) || sb->feature_incompat & XW_INCOMPAT_INLINE_DATA ||
	    !LOOK_FOUND(l, INLINE_FEATURE))
		return 0;
	sb->feature_incompat |= XW_INCOMPAT_INLINE_DATA;
	return fsck_super_write(f);
}

/*
 * A casefolded directory needs the feature. If the bit is missing, but the superblock still has the
 * encoding, the bit was lost.
 */
static int check_casefold(struct fsck_look *l)
{
	struct xw_super *sb = &l->f->ses.img->sb;

	if (l->type == XW_S_IFDIR && sb->feature_incompat & XW_INCOMPAT_CASEFOLD)
		return 0;
	if (l->type != XW_S_IFDIR || sb->encoding != FSCK_ENCODING_UTF8) {
		drop(l, XW_FL_CASEFOLD);
		return 0;
	}
	if (!(l->in.flags & XW_FL_CASEFOLD) || !LOOK_FOUND(l, CASEFOLD_FEATURE))
		return 0;
	sb->feature_incompat |= XW_INCOMPAT_CASEFOLD;
	return fsck_super_renew(l->f);
}

int fsck_look_flags(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const bool is_dir = l->type == XW_S_IFDIR;
	int rc = check_casefold(l);

	if (rc)
		return rc;
	if (!(sb->feature_compat & COMPAT_IMAGIC))
		drop(l, FL_IMAGIC);
	if (!(sb->feature_incompat & INCOMPAT_COMPRESSION))
		drop(l, FL_COMPRBLK);
	if (!(sb->feature_ro_compat & XW_RO_VERITY))
		drop(l, XW_FL_VERITY);
	if (!is_dir || !(sb->feature_compat & XW_COMPAT_DIR_INDEX))
		drop_index(l);
	if (l->type != XW_S_IFREG || l->ino < sb->first_ino || fsck_is_hidden(sb, l->ino))
		drop(l, XW_FL_EA_INODE);
	/* Nothing can be written to these types; the flags would only prevent their removal. */
	if ((is_special(l) || l->type == XW_S_IFLNK) &&
	    l->in.flags & (XW_FL_IMMUTABLE | XW_FL_APPEND) && LOOK_REPAIR(l, SPECIAL_IMMUTABLE))
		l->in.flags &= ~(XW_FL_IMMUTABLE | XW_FL_APPEND);
	if (is_special(l)) {
		check_special(l);
		return 0;
	}
	if (l->type == XW_S_IFLNK && fsck_look_is_flagged_text(l))
		drop(l, XW_FL_EXTENTS);
	rc = check_inline(l);
	if (l->in.flags & XW_FL_INLINE_DATA)
		drop_index(l);
	if (rc || (!is_dir && l->type != XW_S_IFREG))
		return rc;
	rc = check_extents(l);
	return rc ? rc : check_bigalloc(l);
}
