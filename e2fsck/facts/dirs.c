// SPDX-License-Identifier: MIT
/* Properties of directories and of their blocks. */
#include "config.h"

#include "disk/extent.h"
#include "facts/dirs.h"

enum { DOT_SIZE = 12 };

void fsck_dir_enter(struct fsck_dirscan *s, uint32_t i)
{
	struct fsck *f = s->f;
	struct fsck_dir *d = &f->facts.dirs.v[i];
	const struct fsck_inode *in = fsck_inode(f, d->ino);

	if (s->d == d)
		return;
	s->d = d;
	s->tree = d->itree ? fsck_itree(f, d->ino) : NULL;
	s->seed = xw_inode_seed(f->ses.img->csum_seed, d->ino, d->generation);
	s->encrypted = in && in->flags & FSCK_I_ENCRYPT;
	s->folded = in && in->flags & FSCK_I_CASEFOLD;
	s->version = xw_dx_version(&f->ses.img->sb, f->ses.img->sb.def_hash_version);
}

bool fsck_dir_is_root(const void *block, uint32_t block_size)
{
	struct xw_dirent e;

	return !xw_dirent_decode(block, block_size, 0, &e) && e.rec_len == DOT_SIZE &&
	       !xw_dirent_decode(block, block_size, DOT_SIZE, &e) &&
	       e.rec_len == block_size - DOT_SIZE && e.name_len == 2;
}

/*
 * Judge a directory by its record alone. Its type is not enough: in random data, one record in 16
 * has the type of a directory.
 */
static bool is_directory(const struct xw_image *img, const struct xw_inode *in)
{
	return in->links && !in->dtime && in->size && !(in->size % img->block_size) &&
	       in->size / img->block_size <= img->sb.blocks_count;
}

bool fsck_dir_names_itself(struct xw_dev *dev, const struct xw_image *img, xw_ino ino,
			   const struct xw_inode *in, bool unknown)
{
	uint64_t blk = xw_inode_slot(in, 0);
	struct xw_extent_hdr root;
	struct xw_extent first;
	uint8_t dot[12];

	if (in->flags & XW_FL_INLINE_DATA)
		return unknown && img->sb.feature_incompat & XW_INCOMPAT_INLINE_DATA &&
		       (ino != XW_INO_ROOT || xw_dir_inline_parent(in->block) == XW_INO_ROOT);
	if (in->flags & XW_FL_EXTENTS) {
		if (!xw_extent_hdr_peek(in->block, &root) || root.depth)
			return unknown && is_directory(img, in);
		xw_extent_leaf_decode(in->block, 0, &first);
		blk = first.pblk;
	}
	return xw_image_has_blocks(img, blk, 1) &&
	       !xw_dev_pread(dev, dot, sizeof(dot), blk * img->block_size) &&
	       xw_dirent_is_dot(dot, ino);
}

bool fsck_may_be_entry(const struct xw_super *sb, const uint8_t *entry)
{
	struct xw_dirent e;

	xw_dirent_peek(entry, &e);
	return e.ino <= sb->inodes_count && e.rec_len % 4 == 0 && e.rec_len >= XW_DIRENT_HDR &&
	       (!e.ino || (unsigned)XW_DIRENT_HDR + e.name_len <= e.rec_len);
}

bool fsck_are_entries(const struct xw_super *sb, const uint8_t *area, size_t size)
{
	struct xw_dirent e;
	size_t at = 0;

	while (at + XW_DIRENT_HDR <= size && fsck_may_be_entry(sb, area + at)) {
		xw_dirent_peek(area + at, &e);
		at += e.rec_len;
	}
	return at == size;
}

struct xw_dirblock_area fsck_dir_area_of(const struct fsck_dirscan *s, const struct fsck_area *a)
{
	return (struct xw_dirblock_area){
		.data = a->data,
		.size = a->size,
		.seed = s->seed,
		.inodes_count = s->f->ses.img->sb.inodes_count,
		.csum = a->tail,
		.filetype = true, /* without the feature it must be 0 */
		.any_names = s->encrypted,
	};
}

/* Only ASCII: other characters would need Unicode tables. */
static bool fold(const struct xw_dirent *e, char *out)
{
	for (unsigned i = 0; i < e->name_len; i++) {
		const char c = e->name[i];

		if (c & 0x80)
			return false;
		out[i] = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
	}
	return true;
}

bool fsck_dir_hash(const struct fsck_dirscan *s, const struct xw_dirent *e, uint32_t *major)
{
	char folded[XW_NAME_MAX];
	struct xw_dx_hash hash;

	if (s->folded && (s->encrypted || !fold(e, folded)))
		return false;
	if (xw_dx_hash(s->version, s->hash_seed, s->folded ? folded : e->name, e->name_len, &hash))
		return false;
	*major = hash.major;
	return true;
}
