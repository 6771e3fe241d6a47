/* SPDX-License-Identifier: MIT */
/*
 * Paths of inodes for reports. Nothing is read or kept until the first path is needed.
 *
 * Then all directories are read once, and the block with the name of each inode is noted: 4 bytes
 * for each inode of a group with names. A path is found upwards from there, one block a component.
 * From pass 2 on the directories and their blocks are facts, and are read in disk order. Before
 * that, they are found from the root downwards, up to a limit; beyond it, inodes have no path.
 */
#ifndef XW_FSCK_FACTS_PATHS_H
#define XW_FSCK_FACTS_PATHS_H

#include "facts/facts.h"

/* Bytes of a path, with the end; of longer ones the last part is known, behind "...". */
enum { FSCK_PATH_MAX = 4096 };

struct fsck_paths; /* of one check */

struct fsck_paths *fsck_paths_new(void); /* NULL: out of memory */
void fsck_paths_free(struct fsck_paths *p);
/*
 * The path of an inode; a hard link has that of one of its names. Returns buf, or NULL: not known.
 * The path of what is below a directory without a name begins with its number: "<12>/name". Bytes
 * that no name can have are question marks. Only from pass 1 on. Nothing of *f is changed.
 */
const char *fsck_path(struct fsck *f, struct fsck_paths *p, xw_ino ino, char buf[FSCK_PATH_MAX]);
/* The directory in which a removed entry of the inode is still readable; 0: none is known. */
xw_ino fsck_path_removed(struct fsck *f, struct fsck_paths *p, xw_ino ino);

#endif
