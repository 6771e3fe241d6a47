/* SPDX-License-Identifier: MIT */
/* The phases of a round, in the order of the table in run.c, and what they ask of each other. */
#ifndef XW_FSCK_PHASES_H
#define XW_FSCK_PHASES_H

#include "open/open.h"

int fsck_check_super(struct fsck *f); /* super.c; see super.h */
int fsck_check_inodes(struct fsck *f); /* inodes.c; see inodes.h */
int fsck_claim_itrees(struct fsck *f); /* itree.c: nodes of itrees, as part of the claims */
int fsck_relocate(struct fsck *f); /* relocate.c: new places for lost bitmaps and tables */
int fsck_find_values(struct fsck *f); /* xattr_value.c: in blocks that nobody claims */
int fsck_check_contested(struct fsck *f); /* contested.c */
int fsck_check_special(struct fsck *f); /* special.c: what only the superblock refers to */
int fsck_check_xattrs(struct fsck *f); /* xattrs.c */
int fsck_check_dirs(struct fsck *f); /* dirs.c; see dirs.h */
int fsck_check_tree(struct fsck *f); /* tree.c */
int fsck_check_links(struct fsck *f); /* links.c */
int fsck_recreate(struct fsck *f); /* journal.c: recreate a lost journal */
/*
 * bad.c: find the blocks of -c, or read those of -l and -L; write their inode at the end of a
 * round.
 */
int fsck_find_bad(struct fsck *f);
int fsck_set_bad(struct fsck *f);

/* special.c: claims of what only the superblock refers to. */
int fsck_claim_special(struct fsck *f);
/*
 * group_flags.c: a name refers to ino, which is apparently not in use. Is it in a part of a table
 * that its descriptor calls unused? Then the whole table is read in the next round.
 */
bool fsck_group_expose(struct fsck *f, xw_ino ino, const char *name, size_t len);
/* inode_encrypt.c: do both have the same encryption policy, as far as known? */
bool fsck_same_policy(const struct fsck *f, xw_ino dir, xw_ino ino);
/*
 * xattrs.c, for each inode in use during `inodes`, before its i_blocks is checked: checks and
 * repairs the attributes in the record and the reference to its block. *raw and *in are changed by
 * a repair (*dirty; the caller writes the record). *blocks: filesystem blocks that its attributes
 * add to i_blocks, the block and values in EA inodes.
 */
int fsck_xattr_inode(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t *raw, bool *dirty,
		     uint64_t *blocks);

/* ---- itree.c ---- */

/*
 * The feature bit of itrees is missing, and this directory has a tree: its slot refers to a root
 * node that names it. True: the bit was set.
 */
bool fsck_itree_feature(struct fsck *f, xw_ino ino, const struct xw_inode *in);
/*
 * A directory with an itree lacks a flag that it needs (INDEX or ITREE). True: it was set in *in.
 */
bool fsck_itree_flags(struct fsck *f, xw_ino ino, struct xw_inode *in);
/* Drop the itrees whose entries differ from those of the directory. */
int fsck_itree_compare(struct fsck *f);
/* Build the itrees that are wanted. */
int fsck_itree_build(struct fsck *f);

#endif
