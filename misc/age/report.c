// SPDX-License-Identifier: MIT
/* The report, as YAML for people and scripts, or the same as JSON. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "age/tool.h"
#include "cli/escape.h"

struct yaml {
	FILE *out;
	unsigned depth;
	bool opened; /* the current map has no members yet, and its line no end */
};

static void key(struct yaml *y, const char *name)
{
	if (y->opened)
		fputc('\n', y->out);
	y->opened = false;
	fprintf(y->out, "%*s%s:", (int)(2 * y->depth), "", name);
}

static void open_map(void *arg, const char *name)
{
	struct yaml *y = arg;

	key(y, name);
	y->opened = true;
	y->depth++;
}

static void close_map(void *arg)
{
	struct yaml *y = arg;

	if (y->opened)
		fputs(" {}\n", y->out);
	y->opened = false;
	y->depth--;
}

static void number(void *arg, const char *name, uint64_t v)
{
	struct yaml *y = arg;

	key(y, name);
	fprintf(y->out, " %" PRIu64 "\n", v);
}

static void share(void *arg, const char *name, uint64_t v)
{
	struct yaml *y = arg;

	key(y, name);
	fprintf(y->out, " %" PRIu64 ".%04" PRIu64 "\n", v / XW_AGE_ONE, v % XW_AGE_ONE);
}

static void text(void *arg, const char *name, const char *s)
{
	struct yaml *y = arg;

	key(y, name);
	fputs(" \"", y->out);
	cli_escape(y->out, CLI_C, s, strlen(s));
	fputs("\"\n", y->out);
}

static void yes(void *arg, const char *name)
{
	struct yaml *y = arg;

	key(y, name);
	fputs(" true\n", y->out);
}

int age_report(FILE *out, const struct age_args *args, const struct xw_age_told *told)
{
	struct yaml y = {.out = out};
	const struct xw_age_sink to = {open_map, close_map, number, share, text, yes, &y};
	struct xw_json j = {0};
	const char *json;

	if (!args->line.json) {
		xw_age_report(told, &to);
		return 0;
	}
	xw_age_report_json(told, &j);
	json = xw_json_text(&j);
	if (json)
		fprintf(out, "%s\n", json);
	xw_json_free(&j);
	return json ? 0 : XW_ERR_NOMEM;
}
