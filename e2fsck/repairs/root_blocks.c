// SPDX-License-Identifier: MIT
/*
 * Finds the blocks of a root directory whose inode or map is lost. The block bitmaps mark them as
 * in use, but no inode claims them. "." and ".." of the first block refer to the root. All other
 * blocks are directory blocks whose entries refer to inodes in use; if the first block is not
 * found, their checksums must be those of the root, which depend on the generation of its inode.
 * The entries of all these blocks are checked afterwards, as in every directory. Blocks of another
 * lost directory may be among them, so blocks whose checksum proves that they belong to the root
 * come first: if a name occurs twice, the first entry keeps it.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/endian.h"
#include "facts/dirs.h"
#include "read/bitmaps.h"
#include "read/map.h"
#include "repairs/repairs.h"
#include "walk/dirblock.h"

enum { LOOK_MAX = 1 << 18, DOT_SIZE = 12 };

struct names_block {
	xw_blk blk;
	uint32_t seed; /* needed for its checksum */
};

struct finder {
	struct fsck *f;
	struct fsck_root_blocks *out;
	XW_VEC(struct names_block) more;
	uint32_t seed; /* of the root, if it is known */
	bool seeded;
	bool first_only; /* searching for the first block, which determines the seed */
	uint8_t *block;
	struct xw_dirblock walk;
	uint64_t looked; /* number of blocks read */
	uint32_t generation; /* of the root's inode; 0 if that is lost */
	xw_blk inner_end; /* of the last filesystem found in an image file */
	bool inside; /* the first block is in it */
	uint32_t subdirs; /* that the first block names */
	bool unproven; /* a block has no valid checksum with the root's seed */
};

/* Do "." and ".." refer to the root? */
static bool is_first(const struct finder *s)
{
	const uint32_t bs = s->f->ses.img->block_size;
	struct xw_dirent dot, dotdot;

	return !xw_dirent_decode(s->block, bs, 0, &dot) && dot.rec_len == DOT_SIZE &&
	       dot.name_len == 1 && dot.name[0] == '.' && dot.ino == XW_INO_ROOT &&
	       !xw_dirent_decode(s->block, bs, DOT_SIZE, &dotdot) && dotdot.name_len == 2 &&
	       xw_name_is_dots(dotdot.name, 2) && dotdot.ino == XW_INO_ROOT;
}

/* Does the entry refer to an inode in use, of the entry's type? */
static bool is_valid(const struct finder *s, const struct xw_dirent *e)
{
	const struct fsck_inode *in = fsck_inode(s->f, e->ino);

	return in && in->flags & FSCK_I_USED && !xw_name_is_dots(e->name, e->name_len) &&
	       (e->ftype == XW_FT_UNKNOWN || e->ftype == in->ftype);
}

/* Does the checksum prove that the block is the root's? */
static bool is_proven(const struct finder *s)
{
	uint32_t seed;

	return s->seeded && xw_super_has_csum(&s->f->ses.img->sb) &&
	       xw_dir_block_seed(s->block, s->f->ses.img->block_size, &seed) && seed == s->seed;
}

/*
 * Is this a valid directory block whose entries all refer to inodes, or one proven to be the
 * root's? *subdirs: its number of entries that are directories.
 */
static bool is_names(struct finder *s, uint32_t *subdirs)
{
	const struct xw_image *img = s->f->ses.img;
	const struct xw_dirblock_area area = {
		.data = s->block,
		.size = img->block_size,
		.seed = xw_inode_seed(img->csum_seed, XW_INO_ROOT, s->generation),
		.inodes_count = img->sb.inodes_count,
		.csum = xw_super_has_csum(&img->sb),
		.filetype = img->sb.feature_incompat & XW_INCOMPAT_FILETYPE,
	};
	struct xw_dirblock_item item;
	const bool proven = is_proven(s);
	bool unproven = !area.csum;
	uint32_t used = 0;
	int kind;

	*subdirs = 0;
	xw_dirblock_begin(&s->walk, &area);
	while ((kind = xw_dirblock_next(&s->walk, &item))) {
		if (kind == 2 && item.rule == XW_DIRBLOCK_CSUM) {
			unproven = true;
			continue;
		}
		if (kind != 1 || (!item.unused && !is_valid(s, &item.e))) {
			if (!proven)
				return false;
			continue;
		}
		used += !item.unused;
		*subdirs += !item.unused && fsck_inode(s->f, item.e.ino)->ftype == XW_FT_DIR;
	}
	s->unproven |= used && unproven;
	return used;
}

