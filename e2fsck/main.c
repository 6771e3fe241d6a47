// SPDX-License-Identifier: MIT
/* xw-fsck: check and repair. */
#include "config.h"

#include <stdio.h>
#include <time.h>

#include "fsck.h"

int main(int argc, char **argv)
{
	struct fsck f = {.opts = {.mode = FSCK_YES, .now = time(NULL)}};
	int rc;

	f.opts.image = argc > 1 ? argv[argc - 1] : "";
	rc = fsck_open(&f);
	if (!rc && f.img)
		rc = fsck_run(&f);
	if (rc)
		fprintf(stderr, "xw-fsck: %s\n", f.diag.text);
	fsck_close(&f, !rc);
	return rc ? 8 : 0;
}
