/* SPDX-License-Identifier: MIT */
/* Between the files of the room. */
#ifndef XW_UPDATE_UPDATE_INTERNAL_H
#define XW_UPDATE_UPDATE_INTERNAL_H

#include "update/update.h"

/* open.c calls it: orphans are put away as part of the change. */
int xw_update_orphans(struct xw_update *u);
/* old.c: what of i_blocks is not map and contents (xattrs), in blocks. */
int xw_update_other_blocks(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			   uint64_t *other);
/*
 * itree.c: every node of a directory's itree, each seen once and found to be what it should. None
 * where there is no itree.
 */
int xw_update_itree_nodes(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			  int (*fn)(void *arg, xw_blk blk, unsigned level), void *arg);
/* n's map, size and blocks, plus `other` blocks, into *in. */
int xw_update_set_map(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in,
		      uint64_t other);
/* The record of an inode of the image, where the tree changed something about it. */
int xw_update_old(struct xw_update *u, const struct xw_binode *n);
/* itable.c: all records into their tables. */
int xw_update_write_recs(struct xw_update *u);
/* groups.c: bitmaps, descriptors, superblock. */
int xw_update_groups(struct xw_update *u);
/* quota.c: what an owner gains (negative: loses), in inodes and bytes; the files, at the end. */
int xw_update_charge(struct xw_update *u, const struct xw_inode *in, int64_t inodes, int64_t bytes);
int xw_update_quota(struct xw_update *u);
/* i_blocks, in bytes. */
uint64_t xw_update_bytes(const struct xw_update *u, const struct xw_inode *in);

#endif
