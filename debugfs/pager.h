/* SPDX-License-Identifier: MIT */
/* Results longer than the terminal are shown by the user's pager. */
#ifndef XW_DEBUGFS_PAGER_H
#define XW_DEBUGFS_PAGER_H

#include <stdbool.h>
#include <stdio.h>

struct pager;

/*
 * A stream that replaces `term`, a terminal. Up to one screen is buffered; more output starts the
 * pager. NULL: there is no pager, or no memory; use `term`.
 */
FILE *dbg_pager_open(FILE *term, struct pager **out);
/* Print the buffered text on the terminal, before a message. */
void dbg_pager_flush(struct pager *p, FILE *stream);
/* Did the user quit the pager before the end of the output? */
bool dbg_pager_left(const struct pager *p);
/* Close the stream, wait for the pager, free p. */
void dbg_pager_close(struct pager *p, FILE *stream);

#endif
