/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/date.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Copy nine digits of an optional fraction to `digits`; returns the position behind it. */
static const char *fraction(const char *p, char digits[10])
{
	size_t n;

	memcpy(digits, "000000000", 10);
	if (*p != '.' && *p != ',')
		return p;
	n = strspn(++p, "0123456789");
	memcpy(digits, p, n < 9 ? n : 9);
	return p + n;
}

/* Parse a zone as seconds east of Greenwich; false: p is not a zone. */
static bool zone(const char *p, long *east)
{
	const int sign = *p == '-' ? -1 : 1;
	int hours, minutes = 0, used = 0;

	*east = 0;
	if (!strcmp(p, "Z") || !strcmp(p, "UTC") || !strcmp(p, "GMT"))
		return true;
	if (*p != '+' && *p != '-')
		return false;
	if (sscanf(++p, "%2d%n", &hours, &used) != 1 || used != 2)
		return false;
	p += 2;
	p += *p == ':';
	if (*p && (sscanf(p, "%2d%n", &minutes, &used) != 1 || used != 2 || p[2]))
		return false;
	*east = sign * (hours * 3600L + minutes * 60L);
	return hours < 25 && minutes < 60;
}

static bool calendar(const char *word, char *text, size_t room)
{
	struct tm tm = {.tm_isdst = -1}, check;
	char digits[10];
	const char *p;
	time_t t;
	long east;
	int used = 0;

	if (sscanf(word, "%d-%2d-%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &used) != 3)
		return false;
	p = word + used;
	used = 0;
	if ((*p == ' ' || *p == 'T') && p[1] >= '0' && p[1] <= '9') {
		if (sscanf(++p, "%2d:%2d%n", &tm.tm_hour, &tm.tm_min, &used) != 2 || !used)
			return false;
		p += used;
		if (*p == ':') {
			used = 0;
			if (sscanf(p, ":%2d%n", &tm.tm_sec, &used) != 1)
				return false;
			p += used;
		}
	}
	p = fraction(p, digits);
	p += strspn(p, " ");
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	check = tm;
	if (*p && !zone(p, &east))
		return false;
	t = *p ? timegm(&tm) - east : mktime(&tm);
	if (check.tm_mon != tm.tm_mon || check.tm_mday != tm.tm_mday || check.tm_min != tm.tm_min)
		return false; /* for example the 31st of a month with 30 days */
	snprintf(text, room, "%lld.%s", (long long)t, digits);
	return true;
}

bool cli_date(const char *word, char *text, size_t room)
{
	struct stat st;

	if (*word == '@') {
		snprintf(text, room, "%s", word + 1);
		return true;
	}
	if (*word == '/' || *word == '.') {
		if (stat(word, &st))
			return false;
		snprintf(text, room, "%lld.%09ld", (long long)st.st_mtim.tv_sec,
			 st.st_mtim.tv_nsec);
		return true;
	}
	return calendar(word, text, room);
}
