/* SPDX-License-Identifier: MIT */
#include "base/date.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

#define BILLION 1000000000u

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Parse 1 to `max` digits at *p. */
static bool number(const char **p, unsigned max, int *out)
{
	int n = 0;
	unsigned i = 0;

	for (; i < max && is_digit((*p)[i]); i++)
		n = n * 10 + ((*p)[i] - '0');
	*p += i;
	*out = n;
	return i;
}

/*
 * Parse an optional fraction of a second: nanoseconds, and whether digits other than 0 were left
 * out.
 */
static bool fraction(const char **p, uint32_t *nsec, bool *more)
{
	uint32_t scale = BILLION;

	*nsec = 0;
	*more = false;
	if ((**p != '.' && **p != ',') || !is_digit((*p)[1]))
		return false;
	for (++*p; is_digit(**p); ++*p) {
		scale /= 10;
		*nsec += scale * (uint32_t)(**p - '0');
		*more |= !scale && **p != '0';
	}
	return true;
}

bool xw_date_seconds(const char *text, struct xw_time *out)
{
	const bool minus = *text == '-';
	struct xw_time t;
	uint64_t n;
	bool more;

	text += minus || *text == '+';
	if (xw_parse_digits(text, 10, &n, &text) || n > INT64_MAX)
		return false;
	t.sec = minus ? -(int64_t)n : (int64_t)n;
	fraction(&text, &t.nsec, &more);
	if (*text)
		return false;
	if (minus && (t.nsec || more)) {
		/* the seconds are rounded down, and the nanoseconds count up from there */
		t.nsec = BILLION - t.nsec - more;
		t.sec--;
	}
	*out = t;
	return true;
}

void xw_date_text(struct xw_time t, char text[XW_DATE_TEXT])
{
	const bool up = t.sec < 0 && t.nsec;
	const int64_t sec = t.sec + up; /* rounded toward 0, which may lose the sign */

	snprintf(text, XW_DATE_TEXT, "%s%lld.%09u", up && !sec ? "-" : "", (long long)sec,
		 up ? BILLION - t.nsec : t.nsec);
}

/* Parse a zone as seconds east of Greenwich. */
static bool zone(const char *p, long *east)
{
	const int sign = *p == '-' ? -1 : 1;
	int hours, minutes = 0;

	*east = 0;
	if (!strcasecmp(p, "Z") || !strcasecmp(p, "UTC") || !strcasecmp(p, "GMT"))
		return true;
	if ((*p != '+' && *p != '-') || !is_digit(p[1]) || !is_digit(p[2]))
		return false;
	p++;
	number(&p, 2, &hours);
	p += *p == ':';
	if (*p && (!is_digit(*p) || !is_digit(p[1]) || p[2]))
		return false;
	number(&p, 2, &minutes);
	*east = sign * (hours * 3600L + minutes * 60L);
	return hours * 60 + minutes <= 24 * 60 && minutes < 60;
}

/* Convert, unless a field is out of its range or the local time does not exist. */
static bool convert(struct tm tm, time_t (*to)(struct tm *), int64_t *out)
{
	const struct tm was = tm;

	tm.tm_wday = -1; /* remains if the conversion fails */
	*out = to(&tm);
	return tm.tm_wday != -1 && tm.tm_mon == was.tm_mon && tm.tm_mday == was.tm_mday &&
	       tm.tm_hour == was.tm_hour && tm.tm_min == was.tm_min;
}

/* Parse the optional time of day behind a date. */
static bool time_of_day(const char **p, struct tm *tm, uint32_t *nsec)
{
	bool more;

	*nsec = 0;
	if ((**p != ' ' && **p != 'T') || !is_digit((*p)[1]))
		return true;
	++*p;
	if (!number(p, 2, &tm->tm_hour) || *(*p)++ != ':' || !number(p, 2, &tm->tm_min))
		return false;
	if (**p != ':')
		return true;
	++*p;
	if (!number(p, 2, &tm->tm_sec))
		return false;
	fraction(p, nsec, &more);
	return true;
}

bool xw_date_calendar(const char *text, time_t (*local)(struct tm *), struct xw_time *out)
{
	struct tm tm = {.tm_isdst = -1};
	struct xw_time t = {0};
	const char *p = text;
	long east = 0;
	bool zoned;

	if (!number(&p, 9, &tm.tm_year) || *p++ != '-' || !number(&p, 2, &tm.tm_mon) ||
	    *p++ != '-' || !number(&p, 2, &tm.tm_mday) || !time_of_day(&p, &tm, &t.nsec))
		return false;
	p += strspn(p, " ");
	zoned = *p;
	if (zoned && !zone(p, &east))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	if (!convert(tm, zoned ? timegm : local, &t.sec))
		return false;
	t.sec -= east;
	*out = t;
	return true;
}

bool xw_date_digits(const char *text, time_t (*local)(struct tm *), int64_t *out)
{
	struct tm tm = {.tm_isdst = -1};
	const size_t len = strlen(text);
	int *const rest[] = {&tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec};

	if (len < 8 || len > 14 || len % 2 || strspn(text, "0123456789") != len)
		return false;
	number(&text, 4, &tm.tm_year);
	for (size_t i = 0; i < XW_ARRAY_SIZE(rest) && *text; i++)
		number(&text, 2, rest[i]);
	if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 ||
	    tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*out = local(&tm);
	return true;
}
