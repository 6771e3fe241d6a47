// SPDX-License-Identifier: MIT
/* Flags that contradict the type of the inode or the features of the filesystem. */
#include "config.h"

#include <string.h>

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
	if (!(l->in.flags & flags) || !FSCK_FOUND(l->f, FLAGS, .ino = l->ino, .num = flags))
		return;
	l->in.flags &= ~flags;
	l->dirty = true;
}

/* A flag without meaning for this inode: the inode is read without it. */
static void drop_index(struct fsck_look *l)
{
	if (!(l->in.flags & XW_FL_INDEX) || !FSCK_FOUND(l->f, INDEX_FLAG, .ino = l->ino))
		return;
	l->in.flags &= ~XW_FL_INDEX;
	l->dirty = true;
}

/* Such types cannot be written and need no protection, and nobody could remove them. */
static void check_immutable(struct fsck_look *l)
{
	if (l->in.flags & (XW_FL_IMMUTABLE | XW_FL_APPEND) &&
	    FSCK_FOUND(l->f, SPECIAL_IMMUTABLE, .ino = l->ino)) {
		l->in.flags &= ~(XW_FL_IMMUTABLE | XW_FL_APPEND);
		l->dirty = true;
	}
}

/* Devices, fifos, sockets: no size, no map, only zeros after the device number. */
static void check_special(struct fsck_look *l)
{
	static const uint8_t zero[44];
	uint8_t *rest = l->in.block + 16;

	drop(l, XW_FL_EXTENTS | XW_FL_INLINE_DATA);
	if (l->in.size && FSCK_FOUND(l->f, SPECIAL_SIZE, .ino = l->ino, .num = l->in.size)) {
		l->in.size = 0;
		l->dirty = true;
	}
	if (memcmp(rest, zero, sizeof(zero)) && FSCK_FOUND(l->f, SPECIAL_BLOCKS, .ino = l->ino)) {
		memset(rest, 0, sizeof(zero));
		l->dirty = true;
	}
}

static bool has_extent_root(const struct fsck_look *l)
{
	struct xw_extent_hdr h;

	return !xw_extent_hdr_decode(l->in.block, sizeof(l->in.block), &h) &&
	       h.max == XW_EXT_INODE_ENTRIES;
}

/*
 * i_block holds an extent root, but EXTENTS_FL is missing. If the filesystem has the feature, a
 * valid header is sufficient, as in e2fsck(8); otherwise there must be an extent, too.
 */
static bool has_hidden_extents(const struct fsck_look *l)
{
	const bool feature = l->f->img->sb.feature_incompat & XW_INCOMPAT_EXTENTS;
	struct xw_extent_hdr h;

	if (l->in.flags & XW_FL_EXTENTS || l->ino == XW_INO_RESIZE || l->ino == XW_INO_BAD ||
	    xw_extent_hdr_decode(l->in.block, sizeof(l->in.block), &h))
		return false;
	/* e2fsck(8) does not accept a root with room for only one entry */
	return (feature && h.max >= 2) ||
	       (h.max == XW_EXT_INODE_ENTRIES && l->in.block[12 + 4] + l->in.block[12 + 5] &&
		!(l->in.flags & XW_FL_INLINE_DATA));
}

/* Does the map have the type that the flag states? */
static int check_extents(struct fsck_look *l)
{
	struct fsck *f = l->f;
	struct xw_super *sb = &f->img->sb;

	if (l->in.flags & XW_FL_EXTENTS && !(sb->feature_incompat & XW_INCOMPAT_EXTENTS)) {
		if (!has_extent_root(l)) {
			drop(l, XW_FL_EXTENTS);
		} else if (FSCK_FOUND(f, EXTENTS_FEATURE, .ino = l->ino)) {
			sb->feature_incompat |= XW_INCOMPAT_EXTENTS;
			return fsck_super_write(f);
		}
	} else if (has_hidden_extents(l) && FSCK_FOUND(f, EXTENTS_FLAG, .ino = l->ino)) {
		l->in.flags |= XW_FL_EXTENTS;
		l->in.flags &= ~XW_FL_INLINE_DATA;
		l->dirty = true;
	}
	return 0;
}

/*
 * With bigalloc there are no block maps. Where a cluster is a block, one of them proves that the
 * feature is not meant.
 */
