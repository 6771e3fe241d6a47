/* SPDX-License-Identifier: MIT */
/* The phases of a round, in the order of the table in check/rounds.c; functions they share. */
#ifndef XW_FSCK_PHASES_H
#define XW_FSCK_PHASES_H

#include "open/open.h"

int fsck_check_super(struct fsck *f); /* super.c; see super.h */
int fsck_check_inodes(struct fsck *f); /* inodes.c; see inodes.h */
int fsck_claim_itrees(struct fsck *f); /* itree.c: nodes of itrees, as part of the claims */
int fsck_relocate(struct fsck *f); /* relocate.c: allocate lost bitmaps and inode tables */
int fsck_find_values(struct fsck *f); /* xattr_value.c: lost values, in unclaimed blocks */
int fsck_check_contested(struct fsck *f); /* contested.c */
int fsck_check_special(struct fsck *f); /* special.c: blocks referenced by the superblock only */
int fsck_check_xattrs(struct fsck *f); /* xattrs.c */
int fsck_check_dirs(struct fsck *f); /* dirs.c; see dirs.h */
int fsck_check_tree(struct fsck *f); /* tree.c */
int fsck_check_links(struct fsck *f); /* links.c */
int fsck_recreate(struct fsck *f); /* journal.c: recreate a lost journal */
int fsck_find_bad(struct fsck *f); /* bad.c: scan for bad blocks (-c) or read a list (-l, -L) */
int fsck_set_bad(struct fsck *f); /* bad.c: write the bad-block inode at the end of a round */

/* special.c: claim the blocks to which only the superblock refers. */
int fsck_claim_special(struct fsck *f);
/*
 * group_flags.c: a directory entry refers to ino, which seems to be unused. True: its record is in
 * the part of the inode table that the descriptor calls unused, so the whole table is read in the
 * next round.
 */
bool fsck_group_expose(struct fsck *f, xw_ino ino, const char *name, size_t len);
/* inode_encrypt.c: do both inodes have the same encryption policy? True if one is unknown. */
bool fsck_same_policy(const struct fsck *f, xw_ino dir, xw_ino ino);
/*
 * xattrs.c: check the attributes in the record of an inode in use and its xattr block, before
 * i_blocks is checked. A repair changes *raw and *in and sets *dirty; the caller writes the record.
 * *blocks is the number of filesystem blocks that the attributes add to i_blocks: the xattr block
 * and values in EA inodes.
 */
int fsck_xattr_inode(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t *raw, bool *dirty,
		     uint64_t *blocks);

/* ---- itree.c ---- */

/*
 * Set the missing feature bit of itrees if this directory has a tree: its slot refers to a root
 * node that names the directory. True: the bit was set.
 */
bool fsck_itree_feature(struct fsck *f, xw_ino ino, const struct xw_inode *in);
/* Set a missing flag (INDEX or ITREE) of a directory with an itree. True: *in was changed. */
bool fsck_itree_flags(struct fsck *f, xw_ino ino, struct xw_inode *in);
/* Drop the itrees whose entries differ from those of the directory. */
int fsck_itree_compare(struct fsck *f);
/* Rebuild the itrees that were dropped; with -E itree build those of all directories. */
int fsck_itree_build(struct fsck *f);

#endif
