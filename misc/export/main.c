/* SPDX-License-Identifier: MIT */
/* xw-export: the files in an ext2, ext3 or ext4 image as a tar stream, or a listing of them. */
#include "cli/env.h"
#include "export/tool.h"

int main(int argc, char **argv)
{
	struct export_args args;
	struct xw_export *x;
	int status;

	if (xw_export_new(&x)) {
		cli_error("out of memory");
		return EXIT_FAILED;
	}
	status = export_args_parse(&args, x, argc, argv);
	if (status < 0) {
		cli_catch_interrupts();
		status = args.list ? export_listing(&args, x) : export_archive(&args, x);
	}
	xw_export_free(x);
	return cli_close_stdout(status);
}
