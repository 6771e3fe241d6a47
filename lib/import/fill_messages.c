// SPDX-License-Identifier: MIT
/* Messages about entries of a source. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "import/fill.h"

int xw_fill_fail(struct xw_fill *f, const struct xw_entry *e, int code, const char *fmt, ...)
{
	char line[32] = "", why[sizeof(f->diag->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (e->listed)
		snprintf(line, sizeof(line), "line %lu: ", e->listed);
	xw_diag_clear(f->diag);
	return xw_fail(f->diag, code, "%s: %s%.*s: %s", f->source ? f->source : "attributes", line,
		       XW_SHOWN(e->path), why);
}

void xw_fill_warn(struct xw_fill *f, const struct xw_entry *e, const char *fmt, ...)
{
	char what[sizeof(f->diag->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	xw_log(f->diag, XW_LOG_WARN, "%s: %.*s: %s", f->source ? f->source : "attributes",
	       XW_SHOWN(e->path), what);
}
