/* SPDX-License-Identifier: MIT */
/* Names of sources, as the library reads them: PATH, "-", or FORM:PATH of a container image. */
#ifndef XW_CLI_SOURCE_H
#define XW_CLI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"

/* The length of FORM and its colon; 0: there is none, or --no-oci says that it is a file's name. */
size_t cli_source_form(const struct cli_line *l, const char *source);
/* Is this standard input? */
bool cli_source_is_stdin(const struct cli_line *l, const char *source);
/* It is, and it is a terminal: prints an error. */
bool cli_source_is_terminal(const struct cli_line *l, const char *source);
/*
 * The name of the source if relative paths begin at dir (NULL: the working directory); owned by the
 * caller. NULL: out of memory.
 */
char *cli_source_in_dir(const struct cli_line *l, const char *dir, const char *source);
/*
 * --oci-config -: standard output is for the configuration, so that nothing else is printed there.
 * -1, or the exit status: --json needs it, too.
 */
int cli_source_config(struct cli_line *l);

#endif
