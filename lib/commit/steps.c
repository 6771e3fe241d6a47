/* SPDX-License-Identifier: MIT */
/* Steps that both forms of the commit have: guarded writes of the superblock, and messages. */
#include "config.h"

#include <stdio.h>

#include "commit/commit_internal.h"
#include "commit/super.h"

int xw_commit_step_super(struct xw_change *c, const uint8_t super[XW_SUPER_SIZE])
{
	int rc = xw_commit_put_super(c->base, super);

	if (!rc)
		xw_guard_set_super(c->guard, super);
	return rc;
}

int xw_commit_check_image(struct xw_change *c, const char *then)
{
	int rc = c->guard ? xw_guard_check(c->guard, then) : 0;

	if (rc == XW_ERR_BUSY)
		c->foreign = true;
	return rc;
}

void xw_commit_explain_half(struct xw_change *c, const char *where, const char *next)
{
	char text[512];

	c->half = true;
	snprintf(text, sizeof(text), "the change is complete in %s; %s", where, next);
	if (c->foreign || !c->diag || !c->diag->code) {
		xw_log(c->diag, XW_LOG_WARN, "%s: %s", c->base->name, text);
		return;
	}
	xw_fail_add(c->diag, "; ");
	xw_fail_add(c->diag, text);
}

int xw_commit_check_canceled(const struct xw_commit_watch *watch, const char *name,
			     struct xw_diag *diag)
{
	if (!watch || !watch->ended || !watch->ended(watch->arg))
		return 0;
	return xw_fail(diag, XW_ERR_CANCELED, "%s: interrupted; the image is unchanged", name);
}
