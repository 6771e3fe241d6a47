// SPDX-License-Identifier: MIT
/* Setters of the options for one field. Ranges and units are those of tune2fs. */
#include "config.h"

#include "plan/params.h"
#include "plan/parse.h"
#include "tune/options_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT_MAX 16000
#define DAY 86400u

static int malformed(struct xw_tune_options *o, const char *bad, const char *value)
{
	o->malformed = true;
	return xw_fail(o->diag, XW_ERR_USAGE, "%s - %s", bad, value);
}

/* Parse a mount count, which has 16 bits and a sign on disk. */
static bool parse_count(const char *text, int16_t *out)
{
	const bool minus = *text == '-';
	uint64_t n;

	if (xw_parse_c(text + minus, &n) || n > COUNT_MAX)
		return false;
	*out = (int16_t)(minus ? -(int)n : (int)n);
	return true;
}

int xw_tune_set_max_mounts(struct xw_tune_options *o, const char *value)
{
	struct xw_tune_want *w = &o->want;

	if (!strcmp(value, "random")) {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		w->max_mnt_count = (int16_t)(20 + now.tv_nsec / 1000 % 21);
	} else if (!parse_count(value, &w->max_mnt_count)) {
		return malformed(o, "bad mounts count", value);
	}
	if (!w->max_mnt_count)
		w->max_mnt_count = -1;
	return 0;
}

int xw_tune_set_mounts(struct xw_tune_options *o, const char *value)
{
	return parse_count(value, &o->want.mnt_count) ? 0 : malformed(o, "bad mounts count", value);
}

int xw_tune_set_errors(struct xw_tune_options *o, const char *value)
{
	static const char *const names[] = {"continue", "remount-ro", "panic"};

	for (uint16_t i = 0; i < XW_ARRAY_SIZE(names); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		o->want.errors = (uint16_t)(i + 1);
		return 0;
	}
	return malformed(o, "bad error behavior", value);
}

int xw_tune_set_interval(struct xw_tune_options *o, const char *value)
{
	static const struct {
		const char *suffix;
		uint32_t seconds;
	} units[] = {{"", DAY},       {"d", DAY},      {"D", DAY}, {"w", 7 * DAY}, {"W", 7 * DAY},
		     {"m", 30 * DAY}, {"M", 30 * DAY}, {"s", 1},   {"S", 1}};
	const char *end;
	uint64_t n;
	const bool is_number = !xw_parse_c_digits(value, &n, &end);

	for (size_t i = 0; i < XW_ARRAY_SIZE(units) && is_number; i++) {
		if (strcmp(end, units[i].suffix) != 0)
			continue;
		if (n > UINT32_MAX / units[i].seconds)
			return xw_fail(o->diag, XW_ERR_USAGE,
				       "interval between checks is too big (%s)", value);
		o->want.interval = (uint32_t)n * units[i].seconds;
		return 0;
	}
	return malformed(o, "bad interval", value);
}

/* Parse an ID, or a name that the caller resolves. */
static bool parse_id(const struct xw_tune_options *o, const char *value, int group, uint32_t *out)
{
	uint64_t n;

	if (!xw_parse_u64(value, &n) && n <= UINT32_MAX) {
		*out = (uint32_t)n;
		return true;
	}
	return o->names && !o->names(o->names_arg, group, value, out);
}

int xw_tune_set_user(struct xw_tune_options *o, const char *value)
{
	return parse_id(o, value, 0, &o->want.resuid) ? 0
						      : malformed(o, "bad uid/user name", value);
}

int xw_tune_set_group(struct xw_tune_options *o, const char *value)
{
	return parse_id(o, value, 1, &o->want.resgid) ? 0
						      : malformed(o, "bad gid/group name", value);
}

int xw_tune_set_percent(struct xw_tune_options *o, const char *value)
{
	if (xw_parse_decimal(value, strlen(value), &o->want.reserved_percent) ||
	    o->want.reserved_percent > 50)
		return malformed(o, "bad reserved block ratio", value);
	return 0;
}

int xw_tune_set_blocks(struct xw_tune_options *o, const char *value)
{
	return xw_parse_u64(value, &o->want.reserved_blocks)
		       ? malformed(o, "bad reserved blocks count", value)
		       : 0;
}

int xw_tune_set_label(struct xw_tune_options *o, const char *value)
{
	if (strlen(value) > sizeof(o->want.label) - 1)
		xw_log(o->diag, XW_LOG_WARN, "label too long, truncating");
	strncpy(o->want.label, value, sizeof(o->want.label) - 1);
	return 0;
}

int xw_tune_set_last_mounted(struct xw_tune_options *o, const char *value)
{
	strncpy(o->want.last_mounted, value, sizeof(o->want.last_mounted) - 1);
	return 0;
}

int xw_tune_set_lastcheck(struct xw_tune_options *o, const char *value)
{
	uint64_t n = 0;

	if (strcmp(value, "now") != 0 && (xw_parse_u64(value, &n) || n > INT64_MAX))
		return malformed(o, "bad time", value);
	/* -1 means "now"; xw_tune_options_check() replaces it */
	o->want.lastcheck = strcmp(value, "now") ? (int64_t)n : -1;
	return 0;
}

int xw_tune_set_uuid(struct xw_tune_options *o, const char *value)
{
	struct xw_mkfs_params p;
	int rc;

	xw_params_init(&p);
	rc = xw_params_set(&p, XW_MKFS_UUID, value, NULL);
	memcpy(o->want.uuid, p.uuid, sizeof(p.uuid));
	xw_params_free(&p);
	if (rc)
		return xw_fail(o->diag, XW_ERR_USAGE, "Invalid UUID format");
	return 0;
}

int xw_tune_set_inode_size(struct xw_tune_options *o, const char *value)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || n > UINT16_MAX || n & (n - 1) || n < 128)
		return malformed(o, "Inode size must be a power of two", value);
	o->want.inode_size = (uint32_t)n;
	return 0;
}