/* How many subdirectories does the first block name? */
static uint32_t subdirs_of_first(struct finder *s)
{
	struct xw_dirent e;
	uint32_t n = 0;

	for (uint32_t at = 2 * DOT_SIZE;
	     !xw_dirent_decode(s->block, s->f->ses.img->block_size, at, &e) && e.rec_len;
	     at += e.rec_len)
		n += e.ino && is_valid(s, &e) && fsck_inode(s->f, e.ino)->ftype == XW_FT_DIR;
	return n;
}

/* Record the block in s->block, which was read from blk, as a block of the root. */
static int keep(struct finder *s, xw_blk blk)
{
	struct names_block b = {.blk = blk};

	(void)xw_dir_block_seed(s->block, s->f->ses.img->block_size, &b.seed);
	return xw_vec_push(&s->more, b) ? xw_fail_nomem(&s->f->ses.diag, "root directory") : 0;
}

/* Compute the root's seed from the checksum of the first block. False: the block has none. */
static bool seed_of_first(struct finder *s)
{
	const uint32_t bs = s->f->ses.img->block_size;

	if (!xw_super_has_csum(&s->f->ses.img->sb))
		return false;
	return fsck_dir_is_root(s->block, bs)
		       ? xw_dx_block_seed(s->block, bs, XW_DX_ROOT_ENTRIES, &s->seed)
		       : xw_dir_block_seed(s->block, bs, &s->seed);
}

/* Output the blocks, those with the root's seed first. */
static int put_in_order(struct finder *s)
{
	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < s->more.n; i++)
			if ((s->seeded && s->more.v[i].seed != s->seed) == others &&
			    xw_vec_push(&s->out->more, s->more.v[i].blk))
				return xw_fail_nomem(&s->f->ses.diag, "root directory");
	return 0;
}

/*
 * Does the block, which no inode claims, hold the primary superblock of another filesystem? Then it
 * begins an image file whose inode is lost, too, and that filesystem's root follows.
 */
static void note_inner(struct finder *s, xw_blk blk)
{
	const uint32_t bs = s->f->ses.img->block_size;
	const uint8_t *raw = s->block + (bs > XW_SUPER_OFFSET ? XW_SUPER_OFFSET : 0);
	struct xw_super sb;

	if (blk > XW_SUPER_OFFSET / bs && xw_super_has_magic(raw) && !xw_super_verify(raw) &&
	    !xw_super_decode(raw, &sb) && !sb.block_group_nr)
		s->inner_end =
			XW_MAX(s->inner_end, blk + sb.blocks_count * xw_super_block_size(&sb) / bs);
}

/*
 * A root directory has one first block: another one is that of a filesystem in an image file, and
 * its names are not of this one.
 */
static void choose_first(struct finder *s, xw_blk blk)
{
	const bool inside = blk < s->inner_end;
	uint32_t subdirs;

	if (s->out->first && !s->inside)
		return; /* of those inside the last one: the other root is near its superblock */
	subdirs = subdirs_of_first(s);
	s->out->first = blk;
	s->inside = inside;
	if (s->first_only)
		s->seeded = seed_of_first(s);
	s->out->subdirs += subdirs - s->subdirs;
	s->subdirs = subdirs;
}

static int examine(struct finder *s, xw_blk blk)
{
	uint32_t subdirs;

	if (fsck_is_claimed(s->f, blk) || ++s->looked > LOOK_MAX || blk == s->out->first ||
	    fsck_read(s->f, blk, 1, s->block))
		return 0;
	note_inner(s, blk);
	if (is_first(s)) {
		choose_first(s, blk);
		return 0;
	}
	if (s->first_only || !is_names(s, &subdirs))
		return 0;
	s->out->subdirs += subdirs;
	return keep(s, blk);
}

