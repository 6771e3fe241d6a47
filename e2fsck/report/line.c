// SPDX-License-Identifier: MIT
/* Formats lines other than findings. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "report/report.h"

void fsck_line(struct fsck *f, enum fsck_line kind, const char *fmt, ...)
{
	char line[sizeof(f->ses.diag.text)];
	va_list ap;

	if (!f->ses.to || !f->ses.to->line)
		return;
	fsck_findings_flush(f);
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	f->ses.to->line(f->ses.to_arg, f, kind, line);
}
