/* SPDX-License-Identifier: MIT */
/* Names of sources, as the library reads them: PATH, "-", or FORM:PATH of a container image. */
#ifndef XW_CLI_SOURCE_H
#define XW_CLI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"

/* The length of FORM with its colon; 0: the source is a PATH, or --no-oci makes it one. */
size_t cli_source_form(const struct cli_line *l, const char *source);
/* Is the source standard input? */
bool cli_source_is_stdin(const struct cli_line *l, const char *source);
/* Is the source standard input, and a terminal? Prints an error in that case. */
bool cli_source_is_terminal(const struct cli_line *l, const char *source);
/*
 * The name of the source, whose relative path begins at dir (NULL: the working directory); owned by
 * the caller. NULL: out of memory.
 */
char *cli_source_in_dir(const struct cli_line *l, const char *dir, const char *source);
/*
 * With --oci-config - only the configuration is printed on standard output: implies -q. -1, or the
 * exit status if --json is given, too.
 */
int cli_source_config(struct cli_line *l);

#endif
