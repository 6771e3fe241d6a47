/* SPDX-License-Identifier: MIT */
/*
 * Numbers in readable form. The formats are fixed and independent of the locale: scripts and tests
 * parse them, too.
 */
#include "config.h"

#include "cli/human.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Three significant digits, and no decimals where they would be meaningless. */
static void put_scaled(struct cli_text *t, double v, const char *unit)
{
	int digits = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;

	snprintf(t->s, sizeof(t->s), "%.*f %s", digits, v, unit);
}

static struct cli_text put_binary(double bytes, const char *suffix)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	struct cli_text t;
	char unit[16];
	unsigned i = 0;

	/* 1023.5 would be printed as 1024 of the smaller unit */
	while (bytes >= 1023.5 && i + 1 < sizeof(units) / sizeof(units[0])) {
		bytes /= 1024;
		i++;
	}
	snprintf(unit, sizeof(unit), "%s%s", units[i], suffix);
	if (bytes == (double)(uint64_t)bytes)
		snprintf(t.s, sizeof(t.s), "%.0f %s", bytes, unit);
	else
		put_scaled(&t, bytes, unit);
	return t;
}

struct cli_text cli_size(uint64_t bytes)
{
	return put_binary((double)bytes, "");
}

struct cli_text cli_rate(uint64_t bytes, double seconds)
{
	if (!(seconds > 0))
		return (struct cli_text){"-"};
	return put_binary((double)bytes / seconds, "/s");
}

struct cli_text cli_countdown(double seconds)
{
	struct cli_text t;
	uint64_t s = seconds < 0 ? 0 : seconds < 1e15 ? (uint64_t)(seconds + 0.5) : (uint64_t)1e15;

	if (s < 3600)
		snprintf(t.s, sizeof(t.s), "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
	else
		snprintf(t.s, sizeof(t.s), "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600,
			 s / 60 % 60, s % 60);
	return t;
}

struct cli_text cli_duration(double seconds)
{
	struct cli_text t;

	if (!(seconds >= 0))
		return (struct cli_text){"-"};
	if (seconds >= 59.95)
		return cli_countdown(seconds);
	put_scaled(&t, seconds, "s");
	return t;
}

struct cli_text cli_count(uint64_t n)
{
	char digits[24];
	struct cli_text t;
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), o = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			t.s[o++] = ',';
		t.s[o++] = digits[i];
	}
	t.s[o] = '\0';
	return t;
}

struct cli_text cli_plural(uint64_t n, const char *one, const char *many)
{
	struct cli_text t = cli_count(n);
	size_t len = strlen(t.s);

	snprintf(t.s + len, sizeof(t.s) - len, " %s", n == 1 ? one : many);
	return t;
}

struct cli_text cli_share(double part, double whole)
{
	struct cli_text t;

	if (!(whole > 0))
		return (struct cli_text){"-"};
	put_scaled(&t, 100 * part / whole, "%");
	return t;
}

struct cli_text cli_uuid(const uint8_t uuid[16])
{
	struct cli_text t;
	int o = 0;

	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			t.s[o++] = '-';
		o += snprintf(t.s + o, sizeof(t.s) - (size_t)o, "%02x", uuid[i]);
	}
	return t;
}
