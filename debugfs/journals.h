/* SPDX-License-Identifier: MIT */
/* Shared by the verbs that write and replay the journal. */
#ifndef XW_DEBUGFS_JOURNALS_H
#define XW_DEBUGFS_JOURNALS_H

#include "debugfs.h"

/* Is the journal on another device? */
bool dbg_journal_external(const struct xw_super *sb);
/*
 * The device of the external journal: `given`, or the one that this session opened last, or the one
 * with the UUID in the superblock. *out is owned by the caller.
 */
int dbg_journal_device(struct dbg *d, const char *given, char **out);
/* The verb journal_run (replay_journal.c). */
int dbg_verb_journal_run(struct dbg *d, int argc, char **argv);

#endif
