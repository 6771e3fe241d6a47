/* SPDX-License-Identifier: MIT */
/* Verbs of itree.c; in the table of htree.c. */
#ifndef XW_DEBUGFS_ITREE_H
#define XW_DEBUGFS_ITREE_H

#include "debugfs.h"

int dbg_verb_itree(struct dbg *d, int argc, char **argv);
int dbg_verb_itree_check(struct dbg *d, int argc, char **argv);

#endif
