/* SPDX-License-Identifier: MIT */
#ifndef XW_CLI_FOREIGN_H
#define XW_CLI_FOREIGN_H

/*
 * If `image` is an archive, compressed, or another kind of filesystem, disk image or volume, print
 * a hint that names it, and the tools to use.
 */
void cli_foreign_hint(const char *image);
/* What it is: "a tar archive"; NULL: unknown. */
const char *cli_foreign_what(const char *image);

#endif
