/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "api/option.h"

#include <stdlib.h>
#include <string.h>

#include "plan/params.h"

int xw_option_offset(const char *value, uint64_t *offset, struct xw_diag *diag)
{
	static const char key[] = "offset=";

	if (!value || strncmp(value, key, sizeof(key) - 1))
		return xw_fail(diag, XW_ERR_USAGE, "-E: \"%s\" is not offset=BYTES",
			       value ? value : "");
	return xw_parse_offset(value + sizeof(key) - 1, offset, diag);
}

int xw_option_alone(const char *const *flags, const char *option, const char *value,
		    struct xw_diag *diag)
{
	for (; value && *flags; flags++)
		if (!strcmp(option, *flags))
			return xw_fail(diag, XW_ERR_USAGE, "%s: takes no value", option);
	return 0;
}

bool xw_option_flag(const struct xw_option_flag *flags, size_t n, const char *option)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(option, flags[i].name) != 0)
			continue;
		*flags[i].flag = true;
		return true;
	}
	return false;
}

int xw_option_given(struct xw_diag *diag, bool given, const char *what)
{
	if (!diag)
		return XW_ERR_USAGE;
	xw_diag_clear(diag);
	return given ? 0 : xw_fail(diag, XW_ERR_USAGE, "argument %s is NULL", what);
}

int xw_option_unused(bool ran, const char *what, struct xw_diag *diag)
{
	xw_diag_clear(diag);
	return ran ? xw_fail(diag, XW_ERR_RAN, "%s: the handle was run already", what) : 0;
}

int xw_option_text(const char *option, const char *value, char **where, struct xw_diag *diag)
{
	char *own;

	if (!value)
		return xw_fail(diag, XW_ERR_USAGE, "%s: needs a value", option);
	own = strdup(value);
	if (!own)
		return xw_fail_nomem(diag, "option");
	free(*where);
	*where = own;
	return 0;
}
