/* SPDX-License-Identifier: MIT */
/* Files that a tool writes its results to, which must not be those it works on. */
#ifndef XW_CLI_OUTPUT_H
#define XW_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Open a file for writing from its start; it is made where there is none (*created, which may be
 * NULL, is true then), and cut where it is regular. Nothing is done to it if it is one of keep[n],
 * by whatever name, links and nodes of the same device included; entries may be NULL, and name what
 * is not there. A descriptor, or -1 with *kept NULL and errno, or with *kept the entry it is.
 */
int cli_output_open(const char *path, const char *const keep[], size_t n, bool *created,
		    const char **kept);

#endif
