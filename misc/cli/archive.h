/* SPDX-License-Identifier: MIT */
#ifndef XW_CLI_ARCHIVE_H
#define XW_CLI_ARCHIVE_H

/* Print a hint that names the tools to use if `image` is an archive, or compressed. */
void cli_archive_hint(const char *image);

#endif
