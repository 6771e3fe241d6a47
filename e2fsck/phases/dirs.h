/* SPDX-License-Identifier: MIT */
/* Shared by the files of the phase `dirs`. */
#ifndef XW_FSCK_DIRS_H
#define XW_FSCK_DIRS_H

#include "facts/dirs.h"
#include "phases/phases.h"

/* Report a finding about the current directory. */
#define DIR_FOUND(s, ID, ...) FSCK_FOUND((s)->f, ID, .dir = (s)->d->ino, __VA_ARGS__)

/* Number of slots that fsck_dirscan.dups needs for an area of `size` bytes. */
uint32_t fsck_dup_slots(uint32_t size);
/* dir_block.c: check and repair the entries; s->dirty is set if a->data was changed. */
void fsck_dir_area(struct fsck_dirscan *s, const struct fsck_area *a);

/* dir_entry.c: check an entry other than "." and "..". False: it must be cleared. */
bool fsck_dir_entry(struct fsck_dirscan *s, const struct fsck_area *a,
		    struct xw_dirblock_item *item);
/*
 * dir_mode.c: the entry in `parent` has the type of a directory, but the inode is a regular file.
 * *wanted: there is more evidence for a directory. True: the inode's mode was repaired.
 */
bool fsck_dir_restore(struct fsck *f, xw_ino ino, xw_ino parent, bool *wanted);
/* dir_entry.c: check the file type of "." or "..". */
void fsck_dir_dot_type(struct fsck_dirscan *s, const struct fsck_area *a,
		       struct xw_dirblock_item *item);

/* dir_inline.c: check directory i of f->facts.dirs, whose entries are in its inode. */
int fsck_dir_inline(struct fsck_dirscan *s, uint32_t i);

/* dir_htree.c: check the index of directory i. Sets d->rebuild if it is damaged. */
int fsck_dir_htree(struct fsck_dirscan *s, uint32_t i);

#endif
