/* SPDX-License-Identifier: MIT */
/* Verbs about itrees, in the table of htree.c, and a check for the verb feature. */
#ifndef XW_DEBUGFS_ITREE_H
#define XW_DEBUGFS_ITREE_H

#include "debugfs.h"

int dbg_verb_itree(struct dbg *d, int argc, char **argv);
int dbg_verb_itree_check(struct dbg *d, int argc, char **argv);
/* Before the feature itree is set: XW_ERR_STATE if the flag of a directory is stale. */
int dbg_check_itree_flags(struct dbg *d);

#endif
