/* SPDX-License-Identifier: MIT */
/* Shared by the files of the phase `dirs`. */
#ifndef XW_FSCK_DIRS_H
#define XW_FSCK_DIRS_H

#include "facts/dirs.h"
#include "phases/phases.h"

/* Number of slots in `dups` for an area of that size. */
uint32_t fsck_dup_slots(uint32_t size);
/* dir_block.c: check the entries; a->data is changed if something is repaired (s->dirty). */
void fsck_dir_area(struct fsck_dirscan *s, const struct fsck_area *a);

/* dir_entry.c: one entry except "." and "..". false: it must be cleared. */
bool fsck_dir_entry(struct fsck_dirscan *s, const struct fsck_area *a,
		    struct xw_dirblock_item *item);
/*
 * dir_mode.c: the entry of ino in the directory `parent` says directory, but the inode does not.
 * True: there is other evidence, and its mode is repaired; only *wanted: that was declined.
 */
bool fsck_dir_restore(struct fsck *f, xw_ino ino, xw_ino parent, bool *wanted);
/* The type of "." and ".." */
void fsck_dir_dot_type(struct fsck_dirscan *s, const struct fsck_area *a,
		       struct xw_dirblock_item *item);

/* dir_inline.c: directory i of f->dirs, whose entries are in its inode. */
int fsck_dir_inline(struct fsck_dirscan *s, uint32_t i);

/* dir_htree.c: the index of directory i. Sets d->rebuild. */
int fsck_dir_htree(struct fsck_dirscan *s, uint32_t i);

#endif
