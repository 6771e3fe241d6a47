/* SPDX-License-Identifier: MIT */
/* Results that are longer than the terminal go through the user's pager. */
#ifndef XW_DEBUGFS_PAGER_H
#define XW_DEBUGFS_PAGER_H

#include <stdbool.h>
#include <stdio.h>

struct pager;

/*
 * A stream in place of `term`, a terminal. A screenful is kept back; what is more starts the pager.
 * NULL: there is no pager, or no memory, and `term` itself serves.
 */
FILE *dbg_pager_open(FILE *term, struct pager **out);
/* Put on the terminal what is kept back, since something else is to be said there. */
void dbg_pager_flush(struct pager *p, FILE *stream);
/* The pager ended while there was more to come: whoever reads has seen enough. */
bool dbg_pager_left(const struct pager *p);
/* Close the stream, wait for the pager, free p. */
void dbg_pager_close(struct pager *p, FILE *stream);

#endif
