// SPDX-License-Identifier: MIT
/* Values of options that set one field. Ranges and units are those of tune2fs. */
#include "config.h"

#include "cli/names.h"
#include "cli/term.h"
#include "plan/params.h"
#include "plan/parse.h"
#include "tune/tool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT_MAX 16000
#define DAY 86400u

int tune_bad_value(struct tune_args *args, const char *bad, const char *value)
{
	cli_line_failf(&args->line, "%s - %s", bad, value);
	return cli_line_usage(&args->line);
}

/* A mount count: 16 bits with a sign on disk. */
static bool parse_count(const char *text, int16_t *out)
{
	char *end;
	const long n = strtol(text, &end, 0);

	if (end == text || *end || n > COUNT_MAX || n < -COUNT_MAX)
		return false;
	*out = (int16_t)n;
	return true;
}

int tune_set_max_mounts(struct tune_args *args, const char *value)
{
	struct xw_tune_want *w = &args->want;

	if (!strcmp(value, "random")) {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		w->max_mnt_count = (int16_t)(20 + now.tv_nsec / 1000 % 21);
	} else if (!parse_count(value, &w->max_mnt_count)) {
		return tune_bad_value(args, "bad mounts count", value);
	}
	if (!w->max_mnt_count)
		w->max_mnt_count = -1;
	w->set |= XW_TUNE_MAX_MNT_COUNT;
	return 0;
}

int tune_set_mounts(struct tune_args *args, const char *value)
{
	if (!parse_count(value, &args->want.mnt_count))
		return tune_bad_value(args, "bad mounts count", value);
	args->want.set |= XW_TUNE_MNT_COUNT;
	return 0;
}

int tune_set_errors(struct tune_args *args, const char *value)
{
	static const char *const names[] = {"continue", "remount-ro", "panic"};

	for (uint16_t i = 0; i < XW_ARRAY_SIZE(names); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		args->want.errors = (uint16_t)(i + 1);
		args->want.set |= XW_TUNE_ERRORS;
		return 0;
	}
	return tune_bad_value(args, "bad error behavior", value);
}

int tune_set_interval(struct tune_args *args, const char *value)
{
	static const struct {
		const char *suffix;
		uint32_t seconds;
	} units[] = {{"", DAY},       {"d", DAY},      {"D", DAY}, {"w", 7 * DAY}, {"W", 7 * DAY},
		     {"m", 30 * DAY}, {"M", 30 * DAY}, {"s", 1},   {"S", 1}};
	char *end;
	const unsigned long long n = strtoull(value, &end, 0);

	for (size_t i = 0; i < XW_ARRAY_SIZE(units) && end != value && *value != '-'; i++) {
		if (strcmp(end, units[i].suffix) != 0)
			continue;
		if (n > UINT32_MAX / units[i].seconds) {
			cli_line_failf(&args->line, "interval between checks is too big (%s)",
				       value);
			return EXIT_FAILED;
		}
		args->want.interval = (uint32_t)n * units[i].seconds;
		args->want.set |= XW_TUNE_INTERVAL;
		return 0;
	}
	return tune_bad_value(args, "bad interval", value);
}

/* A number, or a name known on this machine. */
static bool parse_id(const char *value, int group, uint32_t *out)
{
	uint64_t n;

	if (!xw_parse_u64(value, &n) && n <= UINT32_MAX) {
		*out = (uint32_t)n;
		return true;
	}
	return !cli_name_to_id(NULL, group, value, out);
}

int tune_set_user(struct tune_args *args, const char *value)
{
	if (!parse_id(value, 0, &args->want.resuid))
		return tune_bad_value(args, "bad uid/user name", value);
	args->want.set |= XW_TUNE_RESUID;
	return 0;
}

int tune_set_group(struct tune_args *args, const char *value)
{
	if (!parse_id(value, 1, &args->want.resgid))
		return tune_bad_value(args, "bad gid/group name", value);
	args->want.set |= XW_TUNE_RESGID;
	return 0;
}

int tune_set_percent(struct tune_args *args, const char *value)
{
	if (xw_parse_decimal(value, strlen(value), &args->want.reserved_percent) ||
	    args->want.reserved_percent > 50)
		return tune_bad_value(args, "bad reserved block ratio", value);
	args->want.set |= XW_TUNE_RESERVED_PERCENT;
	return 0;
}

int tune_set_blocks(struct tune_args *args, const char *value)
{
	if (xw_parse_u64(value, &args->want.reserved_blocks))
		return tune_bad_value(args, "bad reserved blocks count", value);
	args->want.set |= XW_TUNE_RESERVED_BLOCKS;
	return 0;
}

int tune_set_label(struct tune_args *args, const char *value)
{
	if (strlen(value) > sizeof(args->want.label) - 1)
		cli_warning("label too long, truncating");
	strncpy(args->want.label, value, sizeof(args->want.label) - 1);
	args->want.set |= XW_TUNE_LABEL;
	return 0;
}

int tune_set_last_mounted(struct tune_args *args, const char *value)
{
	strncpy(args->want.last_mounted, value, sizeof(args->want.last_mounted) - 1);
	args->want.set |= XW_TUNE_LAST_MOUNTED;
	return 0;
}

/* YYYYMMDD[HH[MM[SS]]] in local time. */
static bool parse_date(const char *text, int64_t *out)
{
	struct tm tm = {.tm_mday = 1, .tm_isdst = -1};
	const size_t len = strlen(text);
	time_t at;

	if (len < 8 || len > 14 || len % 2 || strspn(text, "0123456789") != len ||
	    sscanf(text, "%4d%2d%2d%2d%2d%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
		   &tm.tm_min, &tm.tm_sec) < 3)
		return false;
	if (tm.tm_year < 1900 || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 ||
	    tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	at = mktime(&tm);
	*out = at;
	return at >= 0;
}

int tune_set_lastcheck(struct tune_args *args, const char *value)
{
	if (!strcmp(value, "now")) {
		args->want.lastcheck = -1; /* until the current time is known */
	} else if (!parse_date(value, &args->want.lastcheck)) {
		cli_line_failf(&args->line, "Couldn't parse date/time specifier: %s", value);
		return cli_line_usage(&args->line);
	}
	args->want.set |= XW_TUNE_LASTCHECK;
	return 0;
}

int tune_set_uuid(struct tune_args *args, const char *value)
{
	struct xw_mkfs_params p;
	int rc;

	xw_params_init(&p);
	rc = xw_params_set(&p, XW_MKFS_UUID, value, NULL);
	memcpy(args->want.uuid, p.uuid, sizeof(p.uuid));
	xw_params_free(&p);
	if (rc) {
		cli_line_failf(&args->line, "Invalid UUID format");
		return EXIT_FAILED;
	}
	args->want.set |= XW_TUNE_UUID;
	return 0;
}

int tune_set_inode_size(struct tune_args *args, const char *value)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || n > UINT16_MAX || n & (n - 1) || n < 128)
		return tune_bad_value(args, "Inode size must be a power of two", value);
	args->want.inode_size = (uint32_t)n;
	args->want.set |= XW_TUNE_INODE_SIZE;
	return 0;
}
