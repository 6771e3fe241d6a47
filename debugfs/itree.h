/* SPDX-License-Identifier: MIT */
/* Of itree.c: verbs, in the table of htree.c; and what `feature` asks. */
#ifndef XW_DEBUGFS_ITREE_H
#define XW_DEBUGFS_ITREE_H

#include "debugfs.h"

int dbg_verb_itree(struct dbg *d, int argc, char **argv);
int dbg_verb_itree_check(struct dbg *d, int argc, char **argv);
/* Before the feature itree is set: XW_ERR_STATE where a directory's flag is left from an earlier
 * life of it. */
int dbg_itrees_hold(struct dbg *d);

#endif
