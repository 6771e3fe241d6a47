/* SPDX-License-Identifier: MIT */
/* Private to lib/update. */
#ifndef XW_UPDATE_UPDATE_INTERNAL_H
#define XW_UPDATE_UPDATE_INTERNAL_H

#include "update/update.h"

/* bias.c: the bias of the group's counts (zeros: unknown), and the total of all groups. */
struct xw_update_bias xw_update_bias_of(const struct xw_update *u, uint32_t group);
int64_t xw_update_bias_blocks(const struct xw_update *u);
/* The entry of a group; NULL: none. _entry creates it; NULL: out of memory. */
struct xw_update_bias *xw_update_bias_find(const struct xw_update *u, uint32_t group);
struct xw_update_bias *xw_update_bias_entry(struct xw_update *u, uint32_t group);
/* unchecked.c: like the bitmap readers of read/bitmaps.h, without their checks. */
int xw_unchecked_blocks(struct xw_update *u, uint32_t group, uint8_t *bits);
int xw_unchecked_inodes(struct xw_update *u, uint32_t group, uint8_t *bits);
/* The number of directories in the group, limited to the possible maximum. */
int xw_unchecked_dirs(struct xw_update *u, uint32_t group, uint32_t *dirs);
/* Index after the last inode of the group that was in use in its bitmap before the change. */
int xw_unchecked_end(struct xw_update *u, uint32_t group, uint32_t *end);
/* Number of records at the end of the group's table that were known to be unused before. */
uint32_t xw_unchecked_unused(const struct xw_update *u, uint32_t group,
			     const struct xw_group_desc *gd);
/* Free a run as far as possible. */
int xw_unchecked_release(struct xw_update *u, const struct xw_run *r);
/*
 * protect.c, with u->protect; otherwise these functions do nothing, and an inode is free if its
 * bitmap says so. XW_ERR_CHECKSUM: the bitmap's checksum is invalid.
 */
int xw_update_check_bitmap(struct xw_update *u, uint32_t group, bool inodes, uint32_t csum,
			   const uint8_t *bits);
/* Set the bits of metadata among the len blocks of a group. */
int xw_update_hide_metadata(struct xw_update *u, uint32_t group, xw_blk start, uint64_t len,
			    uint8_t *bits);
/* Before a bitmap is written: restore the bits that were hidden. */
void xw_update_expose(const struct xw_update *u, bool inode, uint32_t group, uint8_t *bits);
/*
 * Are some of the n blocks from blk on metadata? *some: number of blocks for which the answer
 * holds.
 */
bool xw_update_is_metadata(const struct xw_update *u, xw_blk blk, uint64_t n, uint64_t *some);
/* Free records and usage after they were written, or if they never will be. */
void xw_update_forget(struct xw_update *u);
/* orphan.c: process orphans as part of the change; called by open.c. */
int xw_update_orphans(struct xw_update *u);
/* release.c: the number of values in EA inodes. */
uint64_t xw_update_ea_values(const struct xw_xattr_set *set);
/* existing.c: set map and size of n in *in. */
void xw_update_set_contents(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in);
/* Likewise, and i_blocks: the blocks of contents and map plus `other`. */
int xw_update_set_map(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in,
		      uint64_t other);
/* itable.c: write all records to their tables. */
int xw_update_write_recs(struct xw_update *u);
/* The record of ino that this change has collected: img->pending. */
int xw_update_pending(void *arg, xw_ino ino, uint8_t *raw, bool *found);
void xw_update_forget_recs(struct xw_update *u);
/* usage.c: change of an owner's usage. */
struct xw_usage {
	uint64_t key; /* id of the owner plus one; 0: unused slot */
	int64_t inodes, space; /* count, bytes */
};
/* The change of an owner's usage; NULL: none. */
struct xw_usage *xw_usage_get(const struct xw_table *usage, uint32_t id);
/* quota.c: write the files, at the end. */
int xw_update_quota(struct xw_update *u);

#endif
