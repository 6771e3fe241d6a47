/* SPDX-License-Identifier: MIT */
/* Check an image and say what is wrong with it; with -y, repair it:  check [-y] IMAGE */
#include <stdio.h>
#include <string.h>
#include <xw.h>

static void found(void *arg, const struct xw_finding *f)
{
	(void)arg;
	if (f->severity != XW_FINDING_NOTE && !f->follows)
		printf("%s%s\n", f->text, f->repaired ? " (repaired)" : "");
}

int main(int argc, char **argv)
{
	const int repair = argc == 3 && !strcmp(argv[1], "-y");
	struct xw_check *c;
	int rc = argc == 2 + repair ? xw_check_new(&c) : XW_E_USAGE;

	if (rc)
		return 2;
	rc = xw_check_set(c, repair ? "-y" : "-n", NULL);
	if (!rc)
		rc = xw_check_set(c, "-f", NULL);
	xw_check_on_finding(c, found, NULL);
	if (!rc)
		rc = xw_check_run(c, argv[argc - 1]);
	if (rc)
		fprintf(stderr, "%s\n", xw_check_error(c));
	else
		printf("%d errors, %d left\n", (int)xw_check_result(c)->found,
		       (int)xw_check_result(c)->left);
	rc = rc ? XW_CHECK_FAILED : xw_check_result(c)->status;
	xw_check_free(c);
	return rc;
}
