/* SPDX-License-Identifier: MIT */
/*
 * Images of several kinds for the tests of steps; and whether every block and every inode is
 * counted where it belongs, as the strict readers see it.
 */
#ifndef XW_TESTS_SESSION_WORLD_H
#define XW_TESTS_SESSION_WORLD_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/xw.h"
#include "base/auto.h"
#include "read/bitmaps.h"
#include "read/dirs.h"
#include "read/file.h"
#include "read/xattrs.h"
#include "tmp.h"
#include "unit.h"
#include "edit/edit.h"
#include "session/edit.h"
#include "update/steps.h"

static char dir[64], path[96];
static struct xw_diag diag;

static const struct {
	const char *block_size, *features, *size;
} kinds[] = {
	{"1024", "none,filetype,sparse_super,large_file,dir_index,ext_attr,resize_inode", "16M"},
	{"1024", NULL, "16M"},
	{"4096", NULL, "24M"},
	{"4096", "inline_data,ea_inode,quota,project", "24M"},
	{"1024", "itree,^has_journal", "16M"},
	{"4096", "bigalloc,ea_inode", "64M"},
};

static inline void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(tmp_template(dir, sizeof(dir), "xw_t_steps")));
	snprintf(path, sizeof(path), "%s/image", dir);
	memset(&diag, 0, sizeof(diag));
}

static inline void teardown(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static inline void make(int kind)
{
	struct xw_mkfs *m;

	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-b", kinds[kind].block_size), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", kinds[kind].size), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "now", "1700000000"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-U", "01234567-89ab-cdef-0123-456789abcdef"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-E", "hash_seed=01234567-89ab-cdef-0123-456789abcdef"), 0);
	if (kinds[kind].features)
		ck_assert_int_eq(xw_mkfs_set(m, "-O", kinds[kind].features), 0);
	if (xw_mkfs_run(m, path))
		ck_abort_msg("%s", xw_mkfs_error(m));
	xw_mkfs_free(m);
}

static inline struct xw_edit *begin(struct xw_steps *s)
{
	const struct xw_edit_opts opts = {.now = 1700000000};
	struct xw_edit *e;

	if (xw_edit_begin(path, &opts, &diag, &e))
		ck_abort_msg("%s", diag.text);
	xw_steps_init(s, xw_edit_dev(e), &diag);
	s->now = 1700000000;
	return e;
}

static inline void ok(int rc)
{
	if (rc)
		ck_abort_msg("%d: %s", rc, diag.text);
}

/* ---- is everything counted where it belongs? ---- */

static inline int count_node(void *arg, xw_blk blk, unsigned depth)
{
	(void)blk;
	(void)depth;
	++*(uint64_t *)arg;
	return 0;
}

/* Blocks of an inode, and that i_blocks says so. */
static inline uint64_t blocks_of(struct xw_image *img, xw_ino ino, const struct xw_inode *in,
				 const uint8_t *raw)
{
	struct xw_xattr_iter xi;
	struct xw_xattr_ref a;
	struct xw_map_iter it;
	struct xw_map_run run;
	uint64_t n = 0, ea = 0;

	if (xw_inode_has_map(in)) {
		ok(xw_map_begin(img, ino, in, 0, &it));
		it.on_node = count_node;
		it.arg = &n;
		while (xw_map_next(&it, &run) == 1)
			n += run.len;
		xw_map_end(&it);
	}
	n += in->file_acl != 0;
	ok(xw_xattr_begin(img, ino, in, raw, &xi));
	while (xw_xattr_next(&xi, &a) == 1)
		if (a.value_ino)
			ea += xw_div_up(a.value_len, img->block_size);
	xw_xattr_end(&xi);
	if (!(in->flags & XW_FL_ITREE) && !(img->sb.feature_ro_compat & XW_RO_BIGALLOC))
		ck_assert_uint_eq(xw_inode_fs_blocks_512(in, &img->sb) * 512 / img->block_size,
				  n + ea);
	else /* nodes of its itree, whole clusters */
		n = xw_inode_fs_blocks_512(in, &img->sb) * 512 / img->block_size;
	return n;
}

static inline uint64_t count_files(struct xw_image *img, uint64_t *inodes)
{
	struct xw_inode_scan s;
	const uint8_t *raw;
	uint64_t n = 0;
	xw_ino ino;

	*inodes = 0;
	ok(xw_inode_scan_begin(img, 0, img->groups, &s));
	while (xw_inode_scan_next(&s, &ino, &raw) == 1) {
		struct xw_inode in;

		ck_assert_int_eq(xw_inode_verify(raw, &img->sb, img->csum_seed, ino), 0);
		ok(xw_inode_decode(raw, &img->sb, &in));
		if (in.mode && in.links) {
			n += blocks_of(img, ino, &in, raw);
			++*inodes;
		}
	}
	xw_inode_scan_end(&s);
	return n;
}

static inline uint64_t clear_bits(const uint8_t *bits, uint64_t n)
{
	uint64_t c = 0;

	for (uint64_t i = 0; i < n; i++)
		c += !(bits[i / 8] >> i % 8 & 1);
	return c;
}

/* The strict readers take every bitmap, and the sums are right. */
static inline void check_dev(struct xw_dev *dev)
{
	struct xw_sysmap *sys;
	struct xw_image *img;
	uint64_t free_blocks = 0, free_inodes = 0, meta = 0, inodes, files, ratio;

	ok(xw_image_open(dev, 0, &diag, &img));
	ok(xw_sysmap_new(img, &sys));
	ratio = img->sb.blocks_per_group / xw_image_group_bits(img);
	for (uint64_t g = 0; g < img->groups; g++) {
		uint8_t bits[8192];

		ok(xw_image_block_bitmap(img, sys, g, bits));
		free_blocks += clear_bits(bits, xw_image_group_bits(img)) * ratio;
		ok(xw_image_inode_bitmap(img, g, bits));
		free_inodes += clear_bits(bits, img->sb.inodes_per_group);
	}
	ck_assert_uint_eq(img->sb.free_blocks_count, free_blocks);
	ck_assert_uint_eq(img->sb.free_inodes_count, free_inodes);
	for (xw_blk b = img->sb.first_data_block; b < img->sb.blocks_count; b++) {
		bool is_meta;

		xw_sysmap_at(sys, b, 1, &is_meta);
		meta += is_meta;
	}
	files = count_files(img, &inodes);
	/* the resize inode's blocks are the descriptors' reserve: it is counted there */
	if (img->sb.feature_compat & XW_COMPAT_RESIZE_INODE) {
		struct xw_inode in;

		ok(xw_image_inode(img, XW_INO_RESIZE, &in, NULL));
		files -= xw_inode_fs_blocks_512(&in, &img->sb) * 512 / img->block_size;
		files += 1; /* its map */
	}
	if (ratio == 1) /* else metadata shares clusters */
		ck_assert_uint_eq(img->sb.blocks_count - img->sb.first_data_block - free_blocks,
				  meta + files);
	xw_sysmap_free(sys);
	xw_image_close(img);
}

static inline void check(void)
{
	struct xw_dev *dev;

	ok(xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &dev));
	check_dev(dev);
	xw_dev_close(dev);
}

#endif