static int check_bigalloc(struct fsck_look *l)
{
	static const uint8_t zero[sizeof(l->in.block)];
	struct fsck *f = l->f;
	struct xw_super *sb = &f->img->sb;

	if (!(sb->feature_ro_compat & XW_RO_BIGALLOC) || xw_image_cluster_bits(f->img) ||
	    !(sb->feature_incompat & XW_INCOMPAT_EXTENTS) || /* reported by fsck_check_fields() */
	    l->in.flags & (XW_FL_EXTENTS | XW_FL_INLINE_DATA) || l->ino == XW_INO_RESIZE ||
	    l->ino == XW_INO_BAD || !memcmp(l->in.block, zero, sizeof(zero)) ||
	    !FSCK_FOUND(f, BIGALLOC_MAP, .ino = l->ino))
		return 0;
	sb->feature_ro_compat &= ~XW_RO_BIGALLOC;
	f->renew_backups = true;
	return fsck_super_write(f);
}

/* Does i_blocks include more than the attributes? */
static bool holds_blocks(const struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->img->sb;
	const uint64_t cluster512 = (uint64_t)l->f->img->block_size / 512
				    << xw_image_cluster_bits(l->f->img);

	return !(sb->feature_incompat & XW_INCOMPAT_EA_INODE) &&
	       xw_inode_fs_blocks_512(&l->in, sb) > (l->in.file_acl ? cluster512 : 0);
}

/* Is there an attribute system.data, which only inline contents have? */
static bool has_inline_value(const struct fsck_look *l)
{
	uint32_t len;

	return fsck_inline_value(l->f, &l->in, l->raw, &len) != 0;
}

/* The attribute is stronger evidence than i_blocks. */
static int check_inline(struct fsck_look *l)
{
	struct fsck *f = l->f;
	struct xw_super *sb = &f->img->sb;

	if (!(l->in.flags & XW_FL_INLINE_DATA))
		return 0;
	if (l->in.flags & XW_FL_EXTENTS) {
		/* i_block tells which of the two flags is right. */
		drop(l, has_extent_root(l) ? XW_FL_INLINE_DATA : XW_FL_EXTENTS);
		if (!(l->in.flags & XW_FL_INLINE_DATA))
			return 0;
	}
	if (holds_blocks(l) && !has_inline_value(l))
		drop(l, XW_FL_INLINE_DATA);
	if (!(l->in.flags & XW_FL_INLINE_DATA) || sb->feature_incompat & XW_INCOMPAT_INLINE_DATA)
		return 0;
	if (!FSCK_FOUND(f, INLINE_FEATURE, .ino = l->ino))
		return 0;
	sb->feature_incompat |= XW_INCOMPAT_INLINE_DATA;
	return fsck_super_write(f);
}

/*
 * A casefolded directory needs the feature: where it is missing, but the superblock still has the
 * encoding, the bit was lost.
 */
static int check_casefold(struct fsck_look *l)
{
	struct xw_super *sb = &l->f->img->sb;

	if (l->type == XW_S_IFDIR && sb->feature_incompat & XW_INCOMPAT_CASEFOLD)
		return 0;
	if (l->type != XW_S_IFDIR || sb->encoding != FSCK_ENCODING_UTF8) {
		drop(l, XW_FL_CASEFOLD);
		return 0;
	}
	if (!(l->in.flags & XW_FL_CASEFOLD) || !FSCK_FOUND(l->f, CASEFOLD_FEATURE, .ino = l->ino))
		return 0;
	sb->feature_incompat |= XW_INCOMPAT_CASEFOLD;
	l->f->renew_backups = true;
	return fsck_super_write(l->f);
}

int fsck_look_flags(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->img->sb;
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
	if (is_special(l) || l->type == XW_S_IFLNK)
		check_immutable(l);
	if (is_special(l)) {
		check_special(l);
		return 0;
	}
	if (l->type == XW_S_IFLNK && fsck_look_is_flagged_text(l))
		drop(l, XW_FL_EXTENTS);
	rc = check_inline(l);
	if (l->in.flags & XW_FL_INLINE_DATA)
		drop_index(l);
	if (!rc && (is_dir || l->type == XW_S_IFREG))
		rc = check_extents(l);
	if (!rc && (is_dir || l->type == XW_S_IFREG))
		rc = check_bigalloc(l);
	return rc;
}
