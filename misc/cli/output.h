/* SPDX-License-Identifier: MIT */
/* Output files of a tool, which must not be files that it works on. */
#ifndef XW_CLI_OUTPUT_H
#define XW_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Open a file for writing from its start; it is created if missing (then *created, which may be
 * NULL, is true), and truncated if regular. It is not touched if it is one of keep[n] under any
 * name, including links and other nodes of the same device; entries may be NULL, and may not exist.
 * Returns a descriptor, or -1 with *kept NULL and errno set, or with *kept the matching entry.
 */
int cli_output_open(const char *path, const char *const keep[], size_t n, bool *created,
		    const char **kept);

struct xw_diag;
/*
 * Open a drawing, which must not overwrite the image; XW_ERR_USAGE or XW_ERR_IO with a message. The
 * caller writes it, and passes the result to cli_drawing_close().
 */
int cli_drawing_open(const char *path, const char *image, struct xw_diag *diag, FILE **out);
int cli_drawing_close(FILE *f, int rc, const char *path, struct xw_diag *diag);

#endif
