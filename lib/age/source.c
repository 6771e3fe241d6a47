// SPDX-License-Identifier: MIT
#include "config.h"

#include "age/source.h"

int xw_age_source_open(const struct xw_age_opts *o, const struct xw_age_base *base,
		       struct xw_diag *diag, struct xw_age_source *src)
{
	switch (o->profile) {
	case XW_AGE_PAZDERA:
		return xw_age_pazdera(o, diag, src);
	case XW_AGE_ALTERNATE:
		return xw_age_alternate(o, base, diag, src);
	case XW_AGE_GERIATRIX:
		return xw_age_geriatrix(o, base, diag, src);
	case XW_AGE_TRACE:
		return xw_age_trace(o, diag, src);
	case XW_AGE_GIT:
		return xw_age_git(o, diag, src);
	}
	return xw_fail(diag, XW_ERR_USAGE, "unknown profile");
}
