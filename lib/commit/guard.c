/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <string.h>

#include "commit/guard.h"

static int fail(const struct xw_guard *g, const char *what, const char *then)
{
	return xw_fail(g->base->diag, XW_ERR_BUSY, "%s: %s by another program meanwhile; %s",
		       g->base->name, what, then);
}

void xw_guard_init(struct xw_guard *g, struct xw_dev *base, bool in_use_too)
{
	struct xw_diag *devs = base->diag;

	*g = (struct xw_guard){.base = base, .in_use_too = in_use_too};
	base->diag = NULL; /* a short or unreadable device has no filesystem to protect */
	g->has_super = base->size >= XW_SUPER_OFFSET + XW_SUPER_SIZE &&
		       !xw_dev_pread(base, g->super, sizeof(g->super), XW_SUPER_OFFSET);
	base->diag = devs;
}

void xw_guard_set_super(struct xw_guard *g, const uint8_t super[XW_SUPER_SIZE])
{
	if (!g)
		return;
	memcpy(g->super, super, sizeof(g->super));
	g->has_super = true;
}

void xw_guard_freeze(struct xw_guard *g)
{
	struct xw_dev_stamp now;

	if (g)
		g->mtime = xw_dev_stamp(g->base, &now) ? 0 : now.mtime;
}

void xw_guard_unfreeze(struct xw_guard *g)
{
	if (g)
		g->mtime = 0;
}

static int compare_super(const struct xw_guard *g, bool fresh, bool *same)
{
	uint8_t now[XW_SUPER_SIZE];
	int rc;

	*same = true;
	if (!g->has_super)
		return 0;
	rc = fresh ? xw_dev_pread_fresh(g->base, now, sizeof(now), XW_SUPER_OFFSET)
		   : xw_dev_pread(g->base, now, sizeof(now), XW_SUPER_OFFSET);
	*same = !rc && !memcmp(now, g->super, sizeof(now));
	return rc;
}

int xw_guard_fail(const struct xw_guard *g, const char *then)
{
	return fail(g, "was mounted or changed", then);
}

int xw_guard_check(const struct xw_guard *g, const char *then)
{
	struct xw_dev_stamp now;
	bool same = true;
	int rc = xw_dev_stamp(g->base, &now);

	if (rc)
		return rc;
	if (now.size != g->base->size)
		return fail(g, "its size was changed", then);
	if (!g->in_use_too)
		rc = xw_dev_check_unused(g->base);
	if (!rc)
		rc = compare_super(g, !g->mounted, &same);
	if (rc)
		return rc;
	if (!same)
		return xw_guard_fail(g, then);
	return g->mtime && now.mtime != g->mtime ? fail(g, "was written to", then) : 0;
}

/* A thread may be writing, so the file may be longer than the device has recorded. */
bool xw_guard_glance(const struct xw_guard *g)
{
	struct xw_dev_stamp now;
	bool same;

	return !xw_dev_stamp(g->base, &now) && now.size >= g->base->size &&
	       !compare_super(g, false, &same) && same;
}
