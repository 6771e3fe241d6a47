// SPDX-License-Identifier: MIT
#include "config.h"

#include "age/run_internal.h"

int xw_age_fast_step(struct xw_age_run *r, struct xw_age_world *w)
{
	(void)w;
	return xw_fail(r->diag, XW_ERR_UNSUPPORTED, "--fast is not supported");
}
