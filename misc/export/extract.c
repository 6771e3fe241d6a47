/* SPDX-License-Identifier: MIT */
/* Files of the image in a directory. */
#include "export/tool.h"

int export_extract(const struct export_args *args, struct xw_export *x)
{
	struct cli_run run = {.line = &args->line};
	bool whole;
	int err, status;

	cli_progress_init(&run.bar, !args->line.quiet && !args->line.json);
	xw_export_on_log(x, cli_run_log, &run);
	xw_export_on_progress(x, cli_run_progress, &run);
	err = xw_export_extract(x, args->image, args->extract);
	cli_progress_wipe(&run.bar);
	cli_run_end(&run);
	if (err)
		cli_error("%s", xw_export_error(x));
	status = export_status(x, err, &whole);
	if (whole && (args->line.json || !args->line.quiet))
		export_print(args, x, args->extract);
	return status;
}
