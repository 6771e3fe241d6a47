/* SPDX-License-Identifier: MIT */
/* What the verbs that write and replay the journal share. */
#ifndef XW_DEBUGFS_JOURNALS_H
#define XW_DEBUGFS_JOURNALS_H

#include "debugfs.h"

/* Has the image a journal on another device? */
bool dbg_journal_external(const struct xw_super *sb);
/*
 * That device: the given one, else the one that this session opened last, else by its UUID. *out
 * is owned by the caller.
 */
int dbg_journal_device(struct dbg *d, const char *given, char **out);
/* The verb journal_run (replay_journal.c). */
int dbg_verb_journal_run(struct dbg *d, int argc, char **argv);

#endif
