/* SPDX-License-Identifier: MIT */
/*
 * Where redo files are of images that have no place for them, neither inside nor beside: block
 * devices, and filesystems in a part of a file.
 */
#ifndef XW_CLI_REDO_H
#define XW_CLI_REDO_H

#include "cli/options.h"

/* Parse the value of --commit: an enum xw_commit_how, or -1 after an error message. */
int cli_line_commit(const struct cli_line *l, const char *value);

/*
 * For an image that is a block device, or has the filesystem in a window of it, the directory of
 * redo files, with a slash at its end, as --redo-file takes it: $EXTWRIGHT_STATE_DIR, else
 * /var/lib/extwright for root, and extwright in the user's XDG state directory for others. NULL for
 * anything else, and where there is none. malloc'd.
 */
char *cli_redo_dir(const char *image, bool window);

/* The same, owned by the line. */
const char *cli_line_redo_dir(struct cli_line *l, const char *image);
/*
 * The same as a setting of the library, called `option`, unless the user has given --redo-file.
 */
void cli_line_redo(struct cli_line *l, const char *image, const char *option);

#endif
