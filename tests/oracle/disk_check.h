/* SPDX-License-Identifier: MIT */
/* The image under examination, shared by the parts of t_disk_oracle. Test code: reads through a
 * private map, trusts nothing. */
#ifndef XW_TESTS_DISK_CHECK_H
#define XW_TESTS_DISK_CHECK_H

#include "base/types.h"
#include "disk/dirent.h"
#include "disk/extent.h"
#include "disk/group.h"
#include "disk/inode.h"
#include "disk/super.h"

struct img {
	const uint8_t *map;
	uint64_t size;
	struct xw_super sb;
	uint32_t seed, bs;
	uint64_t groups;
	struct xw_group_desc *gd;
	unsigned bad;
	/* what was seen, so that a script can tell that a test tested something */
	struct {
		unsigned supers, groups, bitmaps, inodes, extent_blocks, dir_blocks, dx_blocks,
			ibody_xattrs, xattr_blocks, ea_inodes, journals, inline_dirs, devices;
	} n;
};

/* File blocks in logical order, holes left out. */
struct map {
	struct {
		uint32_t lblk;
		xw_blk pblk;
	} * v;
	size_t n, room;
};

/* Count and print a finding. */
void bad(struct img *im, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The block's bytes, NULL beyond the image. */
const uint8_t *block_at(const struct img *im, xw_blk b);
/* Say so and count it when the two differ. */
void same(struct img *im, const void *got, const void *want, size_t n, const char *what,
	  uint64_t nr);
/* The record of an inode, NULL when out of reach. */
const uint8_t *inode_at(const struct img *im, xw_ino ino);

/* Blocks of the file; extent blocks are checked on the way. */
void map_load(struct img *im, xw_ino ino, const struct xw_inode *in, struct map *out);
xw_blk map_find(const struct map *m, uint32_t lblk);

void check_dir(struct img *im, xw_ino ino, const struct xw_inode *in, const struct map *m);
void check_xattrs(struct img *im, xw_ino ino, const uint8_t *rec, const struct xw_inode *in);
void check_ea_inode(struct img *im, xw_ino ino, const struct xw_inode *in, const struct map *m);
/*
 * Print the superblock in dumpe2fs's words, an inode in debugfs's, an inode as the kernel sees it:
 * stat -c '%i %f %u %g %h %s %b %t:%T %x %y %z' in UTC without zones.
 */
void print_super(const struct img *im);
void print_inode(const struct img *im, xw_ino ino);
void print_kernel(const struct img *im, xw_ino ino);

#endif