static int examine_group(struct finder *s, uint64_t group, uint8_t *bits)
{
	const struct xw_image *img = s->f->ses.img;
	const xw_blk start = img->sb.first_data_block + group * img->sb.blocks_per_group;
	const uint64_t n = XW_MIN(img->sb.blocks_per_group, img->sb.blocks_count - start);
	struct xw_group_desc gd;
	int rc = 0;

	if (xw_image_group(s->f->ses.img, group, &gd) || xw_image_block_uninit(img, &gd) ||
	    !xw_image_has_blocks(img, gd.block_bitmap, 1) ||
	    fsck_read(s->f, gd.block_bitmap, 1, bits))
		return 0;
	for (uint64_t i = 0; i < n && !rc; i++)
		if (bits[i / 8] >> i % 8 & 1)
			rc = examine(s, start + i);
	return rc;
}

/*
 * Is each block of this extent a directory block without another owner? For a map with wrong
 * blocks.
 */
static bool is_own(struct finder *s, const struct xw_map_run *run)
{
	uint32_t subdirs;

	for (uint64_t i = 0; i < run->len; i++) {
		const xw_blk blk = run->pblk + i;

		if (fsck_is_contested(s->f, blk) || fsck_read(s->f, blk, 1, s->block) ||
		    !is_names(s, &subdirs))
			return false;
	}
	return !run->unwritten;
}

static int keep_parts(struct finder *s, const struct xw_inode *in)
{
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;

	if (xw_map_begin(s->f->ses.img, XW_INO_ROOT, in, 0, &it))
		return 0;
	while (xw_map_next(&it, &run) > 0) {
		if (!is_own(s, &run))
			continue;
		for (uint64_t i = 0; i < run.len; i++)
			if (!fsck_read(s->f, run.pblk + i, 1, s->block) && keep(s, run.pblk + i))
				return XW_ERR_NOMEM;
	}
	return 0;
}

/* Claim the blocks found, so that no update allocates them. */
static int claim(struct fsck *f, const struct fsck_root_blocks *found)
{
	int rc = found->first ? fsck_claim(f, FSCK_O_DIR, found->first, 1, NULL) : 0;

	for (size_t i = 0; i < found->more.n && !rc; i++)
		if (!fsck_is_claimed(f, found->more.v[i]))
			rc = fsck_claim(f, FSCK_O_DIR, found->more.v[i], 1, NULL);
	return rc;
}

int fsck_root_blocks(struct fsck *f, const struct xw_inode *in, struct fsck_root_blocks *out)
{
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *block = malloc(bs), *bits = malloc(bs);
	auto_free struct finder *s = calloc(1, sizeof(*s));
	int rc = block && bits && s ? 0 : xw_fail_nomem(&f->ses.diag, "root directory");

	*out = (struct fsck_root_blocks){0};
	/* Clusters cannot be mapped one block at a time. */
	if (rc || xw_image_cluster_bits(f->ses.img) || f->ses.img->sb.blocks_per_group > 8 * bs)
		return rc;
	s->f = f;
	s->out = out;
	s->block = block;
	s->generation = in ? in->generation : 0;
	s->seeded = in != NULL;
	s->seed = xw_inode_seed(f->ses.img->csum_seed, XW_INO_ROOT, s->generation);
	rc = in ? keep_parts(s, in) : 0;
	s->first_only = !s->seeded;
	for (uint64_t g = 0; g < f->ses.img->groups && s->first_only && !rc; g++)
		rc = examine_group(s, g, bits);
	s->first_only = false;
	s->looked = s->inner_end = 0;
	for (uint64_t g = 0; g < f->ses.img->groups && !rc; g++)
		rc = examine_group(s, g, bits);
	xw_diag_clear(&f->ses.diag); /* unreadable blocks are skipped */
	if (!rc)
		rc = put_in_order(s);
	xw_vec_free(&s->more);
	if (!out->first && s->unproven)
		out->more.n = out->subdirs = 0;
	return rc ? rc : claim(f, out);
}
