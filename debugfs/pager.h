/* SPDX-License-Identifier: MIT */
/* Results longer than the terminal go through the user's pager. */
#ifndef XW_DEBUGFS_PAGER_H
#define XW_DEBUGFS_PAGER_H

#include <stdbool.h>
#include <stdio.h>

struct pager;

/*
 * A stream that replaces `term`, a terminal. Up to one screen is kept back; more output starts the
 * pager. NULL: there is no pager, or no memory, and `term` itself is to be used.
 */
FILE *dbg_pager_open(FILE *term, struct pager **out);
/* Print the kept text on the terminal, because a message follows. */
void dbg_pager_flush(struct pager *p, FILE *stream);
/* The pager ended before the end of the output: the user has quit it. */
bool dbg_pager_left(const struct pager *p);
/* Close the stream, wait for the pager, free p. */
void dbg_pager_close(struct pager *p, FILE *stream);

#endif
