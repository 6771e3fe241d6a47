/* SPDX-License-Identifier: MIT */
/*
 * Redo files of images that do not have them beside: block devices, and filesystems inside a larger
 * file.
 */
#ifndef XW_CLI_REDO_H
#define XW_CLI_REDO_H

#include "cli/options.h"

/* Parse the value of --commit: an enum xw_commit_how, or -1 after an error message. */
int cli_line_commit(const struct cli_line *l, const char *value);

/*
 * The directory of redo files for an image that is a block device or has the filesystem in a
 * window, with a final slash, for --redo-file: $EXTWRIGHT_STATE_DIR, else /var/lib/extwright for
 * root, and extwright in the user's XDG state directory for others. NULL for other images, and
 * without such a directory. malloc'd.
 */
char *cli_redo_dir(const char *image, bool window);

/* cli_redo_dir() with a result owned by the line. */
const char *cli_line_redo_dir(struct cli_line *l, const char *image);
/* Add this directory as the setting `option`, unless the user has given --redo-file. */
void cli_line_redo(struct cli_line *l, const char *image, const char *option);

#endif
