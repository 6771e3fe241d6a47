/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/date.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/date.h"

bool cli_date(const char *word, char *text, size_t room)
{
	char exact[XW_DATE_TEXT];
	struct xw_time t;
	struct stat st;

	if (*word == '@') {
		if (!xw_date_seconds(word + 1, &t))
			return false;
	} else if (*word == '/' || *word == '.') {
		if (stat(word, &st))
			return false;
		t = (struct xw_time){st.st_mtim.tv_sec, (uint32_t)st.st_mtim.tv_nsec};
	} else if (!xw_date_calendar(word, mktime, &t)) {
		return false;
	}
	xw_date_text(t, exact);
	snprintf(text, room, "%s", exact);
	return true;
}
