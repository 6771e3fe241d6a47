// SPDX-License-Identifier: MIT
/* The name of the filesystem in messages. */
#include "config.h"

#include <string.h>

#include "report/report.h"

/* Labels with control characters, and labels of spaces only, are not used as a name. */
static bool is_printable(const char *label, size_t n)
{
	bool letters = false;

	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)label[i] < ' ' || label[i] == 127)
			return false;
		letters |= label[i] != ' ';
	}
	return letters;
}

void fsck_name_read(struct fsck *f)
{
	uint8_t raw[XW_SUPER_SIZE];
	struct xw_super sb;
	size_t n;

	if (xw_dev_pread(f->ses.dev, raw, sizeof(raw), XW_SUPER_OFFSET) ||
	    xw_super_decode(raw, &sb)) {
		xw_diag_clear(&f->ses.diag);
		return;
	}
	n = strnlen(sb.volume_name, sizeof(sb.volume_name));
	if (is_printable(sb.volume_name, n))
		snprintf(f->ses.label, sizeof(f->ses.label), "%.*s", (int)n, sb.volume_name);
}

const char *xw_fsck_name(const struct fsck *f)
{
	if (f->opts.name)
		return f->opts.name;
	return *f->ses.label ? f->ses.label : f->opts.image;
}
