/* SPDX-License-Identifier: MIT */
/* Fills an image up to a share of its blocks, as years of use would:  age IMAGE UTIL SEED */
#include <stdio.h>
#include <xw.h>

static void print_warning(void *arg, enum xw_severity severity, const char *line)
{
	(void)arg;
	if (severity == XW_WARNING)
		fprintf(stderr, "warning: %s\n", line);
}

int main(int argc, char **argv)
{
	const struct xw_age_result *r;
	char until[32];
	struct xw_age *a;
	int rc = argc == 4 ? xw_age_new(&a) : XW_E_USAGE;

	if (rc)
		return 2;
	xw_age_on_log(a, print_warning, NULL);
	snprintf(until, sizeof(until), "util=%s", argv[2]);
	rc = xw_age_set(a, "--profile", "pazdera");
	if (!rc)
		rc = xw_age_set(a, "--until", until);
	if (!rc)
		rc = xw_age_set(a, "--seed", argv[3]);
	if (!rc)
		rc = xw_age_run(a, argv[1]);
	r = xw_age_result(a);
	if (rc)
		fprintf(stderr, "%s\n", xw_age_error(a));
	else
		printf("%d operations, layout %.4f -> %.4f\n%s\n", (int)r->operations,
		       r->before.layout_score, r->after.layout_score, xw_age_json(a));
	xw_age_free(a);
	return rc != 0;
}
