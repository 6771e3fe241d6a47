/* SPDX-License-Identifier: MIT */
/* Options of xw-tune(8), one or more, on an image:  tune IMAGE [OPTION VALUE]... */
#include <signal.h>
#include <stdio.h>
#include <xw.h>

static volatile sig_atomic_t stop; /* a handler of SIGINT would set it */

static int canceled(void *arg, const struct xw_progress *p)
{
	(void)arg;
	(void)p;
	return stop;
}

int main(int argc, char **argv)
{
	const struct xw_tune_result *r;
	struct xw_tune *t;
	int rc = argc > 1 ? xw_tune_new(&t) : XW_E_USAGE;

	if (rc)
		return 2;
	xw_tune_on_progress(t, canceled, NULL);
	for (int i = 2; i + 1 < argc && !rc; i += 2)
		rc = xw_tune_set(t, argv[i], argv[i + 1]);
	if (!rc)
		rc = xw_tune_run(t, argv[1]);
	r = xw_tune_result(t);
	if (rc)
		fprintf(stderr, "%s\n", xw_tune_error(t));
	else
		printf("%s: %s -> %s, by %s\n", r->after.label, r->before.features,
		       r->after.features, r->commit);
	xw_tune_free(t);
	return rc != 0;
}
