/* SPDX-License-Identifier: MIT */
/*
 * What features put into a filesystem beside its tree: quota files, the orphan file, the mount
 * protection's block. Their inodes come right behind lost+found, or have reserved numbers.
 */
#ifndef XW_FILL_HIDDEN_H
#define XW_FILL_HIDDEN_H

#include "place/place.h"

struct xw_builder;

struct xw_hidden {
	struct xw_quota_file quota[XW_QUOTA_TYPES];
	struct xw_binode orphan; /* ino 0: not made */
	struct xw_binode bad; /* inode 1: n_ext 0 = no bad blocks */
	xw_blk mmp_block; /* 0 = none */
};

/* hidden.c */
void xw_hidden_free(struct xw_builder *b);
/* Inodes behind lost+found, and their numbers: from `last` + 1 on; returns the last one given. */
uint32_t xw_hidden_count(const struct xw_builder *b);
xw_ino xw_hidden_number(struct xw_builder *b, xw_ino last);
/* Bad blocks become inode 1's, before anything is placed. */
int xw_bad_reserve(struct xw_builder *b);
/* SIZE known: blocks for what does not depend on the content. */
int xw_hidden_reserve(struct xw_builder *b);
/* Blocks for the rest, once everything in the tree has its own: usage counts them. */
int xw_hidden_place(struct xw_builder *b);
int xw_hidden_items(struct xw_builder *b);
void xw_hidden_super(struct xw_builder *b);
/*
 * Blocks for an orphan file of that many, 0 = none; `mark` is where things stood before, and
 * unplacing goes back there. SIZE left out: the file's size is known last of all.
 */
struct xw_hidden_mark {
	struct xw_stream stream;
	xw_blk gap;
	size_t items;
};
int xw_orphan_place(struct xw_builder *b, uint64_t blocks, struct xw_hidden_mark *mark);
int xw_orphan_unplace(struct xw_builder *b, const struct xw_hidden_mark *mark);
/* Its number, if it has one, stays free. */
void xw_orphan_drop(struct xw_builder *b);

#endif
