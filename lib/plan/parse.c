/* SPDX-License-Identifier: MIT */
/* Setters that several files of options share. */
#include "plan/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int xw_bad_value(struct xw_diag *diag, const char *name, const char *value, const char *why)
{
	const bool letter = *name == '-' && !strchr(name, ' ');

	return xw_fail(diag, XW_ERR_USAGE, "%s%c%.80s: %s", name, letter ? ' ' : '=', value, why);
}

int xw_set_text(char **text, const char *value, struct xw_diag *diag)
{
	char *copy = strdup(value);

	if (!copy)
		return xw_fail_nomem(diag, "option value");
	free(*text);
	*text = copy;
	return 0;
}

int xw_parse_ranged(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out,
		    struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_u64(text, &n) || n < min || n > max) {
		char why[80];

		snprintf(why, sizeof(why), "must be a number from %llu to %llu",
			 (unsigned long long)min, (unsigned long long)max);
		return xw_bad_value(diag, name, text, why);
	}
	*out = n;
	return 0;
}
