/* SPDX-License-Identifier: MIT */
#ifndef XW_CLI_ARCHIVE_H
#define XW_CLI_ARCHIVE_H

/* If `image` is an archive, or compressed: a hint that names the tools that take those. */
void cli_archive_hint(const char *image);

#endif
