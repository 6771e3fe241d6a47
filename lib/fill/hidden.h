/* SPDX-License-Identifier: MIT */
/*
 * Objects that features add to a filesystem besides its tree: quota files, the orphan file, the MMP
 * block. Their inodes directly follow lost+found, or have reserved numbers.
 */
#ifndef XW_FILL_HIDDEN_H
#define XW_FILL_HIDDEN_H

#include "place/place.h"

struct xw_builder;

struct xw_hidden {
	struct xw_quota_file quota[XW_QUOTA_TYPES];
	struct xw_binode orphan; /* ino 0: there is none */
	struct xw_binode bad; /* inode 1: n_ext 0 = no bad blocks */
	xw_blk mmp_block; /* 0 = none */
};

/* hidden.c */
void xw_hidden_free(struct xw_builder *b);
/*
 * The number of inodes that follow lost+found; _number assigns them numbers from `last` + 1 on and
 * returns the last one.
 */
uint32_t xw_hidden_count(const struct xw_builder *b);
xw_ino xw_hidden_number(struct xw_builder *b, xw_ino last);
/* Assign bad blocks to inode 1, before anything is placed. */
int xw_bad_reserve(struct xw_builder *b);
/* SIZE known: allocate blocks for objects whose size does not depend on the contents. */
int xw_hidden_reserve(struct xw_builder *b);
/*
 * When everything in the tree is placed: allocate blocks for the other objects, whose size depends
 * on it.
 */
int xw_hidden_place(struct xw_builder *b);
int xw_hidden_items(struct xw_builder *b);
void xw_hidden_super(struct xw_builder *b);
/*
 * Allocate an orphan file of that many blocks, 0 = none. `mark` records the state before, which
 * xw_orphan_unplace() restores: without SIZE, the size of the file is known last.
 */
struct xw_hidden_mark {
	struct xw_stream stream;
	xw_blk gap;
	size_t items;
};
int xw_orphan_place(struct xw_builder *b, uint64_t blocks, struct xw_hidden_mark *mark);
int xw_orphan_unplace(struct xw_builder *b, const struct xw_hidden_mark *mark);
/* Drop the orphan file. Its inode number, if assigned, stays unused. */
void xw_orphan_drop(struct xw_builder *b);

#endif
