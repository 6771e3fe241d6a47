/* SPDX-License-Identifier: MIT */
/* The parts of xw-dump: arguments, the dump, the MMP check. */
#ifndef XW_DUMP_TOOL_H
#define XW_DUMP_TOOL_H

#include "cli/options.h"
#include "show/show.h"

struct dump_args {
	struct cli_line line;
	struct xw_show_source source;
	bool bad_blocks, force, places, header, mmp, hex;
};

/* -1: continue; otherwise the exit status. */
int dump_args_parse(struct dump_args *args, int argc, char **argv);

/* Print what args select; problems are counted in s. */
int dump_image(const struct dump_args *args, struct xw_show *s, struct xw_image *img);
/* Is the image in use? Waits if necessary. Returns the exit status. */
int dump_check_mmp(const struct dump_args *args, struct xw_show *s, struct xw_image *img);

#endif
